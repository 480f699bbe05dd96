"""t-closeness through microaggregation (Soria-Comas et al. 2015): merge, swap, or t first.

- `mdav`  classes of k near records; those that fail are merged with neighbours that mend them
- `micro-merge`  the same classes; the worst merged with the nearest, until all are close
- `micro-swap`  records are exchanged while a class is formed, until it is close; what is
  not close in the end is merged as before
- `micro-t-first`  one record of each of K subsets of the sensitive values, for the least K that
  keeps closeness whichever the records are (`subsets`)

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
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.records.gathering import RecordPool
from tclose.search.budget import Budget
from tclose.search.by_construction.construct import CHUNK, LOOK, Construction, run
from tclose.search.merging import merge_farthest
from tclose.search.microaggregation.subsets import (
    assign_subsets,
    count_subsets_needed,
    take_one_of_each,
)
from tclose.search.outcome import Outcome
from tclose.search.problem import Problem

Ints = NDArray[np.int64]
Merge = Callable[[Construction, Ints], Ints]

GATHERING = 0.5
"""The share of the budget that gathering may take; what is left goes into merging and swaps."""
CANDIDATES = 200
"""How many of the nearest records may be exchanged for members of a class."""
LARGEST_STATE = 200_000_000
"""Entries of the histograms of all classes."""


def mdav(problem: Problem, budget: Budget) -> Outcome:
    """Classes of near records, merged where they fail."""
    return run("mdav", lambda made: _gather(made, 0, Construction.merge_failing), problem, budget)


def micro_merge(problem: Problem, budget: Budget) -> Outcome:
    """Classes of near records, the worst merged with the nearest."""
    return run("micro-merge", lambda made: _gather(made, 0, _merge_farthest), problem, budget)


def micro_swap(problem: Problem, budget: Budget) -> Outcome:
    """Classes that exchange records while they are formed."""
    return run(
        "micro-swap", lambda made: _gather(made, CANDIDATES, _merge_farthest), problem, budget
    )


def micro_t_first(problem: Problem, budget: Budget) -> Outcome:
    """Classes of one record from each subset of the sensitive values."""
    return run("micro-t-first", _build_t_first, problem, budget)


def _gather(made: Construction, candidates: int, merge: Merge) -> None:
    """Gathers classes, with so many candidates for exchanges, and merges those that fail."""
    k = choose_class_size(made)
    block = choose_block_size(made, k)
    pool = RecordPool(made.table, made.cell, k, block, candidates)
    while not pool.is_empty and not made.clock.over("gathering", GATHERING):
        made.clock.spend(LOOK * pool.gather(CHUNK))
    label = pool.label
    rest = np.flatnonzero(label < 0)
    label[rest] = pool.n_classes + np.minimum(np.arange(len(rest)) // k, max(len(rest) // k, 1) - 1)
    blocks = math.ceil(len(label) / block)
    step = f"classes of {k}" + (f", {blocks:,} blocks" if blocks > 1 else "")
    made.offer(step, merge(made, label))


def choose_class_size(made: Construction) -> int:
    """k, or more where the histograms of all classes would not fit in memory."""
    slots: int = made.table.constraints.n_slots + 1
    needed = made.problem.rows * slots // LARGEST_STATE + 1
    return min(max(made.k, needed), made.problem.rows)


def choose_block_size(made: Construction, k: int) -> int:
    """Records that are gathered at once: as many as the budget allows, in blocks of equal size.

    A block of B records costs B looks for each class in it.
    """
    rows = made.problem.rows
    looks = GATHERING / 2 * made.clock.budget.expected / LOOK
    most = max(16 * k, 64, int(min(looks * k / rows, rows)))
    return math.ceil(rows / math.ceil(rows / most))


def _merge_farthest(made: Construction, label: Ints) -> Ints:
    whole = made.join_rows(label)
    return merge_farthest(whole, made.curve, made.table, made.is_hurried).label


def _build_t_first(made: Construction) -> None:
    attribute, rows = made.closeness.attributes[0], made.problem.rows
    for at, count in enumerate(
        (count_subsets_needed(made.closeness, attribute, made.k), _count_published_subsets(made))
    ):
        if at > 0 and made.clock.over("subsets", GATHERING):
            return
        bucket = assign_subsets(made, attribute.rank, count)
        reach = made.choose_reach(count, GATHERING / 2)
        made.fill_from_buckets(f"{count} subsets", bucket, take_one_of_each(rows, count), reach)


def _count_published_subsets(made: Construction) -> int:
    """max(k, n / (2(n − 1)t + 1)), rounded up: enough if values are distinct and it divides n."""
    n, t = made.problem.rows, made.closeness.attributes[0].t
    return min(max(made.k, math.ceil(n / (2 * (n - 1) * t + 1))), n)
