"""Releases as frames of the caller's own kind, in which only the recoded columns are changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from tclose.arrays import Flags, Floats, Ints
from tclose.data.engines.frames.source import index_to_columns
from tclose.data.io.files import compact_array, compact_table, take_rows
from tclose.data.io.order import shuffle_table

HIDING = "tclose: has a value"
NULLABLE = {
    "int8": "Int8", "int16": "Int16", "int32": "Int32", "int64": "Int64", "bool": "boolean",
    "uint8": "UInt8", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
}  # fmt: skip
"""The types of pandas that hold the same values, and missing ones."""


def is_frame(data: object) -> bool:
    """Whether the data is an eager frame of a known library."""
    return isinstance(nw.from_native(data, eager_only=True, pass_through=True), nw.DataFrame)


def is_dataset(data: object) -> bool:
    """Whether the data is an Arrow dataset, without importing that slow module."""
    return type(data).__module__ == "pyarrow._dataset"


def convert_like(data: Any, table: pa.Table) -> Any:
    """A new table in the caller's own kind of frame; as it is where there is none.

    >>> import polars as pl
    >>> convert_like(pl.LazyFrame({"a": [1]}), pa.table({"b": [2]})).collect().to_dicts()
    [{'b': 2}]
    """
    if is_dataset(data):
        import pyarrow.dataset as ds

        return ds.dataset(table)
    is_lazy = nw.dependencies.is_polars_lazyframe(data)
    if isinstance(data, pa.Table) or not (is_lazy or is_frame(data)):
        return table
    frame = nw.from_arrow(table, backend=nw.get_native_namespace(data)).to_native()
    return frame.lazy() if is_lazy else frame


def make_frame(
    data: Any,
    recoded: pa.Table,
    kept: Callable[[], Ints],
    texts: Sequence[str],
    hidden: Sequence[str],
    *,
    is_shuffled: bool = False,
) -> Any:
    """Recoded rows in the caller's own kind of frame; an Arrow table if `data` is not a frame.

    `kept` tells which rows of the frame they are; in columns of `texts` everything may have
    changed, in those that are `hidden` some values are missing.
    """
    order = np.arange(recoded.num_rows)
    if is_shuffled:
        order = shuffle_table(recoded)
        recoded = take_rows(recoded, order)
    recoded = compact_table(recoded)
    if isinstance(data, pa.Table) or not is_frame(data):
        return convert_like(data, recoded) if is_dataset(data) else recoded
    names = recoded.column_names
    data = index_to_columns(data, names)
    words = {name: recoded.column(name) for name in texts if name in names}
    gone = {name: recoded.column(name).is_null().to_numpy() for name in hidden}
    return _compact_frame(update_frame(data, kept()[order], words, names, gone))


def _compact_frame(frame: Any) -> Any:
    """The frame with its own rows and nothing else: a fresh index, only categories that occur."""
    if nw.dependencies.is_pandas_dataframe(frame):
        frame = frame.reset_index(drop=True)
        frame = frame.rename_axis(columns=None)
        frame.attrs = {}
        for name in frame.columns:
            frame[name] = _compact_pandas(frame[name])
        return frame
    if nw.dependencies.is_polars_dataframe(frame):
        return frame.with_columns([_compact_polars(column) for column in frame.iter_columns()])
    return frame


def _compact_pandas(column: Any) -> Any:
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.cat.remove_unused_categories()
        return column.cat.rename_categories(column.cat.categories.rename(None))
    if isinstance(column.dtype, pd.ArrowDtype):
        values = pa.table([column.array.__arrow_array__()], ["column"])
        compact = pd.arrays.ArrowExtensionArray(compact_table(values).column(0))
        return pd.Series(compact, name=column.name)
    return column.take(np.arange(len(column)))


def _compact_polars(column: Any) -> Any:
    import polars as pl

    if column.dtype.is_numeric() or column.dtype.is_temporal() or column.dtype == pl.Object:
        return column
    plain = column.cast(write_out_kind(column.dtype))
    values = compact_array(plain.to_arrow(compat_level=pl.CompatLevel.oldest()))
    # As a table: of a single list, older versions of polars take the texts for views, and crash.
    made = pl.DataFrame(pa.table([values], [column.name])).to_series()
    return made.cast(narrow_kind(column.dtype, plain))


def write_out_kind(kind: Any) -> Any:
    """A type of polars with texts in place of categories."""
    import polars as pl

    if kind in (pl.Enum, pl.Categorical):
        return pl.String()
    return _map_inner(kind, lambda inner, _: write_out_kind(inner), None)


def narrow_kind(kind: Any, values: Any) -> Any:
    """A polars type whose categories are only those that occur among the values, given as texts."""
    import polars as pl

    if kind == pl.Enum:
        used = set(values.unique().to_list())
        return pl.Enum([value for value in kind.categories if value in used])
    return _map_inner(kind, narrow_kind, values)


def _map_inner(kind: Any, change: Callable[[Any, Any], Any], values: Any) -> Any:
    """A type of polars with the types within it changed, given the values within, if any."""
    import polars as pl

    if kind == pl.Struct:
        parts = {
            field.name: change(
                field.dtype, None if values is None else values.struct.field(field.name)
            )
            for field in kind.fields
        }
        return pl.Struct(parts)
    if kind in (pl.List, pl.Array):
        inner = change(kind.inner, None if values is None else values.explode())
        return pl.List(inner) if kind == pl.List else pl.Array(inner, kind.shape[0])
    return kind


def update_frame(
    data: Any,
    keep: Ints,
    replaced: Mapping[str, Sequence[str | None] | Floats | pa.ChunkedArray],
    columns: Sequence[str],
    hidden: Mapping[str, Flags] | None = None,
) -> Any:
    """The caller's own frame with some of its rows (in the given order), columns and new values.

    Types of everything that is not replaced survive; `hidden` says which of the rows have no value
    in a column any more.

    >>> table = pa.table({"age": [30, 40], "ill": ["x", "y"]})
    >>> update_frame(table, np.array([1]), {"age": ["4*"]}, ["age", "ill"]).to_pylist()
    [{'age': '4*', 'ill': 'y'}]
    """
    frame: Any = nw.from_native(data, eager_only=True)
    if len(keep) != len(frame) or (keep != np.arange(len(keep))).any():
        frame = frame[keep, :]
    backend = nw.get_native_namespace(frame)
    for name, values in replaced.items():
        kind = pa.float64() if isinstance(values, np.ndarray) else pa.string()
        column = values if isinstance(values, pa.ChunkedArray) else pa.array(values, kind)
        series = nw.from_arrow(pa.table({name: column}), backend=backend)[name]
        frame = frame.with_columns(_align_index(series, frame))
    for name, gone in (hidden or {}).items():
        frame = _hide(frame, name, gone, backend)
    chosen = frame.select(*columns).to_native()
    # Some operations lose what a frame says about itself as a whole (`attrs`).
    return chosen.__finalize__(data) if hasattr(chosen, "__finalize__") else chosen


def _hide(frame: Any, name: str, gone: Flags, backend: Any) -> Any:
    """The frame without some values of a column, which keeps its type and its categories.

    Numbers of numpy, which knows no missing ones, become nullable ones of the same width.
    """
    native = frame.to_native()
    if isinstance(native, pa.Table):
        at = native.column_names.index(name)
        some = native.column(at).take(pa.array(np.arange(len(gone)), mask=gone))
        field = native.schema.field(at).with_nullable(True)
        return nw.from_native(native.set_column(at, field, some))
    if isinstance(getattr(native[name], "dtype", None), np.dtype):
        wider = NULLABLE.get(native[name].dtype.name, native[name].dtype)
        frame = nw.from_native(native.assign(**{name: native[name].astype(wider)}))
    mask = nw.from_arrow(pa.table({HIDING: ~gone}), backend=backend)[HIDING]
    frame = frame.with_columns(_align_index(mask, frame))
    return frame.with_columns(nw.when(nw.col(HIDING)).then(nw.col(name)).alias(name))


def _align_index(series: Any, frame: Any) -> Any:
    """A pandas series takes the frame's index, whatever that is."""
    native = frame.to_native()
    if not hasattr(native, "index") or not hasattr(series.to_native(), "index"):
        return series
    aligned = series.to_native()
    aligned.index = native.index
    return nw.from_native(aligned, series_only=True)
