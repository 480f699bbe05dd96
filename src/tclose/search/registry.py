"""The methods by name: what each does, what it can promise, how to run it, and which one suits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from tclose.errors import UsageError, nearest
from tclose.search.by_construction.baselines import (
    build_groups,
    deal_by_frequency,
    group_by_clusters,
    group_by_component,
)
from tclose.search.by_construction.construct import Construction, construct
from tclose.search.by_construction.emd_bounds import lie_on_lines, select_emd_constraints
from tclose.search.by_construction.fragments import (
    build_buckets,
    build_fragments,
    build_fragments_as_published,
)
from tclose.search.by_construction.matching import build_matchings
from tclose.search.by_construction.microaggregation import CANDIDATES, build_t_first, gather_classes
from tclose.search.full_domain.incognito import incognito
from tclose.search.full_domain.optimal import optimal
from tclose.search.local_search import cover, hybrid
from tclose.search.merging import merge_farthest
from tclose.search.mondrian import mondrian
from tclose.search.outcome import Budget, Outcome, Stopped, Trial
from tclose.search.problem import SearchProblem

SearchFunction = Callable[[SearchProblem, Budget], Outcome]

MANY_CELLS = 2_000_000
MOST_ROWS = 50_000_000
TINY_BUDGET = 0.5
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
class Method:
    """One way of searching."""

    name: str
    summary: str
    search: SearchFunction
    any_requirement: bool = False
    """Judges requirements that cannot be compiled, by asking them, slowly; needs no promise that
    merging keeps."""
    suppression: bool = False
    """Leaves rows out where that lowers the loss and the budget allows it."""
    supersets: bool = False
    """Knows (n, t)-closeness."""
    local: bool = False
    """May part rows with equal quasi-identifiers."""
    takes_objective: bool = False
    """Recodes whole columns to levels, and takes a loss, weights and level limits."""
    close: range | None = None
    """Chooses row by row: how many promises of closeness by a tree distance it takes."""
    lines: bool = False
    """Takes closeness by ordered and numeric distances only."""

    def run(self, problem: SearchProblem, budget: Budget) -> Outcome:
        """Searches; raises UsageError where the promise is more than the method can judge."""
        self.refuse(problem)
        if self.name == "auto":
            return self.search(problem, budget)
        order = problem.natural_order()
        return self.search(problem.reorder(order), budget).restore_order(order)

    def refuse(self, problem: SearchProblem) -> None:
        """Raises UsageError where the promise is more than the method can judge."""
        for reason in self.cannot(problem):
            raise UsageError(
                f"the method {self.name!r} {reason}",
                where="search.method",
                hint='use "auto", which chooses a method that can',
            )

    def cannot(self, problem: SearchProblem) -> tuple[str, ...]:
        """What of the problem is beyond the method."""
        constraints, reasons = problem.constraints, []
        if constraints.uncompiled and not self.any_requirement:
            names = sorted({f"{each.name} of {each.attribute}" for each in constraints.uncompiled})
            reasons.append(f"cannot judge {', '.join(names)}")
        if constraints.supersets and not self.supersets:
            reasons.append("does not know (n, t)-closeness")
        if not constraints.monotone and not constraints.supersets and not self.any_requirement:
            reasons.append("needs a promise that merging classes keeps")
        if problem.objective.given and not self.takes_objective:
            given = ", ".join(f"search.{name}" for name in problem.objective.given)
            reasons.append(f"does not recode whole columns, and takes no {given}")
        if self.close is not None:
            reasons += self._list_unsuitable(problem, self.close)
        return tuple(reasons)

    def _list_unsuitable(self, problem: SearchProblem, allowed: range) -> list[str]:
        """Why a promise cannot be kept by construction."""
        given, reasons = len(select_emd_constraints(problem.constraints)), []
        if given not in allowed:
            many = f"exactly {allowed[0]}" if len(allowed) == 1 else f"at least {allowed[0]}"
            attributes = "attribute" if allowed[0] == 1 else "attributes"
            reasons.append(
                f"needs t-closeness by ordered, numeric, equal or hierarchical distances of {many} "
                f"{attributes}, and it is promised of {given}"
            )
        if problem.n_rows > MOST_ROWS:
            reasons.append(f"chooses row by row, and there are more than {MOST_ROWS:,} rows")
        if self.lines and not lie_on_lines(problem.constraints):
            reasons.append("takes ordered and numeric distances without missing values only")
        return reasons


def auto(problem: SearchProblem, budget: Budget) -> Outcome:
    """The method that suits the problem, or the best of several (`run_portfolio`)."""
    name, why = choose_method(problem, budget)
    if name == "hybrid":
        return run_portfolio(problem, budget)
    return replace(METHODS[name].run(problem, budget), why=f"{name}: {why}")


def choose_method(problem: SearchProblem, budget: Budget) -> tuple[str, str]:
    """The method that `auto` runs, and why; other methods may challenge `hybrid`."""
    if problem.constraints.supersets:
        return "nt-mondrian", "(n, t)-closeness is promised"
    if problem.objective.given:
        return "optimal", "a loss, weights or levels of whole columns are asked for"
    if METHODS["hybrid"].cannot(problem):
        return "mondrian", "the promise has to be judged by the requirements themselves"
    if budget.expected < TINY_BUDGET:
        return "mondrian", "there is little time"
    if problem.n_cells > MANY_CELLS:
        return "mondrian", f"the table has more than {MANY_CELLS:,} cells"
    return "hybrid", "it loses least on most tables"


def list_challengers(problem: SearchProblem, budget: Budget) -> dict[str, str]:
    """The methods that may beat `hybrid` on such a promise, and why; the most promising first.

    Measured (`docs/methods.md`): where t is not small, `matching` and `fragments` lose far more.
    """
    constraints = select_emd_constraints(problem.constraints)
    if len(constraints) < 2 or problem.n_rows > ROWS * budget.expected:
        return {}
    several = {"cover": "several attributes"}
    if min(constraint.threshold for constraint in constraints) > SMALL:
        return several
    if len(constraints) == 2 and lie_on_lines(problem.constraints):
        return {"matching": "two ordered ones, a small t"} | several
    if len(np.unique(problem.sensitive, axis=0)) <= COMBINATIONS:
        return {"fragments": "several with a small t"} | several
    return several


def run_portfolio(problem: SearchProblem, budget: Budget) -> Outcome:
    """The least loss of `hybrid` and its challengers, if it has any.

    `hybrid` runs first, with all of the effort, exactly as it would alone. Its challengers then get
    `BUILDING` on top, and the best of them `REPAIRING`, in which `hybrid` improves it, if it comes
    near. So the outcome is never worse than what `hybrid` alone finds with the same effort and
    seed. Where the clock limits the search (`seconds`), everything has to fit, and nothing is
    promised.
    """
    challengers, order = list_challengers(problem, budget), problem.natural_order()
    problem = problem.reorder(order)
    if not challengers:
        found = hybrid(problem, budget).restore_order(order)
        return replace(found, why="hybrid: it loses least on most tables")
    used, total = (1.0, 1.0 + EXTRA) if budget.seconds is None else (1.0 - EXTRA, 1.0)
    outcomes = [hybrid(problem, budget.portion(used, 0.0, total))]
    share = BUILDING / len(challengers)
    for name in challengers:
        if outcomes[-1].stopped != "cancelled":
            part = budget.portion(share, used, total)
            outcomes.append(METHODS[name].search(problem, part))
            used += share
    if outcomes[-1].stopped != "cancelled":
        built = min(outcomes[1:], key=lambda outcome: outcome.loss)
        if built.loss <= NEAR * outcomes[0].loss:
            part = budget.portion(REPAIRING, used, total)
            repaired = hybrid(problem, part, start=built.label)
            outcomes.append(replace(repaired, method=built.method))
    best = min(outcomes, key=lambda outcome: outcome.loss)
    ended = {outcome.stopped for outcome in outcomes}
    stopped: Stopped = (
        "cancelled" if "cancelled" in ended else "clock" if "clock" in ended else best.stopped
    )
    why = _explain_choice(best, outcomes, challengers)
    best = replace(best, stopped=stopped, tried=_list_trials(outcomes), why=why)
    return best.restore_order(order)


def _explain_choice(best: Outcome, outcomes: list[Outcome], challengers: dict[str, str]) -> str:
    """What each lost, and what the challengers were tried for."""
    words = [f"{best.method}: hybrid lost {outcomes[0].loss:.4f}"]
    for name, why in challengers.items():
        losses = [outcome.loss for outcome in outcomes[1:] if outcome.method == name]
        if losses:
            words.append(f"{name} {min(losses):.4f} (tried for {why})")
    return ", ".join(words)


def _list_trials(outcomes: list[Outcome]) -> tuple[Trial, ...]:
    """Everything that was tried, in a row; the steps of challengers by their names."""
    trials: list[Trial] = []
    for at, outcome in enumerate(outcomes):
        before = trials[-1].seconds if trials else 0.0
        name = f"{outcome.method}: " if at > 0 else ""
        trials += [replace(each, step=name + each.step, seconds=before + each.seconds)
                   for each in outcome.tried]  # fmt: skip
    return tuple(trials)


def _by_construction(
    name: str,
    summary: str,
    build: Callable[[Construction], None],
    close: range,
    *,
    lines: bool = False,
) -> Method:
    """A method whose classes are close by the way they are built."""
    search = partial(construct, name, build)
    return Method(name, summary, search, local=True, close=close, lines=lines)


_ONE, _TWO, _SOME, _ANY = range(1, 2), range(2, 3), range(1, 1_000), range(1_000)

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("hybrid",
            "plain and stratified cuts, many starts, then repairs and swaps until time is up",
            hybrid, suppression=True, local=True),
        Method("mondrian",
            "strict cuts, each the allowed one that saves the most loss",
            mondrian, any_requirement=True),
        Method("mondrian-median",
            "strict cuts at the median of the widest column that allows it, as published",
            partial(mondrian, method="mondrian-median", rule="median"), any_requirement=True),
        Method("mondrian-relaxed",
            "median cuts that may part rows with equal values",
            partial(mondrian, method="mondrian-relaxed", rule="relaxed"), any_requirement=True,
            local=True),
        Method("nt-mondrian",
            "strict cuts for (n, t)-closeness: near the table or any large enough part above",
            partial(mondrian, method="nt-mondrian"), any_requirement=True, supersets=True),
        Method("optimal",
            "whole columns recoded to the levels with the least loss, proved or with a bound",
            optimal, any_requirement=True, suppression=True, takes_objective=True, supersets=True),
        Method("incognito",
            "all minimal levels of whole columns, subset by subset, as published; the best of them",
            incognito, any_requirement=True, takes_objective=True, supersets=True),
        Method("cover",
            "classes of whole-column levels round by round, then cuts, repairs and swaps in them",
            cover, suppression=True, local=True),
        _by_construction("fragments",
            "close by construction: fragments of several sensitive attributes, dealt to classes",
            build_fragments, _SOME),
        _by_construction("fragments-thesis",
            "fragments with the bound and the class sizes as published, to compare",
            build_fragments_as_published, _SOME, lines=True),
        _by_construction("matching",
            "close by construction: one record per bucket of two sensitive attributes",
            build_matchings, _TWO),
        _by_construction("sabre",
            "close by construction: buckets of one sensitive attribute, nearest records",
            build_buckets, _ONE),
        _by_construction("sabre-curve",
            "the same with records next to each other on a space-filling curve: fast",
            partial(build_buckets, along=True), _ONE),
        _by_construction("mdav",
            "microaggregation: the farthest record and its nearest, in turn; broken classes united",
            gather_classes, _ANY),
        _by_construction("micro-merge",
            "microaggregation, then the class farthest from the table merged with the nearest",
            partial(gather_classes, merge=merge_farthest), _SOME),
        _by_construction("micro-swap",
            "microaggregation that exchanges records while a class is formed, until it is close",
            partial(gather_classes, merge=merge_farthest, candidates=CANDIDATES), _SOME),
        _by_construction("micro-t-first",
            "one near record from each subset of one sensitive attribute's values",
            build_t_first, _ONE),
        _by_construction("wang-cluster",
            "one near record from each fuzzy cluster of sensitive values, to compare",
            partial(build_groups, group=group_by_clusters), _SOME),
        _by_construction("wang-pca",
            "one near record from each run along the first principal component, to compare",
            partial(build_groups, group=group_by_component), _SOME),
        _by_construction("frequency-deal",
            "values of one sensitive attribute dealt to classes, the commonest first, to compare",
            deal_by_frequency, _ONE),
        Method("auto",
            "the method that suits the promise, the table and the time, or the best of several",
            auto, any_requirement=True, suppression=True, supersets=True, local=True,
            takes_objective=True),
    )
}  # fmt: skip


def method_named(name: str) -> Method:
    """A method by its name."""
    if name not in METHODS:
        hint = nearest(name, METHODS)
        raise UsageError("there is no such method", where="search.method", hint=hint)
    return METHODS[name]
