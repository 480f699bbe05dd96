"""Compiled cuts of one class in two along a column: the kernels behind Mondrian (LeFevre 2006).

A class is cut along one column. Strict cuts send every cell with code ≤ v to the left, so the
classes are disjoint boxes and a release can be repeated on other rows; relaxed cuts may part cells
with equal codes. The promises are such that a class which breaks one contains no partition that
keeps it (`mathematics` 1.8), so a refused cut is refused for good.

All cuts of a column are weighed in one sweep: for each value of every other column, the first and
the last place along the cut column where it occurs give the boxes of all prefixes and suffixes.
A node of N cells costs O(N · columns²), whatever the sizes of the domains.
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
from tclose.search.tables import FORM, SET, VALUES, Tables, gap

GAIN, MEDIAN, RELAXED = range(3)
FAR = 1 << 30
DEEPEST = 1000


LOW, HIGH, SEEN, TALLY, RANK = range(5)
"""Rows of `tick`."""
LEFT, RIGHT, SPANS = range(3)
"""Rows of `loss`: per row of the cells up to and from each rank on; per column of the node."""
ORDER, SPARE = range(2)
"""Rows of `pos`: positions along the column that is being cut; room to sort in."""
WHOLE, NEAR, REST = range(3)
"""Rows of `hist`: the node, its left half, its right half."""


class Work(NamedTuple):
    """Scratch memory of one search; a kernel may overwrite all of it."""

    local: Any
    """int32 [columns, cells]: the node's codes, ranked among the codes that occur in it"""
    code: Any
    """int32 [columns, codes]: the code of each rank"""
    ranks: Any
    """int64 [columns]: how many codes occur"""
    tick: Any
    """int64 [5, codes]"""
    corner: Any
    """int32 [2, columns, codes]: the first and the last rank at which each code occurs"""
    loss: Any
    """float64 [3, codes]"""
    pos: Any
    """int64 [2, cells]"""
    hist: Any
    """int64 [3, slots]"""
    scratch: Any
    """int64 [2 · nodes]"""
    above: Any
    """int64 [levels, nodes + rules + 1]: of the node and those above it, for (n, t)-closeness: rows
    below each node of the metrics' trees, rows whose value is known, and all rows"""


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


def make_work(tab: Tables) -> Work:
    """Scratch memory for a problem."""
    cells, columns = tab.codes.shape
    width = max(int(tab.column[VALUES].max()), columns) + 2
    slots, nodes, rules = len(tab.rules.count), tab.rules.node.shape[1], len(tab.rules.head)
    levels = DEEPEST if tab.rules.head[:, NEED].any() else 1
    few, many = np.int32, np.int64
    return Work(
        np.empty((columns, cells), few), np.empty((columns, width), few),
        np.zeros(columns, many), np.zeros((5, width), many), np.empty((2, columns, width), few),
        np.empty((3, width)), np.empty((2, cells), many), np.zeros((3, slots), many),
        np.zeros(2 * nodes + 2, many), np.zeros((levels, nodes + rules + 1), many),
    )  # fmt: skip


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
def gather(ids: Any, lo: Any, hi: Any, tab: Any, work: Any) -> None:
    """The node's codes as ranks, so that what follows costs its own cells and not the domains."""
    count = hi - lo
    for j in range(tab.codes.shape[1]):
        line, code, rank = work.local[j], work.code[j], work.tick[RANK]
        found = 0
        if tab.column[VALUES, j] <= 4 * count + 64:
            for v in range(tab.column[VALUES, j]):
                rank[v] = 0
            for p in range(count):
                line[p] = tab.codes[ids[lo + p], j]
                rank[line[p]] = 1
            for v in range(tab.column[VALUES, j]):
                if rank[v] != 0:
                    code[found] = v
                    rank[v] = found
                    found += 1
            for p in range(count):
                line[p] = rank[line[p]]
        else:
            for p in range(count):
                line[p] = tab.codes[ids[lo + p], j]
            found = ranked(line, count, code, work.pos[SPARE])
        work.ranks[j] = found


@compiling.part
def ranked(line: Any, count: Any, code: Any, room: Any) -> Any:
    """Turns codes into ranks by sorting them; returns how many there are."""
    for p in range(count):
        room[p] = (np.int64(line[p]) << 32) | p
    sort(room, count)
    found = -1
    for q in range(count):
        v, p = room[q] >> 32, room[q] & 0xFFFFFFFF
        if found < 0 or code[found] != v:
            found += 1
            code[found] = v
        line[p] = found
    return found + 1


@compiling.part
def sort(numbers: Any, count: Any) -> None:
    """Ascending order, in place (Shell's sort: little to compile, and fast on what comes here)."""
    step = 1
    while step < count // 3:
        step = 3 * step + 1
    while step > 0:
        for p in range(step, count):
            here, q = numbers[p], p
            while q >= step and numbers[q - step] > here:
                numbers[q] = numbers[q - step]
                q -= step
            numbers[q] = here
        step //= 3


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
def box(tab: Any, work: Any) -> Any:
    """Loss per row of the gathered node; `spans[j]` is column j's part of it."""
    total = 0.0
    for j in range(tab.codes.shape[1]):
        found = work.ranks[j]
        if tab.column[FORM, j] == SET:
            work.loss[SPANS, j] = gap(j, 0, found, tab)
        else:
            work.loss[SPANS, j] = gap(j, work.code[j, 0], work.code[j, found - 1], tab)
        total += work.loss[SPANS, j]
    return total


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
def corners(j: Any, count: Any, tab: Any, work: Any) -> None:
    """The first and the last rank of column j at which each code of every column occurs."""
    line = work.local[j]
    for i in range(tab.codes.shape[1]):
        first, last, other = work.corner[0, i], work.corner[1, i], work.local[i]
        for u in range(work.ranks[i]):
            first[u] = FAR
            last[u] = -1
        for p in range(count):
            u, v = other[p], line[p]
            first[u] = min(first[u], v)
            last[u] = max(last[u], v)


@compiling.part
def sweep(j: Any, i: Any, backwards: Any, tab: Any, work: Any, out: Any) -> None:
    """Adds column i's loss of every prefix (or suffix) along column j to `out`."""
    length = work.ranks[j]
    low, high, seen = work.tick[LOW], work.tick[HIGH], work.tick[SEEN]
    for p in range(length):
        low[p] = FAR
        high[p] = -1
        seen[p] = 0
    at = work.corner[1, i] if backwards else work.corner[0, i]
    for u in range(work.ranks[i]):
        p = at[u]
        low[p] = min(low[p], u)
        high[p] = max(high[p], u)
        seen[p] += 1
    a, b, c, here = FAR, -1, 0, 0.0
    for step in range(length):
        p = length - 1 - step if backwards else step
        if seen[p] > 0:
            a, b, c = min(a, low[p]), max(b, high[p]), c + seen[p]
            if tab.column[FORM, i] == SET:
                here = gap(i, 0, c, tab)
            else:
                here = gap(i, work.code[i, a], work.code[i, b], tab)
        out[p] += here


@compiling.part
def line_up(j: Any, count: Any, work: Any) -> None:
    """Positions in the order of column j (`order`); `tally[v]` is the end of rank v."""
    line, tally, length = work.local[j], work.tick[TALLY], work.ranks[j]
    for v in range(length + 1):
        tally[v] = 0
    for p in range(count):
        tally[line[p] + 1] += 1
    for v in range(length):
        tally[v + 1] += tally[v]
    for p in range(count):
        work.pos[ORDER, tally[line[p]]] = p
        tally[line[p]] += 1


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
def weigh_cuts(j: Any, count: Any, tab: Any, work: Any) -> None:
    """The loss of the prefix that ends and of the suffix that begins at every rank of column j."""
    corners(j, count, tab, work)
    for v in range(work.ranks[j]):
        work.loss[LEFT, v] = 0.0
        work.loss[RIGHT, v] = 0.0
    for i in range(tab.codes.shape[1]):
        sweep(j, i, False, tab, work, work.loss[LEFT])
        sweep(j, i, True, tab, work, work.loss[RIGHT])


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
def top_rank(size: Any, here: Any, j: Any, ids: Any, lo: Any, tab: Any, work: Any) -> Any:
    """The cut of column j that saves most if it is allowed: (loss saved, rank), or (−1, −1)."""
    k, below, first = tab.rules.count[-1], 0, 0
    best, where = -1.0, -1
    for v in range(work.ranks[j] - 1):
        for q in range(first, work.tick[TALLY, v]):
            below += tab.weight[ids[lo + work.pos[ORDER, q]]]
        first = work.tick[TALLY, v]
        if below >= k and size - below >= k:
            saved = size * here - below * work.loss[LEFT, v]
            saved = max(saved - (size - below) * work.loss[RIGHT, v + 1], 0.0)
            if saved > best:
                best, where = saved, v
    return best, where


@compiling.part
def best_rank(
    ids: Any, lo: Any, hi: Any, j: Any, size: Any, here: Any, rule: Any, depth: Any, least: Any,
    tab: Any, work: Any,
) -> Any:  # fmt: skip
    """The best allowed cut of column j that saves more than `least`: (loss saved, rank).

    (−1, −1) stands for none.
    Relaxed cuts may end at any cell; then the position stands in place of the rank. The cut that
    would save most is tried first, and all others only if it is not allowed.
    """
    line_up(j, hi - lo, work)
    v, leap, k = 0, rule == GAIN, tab.rules.count[-1]
    if leap:
        weigh_cuts(j, hi - lo, tab, work)
        top, v = top_rank(size, here, j, ids, lo, tab, work)
        if top <= least:
            return -1.0, -1
    work.hist[NEAR] = 0
    best, where, below, first = least, -1, 0, 0
    last = hi - lo if rule == RELAXED else work.ranks[j]
    while v < last - 1:
        end = v + 1 if rule == RELAXED else work.tick[TALLY, v]
        below += add_cells(first, end, ids, lo, tab, work)
        first = end
        above = size - below
        if below >= k and above >= k and (rule == GAIN or 2 * below >= size):
            saved = 0.0
            if rule == GAIN:
                saved = size * here - below * work.loss[LEFT, v]
                saved = max(saved - above * work.loss[RIGHT, v + 1], 0.0)
            if saved > best and halves(below, size, depth, tab, work):
                best, where = saved, v
        if where >= 0 if leap else above < k or (rule != GAIN and 2 * below >= size):
            break
        v += 1
        if leap:
            leap, v, first, below = False, 0, 0, 0
            work.hist[NEAR] = 0
    return (best, where) if where >= 0 else (-1.0, -1)


@compiling.part
def choose(ids: Any, lo: Any, hi: Any, rule: Any, depth: Any, tab: Any, work: Any) -> Any:
    """The cut that a node takes: (column, code or position), or (−1, −1)."""
    size = weigh(ids, lo, hi, tab, work.hist[WHOLE])
    if size < 2 * tab.rules.count[-1] or hi - lo < 2:
        return -1, -1
    gather(ids, lo, hi, tab, work)
    here = box(tab, work)
    enter(size, depth, tab, work)
    best, column, where = -1.0, -1, -1
    j = next_widest(-1, tab.codes.shape[1], work)
    while j >= 0 and work.ranks[j] > 1:
        saved, v = best_rank(ids, lo, hi, j, size, here, rule, depth, best, tab, work)
        if v >= 0 and saved > best:
            best, column = saved, j
            where = v + 1 if rule == RELAXED else int(work.code[j, v])
            if rule != GAIN:
                break
        j = next_widest(j, tab.codes.shape[1], work)
    return column, where


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
def grow(rule: Any, effort: Any, tab: Any, work: Any, tree: Any) -> None:
    """Cuts nodes until none is left or about `effort` steps are spent."""
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


@compiling.entry
def close_all(tree: Any) -> None:
    """Makes every node that is still to be cut a class as it is."""
    while tree.top[0] > 0:
        tree.top[0] -= 1
        row = tree.stack[(tree.top[3] + tree.top[0]) % len(tree.stack)]
        close(row[2], row[0], row[1], tree)
