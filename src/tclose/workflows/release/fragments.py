"""A release of a table that is too large for one place: cut into fragments, each searched alone.

A fragment that does not keep the promise as one class, against the distributions of the whole
table, is merged with its neighbours. What is written is counted again, part by part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from tclose.arrays import Flags, Ints
from tclose.data.source import FRAGMENT, ROWS, CellStore, PartResult  # fmt: skip
from tclose.data.summary import TableSummary
from tclose.errors import UsageError
from tclose.recode.recoding import recode_outcome
from tclose.recode.rewrite import Pseudonyms, TranslatedRows, translate
from tclose.requirements import failing_classes
from tclose.requirements.classes import partition_cells
from tclose.search import Budget, Progress, method_named, problem_of
from tclose.search.merging import merge_fragments
from tclose.search.outcome import Outcome
from tclose.utility.loss import LossReport
from tclose.verify.audit import list_part_requirements
from tclose.verify.certificate import LeftOutRecord, Origin
from tclose.workflows.release.partition_plan import CELLS, CellSketch, PartitionPlan
from tclose.workflows.release.publish import Job
from tclose.workflows.release.task import Draft, describe_loss

FRAGMENT_CELLS = 500_000
"""Cells of a fragment, more or less: a search on so many takes seconds."""
METHODS = ("mondrian", "mondrian-median", "mondrian-relaxed", "hybrid")


def propose_in_parts(job: Job, summary: TableSummary, method: str, budget: Budget) -> Draft:
    """Cuts a table into fragments that fit one place, and searches every one of them."""
    chosen = "mondrian" if method == "auto" else method
    _refuse(job, summary, chosen, budget)
    source, pseudonyms = job.source, job.pseudonyms
    budget.report(Progress(0.0, 0.0, None, "counting the cells"))
    store = source.keep_cells(summary.kept_columns)
    budget.report(Progress(0.0, 0.0, None, f"cutting {store.n_cells:,} cells into fragments"))
    sketch = CellSketch.of(summary, source.max_cells)
    size = min(FRAGMENT_CELLS, source.max_cells)
    plan = PartitionPlan.of(sketch, store.sketch(sketch.snap, (ROWS, CELLS)), size)
    label = merge_fragments(int(plan.first[-1]), _cut_and_judge(summary, store, plan))
    fragments = int(label.max()) + 1
    budget.report(Progress(0.0, 0.0, None, f"searching {fragments:,} fragments"))
    # A translation of one cell tells which columns change, and how.
    whole = Outcome(np.zeros(1, dtype=np.int64), 0.0, "", "finished", (), uses_sensitive=True)
    recoding = recode_outcome(summary.example(), whole)
    example = translate(summary.example(), recoding, pseudonyms, by_cells=True)
    search = partial(_search_fragment, summary, chosen, _share(budget, fragments), pseudonyms)
    losses = store.work(label, search, example.cell_table.schema)
    columns = {name: sum(loss[name] for loss in losses) / summary.n_rows for name in summary.quasi}
    overall = sum(columns.values()) / max(len(columns), 1)
    loss = LossReport(overall, columns, np.zeros((0, len(columns))), 0)
    origin = Origin(
        method=f"{chosen}, in fragments",
        fragments=fragments,
        cells=store.n_cells,
        seed=budget.seed,
        seconds=budget.seconds,
        effort=budget.effort,
        **describe_loss(summary.n_rows, loss, LeftOutRecord(rows=0, parts={})),
    )
    how = replace(example, cell_table=store.translation, rows=summary.n_rows)
    rows = TranslatedRows(source, source.stream(), how, store)
    return Draft(rows, summary.n_rows, loss, origin)


def _refuse(job: Job, summary: TableSummary, method: str, budget: Budget) -> None:
    """Raises where a release cannot be made in fragments."""
    policy = summary.policy
    limited = policy.limited[0] if policy.limited else ""
    leaves_out = budget.suppression or policy.release.leftover != "drop"
    for is_asked, where, what, hint in (
        (policy.release.add, "release.add",
         "no columns can be added to a release that is made in fragments", "leave it out"),
        (policy.release.suppresses_cells, "release.recoding",
         "single cells are suppressed only in a table that is worked on in one piece",
         'say "local"'),
        (not budget.polish, "search.polish",
         "no method is published for a table in parts", "leave it out"),
        (job.targets.plan is not None, "plan",
         "a table that is too large for one place is released without a plan",
         "leave the plan out"),
        (method not in METHODS, "search.method",
         f"the method {method!r} needs all cells in one place, and they are too many",
         f"use one of {', '.join(METHODS)}"),
        (limited, f"columns.{limited}",
         "how far a column is generalized cannot be limited where the table is too large for one "
         "place", "leave the limit out"),
        (leaves_out, "search.suppression",
         "rows cannot be left out of a table that is too large for one place: those that one part "
         "leaves out change the distribution that all others are compared with",
         "search without suppression"),
    ):  # fmt: skip
        if is_asked:
            hint = f"{hint}, or allow more cells in one place (--cells)"
            raise UsageError(what, where=where, hint=hint)


def _share(budget: Budget, fragments: int) -> Budget:
    """The budget of one fragment, which other processes use: it reports no progress."""
    seconds = None if budget.seconds is None else budget.seconds / fragments
    effort = None if budget.effort is None else budget.effort / fragments
    if seconds is None and effort is None:
        effort = budget.work  # mondrian ends by itself, and what it may spend is no limit to it
    return Budget(seconds=seconds, effort=effort, seed=budget.seed)


def _search_fragment(
    summary: TableSummary, method: str, budget: Budget, pseudonyms: Pseudonyms, table: pa.Table
) -> PartResult:
    """The released values of every cell of a fragment, and what its rows lose; can be sent."""
    bound = summary.part(table)
    outcome = method_named(method).run(problem_of(bound), budget)
    recoding = recode_outcome(bound, outcome)
    made = translate(bound, recoding, pseudonyms, by_cells=True)
    rows = bound.classes.n_rows
    loss = {name: each * rows for name, each in recoding.loss.columns.items()}
    return PartResult(made.cell_table, loss)


def _cut_and_judge(
    summary: TableSummary, store: CellStore, plan: PartitionPlan
) -> Callable[[Ints], Flags]:
    """Cuts the cells; returns which merged fragments break the promise when each is one class."""
    counting = summary.counting
    if counting is None or counting.everyone is None:
        weights = () if counting is None else (counting.column,)
        return _judge_fragments(summary, store.cut(plan.locate, [*summary.attributes, *weights]))
    # Numbers of persons do not add up, so they are counted where their rows are.
    store.cut(plan.locate, list(summary.attributes))
    work = partial(_judge_as_one, summary)

    return lambda label: np.array(store.look(label, work))


def _judge_as_one(summary: TableSummary, table: pa.Table) -> bool:
    """Whether a fragment breaks the promise as one class; can be sent."""
    bound = summary.part(table)
    one = partition_cells(bound.classes, np.zeros(len(bound.cells.rows), dtype=np.int64))
    stated, further = list_part_requirements(summary, measure_all=False)
    return bool(failing_classes([*stated, *further], one)[0])


def _judge_fragments(summary: TableSummary, counts: pa.Table) -> Callable[[Ints], Flags]:
    """Returns which merged fragments break the promise as one class."""
    stated, further = list_part_requirements(summary, measure_all=False)
    names = list(summary.attributes)
    codes = summary.codes(counts, names) if names else {}
    fragment = counts.column(FRAGMENT).to_numpy().astype(np.int64)
    rows = counts.column(ROWS).to_numpy().astype(np.int64)
    weight = None
    if summary.counting is not None and summary.counting.numbers is not None:
        weight = summary.counting.numbers[summary.counting.encode(counts)[1]] * rows
    example = replace(
        summary.example().classes,
        cell_codes={name: summary.attributes[name].recode[codes[name]] for name in names},
        cell_rows=rows,
        cell_weight=weight,
    )

    def judge(label: Ints) -> Flags:
        each = np.arange(int(label.max()) + 1)
        classes = replace(
            example,
            key=np.zeros((len(each), len(summary.quasi)), dtype=np.int64),
            cell_class=label[fragment],
            view_of=each,
            class_of=each,
            origin=each,
        )
        return failing_classes([*stated, *further], classes)

    return judge
