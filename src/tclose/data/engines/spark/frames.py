"""What is done with any Spark frame: on the driver, and by workers with the rows of a partition.

Rows travel as Arrow. Workers import this module, so they need tclose as the driver has it.
"""

from __future__ import annotations

import logging
import secrets
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions, types

from tclose.data.io.counting import Sums, sum_hashes
from tclose.data.io.files import CsvText
from tclose.data.source import Translation
from tclose.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


AT_ONCE = 8 << 20
Batches = Iterable[pa.RecordBatch]
SCALAR = {
    "string", "boolean", "byte", "short", "integer", "long", "float", "double", "decimal", "date",
    "timestamp", "timestamp_ntz", "void",
}  # fmt: skip
ORDER = "__tclose_order"
LOG = logging.getLogger("SQLQueryContextLogger")
"""Where Spark writes what it raises, cell values and all."""


def quote_name(name: str) -> str:
    """A column's name as Spark's expressions write it."""
    return "`" + name.replace("`", "``") + "`"


def get_column(column: str) -> Any:
    """A column by its name, whatever characters that has."""
    return functions.col(quote_name(column))


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
        raise DataError(
            f"Spark cannot hand out values of type {field.dataType.simpleString()}",
            where=f"{name}, column {field.name!r}",
            hint="cast the column, or drop it",
        ) from None


def is_text(kind: types.DataType) -> bool:
    """Whether values of a type are told apart as texts; what is always missing is one, too."""
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

    With a checkpoint directory they are kept there and outlive the loss of an executor. Without,
    executors keep them, and where one is lost with its part, reading fails.
    """
    if frame.sparkSession.sparkContext.getCheckpointDir() is not None:
        return frame.checkpoint(eager=True)
    return frame.localCheckpoint(eager=True)


def add_pseudonyms(frame: DataFrame, columns: tuple[str, ...], translation: Translation) -> Any:
    """The frame with pseudonyms in some columns, made by the same code as everywhere."""
    schema = schema_of(frame, "release")
    fields = [
        types.StructField(field.name, types.StringType(), True) if field.name in columns else field
        for field in frame.schema.fields
    ]
    return map_batches(
        frame, replace_columns(translation.pseudonyms, columns, schema), types.StructType(fields)
    )


def shuffle(frame: DataFrame) -> Any:
    """The rows in the order of a hash of their values and a secret, which is then forgotten.

    It depends on nothing but the values, so it says nothing about the order that was, and a part
    that has to be computed again comes out the same.
    """
    values = [
        get_column(field.name)
        if field.dataType.typeName() in SCALAR
        else functions.to_json(functions.struct(get_column(field.name)))
        for field in frame.schema.fields
    ]
    order = functions.xxhash64(functions.lit(secrets.token_hex(16)), *values)
    made = frame.withColumn(ORDER, order)
    return made.repartition(get_column(ORDER)).sortWithinPartitions(get_column(ORDER)).drop(ORDER)


@contextmanager
def explain_errors(name: str) -> Iterator[None]:
    """Spark's complaints in the house's words, without the cell values that Spark quotes."""

    def nothing(record: logging.LogRecord) -> bool:
        return False

    LOG.addFilter(nothing)
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise _explain_error(error, name) from None
    finally:
        LOG.removeFilter(nothing)


def is_too_large(error: Exception) -> bool:
    """Whether Spark complains that the driver does not take so much."""
    return "maxResultSize" in str(error)


def _explain_error(error: Exception, name: str) -> DataError:
    text = str(error)
    if is_too_large(error):
        return DataError(
            "a part of the table is larger than the driver takes",
            where=name,
            hint="repartition it into more parts, or raise spark.driver.maxResultSize",
        )
    if "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND" in text or "Checkpoint block" in text:
        return DataError(
            "an executor was lost with rows that it kept",
            where=name,
            hint="run it again; set a checkpoint directory so that rows outlive executors",
        )
    if "MALFORMED_RECORD_IN_PARSING" in text or "MALFORMED_CSV" in text:
        return DataError(
            "a row has not as many fields as the header, or its quotes are wrong",
            where=name,
            hint="mend that row, or give --delimiter",
        )
    get = getattr(error, "getCondition", None)
    condition = (get() if get is not None else None) or type(error).__name__
    return DataError(
        f"Spark could not read or write it ({condition})",
        where=name,
        hint="Spark's own log says more",
    )


def map_batches(
    frame: DataFrame, work: Callable[[Batches], Iterator[pa.RecordBatch]], schema: Any
) -> Any:
    """A frame with what `work` makes from the batches of each partition; lazy.

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
            yield cast_batch(batch, schema)


def cast_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The same rows with these types: moments in UTC, whatever the session's zone."""
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def sum_partition(batches: Batches) -> Iterator[pa.RecordBatch]:
    """The sums that make the hash of a table, over the rows of one partition."""
    parts = iter(batches)
    first = next(parts, None)
    if first is not None:
        sums = sum_hashes(first.schema, chain([first], parts))
        yield pa.RecordBatch.from_pydict({"sums": [" ".join(str(number) for number in sums)]})


def sum_partitions(frame: DataFrame) -> list[Sums]:
    """The sums over each partition of a frame."""
    found = map_batches(frame, sum_partition, "sums string").collect()
    return [tuple(int(number) for number in row[0].split()) for row in found]


def replace_columns(
    made: Callable[[pa.Array], pa.Array], columns: tuple[str, ...], schema: pa.Schema
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """How a worker gives some columns new texts; `schema` is the table's, moments in UTC."""

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            plain = cast_batch(batch, schema)
            arrays = [
                made(plain.column(at)) if name in columns else batch.column(at)
                for at, name in enumerate(schema.names)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema.names)

    return work


def write_lines(schema: pa.Schema, delimiter: str) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """How a worker writes its rows as lines of CSV, below a header of their own."""

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        text = CsvText(schema.names, delimiter)
        yield pa.record_batch({"value": [text.header]})
        for batch in batches:
            yield pa.record_batch({"value": text.lines(cast_batch(batch, schema))})

    return work
