"""The methods by name: what each does, what it can promise, and how to run it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tclose.errors import UsageError, nearest
from tclose.search.budget import Budget
from tclose.search.hybrid import hybrid
from tclose.search.mondrian import mondrian, mondrian_median, mondrian_relaxed, nt_mondrian
from tclose.search.outcome import Outcome
from tclose.search.problem import Problem

MANY_CELLS = 2_000_000
TINY_BUDGET = 0.5


@dataclass(frozen=True)
class Method:
    """One way of searching."""

    name: str
    summary: str
    search: Callable[[Problem, Budget], Outcome]
    any_requirement: bool = False
    """Judges requirements that cannot be compiled, by asking them; slowly."""
    non_monotone: bool = False
    """Needs no promise that merging keeps."""
    suppression: bool = False
    """Leaves rows out where that lowers the loss and the budget allows it."""
    supersets: bool = False
    """Knows (n, t)-closeness."""
    local: bool = False
    """May part rows with equal quasi-identifiers."""

    def run(self, problem: Problem, budget: Budget) -> Outcome:
        """Searches; raises UsageError where the promise is more than the method can judge."""
        for reason in self.cannot(problem):
            raise UsageError(
                f"the method {self.name!r} {reason}",
                where="search.method",
                hint='use "auto", which chooses a method that can',
            )
        if self.name == "auto":
            return self.search(problem, budget)
        order = problem.natural_order()
        return self.search(problem.reordered(order), budget).restored(order)

    def cannot(self, problem: Problem) -> tuple[str, ...]:
        """What of the problem is beyond the method."""
        promise, reasons = problem.promise, []
        if promise.others and not self.any_requirement:
            names = sorted({_about(line) for line in promise.others})
            reasons.append(f"cannot judge {', '.join(names)}")
        if promise.supersets and not self.supersets:
            reasons.append("does not know (n, t)-closeness")
        if not promise.monotone and not promise.supersets and not self.non_monotone:
            reasons.append("needs a promise that merging classes keeps")
        return tuple(reasons)


def _about(line: object) -> str:
    requirement = getattr(line, "requirement")  # noqa: B009
    return f"{requirement.name} of {requirement.attribute}"


def auto(problem: Problem, budget: Budget) -> Outcome:
    """The method that suits the problem."""
    return method_named(suited(problem, budget)).run(problem, budget)


def suited(problem: Problem, budget: Budget) -> str:
    """The name of the method that `auto` would run."""
    if problem.promise.supersets:
        return "nt-mondrian"
    tiny = budget.rounds is None and budget.seconds < TINY_BUDGET
    if tiny or problem.cells > MANY_CELLS or METHODS["hybrid"].cannot(problem):
        return "mondrian"
    return "hybrid"


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "hybrid",
            "plain and stratified cuts, many starts, then repairs and swaps until time is up",
            hybrid,
            suppression=True,
            local=True,
        ),
        Method(
            "mondrian",
            "strict cuts, each the allowed one that saves the most loss",
            mondrian,
            any_requirement=True,
            non_monotone=True,
        ),
        Method(
            "mondrian-median",
            "strict cuts at the median of the widest column that allows it, as published",
            mondrian_median,
            any_requirement=True,
            non_monotone=True,
        ),
        Method(
            "mondrian-relaxed",
            "median cuts that may part rows with equal values",
            mondrian_relaxed,
            any_requirement=True,
            non_monotone=True,
            local=True,
        ),
        Method(
            "nt-mondrian",
            "strict cuts for (n, t)-closeness: near the table or any large enough part above",
            nt_mondrian,
            any_requirement=True,
            non_monotone=True,
            supersets=True,
        ),
        Method(
            "auto",
            "chooses a method that suits the promise, the table and the time",
            auto,
            any_requirement=True,
            non_monotone=True,
            suppression=True,
            supersets=True,
            local=True,
        ),
    )
}


def method_named(name: str) -> Method:
    """A method by its name."""
    if name not in METHODS:
        raise UsageError(
            "there is no such method", where="search.method", hint=nearest(name, METHODS)
        )
    return METHODS[name]
