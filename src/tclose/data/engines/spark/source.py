"""Tables that Spark counts and rewrites, on whatever cluster the session has."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions, types

from tclose.data.engines.spark.files import read_path, read_place
from tclose.data.engines.spark.frames import (
    SCALAR,
    add_pseudonyms,
    explain_errors,
    get_column,
    is_text,
    is_too_large,
    make_frame,
    map_batches,
    pin,
    schema_of,
    shuffle,
    sum_partitions,
    unpack,
    write_lines,
)
from tclose.data.engines.spark.partitioned import SparkCellStore, split_cells
from tclose.data.engines.spark.session import SparkPath
from tclose.data.io.counting import combine_sums
from tclose.data.io.paths import Address, Reading, refuse_ambiguous
from tclose.data.source import KEY, ROWS, CellStore, Change, Rows, Source, Spread, T, Translation
from tclose.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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
        """The columns as Arrow has them; moments are in UTC."""
        with explain_errors(self.name):
            return schema_of(self.frame, self.name)

    @cached_property
    def n_rows(self) -> int:
        with explain_errors(self.name):
            return int(self.frame.count())

    def count_distinct(self, column: str) -> int:
        with explain_errors(self.name):
            return int(self.frame.select(self.key(column)).distinct().count())

    def is_scalar(self, column: str) -> bool:
        return self.kinds[column].typeName() in SCALAR

    def key(self, column: str) -> Any:
        """A column as rows are told apart by it: NaN is missing, −0 is 0, texts by their bytes."""
        kind, value = self.kinds[column], get_column(column)
        if kind.typeName() in ("float", "double"):
            zero = functions.lit(0.0).cast(kind)
            return functions.when(~functions.isnan(value), value + zero).alias(column)
        return value.cast("string").alias(column) if is_text(kind) else value

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
                if is_too_large(error):
                    return None
                raise
        return None if table.num_rows > most else table

    def stream(self) -> Rows:
        """All rows, partition by partition, in the same order every time."""
        return Rows(self.schema, self._batches)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with explain_errors(self.name):
            yield from unpack(self._steady, self.schema)

    @cached_property
    def _steady(self) -> Any:
        """The rows in an order that stays: what comes out of a shuffle has none of its own."""
        plan = self.frame._jdf.queryExecution().executedPlan().toString()
        return pin(self.frame) if UNSTEADY.search(plan) else self.frame

    def digest(self) -> str:
        """The hash of the file, or of the rows where there is none: workers add up their own."""
        if self.hashed is not None:
            return self.hashed()
        with explain_errors(self.name):
            return combine_sums(self.columns, sum_partitions(self.frame))

    def recode(self, translation: Translation) -> Any:
        """The release as a Spark frame, pinned: what is counted again is what the caller gets."""
        with explain_errors(self.name):
            made = pin(self.release_frame(translation))
            self.refuse_changed(translation, made.count())
        return made

    def refuse_changed(self, translation: Translation, rows: int) -> None:
        """Raises where the release has not as many rows as were counted."""
        if rows != translation.rows:
            raise DataError(
                "the table gave other rows when it was read again; nothing was released",
                where=self.name,
                hint="write it to files first, or give a checkpoint of it",
            )

    def can_store(self, output: str | Path | Address) -> bool:
        """Spark writes folders of Parquet and CSV files; anything else is written by the driver."""
        return isinstance(output, str | Path) and Path(output).suffix.lower() in FOLDERS

    def refuse_taken(self, output: str | Path | Address) -> None:
        with explain_errors(self.name):
            refuse_there(SparkPath.from_user(self.frame.sparkSession, str(output)))

    def store(
        self, translation: Translation, output: str | Path | Address, check: Callable[[Source], T]
    ) -> T:
        """Writes the release to a folder of files, counted before it appears."""

        def judge(written: Source) -> T:
            self.refuse_changed(translation, written.n_rows)
            return check(written)

        with explain_errors(self.name):
            frame = self.release_frame(translation)
        return replace(self, frame=frame).save(output, judge)

    def save(self, output: str | Path | Address, check: Callable[[Source], T]) -> T:
        """Writes a folder of files beside the target, has it counted, then renames it."""
        target = SparkPath.from_user(self.frame.sparkSession, str(output))
        reading = Reading(delimiter=self.delimiter)
        with explain_errors(self.name):
            return store_frame(
                self.frame,
                target,
                lambda part: check(make_source(*read_place(part, reading))),
                self.delimiter,
            )

    def release_frame(self, translation: Translation) -> Any:
        """The release as a lazy frame: the rows joined with the translation's cells."""
        cells = self.cells_frame(translation)
        if isinstance(translation.cell_table, pa.Table) and translation.cell_table.nbytes <= SMALL:
            cells = functions.broadcast(cells)
        alike = [
            self.key(name).eqNullSafe(get_column(KEY.format(at)))
            for at, name in enumerate(translation.keys)
        ]
        columns = [self._change_column(change, translation) for change in translation.changes]
        made = self.frame.join(cells, alike, "inner").select(*columns)
        hidden = tuple(change.name for change in translation.changes if change.kind == "pseudonym")
        made = add_pseudonyms(made, hidden, translation) if hidden else made
        return shuffle(made) if translation.shuffle else made

    def cells_frame(self, translation: Translation) -> Any:
        """The translation's cells as a frame whose keys have the types of the rows' own."""
        if not isinstance(translation.cell_table, pa.Table):
            return translation.cell_table
        return make_frame(
            self.frame.sparkSession, translation.cell_table, self._key_kinds(translation.keys)
        )

    def _key_kinds(self, columns: Sequence[str]) -> dict[str, Any]:
        """The types of a translation's keys: those of the rows' own columns."""
        kinds = {KEY.format(at): self.kinds[name] for at, name in enumerate(columns)}
        return {key: types.StringType() if is_text(kind) else kind for key, kind in kinds.items()}

    def keep_cells(self, columns: Sequence[str]) -> CellStore:
        with explain_errors(self.name):
            return SparkCellStore(self.group_frame(columns), self._key_kinds(columns), self.name)

    def split_cells(self, columns: Sequence[str], by: Sequence[str], parts: int) -> Spread:
        with explain_errors(self.name):
            return split_cells(self.group_frame(columns), by, parts, self.name)

    def join(self, translation: Translation) -> Iterator[pa.RecordBatch]:
        yield from replace(self, frame=self.release_frame(translation)).stream().batches()

    def _change_column(self, change: Change, translation: Translation) -> Any:
        value = get_column(change.name)
        if change.kind == "text":
            return get_column(change.at).alias(change.name)
        if change.kind == "hidden":
            return functions.when(~get_column(change.at), value).alias(change.name)
        return (
            functions.lit(translation.mask).alias(change.name) if change.kind == "mask" else value
        )


def open_spark(data: Any) -> SparkSource:
    """A Spark frame of the caller's own session."""
    if not hasattr(data, "_jdf"):
        raise DataError(
            "only classic Spark frames can be read, not those of Spark Connect or pandas on Spark",
            where="Spark frame",
            hint="start the session with master(…), or give frame.to_spark()",
        )
    return make_source(data, "Spark frame")


def open_spark_path(path: str | Path, reading: Reading) -> SparkSource:
    """Files that Spark reads."""
    return make_source(*read_path(path, reading))


def make_source(
    frame: DataFrame,
    name: str,
    hashed: Callable[[], str] | None = None,
    scratch: object = None,
    delimiter: str = ",",
    notes: tuple[str, ...] = (),
) -> SparkSource:
    """A source over a frame; what no release could be made of is refused at once."""
    if frame.isStreaming:
        raise DataError("a stream has no end to count to", where=name, hint="read it as a batch")
    refuse_ambiguous(list(frame.columns), name)
    with explain_errors(name):
        schema_of(frame, name)
        if not frame._jdf.queryExecution().analyzed().deterministic():
            frame = pin(frame)
            notes = (*notes, "its rows come out anew at each reading, so the first was kept")
    return SparkSource(
        name, tuple(frame.columns), frame, hashed, scratch,
        notes=notes, delimiter=delimiter, max_cells=MANY,
    )  # fmt: skip


def store_frame(
    frame: DataFrame, target: SparkPath, judge: Callable[[SparkPath], T], delimiter: str = ","
) -> T:
    """Writes a frame as a folder of Parquet or CSV files, by the suffix of the target.

    It is written to a hidden folder beside it, which `judge` may refuse by raising, and then
    renamed. Whatever fails, nothing is left.
    """
    refuse_there(target)
    name = PurePosixPath(target.name)
    part = target.sibling(f".{name.stem}.{secrets.token_hex(4)}.part{name.suffix}")
    try:
        if name.suffix.lower() == ".csv":
            _write_csv(frame, part, delimiter)
        else:
            frame.write.parquet(part.text)
        found = judge(part)
        if not part.move(target):
            refuse_there(target)
            raise DataError("cannot be written", where=target.text, hint="who may write there?")
    except BaseException:
        part.remove()
        raise
    return found


def refuse_there(target: SparkPath) -> None:
    """Raises where there is something already."""
    if target.exists():
        raise DataError(
            "there is something already, and Spark replaces nothing",
            where=target.text,
            hint="name another folder, or remove this one",
        )


def _write_csv(frame: DataFrame, part: SparkPath, delimiter: str) -> None:
    """CSV files of the house's own writing, each with the header."""
    schema = schema_of(frame, "release")
    map_batches(frame, write_lines(schema, delimiter), "value string").write.text(part.text)
    for file in part.files():
        file.rename(file.name.removesuffix(".txt") + ".csv")
