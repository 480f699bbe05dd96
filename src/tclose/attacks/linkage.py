"""Linkage: somebody who has the original's quasi-identifiers looks for each person's row.

The guess is the nearest box: a class that covers the person, else the one with the smallest gap; of
several the narrowest, and any of its rows. Where rows are not linked, every guess is assumed to hit
the right class, which is the worst case.
"""

from __future__ import annotations

import numpy as np

from tclose.attacks.classes import find_threshold
from tclose.attacks.finding import Finding, rank_worst
from tclose.data.alignment import Alignment
from tclose.distance.histogram import group_codes
from tclose.kernels.classes.boxes import BoxGaps
from tclose.plain import rows_text

MOST_PAIRS = 2_000_000_000
"""The largest number of pairs of people and classes to compare; beyond it people are sampled."""


def find_order(found: Alignment) -> Finding:
    """Finds whether rows are in the order of the original, so that a list identifies them."""
    total = found.release.classes.n_rows
    same_order = found.in_order and len(found.release.cells.rows) > 1
    if same_order:
        sentence = (
            "The rows are in the order of the original: a list of the people in this order shows "
            "which row is whose."
        )
    else:
        sentence = "The rows are not in the order of the original, so their order reveals nothing."
    return Finding("order", None, sentence, total if same_order else 0, total)


def find_linkage(found: Alignment, *, seed: int = 1) -> Finding:
    """Finds how often the guess is right, and for how many rows that is likelier than 1/k."""
    names = found.release.classes.quasi
    tuples, first = group_codes([found.original.cells.codes[name] for name in names])
    some = np.arange(len(first))
    most = max(MOST_PAIRS // max(found.release.classes.count, 1), 1)
    if found.central and len(first) > most:  # everybody is compared with every class
        some = np.sort(np.random.default_rng(seed).choice(len(first), most, replace=False))
    places = found.covering.places(found.original.cells)[first]
    classes, gaps = found.release.classes, _measure_gaps(found)
    volume = np.log2(np.maximum(found.covering.width(), 1)).sum(axis=1)
    size = classes.size.astype(np.float64)
    gap, narrow, rows = gaps.nearest(found.covering.grid, places[some], volume, size)
    k, total = find_threshold(found.release), classes.n_rows
    if found.linked is None:
        weight = np.bincount(tuples, found.original.cells.rows, len(first))[some]
        chance = np.where(gap == 0, 1 / np.maximum(rows, 1), 0.0)
        right_class, number = float(weight @ (gap == 0)), None
    else:
        at = np.full(len(first), -1, dtype=np.int64)
        at[some] = np.arange(len(some))
        of_tuple = at[tuples[found.linked.first]]
        kept = of_tuple >= 0
        of_tuple, weight = of_tuple[kept], found.linked.rows[kept].astype(np.float64)
        number = classes.cell_class[found.linked.second[kept]]
        mine = gaps.between(places[some][of_tuple], number)
        hit = (mine == gap[of_tuple]) & (volume[number] == narrow[of_tuple])
        chance = np.where(hit, 1 / np.maximum(rows[of_tuple], 1), 0.0)
        right_class = float(weight @ hit)
    seen = float(weight.sum()) or 1.0
    high = chance * k > 1
    affected = round(float(weight @ high) / seen * total)
    rate = float(weight @ chance) / seen
    affected_classes = np.zeros(classes.count, dtype=bool)
    if number is not None:
        affected_classes[number[high]] = True
    sentence = (
        "Someone who knows all people's quasi-identifiers and chooses the nearest class finds the "
        f"right row with probability {rate:.2%}; for {rows_text(affected)} with more than 1/{k:,}."
    )
    numbers = {
        "success rate": rate,
        "right class": right_class / seen,
        "rows tried": int(weight.sum()),
        "known whose row is whose": found.linked is not None,
    }
    return Finding(
        "linkage", None, sentence, affected, total, rank_worst(affected_classes, -size), numbers
    )


def _measure_gaps(found: Alignment) -> BoxGaps:
    """Returns the scale for gaps: places and ends of values as shares of the column's range."""
    first = np.cumsum([0, *(column.values + 1 for column in found.covering.columns)])
    positions, ends = [], []
    for column in found.covering.columns:
        place = np.arange(column.values + 1) / max(column.known - 1, 1)
        edge = np.full((len(column.start), 2), np.nan)
        if column.on_a_line:
            assert column.number is not None
            least = float(column.number[0])
            wide = float(column.number[-1] - column.number[0]) or 1.0
            place[: column.known] = (column.number - least) / wide
            edge[:-1] = (column.ends - least) / wide
        place[column.known :] = np.nan
        positions.append(place)
        ends.append(edge)
    return BoxGaps(
        found.covering.boxes, first[:-1].astype(np.int64), np.concatenate(positions),
        np.concatenate(ends),
    )  # fmt: skip
