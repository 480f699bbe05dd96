"""The measures that compare a release with its original, except queries, associations, learning.

A row that was left out loses everything. Where rows are not linked, entropy and squares are
expected values, with the original's own distribution under each released value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

import numpy as np

from tclose.arrays import Floats, Ints, draw_within
from tclose.data.encode.coverage import Boxes
from tclose.distance.histogram import Counts
from tclose.errors import UsageError
from tclose.plain import describe_sample
from tclose.utility.associations import ASSOCIATIONS, measure_associations
from tclose.utility.learning import LEARNING, measure_learning, refuse_target
from tclose.utility.pair import Measure, Pair, Utility
from tclose.utility.queries import QUERY_ERROR, measure_query_error

EFFORT = 10.0
"""The default effort for measures, in seconds of an ordinary core."""
COVERED = 1e-8
"""Seconds of an ordinary core to check whether a class covers a combination of values."""
NOT_CENTRAL = "not defined for central values"
EXPECTED = "expected, as rows could not be linked"


def measure_loss(pair: Pair) -> Measure:
    """Measures Iyengar's loss, the mean over all rows and columns; see `tclose.utility.loss`."""
    meaning = "share of the domain that a value covers; 0 exact, 1 anything"

    def price(below: Floats, leaves: int) -> Floats:  # a missing value has no leaf below it
        return np.maximum(below - 1, 0.0) / max(leaves - 1, 1)

    return _average_prices(pair, "loss", meaning, price)


def measure_ncp(pair: Pair) -> Measure:
    """Measures the normalized certainty penalty (Xu et al. 2006): leaves below / leaves.

    It is 0 for a leaf.
    """
    meaning = "normalized certainty penalty; overall the GCP"
    return _average_prices(
        pair, "ncp", meaning, lambda below, leaves: np.where(below <= 1, 0.0, below / leaves)
    )


def _average_prices(
    pair: Pair, name: str, meaning: str, price_leaves: Callable[[Floats, int], Floats]
) -> Measure:
    if pair.central:
        return Measure(name, None, meaning, note=NOT_CENTRAL)
    columns = {}
    for boxes, rows in zip(pair.covering.columns, pair.label_rows, strict=True):
        price = _price_values(boxes, price_leaves)
        columns[boxes.name] = float(rows @ price + pair.left_out) / max(pair.rows, 1)
    return Measure(name, float(np.mean(list(columns.values()))), meaning, columns)


def _price_values(boxes: Boxes, price_leaves: Callable[[Floats, int], Floats]) -> Floats:
    """Returns the cost of every released value of a column, in [0, 1]."""
    known = boxes.total((np.arange(boxes.values) < boxes.known).astype(np.int64))
    anything = (boxes.width > known) & (known > 0)
    if boxes.tree is not None and boxes.node is not None:
        below = np.where(boxes.node >= 0, boxes.tree.size_below[boxes.node], known)
        result = price_leaves(below.astype(np.float64), boxes.tree.leaf_count)
        result = np.where(anything, 1.0, result)
    elif boxes.number is not None and boxes.tree is None:
        wide = float(boxes.number[-1] - boxes.number[0]) or 1.0
        result = np.nan_to_num(boxes.ends[:, 1] - boxes.ends[:, 0]) / wide
        result = np.where(anything, 1.0, result)
    else:
        result = np.where(boxes.width <= 1, 0.0, boxes.width / max(boxes.values, 1))
    # A value that covers nothing of the original, and is not a number, reveals nothing.
    empty = (boxes.width == 0) & ~boxes.exact & np.isnan(boxes.ends[:, 0])
    return np.where(empty, 1.0, result)


def measure_entropy(pair: Pair) -> Measure:
    """Measures non-uniform entropy: the share of the original's bits that the release lost.

    A row whose value v was released as g costs −log₂(rows with v / rows with a value under g),
    counted in the original (Gionis and Tassa 2009); a row left out −log₂(rows with v / all rows).
    Divided by the cost of leaving everything out: 0 exact, 1 nothing left.
    """
    meaning = "bits needed to restore the original values, as a share of all bits"
    if pair.central:
        return Measure("entropy", None, meaning, note=NOT_CENTRAL)
    columns, bits, whole = {}, 0.0, 0.0
    for at, boxes in enumerate(pair.covering.columns):
        most = _count_bits(pair.counts[at])
        cost = _expect_bits(pair, at) if pair.linked is None else _count_bits_lost(pair, at)
        columns[boxes.name] = cost / most if most else 0.0
        bits, whole = bits + cost, whole + most
    note = EXPECTED if pair.linked is None else ""
    return Measure("entropy", bits / whole if whole else 0.0, meaning, columns, note=note)


def _count_bits(rows: Ints) -> float:
    """Returns the bits of all rows of the original in one column."""
    rows = rows[rows > 0]
    return float(rows @ (np.log2(rows.sum()) - np.log2(rows)))


def _count_bits_lost(pair: Pair, at: int) -> float:
    boxes, rows = pair.covering.columns[at], pair.counts[at]
    cell, number, weight = pair.pairs
    place = boxes.rank[pair.original.cells.codes[boxes.name]]
    each = np.log2(boxes.total(rows)[pair.covering.key[number, at]]) - np.log2(rows[place[cell]])
    out = np.log2(rows.sum()) - np.log2(rows[place])
    return float(weight @ each + pair.unlinked @ out)


def _expect_bits(pair: Pair, at: int) -> float:
    """Returns the expected cost: the rows of each released value times the entropy under it."""
    boxes, rows = pair.covering.columns[at], pair.counts[at].astype(np.float64)
    group = boxes.total(rows)
    inner = boxes.total(rows * np.log2(np.where(rows > 0, rows, 1.0)))
    safe = np.where(group > 0, group, 1.0)
    each = np.maximum(np.log2(safe) - inner / safe, 0.0)
    whole = _count_bits(pair.counts[at]) / max(pair.rows, 1)
    # A value that covers nothing reveals nothing.
    each = np.where(group > 0, each, whole)
    return float(pair.label_rows[at] @ each + pair.left_out * whole)


def measure_squares(pair: Pair) -> Measure:
    """Measures SSE / SST per standardized column of numbers or dates, and their mean.

    A row is represented by its released value if that is a number, otherwise by the mean of its
    class; a row left out by the mean of the table (Domingo-Ferrer and Mateo-Sanz 2002). 0 exact,
    1 as good as the mean alone.
    """
    meaning = "squared distance of rows from their released values, as a share of the total"
    numbers = [at for at, boxes in enumerate(pair.covering.columns) if boxes.number is not None]
    if not numbers:
        return Measure("squares", None, meaning, note="no quasi-identifier is a number or a date")
    if pair.central and pair.linked is None:
        note = "not defined for central values whose rows are not linked"
        return Measure("squares", None, meaning, note=note)
    columns = {}
    for at in numbers:
        whole = float(pair.counts[at] @ pair.standardize(at)[0] ** 2)
        lost = _expect_squares(pair, at, whole) if pair.linked is None else _add_squares(pair, at)
        columns[pair.covering.columns[at].name] = lost / whole if whole else 0.0
    note = EXPECTED if pair.linked is None else ""
    return Measure("squares", float(np.mean(list(columns.values()))), meaning, columns, note=note)


def _add_squares(pair: Pair, at: int) -> float:
    boxes, (value, mean, spread) = pair.covering.columns[at], pair.standardize(at)
    place = boxes.rank[pair.original.cells.codes[boxes.name]]
    cell, number, weight = pair.pairs
    seen = np.where(place[cell] < boxes.known, weight, 0).astype(np.float64)
    mine = value[place[cell]]
    classes = pair.release.classes.count
    count = np.bincount(number, seen, classes)
    centre = np.bincount(number, seen * mine, classes) / np.where(count > 0, count, 1.0)
    label = pair.covering.key[:, at]
    single = boxes.exact[label] & ~np.isnan(boxes.ends[label, 0])
    centre = np.where(single, (boxes.ends[label, 0] - mean) / spread, centre)
    return float(seen @ (mine - centre[number]) ** 2 + pair.unlinked @ value[place] ** 2)


def _expect_squares(pair: Pair, at: int, whole: float) -> float:
    """Returns the expected squares, with the original's own values under each released one."""
    boxes, value = pair.covering.columns[at], pair.standardize(at)[0]
    seen = pair.counts[at].astype(np.float64)
    seen[boxes.known :] = 0
    count, first, second = (boxes.total(part) for part in (seen, seen * value, seen * value**2))
    safe = np.where(count > 0, count, 1.0)
    each = np.maximum(second / safe - (first / safe) ** 2, 0.0)
    usual = whole / max(float(seen.sum()), 1.0)
    return float(pair.label_rows[at] @ each) + pair.left_out * usual


def measure_reconstruction(pair: Pair, effort: float = math.inf, seed: int = 1) -> Measure:
    """Measures KL(original ‖ rebuilt) in bits, over quasi-identifiers and sensitive attributes.

    The rebuilt table is that of a reader who knows nothing else: the rows of a class are spread
    evenly over all combinations of the original's values that the class covers (Kifer and Gehrke
    2006), a row left out over everything. If the effort (seconds of an ordinary core) is not enough
    for all combinations of quasi-identifiers, the mean is over the rows of a sample, drawn by the
    seed.
    """
    meaning = "bits per row by which the rebuilt table misses the original"
    if pair.central:
        return Measure("reconstruction", None, meaning, note=NOT_CENTRAL)
    cells, rebuilt = _rebuild_rows(pair, effort, seed)
    weight = pair.original.cells.rows[cells]
    tried = int(weight.sum())
    sample = "" if tried == pair.rows else describe_sample(tried, pair.rows, seed)
    if not (rebuilt > 0).all():
        lost = int(weight[rebuilt <= 0].sum())
        lie = "row lies" if lost == 1 else "rows lie"
        note = f"{lost:,} {lie} in no class, so the divergence is infinite{'.' * bool(sample)}"
        return Measure("reconstruction", float("inf"), meaning, note=note + sample)
    bits = float(weight @ np.log2(weight / rebuilt)) / max(tried, 1)
    return Measure("reconstruction", max(bits, 0.0), meaning, note=sample.strip())


def _rebuild_rows(pair: Pair, effort: float, seed: int) -> tuple[Ints, Floats]:
    """Returns cells of the original, as many as the effort allows, and their rebuilt rows."""
    places = pair.tuples[1]
    tried = pair.covering.grid.count_candidates(places) + 1
    drawn = np.ones(len(places), dtype=bool)
    if COVERED * tried.sum() > effort:
        drawn = draw_within(tried, effort / COVERED, seed)
    width = pair.covering.width().astype(np.float64)
    density = 1.0 / np.prod(np.where(width > 0, width, 1.0), axis=1)
    rows = pair.release.classes.cell_rows.astype(np.float64)
    order, (result,) = pair.spread(drawn, density, rows)
    everywhere = [float(boxes.values) for boxes in pair.covering.columns]
    combinations = int(pair.number_combinations()[0].max(initial=0)) + 1
    spread = float(np.prod(everywhere)) * combinations
    return order, result + pair.left_out / spread


@dataclass(frozen=True)
class Sizes:
    """Discernibility (Bayardo and Agrawal 2005) and class sizes."""

    classes: int
    smallest: int
    mean: float
    largest: int
    discernibility: int
    """Σ |class|², plus the whole table for every row left out."""


def class_sizes(size: Counts, rows: int) -> Sizes:
    """Summarizes the classes of a release made from a table of `rows` rows.

    >>> class_sizes(np.array([2, 3]), 6).discernibility
    19
    """
    each = [int(count) for count in size]
    released = sum(each)
    return Sizes(
        classes=len(each),
        smallest=min(each, default=0),
        mean=released / len(each) if each else 0.0,
        largest=max(each, default=0),
        discernibility=sum(count * count for count in each) + rows * (rows - released),
    )


def measure_discernibility(pair: Pair) -> Measure:
    """Between n (everybody stands alone) and n² (nobody can be told apart); `share` is of n²."""
    meaning = "number of indistinguishable rows, summed over all rows"
    cost = class_sizes(pair.size, pair.rows).discernibility
    return Measure("discernibility", float(cost), meaning, numbers={"share": cost / pair.rows**2})


def measure_class_size(pair: Pair) -> Measure:
    """Measures rows per class, and their ratio to the required k: C_avg (LeFevre et al. 2006)."""
    sizes, k = class_sizes(pair.size, pair.rows), pair.release.policy.k
    numbers = {name: float(getattr(sizes, name)) for name in ("classes", "smallest", "largest")}
    if k is not None:
        numbers["c_avg"] = sizes.mean / k
    return Measure("average-class-size", sizes.mean, "rows per class", numbers=numbers)


MEASURES: dict[str, Callable[[Pair], Measure]] = {
    "loss": measure_loss,
    "ncp": measure_ncp,
    "entropy": measure_entropy,
    "squares": measure_squares,
    "reconstruction": measure_reconstruction,
    "discernibility": measure_discernibility,
    "average-class-size": measure_class_size,
}
"""The measures that need only the pair, by name."""
FURTHER = (QUERY_ERROR, ASSOCIATIONS, LEARNING)
"""The measures that need further settings."""


def measure_pair(
    pair: Pair, progress: Callable[[str], None], *, queries: int, columns: int, share: float,
    target: str | None, seed: int, effort: float = EFFORT, without: Collection[str] = (),
) -> Utility:  # fmt: skip
    """Runs every measure that is not in `without`.

    `queries` 0 runs no random counts, `target` None trains no models. Half of the effort is for
    reconstruction, the other half for queries.
    """
    if unknown := sorted(set(without) - {*MEASURES, *FURTHER}):
        raise UsageError(
            f"unknown measure: {', '.join(map(repr, unknown))}",
            where="without",
            hint=f"choose from {', '.join([*MEASURES, *FURTHER])}",
        )
    chosen: dict[str, Callable[[], Measure]] = {
        name: partial(measure, pair) for name, measure in MEASURES.items()
    }
    chosen["reconstruction"] = partial(measure_reconstruction, pair, effort / 2, seed)
    if queries:
        chosen[QUERY_ERROR] = partial(
            measure_query_error, pair, number=queries, share=share, columns=columns, seed=seed,
            effort=effort / 2,
        )  # fmt: skip
    chosen[ASSOCIATIONS] = partial(measure_associations, pair, target)
    if target is not None:
        chosen[LEARNING] = partial(measure_learning, pair, target, seed=seed)
    chosen = {name: measure for name, measure in chosen.items() if name not in without}
    if LEARNING in chosen and target is not None:
        refuse_target(pair, target)
    found = []
    for at, (name, measure) in enumerate(chosen.items(), 1):
        progress(f"measuring {name.replace('-', ' ')}, {at} of {len(chosen)}")
        found.append(measure())
    return Utility(
        original=pair.original.source.name,
        release=pair.release.source.name,
        rows=pair.rows,
        left_out=pair.left_out,
        classes=pair.release.classes.count,
        row_by_row=pair.linked is not None,
        measures=tuple(found),
    )
