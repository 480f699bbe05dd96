"""Natural supersets: boxes over the quasi-identifiers that no class is cut by.

A box gives each quasi-identifier what a class could be released as: a range of numbers, a node of
the hierarchy, a set of categories. It is *natural* where every class lies in it or apart from it:
it then holds exactly the rows that fit it, and anybody can see which these are. A superset is told
by classes whose smallest common box it is, so that no value has to be named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tclose.arrays import Flags, Ints
from tclose.hierarchy import Hierarchy

NOTHING = 2**62
"""Below the lowest rank of a class that shows no value but a missing one; its highest is −1."""


@dataclass(frozen=True)
class ColumnExtent:
    """What every class shows of one quasi-identifier."""

    low: Ints
    """[classes]: the lowest rank on the number line, or the first leaf of the hierarchy."""
    high: Ints
    missing: Flags
    """Whether a missing value may be in the class."""
    members: Flags | None = None
    """[classes, values]: of sets the values, in place of the ranks."""
    tree: Hierarchy | None = None

    def enclose(self, some: Ints) -> tuple[Flags, Flags]:
        """Which classes lie in the smallest range that covers some of them, and which apart."""
        missing = bool(self.missing[some].any())
        low, high = int(self.low[some].min()), int(self.high[some].max())
        if self.tree is not None and low <= high:
            node = int(self.tree.lca_of_ranges(np.array([low]), np.array([high]))[0])
            low = int(self.tree.first_below[node])
            high = low + int(self.tree.size_below[node]) - 1
            missing |= node == self.tree.root  # shown as anything
        inside = ~self.missing | missing
        apart = ~(self.missing & missing)
        if self.members is not None:
            union = self.members[some].any(axis=0)
            inside &= ~self.members[:, ~union].any(axis=1)
            return inside, apart & ~self.members[:, union].any(axis=1)
        shows_none = self.low > self.high
        inside &= shows_none | ((self.low >= low) & (self.high <= high))
        return inside, apart & (shows_none | (self.high < low) | (self.low > high))

    def choose_spans(self, some: Ints) -> list[int]:
        """Few of some classes that have the same smallest range."""
        chosen = [int(some[np.argmax(self.missing[some])])]
        if self.members is None:
            return [*chosen, int(some[np.argmin(self.low[some])]),
                    int(some[np.argmax(self.high[some])])]  # fmt: skip
        todo = self.members[some].any(axis=0) & ~self.members[chosen[0]]
        while todo.any():
            best = int(some[np.argmax(self.members[some][:, todo].sum(axis=1))])
            chosen.append(best)
            todo &= ~self.members[best]
        return chosen


@dataclass(frozen=True)
class ClassExtents:
    """What every class shows of all quasi-identifiers."""

    columns: tuple[ColumnExtent, ...]

    def find_members(self, spans: Ints) -> Ints | None:
        """The classes in the smallest box that covers some; None where it cuts through a class."""
        each = [column.enclose(spans) for column in self.columns]
        inside = np.all([inside for inside, _ in each], axis=0)
        apart = np.any([apart for _, apart in each], axis=0)
        return np.flatnonzero(inside) if (inside | apart).all() else None

    def group_alike(self) -> Ints:
        """A number for each class, equal where classes show the same."""
        shown: list[Ints] = []
        for column in self.columns:
            shown.append(column.missing.astype(np.int64))
            if column.members is None:
                shown += [column.low, column.high]
            else:
                shown.append(np.unique(column.members, axis=0, return_inverse=True)[1].ravel())
        return np.unique(np.stack(shown, axis=1), axis=0, return_inverse=True)[1].ravel()

    def choose_spans(self, members: Ints) -> Ints:
        """Few classes whose smallest box is that of many."""
        return np.unique([each for column in self.columns for each in column.choose_spans(members)])


@dataclass(frozen=True)
class Supersets:
    """For every class of a table the superset that it is said to be close to."""

    of_class: Ints
    """[classes]: the number of its superset; −1 where none is named."""
    members: tuple[Ints | None, ...]
    """The classes of each superset; None where its box cuts through a class."""

    def rename(self, number: Ints) -> Supersets:
        """The same where class c is called number[c]."""
        of_class = np.empty_like(self.of_class)
        of_class[number] = self.of_class
        members = [None if each is None else np.sort(number[each]) for each in self.members]
        return replace(self, of_class=of_class, members=tuple(members))


def list_natural(extents: ClassExtents, groups: Sequence[Ints]) -> list[Ints]:
    """The classes in the smallest box of each group, of boxes that cut through no class."""
    found = (extents.find_members(group) for group in groups)
    different = {each.tobytes(): each for each in found if each is not None}
    return list(different.values())
