"""A tree of cuts, grown node by node: who is cut next, and what becomes of the halves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tclose.kernels import compiling
from tclose.kernels.order import divide
from tclose.search.mondrian.cuts import RELAXED, choose
from tclose.search.mondrian.sweep import ORDER, SPARE, line_up


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


@compiling.entry
def part(ids: Any, lo: Any, hi: Any, j: Any, v: Any, tab: Any, work: Any) -> Any:
    """Cells with code ≤ v to the front, order kept; returns the border."""
    side = work.pos[ORDER]
    for p in range(lo, hi):
        side[p - lo] = tab.codes[ids[p], j] <= v
    return divide(ids, lo, hi, side, work.pos[SPARE])


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
            border = part(tree.ids, lo, hi, j, v, tab, work)
            open_halves(node, lo, border, hi, j, v, depth, tree)
    return spent


@compiling.entry
def close_all(tree: Any) -> None:
    """Makes every node that is still to be cut a class as it is."""
    while tree.top[0] > 0:
        tree.top[0] -= 1
        row = tree.stack[(tree.top[3] + tree.top[0]) % len(tree.stack)]
        close(row[2], row[0], row[1], tree)
