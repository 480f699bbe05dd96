"""Writes tables, texts and folders whole or not at all, and knows what files can hold."""

from __future__ import annotations

import gzip
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tclose.arrays import Ints
from tclose.data.io.excel_writer import (
    SheetWriter,
    needs_openpyxl,
    refuse_in_sheet,
    refuse_too_large,
)
from tclose.data.io.paths import PACKED, is_read_from, refuse_address, suffix_of
from tclose.data.io.statistics_writer import (
    StatisticsWriter,
    can_write_statistics,
    needs_pyreadstat,
    refuse_in_statistics,
)
from tclose.data.io.transaction import not_written, refuse_locked, write_part
from tclose.errors import DataError, UsageError

T = TypeVar("T")
types = pa.types

LINE = 8 << 20
"""How long a row of a CSV file may be, in bytes."""
SQL_TYPE = b"postgresql"
"""The key of an Arrow field's metadata under which the column's type in the database is kept."""
DATABASE_TYPE = re.compile(
    rb"[a-z][a-z0-9_ ]{1,30}(\([0-9, -]{1,12}\))?( with(out)? time zone)?(\[\])*"
)
VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
"""Types whose rows Arrow does not pick out, and those that they are put into meanwhile."""
TELLABLE = (
    types.is_null, types.is_boolean, types.is_integer, types.is_floating, types.is_decimal,
    types.is_date, types.is_time, types.is_timestamp, types.is_string, types.is_large_string,
    types.is_string_view,
)  # fmt: skip
"""The types whose values have a text."""
TYPES = {
    frozenset({"bool"}): pa.bool_(), frozenset({"whole"}): pa.int64(),
    frozenset({"large"}): pa.int64(), frozenset({"whole", "large"}): pa.int64(),
    frozenset({"number"}): pa.float64(), frozenset({"whole", "number"}): pa.float64(),
    frozenset({"day"}): pa.date32(), frozenset({"moment"}): pa.timestamp("us"),
    frozenset({"day", "moment"}): pa.timestamp("us"), frozenset({"time"}): pa.time64("us"),
    frozenset({"span"}): pa.duration("ms"), frozenset({"text"}): pa.string(),
    frozenset(): pa.string(),
}  # fmt: skip
"""The type of a column, from the kinds of cells that it has; text in any other case."""
BLANKS = np.frombuffer(b" \t\n\v\f\r", np.uint8)


def lengthen_views(schema: pa.Schema) -> pa.Schema:
    """The schema with categories that are views as long texts: Arrow does not look views up.

    >>> lengthen_views(pa.schema({"a": pa.dictionary(pa.int8(), pa.string_view())})).types
    [DictionaryType(dictionary<values=large_string, indices=int8, ordered=0>)]
    """
    for at, field in enumerate(schema):
        kind = field.type
        if types.is_dictionary(kind) and kind.value_type in VIEWS:
            kind = pa.dictionary(kind.index_type, VIEWS[kind.value_type], kind.ordered)
            schema = schema.set(at, field.with_type(kind))
    return schema


def write_atomically(path: str | Path, write: Callable[[Path], T]) -> T:
    """Calls `write` on a file in a private folder, and moves the file to its place when it is
    complete.

    `write` may read back what it has written and raise where that is not right; what it returns is
    returned. What a killed process leaves is hidden, and removed by the next that writes there.
    """
    _refuse_no_file(path)
    return write_part(path, write)


def write_folder(path: str | Path, write: Callable[[Path], T]) -> T:
    """Calls `write` on a new folder, and moves the folder to its place when it is complete.

    >>> place = Path(tempfile.mkdtemp()) / "release"
    >>> written = write_folder(place, lambda part: (part / "a.txt").write_text("whole"))
    >>> [file.name for file in place.iterdir()]
    ['a.txt']
    """
    refuse_folder(path)
    return write_part(path, write, is_folder=True)


def write_text(path: str | Path, text: str) -> Path:
    """A text file, whole or not at all."""
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8"))
    return Path(path)


def write_table(path: str | Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Path:
    """A file of any kind that can be written (by its name), whole or not at all."""
    return write_checked_table(path, schema, batches, lambda _: Path(path))


def write_checked_table(
    path: str | Path,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    check: Callable[[Path], T],
    *,
    delimiter: str = ",",
) -> T:
    """Writes a table, which stays only if `check` reads it back; returns its result."""
    open_writer = writer_for(path)
    # What is noted beside a column goes nowhere but labels of values that are there.
    stored = schema if open_writer is StatisticsWriter else compact_schema(schema)

    def write(part: Path) -> T:
        with closing(open_writer(part, stored, delimiter)) as writer:
            for batch in batches:
                writer.write(compact_batch(batch))
        return check(part)

    return write_atomically(path, write)


def delimiter_for(path: str | Path, usual: str = ",") -> str:
    """The field separator of a text file: `usual` for CSV, else a tab."""
    return usual if suffix_of(path).startswith(".csv") else "\t"


def refuse_unwritable(path: str | Path) -> None:
    """Raises where no file could be written there, before any work is done for it."""
    _refuse_no_file(path)
    refuse_locked(path)
    try:
        with tempfile.TemporaryFile(dir=_nearest_folder(path)):
            pass
    except OSError as error:
        raise not_written(error, path) from None


def refuse_folder(path: str | Path) -> None:
    """Raises where no new folder could be made there, before any work is done for it."""
    refuse_address(path)
    target = Path(os.path.realpath(path))
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        what = "this exists already, and is not an empty folder"
        hint = "name a new folder; nothing is overwritten"
        raise DataError(what, where=str(path), hint=hint)
    if not os.access(_nearest_folder(path), os.W_OK | os.X_OK):
        raise DataError("cannot be written", where=str(path), hint="check who may write there")
    refuse_locked(path)


def refuse_overwriting(path: object, inputs: Iterable[object], what: str = "the output") -> None:
    """Raises where a file that is read, or would be once it is there, would be written."""
    files = [Path(given) for given in inputs if isinstance(given, str | Path)]
    if isinstance(path, str | Path) and any(is_read_from(file, Path(path)) for file in files):
        raise UsageError(f"{what} is an input", where=str(path), hint="name another file")


def _refuse_no_file(path: str | Path) -> None:
    refuse_address(path)
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        kind = "a folder" if target.is_dir() else "a device or a pipe"
        raise DataError(f"this is {kind}, not a file", where=str(path), hint="name a file")


def _nearest_folder(path: str | Path) -> Path:
    """The folder that the target is to be in, or the nearest above it that exists."""
    return next(place for place in Path(os.path.realpath(path)).parents if place.exists())


def compact_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A copy of the rows alone: a column may carry more, which must not go with a release.

    Such as categories that no row has, what it is a slice of, notes in its schema.

    >>> words = pa.DictionaryArray.from_arrays([1, 1], ["never", "used"])
    >>> compact_batch(pa.record_batch({"a": words})).column(0).dictionary.to_pylist()
    ['used']
    """
    columns = [compact_array(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=compact_schema(batch.schema))


def compact_table(table: pa.Table) -> pa.Table:
    """Compacts a table: one dictionary per column."""
    batches = [compact_batch(batch) for batch in table.to_batches()]
    return pa.Table.from_batches(batches, compact_schema(table.schema)).unify_dictionaries()


def compact_schema(schema: pa.Schema) -> pa.Schema:
    """A schema with names and types only, without metadata except the type that a database uses."""
    noted = [(field, (field.metadata or {}).get(SQL_TYPE, b"")) for field in schema]
    return pa.schema(
        _compact_field(field).with_metadata(
            {SQL_TYPE: kind} if DATABASE_TYPE.fullmatch(kind) else None
        )
        for field, kind in noted
    )


def _compact_field(field: pa.Field) -> pa.Field:
    """A field without metadata, including the fields within it."""
    return field.remove_metadata().with_type(_compact_type(field.type))


def _compact_type(kind: pa.DataType) -> pa.DataType:
    """A type without notes at the fields of lists and structures."""
    if types.is_struct(kind):
        return pa.struct([_compact_field(kind.field(at)) for at in range(kind.num_fields)])
    if types.is_map(kind):
        fields = (_compact_field(field) for field in (kind.key_field, kind.item_field))
        return pa.map_(*fields, keys_sorted=kind.keys_sorted)
    if types.is_fixed_size_list(kind):
        return pa.list_(_compact_field(kind.value_field), kind.list_size)
    if types.is_large_list(kind):
        return pa.large_list(_compact_field(kind.value_field))
    return pa.list_(_compact_field(kind.value_field)) if types.is_list(kind) else kind


def compact_array(column: pa.Array) -> pa.Array:
    """A copy of the values alone; of a dictionary the values that occur, in their order.

    >>> words = pa.DictionaryArray.from_arrays([1, 1], ["never", "used"])
    >>> compact_array(pa.ListArray.from_arrays([0, 2], words)).values.dictionary.to_pylist()
    ['used']
    """
    kind = column.type
    if types.is_dictionary(kind):
        code = column.indices.cast(pa.int64()).fill_null(-1).to_numpy()
        used = np.unique(code[code >= 0])
        index = pa.array(np.searchsorted(used, code), kind.index_type, mask=code < 0)
        values = compact_array(column.dictionary.take(pa.array(used)))
        return pa.DictionaryArray.from_arrays(index, values, ordered=kind.ordered)
    if kind in VIEWS:
        return compact_array(column.cast(VIEWS[kind])).cast(kind)
    column = column.take(pa.array(np.arange(len(column))))
    plain, missing = _compact_type(kind), column.is_null()
    if types.is_struct(kind) and kind.num_fields:
        parts = [compact_array(part) for part in column.flatten()]
        return pa.StructArray.from_arrays(parts, fields=list(plain), mask=missing)
    if types.is_map(kind):
        parts = [compact_array(part) for part in (column.keys, column.items)]
        return pa.MapArray.from_arrays(column.offsets, *parts, plain, mask=missing)
    if types.is_list(kind) or types.is_large_list(kind):
        make = pa.ListArray if types.is_list(kind) else pa.LargeListArray
        return make.from_arrays(column.offsets, compact_array(column.values), plain, mask=missing)
    if types.is_fixed_size_list(kind):
        values = compact_array(column.values)
        return pa.FixedSizeListArray.from_arrays(values, type=plain, mask=missing)
    return column


def take_rows(table: pa.Table, order: Ints) -> pa.Table:
    """Selects rows in an order, also for string views, which Arrow itself does not support."""
    plain = pa.schema(field.with_type(VIEWS.get(field.type, field.type)) for field in table.schema)
    return table.cast(plain).take(pa.array(order)).cast(table.schema)


class CsvText:
    """Record batches as lines of CSV, quoting only the fields that need it.

    NaN is written as a missing value: an empty field.

    >>> text = CsvText(["a", "b"], ",")
    >>> text.lines(pa.record_batch({"a": ["x, y", None], "b": [1.5, float("nan")]})).to_pylist()
    ['"x, y",1.5', ',']
    """

    def __init__(self, names: Sequence[str], delimiter: str) -> None:
        self.delimiter = delimiter
        # A row of one empty field would be a blank line, which many readers skip.
        self.missing = '""' if len(names) == 1 else ""
        self.special = f'["\r\n{re.escape(delimiter)}]|^\\s|\\s$|^$'
        self.header = delimiter.join(self._fields(pa.array(names, pa.string())).to_pylist())

    def lines(self, batch: pa.RecordBatch) -> pa.Array:
        """The rows of a batch, without line ends."""
        columns = [self._fields(column) for column in batch.columns]
        return pc.binary_join_element_wise(*columns, self.delimiter)

    def _fields(self, column: pa.Array) -> pa.Array:
        if types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        text = column.cast(pa.string())
        if self._may_need_quotes(text):
            special = pc.match_substring_regex(text, self.special)
            doubled = pc.replace_substring(text, '"', '""')
            quoted = pc.binary_join_element_wise('"', doubled, '"', "")
            text = pc.if_else(special, quoted, text)
        return pc.fill_null(text, self.missing)

    def _may_need_quotes(self, text: pa.Array) -> bool:
        """Whether to look closer: most columns have none of these characters anywhere."""
        letters, start, stop = _join_bytes(text)
        at = np.frombuffer(letters, np.uint8)
        return bool(
            any(mark in letters for mark in (b'"', b"\r", b"\n", self.delimiter.encode()))
            or pc.min(pc.binary_length(text)).as_py() == 0
            or np.isin(at[np.append(start, stop - 1)], BLANKS).any()
        )


def _join_bytes(text: pa.Array) -> tuple[bytes, Ints, Ints]:
    """All bytes of a column of texts, and where each text that is not empty begins and ends."""
    if not len(text):
        return b"", np.zeros(0, np.int64), np.zeros(0, np.int64)
    _, offsets, data = text.buffers()
    ends = np.frombuffer(offsets, np.int32, len(text) + 1, 4 * text.offset).astype(np.int64)
    ends, first = ends - ends[0], int(ends[0])
    letters = data[first : first + int(ends[-1])].to_pybytes() if data is not None else b""
    full = np.flatnonzero(np.diff(ends))
    return letters, ends[full], ends[full + 1]


class CsvWriter:
    """Writes record batches as a CSV file, packed where its name says so."""

    def __init__(self, path: Path, schema: pa.Schema, delimiter: str) -> None:
        self.stored = path.open("wb")
        self.file: Any = self.stored
        if path.suffix.lower() == ".gz":  # equal text, equal bytes
            self.file = gzip.GzipFile("", "wb", 6, self.stored, mtime=0)
        elif path.suffix.lower() == ".zst":
            self.file = pa.CompressedOutputStream(self.stored, "zstd")
        self.text = CsvText(schema.names, delimiter)
        self.file.write(self.text.header.encode() + b"\n")

    def close(self) -> None:
        """Ends the file."""
        self.file.close()
        self.stored.close()

    def write(self, batch: pa.RecordBatch) -> None:
        """Appends the rows of a batch."""
        if batch.num_rows:
            lines, hint = self.text.lines(batch), "write a .parquet file"
            if pc.max(pc.binary_length(lines)).as_py() > LINE:
                raise DataError(f"a row is longer than {LINE:,} bytes", where="CSV", hint=hint)
            if b"\0" in _join_bytes(lines)[0]:
                raise DataError("a text holds a null byte", where="CSV", hint=hint)
            self.file.write(pc.binary_join_element_wise(lines, "", "\n").buffers()[2])


class ArrowWriter:
    """Writes record batches as an Arrow file, whose columns have one growing dictionary each."""

    def __init__(self, path: Path, schema: pa.Schema, delimiter: str) -> None:
        options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
        opened = pa.ipc.new_stream if suffix_of(path) == ".arrows" else pa.ipc.new_file
        self.writer = opened(path, schema, options=options)
        self.schema = schema
        self.dictionaries: dict[str, pa.Array] = {}

    def close(self) -> None:
        """Ends the file."""
        self.writer.close()

    def write(self, batch: pa.RecordBatch) -> None:
        """Appends the rows of a batch."""
        columns = [
            self._extend(*named) if types.is_dictionary(named[1].type) else named[1]
            for named in zip(self.schema.names, batch.columns, strict=True)
        ]
        self.writer.write(pa.RecordBatch.from_arrays(columns, schema=self.schema))

    def _extend(self, name: str, column: pa.DictionaryArray) -> pa.DictionaryArray:
        words, kind = column.dictionary, column.type
        known = self.dictionaries.setdefault(name, words)
        if known is words:
            return column
        fresh = words.filter(pc.invert(pc.is_in(words, known)))
        if len(fresh):
            known = self.dictionaries[name] = pa.concat_arrays([known, fresh])
        indices = pc.index_in(words, known).take(column.indices).cast(kind.index_type)
        return pa.DictionaryArray.from_arrays(indices, known, ordered=kind.ordered)


Writer = Callable[[Path, pa.Schema, str], Any]
WRITERS: dict[str, Writer] = {
    **{
        f".{kind}{packed}": CsvWriter
        for kind, packed in product(("csv", "tsv", "txt"), ("", *PACKED))
    },
    **dict.fromkeys((".parquet", ".pq"), lambda path, schema, _: pq.ParquetWriter(path, schema)),
    **dict.fromkeys((".arrow", ".arrows", ".feather", ".ipc"), ArrowWriter),
    ".xlsx": SheetWriter,
    **dict.fromkeys((".dta", ".sav", ".zsav"), StatisticsWriter),
}


def writer_for(path: str | Path) -> Writer:
    """The writer for a file of this name; raises if its suffix names no kind of table."""
    writer = WRITERS.get(suffix_of(path))
    if writer is None:
        hint = "end it in .csv, .tsv, .parquet, .arrow, .xlsx, .dta or .sav; text also in .csv.gz"
        raise DataError("unknown kind of file", where=str(path), hint=hint)
    return writer


def refuse_unknown_kind(path: str | Path) -> None:
    """Raises where the end of a name says no kind of table that can be written here."""
    if writer_for(path) is SheetWriter and find_spec("openpyxl") is None:
        raise needs_openpyxl(path)
    if writer_for(path) is StatisticsWriter and not can_write_statistics():
        raise needs_pyreadstat(path)


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
    elif writer is StatisticsWriter:
        refuse_in_statistics(path, schema)
    elif writer is not ArrowWriter:
        _refuse_in_parquet(schema)


def tells_gaps_from_texts(path: str | Path) -> bool:
    """Whether files of this kind distinguish an empty text from a missing value."""
    return writer_for(path) not in (CsvWriter, SheetWriter, StatisticsWriter)


def _refuse_in_text(schema: pa.Schema) -> None:
    for field in schema:
        name, where = field.name, f"column {field.name!r}"
        kind = field.type.value_type if types.is_dictionary(field.type) else field.type
        if not any(is_kind(kind) for is_kind in TELLABLE):
            what = f"a CSV file has no text for {field.type}"
            raise DataError(what, where=where, hint="write a .parquet file")
        if name != name.strip() or "\0" in name or name.startswith("\ufeff"):
            what = "a CSV file cannot hold this name, which begins or ends with a space"
            hint = "rename it, or write a .parquet file"
            raise DataError(what, where=where, hint=hint)


def _refuse_in_parquet(schema: pa.Schema) -> None:
    for field in schema:
        gap = pa.table([pa.nulls(1, field.type)], pa.schema([field.with_nullable(True)]))
        try:
            pq.write_table(gap, pa.BufferOutputStream())
        except (pa.ArrowException, OSError):
            what, hint = f"a Parquet file cannot hold {field.type}", "write an .arrow file"
            raise DataError(what, where=f"column {field.name!r}", hint=hint) from None
