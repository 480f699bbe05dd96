"""Frames in memory: pandas, polars and pyarrow, counted by DuckDB without copying.

What the engine does before it counts takes longer than counting a few rows: where these are plain
texts and whole numbers, which are equal where their bytes are, Arrow counts them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from tclose.data.engines.duckdb.source import DuckSource, scan_arrow
from tclose.data.engines.files.source import Spooling
from tclose.data.io.counting import connect_to_shared
from tclose.data.io.files import lengthen_views
from tclose.data.io.paths import refuse_ambiguous
from tclose.data.source import (
    BATCH,
    NO_LIMIT,
    ROWS,
    Cleaned,
    Rows,
    Source,
    Translation,
)
from tclose.errors import DataError

FEW = 1_000
"""Rows that Arrow counts."""
INSTEAD = "give a path, a pandas, polars or pyarrow table, or a DuckDB relation"
INDEX_DROPPED = (
    "the frame's index is left out; to release it as a column, name it and give this name a role "
    "in the policy"
)
NO_TABLE = {
    pa.RecordBatchReader: "a reader can be read only once: give reader.read_all(), or a file",
    pa.RecordBatch: "give pa.Table.from_batches([batch])",
    dict: "make a table of it: pyarrow.table(data), polars.DataFrame(data), pandas.DataFrame(data)",
    list: "make a table of it: pyarrow.Table.from_pylist(data), pandas.DataFrame(data)",
}
"""What is often meant to be a table, and how it becomes one."""


@dataclass(frozen=True)
class SmallFrame(Spooling):
    """A table of a few rows of texts and whole numbers; the engine starts for the rest."""

    table: pa.Table = field(repr=False)

    @cached_property
    def n_rows(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def engine(self) -> DuckSource:
        """The same table, as DuckDB sees it."""
        return open_arrow_table(self.table, self.notes, self.max_cells)

    def group_within_limit(self, columns: Sequence[str]) -> pa.Table | None:
        rows = self.table.group_by(list(columns), use_threads=False)
        tuples = rows.aggregate([([], "count_all")]).rename_columns([*columns, ROWS])
        return tuples if tuples.num_rows <= self.max_cells else None

    def stream(self) -> Rows:
        return rows_of(self.table)

    def is_scalar(self, column: str) -> bool:
        return True

    def replace_values(self, cleaned: Cleaned) -> Source:
        return self.engine.replace_values(cleaned)

    def can_write(self, translation: Translation) -> bool:
        return self.engine.can_write(translation)

    def write(self, translation: Translation, place: Path) -> None:
        self.engine.write(translation, place)

    def _copy(self, columns: Sequence[str]) -> DuckSource:
        return self.engine


def open_frame(data: Any, columns: Collection[str] | None = None) -> Source:
    """Opens a frame of any library that narwhals supports; `columns` are those that a policy names.

    An index of pandas that is not the default one is a column like any other where it is named,
    and left out with a note elsewhere.
    """
    table = data
    if not _is_sound(data):
        table = _as_arrow(_recognize(index_to_columns(data, columns)))
    if (schema := lengthen_views(table.schema)) != table.schema:
        table = table.cast(schema)
    notes = (INDEX_DROPPED,) if any(_find_dropped_levels(data, columns)) else ()
    plain = (pa.types.is_string(kind) or pa.types.is_integer(kind) for kind in table.schema.types)
    if table.num_rows <= FEW and all(plain):
        return SmallFrame("frame", tuple(table.column_names), table, notes=notes)
    return open_arrow_table(table, notes)


def open_arrow_table(
    table: pa.Table, notes: tuple[str, ...] = (), max_cells: int = NO_LIMIT
) -> DuckSource:
    """A table in memory, counted by DuckDB."""
    connection, rows = connect_to_shared(), rows_of(table)
    return DuckSource(
        "frame", tuple(table.column_names), scan_arrow(connection, table), connection,
        lambda: rows, notes=notes, max_cells=max_cells,
    )  # fmt: skip


def rows_of(table: pa.Table) -> Rows:
    """The rows of a table in memory."""
    return Rows(table.schema, lambda: table.to_batches(BATCH))


def _is_sound(data: Any) -> bool:
    """Whether it is an Arrow table as it should be, at which nothing else needs to look."""
    if type(data) is not pa.Table:
        return False
    _refuse_names(data.column_names)
    try:
        data.validate(full=True)
    except pa.ArrowException:
        return False  # which column it is, is said where other tables are looked at
    return True


def index_to_columns(data: Any, columns: Collection[str] | None = None) -> Any:
    """A frame with the default index: levels that are named are columns, others are left out.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [30, 40]}, index=pd.Index([7, 8], name="record"))
    >>> list(index_to_columns(frame)), list(index_to_columns(frame, ["age"]))
    (['record', 'age'], ['age'])
    """
    dropped = _find_dropped_levels(data, columns)
    if any(dropped):
        gone = [level for level, is_gone in enumerate(dropped) if is_gone]
        data = data.reset_index(level=gone, drop=True)
    return data if all(dropped) else data.reset_index()


def _find_dropped_levels(data: Any, columns: Collection[str] | None) -> list[bool]:
    """For each level of an index of pandas that is not the default one: whether it is left out."""
    if not nw.dependencies.is_pandas_dataframe(data):
        return []
    index = data.index
    default = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
    if default and index.name is None:
        return []
    return [
        not isinstance(name, str)
        or name in data.columns
        or (columns is not None and name not in columns)
        for name in index.names
    ]


def _recognize(data: Any) -> nw.DataFrame[Any]:
    """The frame; raises if the data is none, or if its column names are not unique."""
    for kind, hint in NO_TABLE.items():
        if isinstance(data, kind):
            raise DataError(f"a {kind.__name__} is no table", where="frame", hint=hint)
    try:
        if nw.dependencies.is_pandas_dataframe(data):
            _refuse_names(list(data.columns))
        frame = nw.from_native(data)
    except TypeError:
        raise DataError("this kind of table is not known", where="frame", hint=INSTEAD) from None
    if isinstance(frame, nw.LazyFrame):
        raise DataError(
            "lazy frames of this library are not known", where="frame",
            hint="collect it first; polars, DuckDB and Spark may stay lazy",
        )  # fmt: skip
    _refuse_names(list(frame.columns))
    known: nw.DataFrame[Any] = frame
    return known


def _refuse_names(names: list[Any]) -> None:
    if any(not isinstance(name, str) for name in names):
        raise DataError("column names must be text", where="frame", hint="rename the columns")
    refuse_ambiguous(names, "frame")


def _as_arrow(frame: nw.DataFrame[Any]) -> pa.Table:
    """The columns as Arrow's, mostly without copying; raises naming one that cannot be."""
    native = frame.to_native()
    if nw.dependencies.is_pandas_dataframe(native):
        for name in frame.columns:
            refuse_mixed(name, native[name])
    for name, kind in frame.schema.items():
        if kind == nw.Object and nw.dependencies.is_polars_dataframe(native):
            raise _unreadable(name, "it holds Python objects")
    try:
        return _table(frame)
    except Exception as error:
        for name in frame.columns:
            try:
                _table(frame.select(name))
            except Exception as found:
                raise _unreadable(name, type(found).__name__) from None
        what = f"the frame cannot be read ({type(error).__name__})"
        raise DataError(what, where="frame", hint=INSTEAD) from None


def _table(frame: nw.DataFrame[Any]) -> pa.Table:
    native = frame.to_native()
    if nw.dependencies.is_pandas_dataframe(native):
        # Intervals are written as ranges are released.
        texts = {
            name: native[name].map(str, na_action="ignore").astype(object)
            for name in native.columns
            if str(native[name].dtype).startswith("interval")
        }
        return pa.Table.from_pandas(native.assign(**texts), preserve_index=False)
    table = frame.to_arrow().select(frame.columns)
    if isinstance(native, pa.Table):
        # Texts that are no UTF-8 and offsets beyond the end would fail, or crash, anywhere later.
        table.validate(full=True)
    return table


def _unreadable(name: str, why: str) -> DataError:
    hint = "each column must hold one kind of value that Arrow has a type for"
    return DataError(f"the column cannot be read ({why})", where=f"column {name!r}", hint=hint)


FAMILIES: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("truths", (bool, np.bool_)),
    ("numbers", (int, float, np.integer, np.floating)),
    ("decimals", (Decimal,)),
    ("texts", (str,)),
    ("bytes", (bytes, bytearray)),
    ("moments", (datetime, np.datetime64)),
    ("days", (date,)),
    ("spans", (timedelta, np.timedelta64)),
    ("times", (time,)),
    ("lists", (list, tuple, np.ndarray)),
    ("structures", (dict,)),
    ("sets", (set, frozenset)),
)
"""The kinds of values, each before those that its types are also instances of."""


def refuse_mixed(name: str, column: Any) -> None:
    """Raises where a column of a pandas frame holds objects of several kinds."""
    values = column.array.categories if column.dtype == "category" else column
    if values.dtype != object:
        return
    known = values[~values.isna()]
    families = {
        next((name for name, kinds in FAMILIES if issubclass(kind, kinds)), kind.__name__)
        for kind in set(map(type, known))
    }
    refused, hint = "", "each column must hold one kind of value"
    if len(families) > 1 and families != {"decimals", "numbers"}:
        refused = f"the column holds {' and '.join(sorted(families))}"
    elif families == {"sets"}:
        refused = "the column holds sets, which have no order"
    elif families == {"moments"}:
        if len({getattr(moment, "tzinfo", None) is None for moment in known}) > 1:
            refused = "the column holds moments with a zone and moments without"
        elif any(getattr(moment, "nanosecond", 0) for moment in known):
            refused = "moments as objects would lose their nanoseconds"
            hint = "make it a column of type datetime64[ns]"
    if refused:
        raise DataError(refused, where=f"column {name!r}", hint=hint)
