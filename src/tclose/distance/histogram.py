"""The sensitive values of every class, as sparse counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tclose.arrays import Floats, Ints
from tclose.kernels.classes.histograms import sort_by_counting

Counts = NDArray[Any]
"""Whole numbers: 64-bit, or Python integers in an object array if they do not fit."""

DENSE = 4
"""Keys below this many times the number of rows are sorted by counting."""


@dataclass(frozen=True)
class Histogram:
    """Counts of `values` codes in each of several classes, as a sparse matrix by class.

    The entries of class c are `code[start[c]:start[c + 1]]` (ascending) with their `count`;
    `size[c]` is their sum.

    >>> h = Histogram.from_dense([[2, 0, 1], [0, 3, 0]])
    >>> h.classes, h.size.tolist(), h.code.tolist(), h.total().tolist()
    (2, [3, 3], [0, 2, 1], [2, 3, 1])
    >>> h.take(np.array([1])).count.tolist(), h.merge(np.array([0, 0]), 1).count.tolist()
    ([3], [2, 3, 1])
    """

    start: Ints
    code: Ints
    count: Counts
    size: Counts
    values: int

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.size)

    @classmethod
    def from_cells(
        cls, owner: NDArray[Any], code: NDArray[Any], weight: Counts, *, classes: int, values: int
    ) -> Histogram:
        """Adds up weighted cells that name their class and their value.

        >>> Histogram.from_cells(np.array([1, 0, 1]), np.array([0, 1, 0]), np.array([2, 5, 3]),
        ...                      classes=2, values=2).count.tolist()
        [5, 5]
        """
        key = owner.astype(np.int64) * values + code
        # Below this, every sum of weights is a whole number that a float holds exactly.
        exact = weight.dtype == np.int64 and int(weight.sum(dtype=np.float64)) < 2**52
        if exact and classes * values <= 2 * len(key):
            table = np.bincount(key, weight, classes * values)
            at = np.flatnonzero(table)
            count: Counts = table[at].astype(np.int64)
        else:
            at, count = _add_up(key, weight, owner, code)
        start = np.searchsorted(at, np.arange(classes + 1, dtype=np.int64) * values)
        size = _sums(count, start)
        return cls(start.astype(np.int64), at % max(values, 1), count, size, values)

    @classmethod
    def from_dense(cls, counts: ArrayLike) -> Histogram:
        """Makes a histogram from a classes × values table of counts.

        >>> Histogram.from_dense([[2**70, 1]]).size[0] == 2**70 + 1
        True
        """
        table = whole(counts)
        owner, code = np.nonzero(table)
        classes, values = table.shape
        return cls.from_cells(owner, code, table[owner, code], classes=classes, values=values)

    def total(self) -> Counts:
        """Returns the counts of all classes together: the distribution of the whole table."""
        return add_by_group(self.count, self.code, self.values)

    def dense(self) -> Counts:
        """Returns the classes × values table of counts; for few classes or few values."""
        result = np.zeros((self.classes, self.values), dtype=self.count.dtype)
        result[self.owner(), self.code] = self.count
        return result

    def owner(self) -> Ints:
        """Returns the class of each entry."""
        return np.repeat(np.arange(self.classes, dtype=np.int64), np.diff(self.start))

    def take(self, classes: NDArray[Any]) -> Histogram:
        """Returns some of the classes, in the order given."""
        width = np.diff(self.start)[classes]
        start, at = np.append(0, np.cumsum(width)), list_run_places(self.start[classes], width)
        return Histogram(start, self.code[at], self.count[at], self.size[classes], self.values)

    def merge(self, label: NDArray[Any], classes: int) -> Histogram:
        """Merges classes: `label[c]` is the new class of class c."""
        owner = label[self.owner()]
        return self.from_cells(owner, self.code, self.count, classes=classes, values=self.values)


def lexicographic(*keys: NDArray[Any]) -> Ints:
    """Sorts rows by the first key, then the next; rows with equal keys keep their order.

    Returns the sorted row numbers. Keys are whole numbers from 0 on, such as codes and class
    numbers, with a range not much larger than the number of rows, so each is sorted in linear time;
    a key with a wide range is sorted by comparison.

    >>> lexicographic(np.array([1, 0, 1]), np.array([7, 5, 3])).tolist()
    [1, 2, 0]
    """
    order = np.arange(len(keys[0]), dtype=np.int64)
    folded = _fold_keys(keys)
    if _ascending([key for key, _ in folded]):
        return order
    for key, span in reversed(folded):
        if span > DENSE * len(key):
            order = order[np.argsort(key[order], kind="stable")]
        else:
            order = np.asarray(sort_by_counting(key, order, span))
    return order


def list_run_places(start: Ints, width: Ints) -> Ints:
    """Lists all positions of runs with these starts and widths, run after run.

    >>> list_run_places(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = np.cumsum(width) - width
    places: Ints = np.arange(width.sum()) + np.repeat(start - before, width)
    return places


def add_by_group(amount: Counts, group: NDArray[Any], groups: int) -> Counts:
    """Sums the amounts of each group; a group of −1 is left out.

    >>> add_by_group(np.array([1, 2, 4]), np.array([1, -1, 1]), 2).tolist()
    [0, 5]
    """
    total: Counts = np.zeros(groups + 1, dtype=amount.dtype)  # −1 adds to the spare last entry
    np.add.at(total, group, amount)
    return total[:groups]


def count_pairs(
    first: Ints, second: Ints, rows: NDArray[np.number] | None = None,
    shape: tuple[int, int] | None = None,
) -> Floats:  # fmt: skip
    """Counts how many rows have each pair of codes; the shape defaults to the largest codes.

    >>> count_pairs(np.array([0, 1, 1]), np.array([2, 0, 0]), np.array([5, 1, 2])).tolist()
    [[0.0, 0.0, 5.0], [3.0, 0.0, 0.0]]
    """
    high, wide = shape or (int(first.max(initial=0)) + 1, int(second.max(initial=0)) + 1)
    pairs = np.bincount(first * wide + second, rows, high * wide).reshape(high, wide)
    return np.asarray(pairs, dtype=np.float64)


def group_codes(codes: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Numbers rows with equal codes in all columns, in lexicographic order, with a row of each.

    >>> group_codes([np.array([1, 0, 1]), np.array([0, 5, 0])])
    (array([1, 0, 1]), array([1, 0]))
    """
    order = lexicographic(*(_from_zero(column) for column in codes))
    fresh = np.zeros(len(order), dtype=bool)
    fresh[:1] = True
    for column in codes:
        along = column[order]
        fresh[1:] |= along[1:] != along[:-1]
    label = np.empty(len(order), dtype=np.int64)
    label[order] = np.cumsum(fresh) - 1
    return label, order[fresh]


def _from_zero(codes: Ints) -> Ints:
    low = int(codes.min(initial=0))
    return codes if low == 0 else codes - low


def _fold_keys(keys: Sequence[NDArray[Any]]) -> list[tuple[Ints, int]]:
    """Joins neighbouring keys that sort the same as one, while that can be sorted by counting."""
    folded: list[tuple[Ints, int]] = []
    for key in keys:
        wide = int(key.max(initial=0)) + 1
        if folded and folded[-1][1] * wide <= DENSE * len(key):
            so_far, span = folded.pop()
            both = so_far * wide
            both += key
            folded.append((both, span * wide))
        else:
            folded.append((np.ascontiguousarray(key, dtype=np.int64), wide))
    return folded


def _ascending(keys: Sequence[Ints]) -> bool:
    """Whether the rows are already in the order of the keys."""
    tied = np.ones(max(len(keys[0]) - 1, 0), dtype=bool)
    for key in keys:
        if (tied & (key[1:] < key[:-1])).any():
            return False
        tied &= key[1:] == key[:-1]
    return True


def _add_up(
    key: Ints, weight: Counts, owner: NDArray[Any], code: NDArray[Any]
) -> tuple[Ints, Counts]:
    """Returns the distinct keys, ascending, and the sum of the weights of each."""
    if (key[1:] < key[:-1]).any():
        order = lexicographic(owner, code)
        key, weight = key[order], weight[order]
    first = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))[: len(key)]
    count = np.add.reduceat(weight, first) if len(key) else weight[:0]
    return key[first], count


def whole(counts: ArrayLike) -> Counts:
    """Returns an array of whole numbers: 64-bit if every sum fits, else Python integers."""
    table = np.asarray(counts, dtype=object)
    total = sum(int(count) for count in table.flat)
    return table.astype(np.int64) if total < 2**62 else table


def _sums(count: Counts, start: NDArray[Any]) -> Counts:
    """Sums the entries of each class."""
    running = np.concatenate((np.zeros(1, dtype=count.dtype), np.cumsum(count, dtype=count.dtype)))
    result: Counts = running[start[1:]] - running[start[:-1]]
    return result
