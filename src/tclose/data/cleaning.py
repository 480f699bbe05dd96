"""Cleans the values of a table as its policy says, in the same way on every engine.

The different values of a column are fetched once and cleaned here; then the engine itself puts each
in the place of what it was, so that whatever it counts, streams or rewrites is clean. `find_form`
says what clean values of a column look like.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.encode.columns import NUMBER
from tclose.data.encode.labels import find_first_day, is_label
from tclose.data.source import ROWS, VALUES, CleanedColumn, Source, plain_values
from tclose.errors import DataError, PolicyError, Problem, UsageError
from tclose.plain import rows_text
from tclose.policy.cleaning import ColumnCleaning
from tclose.policy.model import Policy

PLAIN = re.compile(r"[+-]?[0-9]+([.][0-9]+)?")
"""What amounts are written as once they are read."""
types = pa.types


def apply_cleanings(source: Source, policy: Policy) -> Source:
    """The table with its values cleaned as the policy says; as it is where that says nothing."""
    names = [name for name in policy.cleaned if name in source.columns and source.is_scalar(name)]
    rules = {name: policy.columns[name] for name in names}
    found = {name: _clean_column(source, name, rule) for name, rule in rules.items()}
    cleaned = {name: column for name, column in found.items() if column is not None}
    if not cleaned:
        return source
    notes = [
        _describe(name, rules[name], each) for name, each in cleaned.items() if each.changed_rows
    ]
    return replace(
        source.replace_values(cleaned),
        notes=(*source.notes, *notes),
        max_cells=source.max_cells,
        cleaned=cleaned,
        original=source,
    )


def _clean_column(source: Source, name: str, rule: ColumnCleaning) -> CleanedColumn | None:
    """The cleaned value of each distinct value of a column; None if its type needs no cleaning."""
    counted = source.with_room().group_within_limit([name])
    if counted is None:
        what = f"more than {VALUES:,} different values, too many to clean"
        hint = "clean the table beforehand, or round or shorten them there"
        raise DataError(what, where=f"column {name!r}", hint=hint)
    raw = plain_values(counted.column(name))
    clean = clean_values(raw, rule, name)
    if clean is None:
        return None
    changed = pa.array([True] * len(raw))
    if clean.type == raw.type:
        changed = pc.fill_null(pc.not_equal(raw, clean), pc.is_valid(raw))
    rows = pc.sum(pc.filter(counted.column(ROWS), pc.and_(changed, pc.is_valid(raw)))).as_py() or 0
    known = pc.is_valid(raw)
    return CleanedColumn(raw.filter(known), clean.filter(known), int(rows))


def clean_values(values: pa.Array, rule: ColumnCleaning, name: str) -> pa.Array | None:
    """The cleaned values of a column, of the same type except for ages; None if nothing applies.

    >>> rule = ColumnCleaning.model_validate({"clean": {"round": 100}})
    >>> clean_values(pa.array([149.5, None]), rule, "cost").to_pylist()
    [100.0, None]
    """
    kind = values.type
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    is_date = types.is_date(kind) or types.is_timestamp(kind)
    where = f"columns.{name}"
    if rule.clean is not None and not (types.is_string(kind) or is_number):
        what = f"values of type {kind} are not cleaned, only texts and numbers"
        raise UsageError(what, where=f"{where}.clean", hint="leave `clean` out there")
    if is_number and rule.clean is not None and (rule.clean.trim or rule.clean.case):
        what = "the column holds numbers, which have neither spaces nor case"
        raise UsageError(what, where=f"{where}.clean", hint="leave trim and case out")
    if rule.age_on and not (types.is_string(kind) or is_date):
        what = f"the column holds no dates of birth, but values of type {kind}"
        raise UsageError(what, where=f"{where}.age_on", hint="leave age_on out")
    if not (types.is_string(kind) or is_number or (is_date and rule.age_on)):
        return None
    try:
        found = [None if value is None else rule.clean_value(value) for value in values.to_pylist()]
        if is_date:
            ages = pa.array(found, pa.int64())
            return ages if rule.unreadable else _refuse_ageless(values, ages, where)
        if rule.unreadable and types.is_string(kind) and (form := find_form(rule)):
            found = [text if text is None or form.fits(text) else None for text in found]
        if rule.decimal and types.is_string(kind):
            found = _write_alike(found)
        return pa.array([_fit_type(value, kind) for value in found], kind)
    except (pa.ArrowException, ValueError, OverflowError):
        what = f"a cleaned value does not fit the column's type ({kind})"
        hint = "whole numbers stay whole: choose whole numbers to round to, and as replacements"
        raise UsageError(what, where=f"{where}.clean", hint=hint) from None


def _write_alike(texts: list[str | None]) -> list[str | None]:
    """Writes equal numbers alike, with the most decimals that one of them has: 1.5 as 1.50.

    >>> _write_alike(["1.5", "1.50", "2", None, "n.d."])
    ['1.50', '1.50', '2', None, 'n.d.']
    """
    longest: dict[Fraction, str] = {}
    numbers = [
        Fraction(text) if text is not None and PLAIN.fullmatch(text) else None for text in texts
    ]
    for number, text in zip(numbers, texts, strict=True):
        if number is not None and text is not None:
            longest[number] = max(longest.get(number, ""), text, key=lambda each: (len(each), each))
    return [
        text if number is None else longest[number]
        for number, text in zip(numbers, texts, strict=True)
    ]


def _refuse_ageless(dates: pa.Array, ages: pa.Array, where: str) -> pa.Array:
    """The ages; raises if someone is born after the day on which ages are counted."""
    if lost := ages.null_count - dates.null_count:
        what = f"{lost:,} of {len(dates) - dates.null_count:,} distinct values give no age"
        hint = "choose a day after all births, and correct dates that cannot be true"
        raise PolicyError([Problem(f"{where}.age_on", what, hint)])
    return ages


def _fit_type(value: object, kind: pa.DataType) -> Any:
    """Converts a changed number to the type of its column; other values are unchanged."""
    if not isinstance(value, Fraction):
        return value
    if types.is_floating(kind):
        return float(value)
    if types.is_decimal(kind):
        return Decimal(value.numerator) / Decimal(value.denominator)
    if value.denominator > 1:
        raise ValueError("no whole number")
    return value.numerator


def _describe(name: str, rule: ColumnCleaning, column: CleanedColumn) -> str:
    counts = column.describe()
    before, after = counts["values_before"], counts["values_after"]
    fewer = f", {before:,} different values became {after:,}" if before != after else ""
    changed = rows_text(counts["changed_rows"])
    return (
        f"{name} was cleaned before counting ({rule.describe_cleaning()}): {changed} changed{fewer}"
    )


def _is_date(value: str) -> bool:
    """Whether a text is an ISO date, a period, or a label that may cover dates."""
    try:
        datetime.fromisoformat(find_first_day(value))
    except ValueError:
        return is_label(value)
    return True


def _is_number(value: str) -> bool:
    return NUMBER.match(value) is not None or is_label(value)


class ReadForm(NamedTuple):
    """The form of values read by a key of the policy, and the message if they do not have it."""

    key: str
    fits: Callable[[str], bool]
    what: str
    hint: str


FORMS = (
    ReadForm("age_on", _is_number, "give no age", "say how births are written (date_format)"),
    ReadForm("date_format", _is_date, "are no dates of this form", "add their form to the list"),
    ReadForm("decimal", _is_number, "are no numbers of this form", "correct them"),
)


def find_form(column: ColumnCleaning) -> ReadForm | None:
    """The form that values of a column have once they are read; None where the policy has none."""
    return next((form for form in FORMS if getattr(column, form.key)), None)
