"""Which cells are near in their quasi-identifiers: distances, boxes, an order in space, shelves.

What methods that gather records around a seed have in common:

- `apart_in_all(x, y, most, tab)` the distance of two cells: what they would lose if released
  together, column by column (numbers and dates by their gap, categories by the lowest common
  ancestor or as a set of two, a missing value by everything), added up. `distances`, `nearest` and
  `farthest` answer for many cells at once.
- `Box`, `open_box`, `growth`, `widen`: the loss of a class that grows cell by cell, and how much
  one more cell would add: nearness to all of the class, or to its first cell while that is alone.
- `along_curve(codes, weight)` ranks cells along a Hilbert curve through all columns: cells near
  on the curve are near in every column, so neighbours are found without looking at everybody.
- `Shelves`: records in groups (strata of sensitive values, say), each in the order of the curve,
  from which the nearest that is left is taken. `reach` says how many neighbours on the curve are
  looked at on either side; with a reach of all records the nearest is exact.

Parts (`compiling.part`) are for kernels to call and make no arrays; what they fill is made outside.
`tab` is `problem.tables()`; cells are given by their number. With a reach of 64 a million records
are shelved and taken in seconds; looking at everybody costs half a shelf for each record.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels import compiling
from tclose.kernels.tables import FORM, SET, apart, gap, ones

Ints = NDArray[np.int64]

LOWEST, HIGHEST, MASK = range(3)
"""Rows of a box's codes: the lowest, the highest; those present modulo 63, for sets."""
WIDTH, MORE = range(2)
"""Rows of a box's costs: what a column loses; for sets, what one more value would add."""
MANY = 63
"""Codes that a mask tells apart; of sets with more, growth may be a lower bound."""


class Box(NamedTuple):
    """What a class covers in each column, and what that loses."""

    code: Any
    """int64 [3, columns]"""
    cost: Any
    """float64 [2, columns]"""


def make_box(columns: int) -> Box:
    """Room for a box."""
    return Box(np.zeros((3, columns), np.int64), np.zeros((2, columns)))


@compiling.part
def apart_in_all(x: Any, y: Any, most: Any, tab: Any) -> Any:
    """The distance of two cells, from 0 to the number of columns; beyond `most` not counted on."""
    total = 0.0
    for j in range(tab.codes.shape[1]):
        total += apart(j, tab.codes[x, j], tab.codes[y, j], tab)
        if total >= most:
            break
    return total


def distances(x: int, cells: Ints, tab: Any) -> NDArray[np.float64]:
    """The distance of cell x from each of some cells."""
    found = np.empty(len(cells))
    measure_all(x, cells, tab, found)
    return found


@compiling.entry
def measure_all(x: Any, cells: Any, tab: Any, found: Any) -> None:
    """Fills in the distance of cell x from each of some cells."""
    for p in range(len(cells)):
        found[p] = apart_in_all(x, cells[p], np.inf, tab)


def nearest(x: int, cells: Ints, count: int, tab: Any) -> Ints:
    """The `count` cells nearest to x, nearest first; equal distances in the order given."""
    far = distances(x, cells, tab)
    return cells[np.argsort(far, kind="stable")[:count]]


def farthest(x: int, cells: Ints, tab: Any) -> int:
    """The cell farthest from x; of several the first."""
    return int(cells[np.argmax(distances(x, cells, tab))])


@compiling.part
def measure(j: Any, box: Any, tab: Any) -> None:
    """Sets what column j of a box costs."""
    if tab.column[FORM, j] == SET:
        held = ones(box.code[MASK, j])
        box.cost[WIDTH, j] = gap(j, 0, held, tab)
        box.cost[MORE, j] = gap(j, 0, held + 1, tab) - box.cost[WIDTH, j]
    else:
        box.cost[WIDTH, j] = gap(j, box.code[LOWEST, j], box.code[HIGHEST, j], tab)


@compiling.part
def open_box(x: Any, box: Any, tab: Any) -> None:
    """Makes a box that of the single cell x."""
    for j in range(tab.codes.shape[1]):
        v = tab.codes[x, j]
        box.code[LOWEST, j], box.code[HIGHEST, j], box.code[MASK, j] = v, v, 1 << (v % MANY)
        measure(j, box, tab)


@compiling.part
def widen(x: Any, box: Any, tab: Any) -> None:
    """Takes cell x into a box."""
    for j in range(tab.codes.shape[1]):
        v, bit = tab.codes[x, j], 1 << (tab.codes[x, j] % MANY)
        low, high, mask = box.code[LOWEST, j], box.code[HIGHEST, j], box.code[MASK, j]
        if v < low or v > high or mask & bit == 0:
            box.code[LOWEST, j], box.code[HIGHEST, j] = min(low, v), max(high, v)
            box.code[MASK, j] = mask | bit
            measure(j, box, tab)


@compiling.part
def growth(x: Any, box: Any, most: Any, tab: Any) -> Any:
    """How much more a box loses per row with cell x in it; what exceeds `most` is not counted."""
    total = 0.0
    for j in range(tab.codes.shape[1]):
        v = tab.codes[x, j]
        low, high = box.code[LOWEST, j], box.code[HIGHEST, j]
        if tab.column[FORM, j] == SET:
            if v < low or v > high or box.code[MASK, j] >> (v % MANY) & 1 == 0:
                total += box.cost[MORE, j]
        elif v < low:
            total += gap(j, v, high, tab) - box.cost[WIDTH, j]
        elif v > high:
            total += gap(j, low, v, tab) - box.cost[WIDTH, j]
        if total >= most:
            break
    return total


def along_curve(codes: Ints, weight: Ints) -> Ints:
    """The rank of each cell along a Hilbert curve through the columns, each spread by its rows.

    Codes run along what a column is released as, so neighbours on the curve share narrow boxes.
    Equal keys are ranked in the order given.

    >>> along_curve(np.array([[0, 0], [1, 1], [0, 1], [1, 0]]), np.ones(4, dtype=np.int64)).tolist()
    [0, 2, 1, 3]
    """
    cells, columns = codes.shape[0], min(codes.shape[1], 62)
    bits = max(1, min(16, 62 // max(columns, 1)))
    grid = np.zeros((cells, max(columns, 1)), dtype=np.int64)
    for j in range(columns):
        rows = np.bincount(codes[:, j], weights=weight)
        middle = (np.cumsum(rows) - rows / 2) / max(rows.sum(), 1)
        grid[:, j] = np.minimum(middle[codes[:, j]] * (1 << bits), (1 << bits) - 1)
    rank = np.empty(cells, dtype=np.int64)
    rank[np.argsort(hilbert_keys(grid, bits), kind="stable")] = np.arange(cells)
    return rank


@compiling.maker
def hilbert_keys(grid: Any, bits: Any) -> Any:
    """The places of points of a grid on a Hilbert curve; columns · bits ≤ 62.

    Skilling's transform (2004): bit plane by bit plane, from the top, a coordinate whose bit is set
    turns the lower planes over and one whose bit is not set swaps them with the first coordinate;
    a Gray code of what is left gives the place. Consecutive places are neighbours on the grid.
    """
    points, d = grid.shape
    keys = np.zeros(points, np.int64)
    x = np.zeros(d, np.int64)
    for p in range(points):
        x[:] = grid[p]
        for plane in range(bits - 1, 0, -1):
            low = (1 << plane) - 1
            for j in range(d):
                if x[j] >> plane & 1:
                    x[0] ^= low
                else:
                    swap = (x[0] ^ x[j]) & low
                    x[0] ^= swap
                    x[j] ^= swap
        for j in range(1, d):
            x[j] ^= x[j - 1]
        turn = 0
        for plane in range(bits - 1, 0, -1):
            if x[d - 1] >> plane & 1:
                turn ^= (1 << plane) - 1
        for plane in range(bits - 1, -1, -1):
            for j in range(d):
                keys[p] = keys[p] << 1 | ((x[j] ^ turn) >> plane & 1)
    return keys


LEFT, RIGHT, JUMP, HELD = range(4)
"""Rows of `link`: the places before and after that still hold a record (−1: none before); a place
at or after this one that may still hold a record; the record itself. Each shelf ends with a place
that holds none."""


class Shelves(NamedTuple):
    """Records in groups, each group in the order of the curve; taken records leave no gap."""

    link: Any
    """int64 [4, records + shelves]"""
    first: Any
    """int64 [shelves + 1]: where each shelf begins"""
    place: Any
    """int64 [records]"""
    shelf: Any
    """int64 [records]"""
    cell: Any
    """int64 [records]: the cell that a record is a row of"""


def make_shelves(shelf: Ints, cell: Ints, shelves: int) -> Shelves:
    """Shelves of records that are numbered along the curve, each with its shelf and its cell."""
    records = len(shelf)
    order = np.argsort(shelf, kind="stable")
    count = np.bincount(shelf, minlength=shelves)
    first = np.append(0, np.cumsum(count + 1)).astype(np.int64)
    place = np.empty(records, dtype=np.int64)
    place[order] = np.arange(records) + shelf[order]
    link = np.full((4, records + shelves), -1, dtype=np.int64)
    every = np.arange(records + shelves)
    link[LEFT], link[RIGHT], link[JUMP] = every - 1, every + 1, every
    link[LEFT, first[:-1]] = -1
    link[HELD, place] = np.arange(records)
    return Shelves(link, first, place, shelf.astype(np.int64), cell.astype(np.int64))


@compiling.part
def onwards(at: Any, shelves: Any) -> Any:
    """The first place at or after `at` that holds a record, or the end of the shelf."""
    jump = shelves.link[JUMP]
    while jump[at] != at:
        jump[at] = jump[jump[at]]
        at = jump[at]
    return at


@compiling.part
def beside(record: Any, g: Any, shelves: Any) -> Any:
    """The place on shelf g where a record of the curve would stand."""
    low, high = shelves.first[g], shelves.first[g + 1] - 1
    while low < high:
        middle = (low + high) // 2
        if shelves.link[HELD, middle] < record:
            low = middle + 1
        else:
            high = middle
    return low


@compiling.part
def take(record: Any, shelves: Any) -> None:
    """Takes a record off its shelf."""
    at = shelves.place[record]
    before, after = shelves.link[LEFT, at], shelves.link[RIGHT, at]
    shelves.link[JUMP, at] = after
    shelves.link[LEFT, after] = before
    if before >= 0:
        shelves.link[RIGHT, before] = after


@compiling.part
def pick(record: Any, g: Any, reach: Any, box: Any, shelves: Any, tab: Any) -> Any:
    """The record on shelf g, among `reach` on either side of a record, that widens a box least.

    Returns the record (−1: the shelf is empty), the growth, and how many were looked at.
    """
    best, found, looks = np.inf, -1, 0
    right = onwards(beside(record, g, shelves), shelves)
    left = shelves.link[LEFT, right]
    end = shelves.first[g + 1] - 1
    for _ in range(reach):
        if right == end and left < 0:
            break
        for side in range(2):
            at = right if side == 0 else left
            if at < 0 or at == end:
                continue
            looks += 1
            more = growth(shelves.cell[shelves.link[HELD, at]], box, best, tab)
            if more < best:
                best, found = more, shelves.link[HELD, at]
        if best == 0.0:
            break
        right = shelves.link[RIGHT, right] if right != end else end
        left = shelves.link[LEFT, left] if left >= 0 else -1
    return found, best, looks
