"""Cover, refine, finish: publish what full-domain levels publish cheaply, then go on with the rest.

Each covered class and the rest (`covering`) are roots for the cuts, repairs and swaps of `hybrid`,
which may part cells with equal quasi-identifiers.
"""

from __future__ import annotations

from tclose.search.budget import Budget, Clock
from tclose.search.full_domain.covering import covered
from tclose.search.local_search.hybrid import CYCLES, Run
from tclose.search.outcome import Outcome
from tclose.search.problem import Problem

PRICES = (0.7, 0.5, 0.9, 0.6, 0.8)
"""What a row costs that is left for later, one after another."""
COVERING = 0.3
"""The share of the budget that goes into covering."""


def cover(problem: Problem, budget: Budget) -> Outcome:
    """The best cover, refined for as long as there is time."""
    run = Run(problem, Clock(budget))
    for turn, price in enumerate(PRICES):
        if run.clock.over("covering", COVERING):
            break
        found = covered(problem, run.clock, price, COVERING)
        run.offer(f"cover at {price}", found, together=True)
        if not run.clock.over("cutting the cover", COVERING):
            run.offer("hybrid cuts in it", run.split_top_down(found, 3000 + turn))
    for cycle in range(CYCLES):
        if run.clock.over("improving"):
            break
        run.improve(cycle)
    return run.settled("cover")
