"""Which cut of a class in two is taken: the kernels behind Mondrian (LeFevre 2006).

A class is cut along one column. Strict cuts send every cell with code ≤ v to the left, so the
classes are disjoint boxes and a release can be repeated on other rows; relaxed cuts may part cells
with equal codes. A column with a hierarchy is cut along it: between children of the lowest common
ancestor of the class, so that the halves are further down (FREE cuts need not be). The promises are
such that a class which breaks one contains no partition that keeps it (`mathematics` 1.8), so a
refused cut is refused for good.

All cuts of a column are weighed in one sweep over the class's cells (`sweep`).
"""

from __future__ import annotations

from typing import Any

from tclose.kernels import compiling
from tclose.kernels.tables import FORM, INTERVAL, SET, gap
from tclose.search.mondrian.halves import add_cells, add_up_to, both_kept, enter, weigh
from tclose.search.mondrian.sweep import (
    LEFT,
    MASS,
    NEAR,
    ORDER,
    RIGHT,
    SPANS,
    TALLY,
    TOP_RANK,
    TOPS,
    WHOLE,
    box,
    gather,
    line_up,
    set_bits,
    weigh_cuts,
)

GAIN, MEDIAN, RELAXED, FREE = range(4)


@compiling.part
def next_widest(taken: Any, columns: Any, work: Any) -> Any:
    """The widest column that is not narrower than what was taken; −1 after the last.

    `taken` is the last one taken (−1: none); equally wide columns come in their order.
    """
    best = -1
    for j in range(columns):
        width = work.loss[SPANS, j]
        if taken >= 0:
            last = work.loss[SPANS, taken]
            if width > last or (width == last and j <= taken):
                continue
        if best < 0 or width > work.loss[SPANS, best]:
            best = j
    return best


@compiling.part
def along(j: Any, v: Any, rule: Any, tab: Any, work: Any) -> Any:
    """Whether a cut after rank v of column j goes along its hierarchy, if it has one.

    It does between two children of the class's lowest common ancestor: the neighbours there have
    no lower one, and so the same loss.
    """
    form = tab.column[FORM, j]
    if rule == FREE or form in (INTERVAL, SET):
        return True
    return gap(j, work.code[j, v], work.code[j, v + 1], tab) == work.loss[SPANS, j]


@compiling.part
def middle(
    ids: Any, lo: Any, hi: Any, j: Any, size: Any, rule: Any, tab: Any, work: Any
) -> Any:  # fmt: skip
    """Where the median cut of column j falls: (its rank, the position after it), or (−1, −1).

    That is the first border at or after half of the rows; along a hierarchy the one nearest to
    half. Relaxed cuts of other columns may end at any cell.
    """
    tree = tab.column[FORM, j] != INTERVAL and tab.column[FORM, j] != SET
    steps = rule == RELAXED and not tree
    best, rank, where, below, first = 2 * size, -1, -1, 0, 0
    for v in range((hi - lo if steps else work.ranks[j]) - 1):
        end = v + 1 if steps else work.tick[TALLY, v]
        for q in range(first, end):
            below += tab.weight[ids[lo + work.pos[ORDER, q]]]
        first = end
        late = 2 * below >= size
        if (
            (late or tree)
            and abs(2 * below - size) < best
            and (steps or along(j, v, rule, tab, work))
        ):
            best, rank, where = abs(2 * below - size), v, end
        if late and where >= 0:
            break
    return rank, where


@compiling.part
def top_rank(size: Any, here: Any, j: Any, rule: Any, tab: Any, work: Any) -> Any:
    """The cut of column j that saves most if it is allowed: (loss saved, rank), or (−1, −1)."""
    k, below = tab.rules.count[-1], 0
    best, where = -1.0, -1
    for v in range(work.ranks[j] - 1):
        below += work.tick[MASS, v]
        if below >= k and size - below >= k and along(j, v, rule, tab, work):
            saved = size * here - below * work.loss[LEFT, v]
            saved = max(saved - (size - below) * work.loss[RIGHT, v + 1], 0.0)
            if saved > best:
                best, where = saved, v
    return best, where


@compiling.part
def next_best(reach: Any, loss: Any) -> Any:
    """The column whose best cut would save most, and more than `reach`; −1: none. The widest of
    equals."""
    best = -1
    for j in range(len(loss[TOPS])):
        if loss[TOPS, j] > reach and (
            best < 0
            or loss[TOPS, j] > loss[TOPS, best]
            or (loss[TOPS, j] == loss[TOPS, best] and loss[SPANS, j] > loss[SPANS, best])
        ):
            best = j
    return best


@compiling.part
def best_gain(
    ids: Any, lo: Any, hi: Any, size: Any, here: Any, rule: Any, depth: Any, tab: Any, work: Any
) -> Any:  # fmt: skip
    """The allowed cut that saves most: (loss saved, column, rank), or (−1, −1, −1).

    The best cut of every column is weighed first, and judged in the order of what they save; the
    others of a column are judged only where its best is not allowed.
    """
    set_bits(hi - lo, work)
    work.loss[TOPS] = -1.0
    for j in range(len(work.ranks)):
        if work.ranks[j] > 1 and weigh_cuts(j, hi - lo, tab, work):
            work.loss[TOPS, j], work.span[TOP_RANK, j] = top_rank(size, here, j, rule, tab, work)
    best, column, where = -1.0, -1, -1
    j = next_best(best, work.loss)
    while j >= 0:
        v = work.span[TOP_RANK, j]
        below = add_up_to(j, v, ids, lo, hi - lo, tab, work)
        if both_kept(below, size, depth, tab, work):
            return work.loss[TOPS, j], j, v
        saved, v = other_rank(ids, lo, hi, j, size, here, rule, depth, best, tab, work)
        if v >= 0:
            best, column, where = saved, j, v
        work.loss[TOPS, j] = -1.0
        j = next_best(best, work.loss)
    return best, column, where


@compiling.part
def other_rank(
    ids: Any, lo: Any, hi: Any, j: Any, size: Any, here: Any, rule: Any, depth: Any, least: Any,
    tab: Any, work: Any,
) -> Any:  # fmt: skip
    """The best allowed cut of column j that saves more than `least`: (loss saved, rank)."""
    weigh_cuts(j, hi - lo, tab, work)
    line_up(j, hi - lo, work)
    work.hist[NEAR] = 0
    k = tab.rules.count[-1]
    best, where, below, first = least, -1, 0, 0
    for v in range(work.ranks[j] - 1):
        below += add_cells(first, work.tick[TALLY, v], ids, lo, tab, work)
        first = work.tick[TALLY, v]
        above = size - below
        if above < k:
            break
        if below < k or not along(j, v, rule, tab, work):
            continue
        saved = size * here - below * work.loss[LEFT, v]
        saved = max(saved - above * work.loss[RIGHT, v + 1], 0.0)
        if saved > best and both_kept(below, size, depth, tab, work):
            best, where = saved, v
    return best, where


@compiling.part
def widest_median(
    ids: Any, lo: Any, hi: Any, size: Any, rule: Any, depth: Any, tab: Any, work: Any
) -> Any:  # fmt: skip
    """The median cut of the widest column that allows it: (column, rank or position)."""
    k = tab.rules.count[-1]
    j = next_widest(-1, tab.codes.shape[1], work)
    while j >= 0 and work.ranks[j] > 1:
        work.hist[NEAR] = 0
        line_up(j, hi - lo, work)
        v, end = middle(ids, lo, hi, j, size, rule, tab, work)
        below = add_cells(0, max(end, 0), ids, lo, tab, work)
        if v >= 0 and below >= k and size - below >= k and both_kept(below, size, depth, tab, work):
            return j, end if rule == RELAXED else v
        j = next_widest(j, tab.codes.shape[1], work)
    return -1, -1


@compiling.part
def choose(ids: Any, lo: Any, hi: Any, rule: Any, depth: Any, tab: Any, work: Any) -> Any:
    """The cut that a node takes: (column, code or position), or (−1, −1)."""
    size = weigh(ids, lo, hi, tab, work.hist[WHOLE])
    if size < 2 * tab.rules.count[-1] or hi - lo < 2:
        return -1, -1
    gather(ids, lo, hi, tab, work)
    here = box(tab, work)
    enter(size, depth, tab, work)
    if rule in (MEDIAN, RELAXED):
        j, v = widest_median(ids, lo, hi, size, rule, depth, tab, work)
    else:
        _, j, v = best_gain(ids, lo, hi, size, here, rule, depth, tab, work)
    if j < 0 or rule == RELAXED:
        return j, v
    return j, int(work.code[j, v])
