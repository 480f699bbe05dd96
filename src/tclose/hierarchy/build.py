"""Builders of hierarchies: from the values of a column, as text, to a tree with the root `*`.

Every builder keeps the values' text as leaves, orders them as their kind is ordered (numbers by
size, dates by time, text by text), counts repeated values once, and refuses a value that reads
like one of the groups made here: a release could not tell the two apart.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import TypeAlias

from tclose.distance.numbers import Written, exact
from tclose.errors import HierarchyError, nearest
from tclose.hierarchy.tree import Hierarchy, locate

ROOT = "*"
Groups: TypeAlias = "Mapping[str, Groups | Sequence[str]]"

_MOST_DIGITS = 301  # within a float's range
_ISO_DATE = re.compile(r"[0-9]{4}-?[0-9]{2}-?[0-9]{2}([T ].+)?")

_PERIODS: Mapping[str, Callable[[datetime], str]] = {
    "day": lambda moment: f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}",
    "month": lambda moment: f"{moment.year:04d}-{moment.month:02d}",
    "quarter": lambda moment: f"{moment.year:04d}-Q{(moment.month + 2) // 3}",
    "year": lambda moment: f"{moment.year:04d}",
    "decade": lambda moment: f"{moment.year // 10:03d}0s",
}


def intervals(
    values: Iterable[str], widths: Sequence[Written], *, column: str, origin: Written = 0
) -> Hierarchy:
    """Intervals of growing width: one level per width, each a multiple of the one before.

    All start at `origin`, so every interval lies within one of the next level.

    >>> ages = intervals(["23", "27", "41"], [5, 10], column="age")
    >>> [ages.generalize("23", level) for level in range(ages.levels)]
    ['23', '[20, 25)', '[20, 30)', '*']
    """
    steps = _widths(widths, column)
    start = _number(origin, "the origin is not a finite number", column)
    ratios = [int(step / steps[0]) for step in steps]

    @cache
    def label(level: int, position: int) -> str:
        low = start + position * steps[level]
        return f"[{write_number(low)}, {write_number(low + steps[level])})"

    def chain(number: Fraction, text: str) -> list[str]:
        finest = (number - start) // steps[0]
        return [text, *(label(i, finest // ratio) for i, ratio in enumerate(ratios)), ROOT]

    return _tree((chain(*pair) for pair in _numbers(values, column)), column)


def cuts(values: Iterable[str], cuts: Sequence[Sequence[Written]], *, column: str) -> Hierarchy:
    """Intervals between cut points: one sequence of cuts per level, finest first.

    A coarser level keeps some of the cuts of the finer one. An interval that stays the same on two
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

    return _tree((chain(*pair) for pair in _numbers(values, column)), column)


def prefixes(values: Iterable[str], keep: Sequence[int], *, column: str) -> Hierarchy:
    """Text of which fewer and fewer first characters are kept, the rest masked by `*`.

    Values of one length keep it; of different lengths, one star stands for any rest, so that values
    with the same beginning meet. A value shorter than what a level keeps stays as it is there.
    Keeping 0 characters is the root.

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

    return _tree(([text, *(mask(text, count) for count in kept), ROOT] for text in texts), column)


def dates(
    values: Iterable[str],
    levels: Sequence[str] = ("month", "quarter", "year", "decade"),
    *,
    column: str,
) -> Hierarchy:
    """ISO dates, or dates with times, told by ever longer periods.

    Levels are some of day, month, quarter, year, decade, in this order. A time counts in the time
    zone it is written in.

    >>> births = dates(["2021-03-05", "2019-12-31"], column="birth")
    >>> [births.generalize("2021-03-05", level) for level in range(births.levels)]
    ['2021-03-05', '2021-03', '2021-Q1', '2021', '2020s', '*']
    """
    periods = _periods(levels, column)
    parsed = [(_moment(text), text) for text in _domain(values, column)]
    _refuse_failures([moment for moment, _ in parsed], "an ISO date", column)
    ordered = sorted((moment, text) for moment, text in parsed if moment is not None)
    chains = ([text, *(period(moment) for period in periods), ROOT] for moment, text in ordered)
    return _tree(chains, column)


def groups(spec: Groups, column: str) -> Hierarchy:
    """Groups of values, given by name, as deep as needed; the root `*` is added above.

    >>> kinds = groups({"animal": {"pet": ["cat", "dog"]}, "plant": ["oak"]}, "kind")
    >>> kinds.labels
    ('cat', 'dog', 'oak', 'pet', 'plant', 'animal', '*')
    """
    return _tree(_members(spec, [ROOT], column), column)


def _tree(chains: Iterable[Sequence[str]], column: str) -> Hierarchy:
    """The tree of the rows, if no value was taken for a group."""
    rows = list(chains)
    hierarchy = Hierarchy.from_chains(rows, column)
    taken = len(rows) - hierarchy.leaf_count
    if taken:
        raise HierarchyError(
            f"{taken} of {len(rows)} values read like a group of other values",
            where=locate(column),
            hint="name groups differently from values, and write all values in the same form",
        )
    return hierarchy


def _domain(values: Iterable[str], column: str) -> list[str]:
    """The distinct values, all text."""
    if isinstance(values, str):
        raise HierarchyError("the values are one text, not a list", where=locate(column))
    distinct = list(dict.fromkeys(values))
    strange = sum(not isinstance(value, str) for value in distinct)
    if strange:
        raise HierarchyError(
            f"{strange} of {len(distinct)} distinct values are not text",
            where=locate(column),
            hint="give numbers and dates in their text form",
        )
    if not distinct:
        raise HierarchyError("there are no values to build a hierarchy from", where=locate(column))
    return distinct


def _numbers(values: Iterable[str], column: str) -> list[tuple[Fraction, str]]:
    """The distinct values with their numbers, by size."""
    parsed = [(read_number(text), text) for text in _domain(values, column)]
    _refuse_failures([number for number, _ in parsed], "a finite number", column)
    pairs = [(number, text) for number, text in parsed if number is not None]
    # Rounding keeps the order, and comparing floats first spares most comparisons of fractions.
    return sorted(pairs, key=lambda pair: (float(pair[0]), *pair))


def _refuse_failures(parsed: Sequence[object], kind: str, column: str) -> None:
    failed = sum(result is None for result in parsed)
    if failed:
        raise HierarchyError(
            f"{failed} of {len(parsed)} distinct values cannot be read as {kind}",
            where=locate(column),
            hint="clean or leave out these values, or group them by name with `groups`",
        )


def _number(number: Written, what: str, column: str, level: int | None = None) -> Fraction:
    value = read_number(number)
    if value is None:
        raise HierarchyError(what, where=locate(column, level=level))
    return value


def _widths(widths: Sequence[Written], column: str) -> list[Fraction]:
    _refuse_nothing(widths, "width", column)
    steps: list[Fraction] = []
    for level, width in enumerate(widths, start=1):
        step = _number(width, "the width is not a finite number", column, level)
        if step <= 0:
            raise HierarchyError("the width is not positive", where=locate(column, level=level))
        if steps and (step <= steps[-1] or (step / steps[-1]).denominator != 1):
            raise HierarchyError(
                "the width is not a larger multiple of the one before",
                where=locate(column, level=level),
                hint="intervals must nest, as in [5, 10, 20]",
            )
        steps.append(step)
    return steps


def _cut_points(cuts: Sequence[Sequence[Written]], column: str) -> list[list[Fraction]]:
    _refuse_nothing(cuts, "level of cuts", column)
    points: list[list[Fraction]] = []
    for level, row in enumerate(cuts, start=1):
        where = locate(column, level=level)
        if not _is_list(row) or not row:
            raise HierarchyError("a level of cuts must be a list of numbers", where=where)
        now = [_number(cut, "a cut is not a finite number", column, level) for cut in row]
        if any(left >= right for left, right in pairwise(now)):
            raise HierarchyError("the cuts do not grow from left to right", where=where)
        if points and not set(now) < set(points[-1]):
            raise HierarchyError(
                "the cuts are not some, but not all, of the cuts of the level before",
                where=where,
                hint="intervals must nest, as in [[18, 40, 65], [18, 65]]",
            )
        points.append(now)
    return points


def _is_list(row: object) -> bool:
    return isinstance(row, Sequence) and not isinstance(row, str)


def _is_count(count: object) -> bool:
    return isinstance(count, int) and not isinstance(count, bool) and count >= 0


def _between(points: Sequence[Fraction]) -> list[str]:
    """The names of the intervals that cut points leave, from left to right."""
    texts = [write_number(point) for point in points]
    inner = [f"[{left}, {right})" for left, right in pairwise(texts)]
    return [f"(-∞, {texts[0]})", *inner, f"[{texts[-1]}, ∞)"]


def _check_kept(keep: Sequence[int], column: str) -> list[int]:
    """The numbers of characters kept, without the 0 that stands for the root."""
    _refuse_nothing(keep, "number of kept characters", column)
    for level, count in enumerate(keep, start=1):
        if not _is_count(count):
            raise HierarchyError(
                "the number of kept characters is not a whole number from 0",
                where=locate(column, level=level),
            )
        if level > 1 and count >= keep[level - 2]:
            raise HierarchyError(
                "the number of kept characters does not fall",
                where=locate(column, level=level),
                hint="keep fewer characters on each level, as in [4, 3, 2, 0]",
            )
    return [count for count in keep if count > 0]


def _periods(levels: Sequence[str], column: str) -> list[Callable[[datetime], str]]:
    if isinstance(levels, str):
        raise HierarchyError(
            "the levels are one text, not a list", where=locate(column), hint='as in ["month"]'
        )
    _refuse_nothing(levels, "period", column)
    ranks = list(_PERIODS)
    for level, name in enumerate(levels, start=1):
        if name not in ranks:
            where = locate(column, level=level)
            raise HierarchyError("no such period", where=where, hint=nearest(str(name), ranks))
        if level > 1 and ranks.index(name) <= ranks.index(levels[level - 2]):
            raise HierarchyError(
                "the period is not longer than the one before",
                where=locate(column, level=level),
                hint=f"the order is {', '.join(ranks)}",
            )
    return [_PERIODS[name] for name in levels]


def _moment(text: str) -> datetime | None:
    """The date and time as written, without its time zone; None if it is no ISO date."""
    if not _ISO_DATE.fullmatch(text.strip()):
        return None
    try:
        return datetime.fromisoformat(text.strip()).replace(tzinfo=None)
    except ValueError:
        return None


def _refuse_nothing(items: Sequence[object], kind: str, column: str) -> None:
    if len(items) == 0:
        raise HierarchyError(f"at least one {kind} is needed", where=locate(column))


def _members(spec: object, above: list[str], column: str) -> Iterator[list[str]]:
    """The rows of a nested mapping: each value with the groups around it, innermost first."""
    depth = len(above) - 1
    if isinstance(spec, str) or not isinstance(spec, Mapping | Sequence):
        raise HierarchyError(
            f"a group is neither a list of values nor made of groups ({depth} groups deep)",
            where=locate(column),
            hint='as in {"animal": ["cat", "dog"], "plant": ["oak"]}',
        )
    if not spec:
        raise HierarchyError(f"a group is empty ({depth} groups deep)", where=locate(column))
    if isinstance(spec, Mapping):
        for name, members in spec.items():
            yield from _members(members, [name, *above], column)
    else:
        yield from ([value, *above] for value in spec)


def read_number(number: Written) -> Fraction | None:
    """The exact value of a number or of its text; None if it is no finite number.

    A float means its shortest text: 0.1 is a tenth. A text with a slash may be a date.

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


def write_number(number: Fraction) -> str:
    """The shortest exact text of a number: decimal if that ends, else a fraction.

    >>> write_number(Fraction(5, 2)), write_number(Fraction(-20)), write_number(Fraction(1, 3))
    ('2.5', '-20', '1/3')
    """
    places = _decimal_places(number.denominator)
    if places is None or places == 0:
        return str(number)
    digits = str(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    sign = "-" if number < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}"


def _decimal_places(denominator: int) -> int | None:
    """The fewest decimal places that show a fraction with this denominator exactly."""
    powers = []
    for prime in (2, 5):
        power = 0
        while denominator % prime == 0:
            denominator //= prime
            power += 1
        powers.append(power)
    return max(powers) if denominator == 1 else None
