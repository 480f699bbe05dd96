"""Hybrid cuts: a plain cut where one keeps the promise, else the least displaced stratified one.

A cut is an order of the node's cells (`keys`) and a share for the left half. Taken plainly, the
first cells up to that share go left. Where that breaks the promise the cells are dealt per stratum
of sensitive values: a stratum sends

    λ · (its rows that the plain cut sends left) + (1 − λ) · share · (all its rows)

of its first rows left. λ = 1 is the plain cut; λ = 0 keeps every stratum's share, so both halves
keep the distribution up to rounding; the largest λ that keeps the promise displaces the fewest.
Rounding is carried along the sensitive order, so every prefix of it is off by less than one cell
(`mathematics` 3.11).

Cells with equal quasi-identifiers may part, and classes may overlap: this is local recoding.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tclose.kernels import compiling
from tclose.kernels.chance import draw, unit
from tclose.kernels.rules import slack
from tclose.kernels.tables import FORM, SET, adds, gap, ones
from tclose.search.local_search.keys import (
    BEST,
    BY_GROUP,
    BY_KEY,
    GROUP,
    MASS,
    PLAIN,
    ROWS,
    SIDE,
    START,
    column_key,
    place,
    seed_key,
    sort_by_key,
    strata,
)
from tclose.search.mondrian.cuts import FREE, best_gain
from tclose.search.mondrian.halves import both_kept, weigh
from tclose.search.mondrian.sweep import FAR, NEAR, REST, SEEN, WHOLE, box, gather

LADDER = np.array([1.0, 0.75, 0.5, 0.25, 0.0])
"""The λ that are tried, one after another."""
NOTHING = 1e-9
"""A loss that is not worth a change."""
BUSY = 2_000_000
"""Cells that the tries of one node may handle: large nodes are tried less often."""


@compiling.part
def hand_out(count: Any, groups: Any, share: Any, lam: Any, deal: Any) -> None:
    """Fills `side` for one λ; half a cell's rounding decides, and is carried to the next."""
    deal.side[SIDE, :count] = 0
    due, taken = 0.0, 0
    for g in range(groups):
        due += lam * deal.pos[PLAIN, g] + (1.0 - lam) * share * deal.pos[ROWS, g]
        for q in range(deal.pos[START, g], deal.pos[START, g + 1]):
            p = deal.pos[BY_GROUP, q]
            if taken + 0.5 * deal.pos[MASS, p] > due:
                break
            taken += deal.pos[MASS, p]
            deal.side[SIDE, p] = -1


@compiling.part
def sides(count: Any, side: Any, tab: Any, work: Any) -> Any:
    """Loss per row of both halves; minima, maxima and bit sets without branches, for speed."""
    near, far = 0.0, 0.0
    for j in range(tab.codes.shape[1]):
        line, code = work.local[j], work.code[j]
        if tab.column[FORM, j] != SET:
            a, b, c, d = FAR, 0, FAR, 0
            for p in range(count):
                v, s = line[p], side[p]
                a = min(a, v | (~s & FAR))
                b = max(b, v & s)
                c = min(c, v | (s & FAR))
                d = max(d, v & ~s)
            near += gap(j, code[a], code[b], tab)
            far += gap(j, code[c], code[d], tab)
        elif work.ranks[j] <= 63:
            a, b = 0, 0
            for p in range(count):
                bit, s = 1 << line[p], np.int64(side[p])
                a |= bit & s
                b |= bit & ~s
            near += gap(j, 0, ones(a), tab)
            far += gap(j, 0, ones(b), tab)
        else:
            near += gap(j, 0, different(count, -1, j, side, work), tab)
            far += gap(j, 0, different(count, 0, j, side, work), tab)
    return near, far


@compiling.part
def different(count: Any, which: Any, j: Any, side: Any, work: Any) -> Any:
    """How many codes of column j one half has."""
    line, found = work.local[j], 0
    for r in range(work.ranks[j]):
        work.tick[SEEN, r] = 0
    for p in range(count):
        if side[p] == which:
            found += 1 - work.tick[SEEN, line[p]]
            work.tick[SEEN, line[p]] = 1
    return found


@compiling.part
def left_weight(ids: Any, lo: Any, count: Any, size: Any, tab: Any, work: Any, deal: Any) -> Any:
    """The weight of the left half if both halves keep the promise, else 0."""
    work.hist[NEAR] = 0
    weight = 0
    for p in range(count):
        if deal.side[SIDE, p] != 0:
            cell = ids[lo + p]
            weight += tab.weight[cell]
            for a in range(tab.slot.shape[1]):
                work.hist[NEAR, tab.slot[cell, a]] += adds(cell, a, tab)
    return weight if 0 < weight < size and both_kept(weight, size, 0, tab, work) else 0


@compiling.part
def regret(weight: Any, size: Any, tight: Any, tab: Any, work: Any, deal: Any) -> Any:
    """What the loss does not show yet: a large half that has used up its closeness.

    A half with no slack can never be cut again, however large it is.
    """
    if tight <= 0.0 or size < 8 * tab.rules.count[-1] or len(tab.rules.head) == 0:
        return 0.0
    total = 0.0
    for half in (NEAR, REST):
        rows = weight if half == NEAR else size - weight
        room = slack(work.hist[half], rows, tab.rules, work.scratch)
        total += rows * math.exp(-15.0 * room)
    return tight * total


@compiling.part
def try_key(
    ids: Any, lo: Any, count: Any, groups: Any, share: Any, size: Any, here: Any, tight: Any,
    tab: Any, work: Any, deal: Any, ladder: Any,
) -> Any:  # fmt: skip
    """(loss saved, the same less its regret) of the least displaced allowed cut of the key.

    Without strata (no groups) the cut is taken as it stands in `side`.
    """
    left, mass = 0, 0
    if groups > 0:
        sort_by_key(count, groups, deal)
        deal.pos[PLAIN, :groups] = 0
        for g in range(groups):
            mass += deal.pos[ROWS, g]
        for q in range(place(count, share * mass, deal)):
            p = deal.pos[BY_KEY, q]
            deal.pos[PLAIN, deal.pos[GROUP, p]] += deal.pos[MASS, p]
            left += deal.pos[MASS, p]
    for lam in ladder:
        if groups > 0:
            hand_out(count, groups, left / mass, lam, deal)
        weight = left_weight(ids, lo, count, size, tab, work, deal)
        if weight > 0:
            near, far = sides(count, deal.side[SIDE], tab, work)
            saved = size * here - weight * near - (size - weight) * far
            return saved, saved - regret(weight, size, tight, tab, work, deal)
        if groups == 0:
            break
    return -1.0, -math.inf


@compiling.part
def plain_cut(
    ids: Any, lo: Any, hi: Any, size: Any, here: Any, tab: Any, work: Any, deal: Any
) -> Any:
    """The best strict cut over all columns into `side`; the loss saved, or −1."""
    saved, j, v = best_gain(ids, lo, hi, size, here, FREE, 0, tab, work)
    if j >= 0:
        for p in range(hi - lo):
            deal.side[SIDE, p] = -1 if work.local[j, p] <= v else 0
    return saved


@compiling.part
def best_cut(
    ids: Any, lo: Any, hi: Any, curve: Any, tries: Any, plainly: Any, tight: Any,
    tab: Any, work: Any, deal: Any, ladder: Any,
) -> Any:  # fmt: skip
    """The best of the strict cuts and of some random keys into `deal.side[BEST]`.

    Returns the loss saved (−1: no cut), the node's loss, and the passes over its cells that this
    took. A large node without a cut is tried harder: giving up on it is what costs most.
    """
    count = hi - lo
    size = weigh(ids, lo, hi, tab, work.hist[WHOLE])
    gather(ids, lo, hi, tab, work)
    here = box(tab, work)
    best, score = -1.0, -math.inf
    if size < 2 * tab.rules.count[-1] or count < 2 or here == 0.0:
        return best, size * here, 1
    for p in range(count):
        deal.pos[MASS, p] = adds(ids[lo + p], 0, tab)
    d = tab.codes.shape[1]
    turn = draw(deal.chance, d)
    most = max(BUSY // count, 2)
    trial = -1 if plainly and plain_cut(ids, lo, hi, size, here, tab, work, deal) >= 0.0 else 0
    while trial < most and (
        trial < tries or (best <= NOTHING and trial < tries * min(1 + count // 100, 10))
    ):
        groups, share = 0, 0.5
        if trial >= 0:
            groups = strata(ids, lo, count, curve, tab, deal)
            j = (turn + trial) % d
            if trial % 2 == 0 and work.ranks[j] > 1:
                column_key(count, j, tab, work, deal)
            else:
                seed_key(count, tab, work, deal)
            if draw(deal.chance, 2) == 0:
                share = 0.1 + 0.4 * unit(deal.chance)
        trial += 1
        saved, value = try_key(
            ids, lo, count, groups, share, size, here, tight, tab, work, deal, ladder
        )
        if value > score:
            best, score = saved, value
            for p in range(count):
                deal.side[BEST, p] = deal.side[SIDE, p]
    return best, size * here, trial + 2 + (d if plainly else 0)
