"""Destroy and repair: pool a few neighbouring classes, cut the pool anew, keep what is cheaper.

A union of classes that keep a monotone promise keeps it (`mathematics` 1.8), so a pool is always a
valid class to cut, and every state of the search keeps the promise. Undoing and cutting again
contains merging, moving and swapping as special cases. How many classes to pool, how many to look
at for neighbours and how many cuts to try are *arms*, drawn by what they have lately saved per
effort (adaptive large neighbourhood search, Ropke and Pisinger 2006).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels import compiling
from tclose.kernels.chance import draw, unit
from tclose.kernels.tables import FORM, SET, Tables, gap, ones
from tclose.search.local_search.deal import NOTHING
from tclose.search.local_search.slate import OVERHEAD, begin, carve
from tclose.search.mondrian.sweep import FAR, SEEN, Work
from tclose.search.outcome import numbered

Ints = NDArray[np.int64]

ARMS = np.array(
    [
        (pooled, sampled, tries)
        for pooled in (1, 2, 3, 4)
        for sampled in (32, 128, 512, 2048)
        for tries in (4, 10)
    ],
    dtype=np.int64,
)
"""Classes to pool, classes sampled to find neighbours, keys tried per node."""

CROWD = 400
"""Cells in a pool, most of the time; now and then ten times as many."""
HUGE = 40_000
"""A single class of more cells is left as the first passes cut it."""


HEAD, COUNT, SIZE, LIVE, WHERE, FREE = range(6)
"""Rows of `each`: the first cell of a class; its cells; its rows; the numbers in use; a number's
place among them; the numbers not in use."""
LOWEST, HIGHEST, MASK = range(3)
"""Rows of `box`: lowest and highest code; codes present, modulo 64, only to rank neighbours."""


class State(NamedTuple):
    """Classes as linked lists of cells, with their boxes."""

    each: Any
    """int64 [6, classes]"""
    box: Any
    """int64 [3, classes, columns]"""
    loss: Any
    """float64 [classes]: loss per row, all columns together"""
    following: Any
    """int64 [cells]: the next cell of the same class, −1 after the last"""
    alive: Any
    """int64 [2]: how many numbers are in use, how many are not"""


class Arms(NamedTuple):
    """What each arm has saved and cost lately, and room to pool classes in."""

    choice: Any
    paid: Any
    spent: Any
    chosen: Any
    """int64 [8]: the classes that are pooled, and"""
    cost: Any
    """float64 [8]: what uniting each with the first would cost"""


def make_arms() -> Arms:
    """All arms alike."""
    count = len(ARMS)
    return Arms(
        ARMS, np.full(count, 10.0), np.full(count, 1000.0), np.zeros(8, np.int64), np.zeros(8)
    )


def load(tab: Tables, label: Ints, work: Work) -> State:
    """The classes of a labelling; cells labelled −1 stay outside."""
    cells, d = tab.codes.shape
    rows, k = int(tab.weight.sum()), int(tab.rules.count[-1])
    most = max(min(cells, rows // k), int(label.max(initial=-1)) + 1) + 8
    state = State(
        np.zeros((6, most), np.int64), np.zeros((3, most, d), np.int64), np.zeros(most),
        np.full(cells, -1, np.int64), np.array([0, most], np.int64),
    )  # fmt: skip
    state.each[FREE] = np.arange(most)[::-1]
    order = np.argsort(label, kind="stable")
    order = order[label[order] >= 0]
    ends = np.append(np.flatnonzero(np.diff(label[order])) + 1, len(order))
    fill(order, ends, state, tab, work.tick[SEEN])
    return state


def unload(state: State, cells: int) -> Ints:
    """The labelling that a state stands for."""
    label = np.full(cells, -1, dtype=np.int64)
    name_cells(state, label)
    return numbered(label)


@compiling.entry
def fill(order: Any, ends: Any, state: Any, tab: Any, seen: Any) -> None:
    """Installs every class of an ordering."""
    lo = 0
    for hi in ends:
        install(order, lo, hi, state, tab, seen)
        lo = hi


@compiling.entry
def name_cells(state: Any, label: Any) -> None:
    """The class of each cell."""
    for q in range(state.alive[0]):
        c = state.each[LIVE, q]
        cell = state.each[HEAD, c]
        while cell >= 0:
            label[cell] = c
            cell = state.following[cell]


@compiling.part
def describe(c: Any, state: Any, tab: Any, seen: Any) -> None:
    """Box, weight and loss of class c from its cells."""
    d = tab.codes.shape[1]
    for j in range(d):
        state.box[LOWEST, c, j] = FAR
        state.box[HIGHEST, c, j] = -1
        state.box[MASK, c, j] = 0
    size, cells, cell = 0, 0, state.each[HEAD, c]
    while cell >= 0:
        size += tab.weight[cell]
        cells += 1
        for j in range(d):
            v = tab.codes[cell, j]
            state.box[LOWEST, c, j] = min(state.box[LOWEST, c, j], v)
            state.box[HIGHEST, c, j] = max(state.box[HIGHEST, c, j], v)
            state.box[MASK, c, j] |= np.int64(1) << np.int64(v & 63)
        cell = state.following[cell]
    state.each[SIZE, c], state.each[COUNT, c] = size, cells
    total = 0.0
    for j in range(d):
        if tab.column[FORM, j] == SET:
            total += gap(j, 0, distinct(c, j, state, tab, seen), tab)
        else:
            total += gap(j, state.box[LOWEST, c, j], state.box[HIGHEST, c, j], tab)
    state.loss[c] = total


@compiling.part
def distinct(c: Any, j: Any, state: Any, tab: Any, seen: Any) -> Any:
    """How many codes of column j class c has."""
    found, cell = 0, state.each[HEAD, c]
    while cell >= 0:
        seen[tab.codes[cell, j]] = 0
        cell = state.following[cell]
    cell = state.each[HEAD, c]
    while cell >= 0:
        found += 1 - seen[tab.codes[cell, j]]
        seen[tab.codes[cell, j]] = 1
        cell = state.following[cell]
    return found


@compiling.part
def install(cells: Any, lo: Any, hi: Any, state: Any, tab: Any, seen: Any) -> None:
    """Makes cells[lo:hi] a new class."""
    state.alive[1] -= 1
    c = state.each[FREE, state.alive[1]]
    state.each[HEAD, c] = cells[lo]
    for p in range(lo, hi - 1):
        state.following[cells[p]] = cells[p + 1]
    state.following[cells[hi - 1]] = -1
    state.each[LIVE, state.alive[0]] = c
    state.each[WHERE, c] = state.alive[0]
    state.alive[0] += 1
    describe(c, state, tab, seen)


@compiling.part
def retire(c: Any, state: Any) -> None:
    """Takes a class out; its cells are in nobody's hands until they are installed again."""
    last = state.each[LIVE, state.alive[0] - 1]
    state.each[LIVE, state.each[WHERE, c]] = last
    state.each[WHERE, last] = state.each[WHERE, c]
    state.alive[0] -= 1
    state.each[FREE, state.alive[1]] = c
    state.alive[1] += 1


@compiling.part
def union_loss(a: Any, b: Any, state: Any, tab: Any) -> Any:
    """Loss per row of two classes together; of sets with more than 64 values a lower bound."""
    total = 0.0
    for j in range(tab.codes.shape[1]):
        if tab.column[FORM, j] == SET:
            total += gap(j, 0, ones(state.box[MASK, a, j] | state.box[MASK, b, j]), tab)
        else:
            low = min(state.box[LOWEST, a, j], state.box[LOWEST, b, j])
            total += gap(j, low, max(state.box[HIGHEST, a, j], state.box[HIGHEST, b, j]), tab)
    return total


@compiling.part
def neighbours(a: Any, want: Any, sample: Any, state: Any, tab: Any, chance: Any, arms: Any) -> Any:
    """Class a and those of a random sample whose union with it costs least; returns how many."""
    chosen, cost = arms.chosen, arms.cost
    chosen[0] = a
    cost[:want] = np.inf
    m = 1
    for _ in range(min(sample, 4 * state.alive[0])):
        b = state.each[LIVE, draw(chance, state.alive[0])]
        known = False
        for q in range(m):
            known = known or chosen[q] == b
        if known:
            continue
        whole = union_loss(a, b, state, tab)
        extra = state.each[SIZE, a] * (whole - state.loss[a]) + state.each[SIZE, b] * (
            whole - state.loss[b]
        )
        extra *= 0.9 + 0.2 * unit(chance)
        if want == 1 or (m == want and extra >= cost[m - 1]):
            continue
        m = min(m + 1, want)
        q = m - 1
        while q > 1 and cost[q - 1] > extra:
            cost[q], chosen[q] = cost[q - 1], chosen[q - 1]
            q -= 1
        cost[q], chosen[q] = extra, b
    return m


@compiling.part
def pool(chosen: Any, m: Any, state: Any, cells: Any) -> Any:
    """The cells of some classes; returns how many, and what the classes lose."""
    count, cost = 0, 0.0
    for q in range(m):
        c = chosen[q]
        cost += state.each[SIZE, c] * state.loss[c]
        cell = state.each[HEAD, c]
        while cell >= 0:
            cells[count] = cell
            count += 1
            cell = state.following[cell]
    return count, cost


@compiling.part
def crowd(chosen: Any, m: Any, state: Any) -> Any:
    """How many cells some classes have."""
    cells = 0
    for q in range(m):
        cells += state.each[COUNT, chosen[q]]
    return cells


@compiling.part
def pick(arms: Any, chance: Any) -> Any:
    """An arm in proportion to what it saved per effort lately; one time in ten, any arm."""
    count = len(arms.paid)
    if draw(chance, 10) == 0:
        return draw(chance, count)
    total = 0.0
    for q in range(count):
        total += arms.paid[q] / arms.spent[q]
    mark = unit(chance) * total
    for q in range(count):
        mark -= arms.paid[q] / arms.spent[q]
        if mark <= 0.0:
            return q
    return count - 1


@compiling.part
def credit(arm: Any, saved: Any, effort: Any, arms: Any) -> None:
    """Remembers what an arm saved and cost; older memories fade."""
    arms.paid[arm] = 0.99 * arms.paid[arm] + max(saved, 0.0)
    arms.spent[arm] = 0.99 * arms.spent[arm] + effort


@compiling.part
def replace(chosen: Any, m: Any, slate: Any, state: Any, tab: Any, seen: Any) -> None:
    """Puts the classes of a slate in the place of those that were pooled."""
    for q in range(m):
        retire(chosen[q], state)
    lo = 0
    for q in range(slate.mark[2]):
        install(slate.ids, lo, slate.ends[q], state, tab, seen)
        lo = slate.ends[q]


@compiling.entry
def shake(
    steps: Any, tight: Any, arms: Any, tab: Any, state: Any, work: Any, deal: Any,
    ladder: Any, slate: Any,
) -> Any:  # fmt: skip
    """Destroys and repairs `steps` pools; returns the loss saved and the steps spent on it."""
    chosen = arms.chosen
    saved, spent, handled = 0.0, 0.0, 0
    for _ in range(steps):
        if handled > 100 * CROWD:
            break
        arm = pick(arms, deal.chance)
        a = state.each[LIVE, draw(deal.chance, state.alive[0])]
        pooled, sampled, tries = arms.choice[arm, 0], arms.choice[arm, 1], arms.choice[arm, 2]
        m = neighbours(a, pooled, sampled, state, tab, deal.chance, arms)
        spent += min(sampled, 4 * state.alive[0]) * tab.codes.shape[1] + OVERHEAD
        most = CROWD if draw(deal.chance, 20) > 0 else 10 * CROWD
        while m > 1 and crowd(chosen, m, state) > most:
            m -= 1
        if crowd(chosen, m, state) > HUGE:
            continue
        count, before = pool(chosen, m, state, slate.ids)
        plainly = draw(deal.chance, 4) == 0
        begin(count, tab, deal.chance, slate)
        carve(1 << 60, tries, plainly, tight, tab, work, deal, ladder, slate)
        handled += count
        after = slate.cost[0]
        spent += slate.cost[1]
        credit(arm, before - after, float(count * (2 + tries)), arms)
        if after < before - NOTHING:
            saved += before - after
            replace(chosen, m, slate, state, tab, work.tick[SEEN])
    return saved, spent
