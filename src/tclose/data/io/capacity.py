"""What a kind of file can hold: what it would lose or change is refused before any work."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tclose.data.io.excel_writer import (
    SheetWriter,
    needs_openpyxl,
    refuse_in_sheet,
    refuse_too_large,
)
from tclose.data.io.writers import ArrowWriter, CsvWriter, writer_for
from tclose.errors import DataError

types = pa.types


def refuse_unknown_kind(path: str | Path) -> None:
    """Raises where the end of a name says no kind of table that can be written here."""
    if writer_for(path) is SheetWriter and find_spec("openpyxl") is None:
        raise needs_openpyxl(path)


def refuse_unholdable(
    path: str | Path, schema: pa.Schema, rows: Callable[[], int] = lambda: 0
) -> None:
    """Raises where a file of this kind cannot hold every value of so many rows as it is.

    >>> refuse_unholdable("a.csv", pa.schema({"a": pa.list_(pa.int8())}))
    Traceback (most recent call last):
    tclose.errors.DataError: column 'a': a CSV file has no text for list<item: int8>
      Hint: write a .parquet file
    """
    writer = writer_for(path)
    if writer is CsvWriter:
        _refuse_in_text(schema)
    elif writer is SheetWriter:
        refuse_too_large(rows(), len(schema), str(path))
        refuse_in_sheet(schema)
    elif writer is not ArrowWriter:
        _refuse_in_parquet(schema)


def tells_gaps_from_texts(path: str | Path) -> bool:
    """Whether files of this kind tell an empty text from a missing value.

    >>> tells_gaps_from_texts("a.csv.gz"), tells_gaps_from_texts("a.parquet")
    (False, True)
    """
    return writer_for(path) not in (CsvWriter, SheetWriter)


def _refuse_in_text(schema: pa.Schema) -> None:
    for field in schema:
        if not _has_text(field.type):
            raise DataError(
                f"a CSV file has no text for {field.type}",
                where=f"column {field.name!r}",
                hint="write a .parquet file",
            )
        if (
            field.name != field.name.strip()
            or "\0" in field.name
            or field.name.startswith("\ufeff")
        ):
            raise DataError(
                "a CSV file cannot hold this name, which begins or ends with a space",
                where=f"column {field.name!r}",
                hint="rename it, or write a .parquet file",
            )


def _has_text(kind: pa.DataType) -> bool:
    if types.is_dictionary(kind):
        return _has_text(kind.value_type)
    plain = (types.is_null, types.is_boolean, types.is_integer, types.is_floating,
             types.is_decimal, types.is_date, types.is_time, types.is_timestamp,
             types.is_string, types.is_large_string, types.is_string_view)  # fmt: skip
    return any(is_kind(kind) for is_kind in plain)


def _refuse_in_parquet(schema: pa.Schema) -> None:
    for field in schema:
        gap = pa.table([pa.nulls(1, field.type)], pa.schema([field.with_nullable(True)]))
        try:
            pq.write_table(gap, pa.BufferOutputStream())
        except (pa.ArrowException, OSError):
            raise DataError(
                f"a Parquet file cannot hold {field.type}",
                where=f"column {field.name!r}",
                hint="write an .arrow file",
            ) from None
