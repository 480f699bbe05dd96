"""The facts from which `init` suggests roles: counts, kinds and forms of columns, never a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import pyarrow as pa

from tclose.data.dates import find_date_formats, list_dates
from tclose.data.encode.columns import as_text
from tclose.data.engines.duckdb.source import DuckSource, quote_text
from tclose.data.engines.frames.source import SmallFrame, open_arrow_table
from tclose.data.recognize import (
    LONGEST,
    MOSTLY,
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
from tclose.policy.cleaning import AMOUNTS, DecimalMark, read_amount
from tclose.policy.suggest import CODE, Profile, split_words

MANY = 2_000_000
WIDE = 200
AT_ONCE = 100
SHORTEST_CODE = 4
SPELLINGS = 1_000
"""Different texts of a column among which spellings are looked for."""


class _Counts(NamedTuple):
    """How many rows have no value, and how many one of each form or a mark of a missing one."""

    missing: int
    distinct: int
    numbers: int
    whole: int
    iso_dates: int
    first_form: int
    second_form: int
    digits: int
    padded: int
    shortest: int
    longest: int


@dataclass(frozen=True)
class _Forms:
    """The forms of values found in the first rows of a column."""

    looks: tuple[tuple[str, float], ...] = ()
    nulls: tuple[str, ...] = ()
    formats: tuple[tuple[str, ...], ...] = ()
    decimals: tuple[DecimalMark, ...] = ()
    span: tuple[float, float] | None = None
    spread: tuple[float, float] | None = None
    """The numbers between which nine tenths lie."""
    builtin: str = ""
    is_mostly: bool = False
    """Whether some values are no dates in these formats."""
    folded: int = 0
    """How many values are left once case and spaces around them are, if fewer."""
    folds_case: bool = True
    """Whether spaces alone leave more."""


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
    forms = {name: _look(values) for name, values in sample_columns(source, plain).items()}
    found: dict[str, Profile] = {}
    for at in range(0, len(plain), AT_ONCE):
        names = plain[at : at + AT_ONCE]
        if isinstance(source, DuckSource):
            found |= _profile(source, source, {name: forms[name] for name in names}, "1")
        else:
            for name in names:
                values = open_arrow_table(source.group([name]))
                found |= _profile(source, values, {name: forms[name]}, quote_name(ROWS))
    nested = {name: Profile(name, "nested", source.n_rows, 0, 0) for name in source.columns}
    return list((nested | found).values())


def _look(values: pa.ChunkedArray) -> _Forms:
    """Finds the forms of a column's values in its first rows."""
    if pa.types.is_temporal(values.type) or pa.types.is_boolean(values.type):
        return _Forms()
    texts = [as_text(value)[:LONGEST] for value in values.to_pylist() if value is not None]
    nulls = find_marks(texts)
    known = [text for text in texts if text not in nulls]
    numbers = sorted(float(n) for text in known if (n := read_number(text)) is not None)
    decimals = find_decimal_marks(known)
    if decimals and len(numbers) < len(known):
        read = (read_amount(text, decimals[0]) for text in known)
        numbers = sorted(float(text) for text in read if text is not None)
        codes = tuple((look.kind, look.share) for look in find_codes(known))
        ends = (numbers[0], numbers[-1])
        return _Forms(codes, nulls, (), decimals, ends, _find_spread(numbers))
    if numbers and len(numbers) == len(known):
        formats = find_date_formats(known) if len(known[0]) == len("20230124") else []
        codes = tuple((look.kind, look.share) for look in find_codes(known))
        both = decimals if len(decimals) > 1 else ()
        return _Forms(codes, nulls, tuple(formats), both, None, _find_spread(numbers))
    if formats := find_date_formats(known):
        return _Forms((), nulls, tuple(formats))
    if formats := find_date_formats(list_dates(known)):
        return _Forms((), nulls, tuple(formats), is_mostly=True)
    looks = [*find_patterns(known), *find_codes(known)]
    shares = tuple((look.kind, look.share) for look in looks)
    folded, folds_case = _count_folded(known)
    builtin = _find_builtin_list(known)
    return _Forms(shares, nulls, builtin=builtin, folded=folded, folds_case=folds_case)


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
    source: Source, values: DuckSource, forms: Mapping[str, _Forms], weight: str
) -> dict[str, Profile]:
    """Counts some columns in one query; `weight` is how many rows each of the values stands for."""
    guess = source.n_rows > MANY or len(source.columns) > WIDE
    asked = ", ".join(_query(name, form, weight, guess=guess) for name, form in forms.items())
    row = iter(values.single_row(asked))
    found = {}
    for name, form in forms.items():
        low, high = islice(row, 2)
        counts = _Counts(*(int(value or 0) for value in islice(row, len(_Counts._fields))))
        known = source.n_rows - counts.missing
        least = MOSTLY * known if form.is_mostly else known
        fits = [known > 0 and rows >= least for rows in (counts.first_form, counts.second_form)]
        formats = tuple(form for form, fit in zip(form.formats, fits, strict=False) if fit)
        unread = known - max(counts.first_form, counts.second_form) if formats else 0
        decimals = form.decimals if all(fits[: len(form.decimals)]) and not formats else ()
        is_code = counts.padded > 0 or CODE.search(split_words(name)) is not None
        kind = _kind(values.types[name], counts, known, formats, is_code=is_code)
        is_plain = kind == "number"
        if kind == "text" and decimals:
            kind = "number"
        needs_format = kind == "date" and counts.iso_dates < known
        has_unread = needs_format and form.is_mostly
        found[name] = Profile(
            name,
            kind,
            source.n_rows,
            counts.distinct,
            counts.missing,
            looks=form.looks,
            nulls=form.nulls,
            date_formats=formats if needs_format else (),
            decimals=decimals,
            span=(float(low), float(high)) if is_plain and low is not None else form.span,
            spread=form.spread,
            is_whole=counts.whole == known,
            is_finite=counts.numbers == known or values.types[name] not in ("FLOAT", "DOUBLE"),
            unread=unread if has_unread else 0,
            folded=form.folded if kind == "text" else 0,
            folds_case=form.folds_case,
            builtin=form.builtin,
        )
    return found


def _query(name: str, form: _Forms, weight: str, *, guess: bool) -> str:
    column = quote_name(name)
    text = f"CAST({column} AS VARCHAR)"
    marks = ", ".join(map(quote_text, form.nulls)) or "NULL"
    number = f"CASE WHEN {text} NOT IN ({marks}) THEN TRY_CAST({text} AS DOUBLE) END"
    if not form.nulls:
        number = f"TRY_CAST({text} AS DOUBLE)"
    distinct = f"approx_count_distinct({column})" if guess else f"count(DISTINCT {column})"
    orders = [", ".join(map(quote_text, order)) for order in form.formats]
    # The engine also takes years of two digits, which Python does not.
    year = f"regexp_matches({text}, '[0-9]{{4}}')"
    read = [
        f"{year} AND try_strptime(trim({text}), [{order}]) IS NOT NULL" for order in orders
    ] or [f"regexp_full_match(trim({text}), {quote_text(AMOUNTS[mark])})" for mark in form.decimals]
    counted = (
        f"NOT isinf({number})",
        f"regexp_full_match({text}, '[+-]?[0-9]+')",
        f"regexp_full_match({text}, '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([T ].*)?') "
        f"AND TRY_CAST({text} AS TIMESTAMP) IS NOT NULL",
        *read,
        *["FALSE"] * (2 - len(read)),
    )
    either = f" OR {text} IN ({marks})" if form.nulls else ""
    sums = [
        f"sum({weight}) FILTER (WHERE {condition})"
        for condition in (
            f"{column} IS NULL",
            *(f"{condition}{either}" for condition in counted),
            f"regexp_full_match({text}, '[0-9]+'){either}",
            f"{text} LIKE '0_%'",
        )
    ]
    known = f"FILTER (WHERE {text} NOT IN ({marks}))" if form.nulls else ""
    ends = (f"{end}({number}) FILTER (WHERE isfinite({number}))" for end in ("min", "max"))
    lengths = (f"{end}(length({text})) {known}" for end in ("min", "max"))
    return ", ".join([*ends, sums[0], distinct, *sums[1:], *lengths])


def _kind(
    declared: str, counts: _Counts, known: int, formats: Sequence[tuple[str, ...]], *, is_code: bool
) -> str:
    """number, date, text, or code: digits of one length that are no amount, such as postcodes.

    `is_code` says that some begin with a zero, or that the column is named after codes. Years and
    salaries are digits of one length as well.
    """
    if declared.startswith(("DATE", "TIMESTAMP")):
        return "date"
    if not declared.startswith(("VARCHAR", "ENUM")):
        return "text" if declared.startswith(("BOOLEAN", "UUID")) else "number"
    if known == 0:
        return "text"
    if formats or counts.iso_dates == known:
        return "date"
    if counts.numbers == known:
        even = counts.digits == known and counts.shortest == counts.longest
        long_enough = counts.padded > 0 or counts.shortest >= SHORTEST_CODE
        return "code" if even and long_enough and is_code else "number"
    return "text"
