"""t-closeness through microaggregation (Soria-Comas et al. 2015): merge, swap, or t first.

- `mdav`  classes of k near records; those that fail are merged with neighbours that mend them
- `micro-merge`  the same classes; the worst merged with the nearest, until all are close
- `micro-swap`  records are exchanged while a class is formed, until it is close; what is
  not close in the end is merged as before
- `micro-t-first`  one record of each of K subsets of the sensitive values, for the least K that
  keeps closeness whichever the records are (`quotas`)

**Where this departs from what is published.** Classes are released as boxes, not as averages, so
distances are losses. Several sensitive attributes count by their worst EMD over t. Exchanges look
at the nearest `CANDIDATES` records instead of all. Large tables are gathered in blocks along a
space-filling curve, as large as the budget allows: within them MDAV is exact. Equal rows are one
cell, released whole, as with all methods that are close by construction (`construct`). For
`micro-t-first` seeds are taken along the curve instead of from the border, and the number of
subsets is ours: the published one counts on distinct values and on a multiple of K rows, and
without them its classes can be farther than t. It is tried as well, second, and merged. Every class
is decided exactly.
"""

from __future__ import annotations

import math

import numpy as np

from tclose.kernels.records.gathering import RecordPool
from tclose.search.by_construction.construct import CHUNK, LOOK, Construction
from tclose.search.by_construction.quotas import (
    count_subset_rows,
    count_subsets_needed,
    take_one_of_each,
)
from tclose.search.merging import Merge, merge_failing

GATHERING = 0.5
"""The share of the budget that gathering may take; what is left goes into merging and swaps."""
CANDIDATES = 200
"""How many of the nearest records may be exchanged for members of a class."""
LARGEST_STATE = 200_000_000
"""Entries of the histograms of all classes."""


def gather_classes(
    made: Construction, *, candidates: int = 0, merge: Merge = merge_failing
) -> None:
    """Gathers classes, with so many candidates for exchanges, and merges those that fail."""
    k = choose_class_size(made)
    block = choose_block_size(made, k)
    pool = RecordPool(made.table, made.cell, k, block, candidates)
    while not pool.is_empty and not made.clock.is_over("gathering", GATHERING):
        made.clock.spend(LOOK * pool.gather(CHUNK))
    label = pool.label
    rest = np.flatnonzero(label < 0)
    label[rest] = pool.n_classes + np.minimum(np.arange(len(rest)) // k, max(len(rest) // k, 1) - 1)
    blocks = math.ceil(len(label) / block)
    step = f"classes of {k}" + (f", {blocks:,} blocks" if blocks > 1 else "")
    made.offer(step, made.merge_classes(label, merge))


def choose_class_size(made: Construction) -> int:
    """k, or more where the histograms of all classes would not fit in memory."""
    slots: int = made.table.constraints.n_slots + 1
    needed = made.problem.n_rows * slots // LARGEST_STATE + 1
    return min(max(made.k, needed), made.problem.n_rows)


def choose_block_size(made: Construction, k: int) -> int:
    """Records that are gathered at once: as many as the budget allows, in blocks of equal size.

    A block of B records costs B looks for each class in it.
    """
    rows = made.problem.n_rows
    looks = GATHERING / 2 * made.clock.budget.expected / LOOK
    most = max(16 * k, 64, int(min(looks * k / rows, rows)))
    return math.ceil(rows / math.ceil(rows / most))


def build_t_first(made: Construction) -> None:
    """Classes of one record from each subset of the sensitive values."""
    attribute, rows = made.closeness.attributes[0], made.problem.n_rows
    needed = count_subsets_needed(made.closeness, attribute, made.k)
    for at, count in enumerate((needed, _count_published_subsets(made))):
        if at > 0 and made.clock.is_over("subsets", GATHERING):
            return
        bucket = made.assign_runs(attribute.rank, count_subset_rows(rows, count))
        reach = made.choose_reach(count, GATHERING / 2)
        made.fill_from_buckets(f"{count} subsets", bucket, take_one_of_each(rows, count), reach)


def _count_published_subsets(made: Construction) -> int:
    """max(k, n / (2(n − 1)t + 1)), rounded up: enough if values are distinct and it divides n."""
    n, t = made.problem.n_rows, made.closeness.attributes[0].t
    return min(max(made.k, math.ceil(n / (2 * (n - 1) * t + 1))), n)
