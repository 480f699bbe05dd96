"""Files that Spark reads: folders and patterns of Parquet, and CSV as text, as DuckDB reads it."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import functions

from tclose.data.engines.files.csv import SAMPLE, Dialect, copy_as_utf8, sniff_sample
from tclose.data.engines.spark.frames import explain_errors, get_column
from tclose.data.engines.spark.lines import INSIDE, LOOK, WRONG, follow_looks, look_at_lines
from tclose.data.engines.spark.paths import SparkPath
from tclose.data.engines.spark.rows import map_batches
from tclose.data.engines.spark.session import get_session
from tclose.data.io.counting import hash_files
from tclose.data.io.files import Scratch
from tclose.data.io.paths import PACKED, find_files, kind_of
from tclose.data.io.reading import AS_FOUND, Reading
from tclose.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


SHORT = 1 << 16
Hash = Callable[[], str] | None


class SparkRead(NamedTuple):
    """What was read from files, and what is known about them."""

    frame: DataFrame
    name: str
    hashed: Hash
    scratch: Scratch | None = None
    delimiter: str = ","
    notes: tuple[str, ...] = ()


def read_path(path: str | Path, reading: Reading) -> SparkRead:
    """The table in a file, in the files of a folder, or in those that a pattern matches."""
    with explain_errors(str(path)):
        return read_place(SparkPath.from_user(get_session(reading.memory), path), reading)


def read_place(place: SparkPath, reading: Reading = AS_FOUND) -> SparkRead:
    """The table at a place; of files on this machine, what DuckDB would take for it."""
    if place.local is not None:
        found = find_files(place.local)
        kind, single = found.kind, found.single
        files = [SparkPath(place.session, str(path)) for path in found.paths]
        hashed = partial(hash_files, found)
    else:
        files, hashed, single = place.files(), None, False
        if not files:
            raise DataError("there is no such file", where=place.text, hint="check the path")
        kind = kind_of(Path(files[0].name))
    if kind == "parquet":
        return read_parquet(place, hashed, single=single)
    if kind == "text":
        return read_csv(place, files, hashed, reading)
    raise DataError(
        f"Spark does not read {kind.title()} files",
        where=place.name,
        hint="read it with --engine duckdb",
    )


def read_parquet(place: SparkPath, hashed: Hash, *, single: bool) -> SparkRead:
    """A table of Parquet files, columns united by name."""
    text = place.literal if place.exists() else place.text
    frame = place.session.read.option("mergeSchema", not single).parquet(text)
    return SparkRead(frame, place.name, hashed)


def read_csv(
    place: SparkPath, files: Sequence[SparkPath], hashed: Hash, reading: Reading
) -> SparkRead:
    """A table of CSV files with one header; every field is text."""
    _refuse_packed(place, files)
    dialect, line_end = _dialect(files, reading)
    scratch: Scratch | None = None
    paths = [file.literal for file in files]
    if not dialect.is_plain:
        scratch = Scratch()
        paths = [_copy_as_utf8(files, dialect, place, Path(scratch.name) / "table.csv")]
    frame = _rows(place, paths, dialect, line_end, reading.nulls)
    return SparkRead(frame, place.name, hashed, scratch, dialect.delimiter, dialect.notes)


def _refuse_packed(place: SparkPath, files: Sequence[SparkPath]) -> None:
    """Raises for text that DuckDB reads and Spark does not, or not alike."""
    below = [file.text.removeprefix(place.text) for file in files]
    if any("=" in folder for text in below for folder in text.split("/")[:-1]):
        what = "Spark reads no CSV files whose folders name columns"
    elif any(Path(file.name).suffix.lower() in PACKED for file in files):
        what = "Spark reads no packed CSV files"
    else:
        return
    raise DataError(what, where=place.name, hint="read them with --engine duckdb")


def _dialect(files: Sequence[SparkPath], reading: Reading) -> tuple[Dialect, str]:
    """How the files are written, and what ends their lines; raises unless all are alike."""
    with explain_errors(files[0].name):
        first = files[0].beginning(SAMPLE)
        rest = [(file, file.beginning(SHORT)) for file in files[1:]]
    dialect = sniff_sample(
        first, files[0].name, encoding=reading.encoding, delimiter=reading.delimiter
    )
    for file, sample in rest:
        other = sniff_sample(
            sample, file.name, encoding=dialect.encoding, delimiter=dialect.delimiter, most=SHORT
        )
        if (other.header, other.header_lines) != (dialect.header, dialect.header_lines):
            raise DataError(
                f"its header is not that of {files[0].name}",
                where=file.name,
                hint="files of one table have one header",
            )
    return dialect, _line_end(first.decode(dialect.encoding, "ignore"), dialect.header_lines)


def _line_end(text: str, header_lines: int) -> str:
    """What ends the header, and so the rows.

    >>> _line_end("a\\r\\n1", 1) == "\\r\\n", _line_end("a", 1) == "\\n"
    (True, True)
    """
    header = list(islice(io.StringIO(text, newline=""), header_lines))[-1]
    return header[len(header.rstrip("\r\n")) :][-2:] or "\n"


def _copy_as_utf8(
    files: Sequence[SparkPath], dialect: Dialect, place: SparkPath, target: Path
) -> str:
    """A copy in UTF-8 with a header of one line, where all workers are on this machine."""
    local = files[0].local if len(files) == 1 else None
    if local is None or not place.session.sparkContext.master.startswith("local"):
        raise DataError(
            "Spark reads CSV only as UTF-8 with a header of one line",
            where=place.name,
            hint="convert it first, or read it with --engine duckdb",
        )
    return str(copy_as_utf8(local, dialect, target))


def _rows(
    place: SparkPath, paths: list[str], dialect: Dialect, line_end: str, nulls: Sequence[str]
) -> Any:
    across = _refuse_untidy(place, paths, dialect)
    schema = ", ".join(f"`{name.replace('`', '``')}` STRING" for name in dialect.header)
    options = {
        "sep": dialect.delimiter,
        "quote": '"',
        "escape": '"',
        "header": dialect.is_plain,
        "encoding": "UTF-8",
        "multiLine": across,
        "mode": "FAILFAST",
        # A row with too few fields is one, whichever columns are asked for.
        "columnPruning": False,
        "unescapedQuoteHandling": "RAISE_ERROR",
        "maxColumns": len(dialect.header) + 1,
    }
    if across:
        # Left to itself, Spark takes line ends inside of fields for those between rows.
        options["lineSep"] = line_end
    with explain_errors(place.name):
        read = place.session.read.schema(schema).options(**options).csv(paths)
        return read.select(*_with_nulls(dialect.header, nulls))


def _with_nulls(header: Iterable[str], nulls: Sequence[str]) -> list[Any]:
    """The columns, some words of which mean that there is no value."""
    return [
        functions.when(~get_column(name).isin(*nulls), get_column(name)).alias(name)
        for name in header
    ]


def _refuse_untidy(place: SparkPath, paths: list[str], dialect: Dialect) -> bool:
    """Raises for what Spark would read as something else; says whether rows run across lines."""
    with explain_errors(place.name):
        lines = place.session.read.text(paths).select(
            functions.col("_metadata.file_path"),
            functions.col("_metadata.file_block_start"),
            "value",
            functions.is_valid_utf8("value"),
        )
        looks = map_batches(lines, look_at_lines(dialect.delimiter), LOOK).collect()
    if any(look.bad for look in looks):
        raise DataError("not UTF-8 text", where=place.name, hint="give --encoding, such as latin-1")
    if len(dialect.header) == 1 and any(look.blank for look in looks):
        raise DataError(
            "a blank line in a table of one column", where=place.name,
            hint='write "" where a value is missing',
        )  # fmt: skip
    across, end = follow_looks(looks)
    if end == INSIDE:
        raise DataError("a quoted field is not closed", where=place.name, hint="mend the quotes")
    if end == WRONG:
        raise DataError(
            "text stands beside a quoted field", where=place.name, hint="mend the quotes"
        )
    return across
