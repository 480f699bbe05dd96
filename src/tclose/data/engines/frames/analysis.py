"""Released rows as a frame of pandas that is ready for analysis: intervals, ordered categories."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa

from tclose.data.encode.ranges import Ranges, read_ranges
from tclose.errors import UsageError

TEXTS = (pa.string(), pa.large_string(), pa.string_view())


def make_ready(
    table: pa.Table,
    quasi: Collection[str],
    plain: Collection[str],
    orders: Mapping[str, Sequence[str]],
    *,
    ordered: bool,
) -> Any:
    """The rows with intervals where `plain` columns hold ranges, and ordered categories.

    Where all columns are text, as in a CSV file, those of numbers and dates only become such.

    >>> table = pa.table({"age": ["[20, 30]", "[31, 44]"]})
    >>> make_ready(table, ["age"], ["age"], {}, ordered=True)["age"].dtype
    interval[int64, both]
    """
    try:
        import pandas as pd
    except ModuleNotFoundError:
        hint = "pip install pandas, or use release.data"
        raise UsageError("pandas is not installed", where="to_pandas", hint=hint) from None
    frame = table.to_pandas(date_as_object=False)
    untyped = all(field.type in TEXTS for field in table.schema)
    for name in frame.columns:
        column = table.column(name).combine_chunks().dictionary_encode()
        labels = [None if value is None else str(value) for value in column.dictionary.to_pylist()]
        codes = column.indices.fill_null(-1).to_numpy()
        order = [value for value in orders.get(name, ()) if value in labels]
        ranges = read_ranges(labels) if untyped or name in quasi else None
        if ordered and order and set(labels) == set(order):
            kinds = pd.CategoricalDtype(order, ordered=True)
        elif ranges is not None and name not in quasi:
            if ranges.low.equals(ranges.high):
                values = ranges.low.take(column.indices)
                frame[name] = values.to_pandas(date_as_object=False)
            continue
        elif ranges is not None and name in plain and _are_intervals(ranges):
            frame[name] = _make_intervals(pd, ranges).take(codes, allow_fill=True)
            continue
        elif ordered and ranges is not None:
            kinds = pd.CategoricalDtype(_sort(labels, ranges), ordered=True)
        else:
            continue
        texts = [None if code < 0 else labels[code] for code in codes.tolist()]
        frame[name] = pd.Categorical(texts, dtype=kinds)
    return frame


def _are_intervals(ranges: Ranges) -> bool:
    """Whether each has two ends (or none at all: `*`), and all are open or closed alike."""
    ends = zip(ranges.low.to_pylist(), ranges.high.to_pylist(), strict=True)
    return ranges.closed is not None and all((low is None) == (high is None) for low, high in ends)


def _make_intervals(pd: Any, ranges: Ranges) -> Any:
    ends = pa.table({"low": ranges.low, "high": ranges.high}).to_pandas(date_as_object=False)
    return pd.arrays.IntervalArray.from_arrays(ends["low"], ends["high"], closed=ranges.closed)


def _sort(labels: Sequence[str | None], ranges: Ranges) -> list[str]:
    """The labels by their low and high ends; where there is no end, it is the farthest."""
    low, high = ranges.low.to_pylist(), ranges.high.to_pylist()

    def place(at: int) -> tuple[Any, ...]:
        is_open = low[at] is None and high[at] is None
        return is_open, low[at] is not None, low[at] or 0, high[at] is None, high[at] or 0

    return [label for at in sorted(range(len(labels)), key=place) if (label := labels[at])]
