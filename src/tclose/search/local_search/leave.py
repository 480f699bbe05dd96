"""Leaving rows out: which cells cost their class more than they are worth, and what follows.

Rows left out change the released distribution, by which every class is judged, and no requirement
is monotone under that (`mathematics` 0.10). So cells leave in a batch, the reference is counted
anew, and every class that no longer keeps the promise is merged with its cheapest neighbour until
all do; that ends at the latest with one class.

A cell whose absence saves more than it costs leaves by itself. Where several cells hold a border of
their class, none of them saves anything alone: they leave together, with all that lie beyond.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.kernels import compiling
from tclose.kernels.chance import draw, make_chance
from tclose.kernels.rules import keeps
from tclose.kernels.tables import FORM, SET, VALUES, Tables, adds, gap
from tclose.search.local_search.deal import NOTHING
from tclose.search.local_search.exchange import (
    CELLS,
    HIGHEST,
    LABEL,
    LOWEST,
    SIZE,
    Counts,
    distinct,
    keeps_after,
    load,
    loss_after,
    put,
)
from tclose.search.mondrian.sweep import FAR
from tclose.search.outcome import numbered
from tclose.search.problem import Problem

Ints = NDArray[np.int64]
LOOKS = 200
EDGES = 4
"""Codes from either end of a column beyond which cells are tried to leave."""


def leave_out(problem: Problem, tab: Tables, label: Ints, room: int, seed: int) -> Ints | None:
    """One batch of returns and departures, with at most `room` rows left out in all.

    None where the rows that are left cannot keep the promise.
    """
    problem.refer(tab, label)
    state = load(tab, label)
    chance = make_chance(seed, 3)
    order = np.random.default_rng(seed).permutation(len(label))
    come_back(order, LOOKS, state, tab, chance)
    gone = int(problem.weight[state.cell[LABEL] < 0].sum())
    members, ends = _by_class(state.cell[LABEL], len(state.loss))
    gone += peel(members, ends, room - gone, state, tab, np.zeros(_widest(tab), np.int64))
    depart(order, room - gone, state, tab)
    problem.refer(tab, state.cell[LABEL])
    return mended(state, tab)


def mended(state: Counts, tab: Tables) -> Ints | None:
    """The labelling with classes that break the promise merged; None where that does not help."""
    name = np.arange(len(state.loss))
    if mend(state, tab, name) < 0:
        return None
    while (name[name] != name).any():
        name = name[name]
    label = state.cell[LABEL]
    return numbered(np.where(label >= 0, name[np.maximum(label, 0)], -1))


def _by_class(label: Ints, classes: int) -> tuple[Ints, Ints]:
    """The released cells, those of a class side by side, and where each class ends."""
    members = np.argsort(label, kind="stable")
    members = members[label[members] >= 0]
    return members, np.searchsorted(label[members], np.arange(classes), side="right")


def _widest(tab: Tables) -> int:
    return int(tab.column[VALUES].max()) + 1


@compiling.entry
def peel(members: Any, ends: Any, room: Any, state: Any, tab: Any, seen: Any) -> Any:
    """All cells of a class at or beyond a code leave together, if that saves more than it costs.

    Returns how many rows left.
    """
    gone, lo = 0, 0
    for c in range(len(ends)):
        hi = ends[c]
        better = True
        while better:
            better = False
            saved, j, side, edge = best_peel(c, lo, hi, members, room - gone, state, tab, seen)
            if saved > NOTHING and keeps_without(c, lo, hi, members, j, side, edge, state, tab):
                better = True
                for q in range(lo, hi):
                    x = members[q]
                    if state.cell[LABEL, x] == c and beyond(tab.codes[x, j], side, edge):
                        put(c, x, -1, state, tab)
                        state.cell[LABEL, x] = -1
                        gone += tab.weight[x]
        lo = hi
    return gone


@compiling.part
def beyond(code: Any, side: Any, edge: Any) -> Any:
    """Whether a code lies at or beyond an edge: below it (side 0) or above it."""
    return code <= edge if side == 0 else code >= edge


@compiling.part
def best_peel(
    c: Any, lo: Any, hi: Any, members: Any, room: Any, state: Any, tab: Any, seen: Any
) -> Any:
    """The edge of class c that saves most if what is beyond it leaves: (saved, column, side, edge).

    The outermost few codes of every column but sets are tried.
    """
    best, column, which, edge = 0.0, -1, 0, -1
    size, d = state.each[SIZE, c], tab.codes.shape[1]
    for j in range(d):
        if tab.column[FORM, j] == SET:
            continue
        for side in range(2):
            at = -1 if side == 0 else FAR
            for _ in range(EDGES):
                following = FAR if side == 0 else -1
                for q in range(lo, hi):
                    x = members[q]
                    v = int(tab.codes[x, j])
                    if state.cell[LABEL, x] == c and not beyond(v, side, at):
                        following = min(following, v) if side == 0 else max(following, v)
                at = following
                if at in (-1, FAR):
                    break
                weight, light = without(c, lo, hi, members, j, side, at, state, tab, seen)
                if weight > room or weight >= size:
                    break
                saved = size * state.loss[c] - (size - weight) * light - weight * d
                if saved > best:
                    best, column, which, edge = saved, j, side, at
    return best, column, which, edge


@compiling.part
def without(
    c: Any, lo: Any, hi: Any, members: Any, j: Any, side: Any, edge: Any,
    state: Any, tab: Any, seen: Any,
) -> Any:  # fmt: skip
    """The rows of class c beyond an edge, and the loss per row of what would be left of it."""
    weight, total = 0, 0.0
    for i in range(tab.codes.shape[1]):
        low, high, found = FAR, -1, 0
        for turn in range(2):  # first the marks are wiped, then set
            for q in range(lo, hi):
                x = members[q]
                if state.cell[LABEL, x] != c:
                    continue
                v = int(tab.codes[x, i])
                if turn == 0:
                    seen[v] = 0
                elif beyond(tab.codes[x, j], side, edge):
                    weight += tab.weight[x] if i == 0 else 0
                else:
                    low, high = min(low, v), max(high, v)
                    found += 1 - seen[v]
                    seen[v] = 1
        if found > 0:
            total += gap(i, 0, found, tab) if tab.column[FORM, i] == SET else gap(i, low, high, tab)
    return weight, total


@compiling.part
def keeps_without(
    c: Any, lo: Any, hi: Any, members: Any, j: Any, side: Any, edge: Any, state: Any, tab: Any
) -> Any:  # fmt: skip
    """Whether class c keeps the promise without what is beyond an edge."""
    probe = state.hist[-1]
    for s in range(state.hist.shape[1]):
        probe[s] = state.hist[c, s]
    size = state.each[SIZE, c]
    for q in range(lo, hi):
        x = members[q]
        if state.cell[LABEL, x] == c and beyond(tab.codes[x, j], side, edge):
            size -= tab.weight[x]
            for a in range(tab.slot.shape[1]):
                probe[tab.slot[x, a]] -= adds(x, a, tab)
    return size > 0 and keeps(probe, size, tab.rules, state.scratch)


@compiling.entry
def depart(order: Any, room: Any, state: Any, tab: Any) -> None:
    """Cells whose absence saves their class more than they cost leave, as long as there is room."""
    d, gone = tab.codes.shape[1], 0
    for x in order:
        a, w = state.cell[LABEL, x], tab.weight[x]
        if a < 0 or state.each[CELLS, a] < 2 or gone + w > room:
            continue
        light = loss_after(a, x, -1, state, tab)
        saved = state.each[SIZE, a] * state.loss[a] - (state.each[SIZE, a] - w) * light - w * d
        if saved > NOTHING and keeps_after(a, x, -1, state, tab):
            put(a, x, -1, state, tab)
            state.cell[LABEL, x] = -1
            gone += w


@compiling.entry
def come_back(order: Any, looks: Any, state: Any, tab: Any, chance: Any) -> None:
    """Cells left out return where some class can take them for less than they cost outside."""
    d, classes = tab.codes.shape[1], len(state.loss)
    for x in order:
        if state.cell[LABEL, x] >= 0:
            continue
        w = tab.weight[x]
        best, where = NOTHING, -1
        for _ in range(looks):
            b = draw(chance, classes)
            saved = w * d + state.each[SIZE, b] * state.loss[b]
            saved -= (state.each[SIZE, b] + w) * loss_after(b, -1, x, state, tab)
            if saved > best and keeps_after(b, -1, x, state, tab):
                best, where = saved, b
        if where >= 0:
            put(where, -1, x, state, tab)


@compiling.part
def together(a: Any, b: Any, state: Any, tab: Any) -> Any:
    """Loss per row of two classes united."""
    total = 0.0
    for j in range(tab.codes.shape[1]):
        if tab.column[FORM, j] == SET:
            total += gap(j, 0, distinct(a, b, j, state, tab), tab)
        else:
            low = min(state.box[LOWEST, a, j], state.box[LOWEST, b, j])
            total += gap(j, low, max(state.box[HIGHEST, a, j], state.box[HIGHEST, b, j]), tab)
    return total


@compiling.part
def absorb(a: Any, b: Any, state: Any, tab: Any) -> None:
    """Merges class b into class a; the caller renames the cells."""
    state.loss[a] = together(a, b, state, tab)
    for j in range(tab.codes.shape[1]):
        if tab.column[FORM, j] == SET:
            state.box[HIGHEST, a, j] = distinct(a, b, j, state, tab)
        else:
            state.box[LOWEST, a, j] = min(state.box[LOWEST, a, j], state.box[LOWEST, b, j])
            state.box[HIGHEST, a, j] = max(state.box[HIGHEST, a, j], state.box[HIGHEST, b, j])
    for v in range(state.count.shape[1]):
        state.count[a, v] += state.count[b, v]
    for s in range(state.hist.shape[1]):
        state.hist[a, s] += state.hist[b, s]
    state.each[SIZE, a] += state.each[SIZE, b]
    state.each[CELLS, a] += state.each[CELLS, b]
    state.each[SIZE, b] = 0
    state.each[CELLS, b] = 0


@compiling.entry
def mend(state: Any, tab: Any, name: Any) -> Any:
    """Merges every class that breaks the promise with the one that mends it most cheaply.

    `name[b] = a` records that b was merged into a. Returns the number of merges, or −1 where the
    rules refuse even one class of everything.
    """
    merges, classes = 0, len(state.loss)
    probe = state.hist[-1]
    for c in range(classes):
        while state.each[SIZE, c] > 0 and not keeps(
            state.hist[c], state.each[SIZE, c], tab.rules, state.scratch
        ):
            best, partner, whole = np.inf, -1, False
            for b in range(classes):
                if b == c or state.each[SIZE, b] == 0:
                    continue
                size = state.each[SIZE, c] + state.each[SIZE, b]
                cost = together(c, b, state, tab) * size - state.loss[b] * state.each[SIZE, b]
                for s in range(state.hist.shape[1]):
                    probe[s] = state.hist[c, s] + state.hist[b, s]
                good = keeps(probe, size, tab.rules, state.scratch)
                if (good and not whole) or (good == whole and cost < best):
                    best, partner, whole = cost, b, good
            if partner < 0:
                return -1
            absorb(c, partner, state, tab)
            name[partner] = c
            merges += 1
    return merges
