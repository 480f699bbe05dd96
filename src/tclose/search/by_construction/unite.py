"""Classes that break the promise, united with neighbours until they keep it.

A union of classes that keep a monotone promise keeps it, and the whole table keeps whatever can be
kept, so uniting ends well. Classes stand in the order of the space-filling curve and a class looks
for a partner among its neighbours there: the cheapest that mends it, else the cheapest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels import compiling
from tclose.kernels.rules import keeps
from tclose.kernels.tables import FORM, SET, Tables, adds, gap, ones
from tclose.search.by_construction.near import HIGHEST, LOWEST, MANY, MASK
from tclose.search.outcome import numbered

Ints = NDArray[np.int64]

NEIGHBOURS = 256
"""Classes that are looked at on either side."""
PAUSE = 1_000_000
"""Looks at classes between two looks at the clock."""
AHEAD, BEHIND, OWNER = range(3)
"""Rows of `link`: the next and the last class along the curve; whom a class was united with."""


class Classes(NamedTuple):
    """Classes numbered along the curve: histograms, sizes, boxes."""

    hist: Any
    """int64 [classes + 1, slots]; the last row is room to probe in"""
    size: Any
    """int64 [classes]"""
    box: Any
    """int64 [classes, 3, columns]"""
    link: Any
    """int64 [3, classes]"""
    scratch: Any


def united(
    label: Ints, curve: Ints, tab: Tables, hurried: Callable[[int], bool] = lambda looks: False
) -> tuple[Ints, int, int]:
    """The labelling with every class that breaks a rule united with others, how many were, and how
    many looks at classes that took.

    `curve` is the rank of each cell on it. If even one class of all cells breaks a rule, that is
    what comes out. `hurried` is told the looks now and then; where it says so, the rest is united
    with the next on the curve.
    """
    state, along = line_up(label, curve, tab)
    at, merges, total, neighbours = 0, 0, 0, NEIGHBOURS
    while at < len(state.size):
        at, more, looks = unite(at, neighbours, PAUSE, state, tab)
        merges, total = merges + int(more), total + int(looks)
        neighbours = 1 if hurried(int(looks)) else NEIGHBOURS
    return read_off(along, state), merges, total


def line_up(label: Ints, curve: Ints, tab: Tables) -> tuple[Classes, Ints]:
    """The classes of a labelling in the order of the curve, and the number there of each cell's."""
    classes, d = int(label.max()) + 1, tab.codes.shape[1]
    middle = np.bincount(label, weights=curve) / np.bincount(label)
    rank = np.empty(classes, dtype=np.int64)
    rank[np.argsort(middle, kind="stable")] = np.arange(classes)
    along = rank[label]
    link = np.stack([np.arange(1, classes + 1), np.arange(-1, classes - 1), np.arange(classes)])
    link[AHEAD, -1] = -1
    state = Classes(
        np.zeros((classes + 1, len(tab.rules.count)), np.int64), np.zeros(classes, np.int64),
        np.zeros((classes, 3, d), np.int64), link,
        np.zeros(2 * tab.rules.node.shape[1] + 2, np.int64),
    )  # fmt: skip
    enter(along, state, tab)
    return state, along


def read_off(along: Ints, state: Classes) -> Ints:
    """The labelling after unions, from the number of each cell's class before them."""
    owner = state.link[OWNER]
    while (owner[owner] != owner).any():
        owner = owner[owner]
    return numbered(owner[along])


@compiling.entry
def enter(label: Any, state: Any, tab: Any) -> None:
    """Fills histograms, sizes and boxes from the labels."""
    for cell in range(len(label)):
        c, w = label[cell], tab.weight[cell]
        for a in range(tab.slot.shape[1]):
            state.hist[c, tab.slot[cell, a]] += adds(cell, a, tab)
        fresh = state.size[c] == 0
        state.size[c] += w
        for j in range(tab.codes.shape[1]):
            v = tab.codes[cell, j]
            if fresh:
                state.box[c, LOWEST, j], state.box[c, HIGHEST, j] = v, v
            state.box[c, LOWEST, j] = min(state.box[c, LOWEST, j], v)
            state.box[c, HIGHEST, j] = max(state.box[c, HIGHEST, j], v)
            state.box[c, MASK, j] |= 1 << (v % MANY)


@compiling.part
def cost(a: Any, b: Any, state: Any, tab: Any) -> Any:
    """How much more two classes lose united; a lower bound where sets have many values."""
    alone_a, alone_b, both = 0.0, 0.0, 0.0
    for j in range(tab.codes.shape[1]):
        if tab.column[FORM, j] == SET:
            x, y = state.box[a, MASK, j], state.box[b, MASK, j]
            alone_a += gap(j, 0, ones(x), tab)
            alone_b += gap(j, 0, ones(y), tab)
            both += gap(j, 0, ones(x | y), tab)
            continue
        x, y = state.box[a, LOWEST, j], state.box[a, HIGHEST, j]
        u, v = state.box[b, LOWEST, j], state.box[b, HIGHEST, j]
        alone_a += gap(j, x, y, tab)
        alone_b += gap(j, u, v, tab)
        both += gap(j, min(x, u), max(y, v), tab)
    return state.size[a] * (both - alone_a) + state.size[b] * (both - alone_b)


@compiling.part
def mended(a: Any, b: Any, state: Any, tab: Any) -> Any:
    """Whether two classes united keep the promise."""
    probe = state.hist[-1]
    for s in range(state.hist.shape[1]):
        probe[s] = state.hist[a, s] + state.hist[b, s]
    return keeps(probe, state.size[a] + state.size[b], tab.rules, state.scratch)


@compiling.part
def partner(c: Any, looks: Any, state: Any, tab: Any) -> Any:
    """The neighbour to unite with, or −1 where none is left, and how many were weighed."""
    best, found, good, weighed = np.inf, -1, False, 0
    ahead, behind = state.link[AHEAD, c], state.link[BEHIND, c]
    for _ in range(looks):
        for side in range(2):
            b = ahead if side == 0 else behind
            if b < 0:
                continue
            more = cost(c, b, state, tab)
            weighed += 1
            if good and more >= best:
                continue
            mends = mended(c, b, state, tab)
            if (mends and not good) or more < best:
                if good and not mends:
                    continue
                best, found, good = more, b, mends
        ahead = state.link[AHEAD, ahead] if ahead >= 0 else -1
        behind = state.link[BEHIND, behind] if behind >= 0 else -1
        if ahead < 0 and behind < 0:
            break
    return found, weighed


@compiling.part
def absorb(c: Any, b: Any, state: Any) -> None:
    """Takes class b into class c and out of the row."""
    for s in range(state.hist.shape[1]):
        state.hist[c, s] += state.hist[b, s]
    state.size[c] += state.size[b]
    state.size[b] = 0
    for j in range(state.box.shape[2]):
        state.box[c, LOWEST, j] = min(state.box[c, LOWEST, j], state.box[b, LOWEST, j])
        state.box[c, HIGHEST, j] = max(state.box[c, HIGHEST, j], state.box[b, HIGHEST, j])
        state.box[c, MASK, j] |= state.box[b, MASK, j]
    before, after = state.link[BEHIND, b], state.link[AHEAD, b]
    if before >= 0:
        state.link[AHEAD, before] = after
    if after >= 0:
        state.link[BEHIND, after] = before
    state.link[OWNER, b] = c


@compiling.entry
def unite(first: Any, neighbours: Any, effort: Any, state: Any, tab: Any) -> Any:
    """Unites every class from the first on that breaks the promise, until so many looks are spent.

    Returns the class to go on with, and how many unions and looks there were.
    """
    merges, total = 0, 0
    for c in range(first, len(state.size)):
        while state.size[c] > 0 and not keeps(
            state.hist[c], state.size[c], tab.rules, state.scratch
        ):
            if total >= effort:
                return c, merges, total
            b, weighed = partner(c, neighbours, state, tab)
            total += weighed
            if b < 0:
                break
            absorb(c, b, state)
            merges += 1
    return len(state.size), merges, total
