"""Tables that Spark counts and rewrites, on whatever cluster the session has."""

from __future__ import annotations

import glob
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, functions, types

from tclose.data.engines.spark import frames
from tclose.data.engines.spark.frames import explain_errors, get_column
from tclose.data.engines.spark.partitioned import SparkCellStore, split_cells
from tclose.data.engines.spark.session import SparkPath
from tclose.data.io.counting import combine_sums
from tclose.data.io.paths import Reading, refuse_ambiguous
from tclose.data.source import (
    KEY,
    NEW,
    ROWS,
    Change,
    Cleaned,
    Output,
    Rows,
    Source,
    Spread,
    T,
    Translation,
)
from tclose.errors import DataError

MANY, LARGEST = 20_000_000, 2**31 - 2
"""How many cells are taken to the driver where nothing is said, and at most."""
SMALL = 32 << 20
FOLDERS = (".parquet", ".csv")
UNSTEADY = re.compile(r"(?<!Broadcast)Exchange\b")


@dataclass(frozen=True)
class SparkSource(Source):
    """A table that Spark counts."""

    rewrites = True

    frame: DataFrame = field(repr=False)
    hashed: Callable[[], str] | None = field(default=None, repr=False)
    scratch: object = field(default=None, repr=False)
    """Files that live as long as the table can be read."""

    @cached_property
    def kinds(self) -> dict[str, Any]:
        """Each column's type, in Spark's words."""
        return {field.name: field.dataType for field in self.frame.schema.fields}

    @cached_property
    def schema(self) -> pa.Schema:
        with explain_errors(self.name):
            return frames.schema_of(self.frame, self.name)

    @cached_property
    def n_rows(self) -> int:
        with explain_errors(self.name):
            return int(self.frame.count())

    def count_distinct(self, column: str) -> int:
        with explain_errors(self.name):
            return int(self.frame.select(self.key(column)).distinct().count())

    def is_scalar(self, column: str) -> bool:
        return self.kinds[column].typeName() in frames.SCALAR

    def key(self, column: str) -> Any:
        """A column to compare by: NaN is missing, −0 is 0, texts are compared by their bytes."""
        kind, value = self.kinds[column], get_column(column)
        if kind.typeName() in ("float", "double"):
            zero = functions.lit(0.0).cast(kind)
            return functions.when(~functions.isnan(value), value + zero).alias(column)
        return value.cast("string").alias(column) if frames.is_text(kind) else value

    def group_frame(self, columns: Sequence[str]) -> Any:
        """The distinct tuples of some columns with their number of rows, as a lazy frame."""
        keys = [self.key(name) for name in columns]
        return self.frame.groupBy(*keys).agg(functions.count(functions.lit(1)).alias(ROWS))

    def group_within_limit(self, columns: Sequence[str]) -> pa.Table | None:
        most = min(self.max_cells, LARGEST)
        with explain_errors(self.name):
            try:
                table = self.group_frame(columns).limit(most + 1).toArrow()
            except (PySparkException, Py4JError) as error:
                if frames.TOO_LARGE in str(error):
                    return None
                raise
        return None if table.num_rows > most else table

    def stream(self) -> Rows:
        return Rows(self.schema, self._batches)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with explain_errors(self.name):
            yield from frames.unpack(self._steady, self.schema)

    @cached_property
    def _steady(self) -> Any:
        """The rows in a fixed order, since a shuffle returns them in none."""
        plan = self.frame._jdf.queryExecution().executedPlan().toString()
        return frames.pin(self.frame) if UNSTEADY.search(plan) else self.frame

    def digest(self) -> str:
        if self.hashed is not None:
            return self.hashed()
        with explain_errors(self.name):
            return combine_sums(self.columns, frames.sum_partitions(self.frame))

    def replace_values(self, cleaned: Cleaned) -> Source:
        frame, columns = self.frame, {name: get_column(name) for name in self.columns}
        for at, (name, column) in enumerate(cleaned.items()):
            # Whatever was not there before finds no partner, and is missed when rows are counted.
            raw, clean = KEY.format(at), NEW.format(at)
            pairs = column.pair(raw, clean)
            (kind,) = self._key_kinds([name]).values()
            kinds = {raw: kind, clean: kind}
            if column.clean.type != column.raw.type:
                kinds[clean] = types.LongType()
            beside = frames.make_frame(frame.sparkSession, pairs, kinds)
            same = self.key(name).eqNullSafe(get_column(raw))
            frame = frame.join(functions.broadcast(beside), same, "inner")
            columns[name] = get_column(clean).alias(name)
        return replace(self, frame=frame.select(*columns.values()))

    def recode(self, translation: Translation) -> Any:
        """The release as a Spark frame, persisted: the caller gets the rows that are recounted."""
        with explain_errors(self.name):
            made = frames.pin(self.release_frame(translation))
            self.refuse_changed(translation, made.count())
        return made

    def refuse_changed(self, translation: Translation, rows: int) -> None:
        """Raises where the release has not as many rows as were counted."""
        if rows != translation.rows:
            what = "the table gave other rows when it was read again; nothing was released"
            hint = "write it to files first, or give a checkpoint of it"
            raise DataError(what, where=self.name, hint=hint)

    def can_store(self, output: Output) -> bool:
        """Spark writes folders of Parquet and CSV files; anything else is written by the driver."""
        return isinstance(output, str | Path) and Path(output).suffix.lower() in FOLDERS

    def refuse_taken(self, output: Output) -> None:
        with explain_errors(self.name):
            refuse_there(SparkPath.from_user(self.frame.sparkSession, str(output)))

    def store(self, translation: Translation, output: Output, check: Callable[[Source], T]) -> T:
        """Writes the release to a folder of files, counted before it appears."""

        def judge(written: Source) -> T:
            self.refuse_changed(translation, written.n_rows)
            return check(written)

        with explain_errors(self.name):
            frame = self.release_frame(translation)
        return replace(self, frame=frame).save(output, judge)

    def save(self, output: Output, check: Callable[[Source], T]) -> T:
        """Writes a hidden folder of files beside the target, has it recounted, then renames it."""
        from tclose.data.engines.spark.files import read_place

        with explain_errors(self.name):
            target = SparkPath.from_user(self.frame.sparkSession, str(output))
            refuse_there(target)
            name = PurePosixPath(target.name)
            if target.local is not None:  # the output is locked, so nobody else writes there
                _sweep_parts(target.local)
            part = target.sibling(f".{name.stem}.{secrets.token_hex(4)}.part{name.suffix}")
            try:
                if name.suffix.lower() == ".csv":
                    frames.write_lines(self.frame, self.delimiter).write.text(part.text)
                    for file in part.files():
                        named = file.sibling(file.name.removesuffix(".txt") + ".csv")
                        file.system.rename(file.path, named.path)
                else:
                    self.frame.write.parquet(part.text)
                found = check(read_place(part, Reading(delimiter=self.delimiter)))
                if not part.move(target):
                    refuse_there(target)
                    hint = "check who may write there"
                    raise DataError("cannot be written", where=target.text, hint=hint)
            except BaseException:
                with suppress(ConnectionError, Py4JError):  # Spark may be gone
                    part.remove()
                raise
        return found

    def release_frame(self, translation: Translation) -> Any:
        """The release as a lazy frame: the rows joined with the translation's cells."""
        cells = translation.cell_table
        if isinstance(cells, pa.Table):
            kinds, small = self._key_kinds(translation.keys), cells.nbytes <= SMALL
            cells = frames.make_frame(self.frame.sparkSession, cells, kinds)
            cells = functions.broadcast(cells) if small else cells
        alike = [
            self.key(name).eqNullSafe(get_column(KEY.format(at)))
            for at, name in enumerate(translation.keys)
        ]
        columns = [self._change_column(change, translation) for change in translation.changes]
        made = self.frame.join(cells, alike, "inner").select(*columns)
        hidden = tuple(change.name for change in translation.changes if change.kind == "pseudonym")
        made = frames.add_pseudonyms(made, hidden, translation) if hidden else made
        return frames.shuffle(made, translation.rows) if translation.is_shuffled else made

    def _key_kinds(self, columns: Sequence[str]) -> dict[str, Any]:
        kinds = {KEY.format(at): self.kinds[name] for at, name in enumerate(columns)}
        return {
            key: types.StringType() if frames.is_text(kind) else kind for key, kind in kinds.items()
        }

    def keep_cells(self, columns: Sequence[str]) -> SparkCellStore:
        with explain_errors(self.name):
            return SparkCellStore(self.group_frame(columns), self._key_kinds(columns), self.name)

    def split_cells(self, columns: Sequence[str], by: Sequence[str], parts: int) -> Spread:
        with explain_errors(self.name):
            return split_cells(self.group_frame(columns), by, parts, self.name)

    def join(self, translation: Translation) -> Iterator[pa.RecordBatch]:
        yield from replace(self, frame=self.release_frame(translation)).stream().batches()

    def _change_column(self, change: Change, translation: Translation) -> Any:
        value = get_column(change.name)
        if change.kind in ("same", "hidden"):
            field = self.frame.schema[change.name]
            value = frames.drop_inner_notes(change.name, field.dataType)
            if change.kind == "same" and field.metadata:
                return frames.drop_notes(self.frame.sparkSession, change.name, value)
        if change.kind == "text":
            value = get_column(change.at)
        elif change.kind == "hidden":
            value = functions.when(~get_column(change.at), value)
        elif change.kind == "mask":
            value = functions.lit(translation.mask)
        return value.alias(change.name)


def open_spark(data: Any) -> SparkSource:
    """A Spark frame of the caller's own session."""
    if not hasattr(data, "_jdf"):
        raise DataError(
            "only classic Spark frames can be read, not those of Spark Connect or pandas on Spark",
            where="Spark frame",
            hint="start the session with master(…), or give frame.to_spark()",
        )
    return make_source(data, "Spark frame")


def make_source(
    frame: DataFrame, name: str, *, notes: tuple[str, ...] = (), **known: Any
) -> SparkSource:
    """A source over a frame; refuses at once what cannot be released."""
    if frame.isStreaming:
        raise DataError("a stream has no end to count to", where=name, hint="read it as a batch")
    refuse_ambiguous(list(frame.columns), name)
    with explain_errors(name):
        frames.schema_of(frame, name)
        if not frame._jdf.queryExecution().analyzed().deterministic():
            frame = frames.pin(frame)
            notes = (*notes, "its rows come out anew at each reading, so the first was kept")
    columns = tuple(frame.columns)
    return SparkSource(name, columns, frame, notes=notes, max_cells=MANY, **known)


def refuse_there(target: SparkPath) -> None:
    """Raises where there is something already."""
    if target.exists():
        what = "this exists already, and Spark overwrites nothing"
        hint = "name another folder, or remove this one"
        raise DataError(what, where=target.text, hint=hint)


def _sweep_parts(target: Path) -> None:
    """Removes temporary folders that killed processes have left beside an output."""
    left = f".{glob.escape(target.stem)}.????????.part{glob.escape(target.suffix)}"
    for place in target.parent.glob(left):
        shutil.rmtree(place, ignore_errors=True)
