"""What `init` looks at to suggest roles: counts and kinds of each column, never its values."""

from __future__ import annotations

from dataclasses import dataclass

from tclose.errors import DataError
from tclose.policy.draft import Profile
from tclose.table.source import Source, quoted

MANY = 2_000_000
WIDE = 200
AT_ONCE = 100
SHORTEST_CODE = 4


@dataclass(frozen=True)
class _Counts:
    missing: int
    distinct: int
    numbers: int
    dates: int
    digits: int
    padded: int
    shortest: int
    longest: int


def profiles(source: Source) -> list[Profile]:
    """One profile per column, from one pass over the table for every few columns.

    >>> from tclose.table.source import open_source
    >>> import pyarrow as pa
    >>> [p.kind for p in profiles(open_source(pa.table({"zip": ["0123", "0456"], "n": [1, 2]})))]
    ['code', 'number']
    """
    if source.rows == 0:
        raise DataError(
            "the table has no rows",
            where=source.name,
            hint="it needs at least one row below the header",
        )
    plain = [name for name in source.columns if source.is_scalar(name)]
    counted: dict[str, _Counts] = {}
    for at in range(0, len(plain), AT_ONCE):
        names = plain[at : at + AT_ONCE]
        row = source.single_row(", ".join(_query(source, name) for name in names))
        values = [int(value or 0) for value in row]
        width = len(values) // len(names)
        counted |= {
            name: _Counts(*values[i * width : (i + 1) * width]) for i, name in enumerate(names)
        }
    return [_profile(source, name, counted.get(name)) for name in source.columns]


def _profile(source: Source, name: str, counts: _Counts | None) -> Profile:
    if counts is None:
        return Profile(name, "nested", source.rows, 0, 0)
    kind = _kind(source.types[name], counts, source.rows - counts.missing)
    return Profile(name, kind, source.rows, counts.distinct, counts.missing)


def _query(source: Source, name: str) -> str:
    column = quoted(name)
    text = f"CAST({column} AS VARCHAR)"
    different = f"count(DISTINCT {column})"
    if source.rows > MANY or len(source.columns) > WIDE:
        different = f"approx_count_distinct({column})"
    return (
        f"count(*) - count({column}), {different}, "
        f"count(TRY_CAST({text} AS DOUBLE)), count(TRY_CAST({text} AS TIMESTAMP)), "
        f"count_if(regexp_full_match({text}, '[0-9]+')), count_if({text} LIKE '0_%'), "
        f"min(length({text})), max(length({text}))"
    )


def _kind(declared: str, counts: _Counts, known: int) -> str:
    """number, date, code (digits of one length, perhaps a postcode, too long for ages) or text."""
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
