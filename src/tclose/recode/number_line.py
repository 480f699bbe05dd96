"""Released intervals and values on the number line: their ends, places, widths and units."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor

from tclose.data.encode.labels import ANYTHING, INTERVAL, read_interval, read_position, unit_of
from tclose.errors import UsageError
from tclose.plain import exact, write_number

HUGE = 10**300
"""Numbers beyond this have no width that could be measured, and so no place."""


@dataclass(frozen=True)
class NumberLine:
    """Texts along the number line; several texts of one number stand side by side."""

    texts: tuple[str, ...]
    positions: tuple[Fraction, ...]
    unit: tuple[str, str] | None

    @classmethod
    def read(cls, released: Sequence[str | None], values: Sequence[str]) -> NumberLine:
        """Reads the ends of released intervals, and released values that are such numbers."""
        ends = [end for pair in list_ends(released) for end in pair]
        unit = find_unit(ends)
        found = {text: find_position(text, unit) for text in (*ends, *values)}
        pairs = sorted((at, text) for text, at in found.items() if at is not None)
        return cls(tuple(text for _, text in pairs), tuple(at for at, _ in pairs), unit)

    @cached_property
    def codes(self) -> dict[str, int]:
        """The place of each value that has one."""
        return {text: at for at, text in enumerate(self.texts)}

    def position(self, text: str) -> Fraction:
        """The position of a text that is a number of the same kind as the line's."""
        found = find_position(text, self.unit)
        if found is None:
            raise UsageError("an end or a border is no number like the others", where="plan")
        return found

    def run(self, label: str | None) -> tuple[int, int]:
        """The run of codes that a released value covers."""
        if label is None:
            return len(self.texts), -1
        if label == ANYTHING:
            return 0, len(self.texts) - 1
        first, last = interval_ends(label)
        low, high = self.position(first), self.position(last)
        if read_interval(label) is None:
            return self.codes[first], self.codes[last]
        return bisect_left(self.positions, low), bisect_right(self.positions, high) - 1


def find_unit(ends: Sequence[str]) -> tuple[str, str] | None:
    """The unit of the ends of released intervals, where they are no plain numbers or dates."""
    return next((unit_of(end) for end in ends if read_position(end) is None), None)


def find_position(text: str, unit: tuple[str, str] | None) -> Fraction | None:
    """A value on the number line, in the column's unit if it has one."""
    at = read_position(text, unit)
    return None if at is None or abs(at) >= HUGE else at


def interval_ends(label: str) -> tuple[str, str]:
    """Both ends of a released interval; a single value is both.

    >>> interval_ends("[25, 37]"), interval_ends("41")
    (('25', '37'), ('41', '41'))
    """
    found = INTERVAL.match(label) if read_interval(label) is not None else None
    return (found[2], found[3]) if found else (label, label)


def widen_ends(label: str | None, step: Fraction) -> str | None:
    """A released interval, or a single value, between multiples of a step; at least one step wide.

    >>> [widen_ends(label, Fraction(5)) for label in ("[21, 23]", "[20, 26]", "20", "-1.5", "*")]
    ['[20, 25]', '[20, 30]', '[20, 25]', '[-5, 0]', '*']
    """
    if label in (None, ANYTHING):
        return label
    first, last = map(exact, interval_ends(str(label)))
    low, high = floor(first / step), ceil(last / step)
    return f"[{write_number(low * step)}, {write_number(max(high, low + 1) * step)}]"


def find_width(label: str | None) -> float:
    """How far the ends of a released interval of plain numbers are apart; 0 where it has none."""
    if label in (None, ANYTHING):
        return 0.0
    first, last = map(exact, interval_ends(str(label)))
    return float(last - first)


def list_ends(released: Sequence[str | None]) -> list[tuple[str, str]]:
    """The ends of all released values that are intervals or single values."""
    return [interval_ends(label) for label in released if label not in (None, ANYTHING)]
