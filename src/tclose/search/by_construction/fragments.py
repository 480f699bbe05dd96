"""The searches by fragmentation: any number of sensitive attributes of any kind.

- `fragments` finds fragmentations that use up shares of t, deals each to as many classes as Theorem
  B allows (`quotas`), and builds the most promising ones: many classes, few fragments (the fewer
  there are, the more records a class may choose from).
- `fragments-thesis` is the published method for numerical attributes, with its own bound and class
  sizes by the greatest common divisor, to compare.
- `sabre` (Cao, Karras, Kalnis and Tan 2011) has one attribute, whose fragments are its *buckets*;
  the vector of bucket sizes is halved, and halved again, as long as both halves are close whatever
  records they take, and large enough. Each class takes its counts from the buckets, nearest first.
- `sabre-curve` takes the next along a space-filling curve in every bucket, in O(n log n).

SABRE is reconstructed from the method's idea; bounds and acceptance are ours, and proved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tclose.search.by_construction.construct import Construction
from tclose.search.by_construction.emd_bounds import EmdBound, EmdConstraints, make_emd_bounds
from tclose.search.by_construction.fragmentation import OWN_WIDTH, Fragmentation, cut_into_fragments
from tclose.search.by_construction.quotas import (
    Quotas,
    count_most_classes,
    deal_rows,
    divide_in_proportion,
    halve_rows,
)
from tclose.search.outcome import Clock

Plan = tuple[Fragmentation, Quotas]
Sizing = Callable[[NDArray[np.int64], Sequence[EmdBound], int], Quotas]
"""The quotas for the rows of fragments, within bounds, of at least so many rows a class."""

FRAGMENT_SHARES = (0.7, 0.5, 0.35, 0.8, 0.6, 0.45, 0.4, 0.3, 0.2, 0.9)
"""Shares of t that a fragmentation may use up, the likeliest first; the rest is for rounding."""
BUCKET_SHARES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
TRIALS = 3
PLANNING, BUILDING = 0.3, 0.6
"""The shares of the budget after which planning and building end; what is left goes into swaps."""
FREEDOM = 0.7
"""¾ or so was best on twelve policies."""
PLAN = 6e-7
"""Seconds of an ordinary core per fragment and combination of values, for one plan."""


def build_fragments(made: Construction) -> None:
    """Fragments with the corrected bound, dealt."""
    plans = plan_fragments(made.closeness, made.k, clock=made.clock)
    _build_plans(made, plans, "fragments")


def build_fragments_as_published(made: Construction) -> None:
    """Fragments with the published bound, in exact proportion."""
    limits = [attribute.t for attribute in made.closeness.attributes]
    found = cut_into_fragments(made.closeness, limits, OWN_WIDTH)
    quotas = divide_in_proportion(found.rows, made.k)
    reach = made.choose_reach(found.count, BUILDING)
    made.fill_from_fragments(f"{found.count} fragments", found.of_tuple, quotas, reach)


def build_buckets(made: Construction, *, along: bool = False) -> None:
    """Buckets of one attribute, halved; records nearest to each other, or next along the curve.

    Along the curve a class has no choice of records, so few buckets are worth nothing.
    """
    freedom = 0.0 if along else FREEDOM
    plans = plan_fragments(made.closeness, made.k, BUCKET_SHARES, halve_rows, freedom=freedom)
    _build_plans(made, plans, "buckets", reach=1 if along else None)


def _deal_most(rows: NDArray[np.int64], bounds: Sequence[EmdBound], k: int) -> Quotas:
    return deal_rows(rows, count_most_classes(rows, bounds, k))


def plan_fragments(
    closeness: EmdConstraints,
    k: int,
    shares: Sequence[float] = FRAGMENT_SHARES,
    choose_sizes: Sizing = _deal_most,
    clock: Clock | None = None,
    freedom: float = FREEDOM,
) -> list[Plan]:
    """Fragmentations and the classes that each guarantees, the most promising first.

    `freedom` is how much few fragments count for against many classes: they leave a class more
    records to choose from. With a clock, as many as a share of the budget allows, and one at least.
    """
    plans: dict[bytes, Plan] = {}
    for share in shares:
        if plans and clock is not None and clock.is_over("planning", PLANNING):
            break
        targets = [share * attribute.t for attribute in closeness.attributes]
        found = cut_into_fragments(closeness, targets)
        bounds = make_emd_bounds(closeness, found.of_tuple, found.coarser)
        plans[found.of_tuple.tobytes()] = (found, choose_sizes(found.rows, bounds, k))
        if clock is not None:
            clock.spend(PLAN * found.count * len(closeness.rows))
    return sorted(plans.values(), key=lambda plan: -plan[1].classes / plan[0].count ** freedom)


def _build_plans(
    made: Construction, plans: list[Plan], what: str, reach: int | None = None
) -> None:
    for at, (found, quotas) in enumerate(plans[:TRIALS]):
        if at > 0 and made.clock.is_over(what, BUILDING):
            return
        looks = made.choose_reach(found.count, BUILDING / TRIALS) if reach is None else reach
        made.fill_from_fragments(f"{found.count} {what}", found.of_tuple, quotas, looks)
