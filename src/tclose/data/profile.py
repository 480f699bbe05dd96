"""What `init` looks at to suggest roles: counts and kinds of each column, never its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tclose.data.engines.duckdb.source import DuckSource
from tclose.data.engines.frames.source import open_frame
from tclose.data.source import ROWS, Source, quote_name
from tclose.errors import DataError
from tclose.policy.draft import Profile

MANY = 2_000_000
WIDE = 200
AT_ONCE = 100
SHORTEST_CODE = 4


@dataclass(frozen=True)
class _ColumnProfile:
    declared: str
    missing: int
    distinct: int
    numbers: int
    dates: int
    digits: int
    padded: int
    shortest: int
    longest: int


def profile_columns(source: Source) -> list[Profile]:
    """One profile per column, from one pass over the table for every few columns.

    >>> from tclose.data.binding import open_source
    >>> import pyarrow as pa
    >>> table = pa.table({"zip": ["0123", "0456"], "n": [1, 2]})
    >>> [column.kind for column in profile_columns(open_source(table))]
    ['code', 'number']
    """
    if source.n_rows == 0:
        raise DataError(
            "the table has no rows",
            where=source.name,
            hint="it needs at least one row below the header",
        )
    plain = [name for name in source.columns if source.is_scalar(name)]
    counted: dict[str, _ColumnProfile] = {}
    for at in range(0, len(plain), AT_ONCE):
        names = plain[at : at + AT_ONCE]
        if isinstance(source, DuckSource):
            counted |= _count(source, source, names, "1")
        else:
            for name in names:
                values = open_frame(source.group([name]))
                counted |= _count(source, values, [name], quote_name(ROWS))
    return [_profile(source, name, counted.get(name)) for name in source.columns]


def _count(
    source: Source, values: DuckSource, names: Sequence[str], weight: str
) -> dict[str, _ColumnProfile]:
    """Counts some columns, whose values stand for as many rows as the weight says."""
    guess = source.n_rows > MANY or len(source.columns) > WIDE
    row = values.single_row(", ".join(_query(name, weight, guess=guess) for name in names))
    numbers = [int(value or 0) for value in row]
    width = len(numbers) // len(names)
    return {
        name: _ColumnProfile(values.types[name], *numbers[i * width : (i + 1) * width])
        for i, name in enumerate(names)
    }


def _profile(source: Source, name: str, counts: _ColumnProfile | None) -> Profile:
    if counts is None:
        return Profile(name, "nested", source.n_rows, 0, 0)
    kind = _kind(counts, source.n_rows - counts.missing)
    return Profile(name, kind, source.n_rows, counts.distinct, counts.missing)


def _query(name: str, weight: str, *, guess: bool) -> str:
    column = quote_name(name)
    text = f"CAST({column} AS VARCHAR)"
    different = "approx_count_distinct" if guess else "count"
    distinct = f"{different}({'' if guess else 'DISTINCT '}{column})"
    conditions = (
        f"TRY_CAST({text} AS DOUBLE) IS NOT NULL",
        f"TRY_CAST({text} AS TIMESTAMP) IS NOT NULL",
        f"regexp_full_match({text}, '[0-9]+')",
        f"{text} LIKE '0_%'",
    )
    rows = [
        f"sum({weight}) FILTER (WHERE {condition})"
        for condition in (f"{column} IS NULL", *conditions)
    ]
    lengths = (f"min(length({text}))", f"max(length({text}))")
    return ", ".join([rows[0], distinct, *rows[1:], *lengths])


def _kind(counts: _ColumnProfile, known: int) -> str:
    """number, date, code (digits of one length, perhaps a postcode, too long for ages) or text."""
    declared = counts.declared
    if declared.startswith(("DATE", "TIMESTAMP")):
        return "date"
    if not declared.startswith(("VARCHAR", "ENUM")):
        return "text" if declared.startswith(("BOOLEAN", "UUID")) else "number"
    if known == 0:
        return "text"
    if counts.numbers == known:
        even = counts.digits == known and counts.shortest == counts.longest
        return "code" if even and (counts.padded or counts.shortest >= SHORTEST_CODE) else "number"
    return "date" if counts.dates == known else "text"
