"""Cells that Spark keeps: sketched, dealt out, searched and judged where they are.

Cells are kept on the workers' disks and computed again, alike, where a worker is lost.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, GroupedData, Window, functions
from pyspark.sql import types as kinds

from tclose.arrays import Ints
from tclose.data.engines.spark.frames import (
    cast_rows,
    explain_errors,
    get_column,
    map_batches,
    quote_name,
)
from tclose.data.io.counting import Batches
from tclose.data.source import (
    FIRST,
    FRAGMENT,
    FRAGMENTS,
    ORDER,
    ROWS,
    STRATUM,
    TIE,
    CellPositions,
    CellStore,
    FragmentWork,
    PartWork,
    Spread,
)

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
        snapped = self._map(lambda plain, _: snap(plain).select(made), _longs(made))
        names = [quote_name(name) for name in made if name not in numbers]
        sums = [functions.sum(quote_name(name)).alias(name) for name in numbers]
        with explain_errors(self.name):
            return snapped.groupBy(*names).agg(*sums).toArrow()

    def cut(self, locate: Callable[[pa.Table], CellPositions], columns: Sequence[str]) -> pa.Table:
        places = list(locate(self.schema.empty_table()).columns())
        fields = [*self.frame.schema.fields, *_longs(places)]
        placed = self._map(lambda plain, raw: locate(plain).append_to(raw), fields)
        ties = [name for name in places if name.startswith(TIE.format(""))]
        along = Window.partitionBy(STRATUM).orderBy(ORDER, *ties)
        turn = functions.row_number().over(along) - 1
        fragment = (functions.col(FIRST) + turn % functions.col(FRAGMENTS)).alias(FRAGMENT)
        own = [quote_name(name) for name in self.schema.names]
        self.fragments = keep_on_disk(placed.select(*own, fragment))
        names = [quote_name(name) for name in columns]
        rows = functions.sum(ROWS).alias(ROWS)
        with explain_errors(self.name):
            return self.fragments.groupBy(FRAGMENT, *names).agg(rows).toArrow()

    def look(self, united: Ints, work: PartWork) -> list[Any]:
        return _collect_reports(self._unite(united), NUMBER, work, self.schema, self.name)

    def _unite(self, united: Ints) -> Any:
        """The cells with the number of their fragment, or of the union that it is in."""
        names = pa.table({FRAGMENT: np.arange(len(united)), NUMBER: united})
        beside = functions.broadcast(self.frame.sparkSession.createDataFrame(names))
        return self.fragments.join(beside, FRAGMENT).drop(FRAGMENT)

    def work(self, united: Ints, work: FragmentWork, schema: pa.Schema) -> list[Any]:
        numbered = self._unite(united)
        fields = [
            kinds.StructField(name, self.keys.get(name, kinds.StringType()))
            for name in schema.names
        ]
        fields += [*_longs([NUMBER]), kinds.StructField(REPORT, kinds.BinaryType())]
        own = self.schema

        def work_on(table: pa.Table) -> pa.Table:
            number = table.column(NUMBER)[0].as_py()
            cells, report = work(cast_rows(table.drop_columns([NUMBER]), own))
            rest = [None] * (cells.num_rows - 1)
            reports = pa.array([pickle.dumps(report), *rest], pa.binary())
            numbers = pa.array(np.full(cells.num_rows, number, dtype=np.int64))
            return cells.append_column(NUMBER, numbers).append_column(REPORT, reports)

        worked = keep_on_disk(_apply(numbered.groupBy(NUMBER), work_on, kinds.StructType(fields)))
        reports = worked.where(functions.col(REPORT).isNotNull()).select(NUMBER, REPORT)
        with explain_errors(self.name):
            found = reports.collect()
        self.lines = worked.drop(NUMBER, REPORT)
        return _in_order(found)

    @property
    def translation(self) -> Any:
        return self.lines

    def _map(self, make: Callable[[pa.Table, pa.Table], pa.Table], fields: list[Any]) -> Any:
        """A lazy frame of some work on each batch of cells, between our types and Spark's."""
        schema = self.schema

        def work(batches: Batches) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                raw = pa.Table.from_batches([batch])
                yield from make(cast_rows(raw, schema), raw).to_batches()

        return map_batches(self.frame, work, kinds.StructType(fields))


def split_cells(cells: DataFrame, by: Sequence[str], parts: int, name: str) -> Spread:
    """Splits cells on the cluster; equal values in the columns `by` share a part."""
    schema, keys = cells.limit(0).toArrow().schema, map(get_column, by)
    part = functions.pmod(functions.xxhash64(*keys), functions.lit(parts)).alias(PART)
    kept = keep_on_disk(cells.select("*", part))

    return lambda work: _collect_reports(kept, PART, work, schema, name)


def _collect_reports(
    cells: DataFrame, by: str, work: PartWork, schema: pa.Schema, name: str
) -> list[Any]:
    """The reports of some work on the cells of each part, which the column `by` numbers; `schema`
    is that of the cells.
    """

    def work_on(table: pa.Table) -> pa.Table:
        found = work(cast_rows(table.drop_columns([by]), schema))
        report = pa.array([pickle.dumps(found)], pa.binary())
        return pa.table({by: table.column(by)[:1], REPORT: report})

    made = _apply(cells.groupBy(by), work_on, f"{by} long, {REPORT} binary")
    with explain_errors(name):
        return _in_order(made.collect())


def _in_order(reports: Sequence[Any]) -> list[Any]:
    return [pickle.loads(row[1]) for row in sorted(reports, key=lambda row: int(row[0]))]


def _apply(groups: GroupedData, work: Callable[[pa.Table], pa.Table], schema: Any) -> Any:
    with warnings.catch_warnings():
        # It speaks of pandas, which has to be there but takes no part in this.
        warnings.simplefilter("ignore", FutureWarning)
        return groups.applyInArrow(work, schema)


def keep_on_disk(frame: DataFrame) -> Any:
    """A frame whose rows are kept on the workers' disks once they were computed."""
    return frame.persist(StorageLevel.DISK_ONLY)


def _longs(names: Sequence[str]) -> list[Any]:
    return [kinds.StructField(name, kinds.LongType()) for name in names]
