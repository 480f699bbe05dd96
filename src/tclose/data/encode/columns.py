"""The distinct values of a column, in their natural order; of a sensitive one, with distances."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tclose.distance import Distance, Metric
from tclose.distance.registry import DISTANCES, GROUNDS, DistanceSpec, make_distance
from tclose.errors import DataError, HierarchyError, UsageError
from tclose.hierarchy import Hierarchy
from tclose.policy.model import Column

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
        plain = decode_column(column)
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

    def decode(self, codes: NDArray[np.int64]) -> pa.Array:
        """The values of some codes."""
        return self.values.take(pa.array(codes, mask=codes >= self.known))

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


def decode_column(column: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    """Plain values, with NaN as missing: neither is a number. Adding 0 makes −0 the same as 0."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        column = pc.add(column, pa.scalar(0, column.type))
    return column


def _natural_order(values: pa.Array) -> NDArray[np.int64]:
    """Numbers by size even where they are text; units (3k, 11k) by their number; else by text."""
    is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    number = _floats(values) if is_text else None
    if number is None:
        order = pc.sort_indices(values)
    else:
        table = pa.table({"number": number, "text": values})
        order = pc.sort_indices(table, sort_keys=[("number", "ascending"), ("text", "ascending")])
    result: NDArray[np.int64] = order.to_numpy().astype(np.int64)
    return result


def _floats(values: pa.Array) -> pa.Array | None:
    """Text as floats to sort by, if every entry is a number or a number with one common unit."""
    try:
        return pc.cast(values, pa.float64())
    except pa.ArrowException:
        pass
    if len(values) > 100_000:
        return None
    amounts = _split_unit(values.to_pylist())
    return None if amounts is None else pa.array([float(amount) for amount in amounts])


def _split_unit(texts: Sequence[str]) -> list[str] | None:
    """The numbers of texts that all have one unit, without it."""
    split = [found for text in texts if (found := UNIT.match(text))]
    alike = len(split) == len(texts) and len({(part[1], part[3]) for part in split}) == 1
    return [part[2] for part in split] if alike else None


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
    amounts = _split_unit(labels)
    return (
        ("text", None) if amounts is None else ("number", [Fraction(Decimal(a)) for a in amounts])
    )


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


MISSING = "(missing)"


@dataclass(frozen=True)
class Attribute:
    """The values of a sensitive column in order, with what their distances are made of.

    `recode` turns dictionary codes into positions in `labels`; −1 stands for a missing value that
    may be any value (`missing = "any"`).
    """

    name: str
    column: Column
    labels: tuple[str, ...]
    recode: NDArray[np.int64]
    kind: Kind
    hierarchy: Hierarchy | None
    positions: tuple[Fraction, ...] | None
    with_missing: bool
    base: Path

    @property
    def values(self) -> int:
        """How many values there are, a missing one included where it counts as a value."""
        return len(self.labels)

    @property
    def has_order(self) -> bool:
        """Whether the values have a natural or a declared order."""
        return self.positions is not None or self.column.order is not None

    @property
    def default_distance(self) -> str:
        """The ground distance that suits the column where the policy names none."""
        if self.hierarchy is not None:
            return "hierarchical"
        return "ordered" if self.has_order else "equal"

    @property
    def has_declared_order(self) -> bool:
        """Whether the policy gives the order of the values by hand."""
        return self.column.order is not None

    @property
    def suitable(self) -> tuple[str, ...]:
        """Every earth mover's distance that the column can have without options."""
        return tuple(kind.name for kind in GROUNDS if not kind.lack(self))

    def distance(self, spec: DistanceSpec | None = None) -> tuple[Distance, tuple[str, ...]]:
        """The distance a policy asks for (or the default), and notes on how it was made."""
        asked = spec or DistanceSpec(name=self.default_distance)
        return make_distance(self, asked)

    def ground(self, name: str) -> Metric:
        """One of the tree metrics over this column's values."""
        kind = DISTANCES[name]
        lack = kind.lack(self)
        if kind.ground is None or lack:
            raise UsageError(
                f"the column cannot have the {name} distance: {lack}",
                where=f"column {self.name!r}",
                hint=f"use {' or '.join(self.suitable)}{kind.hint}",
            )
        if name not in self._grounds:
            self._grounds[name] = kind.ground(self)
        return self._grounds[name]

    @cached_property
    def _grounds(self) -> dict[str, Metric]:
        return {}


def make_attribute(
    name: str, column: Column, dictionary: Dictionary, hierarchy: Hierarchy | None, base: Path
) -> Attribute:
    """Puts the values of a sensitive column in order.

    Raises UsageError where the order or the hierarchy does not know a value.
    """
    known = _ordering(name, column, dictionary, hierarchy)
    if column.missing != "any":  # else they may be any value, at least of those below them
        known = (*known, *_find_groups(column, dictionary, hierarchy))
    place = {label: at for at, label in enumerate(known)}
    counted = dictionary.has_missing and column.missing != "any"
    missing_code = len(known) if counted else -1
    recode = [place.get(label, -1) for label in dictionary.labels] + [missing_code]
    positions = None
    if column.order is None and dictionary.positions is not None and len(known) == dictionary.known:
        ranked = dict(zip(dictionary.labels, dictionary.positions, strict=True))
        positions = tuple(ranked[label] for label in known)
        positions = positions if list(positions) == sorted(set(positions)) else None
    return Attribute(
        name=name,
        column=column,
        labels=(*known, MISSING) if counted else known,
        recode=np.array(recode, dtype=np.int64),
        kind=dictionary.kind,
        hierarchy=hierarchy,
        positions=positions,
        with_missing=counted,
        base=base,
    )


def _ordering(
    name: str, column: Column, dictionary: Dictionary, hierarchy: Hierarchy | None
) -> tuple[str, ...]:
    """The column's values from first to last: as declared, along the hierarchy, or as they are."""
    labels = dictionary.labels
    declared: Sequence[str] | None = column.order
    if declared is None and hierarchy is not None:
        lost = sum(not hierarchy.contains(label) for label in labels)
        if lost:
            raise HierarchyError(
                f"not in the hierarchy: {lost} distinct values",
                where=f"column {name!r}",
                hint="add them to the hierarchy",
            )
        plain = not _find_groups(column, dictionary, hierarchy)
        natural = dictionary.kind != "text" and column.domain == "observed" and plain
        declared = None if natural else hierarchy.leaves
    if declared is None:
        return labels
    lost = len(set(labels) - set(declared))
    if lost and column.order is not None:
        raise UsageError(
            f"not in the declared order: {lost} distinct values",
            where=f"column {name!r}",
            hint="list every value in `order`, lowest first",
        )
    seen = set(labels)
    return tuple(value for value in declared if column.domain == "declared" or value in seen)


def _find_groups(
    column: Column, dictionary: Dictionary, hierarchy: Hierarchy | None
) -> tuple[str, ...]:
    """Values that are groups of the hierarchy and not its leaves, in the order of its nodes."""
    if hierarchy is None or column.order is not None:
        return ()
    seen = set(dictionary.labels)
    return tuple(label for label in hierarchy.labels[hierarchy.leaf_count :] if label in seen)
