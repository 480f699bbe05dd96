"""What the values of a column look like: addresses, telephone numbers, names, free text.

The patterns are those of the common written forms; they find what should not be passed on by
accident, and cannot prove that a column is harmless. Nothing here returns a value.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.source import ROWS, Source
from tclose.errors import DataError
from tclose.policy.model import Column, Policy

SAMPLE = 10_000
"""Rows that are looked at."""
LONGEST = 300
"""Characters of a value that are looked at."""
FEWEST = 20
"""Values from which on a share says something."""
MOSTLY = 0.9
FREE_TEXT_WORDS = 5.0

EMAIL = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+")
TELEPHONE = re.compile(
    r"(?<![\w.,-])(\+\d{1,3}([ ()/.-]{0,2}\d{2,8}){2,5}|\(?\d{2,5}\)?([ ()/.-]{1,2}\d{2,8}){2,5})"
    r"(?![\w-])"
)
GROUPED_NUMBER = re.compile(r"\d{1,3}([ ,.]\d{3})+([.,]\d+)?")
ADDRESS_OF_WEB = re.compile(r"https?://\S+", re.IGNORECASE)
ADDRESS_OF_MACHINE = re.compile(r"(?<![\d.])(\d{1,3}\.){3}\d{1,3}(?![\d.])")
IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
NATIONAL_ID = re.compile(
    r"(?<![\w-])(\d{3}-\d{2}-\d{4}|756\.\d{4}\.\d{4}\.\d{2}|\d{6}[-+]\d{4}|\d{8}-?[A-HJ-NP-TV-Z])"
    r"(?![\w-])"
)
DATE = re.compile(r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})(\D.*)?$")
NAME = re.compile(
    r"[^\W\d_a-z][^\W\d_]+(?:, ?| |-| [^\W\d_]\. ?)[^\W\d_a-z][^\W\d_]+(?: [^\W\d_]+)?"
)


def has_iban(text: str) -> bool:
    """Whether an account number with right check digits is in the text.

    >>> has_iban("DE89 3704 0044 0532 0130 00"), has_iban("DE88 3704 0044 0532 0130 00")
    (True, False)
    """
    for found in IBAN.finditer(text):
        number = found[0].replace(" ", "")
        digits = "".join(str(int(letter, 36)) for letter in number[4:] + number[:4])
        if int(digits) % 97 == 1:
            return True
    return False


def has_telephone(text: str) -> bool:
    """Whether a telephone number is in the text; a date is none, nor a number of thousands.

    >>> [has_telephone(text) for text in ("call 0171 555 12 34", "2023-01-24", "1 234 567")]
    [True, False, False]
    """
    if DATE.match(text) or GROUPED_NUMBER.fullmatch(text.strip()) or NATIONAL_ID.search(text):
        return False
    return any(
        sum(letter.isdigit() for letter in found[0]) >= 7 for found in TELEPHONE.finditer(text)
    )


ANYWHERE: dict[str, Callable[[str], object]] = {
    "e-mail addresses": lambda text: "@" in text and EMAIL.search(text),
    "account numbers (IBAN)": has_iban,
    "national identity numbers": NATIONAL_ID.search,
    "telephone numbers": has_telephone,
    "web addresses": ADDRESS_OF_WEB.search,
    "addresses of machines (IP)": ADDRESS_OF_MACHINE.search,
}
"""What is found also within longer texts."""


@dataclass(frozen=True)
class ColumnPattern:
    """What values of a column look like, and how many of them."""

    kind: str
    share: float
    """Of the values that are not missing."""

    def __str__(self) -> str:
        if self.share >= 1:
            return self.kind
        percent = "under 1" if self.share < 0.01 else f"{100 * self.share:.0f}"
        return f"{self.kind} in {percent} % of its values"


def find_patterns(values: Sequence[str]) -> list[ColumnPattern]:
    """What texts look like that should not be released by accident.

    >>> print(*find_patterns(["ask ann@example.org", "none"]))
    e-mail addresses in 50 % of its values
    """
    if not values:
        return []
    found = []
    occurrences = Counter(values)
    for kind, test in ANYWHERE.items():
        rows = sum(count for value, count in occurrences.items() if test(value))
        if rows:
            found.append(ColumnPattern(kind, rows / len(values)))
    distinct = len(occurrences) / len(values)
    if len(values) >= FEWEST and distinct > 0.2:
        words = sum(len(value.split()) for value in values) / len(values)
        named = sum(NAME.fullmatch(value.strip()) is not None for value in values) / len(values)
        if words >= FREE_TEXT_WORDS:
            found.append(ColumnPattern("free text", 1.0))
        elif named > MOSTLY and distinct > 0.5:
            found.append(ColumnPattern("names of people", named))
    return found


def is_nearly_unique(values: pa.Array | pa.ChunkedArray) -> bool:
    """Whether nearly every value occurs once, so that it finds a row again.

    >>> is_nearly_unique(pa.array(range(100))), is_nearly_unique(pa.array([1, 2] * 50))
    (True, False)
    """
    known = int(len(values) - values.null_count)
    try:
        distinct = int(pc.count_distinct(values).as_py())
    except pa.ArrowNotImplementedError:  # decimals of many digits, and the like
        return False
    return known >= FEWEST and distinct > MOSTLY * known


def _as_text(values: pa.ChunkedArray) -> tuple[bool, pa.ChunkedArray]:
    """Whether a column holds texts, and the column with those written out."""
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if kind in (pa.string(), pa.large_string(), pa.string_view()):
        return True, values.cast(kind).cast(pa.large_string())
    return False, values


def describe_exposed(policy: Policy, source: Source) -> tuple[str, ...]:
    """What a release of the table shows of its columns as they are, unless the policy accepts it.

    Identifiers are not released; values of quasi-identifiers are told one by one in sets, unless a
    hierarchy generalizes them.
    """
    shown = [
        name
        for name, column in policy.columns.items()
        if name in source.columns
        and column.accept is None
        and (column.role in ("sensitive", "insensitive") or _is_told_in_sets(column))
        and source.is_scalar(name)
    ]
    if not shown:
        return ()
    warnings = []
    for name, values in sample_columns(source, shown).items():
        is_text, values = _as_text(values)
        texts = [value[:LONGEST] for value in values.to_pylist() if value] if is_text else []
        told = [str(pattern) for pattern in find_patterns(texts)]
        if is_nearly_unique(values) and policy.columns[name].role != "quasi":
            told.append("nearly every value occurs once, so it finds a person again")
        if told:
            how = "told in sets" if policy.columns[name].role == "quasi" else "released as they are"
            warnings.append(
                f"values of column {name!r} are {how}: {'; '.join(told)}. Make it an identifier, "
                'or say why it may be released: accept = "…"'
            )
    return tuple(warnings)


def _is_told_in_sets(column: Column) -> bool:
    return column.role == "quasi" and column.hierarchy is None


def sample_columns(source: Source, columns: Sequence[str]) -> dict[str, pa.ChunkedArray]:
    """The first rows of some columns; of a table that cannot be read by rows, common values."""
    try:
        rows = source.stream()
        parts, n_rows = [], 0
        for batch in rows.batches():
            parts.append(batch.slice(0, SAMPLE - n_rows))
            n_rows += parts[-1].num_rows
            if n_rows >= SAMPLE:
                break
        table = pa.Table.from_batches(parts, rows.schema)
        return {name: table.column(name) for name in columns}
    except DataError:
        return {name: _sample_values(source, name) for name in columns}


def _sample_values(source: Source, column: str) -> pa.ChunkedArray:
    try:
        counted = source.group([column]).sort_by([(ROWS, "descending")])
    except DataError:  # values that only their database knows
        return pa.chunked_array([], pa.null())
    row = np.repeat(np.arange(counted.num_rows), counted.column(ROWS).to_numpy())
    return counted.column(column).take(pa.array(row[:SAMPLE]))
