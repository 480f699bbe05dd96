"""Arrays and frames in, the same kind out, or the kind that `set_output` asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names_in, validate_data

from tclose.data.engines.frames.release import is_frame, update_frame
from tclose.learn.roles import RefusedError


@dataclass(frozen=True)
class GivenRows:
    """What a caller handed over, and the same as an Arrow table whose columns have names."""

    given: Any
    table: pa.Table

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.table.num_rows)

    def replace_columns(
        self, columns: Mapping[str, pa.Array], names: Sequence[str], estimator: Any
    ) -> Any:
        """The same with new values in some columns, as the kind that the estimator is to give."""
        asked = _get_output_config("transform", estimator)["dense"]
        if isinstance(self.given, np.ndarray):
            return _make_array(self.given, self.table, columns, names, asked)
        new = {
            name: _floats(values) if pa.types.is_floating(values.type) else values.to_pylist()
            for name, values in columns.items()
        }
        result = update_frame(self.given, np.arange(self.rows), new, names)
        if isinstance(result, pa.Table):
            result = _forget_pandas(result)
        return _convert(result, asked)


def take_rows(estimator: Any, X: Any, *, reset: bool, least: int = 1) -> GivenRows:
    """Checks and names what is handed to `fit` (reset) or to `transform`."""
    if is_frame(X):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        names = list(_check_feature_names_in(estimator, None))
        frame = _rename_columns(X, names)
        table = nw.from_native(frame, eager_only=True).to_arrow().select(names)
        if table.num_rows < least:
            shape = (table.num_rows, len(names))
            raise RefusedError(
                f"Found array with {table.num_rows} sample(s) (shape={shape}) while a minimum of "
                f"{least} is required."
            )
        return GivenRows(frame, table)
    array = validate_data(
        estimator,
        X,
        reset=reset,
        dtype=None,
        ensure_all_finite="allow-nan",
        ensure_min_samples=least,
    )
    names = list(_check_feature_names_in(estimator, None))
    columns = [_column(array[:, at], name) for at, name in enumerate(names)]
    return GivenRows(array, pa.table(columns, names))


def _rename_columns(X: Any, names: Sequence[str]) -> Any:
    """A frame with these names for its columns: pandas may have numbers instead."""
    frame = nw.from_native(X, eager_only=True)
    if list(frame.columns) == names:
        return X
    if hasattr(X, "set_axis"):
        return X.set_axis(names, axis=1)
    return frame.rename(dict(zip(frame.columns, names, strict=True))).to_native()


def _forget_pandas(table: pa.Table) -> pa.Table:
    """A table that no longer says which pandas types its columns once had."""
    kept = {key: value for key, value in (table.schema.metadata or {}).items() if key != b"pandas"}
    return table.replace_schema_metadata(kept or None)


def _convert(result: Any, asked: str) -> Any:
    """A frame as the kind that is asked for, if any is."""
    frame = nw.from_native(result, eager_only=True)
    if asked == "pandas":
        return frame.to_pandas()
    return frame.to_polars() if asked == "polars" else result


def take_target(y: Any, rows: int) -> pa.Array:
    """The target as a column, one value for each row."""
    from sklearn.utils import column_or_1d

    values = _column(column_or_1d(y), "y")
    if len(values) != rows:
        raise RefusedError(f"X has {rows} rows and y has {len(values)}", where="y")
    return values


def _column(values: NDArray[Any], name: str) -> pa.Array:
    try:
        wide = values.astype(np.float32) if values.dtype == np.float16 else values
        return pa.array(wide, from_pandas=True)
    except pa.ArrowException:
        raise RefusedError(
            "its values cannot be counted",
            where=f"column {name!r}",
            hint="each column must hold one kind of value: numbers, texts or dates",
        ) from None


def _make_array(
    given: NDArray[Any],
    table: pa.Table,
    columns: Mapping[str, pa.Array],
    names: Sequence[str],
    asked: str,
) -> Any:
    """An array of numbers where all columns are numbers, else of objects."""
    place = {name: at for at, name in enumerate(table.column_names)}
    made = [_values(columns[name]) if name in columns else given[:, place[name]] for name in names]
    if asked != "default":
        lists = {name: values.tolist() for name, values in zip(names, made, strict=True)}
        library: Any = nw.Implementation.from_string(asked)
        return nw.from_dict(lists, backend=library).to_native()
    if all(values.dtype.kind in "fiu" for values in made):
        return np.column_stack(made).astype(np.float64)
    result = np.empty((len(given), len(names)), dtype=object)
    for at, values in enumerate(made):
        result[:, at] = values
    return result


def _values(values: pa.Array) -> NDArray[Any]:
    if pa.types.is_floating(values.type):
        return _floats(values)
    return np.array(values.to_pylist(), dtype=object)


def _floats(values: pa.Array) -> NDArray[np.float64]:
    return values.to_numpy(zero_copy_only=False).astype(np.float64)  # type: ignore[no-any-return]
