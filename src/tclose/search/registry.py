"""The methods by name: what each does, what it can promise, and how to run it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tclose.errors import UsageError, nearest
from tclose.search.baselines.frequency import frequency_deal
from tclose.search.baselines.wang import wang_cluster, wang_pca
from tclose.search.budget import Budget
from tclose.search.by_construction.emd_bounds import lie_on_lines, select_emd_constraints
from tclose.search.by_construction.fragments import fragments, fragments_thesis
from tclose.search.by_construction.matching import matching
from tclose.search.by_construction.sabre import sabre, sabre_curve
from tclose.search.full_domain.cover import cover
from tclose.search.full_domain.incognito import incognito
from tclose.search.full_domain.optimal import optimal
from tclose.search.local_search.hybrid import hybrid
from tclose.search.microaggregation.microaggregation import (
    mdav,
    micro_merge,
    micro_swap,
    micro_t_first,
)
from tclose.search.mondrian.mondrian import mondrian, mondrian_median, mondrian_relaxed, nt_mondrian
from tclose.search.outcome import Outcome
from tclose.search.portfolio import portfolio
from tclose.search.problem import Problem

MANY_CELLS = 2_000_000
MOST_ROWS = 50_000_000
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
    aims: bool = False
    """Recodes whole columns to levels, and takes a loss, weights and level limits."""
    close: range | None = None
    """Chooses row by row: how many promises of closeness by a tree distance it takes."""
    lines: bool = False
    """Takes closeness by ordered and numeric distances only."""

    def run(self, problem: Problem, budget: Budget) -> Outcome:
        """Searches; raises UsageError where the promise is more than the method can judge."""
        self.refuse(problem)
        if self.name == "auto":
            return self.search(problem, budget)
        order = problem.natural_order()
        return self.search(problem.reordered(order), budget).restored(order)

    def refuse(self, problem: Problem) -> None:
        """Raises UsageError where the promise is more than the method can judge."""
        for reason in self.cannot(problem):
            raise UsageError(
                f"the method {self.name!r} {reason}",
                where="search.method",
                hint='use "auto", which chooses a method that can',
            )

    def cannot(self, problem: Problem) -> tuple[str, ...]:
        """What of the problem is beyond the method."""
        constraints, reasons = problem.constraints, []
        if constraints.uncompiled and not self.any_requirement:
            names = sorted({f"{each.name} of {each.attribute}" for each in constraints.uncompiled})
            reasons.append(f"cannot judge {', '.join(names)}")
        if constraints.supersets and not self.supersets:
            reasons.append("does not know (n, t)-closeness")
        if not constraints.monotone and not constraints.supersets and not self.non_monotone:
            reasons.append("needs a promise that merging classes keeps")
        if problem.aims.given and not self.aims:
            given = ", ".join(f"search.{name}" for name in problem.aims.given)
            reasons.append(f"does not recode whole columns, and takes no {given}")
        if self.close is not None:
            reasons += self._unsuited(problem)
        return tuple(reasons)

    def _unsuited(self, problem: Problem) -> list[str]:
        """Why a promise cannot be kept by construction."""
        taken, given = self.close or range(0), len(select_emd_constraints(problem.constraints))
        reasons = []
        if given not in taken:
            many = f"exactly {taken[0]}" if len(taken) == 1 else f"at least {taken[0]}"
            attributes = "attribute" if taken[0] == 1 else "attributes"
            reasons.append(
                f"needs t-closeness by ordered, numeric, equal or hierarchical distances of {many} "
                f"{attributes}, and it is promised of {given}"
            )
        if problem.rows > MOST_ROWS:
            reasons.append(f"chooses row by row, and there are more than {MOST_ROWS:,} rows")
        if self.lines and not lie_on_lines(problem.constraints):
            reasons.append("takes ordered and numeric distances without missing values only")
        return reasons


def auto(problem: Problem, budget: Budget) -> Outcome:
    """The method that suits the problem, or the best of several (`portfolio`)."""
    name, why = _suited(problem, budget)
    if name == "hybrid":
        return portfolio(problem, budget)
    return replace(METHODS[name].run(problem, budget), why=f"{name}: {why}")


def suited(problem: Problem, budget: Budget) -> str:
    """The name of the method that `auto` runs; other methods may challenge `hybrid`."""
    return _suited(problem, budget)[0]


def _suited(problem: Problem, budget: Budget) -> tuple[str, str]:
    if problem.constraints.supersets:
        return "nt-mondrian", "(n, t)-closeness is promised"
    if problem.aims.given:
        return "optimal", "a loss, weights or levels of whole columns are asked for"
    if METHODS["hybrid"].cannot(problem):
        return "mondrian", "the promise has to be judged by the requirements themselves"
    if budget.expected < TINY_BUDGET:
        return "mondrian", "there is little time"
    if problem.cells > MANY_CELLS:
        return "mondrian", f"the table has more than {MANY_CELLS:,} cells"
    return "hybrid", "it loses least on most tables"


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
            "optimal",
            "whole columns recoded to the levels with the least loss, proved or with a bound",
            optimal,
            any_requirement=True,
            non_monotone=True,
            suppression=True,
            aims=True,
            supersets=True,
        ),
        Method(
            "incognito",
            "all minimal levels of whole columns, subset by subset, as published; the best of them",
            incognito,
            any_requirement=True,
            non_monotone=True,
            aims=True,
            supersets=True,
        ),
        Method(
            "cover",
            "classes of whole-column levels round by round, then cuts, repairs and swaps in them",
            cover,
            suppression=True,
            local=True,
        ),
        Method(
            "fragments",
            "close by construction: fragments of several sensitive attributes, dealt to classes",
            fragments,
            local=True,
            close=range(1, 1_000),
        ),
        Method(
            "fragments-thesis",
            "fragments with the bound and the class sizes as published, to compare",
            fragments_thesis,
            local=True,
            close=range(1, 1_000),
            lines=True,
        ),
        Method(
            "matching",
            "close by construction: one record per bucket of two sensitive attributes",
            matching,
            local=True,
            close=range(2, 3),
        ),
        Method(
            "sabre",
            "close by construction: buckets of one sensitive attribute, nearest records",
            sabre,
            local=True,
            close=range(1, 2),
        ),
        Method(
            "sabre-curve",
            "the same with records next to each other on a space-filling curve: fast",
            sabre_curve,
            local=True,
            close=range(1, 2),
        ),
        Method(
            "mdav",
            "microaggregation: the farthest record and its nearest, in turn; broken classes united",
            mdav,
            local=True,
            close=range(1_000),
        ),
        Method(
            "micro-merge",
            "microaggregation, then the class farthest from the table merged with the nearest",
            micro_merge,
            local=True,
            close=range(1, 1_000),
        ),
        Method(
            "micro-swap",
            "microaggregation that exchanges records while a class is formed, until it is close",
            micro_swap,
            local=True,
            close=range(1, 1_000),
        ),
        Method(
            "micro-t-first",
            "one near record from each subset of one sensitive attribute's values",
            micro_t_first,
            local=True,
            close=range(1, 2),
        ),
        Method(
            "wang-cluster",
            "one near record from each fuzzy cluster of sensitive values, to compare",
            wang_cluster,
            local=True,
            close=range(1, 1_000),
        ),
        Method(
            "wang-pca",
            "one near record from each run along the first principal component, to compare",
            wang_pca,
            local=True,
            close=range(1, 1_000),
        ),
        Method(
            "frequency-deal",
            "values of one sensitive attribute dealt to classes, the commonest first, to compare",
            frequency_deal,
            local=True,
            close=range(1, 2),
        ),
        Method(
            "auto",
            "the method that suits the promise, the table and the time, or the best of several",
            auto,
            any_requirement=True,
            non_monotone=True,
            suppression=True,
            supersets=True,
            local=True,
            aims=True,
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
