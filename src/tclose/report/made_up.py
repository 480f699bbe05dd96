"""Made-up values in the form of released ones, for external reports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from fractions import Fraction

from tclose.data.encode.labels import PERIOD, SET, read_interval, set_members
from tclose.hierarchy import Hierarchy

IN_WORDS = {
    "interval": "an interval",
    "mask": "its first characters",
    "group": "a group of values",
    "set": "a set of values",
}
"""Descriptions of forms for which no value can be made up that does not occur."""


def make_up(value: str, form: str, taken: set[str], tree: Hierarchy | None = None) -> str:
    """Makes up a value of the same form that does not occur; if there is none, describes the form.

    >>> make_up("476**", "mask", {"476**"}), make_up("[21, 30]", "interval", {"[21, 30]"})
    ('123** (made up)', '[10, 19] (made up)')
    """
    if form == "group" and not _list_periods(value) and tree is not None and tree.contains(value):
        return f"a group of {int(tree.size_below[tree.index(value)]):,} values"
    tried = [made for made in _list_made_up(value, form) if not _names_any(made, taken)]
    return f"{tried[0]} (made up)" if tried else IN_WORDS.get(form, "a value as it was")


def _names_any(made: str, taken: set[str]) -> bool:
    """Whether a made-up value, or a value within it, occurs in the table."""
    parts = re.findall(r"[^\[\](){},\s]+", made)
    return made in taken or any(part in taken for part in parts)


def _list_made_up(value: str, form: str) -> Iterator[str]:
    if form == "interval":
        yield from _list_intervals(value)
    elif form == "set" and (found := SET.match(value)):
        count = len(set_members(found[1]))
        names = ", ".join("ABC"[: min(count, 3)])
        yield "{" + names + ("}" if count <= 3 else f", …}} of {count:,} values")
    else:
        if periods := _list_periods(value):
            yield from periods
        elif len(value) <= 12 and " " not in value:
            yield from (_respell(value, letters, digits) for letters, digits in SPELLINGS)


def _list_periods(value: str) -> list[str]:
    """Lists days or periods of the same form in other years; none if the value is neither."""
    years = range(1900, 2020, 10)
    if re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return [f"{year}-02-03" for year in years]
    if (found := PERIOD.match(value)) is None:
        return []
    year, month, quarter, until, decade = found.groups()
    if until:
        return [f"{first} to {first + int(until) - int(year)}" for first in years]
    end = "-02" if month else "-Q1" if quarter else "s" if decade else ""
    return [f"{first}{end}" for first in years]


SPELLINGS = (("abcdefghijklm", "1234567890"), ("zyxwvutsrqpon", "9876543210"))


def _respell(value: str, letters: str, digits: str) -> str:
    """Writes the same form with other letters and digits: `J45.9*` as `A12.3*`."""
    spelt, letter, digit = [], 0, 0
    for character in value:
        if character.isdigit():
            spelt.append(digits[digit % 10])
            digit += 1
        elif character.isalpha():
            made = letters[letter % 13]
            spelt.append(made.upper() if character.isupper() else made)
            letter += 1
        else:
            spelt.append(character)
    return "".join(spelt)


def _list_intervals(value: str) -> Iterator[str]:
    """Yields intervals of about the same width elsewhere, with multiples of round steps as ends."""
    found = read_interval(value)
    if found is None or found.low is None or found.high is None:
        yield from ("≥ 90", "≥ 900", "≥ 9000")
        return
    width = found.high - found.low
    left, right = "[" if found.with_low else "(", "]" if found.with_high else ")"
    is_date = re.search(r"\d{4}-\d\d", value) is not None
    for start in (1, 2, 3, 5, 7, 11):
        if is_date:
            low = date(1900 + 10 * start, 1, 1)
            yield f"{left}{low}, {date.fromordinal(low.toordinal() + int(width))}{right}"
        else:
            low_end = start * max(10 ** (len(str(int(width))) if width >= 1 else 0), 1)
            ends = (_write_end(Fraction(low_end)), _write_end(low_end + width))
            yield f"{left}{ends[0]}, {ends[1]}{right}"


def _write_end(number: Fraction) -> str:
    return f"{float(number):.4g}" if number.denominator > 1 else str(number)
