"""Arrow tables and datasets as relations that DuckDB counts, whatever types their columns have."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tclose.data.engines.arrow_types import is_countable
from tclose.data.source import quoted
from tclose.errors import DataError


def arrow_relation(connection: Any, data: Any) -> Any:
    """A table's or dataset's columns; those that DuckDB has no type for are there, but empty."""
    if isinstance(data, pa.Table):
        data = _widened(data)
    known = [one for one in data.schema if is_countable(one.type)]
    if not known:
        raise DataError("no column has values that can be counted", where="table")
    if len(known) < len(data.schema):
        names = [one.name for one in known]
        is_table = isinstance(data, pa.Table)
        some = data.select(names) if is_table else data.replace_schema(pa.schema(known))
    else:
        some = data
    return connection.from_arrow(some).project(columns_of(data.schema))


def _widened(table: pa.Table) -> pa.Table:
    """Half floats as floats, which DuckDB counts."""
    for at, one in enumerate(table.schema):
        if pa.types.is_float16(one.type):
            table = table.set_column(at, one.name, table.column(at).cast(pa.float32()))
    return table


def columns_of(schema: pa.Schema) -> str:
    """What is counted of each column.

    >>> columns_of(pa.schema({"a": pa.int8(), "b": pa.null(), "c": pa.float16()}))
    '"a", CAST("b" AS VARCHAR) AS "b", CAST(NULL AS BLOB) AS "c"'
    """
    return ", ".join(_counted(one) for one in schema)


def _counted(one: pa.Field) -> str:
    name = quoted(one.name)
    if pa.types.is_null(one.type):
        return f"CAST({name} AS VARCHAR) AS {name}"
    return name if is_countable(one.type) else f"CAST(NULL AS BLOB) AS {name}"
