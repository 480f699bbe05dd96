"""Cells that Spark keeps: sketched, dealt out, searched and judged where they are.

Nothing here depends on how many workers there are: cells are numbered in an order that their values
determine, and each fragment is one group, whoever works on it. Cells are kept on the workers' disks
and computed again, alike, where a worker is lost.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import StorageLevel
from pyspark.sql import Window, functions
from pyspark.sql import types as kinds

from tclose.data.engines.spark.frames import (
    Batches,
    cast_batch,
    explain_errors,
    get_column,
    map_batches,
    quote_name,
)
from tclose.data.source import (
    DEALS,
    FIRST,
    FRAGMENT,
    ORDER,
    ROWS,
    STRATUM,
    TIE,
    CellPositions,
    CellStore,
    PartResult,
    Spread,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, GroupedData


Ints = NDArray[np.int64]

NUMBER, REPORT, PART = "__tclose_number__", "__tclose_report__", "__tclose_part__"


class SparkCellStore(CellStore):
    """The cells of a frame, as a frame that stays on the cluster."""

    def __init__(self, frame: DataFrame, keys: dict[str, Any], name: str) -> None:
        self.frame, self.keys, self.name = keep_on_disk(frame), keys, name
        self.schema = self.frame.limit(0).toArrow().schema
        self.fragments: Any = None
        self.lines: Any = None

    @cached_property
    def n_cells(self) -> int:
        with explain_errors(self.name):
            return int(self.frame.count())

    def sketch(self, snap: Callable[[pa.Table], pa.Table], numbers: Sequence[str]) -> pa.Table:
        made = [name for name in self.schema.names if name != ROWS] + list(numbers)
        struct = kinds.StructType([kinds.StructField(name, kinds.LongType()) for name in made])
        snapped = map_batches(self.frame, _each(snap, self.schema, made), struct)
        names = [quote_name(name) for name in made if name not in numbers]
        sums = [functions.sum(quote_name(name)).alias(name) for name in numbers]
        with explain_errors(self.name):
            return snapped.groupBy(*names).agg(*sums).toArrow()

    def cut(self, laid: Callable[[pa.Table], CellPositions], columns: Sequence[str]) -> pa.Table:
        empty = pa.Table.from_batches([], self.schema)
        places = list(laid(empty).columns())
        fields = [*self.frame.schema.fields]
        fields += [kinds.StructField(name, kinds.LongType()) for name in places]
        placed = map_batches(
            self.frame, _append_positions(laid, self.schema), kinds.StructType(fields)
        )
        ties = [name for name in places if name.startswith(TIE.format(""))]
        along = Window.partitionBy(STRATUM).orderBy(ORDER, *ties)
        turn = functions.row_number().over(along) - 1
        fragment = (functions.col(FIRST) + turn % functions.col(DEALS)).alias(FRAGMENT)
        own = [quote_name(name) for name in self.schema.names]
        self.fragments = keep_on_disk(placed.select(*own, fragment))
        names = [quote_name(name) for name in columns]
        rows = functions.sum(ROWS).alias(ROWS)
        with explain_errors(self.name):
            return self.fragments.groupBy(FRAGMENT, *names).agg(rows).toArrow()

    def work(
        self, united: Ints, work: Callable[[pa.Table], PartResult], schema: pa.Schema
    ) -> list[bytes]:
        session = self.frame.sparkSession
        names = pa.table({FRAGMENT: np.arange(len(united)), NUMBER: united})
        numbered = self.fragments.join(
            functions.broadcast(session.createDataFrame(names)), FRAGMENT
        ).drop(FRAGMENT)
        fields = [
            kinds.StructField(name, self.keys.get(name, kinds.StringType()))
            for name in schema.names
        ]
        fields += [kinds.StructField(NUMBER, kinds.LongType())]
        fields += [kinds.StructField(REPORT, kinds.BinaryType())]
        done = _work(work, self.schema)
        worked = keep_on_disk(_apply(numbered.groupBy(NUMBER), done, kinds.StructType(fields)))
        reports = worked.where(functions.col(REPORT).isNotNull()).select(NUMBER, REPORT)
        with explain_errors(self.name):
            found = reports.collect()
        self.lines = worked.drop(NUMBER, REPORT)
        return _in_order(found)

    @property
    def translation(self) -> Any:
        return self.lines


def split_cells(cells: DataFrame, by: Sequence[str], parts: int, name: str) -> Spread:
    """Cells in parts, on the cluster: those with equal values in the columns `by` are in one."""
    schema, keys = cells.limit(0).toArrow().schema, map(get_column, by)
    part = functions.pmod(functions.xxhash64(*keys), functions.lit(parts)).alias(PART)
    kept = keep_on_disk(cells.select("*", part))

    def work_on_parts(work: Callable[[pa.Table], bytes]) -> list[bytes]:
        made = _apply(kept.groupBy(PART), _part(work, schema), f"{PART} long, {REPORT} binary")
        with explain_errors(name):
            return _in_order(made.collect())

    return work_on_parts


def _in_order(reports: Sequence[Any]) -> list[bytes]:
    """Reports by the numbers before them."""
    return [bytes(row[1]) for row in sorted(reports, key=lambda row: int(row[0]))]


def _apply(groups: GroupedData, work: Callable[[pa.Table], pa.Table], schema: Any) -> Any:
    """A frame with what `work` makes from each group; lazy."""
    with warnings.catch_warnings():
        # It speaks of pandas, which has to be there but takes no part in this.
        warnings.simplefilter("ignore", FutureWarning)
        return groups.applyInArrow(work, schema)


def keep_on_disk(frame: DataFrame) -> Any:
    """A frame whose rows are kept on the workers' disks once they were computed."""
    return frame.persist(StorageLevel.DISK_ONLY)


def _cast_table(table: pa.Table, schema: pa.Schema) -> pa.Table:
    batches = [cast_batch(batch, schema) for batch in table.to_batches()]
    return pa.Table.from_batches(batches, schema)


def _each(
    snap: Callable[[pa.Table], pa.Table], schema: pa.Schema, names: Sequence[str]
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            made = snap(pa.Table.from_batches([cast_batch(batch, schema)], schema))
            yield from made.select(list(names)).to_batches()

    return work


def _append_positions(
    laid: Callable[[pa.Table], CellPositions], schema: pa.Schema
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            places = laid(pa.Table.from_batches([cast_batch(batch, schema)], schema))
            yield from places.append_to(pa.Table.from_batches([batch])).to_batches()

    return work


def _part(work: Callable[[pa.Table], bytes], schema: pa.Schema) -> Callable[[pa.Table], pa.Table]:
    def judge(table: pa.Table) -> pa.Table:
        number = table.column(PART)[:1]
        plain = _cast_table(table.drop_columns([PART]), schema)
        return pa.table({PART: number, REPORT: pa.array([work(plain)], pa.binary())})

    return judge


def _work(
    work: Callable[[pa.Table], PartResult], schema: pa.Schema
) -> Callable[[pa.Table], pa.Table]:
    def fragment(table: pa.Table) -> pa.Table:
        number = table.column(NUMBER)[0].as_py()
        cells, report = work(_cast_table(table.drop_columns([NUMBER]), schema))
        reports = pa.array([report, *[None] * (cells.num_rows - 1)], pa.binary())
        numbers = pa.array(np.full(cells.num_rows, number, dtype=np.int64))
        return cells.append_column(NUMBER, numbers).append_column(REPORT, reports)

    return fragment
