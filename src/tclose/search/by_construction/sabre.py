"""SABRE (Cao, Karras, Kalnis and Tan 2011): buckets of one sensitive attribute, classes by halving.

1. *Buckets*: the values are parted into buckets until Σ_b w_b · D(bucket b) is within a share of t.
   D is exact for every tree metric (Theorem A): along a line w·max(g − a, b − g), for the
   equal distance w − min_v p_v, and on a hierarchy the worst leaf below the bucket, found in one
   walk. This is fragmentation with one attribute.
2. *Sizes*: the vector of bucket sizes is halved, and halved again, as long as both halves are close
   whatever records they take (Theorem B) and large enough.
3. *Records*: each class takes its counts from the buckets, nearest first (`sabre`) or next along a
   space-filling curve in every bucket (`sabre-curve`, O(n log n) in all).

Reconstructed from the method's idea; bounds and acceptance are ours, and proved.
"""

from __future__ import annotations

from tclose.search.budget import Budget
from tclose.search.by_construction.construct import Construction, run
from tclose.search.by_construction.emd_bounds import make_emd_bounds
from tclose.search.by_construction.fragmentation import Fragmentation, cut_into_fragments
from tclose.search.by_construction.quotas import Quotas, halve_rows
from tclose.search.outcome import Outcome
from tclose.search.problem import Problem

LADDER = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
TRIALS = 3
BUILDING = 0.6


def sabre(problem: Problem, budget: Budget) -> Outcome:
    """Records nearest in their quasi-identifiers."""
    return run("sabre", lambda made: _build(made, along=False), problem, budget)


def sabre_curve(problem: Problem, budget: Budget) -> Outcome:
    """Records next to each other on a space-filling curve."""
    return run("sabre-curve", lambda made: _build(made, along=True), problem, budget)


def _build(made: Construction, *, along: bool) -> None:
    plans = plan_buckets(made, along=along)
    for at, (buckets, quotas) in enumerate(plans[:TRIALS]):
        if at > 0 and made.clock.over("buckets", BUILDING):
            return
        reach = 1 if along else made.choose_reach(buckets.count, BUILDING / TRIALS)
        made.fill_from_fragments(f"{buckets.count} buckets", buckets.of_tuple, quotas, reach)


def plan_buckets(made: Construction, *, along: bool) -> list[tuple[Fragmentation, Quotas]]:
    """Buckets and the sizes of classes for shares of t, the most promising first.

    Along the curve a class has no choice of records, so few buckets are worth nothing.
    """
    closeness, plans = made.closeness, {}
    for share in LADDER:
        buckets = cut_into_fragments(
            closeness, [share * attribute.t for attribute in closeness.attributes]
        )
        bounds = make_emd_bounds(closeness, buckets.of_tuple, buckets.coarser)
        plans[buckets.of_tuple.tobytes()] = (buckets, halve_rows(buckets.rows, bounds, made.k))
    if along:
        return sorted(plans.values(), key=lambda plan: -plan[1].classes)
    return sorted(plans.values(), key=lambda plan: -plan[0].worth(plan[1].classes))
