"""Files with different columns as one table: by name, wherever no value changes by that."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from tclose.data.io.reading import refuse_ambiguous
from tclose.errors import DataError

types = pa.types


def unite_schemas(
    schemas: Sequence[pa.Schema], paths: Sequence[Path]
) -> tuple[pa.Schema, list[str]]:
    """One schema for all files, and what a reader should know about it.

    A column that a file does not have is missing there; small numbers become larger ones. Raises
    where a column has types that have no such type in common.

    >>> old, new = pa.schema({"a": pa.int16()}), pa.schema({"a": pa.int64(), "b": pa.string()})
    >>> unite_schemas([old, new], [Path("old"), Path("new")])
    (a: int64
    b: string, ["column 'b' is in 1 of 2 files: read as missing in the others"])
    """
    fields: dict[str, pa.Field] = {}
    often: dict[str, int] = {}
    for schema, path in zip(schemas, paths, strict=True):
        refuse_ambiguous(list(schema.names), str(path))
        for field in schema:
            often[field.name] = often.get(field.name, 0) + 1
            seen = fields.setdefault(field.name, field)
            if seen.type != field.type:
                kind = widen_type(seen.type, field.type)
                if kind is None:
                    raise DataError(
                        f"column {field.name!r} is {field.type} here, {seen.type} in another file",
                        where=str(path),
                        hint="write all files of a table with the same types",
                    )
                seen = seen.with_type(kind)
            fields[field.name] = seen.with_nullable(seen.nullable or field.nullable)
    refuse_ambiguous(list(fields), str(paths[0].parent))
    notes = []
    for name, count in often.items():
        if count < len(schemas):
            fields[name] = fields[name].with_nullable(True)
            told = f"column {name!r} is in {count:,} of {len(schemas):,} files"
            notes.append(f"{told}: read as missing in the others")
    return pa.schema(list(fields.values())), notes


def widen_type(first: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """A type that holds all values of both as they are; None where there is none.

    >>> widen_type(pa.int64(), pa.float64()) is None, widen_type(pa.uint8(), pa.int8())
    (True, DataType(int16))
    """
    if types.is_null(first) or types.is_null(other):
        return other if types.is_null(first) else first
    if types.is_dictionary(first) or types.is_dictionary(other):
        plain = [kind.value_type if types.is_dictionary(kind) else kind for kind in (first, other)]
        return plain[0] if plain[0] == plain[1] else widen_type(*plain)
    for family in FAMILIES:
        if family(first) and family(other):
            try:
                options = "permissive"
                schemas = [pa.schema({"": first}), pa.schema({"": other})]
                kind = pa.unify_schemas(schemas, promote_options=options).field(0).type
            except pa.ArrowException:
                return None
            return kind if family(kind) and _holds(kind, first, other) else None
    return None


def fit_batch(batch: pa.RecordBatch, schema: pa.Schema, more: Sequence[pa.Array]) -> pa.RecordBatch:
    """The rows of one file in the columns of all, followed by some that its folders tell."""
    columns = []
    for field in list(schema)[: len(schema) - len(more)]:
        at = batch.schema.get_field_index(field.name)
        column = pa.nulls(batch.num_rows, field.type) if at < 0 else batch.column(at)
        columns.append(column if column.type == field.type else column.cast(field.type))
    return pa.RecordBatch.from_arrays([*columns, *more], schema=schema)


def _holds(kind: pa.DataType, first: pa.DataType, other: pa.DataType) -> bool:
    """Unsigned whole numbers take one bit more beside signed ones."""
    if not types.is_signed_integer(kind):
        return True
    bits = [each.bit_width + types.is_unsigned_integer(each) for each in (first, other)]
    return bool(kind.bit_width >= max(bits))


def _is_text(kind: pa.DataType) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _is_moment(kind: pa.DataType) -> bool:
    return bool(types.is_timestamp(kind) and kind.tz is None)


FAMILIES = (types.is_integer, types.is_floating, types.is_decimal128, _is_text, _is_moment)
