"""A plan as the partition that a search starts from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tclose.data.binding import BoundTable
from tclose.errors import UsageError
from tclose.plain import rows_text
from tclose.recode.assignment import recall_classes
from tclose.recode.plan import Plan
from tclose.search import Budget, Method, Outcome, SearchProblem
from tclose.search.outcome import Clock, finalize
from tclose.search.problem import number_classes

START = "start_from"


@dataclass(frozen=True)
class Start:
    """A partition that keeps the promise, and what became of the plan that it was taken from."""

    outcome: Outcome
    note: str

    def keep_better(self, found: Outcome) -> Outcome:
        """What was found from here, or the start itself where that loses less."""
        if found.cost <= self.outcome.cost:
            return found
        why = f"the plan that the search started from; {found.method} lost {found.cost:.4f}"
        return replace(self.outcome, stopped=found.stopped, tried=found.tried, why=why)


def refuse_start(plan: object, *, given: Any) -> None:
    """Raises where a search cannot start from what was given."""
    if not isinstance(plan, Plan):
        what, hint = "a search starts from a plan", "release.plan, or Plan.load(path)"
        raise UsageError(what, where=START, hint=hint)
    if given is not None:
        what = "a search within the groups of earlier releases does not start from a plan"
        raise UsageError(what, where=START, hint="leave the plan or the earlier releases out")


def read_start(
    bound: BoundTable, problem: SearchProblem, plan: Plan, method: Method, budget: Budget
) -> Start:
    """The classes that rows have in a plan; those that break the promise are merged."""
    _refuse_unfit(problem, method)
    label = number_classes(recall_classes(bound, plan))
    out, allowed = int(problem.rows[label < 0].sum()), budget.suppression * problem.n_rows
    if out > allowed:
        raise UsageError(
            f"the plan leaves out {rows_text(out)}, and {int(allowed):,} may be",
            where=START,
            hint="allow as many rows to be left out (search.suppression), or leave the plan out",
        )
    outcome = finalize(
        problem, label, Clock(budget), method="plan", uses_sensitive=plan.uses_sensitive
    )
    classes = f"{int(label.max(initial=-1)) + 1:,} classes"
    most = f"the release loses no more than {outcome.cost:.4f}"
    if np.array_equal(outcome.label, label):
        kept = f"the search starts from the plan's {classes}, which keep the promise"
        return Start(outcome, f"{kept}: {most}")
    broken = int(problem.find_failing(label).sum())
    return Start(
        outcome,
        f"{broken:,} of the plan's {classes} break the promise; the search starts from "
        f"{outcome.classes:,} classes into which they were merged: {most}",
    )


def _refuse_unfit(problem: SearchProblem, method: Method) -> None:
    """Raises where a method or a promise takes no partition to start from."""
    wrong, hint = "", ""
    if method.start is None:
        wrong, hint = f"the method {method.name!r} starts from nothing", "use auto or hybrid"
    elif problem.constraints.supersets:
        wrong = "(n, t)-closeness needs supersets that a search names itself"
        hint = "leave the plan out"
    elif problem.objective.given:
        wrong = "whole columns are to be recoded, and a plan's classes may be any"
        hint = "leave the plan or the objective out"
    if wrong:
        raise UsageError(f"no search can start from a plan here: {wrong}", where=START, hint=hint)
