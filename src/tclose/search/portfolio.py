"""Several searches one after another, of which the outcome with the least loss is kept.

`hybrid` runs first, with all of the effort, exactly as it would alone. Methods that may beat it on
a promise like this one, its challengers, then get a share of the effort on top: `BUILDING`, divided
among them, to find partitions; the best of these gets `REPAIRING`, in which `hybrid` improves it,
if it comes near. So the outcome is never worse than what `hybrid` alone finds with the same effort
and seed, and costs a fifth more at most. Where the clock limits the search (`seconds`), everything
has to fit: `hybrid` gets what its challengers are not given, and nothing is promised.

Who challenges (measured, `docs/methods.md`), with two sensitive attributes or more: `cover`; and
where t is small, `matching` for two attributes that are ordered or numeric, else `fragments`, if
the combinations of values are few enough to plan with. Where t is not small these two lose far more
than `hybrid`. Tables that are too large for the share are left to `hybrid`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tclose.search.budget import Budget
from tclose.search.by_construction.emd_bounds import lie_on_lines, select_emd_constraints
from tclose.search.by_construction.fragments import fragments
from tclose.search.by_construction.matching import matching
from tclose.search.full_domain.cover import cover
from tclose.search.local_search.hybrid import hybrid
from tclose.search.outcome import Outcome, Trial
from tclose.search.problem import Problem

BUILDING, REPAIRING = 0.14, 0.06
"""What all challengers get, and the best of them on top, as shares of the effort of `hybrid`."""
EXTRA = BUILDING + REPAIRING
NEAR = 1.05
"""A partition that loses so many times the least is worth repairs."""
SMALL = Fraction(3, 50)
"""A t at which methods that are close by construction may win."""
ROWS = 20_000
"""Rows for which a second of effort is enough to try challengers."""
COMBINATIONS = 1_000
"""Combinations of sensitive values that `fragments` can plan with in no time."""


@dataclass(frozen=True)
class Challenger:
    """A method that may beat `hybrid`, and why."""

    name: str
    search: Callable[[Problem, Budget], Outcome]
    why: str


def challengers_of(problem: Problem, budget: Budget) -> tuple[Challenger, ...]:
    """The methods that are worth a try on such a promise, the most promising first."""
    rules = select_emd_constraints(problem.constraints)
    if len(rules) < 2 or problem.rows > ROWS * budget.expected:
        return ()
    found = [Challenger("cover", cover, "several attributes")]
    if min(rule.threshold for rule in rules) <= SMALL:
        if len(rules) == 2 and lie_on_lines(problem.constraints):
            found.insert(0, Challenger("matching", matching, "two ordered ones, a small t"))
        elif len(np.unique(problem.sensitive, axis=0)) <= COMBINATIONS:
            found.insert(0, Challenger("fragments", fragments, "several with a small t"))
    return tuple(found)


def portfolio(problem: Problem, budget: Budget) -> Outcome:
    """The least loss of `hybrid` and its challengers, if it has any."""
    challengers = challengers_of(problem, budget)
    order = problem.natural_order()
    if not challengers:
        found = hybrid(problem.reordered(order), budget).restored(order)
        return replace(found, why="hybrid: it loses least on most tables")
    return _Contest(problem.reordered(order), budget, challengers).outcome().restored(order)


@dataclass(frozen=True)
class _Contest:
    """`hybrid` against its challengers."""

    problem: Problem
    budget: Budget
    challengers: tuple[Challenger, ...]

    def outcome(self) -> Outcome:
        used = 1.0 if self.budget.seconds is None else 1.0 - EXTRA
        found = [hybrid(self.problem, self._share(used, 0.0))]
        each = BUILDING / len(self.challengers)
        for one in self.challengers:
            if found[-1].stopped != "cancelled":
                found.append(one.search(self.problem, self._share(each, used)))
                used += each
        if found[-1].stopped != "cancelled":
            found += self._repaired(found[1:], NEAR * found[0].loss, used)
        best = min(found, key=lambda one: one.loss)
        stopped = "cancelled" if found[-1].stopped == "cancelled" else best.stopped
        return replace(best, stopped=stopped, tried=_tried(found), why=self._why(best, found))

    def _repaired(self, built: list[Outcome], most: float, used: float) -> list[Outcome]:
        """The best of the challengers' partitions improved, if it loses little enough."""
        best = min(built, key=lambda one: one.loss)
        if best.loss > most:
            return []
        mended = hybrid(self.problem, self._share(REPAIRING, used), start=best.label)
        return [replace(mended, method=best.method)]

    def _share(self, share: float, before: float) -> Budget:
        """A share of the budget; without a limit of time the challengers' come on top."""
        total = 1.0 if self.budget.seconds is not None else 1.0 + EXTRA
        return self.budget.portion(share, before, total)

    def _why(self, best: Outcome, found: list[Outcome]) -> str:
        """What each lost, and what the challengers were tried for."""
        told = [f"{best.method}: hybrid lost {found[0].loss:.4f}"]
        for one in self.challengers:
            losses = [each.loss for each in found[1:] if each.method == one.name]
            if losses:
                told.append(f"{one.name} {min(losses):.4f} (tried for {one.why})")
        return ", ".join(told)


def _tried(found: list[Outcome]) -> tuple[Trial, ...]:
    """Everything that was tried, in a row; the steps of challengers by their names."""
    trials: list[Trial] = []
    for at, one in enumerate(found):
        before = trials[-1].seconds if trials else 0.0
        name = f"{one.method}: " if at > 0 else ""
        trials += [Trial(name + each.step, each.loss, before + each.seconds) for each in one.tried]
    return tuple(trials)
