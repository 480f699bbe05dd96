"""Tables, texts and folders that appear whole or not at all, and what each kind of file can hold.

They are written beside their target and then moved into place; what a kind of file would lose or
change is refused before any work.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tclose.data.io.excel_writer import (
    SheetWriter,
    needs_openpyxl,
    refuse_in_sheet,
    refuse_too_large,
)
from tclose.data.io.paths import is_read_from, refuse_address, suffix_of
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
BLANKS = np.frombuffer(b" \t\n\v\f\r", np.uint8)


def write_atomically(path: str | Path, write: Callable[[Path], T]) -> T:
    """Lets `write` fill a temporary file beside the target and moves it there once it is whole.

    The temporary file has the target's suffix, so that `write` may read back what it has written
    and raise where that is not right; what it returns is returned. A process that is killed leaves
    at most a hidden `.part`.
    """

    def make_file(target: Path) -> Path:
        end = suffix_of(target)
        prefix, suffix = f".{target.name.removesuffix(end)}.", f".part{end}"
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=suffix, dir=target.parent)
        os.close(handle)
        return Path(name)

    _refuse_no_file(path)
    return _fill(path, make_file, write, 0o666)


def write_folder(path: str | Path, write: Callable[[Path], T]) -> T:
    """The same for a new folder, which `write` puts files into.

    >>> place = Path(tempfile.mkdtemp()) / "release"
    >>> written = write_folder(place, lambda part: (part / "a.txt").write_text("whole"))
    >>> [file.name for file in place.iterdir()]
    ['a.txt']
    """

    def make_folder(target: Path) -> Path:
        return Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))

    refuse_folder(path)
    return _fill(path, make_folder, write, 0o777)


def _fill(
    path: str | Path, make: Callable[[Path], Path], write: Callable[[Path], T], rights: int
) -> T:
    target = Path(os.path.realpath(path))
    part: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = make(target)
        result = write(part)
        for file in part.iterdir() if part.is_dir() else (part,):
            with file.open("rb") as written:
                os.fsync(written.fileno())
        part.chmod(rights & ~_umask())
        part.replace(target)
    except BaseException as error:
        if part is not None and part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        elif part is not None:
            part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _not_written(error, path) from None
        raise
    return result


def write_text(path: str | Path, text: str) -> Path:
    """A text file, whole or not at all."""
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8"))
    return Path(path)


def write_table(
    path: str | Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch], *, delimiter: str = ","
) -> Path:
    """A file of any kind that can be written (by its name), whole or not at all."""
    write_checked_table(path, schema, batches, lambda part: None, delimiter=delimiter)
    return Path(path)


def write_checked_table(
    path: str | Path,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    check: Callable[[Path], T],
    *,
    delimiter: str = ",",
) -> T:
    """The same after `check` has read it back, and what that found; nothing where it raises."""
    open_writer = writer_for(path)

    def write(part: Path) -> T:
        with open_writer(part, compact_schema(schema), delimiter) as writer:
            for batch in batches:
                writer.write(compact_batch(batch))
        return check(part)

    return write_atomically(path, write)


class Scratch:
    """A private folder that is removed with the last reference to it."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="tclose-")
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


def delimiter_for(path: str | Path, usual: str = ",") -> str:
    """What separates the fields of a text file: a tab where its suffix does not say CSV."""
    return usual if suffix_of(path).startswith(".csv") else "\t"


def refuse_unwritable(path: str | Path) -> None:
    """Raises where no file could be written there, before any work is done for it."""
    _refuse_no_file(path)
    try:
        with tempfile.TemporaryFile(dir=_nearest_folder(path)):
            pass
    except OSError as error:
        raise _not_written(error, path) from None


def refuse_folder(path: str | Path) -> None:
    """Raises where no new folder could be made there, before any work is done for it."""
    refuse_address(path)
    target = Path(os.path.realpath(path))
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError(
            "this exists already, and is not an empty folder",
            where=str(path),
            hint="name a new folder; nothing is overwritten",
        )
    if not os.access(_nearest_folder(path), os.W_OK | os.X_OK):
        raise DataError("cannot be written", where=str(path), hint="check who may write there")


def refuse_overwriting(path: object, inputs: Iterable[object], what: str = "the output") -> None:
    """Raises where a file that is read would be written: it is never harmed, not even by a typo.

    A new file in a folder that is read, or one that a pattern would match, would be read as well.
    """
    if not isinstance(path, str | Path):
        return  # an address in a database
    if any(
        is_read_from(Path(given), Path(path)) for given in inputs if isinstance(given, str | Path)
    ):
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


def _not_written(error: OSError, path: str | Path) -> DataError:
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    return DataError(
        f"cannot be written ({reason})",
        where=str(path),
        hint="check the folder, who may write there, and the space left",
    )


def _umask() -> int:
    """The rights that new files do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def compact_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A copy of the rows alone: a column in memory may carry more than its rows.

    Such as categories that no row has, the rest of a longer column that it is a slice of, notes in
    its schema. None of that may be passed on with a release.

    >>> words = pa.DictionaryArray.from_arrays([1, 1], ["never", "used"])
    >>> compact_batch(pa.record_batch({"a": words})).column(0).dictionary.to_pylist()
    ['used']
    """
    columns = [compact_array(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=compact_schema(batch.schema))


def compact_table(table: pa.Table) -> pa.Table:
    """The same for a table, in one dictionary per column."""
    batches = [compact_batch(batch) for batch in table.to_batches()]
    return pa.Table.from_batches(batches, compact_schema(table.schema)).unify_dictionaries()


def compact_schema(schema: pa.Schema) -> pa.Schema:
    """Names and types, without what is noted beside them but a type that a database has for it."""
    fields = []
    for field in schema:
        noted = (field.metadata or {}).get(SQL_TYPE, b"")
        kept = {SQL_TYPE: noted} if DATABASE_TYPE.fullmatch(noted) else None
        fields.append(field.with_metadata(kept) if kept else field.remove_metadata())
    return pa.schema(fields)


def compact_array(column: pa.Array) -> pa.Array:
    """A copy of the values alone; of a dictionary the values that occur, in their order."""
    if types.is_dictionary(column.type):
        code = column.indices.cast(pa.int64()).fill_null(-1).to_numpy()
        used = np.unique(code[code >= 0])
        index = pa.array(np.searchsorted(used, code), column.type.index_type, mask=code < 0)
        values = compact_array(column.dictionary.take(pa.array(used)))
        return pa.DictionaryArray.from_arrays(index, values, ordered=column.type.ordered)
    if column.type in VIEWS:
        return compact_array(column.cast(VIEWS[column.type])).cast(column.type)
    return column.take(pa.array(np.arange(len(column))))


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
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        text = column.cast(pa.string())
        if not self._may_need_quotes(text):
            return pc.fill_null(text, self.missing)
        special = pc.match_substring_regex(text, self.special)
        if pc.any(special).as_py():
            doubled = pc.replace_substring(text, '"', '""')
            quoted = pc.binary_join_element_wise('"', doubled, '"', "")
            text = pc.if_else(special, quoted, text)
        return pc.fill_null(text, self.missing)

    def _may_need_quotes(self, text: pa.Array) -> bool:
        """Whether to look closer: most columns have none of these characters anywhere."""
        letters, start, stop = _join_bytes(text)
        if any(mark in letters for mark in (b'"', b"\r", b"\n", self.delimiter.encode())):
            return True
        if pc.min(pc.binary_length(text)).as_py() == 0:
            return True
        at = np.frombuffer(letters, np.uint8)
        return bool(np.isin(at[start], BLANKS).any() or np.isin(at[stop - 1], BLANKS).any())


def _join_bytes(text: pa.Array) -> tuple[bytes, NDArray[np.int64], NDArray[np.int64]]:
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
        self.file = _packing(path.suffix.lower(), self.stored)
        self.text = CsvText(schema.names, delimiter)
        self.file.write(self.text.header.encode() + b"\n")

    def __enter__(self) -> CsvWriter:
        return self

    def __exit__(self, *raised: object) -> None:
        self.file.close()
        self.stored.close()

    def write(self, batch: pa.RecordBatch) -> None:
        """Appends the rows of a batch."""
        if batch.num_rows:
            lines = self.text.lines(batch)
            _refuse_odd_lines(lines)
            lines = pc.binary_join_element_wise(lines, "", "\n")
            self.file.write(lines.buffers()[2])


def _packing(suffix: str, file: IO[bytes]) -> Any:
    """A file to write text to; equal text, equal bytes."""
    if suffix == ".gz":
        return gzip.GzipFile("", "wb", 6, file, mtime=0)
    return pa.CompressedOutputStream(file, "zstd") if suffix == ".zst" else file


def _refuse_odd_lines(lines: pa.Array) -> None:
    """Raises where a row could not be read back."""
    if pc.max(pc.binary_length(lines)).as_py() > LINE:
        raise DataError(
            f"a row is longer than {LINE:,} bytes", where="CSV", hint="write a .parquet file"
        )
    if b"\0" in _join_bytes(lines)[0]:
        raise DataError("a text holds a null byte", where="CSV", hint="write a .parquet file")


class ArrowWriter:
    """Writes record batches as an Arrow file, whose columns have one growing dictionary each."""

    def __init__(self, path: Path, schema: pa.Schema, delimiter: str) -> None:
        options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
        opened = pa.ipc.new_stream if suffix_of(path) == ".arrows" else pa.ipc.new_file
        self.writer = opened(path, schema, options=options)
        self.schema = schema
        self.dictionaries: dict[str, pa.Array] = {}

    def __enter__(self) -> ArrowWriter:
        return self

    def __exit__(self, *raised: object) -> None:
        self.writer.close()

    def write(self, batch: pa.RecordBatch) -> None:
        """Appends the rows of a batch."""
        columns = [
            self._extend(field.name, batch.column(at)) if pa.types.is_dictionary(field.type)
            else batch.column(at)
            for at, field in enumerate(self.schema)
        ]  # fmt: skip
        self.writer.write(pa.RecordBatch.from_arrays(columns, schema=self.schema))

    def _extend(self, name: str, column: pa.DictionaryArray) -> pa.DictionaryArray:
        known = self.dictionaries.get(name)
        if known is None:
            self.dictionaries[name] = column.dictionary
            return column
        fresh = column.dictionary.filter(pc.invert(pc.is_in(column.dictionary, known)))
        grown = pa.concat_arrays([known, fresh]) if len(fresh) else known
        self.dictionaries[name] = grown
        place = pc.index_in(column.dictionary, grown).take(column.indices)
        kind = column.type
        indices = place.cast(kind.index_type)
        return pa.DictionaryArray.from_arrays(indices, grown, ordered=kind.ordered)


Writer = Callable[[Path, pa.Schema, str], Any]
WRITERS: dict[str, Writer] = {
    **{
        f".{kind}{packed}": CsvWriter
        for kind in ("csv", "tsv", "txt")
        for packed in ("", ".gz", ".zst")
    },
    **dict.fromkeys((".parquet", ".pq"), lambda path, schema, _: pq.ParquetWriter(path, schema)),
    **dict.fromkeys((".arrow", ".arrows", ".feather", ".ipc"), ArrowWriter),
    ".xlsx": SheetWriter,
}


def writer_for(path: str | Path) -> Writer:
    """What writes a file of this name; raises where its end names no kind of table."""
    writer = WRITERS.get(suffix_of(path))
    if writer is None:
        raise DataError(
            "unknown kind of file",
            where=str(path),
            hint="end it in .csv, .tsv, .parquet, .arrow or .xlsx; text also in .csv.gz, .csv.zst",
        )
    return writer


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
        name, where = field.name, f"column {field.name!r}"
        if not _has_text(field.type):
            what = f"a CSV file has no text for {field.type}"
            raise DataError(what, where=where, hint="write a .parquet file")
        if name != name.strip() or "\0" in name or name.startswith("\ufeff"):
            raise DataError(
                "a CSV file cannot hold this name, which begins or ends with a space",
                where=where,
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
