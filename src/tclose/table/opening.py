"""Any file, frame or engine's own table becomes a source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from tclose.table.engine.files import open_path
from tclose.table.engine.memory import open_frame, open_relation
from tclose.table.source import Source


def open_source(
    data: Any,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    nulls: Sequence[str] = ("",),
    memory: str | None = None,
) -> Source:
    """Opens a path, a pandas, polars, pyarrow or Spark frame, or a DuckDB relation.

    >>> import pyarrow as pa
    >>> source = open_source(pa.table({"zip": ["1", "1", None]}))
    >>> source.rows, source.group(["zip"]).num_rows
    (3, 2)
    """
    if isinstance(data, Source):
        return data
    if isinstance(data, str | Path):
        return open_path(Path(data), delimiter, encoding, nulls, memory)
    if isinstance(data, duckdb.DuckDBPyRelation):
        return open_relation(data)
    if type(data).__module__.startswith("pyspark."):
        from tclose.table.engine.spark import open_spark

        return open_spark(data)
    return open_frame(data)
