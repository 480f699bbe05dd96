"""Files that Spark reads: folders and patterns of Parquet, and CSV as text, as DuckDB reads it.

Before CSV is read, its lines are looked at: do rows run across them, are quotes right? A line leads
from a state, outside or inside a quoted field, to another. Workers compose what runs of lines do
from either state, and the driver follows every file from its first run to its last.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions

from tclose.arrays import Flags, Ints
from tclose.data.engines.files.csv import SAMPLE, Dialect, copy_as_utf8, sniff_sample
from tclose.data.engines.spark.frames import explain_errors, get_column, map_batches, quote_name
from tclose.data.engines.spark.session import SparkPath, get_session
from tclose.data.engines.spark.source import SparkSource, make_source
from tclose.data.io.counting import Batches, hash_files
from tclose.data.io.paths import PACKED, Reading, find_files, kind_of
from tclose.data.io.scratch import Scratch
from tclose.errors import DataError

SHORT = 1 << 16
Hash = Callable[[], str] | None
OUTSIDE, INSIDE, WRONG = 0, 1, 2
RUN = "file string, start long, after array<int>, inside array<boolean>, bad long, blank long"


def open_spark_path(path: str | Path, reading: Reading) -> SparkSource:
    """The table in a file, in the files of a folder, or in files that match a pattern."""
    with explain_errors(str(path)):
        return read_place(SparkPath.from_user(get_session(reading.memory), path), reading)


def read_place(place: SparkPath, reading: Reading) -> SparkSource:
    """The table at a location; files on this machine are read as DuckDB reads them."""
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
        return make_source(frame, place.name, hashed=hashed)
    if kind == "text":
        return read_csv(place, files, hashed, reading)
    hint = "read it with --engine duckdb"
    raise DataError(f"Spark does not read {kind.title()} files", where=place.name, hint=hint)


def read_csv(
    place: SparkPath, files: Sequence[SparkPath], hashed: Hash, reading: Reading
) -> SparkSource:
    """A table of CSV files with one header; every field is text."""
    below, hint = [file.text.removeprefix(place.text) for file in files], "--engine duckdb"
    if any("=" in folder for text in below for folder in text.split("/")[:-1]):
        what = "Spark reads no CSV files whose folders name columns"
        raise DataError(what, where=place.name, hint=f"read them with {hint}")
    if any(Path(file.name).suffix.lower() in PACKED for file in files):
        what = "Spark reads no packed CSV files"
        raise DataError(what, where=place.name, hint=f"read them with {hint}")
    dialect, line_end = _dialect(files, reading)
    scratch, paths = Scratch(), [file.literal for file in files]
    if not dialect.is_plain:  # a copy is of use where all workers are on this machine
        local = files[0].local if len(files) == 1 else None
        if local is None or not place.session.sparkContext.master.startswith("local"):
            what = "Spark reads CSV only as UTF-8 with a header of one line"
            hint = f"convert it first, or read it with {hint}"
            raise DataError(what, where=place.name, hint=hint)
        paths = [str(copy_as_utf8(local, dialect, scratch.place("table.csv", named=True)))]
    frame = _rows(place, paths, dialect, line_end, reading.nulls)
    return make_source(
        frame, place.name, hashed=hashed, scratch=scratch, delimiter=dialect.delimiter,
        encoding=dialect.other_encoding, notes=dialect.notes,
    )  # fmt: skip


def _dialect(files: Sequence[SparkPath], reading: Reading) -> tuple[Dialect, str]:
    """The dialect and the line ending of the files; raises if they differ."""
    with explain_errors(files[0].name):
        first = files[0].beginning(SAMPLE)
        rest = [(file, file.beginning(SHORT)) for file in files[1:]]
    dialect = sniff_sample(first, files[0].name, reading)
    alike = Reading(encoding=dialect.encoding, delimiter=dialect.delimiter)
    for file, sample in rest:
        other = sniff_sample(sample, file.name, alike, SHORT)
        if (other.header, other.header_lines) != (dialect.header, dialect.header_lines):
            what = f"its header is not that of {files[0].name}"
            hint = "files of one table have one header"
            raise DataError(what, where=file.name, hint=hint)
    return dialect, _line_end(first.decode(dialect.encoding, "ignore"), dialect.header_lines)


def _line_end(text: str, header_lines: int) -> str:
    """The line ending of the header, and so of the rows.

    >>> _line_end("a\\r\\n1", 1) == "\\r\\n", _line_end("a", 1) == "\\n"
    (True, True)
    """
    header = list(islice(io.StringIO(text, newline=""), header_lines))[-1]
    return header[len(header.rstrip("\r\n")) :][-2:] or "\n"


def _rows(
    place: SparkPath, paths: list[str], dialect: Dialect, line_end: str, nulls: Sequence[str]
) -> Any:
    across = _refuse_untidy(place, paths, dialect)
    schema = ", ".join(f"{quote_name(name)} STRING" for name in dialect.header)
    options = {
        "sep": dialect.delimiter,
        "quote": '"',
        "escape": '"',
        "header": True,
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
    """Raises for content that Spark would misread; returns whether rows contain line breaks."""
    steps = list_steps(dialect.delimiter)

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for file, start, text, valid in _runs(batch):
                after, inside = follow_lines(pc.if_else(valid, text, ""), steps)
                bad, blank = pc.sum(pc.invert(valid)).as_py(), pc.sum(pc.equal(text, "")).as_py()
                state = pa.array([after.tolist()], pa.list_(pa.int32()))
                seen = [[file], [start], state, [inside.tolist()], [bad], [blank or 0]]
                yield pa.record_batch(seen, ["file", "start", "after", "inside", "bad", "blank"])

    with explain_errors(place.name):
        lines = place.session.read.text(paths).select(
            functions.col("_metadata.file_path"),
            functions.col("_metadata.file_block_start"),
            "value",
            functions.is_valid_utf8("value"),
        )
        runs = map_batches(lines, work, RUN).collect()
    if any(run.bad for run in runs):
        raise DataError("not UTF-8 text", where=place.name, hint="give --encoding, such as latin-1")
    if len(dialect.header) == 1 and any(run.blank for run in runs):
        what, hint = "a blank line in a table of one column", 'write "" where a value is missing'
        raise DataError(what, where=place.name, hint=hint)
    across, end = follow_runs(runs)
    if end == INSIDE:
        raise DataError("a quoted field is not closed", where=place.name, hint="correct the quotes")
    if end == WRONG:
        hint = "correct the quotes"
        raise DataError("text stands beside a quoted field", where=place.name, hint=hint)
    return across


def list_steps(delimiter: str) -> list[tuple[int, int, str]]:
    """From which state which lines lead to which; all others are wrong there. Later ones count."""
    mark = re.escape(delimiter)
    text = '(?:[^"]|"")*'
    # A space before a quote: for some readers it belongs to the field, for others it does not.
    plain = rf'[^"{mark}\s][^{mark}]*|[^\S{mark}]+(?:[^"{mark}\s][^{mark}]*)?'
    field = rf'(?:"{text}"\s*|{plain}|)'
    rest = rf"(?:{mark}{field})*"
    return [
        (OUTSIDE, INSIDE, rf'^(?s:(?:{field}{mark})*"{text})$'),
        (OUTSIDE, OUTSIDE, rf"^(?s:{field}{rest})$"),
        (INSIDE, INSIDE, rf'^(?s:{text}"\s*{rest}{mark}"{text})$'),
        (INSIDE, OUTSIDE, rf'^(?s:{text}"\s*{rest})$'),
        (INSIDE, INSIDE, rf"^(?s:{text})$"),
    ]


def follow_lines(lines: pa.Array, steps: list[tuple[int, int, str]]) -> tuple[Ints, Flags]:
    """Where a run of lines leads from each state, and whether it is ever inside a quoted field.

    >>> follow_lines(pa.array(['a,"b', 'c",d']), list_steps(","))[0].tolist()
    [0, 2, 2]
    """
    step = np.full((len(lines), 3), WRONG)
    for state, after, pattern in steps:
        step[np.asarray(pc.match_substring_regex(lines, pattern)), state] = after
    width = 1
    while width < len(step):
        step[width:] = np.take_along_axis(step[width:], step[:-width], axis=1)
        width *= 2
    return step[-1], (step == INSIDE).any(axis=0)


def _runs(batch: pa.RecordBatch) -> Iterator[tuple[str, int, pa.Array, pa.Array]]:
    file, start, text, valid = batch.columns
    names, starts = file.dictionary_encode().indices.to_numpy(), start.to_numpy()
    new = np.append(True, (names[1:] != names[:-1]) | (starts[1:] != starts[:-1]))
    ends = np.append(np.flatnonzero(new), len(new))
    for at, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        size = end - at
        yield file[at].as_py(), int(starts[at]), text.slice(at, size), valid.slice(at, size)


def follow_runs(runs: Sequence[Any]) -> tuple[bool, int]:
    """Whether rows run across lines, and the state after the last line of the worst file."""
    across, worst = False, OUTSIDE
    file, state = None, OUTSIDE
    for run in sorted(runs, key=lambda run: (run.file, run.start)):
        if run.file != file:
            worst, state, file = max(worst, state), OUTSIDE, run.file
        across = across or run.inside[state]
        state = run.after[state]
    return across, max(worst, state)
