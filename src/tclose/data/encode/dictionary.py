"""The distinct values of a column, in their natural order, and what kind they are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tclose.errors import DataError

Kind = Literal["number", "date", "text"]
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$")
UNIT = re.compile(r"((?:\D*[^\w+-])?)([+-]?\d+(?:\.\d+)?)(\D*)$")
"""A number with a unit. Letters directly before it make it a code: C34 is no amount of anything."""


EPOCH = date(1970, 1, 1).toordinal()
FIRST_DAY, LAST_DAY = date.min.toordinal() - EPOCH, date.max.toordinal() - EPOCH
TICKS = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
"""How many units of time a day has."""


@dataclass(frozen=True)
class Dictionary:
    """The values of a column in ascending order; a missing value has the code after the last.

    >>> d, codes = Dictionary.encode(pa.chunked_array([["10", None, "9"]]))
    >>> d.labels, d.kind, codes.tolist(), d.has_missing
    (('9', '10'), 'number', [1, 2, 0], True)
    """

    values: pa.Array
    has_missing: bool

    @classmethod
    def encode(
        cls, column: pa.ChunkedArray, name: str = ""
    ) -> tuple[Dictionary, NDArray[np.int64]]:
        """The dictionary of a column and the code of each of its entries; messages name it so."""
        plain = _decode(column)
        _refuse_beyond(plain, name)
        encoded = pc.dictionary_encode(plain)
        chunk = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
        values = chunk.dictionary
        order = _natural_order(values)
        rank = np.empty(len(order) + 1, dtype=np.int64)
        rank[order] = np.arange(len(order))
        rank[-1] = len(order)
        codes = chunk.indices.fill_null(len(order)).to_numpy(zero_copy_only=False)
        result = cls(values.take(pa.array(order)), chunk.indices.null_count > 0)
        return result, rank[codes]

    def __len__(self) -> int:
        return len(self.values) + self.has_missing

    @property
    def known(self) -> int:
        """How many values there are, a missing one not counted."""
        return len(self.values)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The values as text, a missing one not included."""
        return tuple(as_text(value) for value in self.values.to_pylist())

    def label(self, code: int) -> str:
        """One value as text."""
        return "(missing)" if code >= self.known else as_text(self.values[code].as_py())

    @cached_property
    def kind(self) -> Kind:
        """What the values are: numbers, dates, or text."""
        return "text" if self.positions is None else self._scale[0]

    @property
    def positions(self) -> list[Fraction] | None:
        """The values on the number line (dates: days), or None where they have no place on it."""
        return self._scale[1]

    @cached_property
    def places(self) -> tuple[list[Fraction], NDArray[np.int64]]:
        """The distinct positions in ascending order, and which of them each value has.

        >>> Dictionary.encode(pa.chunked_array([["7", "7.0", "9"]]))[0].places
        ([Fraction(7, 1), Fraction(9, 1)], array([0, 0, 1]))
        """
        given = self.positions or []
        order = list(range(len(given)))
        if any(after < before for before, after in pairwise(given)):
            # Texts are sorted as floats: numbers that differ only beyond these may be out of order.
            order.sort(key=given.__getitem__)
        distinct: list[Fraction] = []
        rank = np.zeros(len(given), dtype=np.int64)
        for at in order:
            if not distinct or distinct[-1] != given[at]:
                distinct.append(given[at])
            rank[at] = len(distinct) - 1
        return distinct, rank

    @cached_property
    def _scale(self) -> tuple[Kind, list[Fraction] | None]:
        kind = self.values.type
        if pa.types.is_temporal(kind):
            return "date", [days_of(value) for value in self.values.to_pylist()]
        if pa.types.is_boolean(kind):
            return "text", None
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            return _parse_typed(self.values.to_pylist())
        return _parse_written(self.labels)

    @property
    def has_infinity(self) -> bool:
        """Whether a number is infinite."""
        floating = pa.types.is_floating(self.values.type)
        return floating and bool(pc.any(pc.is_inf(self.values)).as_py())


def _refuse_beyond(column: pa.ChunkedArray, name: str) -> None:
    """Raises where a moment is infinite or in no year from 1 to 9999: it has no place in time."""
    kind = column.type
    if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        return
    day = 1 if pa.types.is_date32(kind) else TICKS[getattr(kind, "unit", "ms")]
    ends = pc.min_max(column.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64())).as_py()
    low, high = ends["min"], ends["max"]
    if low is not None and (low < FIRST_DAY * day or high >= (LAST_DAY + 1) * day):
        raise DataError(
            "a date is infinite, or not in the years 1 to 9999",
            where=f"column {name!r}" if name else "",
            hint="make it a missing value, or give it a year",
        )


def as_text(value: object) -> str:
    """A value as messages, hierarchies and releases write it: 3.0 is `3`.

    >>> as_text(3.0), as_text(date(2024, 1, 2)), as_text(True)
    ('3', '2024-01-02', 'true')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    return str(value)


def _decode(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Plain values, with NaN as missing: neither is a number. Adding 0 makes −0 the same as 0."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        column = pc.add(column, pa.scalar(0, column.type))
    return column


def _natural_order(values: pa.Array) -> NDArray[np.int64]:
    """Numbers by size even where they are text; units (3k, 11k) by their number; else by text."""
    keys = values
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        number = _floats(values)
        if number is not None:
            table = pa.table({"number": number, "text": values})
            order = pc.sort_indices(
                table, sort_keys=[("number", "ascending"), ("text", "ascending")]
            )
            result: NDArray[np.int64] = order.to_numpy().astype(np.int64)
            return result
    return pc.sort_indices(keys).to_numpy().astype(np.int64)  # type: ignore[no-any-return]


def _floats(values: pa.Array) -> pa.Array | None:
    """Text as floats to sort by, if every entry is a number or a number with one common unit."""
    try:
        return pc.cast(values, pa.float64())
    except pa.ArrowException:
        pass
    if len(values) > 100_000:
        return None
    split = [UNIT.match(value) for value in values.to_pylist()]
    if not all(split) or len({(part[1], part[3]) for part in split if part}) != 1:
        return None
    return pa.array([float(part[2]) for part in split if part])


def _parse_typed(values: list[Any]) -> tuple[Kind, list[Fraction] | None]:
    try:
        return "number", [Fraction(Decimal(as_text(value))) for value in values]
    except (ArithmeticError, ValueError):
        return "text", None


def _parse_written(labels: tuple[str, ...]) -> tuple[Kind, list[Fraction] | None]:
    """Numbers, dates or numbers with a common unit that are written as text."""
    if not labels:
        return "text", None
    if all(NUMBER.match(label) for label in labels):
        return "number", [Fraction(Decimal(label)) for label in labels]
    try:
        return "date", [days_of(datetime.fromisoformat(label)) for label in labels]
    except ValueError:
        pass
    split = [UNIT.match(label) for label in labels]
    if all(split) and len({(part[1], part[3]) for part in split if part}) == 1:
        return "number", [Fraction(Decimal(part[2])) for part in split if part]
    return "text", None


def days_of(value: date | time) -> Fraction:
    """A date or a moment as days since the year 1."""
    if not isinstance(value, datetime):
        if isinstance(value, date):
            return Fraction(value.toordinal())
        return Fraction(value.hour * 3600 + value.minute * 60 + value.second, 86_400)
    moment = value if value.tzinfo is None else value - (value.utcoffset() or (value - value))
    seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
    micro = seconds * 1_000_000 + moment.microsecond
    return moment.toordinal() + Fraction(micro, 86_400_000_000)
