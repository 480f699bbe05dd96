"""A class cut into classes from the top down by hybrid cuts (`deal`), on a slate of its own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels import compiling
from tclose.kernels.chance import draw
from tclose.kernels.order import divide, sort
from tclose.kernels.tables import CURVE
from tclose.search.local_search.deal import NOTHING, best_cut
from tclose.search.local_search.keys import BEST
from tclose.search.outcome import numbered

Ints = NDArray[np.int64]

MIXED = 4
"""Of five slates so many lie in an order that mixes all sensitive attributes."""
OVERHEAD = 100
"""Steps that a pass over a node takes however few cells it has."""


class Slate(NamedTuple):
    """A class being cut into classes: its cells, side by side, and how far the cutting is."""

    ids: Any
    """int64 [cells]"""
    waiting: Any
    """int64 [cells + 1]: where each node that is still to be cut ends, the next one last"""
    ends: Any
    """int64 [cells + 1]: where each finished class ends"""
    mark: Any
    """int64 [4]: nodes still to be cut, where the next begins, finished classes, the curve"""
    cost: Any
    """float64 [2]: the loss of the finished classes, and the steps spent on cutting"""
    room: Any
    """int64 [cells]: to sort in"""


def make_slate(cells: int) -> Slate:
    """Room to cut a class of up to so many cells; all of them are on it."""
    i8 = np.int64
    return Slate(
        np.arange(cells), np.empty(cells + 1, i8), np.empty(cells + 1, i8), np.zeros(4, i8),
        np.zeros(2), np.empty(cells, i8),
    )  # fmt: skip


def lay_out(label: Ints, slate: Slate) -> None:
    """Makes every class of a partition of the cells on a slate a node to be cut."""
    slate.ids[:] = slate.ids[np.argsort(label[slate.ids], kind="stable")]
    ends = np.cumsum(np.bincount(label))
    slate.waiting[: len(ends)] = ends[::-1]
    slate.mark[0] = len(ends)


def labels(slate: Slate) -> Ints:
    """The class of each cell, when all cells are on the slate and it is done."""
    ends = slate.ends[: slate.mark[2]]
    found = np.empty(len(slate.ids), dtype=np.int64)
    found[slate.ids] = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    return numbered(found)


@compiling.entry
def begin(count: Any, tab: Any, chance: Any, slate: Any) -> None:
    """Puts the first cells of a slate in sensitive order; cuts keep it in every node below."""
    curves = tab.order.shape[1]
    if draw(chance, 5) < MIXED:
        curves = (curves + 1) // 2
    curve = draw(chance, curves)
    n = len(tab.codes)
    if count == n:
        for cell in range(n):
            slate.ids[tab.order[CURVE, curve, cell]] = cell
    else:
        for p in range(count):
            slate.room[p] = tab.order[CURVE, curve, slate.ids[p]] * n + slate.ids[p]
        sort(slate.room, count)
        for p in range(count):
            slate.ids[p] = slate.room[p] % n
    slate.waiting[0] = count
    slate.mark[0], slate.mark[1], slate.mark[2], slate.mark[3] = 1, 0, 0, curve
    slate.cost[:] = 0.0


@compiling.entry
def carve(
    effort: Any, tries: Any, plainly: Any, tight: Any,
    tab: Any, work: Any, deal: Any, ladder: Any, slate: Any,
) -> None:  # fmt: skip
    """Cuts the slate, a class that keeps the promise, until it is done or effort is spent."""
    spent, mark, waiting, d = 0, slate.mark, slate.waiting, tab.codes.shape[1]
    while mark[0] > 0 and spent < effort:
        lo, hi = mark[1], waiting[mark[0] - 1]
        spent += hi - lo
        saved, here, passes = best_cut(
            slate.ids, lo, hi, mark[3], tries, plainly, tight, tab, work, deal, ladder
        )
        slate.cost[1] += passes * ((hi - lo) * d + OVERHEAD)
        if saved > NOTHING or (saved > -NOTHING and draw(deal.chance, 2) == 0):
            waiting[mark[0]] = divide(slate.ids, lo, hi, deal.side[BEST], slate.room)
            mark[0] += 1
        else:
            slate.ends[mark[2]] = hi
            mark[2] += 1
            slate.cost[0] += here
            mark[1] = hi
            mark[0] -= 1


@compiling.entry
def give_up(slate: Any) -> None:
    """Makes every node that is still to be cut a class as it is; the cost is not kept."""
    while slate.mark[0] > 0:
        slate.mark[0] -= 1
        slate.ends[slate.mark[2]] = slate.waiting[slate.mark[0]]
        slate.mark[2] += 1
