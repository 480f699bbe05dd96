"""Swaps and moves of single cells between classes that lower the loss while the promise holds.

Swapping two cells with equal sensitive values and weights changes no distribution, so it needs no
check; any other swap or move is checked on both classes. A class counts its cells per code, so its
box without one of them is found in constant time, or by a short scan inwards where that cell alone
held a border. Cells left out (class −1) take part only in exchanges for a cell with equal sensitive
values and weight: the released distribution, by which all classes are judged, then stays the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels import compiling
from tclose.kernels.chance import draw
from tclose.kernels.rules import keeps
from tclose.kernels.tables import FORM, SET, TIED, VALUES, Tables, adds, alike, gap
from tclose.search.local_search.deal import NOTHING
from tclose.search.mondrian.sweep import FAR
from tclose.search.outcome import numbered

Ints = NDArray[np.int64]

LARGEST_STATE = 250_000_000
"""Entries of the counts per class and code; beyond them single cells are not moved."""


LABEL, PEER, SPOT = range(3)
"""Rows of `cell`: its class; cells grouped by their sensitive values; a cell's place in `out`."""
CELLS, SIZE = range(2)
"""Rows of `each`: how many cells and how many rows a class has."""
LOWEST, HIGHEST = range(2)
"""Rows of `box`; of sets, HIGHEST is the number of values."""
INSIDE, OUTSIDE = range(2)
"""Rows of `first`: where each combination of sensitive values begins among the peers, in `out`."""


class Counts(NamedTuple):
    """Classes as counts: cells per code, rows per sensitive value, boxes."""

    cell: Any
    """int64 [3, cells]"""
    count: Any
    """int32 [classes, codes of all columns]: cells"""
    offset: Any
    """int64 [columns]"""
    each: Any
    """int64 [2, classes]"""
    hist: Any
    """int64 [classes + 1, slots]; the last row is room to probe in"""
    box: Any
    """int64 [2, classes, columns]"""
    loss: Any
    """float64 [classes]: loss per row, all columns together"""
    first: Any
    """int64 [2, combinations + 1]"""
    out: Any
    """int64: the cells left out, grouped by their sensitive values"""
    scratch: Any
    """int64 [2 · nodes]"""


def affordable(tab: Tables, label: Ints) -> bool:
    """Whether the counts of every class fit in memory."""
    classes = int(label.max(initial=-1)) + 1
    return classes * (int(tab.column[VALUES].sum()) + 2 * len(tab.rules.count)) <= LARGEST_STATE


def load(tab: Tables, label: Ints) -> Counts:
    """The counts of a labelling whose classes are numbered from 0."""
    n, d = tab.codes.shape
    classes, tied = int(label.max()) + 1, tab.order[TIED, 0]
    tuples, values = int(tied.max()) + 1, tab.column[VALUES]
    peers, first = _by_value(tied, np.arange(n), tuples)
    out, out_first = _by_value(tied, np.flatnonzero(label < 0), tuples)
    spot = np.full(n, -1, dtype=np.int64)
    spot[out] = np.arange(len(out))
    many = np.int64
    state = Counts(
        np.stack([label, peers, spot]), np.zeros((classes, int(values.sum())), np.int32),
        np.cumsum([0, *values])[:-1].astype(many), np.zeros((2, classes), many),
        np.zeros((classes + 1, len(tab.rules.count)), many), np.zeros((2, classes, d), many),
        np.zeros(classes), np.stack([first, out_first]), out,
        np.zeros(2 * tab.rules.node.shape[1] + 2, many),
    )  # fmt: skip
    enter(state, tab)
    return state


def unload(state: Counts) -> Ints:
    """The labelling that the counts stand for."""
    return numbered(state.cell[LABEL])


def _by_value(tied: Ints, cells: Ints, tuples: int) -> tuple[Ints, Ints]:
    cells = cells[np.argsort(tied[cells], kind="stable")]
    first = np.searchsorted(tied[cells], np.arange(tuples + 1))
    return cells.astype(np.int64), first.astype(np.int64)


@compiling.entry
def enter(state: Any, tab: Any) -> None:
    """Fills counts, histograms and boxes from the labels."""
    d = tab.codes.shape[1]
    state.box[LOWEST] = FAR
    state.box[HIGHEST] = -1
    for cell in range(len(tab.codes)):
        c = state.cell[LABEL, cell]
        if c < 0:
            continue
        state.each[CELLS, c] += 1
        state.each[SIZE, c] += tab.weight[cell]
        for a in range(tab.slot.shape[1]):
            state.hist[c, tab.slot[cell, a]] += adds(cell, a, tab)
        for j in range(d):
            v = tab.codes[cell, j]
            state.count[c, state.offset[j] + v] += 1
            state.box[LOWEST, c, j] = min(state.box[LOWEST, c, j], v)
            state.box[HIGHEST, c, j] = max(state.box[HIGHEST, c, j], v)
    for c in range(len(state.loss)):
        for j in range(d):
            if tab.column[FORM, j] == SET:
                state.box[LOWEST, c, j] = 0
                state.box[HIGHEST, c, j] = distinct(c, c, j, state, tab)
            state.loss[c] += gap(j, state.box[LOWEST, c, j], state.box[HIGHEST, c, j], tab)


@compiling.part
def distinct(a: Any, b: Any, j: Any, state: Any, tab: Any) -> Any:
    """How many codes of column j two classes have together."""
    base, found = state.offset[j], 0
    for v in range(base, base + tab.column[VALUES, j]):
        found += 1 if state.count[a, v] + state.count[b, v] > 0 else 0
    return found


@compiling.part
def corner(c: Any, j: Any, gone: Any, new: Any, state: Any, tab: Any) -> Any:
    """The (low, high) of class c in column j with one code less and one more (−1: none)."""
    a, b = state.box[LOWEST, c, j], state.box[HIGHEST, c, j]
    if gone == new:
        return a, b
    base = state.offset[j]
    last = gone >= 0 and state.count[c, base + gone] == 1
    if tab.column[FORM, j] == SET:
        if last:
            b -= 1
        if new >= 0 and state.count[c, base + new] == 0:
            b += 1
        return a, b
    if last and a == b:
        return (new, new) if new >= 0 else (a, b)
    if last and gone == a:
        a += 1
        while a < b and state.count[c, base + a] == 0:
            a += 1
    elif last and gone == b:
        b -= 1
        while b > a and state.count[c, base + b] == 0:
            b -= 1
    if new >= 0:
        a, b = min(a, new), max(b, new)
    return a, b


@compiling.part
def loss_after(c: Any, gone: Any, new: Any, state: Any, tab: Any) -> Any:
    """Loss per row of class c without cell `gone` and with cell `new` (−1: none)."""
    total = 0.0
    for j in range(tab.codes.shape[1]):
        u = tab.codes[gone, j] if gone >= 0 else -1
        v = tab.codes[new, j] if new >= 0 else -1
        a, b = corner(c, j, u, v, state, tab)
        total += gap(j, a, b, tab)
    return total


@compiling.part
def put(c: Any, gone: Any, new: Any, state: Any, tab: Any) -> None:
    """Carries the change out in class c."""
    state.loss[c] = loss_after(c, gone, new, state, tab)
    for j in range(tab.codes.shape[1]):
        u = tab.codes[gone, j] if gone >= 0 else -1
        v = tab.codes[new, j] if new >= 0 else -1
        state.box[LOWEST, c, j], state.box[HIGHEST, c, j] = corner(c, j, u, v, state, tab)
        if u >= 0:
            state.count[c, state.offset[j] + u] -= 1
        if v >= 0:
            state.count[c, state.offset[j] + v] += 1
    for cell, times in ((gone, -1), (new, 1)):
        if cell >= 0:
            state.each[SIZE, c] += times * tab.weight[cell]
            state.each[CELLS, c] += times
            for a in range(tab.slot.shape[1]):
                state.hist[c, tab.slot[cell, a]] += times * adds(cell, a, tab)
    if new >= 0:
        state.cell[LABEL, new] = c


@compiling.part
def keeps_after(c: Any, gone: Any, new: Any, state: Any, tab: Any) -> Any:
    """Whether class c keeps the promise after the change."""
    probe = state.hist[-1]
    for s in range(state.hist.shape[1]):
        probe[s] = state.hist[c, s]
    size = state.each[SIZE, c]
    for cell, times in ((gone, -1), (new, 1)):
        if cell >= 0:
            size += times * tab.weight[cell]
            for a in range(tab.slot.shape[1]):
                probe[tab.slot[cell, a]] += times * adds(cell, a, tab)
    return size > 0 and keeps(probe, size, tab.rules, state.scratch)


@compiling.part
def try_change(x: Any, y: Any, b: Any, state: Any, tab: Any) -> Any:
    """Moves x to class b, in exchange for y if there is one (−1: none), if that pays.

    Returns the loss saved, or 0.
    """
    a = state.cell[LABEL, x]
    if a == b:
        return 0.0
    u, v = tab.weight[x], tab.weight[y] if y >= 0 else 0
    saved = 0.0
    for turn in range(2):
        c = a if turn == 0 else b
        gone, new = (x, y) if turn == 0 else (y, x)
        size = state.each[SIZE, c]
        after = size - u + v if turn == 0 else size + u - v
        saved += size * state.loss[c] - after * loss_after(c, gone, new, state, tab)
        if saved <= NOTHING:
            return 0.0
    if y < 0 or tab.order[TIED, 0, x] != tab.order[TIED, 0, y] or not alike(x, y, tab):
        for turn in range(2):
            c = a if turn == 0 else b
            gone, new = (x, y) if turn == 0 else (y, x)
            if not keeps_after(c, gone, new, state, tab):
                return 0.0
    for turn in range(2):
        c = a if turn == 0 else b
        gone, new = (x, y) if turn == 0 else (y, x)
        put(c, gone, new, state, tab)
    return saved


@compiling.part
def bring_back(x: Any, tries: Any, state: Any, tab: Any, chance: Any) -> Any:
    """Replaces x by a cell left out with equal sensitive values that fits its class better."""
    a, tie = state.cell[LABEL, x], tab.order[TIED, 0, x]
    lo, hi = state.first[OUTSIDE, tie], state.first[OUTSIDE, tie + 1]
    best, cell = NOTHING, -1
    for _ in range(min(tries, 2 * (hi - lo))):
        y = state.out[lo + draw(chance, hi - lo)]
        saved = state.each[SIZE, a] * (state.loss[a] - loss_after(a, x, y, state, tab))
        if saved > best and alike(x, y, tab):
            best, cell = saved, y
    if cell < 0:
        return 0.0
    put(a, x, cell, state, tab)
    state.cell[LABEL, x] = -1
    state.out[state.cell[SPOT, cell]] = x
    state.cell[SPOT, x] = state.cell[SPOT, cell]
    return best


@compiling.entry
def exchange(steps: Any, tries: Any, state: Any, tab: Any, chance: Any) -> Any:
    """Visits random cells; those whose absence would help their class look for a better place.

    Returns the loss saved, and how many looks at a class that took.
    """
    n, total, looks = len(tab.codes), 0.0, steps
    for _ in range(steps):
        x = draw(chance, n)
        a = state.cell[LABEL, x]
        if a < 0 or state.each[CELLS, a] < 2:
            continue
        light = loss_after(a, x, -1, state, tab)
        if light >= state.loss[a] - 1e-12:
            continue
        saved = bring_back(x, tries, state, tab, chance)
        tie = tab.order[TIED, 0, x]
        lo, hi = state.first[INSIDE, tie], state.first[INSIDE, tie + 1]
        for _ in range(tries):
            if saved != 0.0:
                break
            looks += 1
            kind = draw(chance, 4)
            y = state.cell[PEER, lo + draw(chance, hi - lo)] if kind < 2 else draw(chance, n)
            there = state.cell[LABEL, y]
            if there >= 0:
                saved = try_change(x, -1 if kind == 3 else y, there, state, tab)
        total += saved
    return total, looks
