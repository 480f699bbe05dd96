"""The values that a generalized value covers: intervals, sets, masks, inner nodes of a hierarchy.

| form | covers |
|---|---|
| `*` | everything |
| `[25, 37]`, `[20, 25)`, `(-∞, 18)`, `25-37` | numbers (or dates) between the ends |
| `≥ 40`, `>=40`, `<40` | numbers on one side |
| `{flu, cough}` | the values named; `(missing)` among them is a missing value |
| `476**`, `2*` | values with these characters, `*` standing for one each or, last, for any rest |
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, time
from fractions import Fraction
from typing import NamedTuple

from tclose.data.encode.columns import MISSING, UNIT, days_of
from tclose.hierarchy.tree import Hierarchy
from tclose.plain import exact

ANYTHING = "*"
MASK = "*"
"""In place of every identifier, where the policy masks them."""
PSEUDONYM = "^p[0-9a-f]{24}$"
"""What a pseudonym looks like; the letter tells it from object numbers of databases."""
INTERVAL = re.compile(r"([\[(])\s*(\S[^,;]*?|)\s*[,;]\s*(\S[^,;]*?|)\s*([\])])$")
DASH = re.compile(r"(\d+(?:\.\d+)?)\s*[-–]\s*(\d+(?:\.\d+)?)$")
SIDE = re.compile(r"(>=|≥|>|<=|≤|<)\s*(\S.*)$")
SET = re.compile(r"\{(.*)\}$", re.DOTALL)
MEMBER = re.compile(r'("(?:[^"\\]|\\.)*")|([^,"]+)')
INFINITE = {"", "-∞", "∞", "+∞", "-inf", "inf"}
PERIOD = re.compile(r"(\d{4})(?:-(?:(\d\d)|Q([1-4]))| to (\d{4}))?$|(\d{3}0)s$")
"""A year, month or quarter, several years, or a decade."""
FORMS = {
    "exact": "exact values",
    "interval": "intervals",
    "mask": "first characters",
    "group": "groups of its hierarchy",
    "set": "sets of values",
    "hidden": "hidden",
}
"""The forms of released values, and what they are called for people."""


def name_form(label: str, raw: frozenset[str], tree: Hierarchy | None) -> str:
    """The form of a released value; `raw` are the values before, where these are known."""
    if label == ANYTHING:
        return "hidden"
    if label in raw or label == MISSING:
        return "exact"
    if read_interval(label) is not None:
        return "interval"
    if SET.match(label):
        return "set"
    if "*" in label:
        return "mask"
    is_group = tree is not None and tree.contains(label) and tree.index(label) >= tree.leaf_count
    return "group" if is_group else "exact"


def find_first_day(value: str) -> str:
    """The first day of a period that a date hierarchy's label names, or the value itself.

    >>> [find_first_day(value) for value in ("2021-Q2", "2020s", "2020 to 2024", "2021-03-05")]
    ['2021-04-01', '2020-01-01', '2020-01-01', '2021-03-05']
    """
    if (found := PERIOD.match(value)) is None:
        return value
    year, month, quarter, _, decade = found.groups()
    return f"{year or decade}-{int(month or 3 * int(quarter or 1) - 2):02d}-01"


@dataclass(frozen=True)
class Interval:
    """Numbers between two ends; None is no end."""

    low: Fraction | None
    high: Fraction | None
    with_low: bool
    with_high: bool
    unit: tuple[str, str] | None = None
    """What stands before and after the number, in ends such as `3K` and in every value covered."""

    def covers(self, value: str) -> bool:
        """Whether the number (or date) written lies between the ends."""
        at = read_position(value, self.unit)
        if at is None:
            return False
        above = self.low is None or at > self.low or (self.with_low and at == self.low)
        under = self.high is None or at < self.high or (self.with_high and at == self.high)
        return above and under


def read_position(text: str, unit: tuple[str, str] | None = None) -> Fraction | None:
    """A number, an ISO date (a moment of it) or a time of day on the number line.

    With a unit, the number in a text that has this unit.

    >>> read_position("3K", ("", "K")), read_position("3", ("", "K")), read_position("0.5")
    (Fraction(3, 1), None, Fraction(1, 2))
    """
    if unit is not None:
        found = UNIT.match(text)
        return exact(found[2]) if found and (found[1], found[3]) == unit else None
    try:
        return exact(text)
    except ValueError:
        pass
    for kind in (datetime, time):
        try:
            return days_of(kind.fromisoformat(text))
        except ValueError:
            pass
    return None


def unit_of(text: str) -> tuple[str, str] | None:
    """The texts before and after the number in a text."""
    found = UNIT.match(text)
    return (found[1], found[3]) if found else None


def read_interval(label: str) -> Interval | None:
    """The interval that a label writes, or None.

    >>> read_interval("[25, 37]").covers("37"), read_interval("[20, 25)").covers("25")
    (True, False)
    """
    if found := INTERVAL.match(label):
        ends = [read_position(end) for end in (found[2], found[3])]
        known = [
            end is not None or text in INFINITE
            for end, text in zip(ends, found.group(2, 3), strict=True)
        ]
        if all(known):
            return Interval(ends[0], ends[1], found[1] == "[", found[4] == "]")
        if unit := unit_of(found[2]):
            low, high = (read_position(end, unit) for end in found.group(2, 3))
            if low is not None and high is not None:
                return Interval(low, high, found[1] == "[", found[4] == "]", unit)
    if (found := DASH.match(label)) and Fraction(found[1]) <= Fraction(found[2]):
        return Interval(Fraction(found[1]), Fraction(found[2]), True, True)
    if (found := SIDE.match(label)) and (at := read_position(found[2])) is not None:
        closed = found[1] in (">=", "≥", "<=", "≤")
        upward = found[1] in (">", ">=", "≥")
        return Interval(at if upward else None, None if upward else at, closed, closed)
    return None


def raw_values(label: str) -> list[str]:
    """Raw values that a label names: the ends of an interval, the members of a set, or itself.

    >>> raw_values("[25, 37]"), raw_values("{a, b}"), raw_values("≥ 40"), raw_values("*")
    (['25', '37'], ['a', 'b'], ['40'], [])
    """
    if read_interval(label) is None:
        if named := read_set(label):
            return [*named.members, *[MISSING] * named.with_missing]
        return [label] if label.strip("*") else []
    for form in (INTERVAL, DASH, SIDE):
        if found := form.match(label):
            return [part for part in found.groups() if part and read_position(part) is not None]
    return []


def is_label(text: str) -> bool:
    """Whether a text is written like a generalized value rather than a raw one.

    >>> is_label("476**"), is_label("≥ 40"), is_label("{a, b}"), is_label("flu")
    (True, True, True, False)
    """
    return "*" in text or read_interval(text) is not None or SET.match(text) is not None


def cover_test(label: str) -> Callable[[str], bool]:
    """The test of whether a raw value lies under a generalized one.

    >>> covers = cover_test("476**")
    >>> covers("47677"), covers("47905"), cover_test("*")("anything")
    (True, False, True)
    >>> cover_test('{"[20, 29]", 47}')("25")
    True
    """
    if label == "*":
        return lambda value: True
    if (interval := read_interval(label)) is not None:
        return lambda value: value == label or interval.covers(value)
    if found := read_set(label):
        members = {*found.members}
        # Of a table that was generalized before, a set names labels.
        tests = [cover_test(text) for text in sorted(members) if text != label and is_label(text)]
        return lambda value: (
            value == label or value in members or any(test(value) for test in tests)
        )
    if "*" in label:
        pattern = re.compile(_mask(label))
        return lambda value: pattern.fullmatch(value) is not None
    return lambda value: value == label


class NamedSet(NamedTuple):
    """The values that a set names, and whether a missing one is among them."""

    members: list[str]
    with_missing: bool


def read_set(label: str) -> NamedSet | None:
    """The set that a label writes, or None; its quoted members are written as JSON strings.

    >>> read_set('{flu, "a, b", (missing)}')
    NamedSet(members=['flu', 'a, b'], with_missing=True)
    """
    found = SET.match(label)
    if found is None:
        return None
    parts = [(quoted, plain.strip()) for quoted, plain in MEMBER.findall(found[1])]
    members = [
        _unquote(quoted) if quoted else plain
        for quoted, plain in parts
        if quoted or plain not in ("", MISSING)
    ]
    return NamedSet(members, ("", MISSING) in parts)


def covers_missing(label: str) -> bool:
    """Whether a missing value lies under a generalized one.

    >>> covers_missing("*"), covers_missing("{a, (missing)}"), covers_missing('{"(missing)", a}')
    (True, True, False)
    """
    found = read_set(label)
    return label == ANYTHING or (found is not None and found.with_missing)


def _unquote(text: str) -> str:
    """A text in quotes, as JSON reads it or, where that fails, as it stands between them."""
    try:
        return str(json.loads(text))
    except ValueError:
        return text[1:-1]


def _mask(label: str) -> str:
    """A mask as a regular expression: one last star matches any rest, others one character each."""
    if label.count("*") == 1 and label.endswith("*"):
        return re.escape(label[:-1]) + ".*"
    return "".join("." if character == "*" else re.escape(character) for character in label)
