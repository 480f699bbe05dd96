"""Classes merged as published for microaggregation: the worst first, with the nearest.

Soria-Comas et al. (2015), first algorithm: while a class breaks the promise, the one farthest from
the table (EMD over t, the worst of its attributes) is merged with the nearest. A union of classes
that keep a monotone promise keeps it, and each merge leaves one class less, so this ends. Nearest
is the class whose union with it adds least loss, among neighbours on the space-filling curve.
Whether a class keeps the promise is decided by the exact rules; floats only say which is the worst.
`paired` is for classes that others have found to be broken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.kernels import compiling
from tclose.kernels.rules import keeps, slack
from tclose.kernels.tables import Tables
from tclose.search.by_construction.unite import (
    AHEAD,
    BEHIND,
    absorb,
    cost,
    line_up,
    partner,
    read_off,
)
from tclose.search.by_construction.unite import NEIGHBOURS as LOOKS

Ints = NDArray[np.int64]

NEIGHBOURS = 64
"""Classes that are looked at on either side."""
PAUSE = 5_000
"""Merges between two looks at the clock."""
FINE, GONE = -1.0, -2.0
"""In place of a distance: of a class that keeps the promise, and of one that was merged."""


def merged(
    label: Ints, curve: Ints, tab: Tables, hurried: Callable[[int], bool] = lambda looks: False
) -> tuple[Ints, int]:
    """The labelling with the worst class merged with the nearest until all keep the promise.

    Also returns how many looks at classes that took. `hurried` is told the looks now and then;
    where it says so, the rest is merged with the nearer of the next on the curve.
    """
    state, along = line_up(label, curve, tab)
    leaves = 1 << max(len(state.size) - 1, 0).bit_length()
    away, tree = np.full(leaves, GONE), np.zeros(2 * leaves, np.int64)
    seat(away, tree, state, tab)
    total = looks = len(state.size)
    merges = PAUSE
    while merges == PAUSE:
        neighbours = 1 if hurried(looks) else NEIGHBOURS
        merges = int(merge(neighbours, PAUSE, away, tree, state, tab))
        looks = 2 * neighbours * merges
        total += looks
    hurried(looks)
    return read_off(along, state), total


def paired(label: Ints, broken: NDArray[np.bool_], curve: Ints, tab: Tables) -> Ints:
    """The labelling with every broken class united with one neighbour, whatever comes of it.

    The cheapest that mends it by the rules, else the cheapest; there are at least two classes.
    """
    state, along = line_up(label, curve, tab)
    marks = np.zeros(len(state.size), dtype=np.bool_)
    marks[along] = broken[label]
    pair_up(marks, LOOKS, state, tab)
    return read_off(along, state)


@compiling.entry
def pair_up(marks: Any, looks: Any, state: Any, tab: Any) -> None:
    """Unites each class that is marked with a neighbour, which takes the marks off both."""
    for c in range(len(marks)):
        if marks[c] and state.size[c] > 0:
            b, _ = partner(c, looks, state, tab)
            if b >= 0:
                absorb(c, b, state)
                marks[c], marks[b] = False, False


@compiling.part
def weigh(c: Any, away: Any, state: Any, tab: Any) -> None:
    """Sets how far a class is from the table, over t."""
    if keeps(state.hist[c], state.size[c], tab.rules, state.scratch):
        away[c] = FINE
    else:
        away[c] = max(0.0, 1.0 - slack(state.hist[c], state.size[c], tab.rules, state.scratch))


@compiling.part
def rank(at: Any, away: Any, tree: Any) -> None:
    """Sets which of two parts of a tournament has the farther class; of equals the first."""
    left, right = tree[2 * at], tree[2 * at + 1]
    tree[at] = left if away[left] >= away[right] else right


@compiling.part
def climb_up(c: Any, away: Any, tree: Any) -> None:
    """Plays the matches of one class again."""
    at = (len(away) + c) // 2
    while at >= 1:
        rank(at, away, tree)
        at //= 2


@compiling.part
def nearest(c: Any, looks: Any, state: Any, tab: Any) -> Any:
    """The neighbour whose union with a class adds least loss, or −1 where it is alone."""
    best, found = np.inf, -1
    ahead, behind = state.link[AHEAD, c], state.link[BEHIND, c]
    for _ in range(looks):
        for side in range(2):
            b = ahead if side == 0 else behind
            if b >= 0:
                more = cost(c, b, state, tab)
                if more < best:
                    best, found = more, b
        ahead = state.link[AHEAD, ahead] if ahead >= 0 else -1
        behind = state.link[BEHIND, behind] if behind >= 0 else -1
        if ahead < 0 and behind < 0:
            break
    return found


@compiling.entry
def seat(away: Any, tree: Any, state: Any, tab: Any) -> None:
    """Weighs all classes and plays the whole tournament."""
    leaves = len(away)
    for c in range(len(state.size)):
        weigh(c, away, state, tab)
    for c in range(leaves):
        tree[leaves + c] = c
    for at in range(leaves - 1, 0, -1):
        rank(at, away, tree)


@compiling.entry
def merge(looks: Any, most: Any, away: Any, tree: Any, state: Any, tab: Any) -> Any:
    """Merges the worst class with the nearest until none is left to mend, or so many times.

    Returns how many merges there were.
    """
    for merges in range(most):
        c = tree[1] if len(away) > 1 else 0
        if away[c] < 0.0:
            return merges
        b = nearest(c, looks, state, tab)
        if b < 0:
            return merges
        absorb(c, b, state)
        away[b] = GONE
        weigh(c, away, state, tab)
        climb_up(b, away, tree)
        climb_up(c, away, tree)
    return most
