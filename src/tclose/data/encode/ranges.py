"""Released values as ranges with low, high and midpoint, derived from the released text alone.

Whoever has the release can compute them, so columns that hold them add nothing to what it tells.

| released | low | high |
|---|---|---|
| `[25, 37]`, `[20, 25)`, `25-37` | the ends as they are written | |
| `25`, `2021-03-05` | the value | the value |
| `2021-03`, `2021-Q1`, `2020s`, `2020 to 2024`, and `2021` among such | the first day | the last |
| `≥ 40`, `(-∞, 18)`, `*` | none where there is no end | |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any, Literal

import pyarrow as pa

from tclose.data.encode.labels import ANYTHING, DASH, INFINITE, INTERVAL, PERIOD, SIDE
from tclose.plain import exact

End = Literal["low", "high", "midpoint"]
ENDS: tuple[End, ...] = ("low", "high", "midpoint")
DIGITS = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?$")
LARGEST = 2**63
Position = Fraction | datetime
Pair = tuple[Position | None, Position | None]


@dataclass(frozen=True)
class Ranges:
    """The ends of each of some released values, of one type; None where there is no end."""

    low: pa.Array
    high: pa.Array
    midpoint: pa.Array
    closed: Literal["both", "left", "right", "neither"] | None
    """Which ends belong to the ranges; None where they differ in that."""


def read_ranges(labels: Sequence[str | None]) -> Ranges | None:
    """The ranges that released values are; None where one of them is none, or all are missing.

    >>> found = read_ranges(["[25, 37]", "40", "*", None])
    >>> found.low.to_pylist(), found.midpoint.to_pylist()
    ([25, 40, None, None], [31.0, 40.0, None, None])
    >>> read_ranges(["2021-02", "2021"]).high.to_pylist()
    [datetime.date(2021, 2, 28), datetime.date(2021, 12, 31)]
    """
    known = [label for label in labels if label is not None and label != ANYTHING]
    readers: tuple[Callable[[str], Any], ...] = (_read_number, _read_date)
    for read in readers:
        found = {label: _read_pair(label, read) for label in known}
        pairs = [pair for pair in found.values() if pair is not None]
        if pairs and len(pairs) == len(found):
            ends = [found.get(label or "") or (None, None) for label in labels]
            return _make_arrays(ends, _find_closed(known))
    return None


def _read_number(text: str) -> tuple[Fraction, Fraction] | None:
    """A number as both ends of itself; one with leading zeros is a code."""
    if not DIGITS.match(text):
        return None
    number = exact(text)
    return (number, number) if abs(number) < LARGEST else None


def _read_date(text: str) -> tuple[datetime, datetime] | None:
    """A moment as both ends of itself; a month, quarter or some years by their first and last day.

    >>> _read_date("2020-Q4")[1].date()
    datetime.date(2020, 12, 31)
    """
    try:
        if found := PERIOD.match(text):
            year, month, quarter, until, decade = found.groups()
            first, months = date(int(year or decade), 1, 1), 120 if decade else 12
            if until:
                months = 12 * (int(until) - first.year + 1)
            if month or quarter:
                first = first.replace(month=int(month or 3 * int(quarter) - 2))
                months = 1 if month else 3
            after = first.year * 12 + first.month - 1 + months
            last = date(after // 12, after % 12 + 1, 1) - timedelta(days=1)
            low, high = (datetime(day.year, day.month, day.day) for day in (first, last))
            return low, high
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if moment.tzinfo is not None else (moment, moment)


def _read_pair(label: str, read: Callable[[str], Any]) -> Pair | None:
    """The ends of one released value, read as numbers or as dates; None where it is no range."""
    if (own := read(label)) is not None:
        low, high = own
        return low, high
    if (found := INTERVAL.match(label)) is not None:
        ends = [read(text) for text in found.group(2, 3)]
        if any(end is None and found[at] not in INFINITE for at, end in enumerate(ends, start=2)):
            return None
        return (ends[0] and ends[0][0], ends[1] and ends[1][1])
    if (found := DASH.match(label)) is not None:
        ends = [read(found[at]) for at in (1, 2)]
        return None if None in ends else (ends[0][0], ends[1][1])
    if (found := SIDE.match(label)) is not None and (end := read(found[2])) is not None:
        return (end[0], None) if found[1] in (">=", "≥", ">") else (None, end[1])
    return None


def _find_closed(labels: Sequence[str]) -> Literal["both", "left", "right", "neither"] | None:
    marks = {found.group(1, 4) if (found := INTERVAL.match(label)) else "[]" for label in labels}
    kinds = {"".join(mark) for mark in marks}
    names: dict[str, Literal["both", "left", "right", "neither"]] = {
        "[]": "both", "[)": "left", "(]": "right", "()": "neither",
    }  # fmt: skip
    return names[kinds.pop()] if len(kinds) == 1 else None


def _make_arrays(
    ends: Sequence[Pair], closed: Literal["both", "left", "right", "neither"] | None
) -> Ranges:
    low: list[Any]
    high: list[Any]
    known = [end for pair in ends for end in pair if end is not None]
    if all(isinstance(end, datetime) for end in known):
        days = all(end.time() == datetime.min.time() for end in known if isinstance(end, datetime))
        kind = middle = pa.date32() if days else pa.timestamp("us")
        low, high = ([pair[at] for pair in ends] for at in (0, 1))
    else:
        whole = all(isinstance(end, Fraction) and end.denominator == 1 for end in known)
        kind, middle = pa.int64() if whole else pa.float64(), pa.float64()
        low, high = ([_plain(pair[at], whole=whole) for pair in ends] for at in (0, 1))
    midpoints = [_find_middle(*pair) for pair in ends]
    return Ranges(pa.array(low, kind), pa.array(high, kind), pa.array(midpoints, middle), closed)


def _plain(end: Position | None, *, whole: bool) -> int | float | None:
    assert not isinstance(end, datetime)
    return None if end is None else int(end) if whole else float(end)


def _find_middle(low: Position | None, high: Position | None) -> float | datetime | None:
    if isinstance(low, datetime) and isinstance(high, datetime):
        return low + (high - low) / 2
    if isinstance(low, Fraction) and isinstance(high, Fraction):
        return float((low + high) / 2)
    return None


def count_differing(ranges: Ranges | None, end: End, values: pa.ChunkedArray) -> int:
    """The number of values that differ from that end of their range.

    >>> count_differing(read_ranges(["[25, 37]", "40"]), "low", pa.chunked_array([["25", "41"]]))
    1
    """
    if ranges is None:
        return int(len(values) - values.null_count)
    expected: pa.Array = getattr(ranges, end)
    kind = pa.float64() if pa.types.is_integer(expected.type) else expected.type
    try:
        given = values.cast(kind).to_pylist()
    except pa.ArrowException:
        return len(values)
    own = expected.cast(kind).to_pylist()
    return sum(bool(a != b) for a, b in zip(given, own, strict=True))
