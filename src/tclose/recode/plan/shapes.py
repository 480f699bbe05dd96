"""What classes are released as, in the codes of some table: runs along a line, or sets of values.

A plan, or a search, says in words what its classes are released as. A shape holds one column of
these words against the values of a table, so that new rows can be compared with all classes at
once: which values a class covers, what it would be released as with some more in it, what that
costs. Nothing is widened beyond the hull of what was released: a value outside of it is `outside`.

| column | a class covers | widened to |
|---|---|---|
| numbers, dates | what lies between two ends | the hull |
| with a hierarchy | the leaves below a node | the lowest common ancestor |
| other categories | the members of a set | the union |
| missing beside other values | everything (in a set: one more member) | the same |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.classes import group_codes
from tclose.data.encode.labels import ANYTHING, MISSING
from tclose.hierarchy import Hierarchy
from tclose.recode.plan.number_line import Line
from tclose.recode.values import Released, set_member
from tclose.utility.loss import ColumnLoss

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Shape:
    """One column: what each class covers, and the code of each of a table's cells.

    Codes run along the number line, the leaves of the hierarchy, or the values; a missing value has
    the code after the last, a value that the column has no place for has −1.
    """

    column: ColumnLoss
    texts: tuple[str, ...]
    """The value of each code."""
    low: Ints
    high: Ints
    """[classes]: the run of codes that a class covers; empty for missing values alone."""
    member: Flags
    """[classes, codes]: of sets, in place of `low` and `high`."""
    missing: Flags
    """[classes]: whether a class covers a missing value."""
    anything: Flags
    """[classes]: whether it covers all values, also those that have no code."""
    node: Ints
    """[classes]: of trees, the node that a class is released as."""
    code: Ints
    """[cells]."""
    line: Line | None = None
    """Of numbers and dates: where exactly the codes lie."""

    @property
    def known(self) -> int:
        """How many codes there are, a missing value not counted."""
        return len(self.texts)

    @property
    def is_set(self) -> bool:
        """Whether classes are released as sets."""
        return self.column.kind == "set"

    @cached_property
    def inside(self) -> Flags:
        """Which cells lie in the hull of all that is released."""
        reach = np.zeros(self.known + 2, dtype=bool)
        if self.is_set:
            reach[: self.known] = self.member.any(axis=0)
        else:
            reach[self._hull()] = True
        reach[self.known] = self.missing.any()
        result: Flags = reach[self.code]  # the code −1 reads the spare last entry
        return result

    def _hull(self) -> slice:
        tree = self.column.hierarchy
        told = self.low <= self.high
        if tree is None:
            told &= ~self.anything  # `*` hides both ends; in a tree it is the root
        runs = np.flatnonzero(told)
        if not len(runs):
            return slice(0, self.known)
        low, high = int(self.low[runs].min()), int(self.high[runs].max())
        if tree is not None:
            below = tree.leaves_below(int(tree.lca_of_ranges(np.array([low]), np.array([high]))[0]))
            low, high = int(below[0]), int(below[-1])
        return slice(low, high + 1)

    def covers(self, cell: Ints, chosen: Ints) -> Flags:
        """Whether the class chosen for each of some cells covers it as it is."""
        code = self.code[cell]
        gap = code == self.known
        if self.is_set:
            known = (code >= 0) & ~gap
            inside = np.zeros(len(code), dtype=bool)
            inside[known] = self.member[chosen[known], code[known]]
        else:
            inside = (code >= self.low[chosen]) & (code <= self.high[chosen]) & ~gap
        return np.where(gap, self.missing[chosen], inside) | self.anything[chosen]

    def widened(self, cell: Ints, chosen: Ints) -> Shape:
        """The classes as they are released with some cells in them."""
        code = self.code[cell]
        placed = (code >= 0) & (code < self.known)
        low, high, member = self.low.copy(), self.high.copy(), self.member
        missing = self.missing.copy()
        missing[chosen[code == self.known]] = True
        if self.is_set:
            member = member.copy()
            member[chosen[placed], code[placed]] = True
            return replace(self, member=member, missing=missing)
        np.minimum.at(low, chosen[placed], code[placed])
        np.maximum.at(high, chosen[placed], code[placed])
        return self._as_nodes(low, high, missing)

    def _as_nodes(self, low: Ints, high: Ints, missing: Flags) -> Shape:
        """Runs of codes; of a tree, those of the lowest nodes that hold them."""
        anything = self.anything | (missing & (low <= high))
        low[anything], high[anything] = 0, self.known - 1
        tree, node = self.column.hierarchy, self.node
        if tree is not None:
            moved = np.flatnonzero((low != self.low) | (high != self.high))
            node = node.copy()
            node[moved] = tree.lca_of_ranges(low[moved], high[moved])
            low[moved], high[moved] = runs_below(tree, node[moved])
        return replace(self, low=low, high=high, missing=missing, anything=anything, node=node)

    def key(self) -> Ints:
        """A number for each class; those that are released alike have the same."""
        if self.is_set:
            rows = [self.anything, self.missing, *np.packbits(self.member, axis=1).T]
        else:
            rows = [self.anything, self.missing, self.low, self.high, self.node]
        return group_codes([np.asarray(row, dtype=np.int64) for row in rows])[0]

    def changed(self, other: Shape) -> Flags:
        """Which classes cover other values than they do in another shape."""
        told: Flags = self.missing != other.missing
        if self.is_set:
            told = told | np.any(self.member != other.member, axis=1)
        moved: Flags = (self.low != other.low) | (self.high != other.high)
        return told | moved

    def losses(self) -> Floats:
        """[classes]: what is lost in this column."""
        empty = self.low > self.high
        if self.is_set:
            loss = self.column.of_sets(self.member.sum(axis=1) + self.missing)
        else:
            ends = np.where(empty, 0, self.low), np.where(empty, 0, self.high)
            loss = np.where(empty, 0.0, self.column.between(*ends))
        return np.where(self.anything, 1.0, loss)

    def released(self, before: Shape, words: Released) -> Released:
        """What every class is released as; those that cover what they did keep their words."""
        values = list(words.values)
        for at in np.flatnonzero(self.changed(before)).tolist():
            values[at] = self._text(at)
        return replace(words, values=tuple(values))

    def _text(self, at: int) -> str | None:
        if self.anything[at]:
            return ANYTHING
        if self.is_set:
            return self._set(at)
        low, high = int(self.low[at]), int(self.high[at])
        if low > high:
            return None
        if self.column.hierarchy is not None:
            return self.column.hierarchy.labels[int(self.node[at])]
        return self.texts[low] if low == high else f"[{self.texts[low]}, {self.texts[high]}]"

    def _set(self, at: int) -> str | None:
        names = [self.texts[code] for code in np.flatnonzero(self.member[at])]
        if len(names) + self.missing[at] == 1:
            return names[0] if names else None
        written = [set_member(name) for name in names] + [MISSING] * bool(self.missing[at])
        return "{" + ", ".join(written) + "}"


def runs_below(tree: Hierarchy, node: Ints) -> tuple[Ints, Ints]:
    """The first and the last leaf below each node."""
    first = tree.first_below[node].astype(np.int64)
    return first, first + tree.size_below[node] - 1
