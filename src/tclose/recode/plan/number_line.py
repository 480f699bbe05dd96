"""Numbers and dates as released intervals write them, along the number line."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from tclose.data.encode.columns import UNIT
from tclose.data.encode.labels import ANYTHING, INTERVAL, read_interval
from tclose.data.encode.labels import read_position as number_of
from tclose.distance.numbers import exact
from tclose.errors import UsageError

HUGE = 10**300
"""Numbers beyond this have no width that could be measured, and so no place."""


@dataclass(frozen=True)
class Line:
    """Texts along the number line; several texts of one number stand side by side."""

    texts: tuple[str, ...]
    positions: tuple[Fraction, ...]
    unit: tuple[str, str] | None

    @classmethod
    def of(cls, ends: Sequence[str], values: Sequence[str]) -> Line:
        """The ends of released intervals, and those values that are numbers like them."""
        unit = next((unit_of(end) for end in ends if number_of(end) is None), None)
        found = {text: position(text, unit) for text in (*ends, *values)}
        pairs = sorted((at, text) for text, at in found.items() if at is not None)
        return cls(tuple(text for _, text in pairs), tuple(at for at, _ in pairs), unit)

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {text: at for at, text in enumerate(self.texts)}

    def position(self, text: str) -> Fraction:
        """Where a text lies that is a number like those of the line."""
        found = position(text, self.unit)
        if found is None:
            raise UsageError("an end or a border is no number like the others", where="plan")
        return found

    def code(self, text: str) -> int:
        """The place of a value; −1 where it has none."""
        return self._codes.get(text, -1)

    def run(self, label: str | None) -> tuple[int, int]:
        """The run of codes that a released value covers."""
        if label is None:
            return len(self.texts), -1
        if label == ANYTHING:
            return 0, len(self.texts) - 1
        first, last = interval_ends(label)
        low, high = self.position(first), self.position(last)
        if read_interval(label) is None:
            return self._codes[first], self._codes[last]
        return bisect_left(self.positions, low), bisect_right(self.positions, high) - 1


def position(text: str, unit: tuple[str, str] | None) -> Fraction | None:
    """A value on the number line, in the column's unit if it has one.

    >>> position("3K", ("", "K")), position("3", ("", "K")), position("0.5", None)
    (Fraction(3, 1), None, Fraction(1, 2))
    """
    if unit is None:
        at = number_of(text)
    else:
        found = UNIT.match(text)
        at = exact(found[2]) if found and (found[1], found[3]) == unit else None
    return None if at is None or abs(at) >= HUGE else at


def unit_of(text: str) -> tuple[str, str] | None:
    """What stands before and after the number in a text."""
    found = UNIT.match(text)
    return (found[1], found[3]) if found else None


def interval_ends(label: str) -> tuple[str, str]:
    """Both ends of a released interval; a single value is both.

    >>> interval_ends("[25, 37]"), interval_ends("41")
    (('25', '37'), ('41', '41'))
    """
    found = INTERVAL.match(label) if read_interval(label) is not None else None
    return (found[2], found[3]) if found else (label, label)
