"""Leaving rows out: which cells cost their class more than they are worth, and what follows.

Rows left out change the released distribution, by which every class is judged, and no requirement
is monotone under that (`mathematics` 0.10). So cells leave in a batch, the reference is counted
anew, and every class that no longer keeps the promise is merged with its cheapest neighbour until
all do; that ends at the latest with one class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.search import compiling
from tclose.search.chance import draw, make_chance
from tclose.search.deal import NOTHING
from tclose.search.exchange import (
    CELLS,
    HIGHEST,
    LABEL,
    LOWEST,
    SIZE,
    distinct,
    keeps_after,
    load,
    loss_after,
    put,
)
from tclose.search.outcome import numbered
from tclose.search.problem import Problem
from tclose.search.rules import keeps
from tclose.search.tables import FORM, SET, Tables, gap

Ints = NDArray[np.int64]
LOOKS = 200


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
    depart(order, room - gone, state, tab)
    problem.refer(tab, state.cell[LABEL])
    name = np.arange(len(state.loss))
    if mend(state, tab, name) < 0:
        return None
    while (name[name] != name).any():
        name = name[name]
    return numbered(np.where(state.cell[LABEL] >= 0, name[np.maximum(state.cell[LABEL], 0)], -1))


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
