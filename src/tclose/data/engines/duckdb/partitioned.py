"""Cells that DuckDB keeps in files while they are worked on, so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tclose.data.engines.duckdb.source import explain_error
from tclose.data.io.files import Scratch
from tclose.data.source import (
    BATCH,
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
    quote_name,
)

Ints = NDArray[np.int64]

GROUP = 100_000
"""Rows that are stored together, and skipped together where a part needs none of them."""
PART = "__tclose_part__"


class DuckCellStore(CellStore):
    """The cells of a relation, in Parquet files of a private folder."""

    def __init__(
        self,
        relation: duckdb.DuckDBPyRelation,
        connection: duckdb.DuckDBPyConnection,
        columns: Sequence[str],
        types: dict[str, str],
    ) -> None:
        self.connection, self.columns = connection, tuple(columns)
        self.scratch = Scratch()
        self.folder = Path(self.scratch.name)
        cells = group_cells(relation, columns, types)
        store(cells, self.folder / "cells.parquet")

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return int(pq.read_metadata(self.folder / "cells.parquet").num_rows)

    def sketch(self, snap: Callable[[pa.Table], pa.Table], numbers: Sequence[str]) -> pa.Table:
        """Cells as `snap` makes them, equal ones united: their `numbers` add up."""
        found: pa.Table | None = None
        for batch in self._batches("cells.parquet"):
            part = snap(batch)
            both = part if found is None else pa.concat_tables([found, part])
            names = [name for name in both.column_names if name not in numbers]
            sums = both.group_by(names).aggregate([(name, "sum") for name in numbers])
            found = sums.rename_columns([*names, *numbers])
        assert found is not None  # a table without rows was refused before
        return found

    def cut(self, laid: Callable[[pa.Table], CellPositions], columns: Sequence[str]) -> pa.Table:
        """Deals the cells of every stratum out to its fragments, in turn along the order."""
        ties = self._lay(laid)
        order = ", ".join([ORDER, *(TIE.format(at) for at in range(ties))])
        turn = f"(row_number() OVER (PARTITION BY {STRATUM} ORDER BY {order}) - 1)"
        weight = quote_name(ROWS)
        names = ", ".join([*map(quote_name, self.columns), weight])
        fragment = f"CAST({FIRST} + {turn} % {DEALS} AS BIGINT) AS {FRAGMENT}"
        cut = self._read("laid.parquet").project(f"{names}, {fragment}")
        store(cut.order(FRAGMENT), self.folder / "cut.parquet")
        self._drop("laid.parquet")
        listed = ", ".join([FRAGMENT, *map(quote_name, columns)])
        rows = f"CAST(sum({weight}) AS BIGINT) AS {weight}"
        return self._read("cut.parquet").aggregate(f"{listed}, {rows}", listed).to_arrow_table()

    def work(
        self, united: Ints, work: Callable[[pa.Table], PartResult], schema: pa.Schema
    ) -> list[bytes]:
        """Works on one fragment after the other; what they give goes to a file."""
        reports = []
        cut = self._read("cut.parquet")
        with pq.ParquetWriter(self.folder / "lines.parquet", schema) as lines:
            for number in range(int(united.max()) + 1):
                some = np.flatnonzero(united == number)
                inside = f"{FRAGMENT} BETWEEN {some[0]} AND {some[-1]}"
                cells, report = work(cut.filter(inside).to_arrow_table())
                lines.write_table(cells.cast(schema))
                reports.append(report)
        self._drop("cut.parquet")
        return reports

    @property
    def translation(self) -> Any:
        """The lines of all fragments, as a relation."""
        return self._read("lines.parquet")

    def _lay(self, laid: Callable[[pa.Table], CellPositions]) -> int:
        """Stores where every cell lies; returns how many numbers decide between equals."""
        writer, ties = None, 0
        for table in self._batches("cells.parquet"):
            places = laid(table)
            ties = len(places.ties)
            for name, numbers in places.columns().items():
                table = table.append_column(name, pa.array(numbers, pa.int64()))
            if writer is None:
                writer = pq.ParquetWriter(self.folder / "laid.parquet", table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
        return ties

    def _batches(self, name: str) -> Iterator[pa.Table]:
        for batch in pq.ParquetFile(self.folder / name).iter_batches(BATCH):
            yield pa.Table.from_batches([batch])

    def _read(self, name: str) -> duckdb.DuckDBPyRelation:
        return self.connection.read_parquet(str(self.folder / name))

    def _drop(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)


class DuckParts:
    """Cells in parts, in a file: those with equal values in some columns are in one part."""

    def __init__(
        self,
        relation: duckdb.DuckDBPyRelation,
        connection: duckdb.DuckDBPyConnection,
        columns: Sequence[str],
        by: Sequence[str],
        parts: int,
        types: dict[str, str],
    ) -> None:
        self.connection, self.parts = connection, parts
        self.scratch = Scratch()
        self.place = Path(self.scratch.name) / "cells.parquet"
        cells = group_cells(relation, columns, types)
        part = f"CAST(hash({', '.join(map(quote_name, by))}) % {parts} AS INTEGER) AS {PART}"
        store(cells.project(f"*, {part}").order(PART), self.place)

    def __call__(self, work: Callable[[pa.Table], bytes]) -> list[bytes]:
        """Works on one part after the other."""
        stored = self.connection.read_parquet(str(self.place))
        done = []
        for number in range(self.parts):
            table = stored.filter(f"{PART} = {number}").to_arrow_table()
            if table.num_rows:
                done.append(work(table.drop_columns([PART])))
        return done


def group_cells(
    relation: duckdb.DuckDBPyRelation, columns: Sequence[str], types: dict[str, str]
) -> Any:
    """The distinct tuples of some columns with their number of rows; NaN is missing, −0 is 0."""
    keys = []
    for name in columns:
        keys.append(f"{plain(quote_name(name), types[name])} AS {quote_name(name)}")
    listed = ", ".join(map(quote_name, columns))
    told = relation.project(", ".join(keys))
    return told.aggregate(f"{listed}, count(*) AS {quote_name(ROWS)}", listed)


def plain(column: str, kind: str) -> str:
    """A column as rows are told apart by it: NaN is missing, −0 is 0.

    NaN is looked for as text: of a Parquet file whose statistics leave it out the engine concludes
    that there is none.
    """
    if kind in ("FLOAT", "DOUBLE"):
        return f"CASE WHEN CAST({column} AS VARCHAR) = 'nan' THEN NULL ELSE {column} + 0 END"
    return column


def store(relation: duckdb.DuckDBPyRelation, place: Path) -> None:
    """Puts a relation into a file, out of core."""
    try:
        relation.to_parquet(str(place), row_group_size=GROUP, compression="zstd")
    except duckdb.Error as error:
        raise explain_error(error, "cells") from None
