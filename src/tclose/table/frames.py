"""Frames in, the same kind of frame out: only the columns that must change are changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

HIDING = "tclose: has a value"


def is_frame(data: Any) -> bool:
    """Whether the data is an eager frame of a known library.

    >>> import pyarrow as pa
    >>> is_frame(pa.table({"a": [1]})), is_frame("file.csv")
    (True, False)
    """
    return isinstance(nw.from_native(data, eager_only=True, pass_through=True), nw.DataFrame)


def framed(
    data: Any,
    recoded: pa.Table,
    kept: Callable[[], NDArray[np.int64]],
    texts: Sequence[str],
    hidden: Sequence[str],
    *,
    shuffle: bool,
) -> Any:
    """Recoded rows in the caller's own kind of frame; as they are where `data` is none.

    `kept` tells which rows of the frame they are; in columns of `texts` everything may have
    changed, in those that are `hidden` some values are missing.
    """
    order = np.arange(recoded.num_rows)
    if shuffle:
        order = np.random.default_rng().permutation(len(order))
        recoded = recoded.take(pa.array(order))
    if not is_frame(data):
        return recoded
    names = recoded.column_names
    words = {name: recoded.column(name).to_pylist() for name in texts if name in names}
    gone = {name: recoded.column(name).is_null().to_numpy() for name in hidden}
    return reframed(data, kept()[order], words, names, gone)


def reframed(
    data: Any,
    keep: NDArray[np.int64],
    replaced: Mapping[str, Sequence[str | None]],
    columns: Sequence[str],
    hidden: Mapping[str, NDArray[np.bool_]] | None = None,
) -> Any:
    """The caller's own frame with some rows (in the order asked for), columns and new values.

    Types, categories and the index of everything that is not replaced survive; `hidden` says which
    of the rows have no value in a column any more.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [30, 40], "ill": ["x", "y"]})
    >>> reframed(table, np.array([1]), {"age": ["4*"]}, ["age", "ill"]).to_pylist()
    [{'age': '4*', 'ill': 'y'}]
    """
    frame: Any = nw.from_native(data, eager_only=True)[keep.tolist(), :]
    native = nw.get_native_namespace(frame)
    for name, values in replaced.items():
        series = nw.new_series(name, list(values), nw.String, backend=native)
        frame = frame.with_columns(_aligned(series, frame))
    for name, gone in (hidden or {}).items():
        mask = nw.new_series(HIDING, (~gone).tolist(), nw.Boolean, backend=native)
        frame = frame.with_columns(_aligned(mask, frame))
        frame = frame.with_columns(nw.when(nw.col(HIDING)).then(nw.col(name)).alias(name))
    return frame.select(*columns).to_native()


def _aligned(series: Any, frame: Any) -> Any:
    """A pandas series takes the frame's index, whatever that is."""
    native = frame.to_native()
    if not hasattr(native, "index") or not hasattr(series.to_native(), "index"):
        return series
    aligned = series.to_native()
    aligned.index = native.index
    return nw.from_native(aligned, series_only=True)
