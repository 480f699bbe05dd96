"""How a table is cut into fragments: coarsely first, by a search on a sketch, then dealt out.

The sketch has the cells of the table with their quasi-identifiers snapped to a few values each. A
search on it, whose classes must keep the promise and have as many rows as a fragment should, gives
*parts* that lie together. A part that is still too large is dealt out: along a curve through the
quasi-identifiers, the cells of every stratum (those with alike sensitive values) go to its
fragments in turn, so that each has the part's distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.cell_store import CellPositions
from tclose.data.encode.cells import merge_equal, split_evenly
from tclose.data.source import ROWS
from tclose.data.summary import TableSummary
from tclose.distance.histogram import lexicographic
from tclose.search import Budget, method_named, problem_of
from tclose.search.strata import coordinates, curve, strata

Ints = NDArray[np.int64]

LEAST, SKETCH = 2**16, 2**22
"""Cells of a sketch at most, more or less, however few or many are taken into one place."""
MANY_TUPLES = 2**12
CELLS = "__tclose_cells__"


@dataclass(frozen=True)
class Sketching:
    """Snaps cells to a few values; can be sent to wherever they are."""

    outline: TableSummary
    snapped: dict[str, Ints]
    """For each quasi-identifier, the code that each of its codes is snapped to."""

    @classmethod
    def of(cls, outline: TableSummary, cells: int = SKETCH) -> Sketching:
        """The sketch of a table: as fine as so many cells and its sensitive values allow."""
        tuples = math.prod(one.values for one in outline.attributes.values())
        most = min(max(cells, LEAST), SKETCH)
        room = int(math.log2(most / min(tuples, MANY_TUPLES)))
        each, more = divmod(room, max(len(outline.quasi), 1))
        wide = sorted(outline.quasi, key=lambda name: -outline.dictionaries[name].known)
        bits = {name: each + (at < more) for at, name in enumerate(wide)}
        return cls(outline, {name: _snapped(outline, name, 1 << bits[name]) for name in bits})

    def keys(self, codes: dict[str, Ints]) -> Ints:
        """One number for the snapped quasi-identifiers of each cell."""
        key = np.zeros(len(next(iter(codes.values()))), dtype=np.int64)
        for name, snapped in self.snapped.items():
            known = np.unique(snapped)
            key = key * len(known) + np.searchsorted(known, snapped[codes[name]])
        return key

    def __call__(self, table: pa.Table) -> pa.Table:
        """The codes of cells, snapped, with their rows and their number."""
        codes = self.outline.codes(table)
        made = {name: self.snapped[name][codes[name]] for name in self.outline.quasi}
        made |= {name: codes[name] for name in self.outline.attributes}
        columns = {name: pa.array(code, pa.int64()) for name, code in made.items()}
        ones = pa.array(np.ones(table.num_rows, dtype=np.int64))
        rows = table.column(ROWS).cast(pa.int64())
        return pa.table({**columns, ROWS: rows, CELLS: ones})


def _snapped(outline: TableSummary, name: str, values: int) -> Ints:
    """The first code of the run that each code of a column belongs to; a missing one is itself.

    Runs are the branches of the hierarchy on its lowest level with few enough, or else have equally
    many rows.
    """
    known, tree = outline.dictionaries[name].known, outline.hierarchies.get(name)
    along = ranks(outline, name)[:known]
    order = np.argsort(along)
    run = split_evenly(outline.value_rows[name][:known][order], values)
    if tree is not None:
        leaf = tree.indices(outline.dictionaries[name].labels)[order]
        for level in range(tree.levels):
            branch = tree.ancestors[leaf, level]
            if len(np.unique(branch)) <= values:
                run = np.cumsum(np.append(0, branch[1:] != branch[:-1]))[: len(branch)]
                break
    first = np.searchsorted(run, run)
    result = np.arange(known + 1)
    result[order] = order[first]
    return result


def ranks(outline: TableSummary, name: str) -> Ints:
    """The rank of every value of a column along what it is released as; a missing one last."""
    dictionary, tree = outline.dictionaries[name], outline.hierarchies.get(name)
    if tree is None:
        return np.arange(dictionary.known + 1)
    rank = np.empty(dictionary.known + 1, dtype=np.int64)
    rank[np.argsort(tree.indices(dictionary.labels), kind="stable")] = np.arange(dictionary.known)
    rank[-1] = dictionary.known
    return rank


@dataclass(frozen=True)
class Laying:
    """Tells where cells lie and how they are dealt; can be sent to wherever they are."""

    sketching: Sketching
    places: dict[str, Ints]
    """For each quasi-identifier, the coordinate of each of its values on the curve."""
    strata: dict[str, Ints]
    """For each sensitive attribute, the part of its values that each of them is in."""
    keys: Ints
    part: Ints
    """The part of the cells that are snapped to each of the keys, which ascend."""
    first: Ints
    """The first fragment of each part; last, how many fragments there are."""

    @property
    def fragments(self) -> int:
        """How many fragments there are."""
        return int(self.first[-1])

    @classmethod
    def of(cls, sketching: Sketching, sketch: pa.Table, size: int) -> Laying:
        """Searches the sketch for parts, and deals those out that have more than `size` cells."""
        outline = sketching.outline
        codes = {name: sketch.column(name).to_numpy() for name in outline.cell_columns}
        number = sketch.column(CELLS).to_numpy()
        label, order = _parts(outline, codes, sketch.column(ROWS).to_numpy(), number, size)
        keys, one = np.unique(
            sketching.keys({name: code[order] for name, code in codes.items()}), return_index=True
        )
        cells = np.bincount(label, number[order]).astype(np.int64)
        deals = np.maximum(-(-cells // size), 1)
        first = np.append(0, np.cumsum(deals))
        fragments = int(first[-1])
        names = list(outline.attributes)
        groups = strata([_with_missing(outline, name) for name in names], fragments)
        return cls(
            sketching, _places(outline), dict(zip(names, groups, strict=True)),
            keys, label[one], first,
        )  # fmt: skip

    def __call__(self, table: pa.Table) -> CellPositions:
        """Where each cell lies."""
        outline = self.sketching.outline
        codes = outline.codes(table)
        part = self.part[np.searchsorted(self.keys, self.sketching.keys(codes))]
        order = curve([self.places[name][codes[name]] for name in outline.quasi])
        stratum = part
        for name, group in self.strata.items():
            code = outline.attributes[name].recode[codes[name]]
            stratum = stratum * (int(group.max(initial=0)) + 1) + group[code]
        ties = []
        for names in _folds(outline):
            tie = np.zeros(len(order), dtype=np.int64)
            for name in names:
                tie = tie * (outline.dictionaries[name].known + 1) + codes[name]
            ties.append(tie)
        return CellPositions(
            order, stratum, self.first[part], np.diff(self.first)[part], tuple(ties)
        )


def _parts(
    outline: TableSummary, codes: dict[str, Ints], rows: Ints, number: Ints, size: int
) -> tuple[Ints, Ints]:
    """The part of each of the sketch's cells, and the cells in the order that this is told in."""
    order = lexicographic(*codes.values())
    codes = {name: code[order] for name, code in codes.items()}
    cells = merge_equal(outline.dictionaries, codes, rows[order])[0]
    share = size / max(int(number.sum()), 1)
    least = max(outline.policy.k or 1, int(share * outline.n_rows / 2))
    rules = outline.policy.model_copy(update={"k": least}).at(outline.policy.base)
    if least >= outline.n_rows:
        return np.zeros(len(order), dtype=np.int64), order
    bound = replace(outline, policy=rules).bound(cells)
    outcome = method_named("mondrian").run(problem_of(bound), Budget(effort=1e6))
    return outcome.label, order


def _places(outline: TableSummary) -> dict[str, Ints]:
    along = {name: ranks(outline, name) for name in outline.quasi}
    rows = [outline.value_rows[name][np.argsort(rank)] for name, rank in along.items()]
    places = coordinates(rows, len(rows))
    return {name: place[along[name]] for name, place in zip(along, places, strict=True)}


def _with_missing(outline: TableSummary, name: str) -> Ints:
    """The rows with each value of an attribute; last those whose value may be any."""
    count = np.asarray(outline.whole[name], dtype=np.int64)
    return np.append(count, outline.n_rows - int(count.sum()))


def _folds(outline: TableSummary) -> list[list[str]]:
    """The columns in groups, such that the codes of a group fit one number."""
    groups: list[list[str]] = [[]]
    room = 1
    for name in outline.cell_columns:
        wide = outline.dictionaries[name].known + 1
        if room * wide >= 2**62:
            groups.append([])
            room = 1
        groups[-1].append(name)
        room *= wide
    return groups
