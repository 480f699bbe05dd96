"""The searches by fragmentation: any number of sensitive attributes of any kind.

`fragments` finds fragmentations that use up shares of t, deals each to as many classes as Theorem B
allows (`quotas`), and builds the most promising ones: many classes, few fragments (the fewer there
are, the more records a class may choose from). `fragments-thesis` is the published method for
numerical attributes, with its own bound and class sizes by the greatest common divisor, to compare.
"""

from __future__ import annotations

from tclose.search.budget import Budget, Clock
from tclose.search.by_construction.construct import Construction, run
from tclose.search.by_construction.emd_bounds import EmdConstraints, make_emd_bounds
from tclose.search.by_construction.fragmentation import OWN_WIDTH, Fragmentation, cut_into_fragments
from tclose.search.by_construction.quotas import count_most_classes, deal_rows, divide_in_proportion
from tclose.search.outcome import Outcome
from tclose.search.problem import Problem

LADDER = (0.7, 0.5, 0.35, 0.8, 0.6, 0.45, 0.4, 0.3, 0.2, 0.9)
"""Shares of t that a fragmentation may use up, the likeliest first; the rest is for rounding."""
TRIALS = 3
PLANNING, BUILDING = 0.3, 0.6
"""The shares of the budget after which planning and building end; what is left goes into swaps."""
PLAN = 6e-7
"""Seconds of an ordinary core per fragment and combination of values, for one plan."""


def fragments(problem: Problem, budget: Budget) -> Outcome:
    """Fragments with the corrected bound, dealt."""
    return run("fragments", _build, problem, budget)


def fragments_thesis(problem: Problem, budget: Budget) -> Outcome:
    """Fragments with the published bound, in exact proportion."""
    return run("fragments-thesis", _build_thesis, problem, budget)


def _build(made: Construction) -> None:
    plans = plan_fragments(made.closeness, made.k, made.clock)
    for at, (found, classes) in enumerate(plans[:TRIALS]):
        if at > 0 and made.clock.over("fragments", BUILDING):
            return
        reach = made.choose_reach(found.count, BUILDING / TRIALS)
        made.fill_from_fragments(
            f"{found.count} fragments", found.of_tuple, deal_rows(found.rows, classes), reach
        )


def plan_fragments(
    closeness: EmdConstraints, k: int, clock: Clock | None = None
) -> list[tuple[Fragmentation, int]]:
    """Fragmentations and how many classes each guarantees, the most promising first.

    With a clock, as many as a share of the budget allows, and one at least.
    """
    plans: dict[bytes, tuple[Fragmentation, int]] = {}
    for share in LADDER:
        if plans and clock is not None and clock.over("planning", PLANNING):
            break
        found = cut_into_fragments(
            closeness, [share * attribute.t for attribute in closeness.attributes]
        )
        bounds = make_emd_bounds(closeness, found.of_tuple, found.coarser)
        classes = count_most_classes(found.rows, bounds, k)
        plans[found.of_tuple.tobytes()] = (found, classes)
        if clock is not None:
            clock.spend(PLAN * found.count * len(closeness.rows))
    return sorted(plans.values(), key=lambda plan: -plan[0].worth(plan[1]))


def _build_thesis(made: Construction) -> None:
    closeness = made.closeness
    found = cut_into_fragments(
        closeness, [attribute.t for attribute in closeness.attributes], OWN_WIDTH
    )
    quotas = divide_in_proportion(found.rows, made.k)
    reach = made.choose_reach(found.count, BUILDING)
    made.fill_from_fragments(f"{found.count} fragments", found.of_tuple, quotas, reach)
