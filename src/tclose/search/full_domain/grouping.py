"""Kernels that group cells at a node of the lattice and judge the classes, from a finer grouping.

A grouping is a key, a size and a sparse histogram per class. Classes of a coarser node are unions
of classes of a finer one, and sizes and histograms add up: so any finer grouping will do as the
source (*roll-up*, LeFevre 2005), and the smaller it is the less there is to do. A class costs its
own entries, whatever the number of sensitive values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels import compiling
from tclose.kernels.rules import EMD, FROM, HIDDEN, KIND, TO, Rules, distance, keeps
from tclose.search.full_domain.levels import MASK, SHIFT, START, VALUES, WHICH

Ints = NDArray[np.int64]

OWNER, HEAD, NEXT, TABLE = range(4)
"""Rows of `link`: the class of each source class; the first member of a class; the member after it;
the slots of the hash table."""
GROUPS, ENTRIES, SMALL, FAILED, UNSURE, SQUARES, BROKEN = range(7)
"""What `told` says: classes; entries of their histograms; rows in classes of fewer than k; rows in
classes that fail; classes too near a threshold for the rules; Σ size²; classes that fail."""
SURE = 1e-3
"""Rows: far above what rounding can add to a sum of distances over all classes."""
FINE, FAILS, CLOSE = range(3)
"""A class keeps the rules; breaks them; breaks them, but so closely that rounding may be why."""


class Grouping(NamedTuple):
    """Classes with sparse histograms."""

    key: Any
    """int64 [words, classes]"""
    size: Any
    """int64 [classes]"""
    start: Any
    """int64 [classes + 1]: where each class's entries begin"""
    slot: Any
    """int32 [entries]"""
    count: Any
    """int64 [entries]"""


class Work(NamedTuple):
    """Memory of the kernels, for as many classes and entries as there can be."""

    link: Any
    """int64 [4, twice the cells, rounded up to a power of two]"""
    hist: Any
    """int64 [2, slots]: a class's histogram, and the slots that it touches"""
    scratch: Any
    """int64 [twice the nodes of the rules' trees]"""
    state: Any
    """int8 [cells]"""
    told: Any
    """int64 [8]"""
    lost: Any
    """float64 [1]: rows that are surely lost at the node and at every finer one"""


def make_work(cells: int, rules: Rules) -> Work:
    """Memory for a table of so many cells."""
    room = 1 << max(3, (2 * max(cells, 1) - 1).bit_length())
    return Work(
        np.zeros((4, room), np.int64), np.zeros((2, len(rules.count)), np.int64),
        np.zeros(2 * rules.node.shape[1] + 2, np.int64), np.zeros(max(cells, 1), np.int8),
        np.zeros(8, np.int64), np.zeros(1),
    )  # fmt: skip


def make_grouping(words: int, classes: int, entries: int) -> Grouping:
    """Memory for so many classes."""
    return Grouping(
        np.zeros((words, classes), np.int64), np.zeros(classes, np.int64),
        np.zeros(classes + 1, np.int64), np.zeros(entries, np.int32),
        np.zeros(entries, np.int64),
    )  # fmt: skip


def trimmed(made: Grouping, classes: int, entries: int) -> Grouping:
    """A copy without the room to spare."""
    return Grouping(
        made.key[:, :classes].copy(), made.size[:classes].copy(), made.start[: classes + 1].copy(),
        made.slot[:entries].copy(), made.count[:entries].copy(),
    )  # fmt: skip


@compiling.entry
def regroup(source: Any, change: Any, rungs: Any, k: Any, made: Any, work: Any) -> None:
    """Keys and sizes of the classes at coarser levels; `change` has a row (column, level) for each
    column that is not at its level yet. Members of a class are linked for `merge`."""
    words, classes = source.key.shape[0], source.key.shape[1]
    room = 8
    while room < 2 * classes:
        room *= 2
    table, owner, head = work.link[TABLE], work.link[OWNER], work.link[HEAD]
    for at in range(room):
        table[at] = -1
    groups = 0
    for one in range(classes):
        for w in range(words):
            made.key[w, groups] = source.key[w, one]
        for at in range(len(change)):
            j, level = change[at, 0], change[at, 1]
            w, shift, mask = rungs.column[WHICH, j], rungs.column[SHIFT, j], rungs.column[MASK, j]
            key = made.key[w, groups]
            code = (key >> shift) & mask
            begin = rungs.column[START, j] + level * rungs.column[VALUES, j]
            made.key[w, groups] = key ^ ((code ^ rungs.group[begin + code]) << shift)
        mixed = 0
        for w in range(words):
            mixed = (mixed ^ made.key[w, groups]) * -7046029254386353131
            mixed ^= mixed >> 32
        spot = mixed & (room - 1)
        while True:
            found = table[spot]
            if found < 0:
                table[spot] = groups
                made.size[groups] = source.size[one]
                head[groups] = one
                work.link[NEXT, one] = -1
                owner[one] = groups
                groups += 1
                break
            same = True
            for w in range(words):
                if made.key[w, found] != made.key[w, groups]:
                    same = False
                    break
            if same:
                made.size[found] += source.size[one]
                work.link[NEXT, one] = head[found]
                head[found] = one
                owner[one] = found
                break
            spot = (spot + 1) & (room - 1)
    small, squares = 0, 0
    for g in range(groups):
        squares += made.size[g] * made.size[g]
        if made.size[g] < k:
            small += made.size[g]
    work.told[GROUPS], work.told[SMALL], work.told[SQUARES] = groups, small, squares


@compiling.entry
def merge(
    source: Any, made: Any, room: Any, whole: Any, bounding: Any, rules: Any, lenient: Any,
    work: Any,
) -> Any:  # fmt: skip
    """Adds up the histograms of the classes that `regroup` found, and judges each.

    Judging ends as soon as more than `room` rows are in failing classes (where `bounding`, as soon
    as every finer node is known to lose more than that), and so does adding up, unless the `whole`
    grouping is wanted. Returns whether all classes were judged.
    """
    hist, touched = work.hist[0], work.hist[1]
    groups, at = work.told[GROUPS], 0
    work.told[FAILED], work.told[UNSURE], work.told[BROKEN] = 0, 0, 0
    work.lost[0] = work.told[SMALL]
    judging = work.told[SMALL] <= room
    for g in range(groups):
        made.start[g] = at
        seen, member = 0, work.link[HEAD, g]
        while member >= 0:
            for e in range(source.start[member], source.start[member + 1]):
                slot = source.slot[e]
                if hist[slot] == 0:
                    touched[seen] = slot
                    seen += 1
                hist[slot] += source.count[e]
            member = work.link[NEXT, member]
        if judging:
            judge(g, made.size[g], hist, rules, lenient, work)
        for q in range(seen):
            slot = touched[q]
            made.slot[at], made.count[at] = slot, hist[slot]
            hist[slot] = 0
            at += 1
        if judging and work.told[FAILED] > room and (not bounding or work.lost[0] > room + SURE):
            judging = False
        if not judging and not whole:
            break
    made.start[groups] = at
    work.told[ENTRIES] = at
    return judging


@compiling.part
def judge(g: Any, size: Any, hist: Any, rules: Any, lenient: Any, work: Any) -> None:
    """Writes down how a class stands to the rules."""
    work.state[g] = FINE
    if not keeps(hist, size, rules, work.scratch):
        work.state[g] = FAILS
        if (
            len(lenient.head) > 0
            and size >= rules.count[-1]
            and keeps(hist, size, lenient, work.scratch)
        ):
            work.state[g] = CLOSE
            work.told[UNSURE] += 1
        work.told[FAILED] += size
        work.told[BROKEN] += 1
        if size >= rules.count[-1]:
            work.lost[0] += size * surely_lost(hist, size, rules, work.scratch)


@compiling.part
def surely_lost(hist: Any, size: Any, rules: Any, scratch: Any) -> Any:
    """The share of a class's rows that fail the same rules however the class is divided.

    An earth mover's distance D is convex and at most 1. If a share f of the rows is in parts that
    fail, D ≤ (1 − f)·t + f, so f ≥ (D − t) / (1 − t). By convexity again, finer parts have larger
    sums of size · (D − t)⁺: the bound is inherited by all finer nodes. Where rows have weights it
    is one of mass, which says nothing about rows.
    """
    most = 0.0
    for rule in range(len(rules.head)):
        if (
            rules.head[rule, KIND] == EMD
            and rules.head[rule, HIDDEN] < 0
            and rules.head[rule, FROM] == rules.head[rule, TO]
            and rules.real[rule] < 1.0
        ):
            far = distance(rule, hist, size, rules, scratch) - rules.real[rule]
            most = max(most, far / (1.0 - rules.real[rule]))
    return most


@compiling.entry
def judge_again(made: Any, rules: Any, lenient: Any, work: Any) -> Any:
    """Judges the classes that have not failed yet, against another reference; how many fail now."""
    hist, groups, before = work.hist[0], work.told[GROUPS], work.told[BROKEN]
    for g in range(groups):
        if work.state[g] != FINE:
            continue
        for e in range(made.start[g], made.start[g + 1]):
            hist[made.slot[e]] = made.count[e]
        judge(g, made.size[g], hist, rules, lenient, work)
        for e in range(made.start[g], made.start[g + 1]):
            hist[made.slot[e]] = 0
    return work.told[BROKEN] - before


@compiling.entry
def released(made: Any, work: Any, count: Any) -> None:
    """The rows of each slot in classes that have not failed."""
    count[:] = 0
    for g in range(work.told[GROUPS]):
        if work.state[g] == FINE:
            for e in range(made.start[g], made.start[g + 1]):
                count[made.slot[e]] += made.count[e]


@compiling.entry
def rest_keeps(made: Any, rules: Any, work: Any) -> Any:
    """Whether the classes that fail keep the rules together, as one class."""
    hist, size = work.hist[0], 0
    for g in range(work.told[GROUPS]):
        if work.state[g] != FINE:
            size += made.size[g]
            for e in range(made.start[g], made.start[g + 1]):
                hist[made.slot[e]] += made.count[e]
    kept = keeps(hist, size, rules, work.scratch)
    hist[:] = 0
    return kept


@compiling.entry
def left_out(made: Any, levels: Any, rungs: Any, price: Any, work: Any) -> Any:
    """Over the classes that fail: Σ size², and Σ size · Σ price of the class in each column."""
    squares, cost = 0, 0.0
    for g in range(work.told[GROUPS]):
        if work.state[g] == FINE:
            continue
        squares += made.size[g] * made.size[g]
        each = 0.0
        for j in range(len(levels)):
            key = made.key[rungs.column[WHICH, j], g]
            code = (key >> rungs.column[SHIFT, j]) & rungs.column[MASK, j]
            each += price[rungs.column[START, j] + levels[j] * rungs.column[VALUES, j] + code]
        cost += made.size[g] * each
    return squares, cost


@compiling.entry
def nearest_source(vectors: Any, classes: Any, known: Any, levels: Any) -> Any:
    """Of the known groupings that are finer than a node, the one with the fewest classes."""
    best = 0
    for at in range(known):
        finer = True
        for j in range(len(levels)):
            if vectors[at, j] > levels[j]:
                finer = False
                break
        if finer and (classes[at] < classes[best]):
            best = at
    return best
