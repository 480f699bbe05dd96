"""t-closeness through microaggregation (Soria-Comas et al. 2015): merge, swap, or t first.

**Where this departs from what is published** (`methods.md`). Classes are released as boxes,
not as averages, so distances are losses. Several sensitive attributes count by their worst EMD over
t. Exchanges look at the nearest `CANDIDATES` records instead of all. Large tables are gathered in
blocks along a space-filling curve, as large as the budget allows: within them MDAV is exact. For
`micro-t-first` seeds are taken along the curve instead of from the border, and the number of
subsets is ours: the published one counts on distinct values and on a multiple of K rows, and
without them its classes can be farther than t. It is tried as well, second, and merged. Without
polish there are no blocks, exchanges look at all records, `micro-t-first` takes the published
number of subsets alone, and nothing follows but merging what fails.
"""

from __future__ import annotations

import math

import numpy as np

from tclose.kernels.records.gathering import RecordPool
from tclose.search.by_construction.construct import CHUNK, LOOK, Construction
from tclose.search.by_construction.quotas import (
    count_in_proportion,
    count_published_rows,
    count_subset_rows,
    count_subsets_needed,
    take_from_middle,
    take_one_of_each,
)
from tclose.search.merging import Merge, merge_failing

GATHERING = 0.5
"""The share of the budget that gathering may take; what is left goes into merging and swaps."""
CANDIDATES = 200
"""How many of the nearest records may be exchanged for members of a class."""
LARGEST_STATE = 200_000_000
"""Entries of the histograms of all classes; where there would be more, classes are larger."""


def gather_classes(
    made: Construction, *, exchanges: bool = False, merge: Merge = merge_failing
) -> None:
    """Builds classes of near records, exchanges records if asked, and merges classes that fail."""
    rows, slots = made.problem.n_rows, made.table.constraints.n_slots + 1
    k = min(max(made.k, rows * slots // LARGEST_STATE + 1), rows)
    block = choose_block_size(made, k)
    candidates = CANDIDATES if made.polish else rows
    pool = RecordPool(made.table, made.cell, k, block, candidates * exchanges)
    while not pool.is_empty and not made.clock.is_over("gathering", GATHERING):
        made.clock.spend(LOOK * pool.gather(CHUNK))
    label = pool.label
    rest = np.flatnonzero(label < 0)
    label[rest] = pool.n_classes + np.minimum(np.arange(len(rest)) // k, max(len(rest) // k, 1) - 1)
    blocks = math.ceil(len(label) / block)
    step = f"classes of {k}" + (f", {blocks:,} blocks" if blocks > 1 else "")
    made.offer(step, made.merge_classes(label, merge))


def choose_block_size(made: Construction, k: int) -> int:
    """Records that are gathered at once: as many as the budget allows, in blocks of equal size. A
    block of B records costs B looks for each class in it."""
    rows = made.problem.n_rows
    if not made.polish:
        return rows
    looks = GATHERING / 2 * made.clock.budget.expected / LOOK
    most = max(16 * k, 64, int(min(looks * k / rows, rows)))
    return math.ceil(rows / math.ceil(rows / most))


def build_t_first(made: Construction) -> None:
    """Classes of one record from each subset of the sensitive values. Where all subsets have one
    value each, classes are in exact proportion, as t = 0 needs it."""
    attribute, n = made.closeness.attributes[0], made.problem.n_rows
    alike = n // count_in_proportion(made.closeness.rows, (), made.k)
    needed = count_subsets_needed(made.closeness, attribute, made.k)
    # Published: enough if values are distinct and it divides n.
    published = min(max(made.k, math.ceil(n / (2 * (n - 1) * attribute.t + 1))), n)
    if not made.polish:
        published += n % published // (n // published)
        bucket = made.assign_runs(attribute.rank, count_published_rows(n, published))
        quotas = take_from_middle(n, published)
        return made.fill_from_buckets(f"{published} subsets", bucket, quotas, n)
    for at, count in enumerate(dict.fromkeys((needed, published, alike))):
        if at > 0 and made.clock.is_over("subsets", GATHERING):
            return
        bucket = made.assign_runs(attribute.rank, count_subset_rows(n, count))
        reach = made.choose_reach(count, GATHERING / 2)
        made.fill_from_buckets(f"{count} subsets", bucket, take_one_of_each(n, count), reach)
