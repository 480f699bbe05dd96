"""Classes that break a requirement, merged with others until they keep it.

By the compiled constraints classes are merged with neighbours along a curve, by one mechanism
(`kernels.partition.state`): those that fail, in their order; the farthest from the table first, as
published for microaggregation (Soria-Comas et al. 2015, first algorithm); or those that are named.
What the requirements themselves refuse is merged again: classes, groups whose quasi-identifiers do
not matter, or fragments of a table that nobody holds in one piece.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tclose.arrays import Flags, Ints
from tclose.errors import UsageError
from tclose.kernels.base.table import CodedTable
from tclose.kernels.partition.state import ClassMerger, PartitionState
from tclose.search.curve import rank_along_curve
from tclose.search.problem import NamedSupersets, SearchProblem, number_classes

IsHurried = Callable[[int], bool]
"""Is told how many looks at classes were taken; says whether the rest has to be brief."""

NEIGHBOURS = 256
"""Classes that are looked at on either side along the curve."""
NEIGHBOURS_OF_FARTHEST = 64
LOOKS_BETWEEN_CLOCK = 1_000_000
MERGES_BETWEEN_CLOCK = 5_000


@dataclass(frozen=True)
class Merged:
    """A labelling after merges."""

    label: Ints
    all_keep: bool
    """False where even one class of all cells fails."""
    looks: int
    """At neighbours of classes."""


Merge = Callable[[Ints, Ints, CodedTable, IsHurried], Merged]
"""`merge_failing` or `merge_farthest`."""


def merge_failing(
    label: Ints, curve: Ints, table: CodedTable, is_hurried: IsHurried = lambda looks: False
) -> Merged:
    """The labelling with every class that fails merged with others until all keep the constraints.

    `curve` is the rank of each cell on it. If even one class of all cells fails, that is what comes
    out. In a hurry, classes are merged with the next on the curve.
    """
    merger = _line_up(label, curve, table)
    at, total, neighbours = 0, 0, NEIGHBOURS
    while at < merger.state.capacity:
        at, looks = merger.merge_failing(at, neighbours, LOOKS_BETWEEN_CLOCK)
        total += looks
        neighbours = 1 if is_hurried(looks) else NEIGHBOURS
    return _read_off(merger, total)


def merge_farthest(
    label: Ints, curve: Ints, table: CodedTable, is_hurried: IsHurried = lambda looks: False
) -> Merged:
    """The labelling with the farthest class merged with the nearest until all keep the constraints.

    Farthest is by EMD over t, the worst of the attributes; nearest is the class whose union with it
    adds least loss, among neighbours on the curve.
    """
    merger = _line_up(label, curve, table)
    merger.start_tournament()
    total = looks = merger.state.capacity
    merges = MERGES_BETWEEN_CLOCK
    while merges == MERGES_BETWEEN_CLOCK:
        neighbours = 1 if is_hurried(looks) else NEIGHBOURS_OF_FARTHEST
        merges = merger.merge_farthest(neighbours, MERGES_BETWEEN_CLOCK)
        looks = 2 * neighbours * merges
        total += looks
    is_hurried(looks)
    return _read_off(merger, total)


def merge_marked(label: Ints, marked: Flags, curve: Ints, table: CodedTable) -> Ints:
    """The labelling with every marked class merged with one neighbour, whatever comes of it. The
    cheapest with which it keeps the constraints, else the cheapest."""
    merger = _line_up(label, curve, table)
    along = np.zeros(len(marked), dtype=bool)
    along[_ranks_along(label, curve)] = marked
    merger.merge_marked(along, NEIGHBOURS)
    return number_classes(merger.state.read_labels())


def merge_refused(
    problem: SearchProblem, label: Ints, fails: Flags, supersets: NamedSupersets | None = None
) -> Ints:
    """The partition with the classes that fail merged; as a last resort one class of all rows.

    Each of them with one that is near, all at once, and again while any fails: every round leaves
    fewer classes, so this ends.
    """
    if supersets is not None:
        return np.zeros(problem.n_cells, dtype=np.int64)
    kept = np.flatnonzero(label >= 0)
    part, merged, result = problem.part(kept), label[kept], label.copy()
    table, curve = part.make_coded_table(ordered=False), rank_along_curve(part.codes, part.rows)
    while fails.any() and len(fails) > 1:
        merged = merge_marked(merged, fails, curve, table)
        result[kept] = merged
        fails = problem.find_failing(result)
    if not fails.any():
        return result
    whole = np.zeros(problem.n_cells, dtype=np.int64)
    if problem.find_failing(whole).any():
        raise _cannot_keep()
    return whole


def merge_refused_groups(problem: SearchProblem, label: Ints) -> Ints:
    """Merges failing groups in pairs, the odd one with ever more others."""
    many = 1
    while (broken := problem.find_failing(label)).any():
        if len(broken) == 1:
            raise _cannot_keep()
        owner = np.arange(len(broken))
        bad, good = np.flatnonzero(broken), np.flatnonzero(~broken)
        pairs = len(bad) // 2
        owner[bad[1 : 2 * pairs : 2]] = bad[0 : 2 * pairs : 2]
        if len(bad) % 2:
            partners = good[:many] if len(good) else bad[:1]
            owner[partners] = bad[-1]
        while (owner[owner] != owner).any():
            owner = owner[owner]
        label, many = number_classes(owner[label]), 2 * many
    return label


def merge_fragments(fragments: int, find_failing: Callable[[Ints], Flags]) -> Ints:
    """Which fragments become one, so that none fails: a failing one joins its next neighbour.
    Raises where all of them together fail.

    `find_failing` says of fragments that are merged by a label which of these break the promise.

    >>> merge_fragments(4, lambda label: np.bincount(label) < 2).tolist()
    [0, 0, 1, 1]
    """
    label = np.arange(fragments, dtype=np.int64)
    while (fails := find_failing(label)).any() and len(fails) > 1:
        first = np.ones(len(fails), dtype=bool)
        for at in np.flatnonzero(fails[:-1]).tolist():
            if first[at]:
                first[at + 1] = False
        first[-1] &= not fails[-1]
        label = (np.cumsum(first) - 1)[label]
    if fails.any():
        raise _cannot_keep()
    return label


def _cannot_keep() -> UsageError:
    return UsageError(
        "no release can keep this promise: even the whole table as one class breaks it",
        where="policy",
        hint="see what the whole table attains, and promise no more than that",
    )


def _read_off(merger: ClassMerger, looks: int) -> Merged:
    label = number_classes(merger.state.read_labels())
    return Merged(label, merger.state.count_failing() == 0, looks)


def _line_up(label: Ints, curve: Ints, table: CodedTable) -> ClassMerger:
    """The classes of a labelling, numbered in the order of the curve."""
    along = np.where(label >= 0, _ranks_along(label, curve)[label], -1)
    return ClassMerger(PartitionState(table, along, histograms=True))


def _ranks_along(label: Ints, curve: Ints) -> Ints:
    """The place of each class in the order of their middles on the curve."""
    kept = label >= 0
    middle = np.bincount(label[kept], weights=curve[kept]) / np.bincount(label[kept])
    return np.argsort(np.argsort(middle, kind="stable"))
