"""Conversion of arrays and frames: the output is of the same kind, or as `set_output` says."""

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

from tclose.arrays import Floats
from tclose.data.engines.frames.release import is_frame, update_frame
from tclose.learn.roles import RefusedError


@dataclass(frozen=True)
class GivenRows:
    """The rows that a caller gave, and the same rows as an Arrow table with column names."""

    given: Any
    table: pa.Table

    def replace_columns(
        self, columns: Mapping[str, pa.Array], names: Sequence[str], estimator: Any
    ) -> Any:
        """Replaces some columns, and returns the kind of table that the estimator should output."""
        wanted = _get_output_config("transform", estimator)["dense"]
        if isinstance(self.given, np.ndarray):
            return self._make_array(columns, names, wanted)
        new = {
            name: _floats(values) if pa.types.is_floating(values.type) else values.to_pylist()
            for name, values in columns.items()
        }
        result = update_frame(self.given, np.arange(self.table.num_rows), new, names)
        if isinstance(result, pa.Table):  # whose columns no longer have the types of pandas
            metadata = (result.schema.metadata or {}).items()
            kept = {key: value for key, value in metadata if key != b"pandas"}
            result = result.replace_schema_metadata(kept or None)
        if wanted == "pandas":
            return nw.from_native(result, eager_only=True).to_pandas()
        return nw.from_native(result, eager_only=True).to_polars() if wanted == "polars" else result

    def _make_array(
        self, columns: Mapping[str, pa.Array], names: Sequence[str], wanted: str
    ) -> Any:
        """Makes an array of numbers if all columns are numbers, else of objects."""
        place = {name: at for at, name in enumerate(self.table.column_names)}
        made = [
            _values(columns[name]) if name in columns else self.given[:, place[name]]
            for name in names
        ]
        if wanted != "default":
            lists = {name: values.tolist() for name, values in zip(names, made, strict=True)}
            library: Any = nw.Implementation.from_string(wanted)
            return nw.from_dict(lists, backend=library).to_native()
        if all(values.dtype.kind in "fiu" for values in made):
            return np.column_stack(made).astype(np.float64)
        result = np.empty((len(self.given), len(names)), dtype=object)
        for at, values in enumerate(made):
            result[:, at] = values
        return result


def take_rows(estimator: Any, X: Any, *, reset: bool, least: int = 1) -> GivenRows:
    """Checks the rows given to `fit` (reset) or `transform`, and names their columns."""
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
    checks = {"dtype": None, "ensure_all_finite": "allow-nan", "ensure_min_samples": least}
    array = validate_data(estimator, X, reset=reset, **checks)
    names = list(_check_feature_names_in(estimator, None))
    columns = [_column(array[:, at], name) for at, name in enumerate(names)]
    return GivenRows(array, pa.table(columns, names))


def _rename_columns(X: Any, names: Sequence[str]) -> Any:
    """Returns a frame with these column names: pandas may have numbers instead."""
    frame = nw.from_native(X, eager_only=True)
    if list(frame.columns) == names:
        return X
    if hasattr(X, "set_axis"):
        return X.set_axis(names, axis=1)
    return frame.rename(dict(zip(frame.columns, names, strict=True))).to_native()


def take_target(y: Any, rows: int) -> pa.Array:
    """Returns the target as a column, with one value per row."""
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


def _values(values: pa.Array) -> NDArray[Any]:
    if pa.types.is_floating(values.type):
        return _floats(values)
    return np.array(values.to_pylist(), dtype=object)


def _floats(values: pa.Array) -> Floats:
    return values.to_numpy(zero_copy_only=False).astype(np.float64)  # type: ignore[no-any-return]
