"""Records gathered around the farthest of them: the kernel of microaggregation.

MDAV (Domingo-Ferrer and Torra 2005): the record farthest from the centre of those left takes its k
− 1 nearest; the record farthest from that one does the same; and so on while 3k are left. Then one
more class of k if 2k are left, and the rest is the last class: sizes from k to 2k − 1. The centre
is, column by column, the middle code, or for sets the commonest: an average of categories does not
exist. Distances are what two records lose together (`near`). Of equal distances the first along the
curve counts.

A record looks at all that are left, so a table of n costs n² / k looks. Large tables are therefore
cut into blocks along the space-filling curve, and gathered block by block; `mark` keeps where the
kernel is, so that it can pause between classes.

While a class is formed it may *strive* (Soria-Comas et al. 2015, second algorithm): the records
next in distance are taken up one by one, each in exchange for the member whose leaving brings the
class nearest to the table, if that is nearer than before, until the class is close."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels import compiling
from tclose.kernels.rules import slack
from tclose.kernels.tables import FORM, SET, VALUES, Tables, apart
from tclose.search.by_construction.near import apart_in_all

Ints = NDArray[np.int64]

LEFT, MADE, NEXT = range(3)
"""What `mark` says: records left in the block, classes made so far, the first record of the next
block."""


class Flock(NamedTuple):
    """The records of a block that are not in a class yet, and room to find the nearest."""

    rest: Any
    """int64 [records]: those left, in the order of the curve"""
    held: Any
    """int64 [codes of all columns]: how many of them have each code"""
    offset: Any
    """int64 [columns]"""
    middle: Any
    """int64 [columns]"""
    near: Any
    """int64 [most]: the records nearest to a seed, nearest first"""
    far: Any
    """float64 [most]"""
    hist: Any
    """int64 [slots]: of the class that is being formed"""
    scratch: Any
    mark: Any
    """int64 [3]"""


def make_flock(block: int, k: int, candidates: int, tab: Tables) -> Flock:
    """Room for blocks of so many records, fewer than 2k more in the last, and for classes of k."""
    values, most = tab.column[VALUES], k + candidates
    return Flock(
        np.zeros(block + 2 * k, np.int64), np.zeros(int(values.sum()), np.int64),
        np.cumsum([0, *values])[:-1].astype(np.int64), np.zeros(len(values), np.int64),
        np.zeros(most, np.int64), np.zeros(most), np.zeros(len(tab.rules.count), np.int64),
        np.zeros(2 * tab.rules.node.shape[1] + 2, np.int64), np.zeros(3, np.int64),
    )  # fmt: skip


@compiling.part
def begin(last: Any, cell: Any, flock: Any, tab: Any) -> None:
    """Takes up the records of the next block, as far as `last`."""
    first = flock.mark[NEXT]
    flock.held[:] = 0
    for record in range(first, last):
        flock.rest[record - first] = record
        for j in range(tab.codes.shape[1]):
            flock.held[flock.offset[j] + tab.codes[cell[record], j]] += 1
    flock.mark[LEFT], flock.mark[NEXT] = last - first, last


@compiling.part
def centre(flock: Any, tab: Any) -> None:
    """Sets the middle code of each column among the records left; of a set the commonest."""
    for j in range(tab.codes.shape[1]):
        at, below, best = flock.offset[j], 0, 0
        for v in range(tab.column[VALUES, j]):
            count = flock.held[at + v]
            if tab.column[FORM, j] == SET:
                if count > flock.held[at + best]:
                    best = v
            else:
                below += count
                best = v
                if 2 * below >= flock.mark[LEFT]:
                    break
        flock.middle[j] = best


@compiling.part
def outermost(cell: Any, flock: Any, tab: Any) -> Any:
    """The record left that is farthest from the centre."""
    best, found = -1.0, -1
    for p in range(flock.mark[LEFT]):
        x, far = cell[flock.rest[p]], 0.0
        for j in range(tab.codes.shape[1]):
            far += apart(j, flock.middle[j], tab.codes[x, j], tab)
        if far > best:
            best, found = far, flock.rest[p]
    return found


@compiling.part
def opposite(record: Any, cell: Any, flock: Any, tab: Any) -> Any:
    """The record left that is farthest from one that need not be."""
    best, found = -1.0, -1
    for p in range(flock.mark[LEFT]):
        far = apart_in_all(cell[record], cell[flock.rest[p]], np.inf, tab)
        if far > best:
            best, found = far, flock.rest[p]
    return found


@compiling.part
def look_around(seed: Any, most: Any, cell: Any, flock: Any, tab: Any) -> Any:
    """The records nearest to a seed, itself first, into `near`; returns how many there are."""
    near, far, count = flock.near, flock.far, 0
    for p in range(flock.mark[LEFT]):
        record = flock.rest[p]
        limit = far[count - 1] if count == most else np.inf
        away = -1.0 if record == seed else apart_in_all(cell[seed], cell[record], limit, tab)
        if away >= limit:
            continue
        at = count if count < most else most - 1
        while at > 0 and far[at - 1] > away:
            near[at], far[at] = near[at - 1], far[at - 1]
            at -= 1
        near[at], far[at] = record, away
        count = min(count + 1, most)
    return count


@compiling.part
def shift(record: Any, by: Any, cell: Any, flock: Any, tab: Any) -> None:
    """Counts a record's sensitive values in or out."""
    for a in range(tab.slot.shape[1]):
        flock.hist[tab.slot[cell[record], a]] += by


@compiling.part
def strive(k: Any, count: Any, cell: Any, flock: Any, tab: Any) -> Any:
    """Exchanges the first k of `near` for later ones while that brings the class nearer.

    Returns how many exchanges were weighed.
    """
    flock.hist[:] = 0
    for p in range(k):
        shift(flock.near[p], 1, cell, flock, tab)
    room = slack(flock.hist, k, tab.rules, flock.scratch)
    weighed = 1
    for p in range(k, count):
        if room >= 0.0:
            break
        other, best, worst = flock.near[p], room, -1
        shift(other, 1, cell, flock, tab)
        for q in range(k):
            shift(flock.near[q], -1, cell, flock, tab)
            found = slack(flock.hist, k, tab.rules, flock.scratch)
            shift(flock.near[q], 1, cell, flock, tab)
            if found > best:
                best, worst = found, q
        weighed += k
        if worst < 0:
            shift(other, -1, cell, flock, tab)
        else:
            shift(flock.near[worst], -1, cell, flock, tab)
            flock.near[p], flock.near[worst] = flock.near[worst], other
            room = best
    return weighed


@compiling.part
def close_class(count: Any, cell: Any, flock: Any, tab: Any, label: Any) -> None:
    """Makes the first records of `near` a class and takes them off those left."""
    for p in range(count):
        record = flock.near[p]
        label[record] = flock.mark[MADE]
        for j in range(tab.codes.shape[1]):
            flock.held[flock.offset[j] + tab.codes[cell[record], j]] -= 1
    flock.mark[MADE] += 1
    kept = 0
    for p in range(flock.mark[LEFT]):
        if label[flock.rest[p]] < 0:
            flock.rest[kept] = flock.rest[p]
            kept += 1
    flock.mark[LEFT] = kept


@compiling.part
def form(seed: Any, k: Any, cell: Any, flock: Any, tab: Any, label: Any) -> Any:
    """One class around a seed; returns what it took, in looks at a record."""
    looks, most = flock.mark[LEFT], min(len(flock.near), flock.mark[LEFT])
    count = look_around(seed, most, cell, flock, tab)
    if len(flock.near) > k:
        looks += strive(k, count, cell, flock, tab) * (1 + tab.rules.node.shape[1] // 8)
    close_class(k, cell, flock, tab, label)
    return looks


@compiling.entry
def gather(effort: Any, k: Any, block: Any, cell: Any, flock: Any, tab: Any, label: Any) -> Any:
    """Gathers classes of k until so many looks are spent or all records have a class.

    Returns the looks. `label` is −1 where a record is in no class yet.
    """
    looks, mark = 0, flock.mark
    while looks < effort and (mark[LEFT] > 0 or mark[NEXT] < len(cell)):
        if mark[LEFT] == 0:
            last = mark[NEXT] + block
            begin(last if last + 2 * k <= len(cell) else len(cell), cell, flock, tab)
        if mark[LEFT] < 2 * k:
            for p in range(mark[LEFT]):
                label[flock.rest[p]] = mark[MADE]
            mark[MADE] += 1
            mark[LEFT] = 0
            continue
        pair = mark[LEFT] >= 3 * k
        centre(flock, tab)
        seed = outermost(cell, flock, tab)
        looks += mark[LEFT] + len(flock.held) // 16 + form(seed, k, cell, flock, tab, label)
        if pair:
            looks += mark[LEFT]
            looks += form(opposite(seed, cell, flock, tab), k, cell, flock, tab, label)
    return looks
