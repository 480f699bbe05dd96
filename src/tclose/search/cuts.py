"""Compiled cuts of one class in two along a column: the kernels behind Mondrian (LeFevre 2006).

A class is cut along one column. Strict cuts send every cell with code ≤ v to the left, so the
classes are disjoint boxes and a release can be repeated on other rows; relaxed cuts may part cells
with equal codes. A column with a hierarchy is cut along it: between children of the lowest common
ancestor of the class, so that the halves are further down (FREE cuts need not be). The promises are
such that a class which breaks one contains no partition that keeps it (`mathematics` 1.8), so a
refused cut is refused for good.

All cuts of a column are weighed in one sweep over the class's cells (`sweep`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tclose.search import compiling
from tclose.search.rules import (
    AT,
    BASE,
    BELOW,
    FIRST,
    LAST,
    NEED,
    PARENT,
    WIDTH,
    keeps_rule,
)
from tclose.search.sweep import (
    HEFT,
    LEFT,
    MASS,
    NEAR,
    ORDER,
    REST,
    RIGHT,
    SPANS,
    SPARE,
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
from tclose.search.tables import FORM, INTERVAL, SET, gap

GAIN, MEDIAN, RELAXED, FREE = range(4)


class Tree(NamedTuple):
    """The cuts so far, and the nodes still to be cut."""

    ids: Any
    """int64 [cells]: cells, those of a node side by side"""
    stack: Any
    """int64 [cells + 2, 4]: from, to, number and depth of the nodes still to be cut, in a ring"""
    top: Any
    """int64 [4]: nodes still to be cut, nodes in all, classes in all, where the oldest stands"""
    column: Any
    """int64 [nodes]: −1 for a leaf"""
    value: Any
    """int64 [nodes]: the largest code of the left half"""
    left: Any
    """int64 [nodes]: the left half's number; a leaf's class"""
    right: Any
    """int64 [nodes]"""
    label: Any
    """int64 [cells]"""


def make_tree(cells: int) -> Tree:
    """One node that holds every cell."""
    size = 2 * cells + 1
    tree = Tree(
        np.arange(cells), np.zeros((cells + 2, 4), np.int64), np.array([1, 1, 0, 0]),
        np.full(size, -1), np.zeros(size, np.int64), np.zeros(size, np.int64),
        np.zeros(size, np.int64), np.zeros(cells, np.int64),
    )  # fmt: skip
    tree.stack[0, 1] = cells
    return tree


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
def weigh(ids: Any, lo: Any, hi: Any, tab: Any, hist: Any) -> Any:
    """The weight of some cells, and their histogram into `hist`."""
    hist[:] = 0
    size = 0
    for p in range(lo, hi):
        cell = ids[p]
        size += tab.weight[cell]
        for a in range(tab.slot.shape[1]):
            hist[tab.slot[cell, a]] += tab.weight[cell]
    return size


@compiling.part
def kept(hist: Any, size: Any, depth: Any, tab: Any, work: Any) -> Any:
    """Whether a class may be released, its supersets included."""
    rules = tab.rules
    if size < rules.count[-1]:
        return False
    nodes = rules.node.shape[1]
    for rule in range(len(rules.head)):
        need = rules.head[rule, NEED]
        if need == 0:
            if not keeps_rule(rule, hist, size, rules.node[BELOW], 0, rules, work.scratch):
                return False
            continue
        found = size >= need
        level = 0
        while not found and level <= depth and level < len(work.above):
            above = work.above[level]
            if above[-1] < need:
                break
            n = above[nodes + rule]
            found = keeps_rule(rule, hist, size, above, n, rules, work.scratch)
            level += 1
        if not found:
            return False
    return True


@compiling.part
def halves(below: Any, size: Any, depth: Any, tab: Any, work: Any) -> Any:
    """Whether both halves may be released; the left one (NEAR) has `below` rows.

    One call in a loop, not two: what is called is compiled once per call.
    """
    for s in range(work.hist.shape[1]):
        work.hist[REST, s] = work.hist[WHOLE, s] - work.hist[NEAR, s]
    for half in (NEAR, REST):
        rows = below if half == NEAR else size - below
        if not kept(work.hist[half], rows, depth, tab, work):
            return False
    return True


@compiling.part
def add_up_to(j: Any, v: Any, ids: Any, lo: Any, count: Any, tab: Any, work: Any) -> Any:
    """Makes the cells up to rank v of column j the left half; returns their weight."""
    work.hist[NEAR] = 0
    line, added = work.local[j], 0
    for p in range(count):
        if line[p] <= v:
            cell = ids[lo + p]
            added += work.pos[HEFT, p]
            for a in range(tab.slot.shape[1]):
                work.hist[NEAR, tab.slot[cell, a]] += work.pos[HEFT, p]
    return added


@compiling.part
def add_cells(first: Any, end: Any, ids: Any, lo: Any, tab: Any, work: Any) -> Any:
    """Adds some cells along the column to the left half; returns their weight."""
    added = 0
    for q in range(first, end):
        cell = ids[lo + work.pos[ORDER, q]]
        added += tab.weight[cell]
        for a in range(tab.slot.shape[1]):
            work.hist[NEAR, tab.slot[cell, a]] += tab.weight[cell]
    return added


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
        if halves(below, size, depth, tab, work):
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
        if saved > best and halves(below, size, depth, tab, work):
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
        if v >= 0 and below >= k and size - below >= k and halves(below, size, depth, tab, work):
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


@compiling.part
def enter(size: Any, depth: Any, tab: Any, work: Any) -> None:
    """Makes the node a superset of what is cut from it."""
    if len(work.above) == 1 or depth >= len(work.above):
        return
    above, rules, nodes = work.above[depth], tab.rules, tab.rules.node.shape[1]
    above[:] = 0
    above[-1] = size
    for rule in range(len(rules.head)):
        base, at = rules.head[rule, BASE], rules.head[rule, AT]
        if rules.head[rule, NEED] == 0:
            continue
        for v in range(rules.head[rule, WIDTH]):
            above[rules.leaf[at + v]] += work.hist[WHOLE, base + v]
            above[nodes + rule] += work.hist[WHOLE, base + v]
        for node in range(rules.head[rule, FIRST], rules.head[rule, LAST] - 1):
            above[rules.node[PARENT, node]] += above[node]


@compiling.entry
def part(ids: Any, lo: Any, hi: Any, j: Any, v: Any, tab: Any, spare: Any) -> Any:
    """Cells with code ≤ v to the front, order kept; returns the border."""
    a, b = lo, 0
    for p in range(lo, hi):
        if tab.codes[ids[p], j] <= v:
            ids[a] = ids[p]
            a += 1
        else:
            spare[b] = ids[p]
            b += 1
    for p in range(b):
        ids[a + p] = spare[p]
    return a


@compiling.entry
def part_at(ids: Any, lo: Any, hi: Any, j: Any, at: Any, work: Any) -> Any:
    """The first `at` cells along column j to the front; returns the border."""
    line_up(j, hi - lo, work)
    for q in range(hi - lo):
        work.pos[SPARE, q] = ids[lo + work.pos[ORDER, q]]
    for q in range(hi - lo):
        ids[lo + q] = work.pos[SPARE, q]
    return lo + at


@compiling.entry
def close(node: Any, lo: Any, hi: Any, tree: Any) -> None:
    """Makes a node a class."""
    for p in range(lo, hi):
        tree.label[tree.ids[p]] = tree.top[2]
    tree.left[node] = tree.top[2]
    tree.top[2] += 1


@compiling.entry
def open_halves(
    node: Any, lo: Any, border: Any, hi: Any, j: Any, v: Any, depth: Any, tree: Any
) -> None:
    """Records a cut and lines both halves up to be cut, the left one last."""
    tree.column[node], tree.value[node] = j, v
    tree.left[node], tree.right[node] = tree.top[1], tree.top[1] + 1
    for half in range(2):
        at = (tree.top[3] + tree.top[0]) % len(tree.stack)
        tree.stack[at, 0] = border if half == 0 else lo
        tree.stack[at, 1] = hi if half == 0 else border
        tree.stack[at, 2] = tree.top[1] + 1 - half
        tree.stack[at, 3] = depth + 1
        tree.top[0] += 1
    tree.top[1] += 2


@compiling.entry
def take(tree: Any, work: Any) -> Any:
    """Where the next node to be cut stands.

    It is the oldest, so that a tree is grown evenly when time is up; but the youngest where the
    nodes above it must be at hand.
    """
    tree.top[0] -= 1
    if len(work.above) > 1:
        return (tree.top[3] + tree.top[0]) % len(tree.stack)
    at = tree.top[3]
    tree.top[3] = (at + 1) % len(tree.stack)
    return at


@compiling.entry
def grow(rule: Any, effort: Any, tab: Any, work: Any, tree: Any) -> Any:
    """Cuts nodes until none is left or about `effort` steps are spent; returns how many were."""
    spent = 0
    square = tab.codes.shape[1] ** 2 + 8
    while tree.top[0] > 0 and spent < effort:
        row = tree.stack[take(tree, work)]
        lo, hi, node, depth = row[0], row[1], row[2], row[3]
        spent += (hi - lo) * square
        j, v = choose(tree.ids, lo, hi, rule, depth, tab, work)
        if j < 0:
            close(node, lo, hi, tree)
        elif rule == RELAXED:
            open_halves(node, lo, part_at(tree.ids, lo, hi, j, v, work), hi, j, v, depth, tree)
        else:
            border = part(tree.ids, lo, hi, j, v, tab, work.pos[SPARE])
            open_halves(node, lo, border, hi, j, v, depth, tree)
    return spent


@compiling.entry
def close_all(tree: Any) -> None:
    """Makes every node that is still to be cut a class as it is."""
    while tree.top[0] > 0:
        tree.top[0] -= 1
        row = tree.stack[(tree.top[3] + tree.top[0]) % len(tree.stack)]
        close(row[2], row[0], row[1], tree)
