"""Made-up values in the form of released ones, for external reports."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import date
from fractions import Fraction

from tclose.data.encode.labels import PERIOD, read_interval, read_set
from tclose.hierarchy.tree import Hierarchy

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
    found = _list_made_up(value, form, has_own_ends=tree is None)
    tried = [made for made in found if not _names_any(made, taken)]
    return f"{tried[0]} (made up)" if tried else IN_WORDS.get(form, "a value as it was")


def _names_any(made: str, taken: set[str]) -> bool:
    """Whether a made-up value, or a value within it, occurs in the table."""
    parts = re.findall(r"[^\[\](){},\s]+", made)
    return made in taken or any(part in taken for part in parts)


def _list_made_up(value: str, form: str, *, has_own_ends: bool) -> Iterator[str]:
    if form == "interval":
        yield from _list_intervals(value, has_own_ends=has_own_ends)
    elif form == "set" and (found := read_set(value)):
        count = len(found.members) + found.with_missing
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


DAYS_OF_MONTH = 30.44
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


def _list_intervals(value: str, *, has_own_ends: bool) -> Iterator[str]:
    """Yields intervals of about the same width elsewhere, with multiples of round steps as ends.

    If the ends are values of the table (and not of a hierarchy), their exact difference is a fact
    about two rows, so the width is rounded: to years, months or one significant digit.
    """
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
            days = _round_days(low, int(width)) if has_own_ends else int(width)
            yield f"{left}{low}, {date.fromordinal(low.toordinal() + days)}{right}"
        else:
            width = _round_width(width) if has_own_ends else width
            low_end = start * max(10 ** (len(str(int(width))) if width >= 1 else 0), 1)
            ends = (_write_end(Fraction(low_end)), _write_end(low_end + width))
            yield f"{left}{ends[0]}, {ends[1]}{right}"


def _round_width(width: Fraction) -> Fraction:
    """Rounds to one significant digit.

    >>> print(*map(_round_width, [Fraction(8045), Fraction(9), Fraction("0.26")]))
    8000 9 3/10
    """
    if width <= 0:
        return width
    unit = Fraction(10) ** math.floor(math.log10(width))
    return round(width / unit) * unit


def _round_days(low: date, days: int) -> int:
    """Rounds a number of days from the first of a year, to whole years or months if it has any.

    >>> _round_days(date(1910, 1, 1), 3649), _round_days(date(1910, 1, 1), 97)
    (3651, 89)
    """
    if days < DAYS_OF_MONTH:
        return int(_round_width(Fraction(days)))
    months = round(days / DAYS_OF_MONTH)
    months = 12 * round(months / 12) if months > 12 else months
    end = date(low.year + months // 12, 1 + months % 12, 1)
    return end.toordinal() - low.toordinal() - 1


def _write_end(number: Fraction) -> str:
    return f"{float(number):.4g}" if number.denominator > 1 else str(number)
