"""The distribution of a column's values, before and after, as readers of the release see it.

A released interval is spread evenly over its length, a released group or set over its values;
hidden values are a separate bin. In an external report bins are named by their place in the range
or by their rank, and bins with few rows of the table before have no share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise

import numpy as np

from tclose.arrays import Floats
from tclose.data.encode.cells import Cells
from tclose.data.encode.columns import MISSING, Dictionary
from tclose.data.encode.coverage import Boxes
from tclose.data.encode.labels import ANYTHING, is_label
from tclose.distance.histogram import add_by_group
from tclose.report.document import HistogramChart, Series
from tclose.report.subject import Subject

BINS = 10
MOST_VALUES = 8
MONTH = 31
"""Days; longer bins are named by their months."""
FEW = 5
"""External reports show no share of fewer rows of the table before, unless k says otherwise."""


def count_values(cells: Cells, name: str) -> Floats:
    """Counts the rows of each value of a column, missing ones last."""
    size = cells.dictionaries[name].known + 1
    return add_by_group(cells.rows, cells.codes[name], size).astype(np.float64)


@dataclass(frozen=True)
class Spread:
    """The rows of a column's values (the missing one last), in several tables by name."""

    labels: tuple[str, ...]
    line: Floats | None
    """The positions of values on the number line; None if they have none."""
    dates: bool
    tables: dict[str, Floats]
    released: tuple[Floats, Floats] | None = None
    """For values on a line: the ends of released values, and the rows of each."""
    hidden: float = 0.0
    """The number of rows whose value is hidden."""

    @classmethod
    def of(cls, dictionary: Dictionary, tables: dict[str, Floats], *, nominal: bool) -> Spread:
        """Makes a spread from a dictionary; on the number line, unless values are nominal."""
        found = None if nominal else dictionary.line
        line = np.array([at.numerator / at.denominator for at in found]) if found else None
        if line is not None and line[0] == line[-1]:
            line = None
        return cls((*dictionary.labels, MISSING), line, dictionary.kind == "date", tables)


def chart_distribution(subject: Subject, name: str) -> HistogramChart | None:
    """Makes the chart of a counted column; None if it has no values."""
    least = subject.now.audit.bound.policy.k or FEW
    title = f"{subject.show(name)}: how its values are spread"
    return chart_spread(_spread_values(subject, name), title, few=0 if subject.internal else least)


def chart_spread(spread: Spread, title: str, *, few: int = 0) -> HistogramChart | None:
    """Makes the chart of a spread; bins of the table before need at least `few` rows."""
    if not any(rows.sum() for rows in spread.tables.values()):
        return None
    across, inside = "by frequency", not few
    names, counts = _bin_names(spread, inside=inside)
    if spread.line is not None:
        across = "from the lowest value to the highest"
        names, counts = _bin_numbers(spread, spread.line, inside=inside)
    if spread.hidden:
        names.append("hidden")
        counts = {title: np.append(rows, 0.0) for title, rows in counts.items()}
        counts["after"][-1] = spread.hidden
    series = []
    for table, rows in counts.items():
        shares: list[float | None] = (rows / max(rows.sum(), 1)).tolist()
        if table == "before" and few:
            hides = _find_few(rows, few)
            shares = [None if hide else share for hide, share in zip(hides, shares, strict=True)]
        series.append(Series(table, tuple(shares)))
    return HistogramChart(title, across, "share of rows", tuple(names), tuple(series))


def _find_few(count: Floats, least: int) -> list[bool]:
    """Flags bins with fewer rows than may be shown, and one more if there is only one."""
    few = (count > 0) & (count < least)
    if few.sum() == 1 and (count > 0).sum() > 1:
        others = np.where((count > 0) & ~few, count, np.inf)
        few[int(np.argmin(others))] = True
    return [bool(hide) for hide in few]


def _spread_values(subject: Subject, name: str) -> Spread:
    """Counts rows by value: before, and as a reader of the release would estimate."""
    now, held = subject.now.audit.bound, subject.alignment
    dictionary, rows = now.cells.dictionaries[name], count_values(now.cells, name)
    if held is None:
        nominal = any(is_label(label) for label in dictionary.labels)
        return Spread.of(dictionary, {subject.thing: rows}, nominal=nominal)
    known = held.original.cells.dictionaries[name]
    before = count_values(held.original.cells, name)
    quasi = list(held.release.classes.quasi)
    if name not in quasi:
        place = {label: at for at, label in enumerate(known.labels)}
        where = [*(place.get(label, known.known) for label in dictionary.labels), known.known]
        after = add_by_group(rows, np.array(where, dtype=np.int64), known.known + 1)
        return Spread.of(known, {"before": before, "after": after}, nominal=False)
    boxes, hidden = held.covering.columns[quasi.index(name)], 0.0
    if ANYTHING in dictionary.labels:
        at = dictionary.labels.index(ANYTHING)
        hidden, rows[at] = float(rows[at]), 0.0
    after = _share_out(boxes, rows)[boxes.rank]
    spread = Spread.of(known, {"before": before, "after": after}, nominal=boxes.number is None)
    return replace(spread, released=(boxes.ends, rows), hidden=hidden)


def _share_out(boxes: Boxes, rows: Floats) -> Floats:
    """Spreads the rows of each released value evenly over all values that it covers."""
    each = rows / np.maximum(boxes.width, 1)
    change = np.zeros(boxes.rank.max() + 2)
    np.add.at(change, boxes.low, each[boxes.owner])
    np.add.at(change, boxes.high, -each[boxes.owner])
    # Sums that cancel leave less than a millionth of a row.
    result: Floats = np.round(np.cumsum(change)[:-1], 6)
    return result


def _bin_numbers(
    spread: Spread, line: Floats, *, inside: bool
) -> tuple[list[str], dict[str, Floats]]:
    """Makes bins of equal width over the range; external reports name them by their place in it."""
    low, high = float(line.min()), float(line.max())
    count = min(BINS, len(np.unique(line)))
    edges = np.linspace(low, high, count + 1)
    place = np.clip((line - low) / (high - low) * count, 0, count - 1).astype(np.int64)
    counts = {
        title: np.append(add_by_group(rows[:-1], place, count), rows[-1])
        for title, rows in spread.tables.items()
    }
    if spread.released is not None:
        counts["after"] = np.append(_share_length(*spread.released, edges), counts["after"][-1])
    names = _name_bins(edges, dates=spread.dates, inside=inside)
    if any(rows[-1] for rows in counts.values()):
        return [*names, "missing"], counts
    return names, {title: rows[:-1] for title, rows in counts.items()}


def _share_length(ends: Floats, rows: Floats, edges: Floats) -> Floats:
    """Spreads the rows of released intervals evenly over their length, into the bins."""
    known = np.isfinite(ends).all(axis=1) & (rows > 0)
    low, high, rows = ends[known, :1], ends[known, 1:], rows[known]
    count = len(edges) - 1
    overlap = np.minimum(high, edges[1:]) - np.maximum(low, edges[:-1])
    share = np.maximum(overlap, 0.0) / np.where(high > low, high - low, 1.0)
    result: Floats = rows @ share
    single = (low == high)[:, 0]
    where = (low[single, 0] - edges[0]) / (edges[-1] - edges[0]) * count
    np.add.at(result, np.clip(where, 0, count - 1).astype(np.int64), rows[single])
    return result


def _name_bins(edges: Floats, *, dates: bool, inside: bool) -> list[str]:
    if not inside:
        ends = [f"{100 * at / (len(edges) - 1):.0f}" for at in range(len(edges))]
        return [f"{low}–{high}% of the range" for low, high in pairwise(ends)]
    if dates:
        days = [date.fromordinal(max(int(edge), 1)).isoformat() for edge in edges]
        ends = [day[:7] for day in days] if edges[1] - edges[0] >= MONTH else days
    else:
        ends = [f"{edge:,.0f}" if abs(edge) >= 1000 else f"{edge:.3g}" for edge in edges]
    return [f"{low} to {high}" for low, high in pairwise(ends)]


def _bin_names(spread: Spread, *, inside: bool) -> tuple[list[str], dict[str, Floats]]:
    """Makes a bin for each of the most frequent values, and one for the others."""
    first = next(iter(spread.tables.values()))
    seen = np.flatnonzero(sum(spread.tables.values()))
    order = seen[np.argsort(-first[seen], kind="stable")]
    shown = order[:MOST_VALUES]
    names = [spread.labels[at] for at in shown]
    if not inside:
        names = ["most frequent", *(f"no. {at}" for at in range(2, len(shown) + 1))]
    counts = {title: rows[shown] for title, rows in spread.tables.items()}
    if len(order) > len(shown):
        names.append("others")
        for title, rows in spread.tables.items():
            counts[title] = np.append(counts[title], rows[order[MOST_VALUES:]].sum())
    return names, counts
