"""The distinct values of a column, in their natural order; of a sensitive one, with distances."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.arrays import Ints
from tclose.data.source import decode_column
from tclose.distance.numbers import to_integers
from tclose.distance.registry import Attribute, DeclaredReference
from tclose.errors import DataError, HierarchyError, UsageError
from tclose.hierarchy.tree import Hierarchy
from tclose.plain import LONGEST, exact
from tclose.policy.columns import Column
from tclose.requirements.closeness.t_closeness import refuse_shares
from tclose.small_files import read_small_file

Kind = Literal["number", "date", "text"]
MISSING = "(missing)"
HUGE = 10**300
"""A number as good as infinite: widths of intervals cannot be told with it."""
NUMBER = re.compile(rf"(?=.{{1,{LONGEST}}}$)[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{{1,3}})?$")
"""A number; thousands of digits are no quantity, and no exact share of them can be written."""
UNIT = re.compile(rf"(?=.{{1,{LONGEST}}}$)((?:[^\d*]*[^\w+*-])?)([+-]?\d+(?:\.\d+)?)([^\d*]*)$")
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
    def encode(cls, column: pa.ChunkedArray, name: str = "") -> tuple[Dictionary, Ints]:
        """The dictionary of a column and the code of each of its entries; messages name it so."""
        plain = decode_column(column)
        _refuse_beyond(plain, name)
        _refuse_too_fine(plain, name)
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
        return MISSING if code >= self.known else as_text(self.values[code].as_py())

    def decode(self, codes: Ints) -> pa.Array:
        """The values of some codes."""
        return self.values.take(pa.array(codes, mask=codes >= self.known))

    @property
    def kind(self) -> Kind:
        """The kind of the values: numbers, dates, or text."""
        return self._scale[0]

    @property
    def positions(self) -> list[Fraction] | None:
        """The values on the number line (dates: days), or None where they have no place on it."""
        return self._scale[1]

    @cached_property
    def line(self) -> list[Fraction] | None:
        """The positions, if there is none as good as infinite: intervals have a width then."""
        positions = self.positions
        is_narrow = positions is not None and all(
            abs(position.numerator) < HUGE * position.denominator for position in positions
        )
        return positions if is_narrow else None

    @cached_property
    def places(self) -> tuple[list[Fraction], Ints]:
        """The distinct positions in ascending order, and which of them each value has.

        >>> Dictionary.encode(pa.chunked_array([["7", "7.0", "9"]]))[0].places
        ([Fraction(7, 1), Fraction(9, 1)], array([0, 0, 1]))
        """
        given = self.positions or []
        order = list(range(len(given)))
        if any(is_below(after, before) for before, after in pairwise(given)):
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
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return _parse_written(self.labels)
        try:
            return "number", [_read_number(label) for label in self.labels]
        except (ArithmeticError, ValueError):
            return "text", None


def _refuse_beyond(column: pa.ChunkedArray, name: str) -> None:
    """Raises where a moment is infinite or in no year from 1 to 9999: it has no place in time."""
    kind = column.type
    if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        return
    day = 1 if pa.types.is_date32(kind) else TICKS[getattr(kind, "unit", "ms")]
    ends = pc.min_max(column.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64())).as_py()
    low, high = ends["min"], ends["max"]
    if low is not None and (low < FIRST_DAY * day or high >= (LAST_DAY + 1) * day):
        what = "a date is infinite, or not in the years 1 to 9999"
        hint = "make it a missing value, or give it a year"
        raise DataError(what, where=f"column {name!r}" if name else "", hint=hint)
    _refuse_untellable(kind, name, [end for end in (low, high) if end is not None])


def _refuse_untellable(kind: pa.DataType, name: str, ends: list[int]) -> None:
    """Raises where Python has no moment for the first or the last, without quoting either."""
    try:
        for end in ends if pa.types.is_timestamp(kind) else ():
            pa.scalar(end // 1000 * 1000 if kind.unit == "ns" else end, kind).as_py()
    except (OverflowError, ValueError):
        what = "a moment in its time zone is not in the years 1 to 9999"
        hint = "make it a missing value, or give it a year or another zone"
        raise DataError(what, where=f"column {name!r}" if name else "", hint=hint) from None


def _refuse_too_fine(column: pa.ChunkedArray, name: str) -> None:
    """Raises for times finer than a microsecond where pandas is missing, which they need."""
    if not pa.types.is_timestamp(column.type) or column.type.unit != "ns":
        return
    try:
        column.cast(pa.timestamp("us", column.type.tz))
    except pa.ArrowInvalid:
        try:
            import pandas  # noqa: F401
        except ImportError:
            what = "times are kept to the microsecond, and some are finer"
            hint = "round them (or use Python with pandas installed)"
            raise DataError(what, where=f"column {name!r}" if name else "", hint=hint) from None


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


def _natural_order(values: pa.Array) -> Ints:
    """Numbers by size even where they are text; units (3k, 11k) by their number; else by text."""
    is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    number = _floats(values) if is_text else None
    if number is None:
        order = pc.sort_indices(values)
    else:
        table = pa.table({"number": number, "text": values})
        order = pc.sort_indices(table, sort_keys=[("number", "ascending"), ("text", "ascending")])
    result: Ints = order.to_numpy().astype(np.int64)
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


def _parse_written(labels: tuple[str, ...]) -> tuple[Kind, list[Fraction] | None]:
    """Numbers, dates or numbers with a common unit that are written as text."""
    if not labels:
        return "text", None
    if all(NUMBER.match(label) for label in labels):
        return "number", [_read_number(label) for label in labels]
    try:
        return "date", [days_of(datetime.fromisoformat(label)) for label in labels]
    except ValueError:
        pass
    if (amounts := _split_unit(labels)) is not None:
        return "number", [_read_number(amount) for amount in amounts]
    return "text", None


def _read_number(text: str) -> Fraction:
    """The number that is written; by its ratio, which is quicker than by the decimal."""
    return Fraction(*Decimal(text).as_integer_ratio())


def is_below(low: Fraction, high: Fraction) -> bool:
    """Whether low < high, without the type checks that make comparing fractions slow.

    >>> is_below(Fraction(1, 3), Fraction(1, 2)), is_below(Fraction(1, 2), Fraction(1, 2))
    (True, False)
    """
    return low.numerator * high.denominator < high.numerator * low.denominator


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


def make_attribute(
    name: str,
    column: Column,
    dictionary: Dictionary,
    hierarchy: Hierarchy | None,
    base: Path,
    shares: Mapping[str, Fraction] | None = None,
) -> Attribute:
    """Puts a sensitive column's values in order; raises where order or tree do not know one.

    Of a declared reference (`shares`), values that the column lacks have places, too.
    """
    observed = dictionary
    dictionary, shares = widen_dictionary(dictionary, name, shares)
    seen, groups = set(dictionary.labels), []
    if hierarchy is not None and column.order is None:
        # Values that are no leaves of the hierarchy, in the order of its nodes.
        groups = [label for label in hierarchy.labels[hierarchy.leaf_count :] if label in seen]
    if shares and not shares.keys().isdisjoint(groups):
        hint = "give the share of every value in them"
        raise UsageError("the reference has groups of the hierarchy, not values", hint=hint)
    known = _ordering(name, column, dictionary, hierarchy, natural=not groups)
    spread = column.masked == "spread"
    if column.missing != "any" and not spread:  # else they may be values below them
        known = (*known, *groups)
    place = {label: at for at, label in enumerate(known)}
    counted = dictionary.has_missing and column.missing != "any" and not spread
    missing_code = len(known) if counted else -1
    recode = [place.get(label, -1) for label in observed.labels] + [missing_code]
    positions, repeats = None, False
    if column.order is None and dictionary.positions is not None and len(known) == dictionary.known:
        ranked = dict(zip(dictionary.labels, dictionary.positions, strict=True))
        positions = tuple(ranked[label] for label in known)
        ascending = all(is_below(before, after) for before, after in pairwise(positions))
        repeats = not ascending and len({*positions}) < len(positions)
        positions = positions if ascending else None
    labels = (*known, MISSING) if counted else known
    return Attribute(
        name=name,
        labels=labels,
        recode=np.array(recode, dtype=np.int64),
        hierarchy=hierarchy,
        positions=positions,
        with_missing=counted,
        base=base,
        has_declared_order=column.order is not None,
        specified=column.distance,
        reference=_make_reference(column, labels, shares),
        repeats=repeats,
        masks=_number_masks(observed, known, groups, hierarchy) if spread else None,
    )


def _number_masks(
    dictionary: Dictionary,
    known: Sequence[str],
    groups: Sequence[str],
    hierarchy: Hierarchy | None,
) -> tuple[Ints, tuple[Ints, ...]]:
    """The mask of every dictionary code, and the places of the values below every mask."""
    number = {label: at for at, label in enumerate(groups)}
    code = [number.get(label, -1) for label in dictionary.labels]
    members = []
    if hierarchy is not None and groups:
        leaf = hierarchy.indices(known).astype(np.int64)
        for label in groups:
            node = hierarchy.index(label)
            members.append(np.flatnonzero((hierarchy.ancestors[leaf] == node).any(axis=1)))
    if not all(len(below) for below in members):
        hint = "use groups that contain values of the table"
        raise UsageError("a group has no exact value below it in the table", hint=hint)
    members.append(np.arange(len(known)))
    return np.array([*code, len(groups)], dtype=np.int64), tuple(members)


def read_reference(column: Column, name: str, base: Path) -> dict[str, Fraction] | None:
    """The shares that a policy declares value by value, in itself or in a file of two columns."""
    spec = column.reference
    if spec is None or (spec.file is None and spec.shares is None):
        return None
    if spec.shares is not None:
        return dict(spec.shares)
    where, shares = f"column {name!r}, reference", {}
    try:
        text = read_small_file(base / str(spec.file)).decode("utf-8-sig")
        mark = ";" if text.partition("\n")[0].count(";") else ","
        rows = [row for row in csv.reader(text.splitlines(), delimiter=mark) if row]
        for value, share in rows[1:]:
            if value.strip() in shares:
                raise DataError("a value occurs twice", where=where)
            shares[value.strip()] = exact(share)
        refuse_shares(shares)
    except (OSError, UnicodeDecodeError):
        raise DataError("the file cannot be read", where=where, hint="check its path") from None
    except (ValueError, csv.Error):
        hint = "a heading, then a value and its count in every line"
        raise DataError("not a table of values and counts", where=where, hint=hint) from None
    return shares


def widen_dictionary(
    dictionary: Dictionary, name: str, shares: Mapping[str, Fraction] | None
) -> tuple[Dictionary, dict[str, Fraction] | None]:
    """Adds the values that only the reference has; also its shares by the column's labels."""
    if shares is None:
        return dictionary, None
    known = {*dictionary.labels, MISSING}
    fresh = [label for label, share in shares.items() if share and label not in known]
    if not fresh:
        return dictionary, dict(shares)
    try:
        more = pa.array(fresh).cast(dictionary.values.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        hint = "write values as the table does"
        what = "the reference has values that are no values of the column's type"
        raise UsageError(what, where=f"column {name!r}", hint=hint) from None
    gap = [pa.nulls(1, more.type)] if dictionary.has_missing else []
    written = [as_text(value) for value in more.to_pylist()]
    if len({*written}) < len(fresh) or not shares.keys().isdisjoint({*written} - {*fresh}):
        raise UsageError("the reference has a value twice", where=f"column {name!r}")
    labels = {**dict(zip(shares, shares, strict=True)), **dict(zip(fresh, written, strict=True))}
    wide, _ = Dictionary.encode(pa.chunked_array([dictionary.values, more, *gap]))
    return wide, {labels[label]: share for label, share in shares.items()}


def _make_reference(
    column: Column, labels: tuple[str, ...], shares: Mapping[str, Fraction] | None
) -> DeclaredReference | None:
    """The declared distribution over the values of a column, in whole numbers."""
    spec = column.reference
    if spec is None or not column.declares_reference:
        return None
    if shares is None:
        counts = tuple(int(label != MISSING) for label in labels)
        return DeclaredReference(
            counts, f"a uniform distribution over {_count_values(sum(counts))}"
        )
    numbers, _ = to_integers([shares.get(label, Fraction(0)) for label in labels])
    factor = math.gcd(*numbers) or 1
    source = "declared in the policy" if spec.file is None else f"of {Path(spec.file).name}"
    held = sum(share > 0 for share in shares.values())
    words = f"the distribution {source} ({_count_values(held)})"
    return DeclaredReference(tuple(number // factor for number in numbers), words)


def _count_values(count: int) -> str:
    return "1 value" if count == 1 else f"{count:,} values"


def _ordering(
    name: str, column: Column, dictionary: Dictionary, hierarchy: Hierarchy | None, *, natural: bool
) -> tuple[str, ...]:
    """The values from first to last: as declared, along the hierarchy, or in natural order."""
    labels = dictionary.labels
    declared: Sequence[str] | None = column.order
    if declared is None and hierarchy is not None:
        lost = sum(not hierarchy.contains(label) for label in labels)
        if lost:
            what = f"not in the hierarchy: {lost} distinct values"
            raise HierarchyError(what, where=f"column {name!r}", hint="add them to the hierarchy")
        natural = natural and dictionary.kind != "text" and column.domain == "observed"
        declared = None if natural else hierarchy.leaves
    if declared is None:
        return labels
    lost = len(set(labels) - set(declared))
    if lost and column.order is not None:
        what = f"not in the declared order: {lost} distinct values"
        hint = "list every value in `order`, lowest first"
        raise UsageError(what, where=f"column {name!r}", hint=hint)
    seen = set(labels)
    return tuple(value for value in declared if column.domain == "declared" or value in seen)
