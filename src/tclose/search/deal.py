"""Hybrid cuts: a plain cut where one keeps the promise, else the least displaced stratified one.

A cut is an order of the node's cells (a *key*: one column, or nearness to one or two cells drawn as
seeds) and a share for the left half. Taken plainly, the first cells up to that share go left. Where
that breaks the promise the cells are dealt per stratum of sensitive values: a stratum sends

    λ · (its rows that the plain cut sends left) + (1 − λ) · share · (all its rows)

of its first rows left. λ = 1 is the plain cut; λ = 0 keeps every stratum's share, so both halves
keep the distribution up to rounding; the largest λ that keeps the promise displaces the fewest.
Rounding is carried along the sensitive order, so every prefix of it is off by less than one cell
(`mathematics` 3.11).

Cells with equal quasi-identifiers may part, and classes may overlap: this is local recoding.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tclose.search import compiling
from tclose.search.chance import draw, make_chance, unit
from tclose.search.cuts import FREE, best_gain, halves, weigh
from tclose.search.rules import slack
from tclose.search.sweep import FAR, NEAR, REST, SEEN, WHOLE, box, gather, sort
from tclose.search.tables import CURVE, FORM, GRID, SET, VALUES, Tables, apart, gap, ones

LADDER = np.array([1.0, 0.75, 0.5, 0.25, 0.0])
BINS = 4096
NOTHING = 1e-9
MANY_RUNS = 4
MIXED = 4
OVERHEAD = 100
"""Steps that a pass over a node takes however few cells it has."""
BUSY = 2_000_000
"""Cells that the tries of one node may handle: large nodes are tried less often."""


BY_KEY, BIN, MASS, GROUP, START, FILL, BY_GROUP, PLAIN, ROWS, ROOM, TODO = range(11)
"""Rows of `pos`: positions by key; the key in steps; the weight at each position; the stratum of
each position; the first place of each stratum in BY_GROUP; room to fill it; positions by stratum,
and by key within; rows of each stratum that the plain cut sends left; all its rows; room to sort
in; the ends of the nodes still to be cut, the next one last."""
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
    """int64 [11, cells + 2]"""
    side: Any
    """int32 [2, cells]"""
    chance: Any


class Slate(NamedTuple):
    """A class being cut into classes: its cells, side by side, and how far the cutting is."""

    ids: Any
    """int64 [cells]"""
    ends: Any
    """int64 [cells]: where each finished class ends"""
    mark: Any
    """int64 [4]: nodes still to be cut, where the next begins, finished classes, the curve"""
    cost: Any
    """float64 [2]: the loss of the finished classes, and the steps spent on cutting"""


def make_deal(tab: Tables, seed: int, stream: int) -> Deal:
    """Scratch memory for a problem, with a stream of random numbers."""
    cells = len(tab.codes)
    return Deal(
        np.empty(cells), np.empty(int(tab.column[VALUES].max()) + 2), np.empty(BINS + 1, np.int64),
        np.empty((11, cells + 2), np.int64), np.empty((2, cells), np.int32),
        make_chance(seed, stream),
    )  # fmt: skip


def make_slate(cells: int) -> Slate:
    """Room to cut a class of up to so many cells."""
    i8 = np.int64
    return Slate(np.empty(cells, i8), np.empty(cells + 1, i8), np.zeros(4, i8), np.zeros(2))


@compiling.part
def coarseness(ids: Any, lo: Any, count: Any, curve: Any, tab: Any, deal: Any) -> Any:
    """How many last bits to take off the fragments of a node's cells, or −1: runs of cells.

    One attribute is mostly dealt by its values; several by any grid that parts the node.
    """
    many = tab.slot.shape[1] > 1
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
            weight += deal.pos[MASS, p]
            for a in range(tab.slot.shape[1]):
                work.hist[NEAR, tab.slot[cell, a]] += deal.pos[MASS, p]
    return weight if 0 < weight < size and halves(weight, size, 0, tab, work) else 0


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
    left = 0
    if groups > 0:
        sort_by_key(count, groups, deal)
        deal.pos[PLAIN, :groups] = 0
        for q in range(place(count, share * size, deal)):
            p = deal.pos[BY_KEY, q]
            deal.pos[PLAIN, deal.pos[GROUP, p]] += deal.pos[MASS, p]
            left += deal.pos[MASS, p]
    for lam in ladder:
        if groups > 0:
            hand_out(count, groups, left / size, lam, deal)
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
        deal.pos[MASS, p] = tab.weight[ids[lo + p]]
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


@compiling.part
def split(ids: Any, lo: Any, hi: Any, side: Any, spare: Any) -> Any:
    """What goes left to the front, order kept; returns the border."""
    a, b = lo, 0
    for p in range(lo, hi):
        if side[p - lo] != 0:
            ids[a] = ids[p]
            a += 1
        else:
            spare[b] = ids[p]
            b += 1
    for p in range(b):
        ids[a + p] = spare[p]
    return a


@compiling.entry
def begin(count: Any, tab: Any, deal: Any, slate: Any) -> None:
    """Puts the first cells of a slate in sensitive order; cuts keep it in every node below."""
    curves = tab.order.shape[1]
    if draw(deal.chance, 5) < MIXED:
        curves = (curves + 1) // 2
    curve = draw(deal.chance, curves)
    n = len(tab.codes)
    if count == n:
        for cell in range(n):
            slate.ids[tab.order[CURVE, curve, cell]] = cell
    else:
        for p in range(count):
            deal.pos[ROOM, p] = tab.order[CURVE, curve, slate.ids[p]] * n + slate.ids[p]
        sort(deal.pos[ROOM], count)
        for p in range(count):
            slate.ids[p] = deal.pos[ROOM, p] % n
    deal.pos[TODO, 0] = count
    slate.mark[0], slate.mark[1], slate.mark[2], slate.mark[3] = 1, 0, 0, curve
    slate.cost[:] = 0.0


@compiling.entry
def carve(
    effort: Any, tries: Any, plainly: Any, tight: Any,
    tab: Any, work: Any, deal: Any, ladder: Any, slate: Any,
) -> None:  # fmt: skip
    """Cuts the slate, a class that keeps the promise, until it is done or effort is spent."""
    spent, mark, todo, d = 0, slate.mark, deal.pos[TODO], tab.codes.shape[1]
    while mark[0] > 0 and spent < effort:
        lo, hi = mark[1], todo[mark[0] - 1]
        spent += hi - lo
        saved, here, passes = best_cut(
            slate.ids, lo, hi, mark[3], tries, plainly, tight, tab, work, deal, ladder
        )
        slate.cost[1] += passes * ((hi - lo) * d + OVERHEAD)
        if saved > NOTHING or (saved > -NOTHING and draw(deal.chance, 2) == 0):
            todo[mark[0]] = split(slate.ids, lo, hi, deal.side[BEST], deal.pos[ROOM])
            mark[0] += 1
        else:
            slate.ends[mark[2]] = hi
            mark[2] += 1
            slate.cost[0] += here
            mark[1] = hi
            mark[0] -= 1


@compiling.entry
def give_up(deal: Any, slate: Any) -> None:
    """Makes every node that is still to be cut a class as it is; the cost is not kept."""
    while slate.mark[0] > 0:
        slate.mark[0] -= 1
        slate.ends[slate.mark[2]] = deal.pos[TODO, slate.mark[0]]
        slate.mark[2] += 1
