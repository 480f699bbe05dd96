"""Builders of hierarchies: from the values of a column, as text, to a tree with the root `*`.

Every builder keeps the text of values as leaves, sorts them by their kind (numbers by size, dates
by time, other text alphabetically) and counts repeated values once. It refuses a value with the
same text as a group, because in a release the two would look the same.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

from tclose.errors import nearest
from tclose.hierarchy.tree import Hierarchy, hierarchy_error
from tclose.plain import Written, exact, write_number

ROOT = "*"
T = TypeVar("T")
Groups: TypeAlias = "Mapping[str, Groups | Sequence[str]]"

_MOST_DIGITS = 301  # within a float's range
_ISO_DATE = re.compile(r"[0-9]{4}-?[0-9]{2}-?[0-9]{2}([T ].+)?")

_PERIODS: Mapping[str, Callable[[datetime], str]] = {
    "day": lambda moment: f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}",
    "month": lambda moment: f"{moment.year:04d}-{moment.month:02d}",
    "quarter": lambda moment: f"{moment.year:04d}-Q{(moment.month + 2) // 3}",
    "year": lambda moment: f"{moment.year:04d}",
    "5 years": lambda moment: _years(moment, 5),
    "decade": lambda moment: f"{moment.year // 10:03d}0s",
    "20 years": lambda moment: _years(moment, 20),
}


def _years(moment: datetime, width: int) -> str:
    """Returns the band of years that a moment is in."""
    first = moment.year // width * width
    return f"{first:04d} to {first + width - 1:04d}"


def intervals(
    values: Iterable[str],
    widths: Sequence[Written],
    *,
    column: str,
    origin: Written = 0,
    bottom: Written | None = None,
    top: Written | None = None,
) -> Hierarchy:
    """Makes intervals of growing width: one level per width, each a multiple of the one before.

    Intervals are aligned to `origin`, so that each lies within one interval of the next level. All
    values below `bottom` form one interval on every level, and so do `top` and all values above
    (bottom- and top-coding); the other intervals are cut off there.

    >>> ages = intervals(["23", "27", "41"], [5, 10], column="age")
    >>> [ages.generalize("23", level) for level in range(ages.levels)]
    ['23', '[20, 25)', '[20, 30)', '*']
    >>> old = intervals(["23", "87", "93"], [5, 10, 20], column="age", top=90)
    >>> [old.generalize("87", 3), old.generalize("93", 1)]
    ['[80, 90)', '[90, ∞)']
    """
    steps = _widths(widths, column)
    start = _number(origin, "the origin", column)
    low = None if bottom is None else _number(bottom, "the bottom", column)
    high = None if top is None else _number(top, "the top", column)
    ratios = [int(step / steps[0]) for step in steps]

    @cache
    def label(level: int, position: int) -> str:
        first = start + position * steps[level]
        last = first + steps[level]
        first, last = (
            first if low is None else max(first, low),
            last if high is None else min(last, high),
        )
        return f"[{write_number(first)}, {write_number(last)})"

    def chain(number: Fraction, text: str) -> list[str]:
        if low is not None and number < low:
            return [text, f"(-∞, {write_number(low)})", ROOT]
        if high is not None and number >= high:
            return [text, f"[{write_number(high)}, ∞)", ROOT]
        finest = (number - start) // steps[0]
        return [text, *(label(i, finest // ratio) for i, ratio in enumerate(ratios)), ROOT]

    return build_tree((chain(*pair) for pair in _numbers(values, column)), column)


def cuts(values: Iterable[str], cuts: Sequence[Sequence[Written]], *, column: str) -> Hierarchy:
    """Makes intervals between cut points: one sequence of cuts per level, finest first.

    A coarser level has some of the cuts of the finer one. An interval that is the same on two
    levels is one node.

    >>> ages = cuts(["7", "30", "70"], [[18, 40, 65], [18, 65]], column="age")
    >>> [ages.generalize(age, 2) for age in ages.leaves]
    ['(-∞, 18)', '[18, 65)', '[65, ∞)']
    """
    points = _cut_points(cuts, column)
    names = [_between(level) for level in points]

    def chain(number: Fraction, text: str) -> list[str]:
        spans = zip(points, names, strict=True)
        return [text, *(name[bisect_right(level, number)] for level, name in spans), ROOT]

    return build_tree((chain(*pair) for pair in _numbers(values, column)), column)


def prefixes(values: Iterable[str], keep: Sequence[int], *, column: str) -> Hierarchy:
    """Keeps fewer and fewer first characters of a text and masks the rest by `*`.

    If all values have the same length, masked ones keep it; otherwise a single `*` stands for any
    rest, so that values with the same beginning become equal. A value shorter than what a level
    keeps is unchanged there. Keeping 0 characters is the root.

    >>> codes = prefixes(["12345", "12399"], [3, 2], column="zip")
    >>> [codes.generalize("12345", level) for level in range(codes.levels)]
    ['12345', '123**', '12***', '*']
    >>> prefixes(["J45.901", "J44.1"], [1], column="code").generalize("J45.901", 1)
    'J*'
    """
    kept = _check_kept(keep, column)
    texts = sorted(_domain(values, column))
    lengths = {len(text) for text in texts}

    def mask(text: str, count: int) -> str:
        if len(lengths) == 1:
            return text[:count] + "*" * (len(text) - count)
        return text[:count] + "*" if len(text) >= count else text

    return build_tree(
        ([text, *(mask(text, count) for count in kept), ROOT] for text in texts), column
    )


def dates(
    values: Iterable[str],
    levels: Sequence[str] = ("month", "quarter", "year", "decade"),
    *,
    column: str,
) -> Hierarchy:
    """Generalizes ISO dates, or dates with times, to longer and longer periods.

    Levels are some of day, month, quarter, year, 5 years, decade, 20 years, in this order. A time
    is taken in the time zone in which it is written.

    >>> births = dates(["2021-03-05", "2019-12-31"], column="birth")
    >>> [births.generalize("2021-03-05", level) for level in range(births.levels)]
    ['2021-03-05', '2021-03', '2021-Q1', '2021', '2020s', '*']
    """
    periods = _periods(levels, column)
    ordered = sorted(_read_values(values, _moment, "an ISO date", column))
    chains = ([text, *(period(moment) for period in periods), ROOT] for moment, text in ordered)
    return build_tree(chains, column)


def groups(spec: Groups, column: str) -> Hierarchy:
    """Makes groups of values from nested mappings, to any depth; the root `*` is added above.

    >>> kinds = groups({"animal": {"pet": ["cat", "dog"]}, "plant": ["oak"]}, "kind")
    >>> kinds.labels
    ('cat', 'dog', 'oak', 'pet', 'plant', 'animal', '*')
    """
    return build_tree(_members(spec, [ROOT], column), column)


def build_tree(chains: Iterable[Sequence[str]], column: str) -> Hierarchy:
    """Builds a tree from rows from value to root; refuses values equal to a group's label."""
    rows = list(chains)
    hierarchy = Hierarchy.from_chains(rows, column)
    ambiguous = len(rows) - hierarchy.leaf_count
    if ambiguous:
        what = f"{ambiguous} of {len(rows)} values have the same text as a group of other values"
        hint = "name groups differently from values, and write all values in the same form"
        raise hierarchy_error(column, what, hint)
    return hierarchy


def _domain(values: Iterable[str], column: str) -> list[str]:
    """Returns the distinct values; raises HierarchyError unless all are text."""
    if isinstance(values, str):
        raise hierarchy_error(column, "the values are a single text, not a list")
    distinct = list(dict.fromkeys(values))
    others = sum(not isinstance(value, str) for value in distinct)
    if others:
        what = f"{others} of {len(distinct)} distinct values are not text"
        raise hierarchy_error(column, what, "give numbers and dates in their text form")
    if not distinct:
        raise hierarchy_error(column, "there are no values to build a hierarchy from")
    return distinct


def _read_values(
    values: Iterable[str], read: Callable[[str], T | None], kind: str, column: str
) -> list[tuple[T, str]]:
    """Parses the distinct values; returns (parsed, text) pairs."""
    texts = _domain(values, column)
    pairs = [(found, text) for text in texts if (found := read(text)) is not None]
    failed = len(texts) - len(pairs)
    if failed:
        what = f"{failed} of {len(texts)} distinct values cannot be read as {kind}"
        hint = "clean or leave out these values, or group them by name with `groups`"
        raise hierarchy_error(column, what, hint)
    return pairs


def _numbers(values: Iterable[str], column: str) -> list[tuple[Fraction, str]]:
    """Returns the distinct values with their numbers, sorted by size."""
    pairs = _read_values(values, read_number, "a finite number", column)
    # Rounding keeps the order, and comparing floats first avoids most comparisons of fractions.
    return sorted(pairs, key=lambda pair: (float(pair[0]), *pair))


def _number(number: Written, what: str, column: str, level: int | None = None) -> Fraction:
    value = read_number(number)
    if value is None:
        raise hierarchy_error(column, f"{what} is not a finite number", level=level)
    return value


def _widths(widths: Sequence[Written], column: str) -> list[Fraction]:
    steps: list[Fraction] = []
    for level, width in _levels(widths, "width", column):
        step = _number(width, "the width", column, level)
        if step <= 0:
            raise hierarchy_error(column, "the width is not positive", level=level)
        if steps and (step <= steps[-1] or (step / steps[-1]).denominator != 1):
            what = "the width is not a larger multiple of the one before"
            hint = "intervals must nest, as in [5, 10, 20]"
            raise hierarchy_error(column, what, hint, level=level)
        steps.append(step)
    return steps


def _cut_points(cuts: Sequence[Sequence[Written]], column: str) -> list[list[Fraction]]:
    points: list[list[Fraction]] = []
    for level, row in _levels(cuts, "level of cuts", column):
        if not isinstance(row, Sequence) or isinstance(row, str) or not row:
            what = "a level of cuts must be a list of numbers"
            raise hierarchy_error(column, what, level=level)
        now = [_number(cut, "a cut", column, level) for cut in row]
        if any(left >= right for left, right in pairwise(now)):
            raise hierarchy_error(column, "the cuts do not grow from left to right", level=level)
        if points and not set(now) < set(points[-1]):
            what = "the cuts are not some, but not all, of the cuts of the level before"
            hint = "intervals must nest, as in [[18, 40, 65], [18, 65]]"
            raise hierarchy_error(column, what, hint, level=level)
        points.append(now)
    return points


def _between(points: Sequence[Fraction]) -> list[str]:
    """Returns the labels of the intervals between cut points, from left to right."""
    texts = [write_number(point) for point in points]
    inner = [f"[{left}, {right})" for left, right in pairwise(texts)]
    return [f"(-∞, {texts[0]})", *inner, f"[{texts[-1]}, ∞)"]


def _check_kept(keep: Sequence[int], column: str) -> list[int]:
    """Returns the numbers of characters to keep, without a 0 at the end (it means the root)."""
    for level, count in _levels(keep, "number of kept characters", column):
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            what = "the number of kept characters is not a whole number ≥ 0"
            raise hierarchy_error(column, what, level=level)
        if level > 1 and count >= keep[level - 2]:
            what = "the number of kept characters does not decrease"
            hint = "keep fewer characters on each level, as in [4, 3, 2, 0]"
            raise hierarchy_error(column, what, hint, level=level)
    return [count for count in keep if count > 0]


def _periods(levels: Sequence[str], column: str) -> list[Callable[[datetime], str]]:
    if isinstance(levels, str):
        raise hierarchy_error(column, "the levels are a single text, not a list", 'as in ["month"]')
    ranks = list(_PERIODS)
    for level, name in _levels(levels, "period", column):
        if name not in ranks:
            hint = nearest(str(name), ranks)
            raise hierarchy_error(column, "no such period", hint, level=level)
        if level > 1 and ranks.index(name) <= ranks.index(levels[level - 2]):
            what = "the period is not longer than the one before"
            hint = f"the order is {', '.join(ranks)}"
            raise hierarchy_error(column, what, hint, level=level)
    return [_PERIODS[name] for name in levels]


def _levels(items: Sequence[object], kind: str, column: str) -> Iterable[tuple[int, Any]]:
    """Numbers what is given for the levels, from 1; raises HierarchyError if there is nothing."""
    if len(items) == 0:
        raise hierarchy_error(column, f"at least one {kind} is needed")
    return enumerate(items, start=1)


def _moment(text: str) -> datetime | None:
    """Parses an ISO date or time as written, ignoring its time zone; None if it is not one."""
    if not _ISO_DATE.fullmatch(text.strip()):
        return None
    try:
        return datetime.fromisoformat(text.strip()).replace(tzinfo=None)
    except ValueError:
        return None


def _members(spec: object, above: list[str], column: str) -> Iterator[list[str]]:
    """Yields the rows of a nested mapping: each value and its groups, innermost first."""
    depth = len(above) - 1
    if isinstance(spec, str) or not isinstance(spec, Mapping | Sequence):
        what = f"a group is neither a list of values nor made of groups ({depth} groups deep)"
        raise hierarchy_error(column, what, 'as in {"animal": ["cat", "dog"], "plant": ["oak"]}')
    if not spec:
        raise hierarchy_error(column, f"a group is empty ({depth} groups deep)")
    if isinstance(spec, Mapping):
        for name, members in spec.items():
            yield from _members(members, [name, *above], column)
    else:
        yield from ([value, *above] for value in spec)


def read_number(number: Written) -> Fraction | None:
    """Returns the exact value of a number or of its text; None if it is not a finite number.

    A float is read as its shortest text: 0.1 is a tenth. A text with a slash is refused: it may be
    a date.

    >>> read_number("2.50"), read_number(0.1), read_number("n/a"), read_number("12/2020")
    (Fraction(5, 2), Fraction(1, 10), None, None)
    """
    if isinstance(number, str) and "/" in number:
        return None
    try:
        value = exact(number)
    except ValueError:
        return None
    within = max(abs(value.numerator), value.denominator) < 10**_MOST_DIGITS
    return value if within else None
