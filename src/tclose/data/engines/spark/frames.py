"""What is done with any Spark frame: named, typed, pinned, put in another order; its complaints."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions, types

from tclose.data.engines.spark.rows import map_batches, replace_columns
from tclose.data.source import Translation
from tclose.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


SCALAR = {
    "string", "boolean", "byte", "short", "integer", "long", "float", "double", "decimal", "date",
    "timestamp", "timestamp_ntz", "void",
}  # fmt: skip
ORDER = "__tclose_order"
LOG = logging.getLogger("SQLQueryContextLogger")
"""Where Spark writes what it raises, cell values and all."""


def get_column(column: str) -> Any:
    """A column by its name, whatever characters that has."""
    return functions.col("`" + column.replace("`", "``") + "`")


def schema_of(frame: DataFrame, name: str) -> pa.Schema:
    """The columns as Arrow has them, moments in UTC; raises where it has no word for a type."""
    try:
        return frame.limit(0).toArrow().schema
    except PySparkException:
        for field in frame.schema.fields:
            _refuse_untold(frame.select(get_column(field.name)), field, name)
        raise


def _refuse_untold(column: DataFrame, field: types.StructField, name: str) -> None:
    try:
        column.limit(0).toArrow()
    except PySparkException:
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
def explain_errors(name: str, too_large: DataError | None = None) -> Iterator[None]:
    """Spark's complaints in the house's words, without the cell values that Spark quotes."""

    def nothing(record: logging.LogRecord) -> bool:
        return False

    LOG.addFilter(nothing)
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise _explain_error(error, name, too_large) from None
    finally:
        LOG.removeFilter(nothing)


def _explain_error(error: Exception, name: str, too_large: DataError | None) -> DataError:
    text = str(error)
    if "maxResultSize" in text:
        return too_large or DataError(
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
