"""Files that Spark reads: folders and patterns of Parquet, and CSV as text, as DuckDB reads it.

Before CSV is read, its lines are looked at: do rows run across them, are quotes right? A line leads
from a state, outside or inside a quoted field, to another. Workers compose what their lines do from
either state, and the driver follows every file from its first line to its last.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import functions

from tclose.data.engines.files.csv import SAMPLE, Dialect, copy_as_utf8, sniff_sample
from tclose.data.engines.spark.frames import explain_errors, get_column, map_batches, quote_name
from tclose.data.engines.spark.session import SparkPath, get_session
from tclose.data.io.counting import hash_files
from tclose.data.io.files import Scratch
from tclose.data.io.paths import AS_FOUND, PACKED, Reading, find_files, kind_of
from tclose.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


SHORT = 1 << 16
Hash = Callable[[], str] | None
OUTSIDE, INSIDE, WRONG = 0, 1, 2
LOOK = "file string, start long, after array<int>, inside array<boolean>, bad long, blank long"


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
        text = place.literal if place.exists() else place.text
        frame = place.session.read.option("mergeSchema", not single).parquet(text)
        return SparkRead(frame, place.name, hashed)
    if kind == "text":
        return read_csv(place, files, hashed, reading)
    raise DataError(
        f"Spark does not read {kind.title()} files",
        where=place.name,
        hint="read it with --engine duckdb",
    )


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
    schema = ", ".join(f"{quote_name(name)} STRING" for name in dialect.header)
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
        columns = {name: get_column(name) for name in dialect.header}
        known = [functions.when(~c.isin(*nulls), c).alias(name) for name, c in columns.items()]
        return read.select(*known)


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


class LineLook(NamedTuple):
    """What a run of lines does from each state, and whether it is ever inside a quoted field."""

    after: NDArray[np.int64]
    inside: NDArray[np.bool_]

    def then(self, other: LineLook) -> LineLook:
        """This run of lines and another that follows it."""
        return LineLook(other.after[self.after], self.inside | other.inside[self.after])


class CsvLines:
    """How the lines of a file with this delimiter are understood."""

    def __init__(self, delimiter: str) -> None:
        mark = re.escape(delimiter)
        text = '(?:[^"]|"")*'
        # A space before a quote: for some readers it belongs to the field, for others it does not.
        plain = rf'[^"{mark}\s][^{mark}]*|[^\S{mark}]+(?:[^"{mark}\s][^{mark}]*)?'
        field = rf'(?:"{text}"\s*|{plain}|)'
        rest = rf"(?:{mark}{field})*"
        self.closed = rf"^(?s:{field}{rest})$"
        self.opened = rf'^(?s:(?:{field}{mark})*"{text})$'
        self.within = rf"^(?s:{text})$"
        self.closes = rf'^(?s:{text}"\s*{rest})$'
        self.reopens = rf'^(?s:{text}"\s*{rest}{mark}"{text})$'

    def look(self, lines: pa.Array) -> LineLook:
        """What a run of lines does.

        >>> CsvLines(",").look(pa.array(['a,"b', 'c",d'])).after.tolist()
        [0, 2, 2]
        """
        step = np.full((len(lines), 3), WRONG)
        for state, after, pattern in (
            (OUTSIDE, INSIDE, self.opened),
            (OUTSIDE, OUTSIDE, self.closed),
            (INSIDE, INSIDE, self.reopens),
            (INSIDE, OUTSIDE, self.closes),
            (INSIDE, INSIDE, self.within),
        ):
            step[np.asarray(pc.match_substring_regex(lines, pattern)), state] = after
        width = 1
        while width < len(step):
            step[width:] = np.take_along_axis(step[width:], step[:-width], axis=1)
            width *= 2
        return LineLook(step[-1], (step == INSIDE).any(axis=0))


def look_at_lines(delimiter: str) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """How a worker looks at lines: it is given their file, their block's start, text, validity."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        lines = CsvLines(delimiter)
        found: dict[tuple[str, int], tuple[LineLook, int, int]] = {}
        for batch in batches:
            for file, start, text, valid in _runs(batch):
                bad = len(valid) - (pc.sum(valid).as_py() or 0)
                blank = pc.sum(pc.equal(text, "")).as_py() or 0
                look = lines.look(pc.if_else(valid, text, ""))
                if (file, start) in found:
                    before, some, more = found[file, start]
                    look, bad, blank = before.then(look), bad + some, blank + more
                found[file, start] = look, bad, blank
        for (file, start), (look, bad, blank) in found.items():
            after = pa.array([look.after.tolist()], pa.list_(pa.int32()))
            yield pa.record_batch(
                [[file], [start], after, [look.inside.tolist()], [bad], [blank]],
                ["file", "start", "after", "inside", "bad", "blank"],
            )

    return work


def _runs(batch: pa.RecordBatch) -> Iterator[tuple[str, int, pa.Array, pa.Array]]:
    """The lines of a batch, block by block."""
    file, start, text, valid = batch.columns
    names, starts = file.dictionary_encode().indices.to_numpy(), start.to_numpy()
    new = np.append(True, (names[1:] != names[:-1]) | (starts[1:] != starts[:-1]))
    ends = np.append(np.flatnonzero(new), len(new))
    for at, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        size = end - at
        yield file[at].as_py(), int(starts[at]), text.slice(at, size), valid.slice(at, size)


def follow_looks(looks: Sequence[Any]) -> tuple[bool, int]:
    """Whether rows run across lines, and the state after the last line of the worst file."""
    across, worst = False, OUTSIDE
    file, state = None, OUTSIDE
    for seen in sorted(looks, key=lambda look: (look.file, look.start)):
        if seen.file != file:
            worst, state, file = max(worst, state), OUTSIDE, seen.file
        across = across or seen.inside[state]
        state = seen.after[state]
    return across, max(worst, state)
