"""What Spark's workers do with the rows of a partition, and how rows travel as Arrow.

Workers import this module, so they need tclose installed as the driver has it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tclose.data.io.counting import Sums, sum_hashes
from tclose.data.io.files import CsvText

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


AT_ONCE = 8 << 20
Batches = Iterable[pa.RecordBatch]


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
        sums = sum_hashes(first.schema, _chain(first, parts))
        yield pa.RecordBatch.from_pydict({"sums": [" ".join(str(number) for number in sums)]})


def sum_partitions(frame: DataFrame) -> list[Sums]:
    """The sums over each partition of a frame."""
    found = map_batches(frame, sum_partition, "sums string").collect()
    return [tuple(int(number) for number in row[0].split()) for row in found]


def _chain(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest


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
