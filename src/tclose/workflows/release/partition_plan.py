"""How a table is cut into fragments: coarsely first, by a search on a sketch, then assigned.

The sketch has the cells with their quasi-identifiers snapped to a few values each; a search on it
gives *parts* as large as a fragment should be. A part that is still too large is assigned along a
curve: the cells of every stratum (with alike sensitive values) go to its fragments in turn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tclose.arrays import Ints
from tclose.data.encode.cells import merge_equal, split_evenly
from tclose.data.source import ROWS, CellPositions
from tclose.data.summary import TableSummary
from tclose.distance.histogram import lexicographic
from tclose.search import Budget, method_named, problem_of
from tclose.search.curve import divide_into_strata, find_coordinates, interleave_coordinates

LEAST, MOST = 2**16, 2**22
"""Cells of a sketch at least and at most, more or less, however many are taken into one place."""
MANY_TUPLES = 2**12
CELLS = "__tclose_cells__"


@dataclass(frozen=True)
class CellSketch:
    """Snaps cells to a few values; can be sent to wherever they are."""

    summary: TableSummary
    snapped: dict[str, Ints]
    """For each quasi-identifier, the code that each of its codes is snapped to."""

    @classmethod
    def of(cls, summary: TableSummary, max_cells: int = MOST) -> CellSketch:
        """The sketch of a table: as fine as so many cells and its sensitive values allow."""
        tuples = math.prod(attribute.values for attribute in summary.attributes.values())
        most = min(max(max_cells, LEAST), MOST)
        room = int(math.log2(most / min(tuples, MANY_TUPLES)))
        each, more = divmod(room, max(len(summary.quasi), 1))
        wide = sorted(summary.quasi, key=lambda name: -summary.dictionaries[name].known)
        bits = {name: each + (at < more) for at, name in enumerate(wide)}
        return cls(summary, {name: _snap(summary, name, 1 << bits[name]) for name in bits})

    def keys(self, codes: dict[str, Ints]) -> Ints:
        """One number for the snapped quasi-identifiers of each cell."""
        key = np.zeros(len(next(iter(codes.values()))), dtype=np.int64)
        for name, snapped in self.snapped.items():
            known = np.unique(snapped)
            key = key * len(known) + np.searchsorted(known, snapped[codes[name]])
        return key

    def snap(self, table: pa.Table) -> pa.Table:
        """The codes of cells, snapped, with their rows and their number."""
        codes = self.summary.codes(table)
        made = {name: self.snapped[name][codes[name]] for name in self.summary.quasi}
        made |= {name: codes[name] for name in self.summary.attributes}
        columns = {name: pa.array(code, pa.int64()) for name, code in made.items()}
        ones = pa.array(np.ones(table.num_rows, dtype=np.int64))
        rows = table.column(ROWS).cast(pa.int64())
        return pa.table({**columns, ROWS: rows, CELLS: ones})


def _snap(summary: TableSummary, name: str, values: int) -> Ints:
    """The first code of the run that each code of a column belongs to; a missing one is itself.

    Runs are the branches of the hierarchy on its lowest level with few enough, or else have equally
    many rows.
    """
    known, tree = summary.dictionaries[name].known, summary.hierarchies.get(name)
    order = np.argsort(_rank_values(summary, name)[:known])
    run = split_evenly(summary.value_rows[name][:known][order], values)
    if tree is not None:
        leaf = tree.indices(summary.dictionaries[name].labels)[order]
        for level in range(tree.levels):
            branch = tree.ancestors[leaf, level]
            if len(np.unique(branch)) <= values:
                run = np.cumsum(np.append(0, branch[1:] != branch[:-1]))[: len(branch)]
                break
    result = np.arange(known + 1)
    result[order] = order[np.searchsorted(run, run)]
    return result


def _rank_values(summary: TableSummary, name: str) -> Ints:
    """The rank of every value of a column along what it is released as; a missing one last."""
    dictionary, tree = summary.dictionaries[name], summary.hierarchies.get(name)
    rank = np.arange(dictionary.known + 1)
    if tree is not None:
        order = np.argsort(tree.indices(dictionary.labels), kind="stable")
        rank[order] = np.arange(dictionary.known)
    return rank


@dataclass(frozen=True)
class PartitionPlan:
    """Says where cells lie and how they are assigned; can be sent to wherever they are."""

    sketch: CellSketch
    places: dict[str, Ints]
    """For each quasi-identifier, the coordinate of each of its values on the curve."""
    strata: dict[str, Ints]
    """For each sensitive attribute, the part of its values that each of them is in."""
    keys: Ints
    part: Ints
    """The part of the cells that are snapped to each of the keys, which ascend."""
    first: Ints
    """The first fragment of each part; last, how many fragments there are."""

    @classmethod
    def of(cls, sketch: CellSketch, snapped: pa.Table, size: int) -> PartitionPlan:
        """Splits snapped cells into parts; assigns parts of more than `size` cells to fragments."""
        summary = sketch.summary
        codes = {name: snapped.column(name).to_numpy() for name in summary.cell_columns}
        number = snapped.column(CELLS).to_numpy()
        label, order = _find_parts(summary, codes, snapped.column(ROWS).to_numpy(), number, size)
        keys, at = np.unique(
            sketch.keys({name: code[order] for name, code in codes.items()}), return_index=True
        )
        cells = np.bincount(label, number[order]).astype(np.int64)
        fragments = np.maximum(-(-cells // size), 1)
        first = np.append(0, np.cumsum(fragments))
        whole = summary.whole_rows
        counts = [np.asarray(whole[name], dtype=np.int64) for name in summary.attributes]
        # Last, the rows whose value may be any.
        counts = [np.append(count, summary.n_rows - int(count.sum())) for count in counts]
        groups = divide_into_strata(counts, int(first[-1]))
        strata = dict(zip(summary.attributes, groups, strict=True))
        ranks = {name: _rank_values(summary, name) for name in summary.quasi}
        rows = [summary.value_rows[name][np.argsort(rank)] for name, rank in ranks.items()]
        along = zip(ranks.items(), find_coordinates(rows, len(rows)), strict=True)
        places = {name: place[rank] for (name, rank), place in along}
        return cls(sketch, places, strata, keys, label[at], first)

    def locate(self, table: pa.Table) -> CellPositions:
        """Where each cell lies."""
        summary = self.sketch.summary
        codes = summary.codes(table)
        part = self.part[np.searchsorted(self.keys, self.sketch.keys(codes))]
        order = interleave_coordinates([self.places[name][codes[name]] for name in summary.quasi])
        stratum = part
        for name, group in self.strata.items():
            code = summary.attributes[name].recode[codes[name]]
            stratum = stratum * (int(group.max(initial=0)) + 1) + group[code]
        fragments = np.diff(self.first)[part]
        ties = _fold_codes(summary, codes)
        if summary.counting is not None:
            ties += summary.counting.tie(table)
        return CellPositions(order, stratum, self.first[part], fragments, ties)


def _find_parts(
    summary: TableSummary, codes: dict[str, Ints], rows: Ints, number: Ints, size: int
) -> tuple[Ints, Ints]:
    """The part of each of the snapped cells, and the order of the cells that this is said in."""
    order = lexicographic(*codes.values())
    codes = {name: code[order] for name, code in codes.items()}
    cells = merge_equal(summary.dictionaries, codes, rows[order])[0]
    share = size / max(int(number.sum()), 1)
    least = max(summary.policy.k or 1, int(share * summary.n_rows / 2))
    rules = summary.policy.model_copy(update={"k": least})
    if least >= summary.n_rows:
        return np.zeros(len(order), dtype=np.int64), order
    bound = replace(summary, policy=rules).bound(cells)
    outcome = method_named("mondrian").run(problem_of(bound), Budget(effort=1e6))
    return outcome.label, order


def _fold_codes(summary: TableSummary, codes: dict[str, Ints]) -> tuple[Ints, ...]:
    """Folds several columns' codes into as few numbers as possible that identify a cell."""
    ties: list[Ints] = []
    room = 2**62
    for name in summary.cell_columns:
        wide = summary.dictionaries[name].known + 1
        if ties and room * wide < 2**62:
            ties[-1] = ties[-1] * wide + codes[name]
            room *= wide
        else:
            ties.append(codes[name])
            room = wide
    return tuple(ties)
