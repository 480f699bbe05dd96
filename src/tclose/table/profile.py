"""What `init` looks at to suggest roles: counts and kinds of each column, never its values."""

from __future__ import annotations

from dataclasses import dataclass

from tclose.errors import DataError
from tclose.policy.draft import Profile
from tclose.table.source import Source, quoted

MANY = 2_000_000


@dataclass(frozen=True)
class _Counts:
    missing: int
    distinct: int
    not_number: int
    not_date: int
    shortest: int
    longest: int


def profiles(source: Source) -> list[Profile]:
    """One profile per column, from one pass over the table.

    >>> from tclose.table.source import open_source
    >>> import pyarrow as pa
    >>> [p.kind for p in profiles(open_source(pa.table({"zip": ["01", "02"], "n": [1, 2]})))]
    ['code', 'number']
    """
    if source.rows == 0:
        raise DataError("the table has no rows", where=source.name, hint="nothing to look at")
    return [_profile(source, name) for name in source.columns]


def _profile(source: Source, name: str) -> Profile:
    if not source.is_scalar(name):
        return Profile(name, "nested", source.rows, 0, 0)
    counts = _count(source, name)
    return Profile(
        name, _kind(source.types[name], counts), source.rows, counts.distinct, counts.missing
    )


def _count(source: Source, name: str) -> _Counts:
    column = quoted(name)
    text = f"CAST({column} AS VARCHAR)"
    different = f"count(DISTINCT {column})"
    if source.rows > MANY:
        different = f"approx_count_distinct({column})"
    query = (
        f"count(*) - count({column}), {different}, "
        f"count({column}) FILTER (TRY_CAST({text} AS DOUBLE) IS NULL), "
        f"count({column}) FILTER (TRY_CAST({text} AS TIMESTAMP) IS NULL), "
        f"min(length({text})), max(length({text}))"
    )
    row = source.single_row(query)
    return _Counts(*(int(value or 0) for value in row))


def _kind(declared: str, counts: _Counts) -> str:
    """number, date, code (digits of one length, perhaps a postcode) or text."""
    if declared.startswith(("DATE", "TIMESTAMP")):
        return "date"
    if not declared.startswith(("VARCHAR", "ENUM")):
        return "text" if declared.startswith(("BOOLEAN", "UUID")) else "number"
    if counts.not_number == 0:
        return "code" if counts.shortest == counts.longest and counts.shortest > 1 else "number"
    return "date" if counts.not_date == 0 else "text"
