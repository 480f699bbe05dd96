"""The levels that columns can be recoded to, the loss of values at each, and the lattice of levels.

A column with a hierarchy has the hierarchy's levels, from the value itself to the root; one without
has two: the value, and everything. Values that come together never part again, so a group at any
level is named by the lowest code in it. A missing value is a group of its own until the last level.
What a group loses is (leaves below its node − 1) / (leaves − 1), whatever values are there.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tclose.arrays import Floats, Ints
from tclose.errors import UsageError
from tclose.kernels.partition.grouping import KeyLayout
from tclose.search.kernel_arrays import make_record
from tclose.search.problem import SearchProblem
from tclose.utility.loss import ColumnLoss

Levels = tuple[int, ...]

WORD = 62
"""Bits of a key's word that are used: keys stay positive."""
KEY_COLUMN = make_record("word shift mask n_codes first_group")
"""`KeyColumn` of the kernels."""


@dataclass(frozen=True)
class Ladder:
    """One column's levels: [level, code] tables of the group that a code is in, and its loss.

    >>> from fractions import Fraction
    >>> ages = ladder_of(ColumnLoss.interval("age", [Fraction(20), Fraction(30)]))
    >>> ages.group.tolist(), ages.loss.tolist()
    ([[0, 1], [0, 0]], [[0.0, 0.0], [1.0, 1.0]])
    """

    name: str
    group: Ints
    """The lowest code of the group."""
    loss: Floats

    @property
    def levels(self) -> int:
        """How many levels there are."""
        return len(self.group)

    @property
    def values(self) -> int:
        """How many codes there are."""
        return int(self.group.shape[1])


def ladder_of(column: ColumnLoss) -> Ladder:
    """The levels of one column."""
    code = np.arange(max(column.values, 1), dtype=np.int64)
    tree = column.hierarchy
    if tree is None or tree.levels < 2:
        group = np.stack([code, np.zeros_like(code)])
        loss = np.stack([np.zeros(len(code)), np.ones(len(code))])
        return Ladder(column.name, group, loss)
    leaf = column.place.astype(np.int64)
    group = np.tile(code, (tree.levels, 1))
    loss = np.zeros(group.shape)
    for level in range(1, tree.levels):
        node = tree.ancestors[leaf, level]
        _, first, inside = np.unique(node, return_index=True, return_inverse=True)
        group[level, : len(leaf)] = first[inside]
        loss[level, : len(leaf)] = (tree.size_below[node] - 1) / max(tree.leaf_count - 1, 1)
    group[-1] = 0
    if column.has_missing and len(leaf):
        loss[-1] = 1.0
    return Ladder(column.name, group, loss)


def ladders_of(problem: SearchProblem) -> tuple[Ladder, ...]:
    """The levels of every quasi-identifier."""
    return tuple(ladder_of(column) for column in problem.columns)


def lay_out_keys(ladders: Sequence[Ladder]) -> KeyLayout:
    """All ladders for the kernels: several columns' codes to a word of the key."""
    columns = np.zeros(len(ladders), dtype=KEY_COLUMN)
    word, used, start = 0, 0, 0
    for column, ladder in zip(columns, ladders, strict=True):
        bits = max(1, (ladder.values - 1).bit_length())
        if used + bits > WORD:
            word, used = word + 1, 0
        column["word"], column["shift"], column["mask"] = word, used, (1 << bits) - 1
        column["n_codes"], column["first_group"] = ladder.values, start
        used, start = used + bits, start + ladder.group.size
    group = np.concatenate([np.zeros(0, np.int64), *(ladder.group.ravel() for ladder in ladders)])
    return KeyLayout(columns, group, word + 1)


def pack_keys(codes: Ints, layout: KeyLayout) -> Ints:
    """The keys [words, rows] of rows of codes."""
    columns, _ = layout.arrays
    keys = np.zeros((layout.n_words, len(codes)), dtype=np.int64)
    for at, column in enumerate(columns):
        keys[column["word"]] |= codes[:, at] << column["shift"]
    return keys


@dataclass(frozen=True)
class Lattice:
    """All level vectors between a lowest and a highest one; nothing is stored.

    >>> small = Lattice((0, 1), (2, 2))
    >>> small.size, small.height
    (6, 3)
    >>> list(small.successors((0, 2))), list(small.predecessors((0, 2)))
    ([(1, 2)], [(0, 1)])
    """

    low: Levels
    high: Levels

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return math.prod(b - a + 1 for a, b in zip(self.low, self.high, strict=True))

    @property
    def height(self) -> int:
        """Steps from the lowest node to the highest."""
        return sum(self.high) - sum(self.low)

    def nodes(self) -> Iterator[Levels]:
        """Every node; each comes after all that it generalizes."""
        return itertools.product(
            *(range(a, b + 1) for a, b in zip(self.low, self.high, strict=True))
        )

    def successors(self, node: Levels) -> Iterator[Levels]:
        """The nodes one level higher in one column."""
        for at, level in enumerate(node):
            if level < self.high[at]:
                yield (*node[:at], level + 1, *node[at + 1 :])

    def predecessors(self, node: Levels) -> Iterator[Levels]:
        """The nodes one level lower in one column."""
        for at, level in enumerate(node):
            if level > self.low[at]:
                yield (*node[:at], level - 1, *node[at + 1 :])


def lattice_of(problem: SearchProblem, ladders: Sequence[Ladder]) -> Lattice:
    """The lattice between the lowest and the highest level that each column may have."""
    low, high = [], []
    limited = [problem.columns[at] for at in problem.limited]
    limits = {column.name: column.max_level for column in limited}
    for ladder in ladders:
        highest = ladder.levels - 1
        least, most = problem.objective.levels.get(ladder.name, (0, highest))
        if not 0 <= least <= most < ladder.levels:
            raise UsageError(
                f"levels {least} to {most} are not those of the column",
                where=f"search.levels.{ladder.name}",
                hint=f"levels go from 0 (the value itself) to {highest} (everything)",
            )
        if ladder.name in limits:
            most = min(most, limits[ladder.name])
        if most < least:
            raise UsageError(
                f"the column has to be generalized to level {least}, and may not be so far",
                where=f"search.levels.{ladder.name}",
                hint=f"change this, or what columns.{ladder.name} allows",
            )
        low.append(least)
        high.append(most)
    return Lattice(tuple(low), tuple(high))


def is_below(node: Levels, other: Levels) -> bool:
    """Whether a node is another or generalizes to it.

    >>> is_below((0, 1), (1, 1)), is_below((0, 2), (1, 1))
    (True, False)
    """
    return all(a <= b for a, b in zip(node, other, strict=True))
