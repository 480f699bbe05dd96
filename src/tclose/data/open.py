"""Any file, frame or engine's own table becomes a source."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.dataset as ds

from tclose.data.engines.duckdb.relation import open_relation
from tclose.data.engines.files.csv import open_text
from tclose.data.engines.files.excel import open_excel
from tclose.data.engines.files.source import open_arrow, open_dataset, open_parquet
from tclose.data.engines.frames.source import open_frame
from tclose.data.io.counting import connect
from tclose.data.io.paths import Address, find_files
from tclose.data.io.reading import AS_FOUND, Reading
from tclose.data.source import Source
from tclose.errors import DataError, UsageError


def open_source(
    data: Any, reading: Reading = AS_FOUND, columns: Collection[str] | None = None
) -> Source:
    """Opens a path, any frame, a DuckDB relation, an Ibis table, or a table in PostgreSQL.

    `columns` are those that a policy names: of a frame's index, only they are columns of the table.

    >>> import pyarrow as pa
    >>> source = open_source(pa.table({"zip": ["1", "1", None]}))
    >>> source.n_rows, source.group(["zip"]).num_rows
    (3, 2)
    """
    if isinstance(data, Source):
        return data
    source, most = _open(data, reading, columns), reading.cell_limit
    return source if most is None else replace(source, max_cells=most)


def _open(data: Any, reading: Reading, columns: Collection[str] | None) -> Source:
    address = Address.of(data)
    if address is not None:
        from tclose.data.engines.postgres.source import open_address

        return open_address(address, None if address.table else reading.query)
    engine = reading.chosen_engine
    if isinstance(data, str | Path):
        return _open_by_spark(data, reading) if engine == "spark" else _open_path(data, reading)
    if isinstance(data, duckdb.DuckDBPyRelation):
        return open_relation(data)
    if type(data).__module__.startswith("ibis."):
        from tclose.data.engines.ibis.source import is_ibis, open_ibis

        if is_ibis(data):
            return open_ibis(data)
    if type(data).__module__.startswith("polars.lazyframe"):
        from tclose.data.engines.frames.lazy import open_lazy

        return open_lazy(data)
    if isinstance(data, ds.Dataset):
        return open_dataset(data, connection=connect(reading.memory))
    if type(data).__module__.startswith("pyspark."):
        from tclose.data.engines.spark.source import open_spark

        return open_spark(data)
    return open_frame(data, columns)


def _open_path(path: str | Path, reading: Reading) -> Source:
    """The table in a file, in the files of a folder, or in those that a pattern matches.

    A delimiter, an encoding and words for missing values are for CSV files, a sheet is for Excel's.
    """
    try:
        files = find_files(Path(path))
        connection = connect(reading.memory)
        if files.kind == "parquet":
            return open_parquet(files, connection)
        if files.kind == "arrow":
            return open_arrow(files, connection)
        if files.kind == "excel":
            return open_excel(files, reading.sheet, connection)
        return open_text(files, reading, connection)
    except OSError as error:
        raise DataError(
            f"cannot be read ({error.strerror or 'damaged'})",
            where=Path(path).name,
            hint="check who may read it, and whether it is whole",
        ) from None


def _open_by_spark(path: str | Path, reading: Reading) -> Source:
    """Files that Spark reads."""
    try:
        from tclose.data.engines.spark.source import open_spark_path
    except ModuleNotFoundError as error:
        raise UsageError(
            f"Spark is not installed ({error.name} is missing)",
            where="engine",
            hint="pip install 'tclose[spark]'",
        ) from None
    return open_spark_path(path, reading)
