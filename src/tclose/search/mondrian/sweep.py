"""What every cut of a class along a column would lose, found in one sweep over its cells.

The boxes of all prefixes and suffixes along the column come from the codes that occur at each rank
of it: a bit per code of every other column, as many columns to a word as fit, united rank by rank.
A column of too many codes takes the first and the last rank at which each of them occurs instead.
A class of N cells costs O(N · columns²) at most, whatever the sizes of the domains.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tclose.kernels import compiling
from tclose.kernels.order import sort
from tclose.kernels.rules import NEED
from tclose.kernels.tables import FORM, SET, VALUES, Tables, gap

FAR = 1 << 30
DEEPEST = 1000
WORD = 62
"""Bits of a word that are used."""
PRIME = 67
_EXPONENT = np.zeros(PRIME, dtype=np.int64)
_EXPONENT[[(1 << bit) % PRIME for bit in range(WORD + 1)]] = np.arange(WORD + 1)


LOW, HIGH, SEEN, TALLY, RANK, MASS = range(6)
"""Rows of `tick`: room for sweeps; the end of each rank; the rank of each code; rows per rank."""
LEFT, RIGHT, SPANS, EACH, TOPS = range(5)
"""Rows of `loss`: per row of the cells up to and from each rank on; per column of the node, and of
what a sweep has come across; and what its best cut would save."""
LOWEST, HIGHEST, NUMBER, SEEN_BITS, TOP_RANK = range(5)
"""Rows of `span`: the ranks of each column that a sweep has come across, each word's bits, and the
rank of each column's best cut."""
ORDER, SPARE, HEFT = range(3)
"""Rows of `pos`: positions along the column that is being cut; room to sort in; rows per cell."""
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
    bits: Any
    """int64 [columns, cells]: words with a bit for each code of a cell"""
    mask: Any
    """int64 [columns, codes]: the bits that occur at each rank of the column that is being cut"""
    word: Any
    """int64 [2, columns]: the word of each column (−1: none), and its first bit there"""
    owner: Any
    """int64 [columns, bits]: the column of each bit"""
    span: Any
    """int64 [5, columns]"""
    tick: Any
    """int64 [6, codes]"""
    corner: Any
    """int32 [2, columns, codes]: the first and the last rank at which each code occurs"""
    loss: Any
    """float64 [5, codes]"""
    pos: Any
    """int64 [3, cells]"""
    hist: Any
    """int64 [3, slots]"""
    scratch: Any
    """int64 [2 · nodes]"""
    above: Any
    """int64 [levels, nodes + rules + 1]: of the node and those above it, for (n, t)-closeness: rows
    below each node of the metrics' trees, rows whose value is known, and all rows"""


def make_work(tab: Tables) -> Work:
    """Scratch memory for a problem."""
    cells, columns = tab.codes.shape
    width = max(int(tab.column[VALUES].max()), columns) + 2
    slots, nodes, rules = len(tab.rules.count), tab.rules.node.shape[1], len(tab.rules.head)
    levels = DEEPEST if tab.rules.head[:, NEED].any() else 1
    few, many = np.int32, np.int64
    return Work(
        np.empty((columns, cells), few), np.empty((columns, width), few),
        np.zeros(columns, many), np.empty((columns, cells), many),
        np.empty((columns, width), many), np.zeros((2, columns), many),
        np.zeros((columns, WORD), many), np.zeros((5, columns), many), np.zeros((6, width), many),
        np.empty((2, columns, width), few), np.empty((5, width)), np.empty((3, cells), many),
        np.zeros((3, slots), many),
        np.zeros(2 * nodes + 2, many), np.zeros((levels, nodes + rules + 1), many),
    )  # fmt: skip


@compiling.part
def gather(ids: Any, lo: Any, hi: Any, tab: Any, work: Any) -> None:
    """The node's codes as ranks, so that what follows costs its own cells and not the domains."""
    count = hi - lo
    for p in range(count):
        work.pos[HEFT, p] = tab.weight[ids[lo + p]]
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
def box(tab: Any, work: Any) -> Any:
    """Loss per row of the gathered node; `spans[j]` is column j's part of it."""
    total = 0.0
    for j in range(tab.codes.shape[1]):
        found = work.ranks[j]
        work.loss[SPANS, j] = box_loss(j, 0, found - 1, found, tab, work)
        total += work.loss[SPANS, j]
    return total


@compiling.part
def set_bits(count: Any, work: Any) -> None:
    """Words with a bit for every code of the gathered node's cells."""
    word, used = -1, WORD
    for i in range(len(work.ranks)):
        work.word[0, i] = -1
        if not 1 < work.ranks[i] <= WORD:
            continue
        if used + work.ranks[i] > WORD:
            word, used = word + 1, 0
            work.bits[word, :count] = 0
        line, bits = work.local[i], work.bits[word]
        for p in range(count):
            bits[p] |= np.int64(1) << np.int64(line[p] + used)
        work.word[0, i], work.word[1, i] = word, used
        work.owner[word, used : used + work.ranks[i]] = i
        used += work.ranks[i]


@compiling.part
def weigh_cuts(j: Any, count: Any, tab: Any, work: Any) -> Any:
    """The loss of the prefix that ends and of the suffix that begins at every rank of column j, and
    the rows at each rank; `set_bits` comes before.

    False where no cut leaves k rows on both sides; what only such cuts need is left undone.
    """
    length, line, mass = work.ranks[j], work.local[j], work.tick[MASS]
    mass[:length] = 0
    for p in range(count):
        mass[line[p]] += work.pos[HEFT, p]
    first, last = room(length, mass, tab.rules.count[-1])
    if first > last:
        return False
    work.loss[LEFT, : last + 1] = 0.0
    work.loss[RIGHT, first + 1 : length] = 0.0
    words = 0
    for i in range(len(work.ranks)):
        word = work.word[0, i]
        if word >= words:
            unite(length, count, line, work.bits[word], work.mask[word])
            words = word + 1
        if word < 0 and work.ranks[i] > 1:
            corners(j, i, count, work)
            sweep(j, i, LEFT, 0, last, tab, work)
            sweep(j, i, RIGHT, length - 1, first + 1, tab, work)
    if words > 0:
        sweep_bits(words, LEFT, 0, last, tab, work)
        sweep_bits(words, RIGHT, length - 1, first + 1, tab, work)
    return True


@compiling.part
def room(length: Any, mass: Any, k: Any) -> Any:
    """The first and the last rank after which a cut leaves k rows on both sides."""
    first, below = 0, 0
    while first < length and below + mass[first] < k:
        below += mass[first]
        first += 1
    last, above = length - 2, mass[length - 1]
    while last >= 0 and above < k:
        above += mass[last]
        last -= 1
    return first, last


@compiling.part
def unite(length: Any, count: Any, line: Any, bits: Any, mask: Any) -> None:
    """The bits of all cells at each rank."""
    mask[:length] = 0
    for p in range(count):
        mask[line[p]] |= bits[p]


@compiling.part
def sweep_bits(words: Any, half: Any, start: Any, end: Any, tab: Any, work: Any) -> None:
    """Adds the loss of every prefix (or suffix) along a column in the columns that have words.

    Rank by rank, only the columns in which a code is new are weighed again.
    """
    for w in range(words):
        work.span[SEEN_BITS, w] = 0
    for i in range(len(work.ranks)):
        work.span[LOWEST, i], work.span[HIGHEST, i], work.span[NUMBER, i] = FAR, -1, 0
        work.loss[EACH, i] = 0.0
    total, step = 0.0, 1 if half == LEFT else -1
    for p in range(start, end + step, step):
        changed = False
        for w in range(words):
            fresh = work.mask[w, p] & ~work.span[SEEN_BITS, w]
            if fresh == 0:
                continue
            changed = True
            work.span[SEEN_BITS, w] |= fresh
            i, past = -1, -1
            while fresh != 0:
                bit = fresh & -fresh
                fresh ^= bit
                at = _EXPONENT[bit % PRIME]
                if at >= past:
                    if i >= 0:
                        work.loss[EACH, i] = span_loss(i, tab, work)
                    i = work.owner[w, at]
                    past = work.word[1, i] + work.ranks[i]
                u = at - work.word[1, i]
                work.span[LOWEST, i] = min(work.span[LOWEST, i], u)
                work.span[HIGHEST, i] = max(work.span[HIGHEST, i], u)
                work.span[NUMBER, i] += 1
            work.loss[EACH, i] = span_loss(i, tab, work)
        if changed:
            total = 0.0
            for i in range(len(work.ranks)):
                total += work.loss[EACH, i]
        work.loss[half, p] += total


@compiling.inlined
def span_loss(i: Any, tab: Any, work: Any) -> Any:
    """What column i loses over the codes that a sweep has come across."""
    a, b = work.span[LOWEST, i], work.span[HIGHEST, i]
    return box_loss(i, a, b, work.span[NUMBER, i], tab, work)


@compiling.inlined
def box_loss(i: Any, a: Any, b: Any, c: Any, tab: Any, work: Any) -> Any:
    """What column i loses from rank a to rank b, with c codes in all."""
    if tab.column[FORM, i] == SET:
        return gap(i, 0, c, tab)
    return gap(i, work.code[i, a], work.code[i, b], tab)


@compiling.part
def corners(j: Any, i: Any, count: Any, work: Any) -> None:
    """The first and the last rank of column j at which each code of column i occurs."""
    line, first, last, other = work.local[j], work.corner[0, i], work.corner[1, i], work.local[i]
    for u in range(work.ranks[i]):
        first[u] = FAR
        last[u] = -1
    for p in range(count):
        u, v = other[p], line[p]
        first[u] = min(first[u], v)
        last[u] = max(last[u], v)


@compiling.part
def sweep(j: Any, i: Any, half: Any, start: Any, end: Any, tab: Any, work: Any) -> None:
    """The same for one column, by corners."""
    length, out = work.ranks[j], work.loss[half]
    low, high, seen = work.tick[LOW], work.tick[HIGH], work.tick[SEEN]
    for p in range(length):
        low[p] = FAR
        high[p] = -1
        seen[p] = 0
    at = work.corner[1, i] if half == RIGHT else work.corner[0, i]
    for u in range(work.ranks[i]):
        p = at[u]
        low[p] = min(low[p], u)
        high[p] = max(high[p], u)
        seen[p] += 1
    a, b, c, here, step = FAR, -1, 0, 0.0, 1 if half == LEFT else -1
    for p in range(start, end + step, step):
        if seen[p] > 0:
            a, b, c = min(a, low[p]), max(b, high[p]), c + seen[p]
            here = box_loss(i, a, b, c, tab, work)
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
