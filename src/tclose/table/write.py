"""Files that appear whole or not at all: written beside their target, then moved into place."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tclose.errors import DataError, UsageError


def write_atomically(path: str | Path, write: Callable[[Path], None]) -> Path:
    """Lets `write` fill a temporary file beside the target and moves it there once it is whole.

    The temporary file has the target's suffix, so that `write` may read back what it has written
    and raise where that is not right. A process that is killed leaves at most a hidden `.part`.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_atomically(folder / "a.txt", lambda part: part.write_text("whole") and None).name
    'a.txt'
    """
    target = Path(os.path.realpath(path))
    _refuse_no_file(target, path)
    part: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(
            prefix=f".{target.stem}.", suffix=f".part{target.suffix}", dir=target.parent
        )
        os.close(handle)
        part = Path(name)
        write(part)
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.chmod(0o666 & ~umask())
        part.replace(target)
    except OSError as error:
        if part is not None:
            part.unlink(missing_ok=True)
        raise not_written(error, path) from None
    except BaseException:
        if part is not None:
            part.unlink(missing_ok=True)
        raise
    return Path(path)


def write_text(path: str | Path, text: str) -> Path:
    """A text file, whole or not at all."""
    return write_atomically(path, lambda part: _text(part, text))


def write_table(
    path: str | Path,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    *,
    delimiter: str = ",",
    check: Callable[[Path], None] = lambda part: None,
) -> Path:
    """A CSV, Parquet or Arrow file (by its suffix) from record batches, whole or not at all.

    `check` is shown the written file before it is moved into place, and may refuse it by raising.
    """
    opened = _writer(path)

    def write(part: Path) -> None:
        with opened(part, schema, delimiter) as writer:
            for batch in batches:
                writer.write(batch)
        check(part)

    return write_atomically(path, write)


def delimiter_for(path: str | Path, usual: str = ",") -> str:
    """What separates the fields of a text file: a tab where its suffix does not say CSV."""
    return usual if Path(path).suffix.lower() == ".csv" else "\t"


def refuse_unwritable(path: str | Path) -> None:
    """Raises where no file could be written there, before any work is done for it."""
    target = Path(os.path.realpath(path))
    _refuse_no_file(target, path)
    folder = next(place for place in target.parents if place.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise not_written(error, path) from None


def refuse_overwriting(
    path: str | Path, inputs: Iterable[str | Path | None], what: str = "the output"
) -> None:
    """Raises where a file that is read would be written: it is never harmed, not even by a typo."""
    target = Path(path)
    read = [Path(one) for one in inputs if one is not None]
    if target.exists() and any(one.exists() and target.samefile(one) for one in read):
        raise UsageError(f"{what} is an input", where=str(path), hint="name another file")


def refuse_unknown_kind(path: str | Path) -> None:
    """Raises where the suffix names no kind of table that can be written."""
    _writer(path)


def refuse_in_text(path: str | Path, schema: pa.Schema) -> None:
    """Raises where a column has values that a CSV file, if this is one, has no way to write."""
    if _writer(path) is not CsvWriter:
        return
    for one in schema:
        if not _has_text(one.type):
            raise DataError(
                "a CSV file cannot hold lists, structures or bytes",
                where=f"column {one.name!r}",
                hint="write a .parquet file",
            )


def _has_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _has_text(kind.value_type)
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return False
    try:
        pa.array([], kind).cast(pa.string())
    except pa.ArrowException:
        return False
    return True


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
        special = pc.match_substring_regex(text, self.special)
        if pc.any(special).as_py():
            doubled = pc.replace_substring(text, '"', '""')
            quoted = pc.binary_join_element_wise('"', doubled, '"', "")
            text = pc.if_else(special, quoted, text)
        return pc.fill_null(text, self.missing)


class CsvWriter:
    """Writes record batches as a CSV file."""

    def __init__(self, path: Path, schema: pa.Schema, delimiter: str) -> None:
        self.file = path.open("wb")
        self.text = CsvText(schema.names, delimiter)
        self.file.write(self.text.header.encode() + b"\n")

    def __enter__(self) -> CsvWriter:
        return self

    def __exit__(self, *raised: object) -> None:
        self.file.close()

    def write(self, batch: pa.RecordBatch) -> None:
        """Appends the rows of a batch."""
        if batch.num_rows:
            lines = pc.binary_join_element_wise(self.text.lines(batch), "", "\n")
            self.file.write(lines.buffers()[2])


class ArrowWriter:
    """Writes record batches as an Arrow file, whose columns have one growing dictionary each."""

    def __init__(self, path: Path, schema: pa.Schema, delimiter: str) -> None:
        options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
        self.writer = pa.ipc.new_file(path, schema, options=options)
        self.schema = schema
        self.dictionaries: dict[str, pa.Array] = {}

    def __enter__(self) -> ArrowWriter:
        return self

    def __exit__(self, *raised: object) -> None:
        self.writer.close()

    def write(self, batch: pa.RecordBatch) -> None:
        """Appends the rows of a batch."""
        columns = [
            self._grown(one.name, batch.column(at)) if pa.types.is_dictionary(one.type)
            else batch.column(at)
            for at, one in enumerate(self.schema)
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


WRITERS: dict[str, Callable[[Path, pa.Schema, str], Any]] = {
    ".csv": CsvWriter,
    ".tsv": CsvWriter,
    ".txt": CsvWriter,
    ".parquet": _parquet,
    ".pq": _parquet,
    ".arrow": ArrowWriter,
    ".feather": ArrowWriter,
}


def not_written(error: OSError, path: str | Path) -> DataError:
    """What is raised where the system lets nothing be written."""
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    return DataError(
        f"cannot be written ({reason})",
        where=str(path),
        hint="check the folder, who may write there, and the space left",
    )


def _text(part: Path, text: str) -> None:
    part.write_text(text, encoding="utf-8")


def _writer(path: str | Path) -> Callable[[Path, pa.Schema, str], Any]:
    opened = WRITERS.get(Path(path).suffix.lower())
    if opened is None:
        known = ", ".join(WRITERS)
        raise DataError("unknown kind of file", where=str(path), hint=f"end it in one of {known}")
    return opened


def _refuse_no_file(target: Path, path: str | Path) -> None:
    if target.exists() and not target.is_file():
        kind = "a folder" if target.is_dir() else "a device or a pipe"
        raise DataError(f"this is {kind}, not a file", where=str(path), hint="name a file")


def umask() -> int:
    """The rights that new files do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
