"""t-closeness through microaggregation (Soria-Comas et al. 2015): merge, swap, or t first.

- `mdav`  classes of k near records (`gather`); those that break the promise are united with
  neighbours that mend them
- `micro-merge`  the same classes; the worst merged with the nearest, until all are close (`mend`)
- `micro-swap`  records are exchanged while a class is formed, until it is close (`gather`); what is
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
without them its classes can be farther than t. It is tried as well, second, and mended. Every class
is decided exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tclose.search.budget import Budget
from tclose.search.by_construction.construct import CHUNK, LOOK, Construction, run
from tclose.search.merging import merge_farthest
from tclose.search.microaggregation.gather import LEFT, MADE, NEXT, gather, make_flock
from tclose.search.microaggregation.subsets import along_order, one_of_each, subsets_needed
from tclose.search.outcome import Outcome
from tclose.search.problem import Problem

Ints = NDArray[np.int64]
Mend = Callable[[Construction, Ints], Ints]

GATHERING = 0.5
"""The share of the budget that gathering may take; what is left goes into merging and swaps."""
CANDIDATES = 200
"""How many of the nearest records may be exchanged for members of a class."""
LARGEST_STATE = 200_000_000
"""Entries of the histograms of all classes."""


def mdav(problem: Problem, budget: Budget) -> Outcome:
    """Classes of near records, united where they break the promise."""
    return run("mdav", lambda made: _gathered(made, 0, Construction.kept), problem, budget)


def micro_merge(problem: Problem, budget: Budget) -> Outcome:
    """Classes of near records, the worst merged with the nearest."""
    return run("micro-merge", lambda made: _gathered(made, 0, _merged), problem, budget)


def micro_swap(problem: Problem, budget: Budget) -> Outcome:
    """Classes that exchange records while they are formed."""
    return run("micro-swap", lambda made: _gathered(made, CANDIDATES, _merged), problem, budget)


def micro_t_first(problem: Problem, budget: Budget) -> Outcome:
    """Classes of one record from each subset of the sensitive values."""
    return run("micro-t-first", _t_first, problem, budget)


def _gathered(made: Construction, candidates: int, mend: Mend) -> None:
    """Gathers classes, with so many candidates for exchanges, and mends them."""
    k, step = class_size(made), "gathering"
    label = np.full(len(made.cell), -1, dtype=np.int64)
    block = block_size(made, k)
    flock = make_flock(block, k, candidates, made.tab)
    while flock.mark[NEXT] < len(label) or flock.mark[LEFT] > 0:
        if made.clock.over(step, GATHERING):
            break
        made.clock.spend(LOOK * gather(CHUNK, k, block, made.cell, flock, made.tab, label))
    rest = np.flatnonzero(label < 0)
    label[rest] = flock.mark[MADE] + np.minimum(
        np.arange(len(rest)) // k, max(len(rest) // k, 1) - 1
    )
    blocks = math.ceil(len(label) / block)
    made.offer(
        f"classes of {k}" + (f", {blocks:,} blocks" if blocks > 1 else ""), mend(made, label)
    )


def class_size(made: Construction) -> int:
    """k, or more where the histograms of all classes would not fit in memory."""
    needed = made.problem.rows * len(made.tab.rules.count) // LARGEST_STATE + 1
    return min(max(made.k, needed), made.problem.rows)


def block_size(made: Construction, k: int) -> int:
    """Records that are gathered at once: as many as the budget allows, in blocks of equal size.

    A block of B records costs B looks for each class in it.
    """
    rows = made.problem.rows
    looks = GATHERING / 2 * made.clock.budget.expected / LOOK
    most = max(16 * k, 64, int(min(looks * k / rows, rows)))
    return math.ceil(rows / math.ceil(rows / most))


def _merged(made: Construction, label: Ints) -> Ints:
    return merge_farthest(made.whole(label), made.curve, made.table, made.hurried).label


def _t_first(made: Construction) -> None:
    attribute, rows = made.close.attributes[0], made.problem.rows
    for at, count in enumerate((subsets_needed(made.close, attribute, made.k), _published(made))):
        if at > 0 and made.clock.over("subsets", GATHERING):
            return
        shelf = along_order(made, attribute.rank, count)
        reach = made.reach(count, GATHERING / 2)
        made.stock(f"{count} subsets", shelf, one_of_each(rows, count), reach)


def _published(made: Construction) -> int:
    """max(k, n / (2(n − 1)t + 1)), rounded up: enough if values are distinct and it divides n."""
    n, t = made.problem.rows, made.close.attributes[0].t
    return min(max(made.k, math.ceil(n / (2 * (n - 1) * t + 1))), n)
