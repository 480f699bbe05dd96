"""Classes that break a requirement, merged with neighbours until they keep it.

Three ways of one mechanism (`kernels.partition.state`): classes that fail by the compiled
constraints, in their order; the farthest from the table first, as published for microaggregation
(Soria-Comas et al. 2015, first algorithm); or those that somebody else has found to fail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tclose.arrays import Flags, Ints
from tclose.kernels.base.table import CodedTable
from tclose.kernels.partition.state import ClassMerger, PartitionState
from tclose.search.problem import number_classes

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
    cheapest that mends it by the constraints, else the cheapest."""
    merger = _line_up(label, curve, table)
    along = np.zeros(len(marked), dtype=bool)
    along[_ranks_along(label, curve)] = marked
    merger.merge_marked(along, NEIGHBOURS)
    return number_classes(merger.state.read_labels())


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
