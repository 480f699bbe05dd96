"""Bucket matching: two sensitive attributes at once, classes of one record per bucket of each.

Cut the records, sorted by the first attribute, into K buckets, likewise by the second. A record is
an edge between its two buckets, and a class is a *perfect matching*: one record from every bucket
of either attribute. It is never stuck, whatever record is the seed, and every class is within

    EMD ≤ Σ_b (1/K) · D(bucket b)

in both attributes, at most 1/K for ordered and numeric distances (`mathematics.md` 3.4). The
nearest class of a seed is found by the Hungarian method over the nearest record left in every pair
of buckets. Rows beyond a multiple of K go to the nearest classes that stay close, decided exactly.
"""

from __future__ import annotations

import math

import numpy as np

from tclose.kernels.records.filling import MatchingFilling
from tclose.search.by_construction.construct import Construction
from tclose.search.by_construction.emd_bounds import ROUNDING, EmdAttribute, EmdConstraints
from tclose.search.by_construction.quotas import choose_divisor, find_sufficient

LADDER = (1.0, 0.8, 0.65, 0.5, 0.4, 0.3)
"""Shares of the buckets that the guarantee needs, tried while the loss falls."""
BUILDING = 0.5
MOST_BUCKETS = 400
"""An assignment takes time with the cube of the buckets."""
TURNS = (0.6180339887498949, 0.41421356237309515)
"""Equal values go to buckets by turns along the curve, a different turn for each attribute: every
bucket then has records everywhere, and near ones can be matched."""


def build_matchings(made: Construction) -> None:
    """Classes by perfect matchings, with as many buckets as closeness needs, or fewer; and with
    those that are exactly like the table, where its counts have a common divisor."""
    _try_fewer_and_fewer(made)
    exact = count_exact_buckets(made.closeness, made.k)
    if exact <= MOST_BUCKETS and exact < made.problem.n_rows:
        match_buckets(made, exact)


def _try_fewer_and_fewer(made: Construction) -> None:
    needed, most = count_buckets_needed(made.closeness, made.k), made.problem.n_rows
    tried = {min(max(made.k, round(share * needed)), most) for share in LADDER}
    for at, buckets in enumerate(sorted(tried, reverse=True)):
        before = made.least
        if at > 0 and made.clock.is_over("matching", BUILDING):
            return
        match_buckets(made, buckets)
        if made.least >= before:
            return


def count_exact_buckets(closeness: EmdConstraints, k: int) -> int:
    """The buckets that hold a single value each, of either attribute: their classes are exactly
    like the table. As few as the common divisor of all values' counts allows."""
    counts = [
        int(count)
        for attribute in closeness.attributes
        for count in np.bincount(attribute.node, closeness.rows)
    ]
    return closeness.total // choose_divisor(math.gcd(*counts), closeness.total, k)


def count_buckets_needed(closeness: EmdConstraints, k: int) -> int:
    """A number of buckets that keeps both close whatever the records, or the most that is tried."""

    def suffices(buckets: int) -> bool:
        return all(
            measure_bucket_bound(closeness, attribute, buckets) <= attribute.t - ROUNDING
            for attribute in closeness.attributes
        )

    return find_sufficient(k, min(MOST_BUCKETS, closeness.total), suffices)


def measure_bucket_bound(closeness: EmdConstraints, attribute: EmdAttribute, buckets: int) -> float:
    """Σ_b (1/K) · D(bucket b): how far a class of one record per bucket can be at most."""
    borders = closeness.total * np.arange(1, buckets + 1) / buckets
    held = closeness.cut_into_runs(attribute, borders)
    return float(attribute.find_worst_cost(held).sum() / closeness.total)


def match_buckets(made: Construction, buckets: int) -> None:
    """One partition with so many buckets, offered if it is the best so far."""
    cell, closeness = made.cell, made.closeness
    of = closeness.tuple_of[cell]
    spare = len(of) % buckets
    kept = np.ones(len(of), dtype=bool)
    order = np.lexsort(
        [np.arange(len(of)), *(attribute.rank[of] for attribute in closeness.attributes)]
    )
    kept[order[(np.arange(spare) * 2 + 1) * len(of) // (2 * max(spare, 1))]] = False
    rows = np.flatnonzero(kept)
    if len(rows) == 0:
        return
    pair = np.zeros(len(rows), dtype=np.int64)
    for attribute, turn in zip(closeness.attributes, TURNS, strict=True):
        along = np.lexsort([np.arange(len(rows)) * turn % 1.0, attribute.rank[of[rows]]])
        pair = pair * buckets + np.argsort(along) * buckets // len(rows)
    filling = MatchingFilling(made.table, pair, cell[rows], buckets)
    classes, step = len(rows) // buckets, f"{buckets} buckets"
    reach = made.choose_reach(buckets * buckets, BUILDING / len(LADDER))
    made.fill_all(step, classes, reach, filling)
    label = np.empty(len(of), dtype=np.int64)
    label[rows] = filling.label
    label[~kept] = classes + np.arange(spare)
    made.offer(step, made.merge_classes(label))
