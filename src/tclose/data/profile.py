"""The facts from which `init` suggests roles: counts, kinds and forms of columns, never a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from tclose.data.dates import find_date_formats, list_dates
from tclose.data.encode.columns import as_text
from tclose.data.engines.duckdb.source import DuckSource, quote_text
from tclose.data.engines.frames.source import SmallFrame, open_arrow_table
from tclose.data.recognize import (
    LONGEST,
    MOSTLY,
    ColumnPattern,
    find_codes,
    find_decimal_marks,
    find_marks,
    find_patterns,
    sample_columns,
)
from tclose.data.source import ROWS, Source, quote_name
from tclose.errors import DataError
from tclose.hierarchy.build import read_number
from tclose.hierarchy.builtin import find_builtin
from tclose.policy.cleaning import AMOUNTS, read_amount
from tclose.policy.suggest import CODE, Profile

MANY = 2_000_000
WIDE = 200
AT_ONCE = 100
SHORTEST_CODE = 4
SPELLINGS = 1_000
"""Different texts of a column among which spellings are looked for."""


def profile_columns(source: Source) -> list[Profile]:
    """One profile per column, from one pass over the table for every few columns.

    >>> from tclose.data.opening import open_source
    >>> import pyarrow as pa
    >>> table = pa.table({"zip": ["0123", "0456"], "n": [1, 2]})
    >>> [column.kind for column in profile_columns(open_source(table))]
    ['code', 'number']
    """
    if isinstance(source, SmallFrame):
        source = source.engine
    if source.n_rows == 0:
        what = "the table has no rows"
        raise DataError(what, where=source.name, hint="it needs at least one row below the header")
    plain = [name for name in source.columns if source.is_scalar(name)]
    looks = {name: _look(name, values) for name, values in sample_columns(source, plain).items()}
    found: dict[str, Profile] = {}
    for at in range(0, len(plain), AT_ONCE):
        names = plain[at : at + AT_ONCE]
        if isinstance(source, DuckSource):
            found |= _profile(source, source, [looks[name] for name in names], "1")
        else:
            for name in names:
                values = open_arrow_table(source.group([name]))
                found |= _profile(source, values, [looks[name]], quote_name(ROWS))
    nested = {name: Profile(name, "nested", source.n_rows, 0, 0) for name in source.columns}
    return list((nested | found).values())


def _look(name: str, values: pa.ChunkedArray) -> Profile:
    """The forms of a column's values in its first rows; nothing is counted yet.

    Of dates, `unread` values of these rows are of another form; of texts, `folded` is also said of
    codes and the like.
    """
    found = Profile(name, "text", 0, 0, 0)
    if pa.types.is_temporal(values.type) or pa.types.is_boolean(values.type):
        return found
    texts = [as_text(value)[:LONGEST] for value in values.to_pylist() if value is not None]
    nulls = find_marks(texts)
    known = [text for text in texts if text not in nulls]
    found = replace(found, nulls=nulls)
    numbers = sorted(float(n) for text in known if (n := read_number(text)) is not None)
    decimals = find_decimal_marks(known)
    if decimals and len(numbers) < len(known):
        read = (read_amount(text, decimals[0]) for text in known)
        numbers = sorted(float(text) for text in read if text is not None)
        ends, spread = (numbers[0], numbers[-1]), _find_spread(numbers)
        return replace(
            found, looks=_share(find_codes(known)), decimals=decimals, span=ends, spread=spread
        )
    if numbers and len(numbers) == len(known):
        formats = find_date_formats(known) if len(known[0]) == len("20230124") else []
        return replace(
            found,
            looks=_share(find_codes(known)),
            date_formats=tuple(formats),
            decimals=decimals if len(decimals) > 1 else (),
            spread=_find_spread(numbers),
        )
    for dates in (known, list_dates(known)):
        if formats := find_date_formats(dates):
            return replace(found, date_formats=tuple(formats), unread=len(known) - len(dates))
    folded, folds_case = _count_folded(known)
    return replace(
        found,
        looks=_share([*find_patterns(known), *find_codes(known)]),
        builtin=_find_builtin_list(known),
        folded=folded,
        folds_case=folds_case,
    )


def _share(patterns: Sequence[ColumnPattern]) -> tuple[tuple[str, float], ...]:
    return tuple((pattern.kind, pattern.share) for pattern in patterns)


def _count_folded(texts: Sequence[str]) -> tuple[int, bool]:
    """How many of a few different texts are left once case and spaces around them are (0: all), and
    whether spaces alone leave more."""
    different = set(texts)
    if len(different) > SPELLINGS:
        return 0, True
    folded = len({text.strip().lower() for text in different})
    trimmed = len({text.strip() for text in different})
    return (folded if folded < len(different) else 0), folded < trimmed


def _find_spread(numbers: Sequence[float]) -> tuple[float, float]:
    tail = len(numbers) // 20
    return numbers[tail], numbers[-1 - tail]


def _find_builtin_list(texts: Sequence[str]) -> str:
    """The built-in list that knows nearly all of a few words."""
    words = {text for text in texts if len(text) > 2}
    for name in ("countries", "education", "occupation"):
        climb = find_builtin(name).climb
        known = sum(climb(word) is not None for word in words)
        if len(words) > 2 and known > 0.8 * len(words):
            return name
    return ""


def _profile(
    source: Source, values: DuckSource, looks: Sequence[Profile], weight: str
) -> dict[str, Profile]:
    """Counts some columns in one query; `weight` is how many rows each of the values stands for."""
    guess = source.n_rows > MANY or len(source.columns) > WIDE
    queries = [_query(look, weight, guess=guess) for look in looks]
    row = iter(values.single_row(", ".join(sql for query in queries for sql in query.values())))
    found = {}
    for look, query in zip(looks, queries, strict=True):
        counted = {key: next(row) for key in query}
        low, high = counted.pop("low"), counted.pop("high")
        counts = {key: int(value or 0) for key, value in counted.items()}
        known = counts["known"] = source.n_rows - counts["missing"]
        least = MOSTLY * known if look.unread else known
        forms = (counts["first_form"], counts["second_form"])
        fits = [known > 0 and rows >= least for rows in forms]
        formats = tuple(form for form, fit in zip(look.date_formats, fits, strict=False) if fit)
        decimals = look.decimals if all(fits[: len(look.decimals)]) and not formats else ()
        is_code = counts["padded"] > 0 or CODE.search(look.words) is not None
        declared = values.types[look.name]
        kind = _kind(declared, counts, formats, is_code=is_code)
        has_span = kind == "number" and low is not None
        others = known - counts["numbers"]
        if kind == "text" and decimals:
            kind = "number"
        needs_format = kind == "date" and counts["iso_dates"] < known
        found[look.name] = replace(
            look,
            kind=kind,
            rows=source.n_rows,
            distinct=counts["distinct"],
            missing=counts["missing"],
            date_formats=formats if needs_format else (),
            decimals=decimals,
            span=(float(low), float(high)) if has_span else look.span,
            is_whole=counts["whole"] == known,
            is_finite=counts["numbers"] == known or declared not in ("FLOAT", "DOUBLE"),
            unread=known - max(forms) if look.unread and formats and needs_format else 0,
            no_numbers=others if kind == "text" and others <= (1 - MOSTLY) * known else 0,
            folded=look.folded if kind == "text" else 0,
        )
    return found


def _query(look: Profile, weight: str, *, guess: bool) -> dict[str, str]:
    """What is asked about a column: the rows of each form, or with a mark of a missing value."""
    column = quote_name(look.name)
    text = f"CAST({column} AS VARCHAR)"
    marks = ", ".join(map(quote_text, look.nulls))
    number = f"TRY_CAST({text} AS DOUBLE)"
    either, known = "", ""
    if marks:
        number = f"CASE WHEN {text} NOT IN ({marks}) THEN {number} END"
        either, known = f" OR {text} IN ({marks})", f"FILTER (WHERE {text} NOT IN ({marks}))"
    orders = [", ".join(map(quote_text, order)) for order in look.date_formats]
    # The engine also takes years of two digits, which Python does not.
    year = f"regexp_matches({text}, '[0-9]{{4}}')"
    read = [
        f"{year} AND try_strptime(trim({text}), [{order}]) IS NOT NULL" for order in orders
    ] or [f"regexp_full_match(trim({text}), {quote_text(AMOUNTS[mark])})" for mark in look.decimals]
    first, second = [*read, "FALSE", "FALSE"][:2]
    is_iso = f"regexp_full_match({text}, '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([T ].*)?')"
    forms = {
        "numbers": f"NOT isinf({number})",
        "whole": f"regexp_full_match({text}, '[+-]?[0-9]+')",
        "iso_dates": f"{is_iso} AND TRY_CAST({text} AS TIMESTAMP) IS NOT NULL",
        "first_form": first,
        "second_form": second,
        "digits": f"regexp_full_match({text}, '[0-9]+')",
    }
    rows = {
        "missing": f"{column} IS NULL",
        **{key: f"{form}{either}" for key, form in forms.items()},
        "padded": f"{text} LIKE '0_%'",
    }
    return {
        "low": f"min({number}) FILTER (WHERE isfinite({number}))",
        "high": f"max({number}) FILTER (WHERE isfinite({number}))",
        "distinct": f"approx_count_distinct({column})" if guess else f"count(DISTINCT {column})",
        **{key: f"sum({weight}) FILTER (WHERE {which})" for key, which in rows.items()},
        "shortest": f"min(length({text})) {known}",
        "longest": f"max(length({text})) {known}",
    }


def _kind(
    declared: str, counts: Mapping[str, int], formats: Sequence[tuple[str, ...]], *, is_code: bool
) -> str:
    """number, date, text, or code: digits of one length that are no amount, such as postcodes.

    `is_code` says that some begin with a zero, or that the column is named after codes. Years and
    salaries are digits of one length as well.
    """
    if declared.startswith(("DATE", "TIMESTAMP")):
        return "date"
    if not declared.startswith(("VARCHAR", "ENUM")):
        return "text" if declared.startswith(("BOOLEAN", "UUID")) else "number"
    known = counts["known"]
    if known == 0:
        return "text"
    if formats or counts["iso_dates"] == known:
        return "date"
    if counts["numbers"] == known:
        even = counts["digits"] == known and counts["shortest"] == counts["longest"]
        long_enough = counts["padded"] > 0 or counts["shortest"] >= SHORTEST_CODE
        return "code" if even and long_enough and is_code else "number"
    return "text"
