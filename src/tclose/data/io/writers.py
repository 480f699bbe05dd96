"""Record batches as files of every kind that can be written, by the end of the name."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tclose.data.io.dialect import LINE
from tclose.data.io.excel_writer import SheetWriter
from tclose.data.io.paths import suffix_of
from tclose.errors import DataError


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
        letters, start, stop = _letters(text)
        if any(mark in letters for mark in (b'"', b"\r", b"\n", self.delimiter.encode())):
            return True
        if pc.min(pc.binary_length(text)).as_py() == 0:
            return True
        at = np.frombuffer(letters, np.uint8)
        return bool(np.isin(at[start], BLANKS).any() or np.isin(at[stop - 1], BLANKS).any())


BLANKS = np.frombuffer(b" \t\n\v\f\r", np.uint8)


def _letters(text: pa.Array) -> tuple[bytes, NDArray[np.int64], NDArray[np.int64]]:
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
    if b"\0" in _letters(lines)[0]:
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
            self._grown(field.name, batch.column(at)) if pa.types.is_dictionary(field.type)
            else batch.column(at)
            for at, field in enumerate(self.schema)
        ]  # fmt: skip
        self.writer.write(pa.RecordBatch.from_arrays(columns, schema=self.schema))

    def _grown(self, name: str, column: pa.DictionaryArray) -> pa.DictionaryArray:
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


def _parquet(part: Path, schema: pa.Schema, delimiter: str) -> Any:
    return pq.ParquetWriter(part, schema)


Writer = Callable[[Path, pa.Schema, str], Any]
WRITERS: dict[str, Writer] = {
    **{
        f".{kind}{packed}": CsvWriter
        for kind in ("csv", "tsv", "txt")
        for packed in ("", ".gz", ".zst")
    },
    **dict.fromkeys((".parquet", ".pq"), _parquet),
    **dict.fromkeys((".arrow", ".arrows", ".feather", ".ipc"), ArrowWriter),
    ".xlsx": SheetWriter,
}


def writer_for(path: str | Path) -> Writer:
    """What writes a file of this name; raises where its end names no kind of table."""
    opened = WRITERS.get(suffix_of(path))
    if opened is None:
        raise DataError(
            "unknown kind of file",
            where=str(path),
            hint="end it in .csv, .tsv, .parquet, .arrow or .xlsx; text also in .csv.gz, .csv.zst",
        )
    return opened
