"""Operations on Spark frames: on the driver, and on the rows of a partition by workers.

Rows travel as Arrow. Workers import this module, so they need tclose as the driver has it.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, TypeVar

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions, types

from tclose.data.io.counting import Batches, Sums, sum_hashes
from tclose.data.io.files import CsvText
from tclose.data.source import Translation
from tclose.errors import DataError

Some = TypeVar("Some", pa.RecordBatch, pa.Table)
AT_ONCE = 8 << 20
ROWS_PER_PART = 250_000
"""Rows of a file of a shuffled release, about."""
SCALAR = {
    "string", "boolean", "byte", "short", "integer", "long", "float", "double", "decimal", "date",
    "timestamp", "timestamp_ntz", "void",
}  # fmt: skip
ORDER = "__tclose_order"
LOG = logging.getLogger("SQLQueryContextLogger")
"""Where Spark writes what it raises, cell values and all."""
TOO_LARGE = "maxResultSize"
"""The sign that the driver does not take so much."""
COMPLAINTS = {
    TOO_LARGE: (
        "a part of the table is larger than the driver takes",
        "repartition it into more parts, or raise spark.driver.maxResultSize",
    ),
    **dict.fromkeys(
        ("CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND", "Checkpoint block"),
        (
            "an executor was lost with rows that it kept",
            "run it again; set a checkpoint directory so that rows outlive executors",
        ),
    ),
    **dict.fromkeys(
        ("MALFORMED_RECORD_IN_PARSING", "MALFORMED_CSV"),
        (
            "a row has not as many fields as the header, or its quotes are wrong",
            "correct that row, or give --delimiter",
        ),
    ),
}
"""Signs in what Spark raises, what they mean, and what to do."""


def quote_name(name: str) -> str:
    """A column's name as Spark's expressions write it."""
    return "`" + name.replace("`", "``") + "`"


def get_column(column: str) -> Any:
    """A column by its name, whatever characters that has."""
    return functions.col(quote_name(column))


def drop_notes(session: SparkSession, column: str, value: Any) -> Any:
    """A column without its metadata, also where it is written."""
    nothing = session._jvm.org.apache.spark.sql.types.Metadata.empty()
    return type(value)(getattr(value._jc, "as")(column, nothing))


def drop_inner_notes(column: str, kind: types.DataType) -> Any:
    """A column without the metadata of the fields of its structures."""
    plain = _without_notes(kind.jsonValue())
    if plain == kind.jsonValue():
        return get_column(column)
    return get_column(column).cast(types._parse_datatype_json_value(plain))


def _without_notes(kind: Any) -> Any:
    """A type, as Spark writes it, without notes at fields within it."""
    if isinstance(kind, list):
        return [_without_notes(part) for part in kind]
    if not isinstance(kind, dict):
        return kind
    return {key: {} if key == "metadata" else _without_notes(part) for key, part in kind.items()}


def schema_of(frame: DataFrame, name: str) -> pa.Schema:
    """The columns as Arrow has them, moments in UTC; raises where it has no word for a type."""
    try:
        return frame.limit(0).toArrow().schema
    except PySparkException:
        if len(frame.columns) > 1:
            for column in frame.columns:
                schema_of(frame.select(get_column(column)), name)
            raise
        (field,) = frame.schema.fields
        what = f"Spark cannot return values of type {field.dataType.simpleString()}"
        hint = "cast the column, or drop it"
        raise DataError(what, where=f"{name}, column {field.name!r}", hint=hint) from None


def is_text(kind: types.DataType) -> bool:
    """Whether values of a type are compared as texts; so is a column without any value."""
    return kind.typeName() in ("string", "void")


def make_frame(session: SparkSession, table: pa.Table, kinds: dict[str, Any]) -> Any:
    """An Arrow table as a Spark frame; `kinds` are the types of some of its columns."""
    fields = []
    for field in table.schema:
        kind = kinds.get(field.name) or (
            types.BooleanType() if pa.types.is_boolean(field.type) else types.StringType()
        )
        fields.append(types.StructField(field.name, kind, True))
    return session.createDataFrame(table, types.StructType(fields))


def pin(frame: DataFrame) -> Any:
    """The rows of a frame, computed once and kept: never computed again, so never others.

    Without a checkpoint directory executors keep them, and reading fails where one is lost.
    """
    if frame.sparkSession.sparkContext.getCheckpointDir() is not None:
        return frame.checkpoint(eager=True)
    return frame.localCheckpoint(eager=True)


def add_pseudonyms(frame: DataFrame, columns: tuple[str, ...], translation: Translation) -> Any:
    """The frame with pseudonyms in some columns, made by the same code as for other engines."""
    schema, made = schema_of(frame, "release"), translation.pseudonyms
    fields = [
        types.StructField(field.name, types.StringType(), True) if field.name in columns else field
        for field in frame.schema.fields
    ]

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            plain = cast_rows(batch, schema)
            arrays = [
                made(name, plain.column(at)) if name in columns else batch.column(at)
                for at, name in enumerate(schema.names)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema.names)

    return map_batches(frame, work, types.StructType(fields))


def shuffle(frame: DataFrame, rows: int) -> Any:
    """The rows in the order of a hash of their values, and of these where hashes are equal.

    It depends on nothing but the values, so it says nothing about the order that was, and a part
    that has to be computed again comes out the same. How many parts there are follows from the
    number of rows: left to itself Spark chooses it by what its executors found.
    """
    values = [
        get_column(field.name)
        if field.dataType.typeName() in SCALAR
        else functions.to_json(functions.struct(get_column(field.name)))
        for field in frame.schema.fields
    ]
    parts = -(-max(rows, 1) // ROWS_PER_PART)
    made = frame.withColumn(ORDER, functions.xxhash64(*values))
    made = made.repartition(parts, get_column(ORDER))
    return made.sortWithinPartitions(get_column(ORDER), *values).drop(ORDER)


@contextmanager
def explain_errors(name: str) -> Iterator[None]:
    """Spark's errors in plain words, without the cell values that Spark quotes."""

    def nothing(record: logging.LogRecord) -> bool:
        return False

    LOG.addFilter(nothing)
    try:
        yield
    except ConnectionError:
        what, hint = "Spark is gone, and with it what it had read", "see why in its own log"
        raise DataError(what, where=name, hint=hint) from None
    except (PySparkException, Py4JError) as error:
        get = getattr(error, "getCondition", None)
        condition = (get() if get is not None else None) or type(error).__name__
        found = (meaning for sign, meaning in COMPLAINTS.items() if sign in str(error))
        unknown = f"Spark could not read or write it ({condition})", "Spark's own log says more"
        what, hint = next(found, unknown)
        raise DataError(what, where=name, hint=hint) from None
    finally:
        LOG.removeFilter(nothing)


def map_batches(
    frame: DataFrame, work: Callable[[Batches], Iterator[pa.RecordBatch]], schema: Any
) -> Any:
    """A lazy frame of the result of `work` on the batches of each partition.

    Columns go by their place: names with dots or backticks are more than Spark can take here.
    """
    plain = frame.toDF(*(f"c{at}" for at in range(len(frame.columns))))
    with warnings.catch_warnings():
        # It speaks of pandas, which has to be there but takes no part in this.
        warnings.simplefilter("ignore", FutureWarning)
        return plain.mapInArrow(work, schema)


def pack(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Each batch as the bytes of an Arrow stream, a few megabytes at a time."""
    for batch in batches:
        step = max(1, batch.num_rows * AT_ONCE // max(batch.nbytes, AT_ONCE))
        for at in range(0, batch.num_rows, step):
            part = pa.RecordBatch.from_struct_array(
                pa.concat_arrays([batch.slice(at, step).to_struct_array()])
            )
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, part.schema) as writer:
                writer.write_batch(part)
            yield pa.RecordBatch.from_pydict({"part": [sink.getvalue().to_pybytes()]})


def unpack(frame: DataFrame, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """All rows of a frame on the driver, which holds two partitions at a time at most."""
    packs = map_batches(frame, pack, "part binary")
    for row in packs.toLocalIterator(prefetchPartitions=True):
        for batch in pa.ipc.open_stream(pa.py_buffer(row[0])):
            yield cast_rows(batch, schema)


def cast_rows(rows: Some, schema: pa.Schema) -> Some:
    """The same rows with these types: moments in UTC, independent of the session's zone."""
    return rows.rename_columns(schema.names).cast(schema)


def sum_partitions(frame: DataFrame) -> list[Sums]:
    """The sums that make the hash of a table, over the rows of each partition."""

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        parts = iter(batches)
        first = next(parts, None)
        if first is not None:
            sums = sum_hashes(first.schema, chain([first], parts))
            yield pa.RecordBatch.from_pydict({"sums": [" ".join(map(str, sums))]})

    found = map_batches(frame, work, "sums string").collect()
    return [tuple(map(int, row[0].split())) for row in found]


def write_lines(frame: DataFrame, delimiter: str) -> Any:
    """The rows as lines of CSV, those of each partition below their own header."""
    schema = schema_of(frame, "release")

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        text = CsvText(schema.names, delimiter)
        yield pa.record_batch({"value": [text.header]})
        for batch in batches:
            yield pa.record_batch({"value": text.lines(cast_rows(batch, schema))})

    return map_batches(frame, work, "value string")
