"""Bucket matching: two sensitive attributes at once, classes of one record per bucket of each.

Sort the records by the first attribute and cut the row into K buckets of s records, likewise by the
second. A record is an edge between its two buckets, so the records are the edges of a bipartite
multigraph in which every bucket has s edges. A class is a *perfect matching*: K records, one from
every bucket of either attribute.

**Never stuck.** A regular bipartite multigraph is a union of perfect matchings (König), so every
edge lies in one; taking one away leaves a regular multigraph. Hence whatever record is the seed, a
class with it exists, and so does a partition of all that are left. ∎

**Guarantee.** A class takes one record of each of K buckets of equal size, so by Theorem B
(`emd_bounds`) with the buckets as fragments its counts are in proportion and

    EMD ≤ Σ_b (1/K) · D(bucket b)

in both attributes, with classes of K records, not K². For ordered and numeric distances that is at
most 1/K, since the buckets' widths add up to at most 1. ∎ Three attributes have no such theorem.

Of all classes with a given seed the one nearest to it is found by the Hungarian method over the
nearest record left in every pair of buckets. Rows beyond a multiple of K, fewer than K and spread
over the orders, are put into the classes nearest to them that stay close, decided exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.records.filling import MatchingFilling
from tclose.search.budget import Budget
from tclose.search.by_construction.construct import Construction, run
from tclose.search.by_construction.emd_bounds import ROUNDING, EmdAttribute, EmdConstraints
from tclose.search.outcome import Outcome
from tclose.search.problem import Problem

Ints = NDArray[np.int64]

LADDER = (1.0, 0.8, 0.65, 0.5, 0.4, 0.3)
"""Numbers of buckets that are tried, as shares of what the guarantee needs, while the loss falls:
with fewer buckets some classes fail and are merged with others."""
BUILDING = 0.5
MOST_BUCKETS = 400
"""An assignment takes time with the cube of the buckets."""
TURNS = (0.6180339887498949, 0.41421356237309515)
"""Equal values go to buckets by turns along the curve, a different turn for each attribute: every
bucket then has records everywhere, and near ones can be matched."""


def matching(problem: Problem, budget: Budget) -> Outcome:
    """Classes by perfect matchings, with as many buckets as closeness needs, or fewer."""
    return run("matching", _build, problem, budget)


def _build(made: Construction) -> None:
    needed, most = count_buckets_needed(made.closeness, made.k), made.problem.rows
    tried = {min(max(made.k, round(share * needed)), most) for share in LADDER}
    for at, buckets in enumerate(sorted(tried, reverse=True)):
        before = made.least
        if at > 0 and made.clock.over("matching", BUILDING):
            return
        match_buckets(made, buckets)
        if made.least >= before:
            return


def count_buckets_needed(closeness: EmdConstraints, k: int) -> int:
    """A number of buckets that keeps both close whatever the records, or the most that is tried.

    Found by doubling and bisecting; the bound falls with the number of buckets but for rounding, so
    this may be a little more than the least.
    """
    most = min(MOST_BUCKETS, closeness.total)
    high = min(max(k, 1), most)
    while high < most and not _keeps_closeness(closeness, high):
        high = min(2 * high, most)
    low = max(high // 2, k) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if _keeps_closeness(closeness, middle):
            high = middle
        else:
            low = middle
    return high


def _keeps_closeness(closeness: EmdConstraints, buckets: int) -> bool:
    return all(
        measure_bucket_bound(closeness, attribute, buckets) <= attribute.t - ROUNDING
        for attribute in closeness.attributes
    )


def measure_bucket_bound(closeness: EmdConstraints, attribute: EmdAttribute, buckets: int) -> float:
    """Σ_b (1/K) · D(bucket b): how far a class of one record per bucket can be at most.

    Values that a border cuts through are in both buckets with their parts.
    """
    order = np.argsort(attribute.rank, kind="stable")
    ends = np.cumsum(closeness.rows[order])
    borders = closeness.total * np.arange(1, buckets + 1) / buckets
    stops = np.unique(np.concatenate([ends, borders]))
    mass = np.diff(stops, prepend=0.0)
    middle = stops - mass / 2
    owner = np.minimum(np.searchsorted(ends, middle, side="right"), len(ends) - 1)
    bucket = np.minimum((middle * buckets / closeness.total).astype(np.int64), buckets - 1)
    nodes = len(attribute.parent)
    spot = bucket * nodes + attribute.node[order][owner]
    held = np.asarray(np.bincount(spot, mass, buckets * nodes), dtype=np.float64)
    return float(attribute.find_worst_cost(held.reshape(buckets, nodes)).sum() / closeness.total)


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
        bucket = np.empty(len(rows), dtype=np.int64)
        bucket[along] = np.arange(len(rows)) * buckets // len(rows)
        pair = pair * buckets + bucket
    filling = MatchingFilling(made.table, pair, cell[rows], buckets)
    classes, step = len(rows) // buckets, f"{buckets} buckets"
    reach = made.choose_reach(buckets * buckets, BUILDING / len(LADDER))
    made.fill_all(step, classes, reach, filling)
    label = np.empty(len(of), dtype=np.int64)
    label[rows] = filling.label
    label[~kept] = classes + np.arange(spare)
    made.offer(step, made.merge_failing(label))
