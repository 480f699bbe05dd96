"""Any file, frame or engine's own table becomes a source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.dataset as ds

from tclose.data.engines.duckdb.relation import open_relation
from tclose.data.engines.files.dataset import open_dataset
from tclose.data.engines.files.source import open_path
from tclose.data.engines.frames.source import open_frame
from tclose.data.engines.postgres.address import Address
from tclose.data.io.memory_amount import bytes_of
from tclose.data.source import Source
from tclose.errors import UsageError, nearest

ENGINES = ("duckdb", "spark")
"""What can read files; the first does unless another is asked for."""
CELL = 512
"""Bytes that a cell takes while it is searched, more or less."""


def open_source(
    data: Any,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    nulls: Sequence[str] = ("",),
    memory: str | None = None,
    cells: int | None = None,
    engine: str | None = None,
    query: str | None = None,
    sheet: str | None = None,
) -> Source:
    """Opens a path, any frame, a DuckDB relation, an Ibis table, or a table in PostgreSQL.

    >>> import pyarrow as pa
    >>> source = open_source(pa.table({"zip": ["1", "1", None]}))
    >>> source.rows, source.group(["zip"]).num_rows
    (3, 2)

    `cells` is how many distinct tuples are taken into one place at most; where only the memory is
    given, as many as it holds. `engine` is what reads files: `duckdb`, unless `spark` is asked for.
    `query` is for the address of a database that names no table, `sheet` for an Excel file.
    """
    if isinstance(data, Source):
        return data
    address = Address.of(data)
    if address is not None:
        from tclose.data.engines.postgres.source import open_address

        source: Source = open_address(address, None if address.table else query)
    elif chosen(engine) == "spark":
        source = _opened_by_spark(data, delimiter, encoding, nulls, memory)
    else:
        source = _opened(data, delimiter, encoding, nulls, memory, sheet)
    most = cells if cells is not None else cells_in(memory)
    return source if most is None else replace(source, cells=most)


def cells_in(memory: str | None) -> int | None:
    """How many cells an amount of memory holds while they are searched.

    >>> cells_in("400MB"), cells_in(None)
    (781250, None)
    """
    amount = bytes_of(memory)
    return None if amount is None else amount // CELL


def chosen(engine: str | None) -> str:
    """The engine that reads files; raises where there is no such.

    >>> chosen(None)
    'duckdb'
    """
    if engine is not None and engine not in ENGINES:
        raise UsageError("there is no such engine", where="engine", hint=nearest(engine, ENGINES))
    return engine or ENGINES[0]


def _opened_by_spark(
    data: Any,
    delimiter: str | None,
    encoding: str | None,
    nulls: Sequence[str],
    memory: str | None,
) -> Source:
    """Files that Spark reads; what is no path has an engine of its own."""
    if not isinstance(data, str | Path):
        return _opened(data, delimiter, encoding, nulls, memory)
    try:
        from tclose.data.engines.spark.source import open_spark_path
    except ModuleNotFoundError as error:
        raise UsageError(
            f"Spark is not installed ({error.name} is missing)",
            where="engine",
            hint="pip install 'tclose[spark]'",
        ) from None
    return open_spark_path(data, delimiter, encoding, nulls, memory)


def _opened(
    data: Any,
    delimiter: str | None,
    encoding: str | None,
    nulls: Sequence[str],
    memory: str | None,
    sheet: str | None = None,
) -> Source:
    if isinstance(data, str | Path):
        return open_path(Path(data), delimiter, encoding, nulls, memory, sheet)
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
        return open_dataset(data, memory=memory)
    if type(data).__module__.startswith("pyspark."):
        from tclose.data.engines.spark.source import open_spark

        return open_spark(data)
    return open_frame(data)
