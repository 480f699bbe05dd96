"""Aggregate queries: the error of counts that are estimated from the release.

COUNT(*) WHERE λ quasi-identifiers lie in random ranges AND a sensitive attribute does. Each range
is a run of θ^(1/(λ+1)) of its column's values in their order, so that about a share θ of the rows
would qualify if columns were independent. The estimate spreads the rows of a class evenly over the
values that it covers. The error is |estimate − actual| / max(actual, 0.1 % of the rows).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tclose.arrays import Floats, Ints
from tclose.errors import UsageError
from tclose.kernels.classes.boxes import Queries
from tclose.utility.pair import Measure, Pair

QUERY_ERROR = "query-error"
FEWEST = 100
"""The least number of queries, even with little effort."""
COMPARED = 5e-9
"""Seconds of an ordinary core to compare a query with a cell or a class."""
LEAST = 0.001
"""The least divisor of an error, as a share of the rows."""


class Workload(NamedTuple):
    """Random queries: half-open ranges of places, [0, all) for columns that a query does not use.

    `attribute[i]` is the sensitive attribute of query i (−1 for none), `part[i]` its range of
    codes.
    """

    low: Ints
    high: Ints
    attribute: Ints
    part: Ints


def draw_workload(pair: Pair, number: int, share: float, columns: int, seed: int) -> Workload:
    """Draws random queries over the values of the original."""
    if number < 1 or columns < 1 or not 0 < share <= 1:
        raise UsageError(
            "queries need a number ≥ 1, at least one column, and a share in (0, 1]", where="queries"
        )
    rng = np.random.default_rng(seed)
    values = np.array([boxes.values for boxes in pair.covering.columns])
    sensitive = [attribute.values for attribute in pair.original.attributes.values()]
    used = min(columns, len(values))
    each = share ** (1 / (used + bool(sensitive)))
    low = np.zeros((number, len(values)), dtype=np.int64)
    high = np.broadcast_to(values, low.shape).copy()
    chosen = np.argsort(rng.random(low.shape), axis=1)[:, :used]
    row = np.arange(number)[:, None]
    low[row, chosen], high[row, chosen] = _draw_ranges(rng, values[chosen], each)
    attribute = np.full(number, -1, dtype=np.int64)
    part = np.zeros((number, 2), dtype=np.int64)
    if sensitive:
        attribute = rng.integers(len(sensitive), size=number)
        part[:, 0], part[:, 1] = _draw_ranges(rng, np.array(sensitive)[attribute], each)
    return Workload(low, high, attribute, part)


def _draw_ranges(rng: np.random.Generator, values: Ints, share: float) -> tuple[Ints, Ints]:
    """Draws random runs that cover a share of the values."""
    wide = np.clip(np.rint(values * share), 1, values).astype(np.int64)
    low = np.floor(rng.random(values.shape) * (values - wide + 1)).astype(np.int64)
    return low, low + wide


def count_actual(pair: Pair, work: Workload) -> Floats:
    """Counts in the original."""
    weight = pair.original.cells.rows.astype(np.float64)
    places = pair.covering.places(pair.original.cells)
    return np.asarray(Queries(*work).count(places, pair.original_codes, weight))


def estimate_counts(pair: Pair, work: Workload) -> Floats:
    """Estimates the counts as a reader of the release would."""
    classes, columns = pair.release.classes, pair.covering.columns
    order = np.argsort(classes.cell_class, kind="stable")
    start = np.searchsorted(classes.cell_class[order], np.arange(classes.count + 1))
    found = Queries(*work).estimate(
        pair.covering.boxes,
        np.concatenate([np.append(np.maximum(boxes.width, 1), 1.0) for boxes in columns]),
        np.array([boxes.values for boxes in columns]), start, pair.release_codes[order],
        classes.cell_rows[order].astype(np.float64), pair.size.astype(np.float64),
    )  # fmt: skip
    return np.asarray(found)


def measure_query_error(
    pair: Pair, *, number: int = 1000, share: float = 0.1, columns: int = 3, seed: int = 1,
    effort: float = math.inf,
) -> Measure:  # fmt: skip
    """Measures the relative error of random counts: median, mean, and 90th percentile.

    If the effort (seconds of an ordinary core) is not enough for all queries, only the first are
    used.
    """
    wanted, size = number, len(pair.original.cells.rows) + pair.release.classes.count
    number = min(number, max(FEWEST, int(min(effort / (COMPARED * size), number))))
    note = f"{number:,} of {wanted:,} queries used" if number < wanted else ""
    work = draw_workload(pair, number, share, columns, seed)
    actual, estimate = count_actual(pair, work), estimate_counts(pair, work)
    error = abs(estimate - actual) / np.maximum(actual, max(LEAST * pair.rows, 1e-12))
    numbers = {
        "median": float(np.median(error)),
        "mean": float(error.mean()),
        "90 %": float(np.quantile(error, 0.9)),
        "queries": float(number),
        "columns": float(min(columns, len(pair.covering.columns))),
        "share": share,
        "selecting nothing": float(np.count_nonzero(actual == 0)),
    }
    by_column = {}
    whole = np.array([boxes.values for boxes in pair.covering.columns])
    for at, boxes in enumerate(pair.covering.columns):
        touched = (work.high[:, at] - work.low[:, at]) < whole[at]
        if touched.any():
            by_column[boxes.name] = float(np.median(error[touched]))
    meaning = "median relative error of random counts"
    return Measure(QUERY_ERROR, numbers["median"], meaning, by_column, numbers, note)
