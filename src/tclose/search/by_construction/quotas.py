"""How many records each class takes from every fragment, so that it is close whichever they are.

Theorem B (`emd_bounds`) says for which counts every choice of records is close. Records are

- assigned in turn to the classes: every run of L records along the fragments is then split into
  ⌊L/q⌋ or ⌈L/q⌉ per class (`mathematics.md` 3.3), and at most |F| + 1 different vectors of
  counts occur, however many classes there are;
- or halved, and halved again;
- or taken one from each of K runs along one attribute, of nearly equal length. With n = q·K + e
  there are q classes; e < K runs, spread evenly, have one record more, for the classes in turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tclose.arrays import Ints
from tclose.search.by_construction.emd_bounds import (
    ROUNDING,
    EmdAttribute,
    EmdBound,
    EmdConstraints,
    are_within,
    make_emd_bound,
)

Bounds = Sequence[EmdBound]

FINEST = 128
"""Numbers of classes are tried in steps of one part in so many."""
MOST_SUBSETS = 512


@dataclass(frozen=True)
class Quotas:
    """Counts per fragment for every class; most classes share theirs with others."""

    counts: Ints
    """[kinds, fragments]"""
    kind: Ints
    """[classes]"""

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.kind)


def assign_in_turn(rows: Ints, classes: int) -> Quotas:
    """The rows of fragments, side by side, assigned in turn to so many classes.

    >>> made = assign_in_turn(np.array([3, 2]), 2)
    >>> made.counts[made.kind].tolist()
    [[2, 1], [1, 1]]
    """
    first, counts = _list_kinds(rows, classes)
    return Quotas(counts, np.searchsorted(first, np.arange(classes), side="right") - 1)


def _list_kinds(rows: Ints, classes: int) -> tuple[Ints, Ints]:
    """The first class of each kind, and its counts."""
    ends = np.cumsum(rows)
    first = np.unique(np.append(ends % classes, 0))
    upto = (ends - 1 - first[:, None]) // classes
    return first, np.diff(upto, axis=1, prepend=np.full((len(first), 1), -1))


def count_most_classes(rows: Ints, bounds: Bounds, k: int) -> int:
    """The most classes to which the rows can be assigned with all of them close: in fine steps down
    to classes in exact proportion, which are as close as one class of everything."""
    classes, least = max(int(rows.sum()) // max(k, 1), 1), count_in_proportion(rows, bounds, k)
    while classes > least and not are_within(bounds, _list_kinds(rows, classes)[1]):
        classes = min(classes - 1, int(classes * (1 - 1 / FINEST)))
    return max(classes, least)


def count_in_proportion(rows: Ints, bounds: Bounds, k: int) -> int:
    """The most classes of at least k rows in exact proportion to the fragments; 1 where the bounds
    do not allow even that. These are planned up to rounding: with t = 0 nothing is left below it.

    >>> count_in_proportion(np.array([250, 100, 350, 300]), (), 5)
    50
    """
    if any(bound.evaluate(rows[None])[-1] > bound.t + ROUNDING for bound in bounds):
        return 1
    return choose_divisor(math.gcd(*rows.tolist()), int(rows.sum()), k)


def choose_divisor(common: int, rows: int, k: int) -> int:
    """The largest divisor that leaves k rows in each of so many classes; 1 if none does.

    >>> choose_divisor(12, 60, 7)
    6
    """
    low = [divisor for divisor in range(1, math.isqrt(common) + 1) if common % divisor == 0]
    fits = [divisor for part in low for divisor in (part, common // part) if rows // divisor >= k]
    return max(fits, default=1)


def halve_rows(rows: Ints, bounds: Bounds, k: int) -> Quotas:
    """Classes by dichotomy (SABRE): a vector of counts is halved as long as both halves are close;
    or classes in exact proportion where these are more.

    Odd counts give their extra record to the halves in turn, so that every run of fragments is
    halved to within one record. Only two kinds of halves come from each kind, and equal ones are
    treated as one, so few are ever weighed.
    """
    halved = halve_as_published(rows, bounds, k)
    common = count_in_proportion(rows, bounds, k)
    return halved if halved.classes >= common else assign_in_turn(rows, common)


def halve_as_published(rows: Ints, bounds: Bounds, k: int) -> Quotas:
    """Dichotomy alone, without classes in exact proportion."""
    done: dict[bytes, tuple[Ints, int]] = {}
    todo = {rows.tobytes(): (rows, 1)}
    while todo:
        following: dict[bytes, tuple[Ints, int]] = {}
        for counts, times in todo.values():
            extra = np.cumsum(counts % 2)
            left = counts // 2 + (counts % 2) * (extra % 2)
            halves = np.stack([left, counts - left])
            is_large = halves.sum(axis=1).min() >= max(k, 1)
            target, parts = done, [counts]
            if is_large and are_within(bounds, halves):
                target, parts = following, list(halves)
            for part in parts:
                known = target.get(part.tobytes(), (part, 0))[1]
                target[part.tobytes()] = (part, known + times)
        todo = following
    kinds = np.stack([counts for counts, _ in done.values()])
    return Quotas(kinds, np.repeat(np.arange(len(kinds)), [times for _, times in done.values()]))


def take_one_of_each(rows: int, subsets: int) -> Quotas:
    """One record per subset for every class, and the rows beyond a multiple spread over both.

    >>> made = take_one_of_each(8, 3)
    >>> made.counts[made.kind].tolist()
    [[2, 1, 1], [1, 1, 2]]
    """
    classes = max(rows // subsets, 1)
    spare = rows - classes * subsets
    where = (2 * np.arange(spare) + 1) * subsets // (2 * max(spare, 1))
    counts = np.ones((min(spare + 1, classes), subsets), dtype=np.int64)
    np.add.at(counts, (np.arange(spare) % classes, where), 1)
    return Quotas(counts, np.minimum(np.arange(classes), len(counts) - 1))


def count_subset_rows(rows: int, subsets: int) -> Ints:
    """The number of rows in each subset, such that classes can be filled as `take_one_of_each`
    says.

    >>> count_subset_rows(8, 3).tolist()
    [3, 2, 3]
    """
    quotas = take_one_of_each(rows, subsets)
    count: Ints = np.bincount(quotas.kind, minlength=len(quotas.counts)) @ quotas.counts
    return count


def take_from_middle(rows: int, subsets: int) -> Quotas:
    """Rows per class and subset as published: the remainder comes from the middle subsets, one row
    for each class.

    >>> made = take_from_middle(10, 4)
    >>> made.counts[made.kind].tolist()
    [[1, 2, 1, 1], [1, 1, 2, 1]]
    """
    classes, spare = divmod(rows, subsets)
    counts = np.ones((classes, subsets), dtype=np.int64)
    middle = ((subsets - 1) // 2, subsets // 2)
    for at in range(spare):
        counts[at % classes, middle[at % 2]] += 1
    return Quotas(counts, np.arange(classes))


def count_published_rows(rows: int, subsets: int) -> Ints:
    """How many rows each subset has then."""
    total: Ints = take_from_middle(rows, subsets).counts.sum(axis=0)
    return total


def make_subset_bound(closeness: EmdConstraints, attribute: EmdAttribute, subsets: int) -> EmdBound:
    """U for classes that take records from each of the runs along an attribute.

    Along a line it is at most 1/K where K divides the rows: two runs share an end at most. The
    published (n − K) / (2(n − 1)K) counts on all values being distinct (`mathematics.md` 3.5).
    """
    borders = np.cumsum(count_subset_rows(closeness.total, subsets))
    held = closeness.cut_into_runs(attribute, borders)
    return make_emd_bound(closeness, attribute, [(held, np.arange(subsets))])


def count_subsets_needed(closeness: EmdConstraints, attribute: EmdAttribute, k: int) -> int:
    """A number of subsets that keeps closeness whichever the records are, or the most there may be.
    U falls with the number of subsets but for rounding."""

    def suffices(subsets: int) -> bool:
        counts = take_one_of_each(closeness.total, subsets).counts
        return are_within([make_subset_bound(closeness, attribute, subsets)], counts)

    return find_sufficient(k, min(MOST_SUBSETS, closeness.total), suffices)


def find_sufficient(least: int, most: int, suffices: Callable[[int], bool]) -> int:
    """A number that suffices, by doubling and bisecting, or the most that is tried.

    Where larger numbers do not always suffice, it may be a little more than the least.

    >>> find_sufficient(2, 100, lambda number: number >= 11), find_sufficient(2, 5, lambda _: False)
    (11, 5)
    """
    high = min(max(least, 1), most)
    while high < most and not suffices(high):
        high = min(2 * high, most)
    low = max(high // 2, min(least, most)) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if suffices(middle):
            high = middle
        else:
            low = middle
    return high
