"""Frames in memory: pandas, polars and pyarrow, counted by DuckDB without copying."""

from __future__ import annotations

from typing import Any

import duckdb
import narwhals as nw

from tclose.errors import DataError
from tclose.table.dialect import refuse_ambiguous
from tclose.table.engine.duck import DuckSource, plain_missing
from tclose.table.source import BATCH, Rows


def open_frame(data: Any) -> DuckSource:
    """A frame of any library that narwhals knows."""
    try:
        frame = nw.from_native(data)
        eager = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        names = list(eager.columns)
        if any(not isinstance(name, str) for name in names):
            raise DataError("column names must be text", where="frame", hint="rename the columns")
        refuse_ambiguous(names, "frame")
        # An index is no column: some frames bring theirs along.
        table = eager.to_arrow().select(names)
        connection = duckdb.connect()
        relation = connection.from_arrow(plain_missing(table))
    except DataError:
        raise
    except TypeError:
        raise DataError(
            "this kind of table is not known", where="frame",
            hint="give a path, or a pandas, polars or pyarrow frame",
        ) from None  # fmt: skip
    except Exception as error:
        raise DataError(
            f"the frame cannot be read ({type(error).__name__})", where="frame",
            hint="each column must hold one kind of value and have a name of its own",
        ) from None  # fmt: skip
    rows = Rows(table.schema, lambda: table.to_batches(BATCH))
    return DuckSource("frame", tuple(names), relation, connection, lambda: rows)


def open_relation(data: Any) -> DuckSource:
    """A relation of the caller's own connection."""
    refuse_ambiguous(list(data.columns), "relation")
    return DuckSource("relation", tuple(data.columns), data)
