"""Types of values that DuckDB has no word for, and those that stand for them."""

from __future__ import annotations

import pyarrow as pa

from tclose.errors import DataError

types = pa.types


def is_countable(kind: pa.DataType) -> bool:
    """Whether DuckDB reads values of a type as they are.

    >>> is_countable(pa.list_(pa.int8())), is_countable(pa.list_(pa.float16()))
    (True, False)
    """
    return bool(countable_type(kind) == kind)


def countable_type(kind: pa.DataType) -> pa.DataType:
    """The type that values are told in: their own, or the nearest that DuckDB reads.

    >>> countable_type(pa.float16()), countable_type(pa.decimal256(60, 2))
    (DataType(float), DataType(string))
    """
    if types.is_dictionary(kind):
        plain = countable_type(kind.value_type)
        return kind if plain == kind.value_type and not types.is_nested(plain) else plain
    if isinstance(kind, pa.BaseExtensionType):
        return countable_type(kind.storage_type)
    if types.is_float16(kind):
        return pa.float32()
    if types.is_decimal(kind) and (kind.bit_width > 128 or kind.scale < 0):
        return pa.string()
    inner = [kind.field(at).type for at in range(kind.num_fields)] if types.is_nested(kind) else []
    return kind if all(map(is_countable, inner)) else pa.string()


def coarsen_times(table: pa.Table) -> pa.Table:
    """Times and moments told to the nanosecond, in microseconds where nothing is lost by that.

    Raises where it is a time of day: two that differ by less would be told alike.

    >>> coarsen_times(pa.table({"a": pa.array([5000], pa.timestamp("ns", "UTC"))})).schema.types
    [TimestampType(timestamp[us, tz=UTC])]
    """
    for at, field in enumerate(table.schema):
        if types.is_temporal(field.type) and getattr(field.type, "unit", "") == "ns":
            is_time = types.is_time(field.type)
            coarse = pa.time64("us") if is_time else pa.timestamp("us", field.type.tz)
            try:
                table = table.set_column(at, field.name, table.column(at).cast(coarse))
            except pa.ArrowInvalid:
                if is_time:
                    raise DataError(
                        "times of day are told to the microsecond",
                        where=f"column {field.name!r}",
                        hint="round them",
                    ) from None
    return table


def make_countable(column: pa.Array) -> pa.Array:
    """A column's values in that type."""
    kind = countable_type(column.type)
    if kind == column.type:
        return column
    if types.is_dictionary(column.type):
        return make_countable(column.dictionary_decode())
    if isinstance(column.type, pa.BaseExtensionType):
        return make_countable(column.storage)
    if types.is_nested(column.type):
        texts = [None if value is None else str(value) for value in column.to_pylist()]
        return pa.array(texts, pa.string())
    return column.cast(kind)
