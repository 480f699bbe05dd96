"""What hybrid cuts are made from: orders of a node's cells (*keys*), strata of sensitive values.

A key is one column, or nearness to one or two cells drawn as seeds. A stratum is a fragment of the
sensitive values, coarser or finer, or a run of a few cells along their order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tclose.kernels import compiling
from tclose.kernels.chance import draw, make_chance, unit
from tclose.kernels.tables import GRID, VALUES, Tables, apart

BINS = 4096
"""Steps in which keys are told apart, at most."""
MANY_RUNS = 4
"""Of five draws so many are runs of cells, where there are several sensitive attributes."""

BY_KEY, BIN, MASS, GROUP, START, FILL, BY_GROUP, PLAIN, ROWS = range(9)
"""Rows of `pos`: positions by key; the key in steps; the weight at each position; the stratum of
each position; the first place of each stratum in BY_GROUP; room to fill it; positions by stratum,
and by key within; rows of each stratum that the plain cut sends left; all its rows."""
SIDE, BEST = range(2)
"""Rows of `side`: −1 (all bits) for what goes left, else 0; of the cut at hand and the best."""


class Deal(NamedTuple):
    """Scratch memory for the candidate cuts of one node."""

    key: Any
    """float64 [cells]"""
    mix: Any
    """float64 [codes]"""
    tally: Any
    """int64 [steps + 1]"""
    pos: Any
    """int64 [9, cells + 2]"""
    side: Any
    """int32 [2, cells]"""
    chance: Any


def make_deal(tab: Tables, seed: int, stream: int) -> Deal:
    """Scratch memory for a problem, with a stream of random numbers."""
    cells = len(tab.codes)
    return Deal(
        np.empty(cells), np.empty(int(tab.column[VALUES].max()) + 2), np.empty(BINS + 1, np.int64),
        np.empty((9, cells + 2), np.int64), np.empty((2, cells), np.int32),
        make_chance(seed, stream),
    )  # fmt: skip


@compiling.part
def coarseness(ids: Any, lo: Any, count: Any, curve: Any, tab: Any, deal: Any) -> Any:
    """How many last bits to take off the fragments of a node's cells, or −1: runs of cells.

    One attribute is mostly dealt by its values; several by any grid that parts the node.
    """
    many = tab.order.shape[1] > 1
    luck = draw(deal.chance, 5)
    if luck < (MANY_RUNS if many else 1):
        return -1
    if not many and luck > 1:
        return 0
    grid = tab.order[GRID, curve]
    span, bits = grid[ids[lo]] ^ grid[ids[lo + count - 1]], 0
    while span >> bits > 0:
        bits += 1
    return draw(deal.chance, max(bits, 1))


@compiling.part
def strata(ids: Any, lo: Any, count: Any, curve: Any, tab: Any, deal: Any) -> Any:
    """Groups the node's cells, which lie in sensitive order, by fragments or in runs of a few."""
    coarse = coarseness(ids, lo, count, curve, tab, deal)
    run = 2 + draw(deal.chance, min(15, max(count // 4, 1)))
    groups, filled, last = -1, 0, -1
    for p in range(count):
        tie = tab.order[GRID, curve, ids[lo + p]] >> max(coarse, 0)
        if groups < 0 or (tie != last if coarse >= 0 else filled >= run):
            groups += 1
            deal.pos[START, groups] = p
            deal.pos[ROWS, groups] = 0
            filled = 0
        filled += 1
        last = tie
        deal.pos[GROUP, p] = groups
        deal.pos[ROWS, groups] += deal.pos[MASS, p]
    deal.pos[START, groups + 1] = count
    return groups + 1


@compiling.part
def column_key(count: Any, j: Any, tab: Any, work: Any, deal: Any) -> None:
    """Orders by one column, ties by a second: what a hierarchy or the number line suggests."""
    i = draw(deal.chance, tab.codes.shape[1])
    first, second, scale = work.local[j], work.local[i], 0.9 / work.ranks[i]
    for p in range(count):
        deal.key[p] = first[p] + second[p] * scale


@compiling.part
def seed_key(count: Any, tab: Any, work: Any, deal: Any) -> None:
    """Orders by nearness to a cell in a random mix of columns, or by which of two is nearer."""
    d = tab.codes.shape[1]
    x, y = draw(deal.chance, count), draw(deal.chance, count)
    two = draw(deal.chance, 2) == 0
    for p in range(count):
        deal.key[p] = 0.0
    dense = draw(deal.chance, 3)
    for j in range(d):
        if dense > 0 and draw(deal.chance, d) >= 3 * dense - 1:
            continue
        share = 0.2 + unit(deal.chance)
        line, code, mix = work.local[j], work.code[j], deal.mix
        u, v = code[line[x]], code[line[y]]
        for r in range(work.ranks[j]):
            mix[r] = share * apart(j, code[r], u, tab)
            if two:
                mix[r] -= share * apart(j, code[r], v, tab)
        for p in range(count):
            deal.key[p] += mix[line[p]]


@compiling.part
def sort_by_key(count: Any, groups: Any, deal: Any) -> None:
    """Positions by key, in steps and with ties in a random rotation; and within each stratum."""
    low, high = deal.key[0], deal.key[0]
    for p in range(count):
        low, high = min(low, deal.key[p]), max(high, deal.key[p])
    bins = min(8 * count, len(deal.tally) - 1)
    scale = (bins - 1) / (high - low) if high > low else 0.0
    tally = deal.tally
    tally[: bins + 1] = 0
    for p in range(count):
        b = int((deal.key[p] - low) * scale)
        deal.pos[BIN, p] = b
        tally[b + 1] += 1
    for b in range(bins):
        tally[b + 1] += tally[b]
    turn = draw(deal.chance, count)
    for q in range(count):
        p = q + turn if q + turn < count else q + turn - count
        b = deal.pos[BIN, p]
        deal.pos[BY_KEY, tally[b]] = p
        tally[b] += 1
    for g in range(groups):
        deal.pos[FILL, g] = deal.pos[START, g]
    for q in range(count):
        p = deal.pos[BY_KEY, q]
        g = deal.pos[GROUP, p]
        deal.pos[BY_GROUP, deal.pos[FILL, g]] = p
        deal.pos[FILL, g] += 1


@compiling.part
def place(count: Any, want: Any, deal: Any) -> Any:
    """The plain border: a change of key near the wanted weight, else the wanted weight itself."""
    at, weight = 0, 0
    while at < count - 2 and 2 * weight + deal.pos[MASS, deal.pos[BY_KEY, at]] < 2 * want:
        weight += deal.pos[MASS, deal.pos[BY_KEY, at]]
        at += 1
    at = max(at, 1)
    for step in range(max(count // 4, 1)):
        for q in (at - step, at + step):
            if (
                0 < q < count
                and deal.pos[BIN, deal.pos[BY_KEY, q]] != deal.pos[BIN, deal.pos[BY_KEY, q - 1]]
            ):
                return q
    return at
