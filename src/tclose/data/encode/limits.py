"""Limits on how far a quasi-identifier may be generalized, as the policy states them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.arrays import Ints
from tclose.data.encode.columns import Dictionary
from tclose.data.encode.labels import ANYTHING, INTERVAL, SET, read_interval
from tclose.errors import Problem
from tclose.hierarchy.tree import Hierarchy
from tclose.policy.columns import Column, read_width


@dataclass(frozen=True)
class GeneralizationLimit:
    """The widest interval (`width`), the highest level of a hierarchy, or neither: exact values.

    >>> decade = GeneralizationLimit("at most 10 wide", width=Fraction(10))
    >>> decade.allows("[20, 30]"), decade.allows("[20, 31]"), decade.allows("*")
    (True, False, False)
    """

    words: str
    width: Fraction | None = None
    level: int = 0
    tree: Hierarchy | None = None

    @classmethod
    def of(cls, column: Column, tree: Hierarchy | None) -> GeneralizationLimit | None:
        """The limit that the policy states for a column, if any; see also `refuse_limit`."""
        if column.exact:
            return cls("exact", tree=tree)
        if column.max_level is not None:
            return cls(f"up to level {column.max_level}", level=_number_level(column, tree),
                       tree=tree)  # fmt: skip
        if column.max_width is None:
            return None
        width, words = read_width(column.max_width)[0], f"at most {column.max_width} wide"
        if tree is None or column.hierarchy is None:
            return cls(words, width=width)
        steps = column.hierarchy.intervals or ()
        return cls(words, level=sum(step <= width for step in steps), tree=tree)

    def allows(self, label: str) -> bool:
        """Whether a value may be released so."""
        if self.tree is not None:
            node = int(self.tree.find([label])[0])
            return node >= 0 and int(self.tree.height[node]) <= self.level
        if label == ANYTHING or SET.match(label):
            return False
        interval = read_interval(label)
        if self.width is None:
            return interval is None or not INTERVAL.match(label)
        if interval is None:
            return True
        low, high = interval.low, interval.high
        return low is not None and high is not None and high - low <= self.width

    def find_reach(self, places: Sequence[Fraction], n_codes: int) -> Ints:
        """By code: the highest code that may be released together with it; places and codes ascend,
        and a missing value, which has the last code, goes with no other."""
        reach = np.arange(n_codes)
        if self.tree is not None:
            above = self.tree.ancestors[[int(place) for place in places], self.level]
            last = {int(node): code for code, node in enumerate(above)}
            reach[: len(places)] = [last[int(node)] for node in above]
        elif self.width is not None:
            high = 0
            for low, place in enumerate(places):
                while high + 1 < len(places) and places[high + 1] - place <= self.width:
                    high += 1
                reach[low] = high
        return reach


def refuse_limit(
    name: str, column: Column, dictionary: Dictionary, tree: Hierarchy | None
) -> Problem | None:
    """The problem with a column's limit, if it does not suit the table."""
    where = f"columns.{name}"
    if column.max_level is not None and tree is not None:
        level = _number_level(column, tree)
        if not 0 <= level < tree.levels:
            hint = f"levels go from 0 (the value itself) to {tree.levels - 1} (everything)"
            return Problem(f"{where}.max_level", "the hierarchy has no such level", hint)
    if column.max_width is None:
        return None
    where = f"{where}.max_width"
    if dictionary.line is None:
        hint = "say exact = true, or give it a hierarchy and a max_level"
        return Problem(where, "the column holds no numbers or dates, so it has no width", hint)
    has_unit = read_width(column.max_width)[1]
    if has_unit and dictionary.kind != "date":
        return Problem(where, "a width in units of time is for dates", "give a plain number")
    return None


def _number_level(column: Column, tree: Hierarchy | None) -> int:
    """The level as a number; a period that all values have already is no level of the tree."""
    level = column.max_level
    if not isinstance(level, str):
        return level or 0
    assert column.hierarchy is not None and tree is not None
    periods = column.hierarchy.resolve().dates or ()
    return periods.index(level) + 1 - max(len(periods) + 2 - tree.levels, 0)
