"""How many records each class takes from every fragment, so that it is close whichever they are.

A class of whole records cannot be in proportion to all fragments. The published way out is as many
classes as the greatest common divisor of the fragments' sizes, which is one class almost surely
(`divide_in_proportion`). Here records are dealt, or classes halved, and the bound of Theorem B
(`emd_bounds`) says for which counts every choice of records is close.

**Dealing lemma.** Lay n records in a row, fragments side by side, and give position p to class p
mod q. Every run of L positions is split into ⌊L/q⌋ or ⌈L/q⌉ records per class, and for a class of r
records |count/r − L/n| < 1/r for every run from the start.

*Proof.* A class gets every q-th position, so a run of L holds ⌊L/q⌋ or ⌈L/q⌉ of them. Write
L = q·a + u and n = q·b + s with 0 ≤ u, s < q; class j gets a + [j < u] of the run and
r = b + [j < s] in all. Then count − r·L/n = e − (L/n)·f with e = [j < u] − u/q and
f = [j < s] − s/q, both in (−1, 1), which lies between e and e − f, for L/n is in [0, 1]. Where e
and f have the same sign, e − f is in (−1, 1) too. If e > 0 ≥ f, then s ≤ j < u and
e − f = 1 − (u − s)/q < 1; if e ≤ 0 < f, then u ≤ j < s and e − f = −1 + (s − u)/q > −1. ∎

Hence dealing along one ordered attribute alone keeps EMD < 1/r: by the lemma each prefix is off by
less than 1/r, and the EMD is the mean of those errors over the m − 1 borders. With fragments of
several attributes at most |F| + 1 different vectors of counts occur, however many classes there
are: class j changes only where j passes a border modulo q.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.search.by_construction.emd_bounds import EmdBound, are_within

Ints = NDArray[np.int64]
Bounds = Sequence[EmdBound]

FINEST = 128
"""Numbers of classes are tried in steps of one part in so many."""


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


def deal_rows(rows: Ints, classes: int) -> Quotas:
    """Fragments of so many rows, side by side, dealt to so many classes.

    >>> made = deal_rows(np.array([3, 2]), 2)
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
    """The most classes to which the rows can be dealt with all of them close, in fine steps.

    One class of everything is always close: its counts are the fragments' own.
    """
    classes = max(int(rows.sum()) // max(k, 1), 1)
    while classes > 1 and not are_within(bounds, _list_kinds(rows, classes)[1]):
        classes = min(classes - 1, int(classes * (1 - 1 / FINEST)))
    return max(classes, 1)


def divide_in_proportion(rows: Ints, k: int) -> Quotas:
    """The published sizing: equal classes in exact proportion, of at least k rows.

    >>> divide_in_proportion(np.array([250, 100, 350, 300]), 5).classes
    50
    """
    total, common = int(rows.sum()), math.gcd(*rows.tolist())
    low = [divisor for divisor in range(1, math.isqrt(common) + 1) if common % divisor == 0]
    fits = [divisor for part in low for divisor in (part, common // part) if total // divisor >= k]
    return deal_rows(rows, max(fits, default=1))


def halve_rows(rows: Ints, bounds: Bounds, k: int) -> Quotas:
    """Classes by dichotomy (SABRE): a vector of counts is halved as long as both halves are close.

    Odd counts give their extra record to the halves in turn, so that every run of fragments is
    halved to within one record. Only two kinds of halves come from each kind, and equal ones are
    treated as one, so few are ever weighed.
    """
    done: dict[bytes, tuple[Ints, int]] = {}
    todo = {rows.tobytes(): (rows, 1)}
    while todo:
        following: dict[bytes, tuple[Ints, int]] = {}
        for counts, times in todo.values():
            extra = np.cumsum(counts % 2)
            left = counts // 2 + (counts % 2) * (extra % 2)
            halves = np.stack([left, counts - left])
            small = halves.sum(axis=1).min() < max(k, 1)
            target, parts = (done, [counts]) if small else (following, list(halves))
            if not small and not are_within(bounds, halves):
                target, parts = done, [counts]
            for part in parts:
                known = target.get(part.tobytes(), (part, 0))[1]
                target[part.tobytes()] = (part, known + times)
        todo = following
    kinds = np.stack([counts for counts, _ in done.values()])
    return Quotas(kinds, np.repeat(np.arange(len(kinds)), [times for _, times in done.values()]))
