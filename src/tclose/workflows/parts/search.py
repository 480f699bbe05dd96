"""A release of a table that is too large for one place: cut into fragments, each searched alone.

`laying` says how it is cut. Every fragment keeps the promise as one class, against the
distributions of the whole table; those that do not are united with their neighbours. A search
within a fragment is then an ordinary one whose classes are compared with the whole table. What is
written is counted again, part by part.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.cell_store import FRAGMENT, CellStore, PartResult
from tclose.data.encode.classes import Classes
from tclose.data.source import ROWS, Source
from tclose.data.summary import TableSummary
from tclose.data.translation import Translation
from tclose.distance.histogram import Counts
from tclose.errors import UsageError
from tclose.recode import Pseudonyms, recoded
from tclose.recode.rewrite import released_columns
from tclose.recode.translate import translation_of
from tclose.requirements import failing_classes
from tclose.search import Budget, Progress, method_named, problem_of
from tclose.search.outcome import Outcome
from tclose.search.strata import united
from tclose.utility import LossReport
from tclose.verify.parts import list_requirements
from tclose.workflows.parts.plan import CELLS, Laying, Sketching

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

FRAGMENT_CELLS = 500_000
"""Cells of a fragment, more or less: a search on so many takes seconds."""
METHODS = ("mondrian", "mondrian-median", "mondrian-relaxed", "hybrid")


@dataclass(frozen=True)
class PartsFound:
    """A table cut, searched and ready to be written."""

    how: Translation
    loss: LossReport
    classes: int
    fragments: int
    cells: int
    method: str
    bench: CellStore = field(repr=False)
    """Keeps the translation as long as this is kept."""


@dataclass(frozen=True)
class Report:
    """What was found in one fragment."""

    rows: int
    classes: int
    loss: dict[str, float]
    """For each quasi-identifier, the loss of all rows of the fragment together."""


@dataclass(frozen=True)
class SearchFragment:
    """Searches one fragment; can be sent to wherever it is."""

    outline: TableSummary
    method: str
    budget: Budget
    pseudonyms: Pseudonyms

    def __call__(self, table: pa.Table) -> PartResult:
        """The released values of every cell, and what was found."""
        bound = self.outline.part(table)
        outcome = method_named(self.method).run(problem_of(bound), self.budget)
        recoding = recoded(bound, outcome)
        made = translation_of(
            bound, recoding, self.pseudonyms, released_columns(bound), by_cells=True
        )
        rows = bound.classes.n_rows
        loss = {name: each * rows for name, each in recoding.loss.columns.items()}
        return PartResult(made.cell_table, pickle.dumps(Report(rows, outcome.classes, loss)))


def search_parts(
    outline: TableSummary,
    source: Source,
    method: str,
    budget: Budget,
    pseudonyms: Pseudonyms,
) -> PartsFound:
    """Cuts a table into fragments that fit one place, and searches every one of them."""
    chosen = "mondrian" if method == "auto" else method
    _refuse(outline, chosen, budget)
    _tell(budget, "counting the cells")
    bench = source.keep_cells(outline.cell_columns)
    cells = bench.n_cells
    _tell(budget, f"cutting {cells:,} cells into fragments")
    sketching = Sketching.of(outline, source.max_cells)
    size = min(FRAGMENT_CELLS, source.max_cells)
    laying = Laying.of(sketching, bench.sketch(sketching, (ROWS, CELLS)), size)
    counts = bench.cut(laying, list(outline.attributes))
    label = united(laying.fragments, _Judge(outline, counts))
    final = int(label.max()) + 1
    _tell(budget, f"searching {final:,} fragments")
    share = _share(budget, final)
    example = _example(outline, pseudonyms)
    search = SearchFragment(outline, chosen, share, pseudonyms)
    reports = [pickle.loads(one) for one in bench.work(label, search, example.cell_table.schema)]
    how = replace(example, cell_table=bench.translation, rows=outline.n_rows)
    columns = {
        name: sum(one.loss[name] for one in reports) / outline.n_rows for name in outline.quasi
    }
    overall = sum(columns.values()) / max(len(columns), 1)
    loss = LossReport(overall, columns, np.zeros((0, len(columns))), 0)
    classes = sum(one.classes for one in reports)
    return PartsFound(how, loss, classes, final, cells, chosen, bench)


def _refuse(outline: TableSummary, method: str, budget: Budget) -> None:
    if method not in METHODS:
        raise UsageError(
            f"the method {method!r} needs all cells in one place, and they are too many",
            where="search.method",
            hint=f"one of {', '.join(METHODS)}",
        )
    if budget.suppression or outline.policy.release.leftover != "drop":
        raise UsageError(
            "rows cannot be left out of a table that is too large for one place",
            where="search.suppression",
            hint="search without suppression",
        )


def _share(budget: Budget, fragments: int) -> Budget:
    """What the search of one fragment may spend; it can be sent, so it tells nobody where it is."""
    seconds = None if budget.seconds is None else budget.seconds / fragments
    effort = None if budget.effort is None else budget.effort / fragments
    if seconds is None and effort is None:
        effort = budget.work  # mondrian ends by itself, and what it may spend is no limit to it
    return Budget(seconds=seconds, effort=effort, seed=budget.seed)


def _tell(budget: Budget, step: str) -> None:
    budget.report(Progress(0.0, 0.0, None, step))


def _example(outline: TableSummary, pseudonyms: Pseudonyms) -> Translation:
    """A translation of one cell: which columns change, and how."""
    bound = outline.example()
    label = np.zeros(1, dtype=np.int64)
    outcome = Outcome(label, 0.0, "", "finished", (), uses_sensitive=True)
    recoding = recoded(bound, outcome)
    return translation_of(bound, recoding, pseudonyms, released_columns(bound), by_cells=True)


class _Judge:
    """Tells which fragments break the promise as one class; raises where the whole table does."""

    def __init__(self, outline: TableSummary, counts: pa.Table) -> None:
        self.outline = outline
        self.requirements = list_requirements(outline, measure_all=False)
        names = list(outline.attributes)
        codes = outline.codes(counts, names) if names else {}
        self.codes = {name: outline.attributes[name].recode[codes[name]] for name in names}
        self.fragment = counts.column(FRAGMENT).to_numpy().astype(np.int64)
        self.weight: Counts = counts.column(ROWS).to_numpy().astype(np.int64)

    def __call__(self, label: Ints) -> Flags:
        """Which of the united fragments break it."""
        classes = self._classes(label)
        broken = failing_classes(self.requirements, classes)
        if classes.count == 1 and broken[0]:
            raise UsageError(
                "no release can keep this promise: the whole table as one class breaks it",
                where="policy",
                hint="see what the whole table attains, and promise no more than that",
            )
        return broken

    def _classes(self, label: Ints) -> Classes:
        """The united fragments as classes."""
        each = np.arange(int(label.max()) + 1)
        return replace(
            self.outline.example().classes,
            key=np.zeros((len(each), len(self.outline.quasi)), dtype=np.int64),
            cell_class=label[self.fragment],
            cell_codes=self.codes,
            cell_rows=self.weight,
            view_of=each,
            class_of=each,
            origin=each,
        )
