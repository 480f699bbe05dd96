"""One record of each of K subsets: right with ties, and where K does not divide the rows.

Rows are laid out in an order of their sensitive values and cut into K runs of nearly equal length.
A class takes one record of each run. With n = q·K + e there are q classes; e < K runs, spread
evenly, have one record more, and the classes take those in turn.

**Bound.** Let R_b be the distribution of run b, and let a class of r records take c_b of them from
run b, whichever. Then EMD ≤ U(c) = Σ_b (c_b / r)·D(R_b) + EMD(Σ_b (c_b / r)·R_b, Q), with D(R_b)
the farthest that a single value of the run is from R_b.

*Proof.* The runs part the records, so this is Theorem B with runs for fragments. A value
that a border cuts through is in both runs, each with its part; which of the tied records are in
which is of no consequence, since R_b counts values. ∎

If K divides n, all c_b are 1, every R_b weighs 1/K, the second term is 0, and along a line

    U = (1/K)·Σ_b max(g_b − a_b, b_b − g_b) / (m − 1) ≤ 1/K,

where run b goes from value a_b to b_b with mean g_b: two runs share an end at most, so their widths
add up to at most m − 1. The published (n − K) / (2(n − 1)K) counts on all values being distinct.
With 1, 1, 1, 2 | 3, 3, 3, 4 it says 0.214 for K = 2; the class of 2 and 4 is 0.25 away, as U says.

If K does not divide n, the published course puts the e records left into the middle run, and does
not count them. Here U is computed for every vector of counts that occurs, at most e + 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.search.by_construction.construct import Construction
from tclose.search.by_construction.emd_bounds import (
    EmdAttribute,
    EmdBound,
    EmdConstraints,
    are_within,
)
from tclose.search.by_construction.quotas import Quotas

Ints = NDArray[np.int64]

MOST_SUBSETS = 512
TURN = 0.6180339887498949
"""Equal values go to runs by turns along the curve, so that every run has records everywhere."""


def take_one_of_each(rows: int, subsets: int) -> Quotas:
    """One record per subset for every class, and the rows beyond a multiple spread over both.

    >>> made = take_one_of_each(8, 3)
    >>> made.counts[made.kind].tolist()
    [[2, 1, 1], [1, 1, 2]]
    """
    classes = max(rows // subsets, 1)
    spare = rows - classes * subsets
    where = (2 * np.arange(spare) + 1) * subsets // (2 * max(spare, 1))
    counts = np.ones((min(spare + 1, classes), subsets), dtype=np.int64)
    np.add.at(counts, (np.arange(spare) % classes, where), 1)
    return Quotas(counts, np.minimum(np.arange(classes), len(counts) - 1))


def count_subset_rows(rows: int, subsets: int) -> Ints:
    """How many rows each subset has, so that the classes can take what `take_one_of_each` says.

    >>> count_subset_rows(8, 3).tolist()
    [3, 2, 3]
    """
    quotas = take_one_of_each(rows, subsets)
    times = np.bincount(quotas.kind, minlength=len(quotas.counts))
    taken: Ints = times @ quotas.counts
    return taken


def assign_subsets(made: Construction, rank: Ints, subsets: int) -> Ints:
    """The subset of each row, where tuples come in the order of their ranks."""
    key = rank[made.closeness.tuple_of][made.cell]
    order = np.lexsort([np.arange(len(key)) * TURN % 1.0, key])
    bucket = np.empty(len(key), dtype=np.int64)
    bucket[order] = np.repeat(np.arange(subsets), count_subset_rows(len(key), subsets))
    return bucket


def make_subset_bound(closeness: EmdConstraints, attribute: EmdAttribute, subsets: int) -> EmdBound:
    """U for classes that take records from each of the runs along an attribute."""
    order = np.argsort(attribute.rank, kind="stable")
    ends, borders = (
        np.cumsum(closeness.rows[order]),
        np.cumsum(count_subset_rows(closeness.total, subsets)),
    )
    stops = np.union1d(ends, borders)
    mass = np.diff(stops, prepend=0)
    owner = np.searchsorted(ends, stops, side="left")
    run = np.searchsorted(borders, stops, side="left")
    nodes = len(attribute.parent)
    held = np.bincount(run * nodes + attribute.node[order][owner], mass, subsets * nodes)
    share = held.reshape(subsets, nodes) / held.reshape(subsets, nodes).sum(axis=1, keepdims=True)
    below = attribute.sum_below(share)[:, :-1] * attribute.stretch[:-1]
    table = attribute.count_rows(closeness.rows, np.zeros_like(closeness.rows), 1) / closeness.total
    whole = attribute.sum_below(table)[0, :-1] * attribute.stretch[:-1]
    return EmdBound(attribute.t, attribute.find_worst_cost(share)[None], below[None], whole)


def count_subsets_needed(closeness: EmdConstraints, attribute: EmdAttribute, k: int) -> int:
    """A number of subsets that keeps closeness whichever the records are, or the most there may be.

    Found by doubling and bisecting; U falls with the number of subsets but for rounding, so this
    may be a little more than the least.
    """
    most = min(MOST_SUBSETS, closeness.total)
    high = min(max(k, 1), most)
    while high < most and not _suffices(closeness, attribute, high):
        high = min(2 * high, most)
    low = max(high // 2, min(k, most)) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if _suffices(closeness, attribute, middle):
            high = middle
        else:
            low = middle
    return high


def _suffices(closeness: EmdConstraints, attribute: EmdAttribute, subsets: int) -> bool:
    counts = take_one_of_each(closeness.total, subsets).counts
    return are_within([make_subset_bound(closeness, attribute, subsets)], counts)
