"""The methods by name: what each does, what it can promise, how to run it, and which one suits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Literal

import numpy as np

from tclose.arrays import Ints
from tclose.errors import UsageError, nearest
from tclose.requirements.constraint import ConstraintKind
from tclose.search.by_construction import baselines, fragments, microaggregation
from tclose.search.by_construction.construct import Construction, construct
from tclose.search.by_construction.emd_bounds import lie_on_lines
from tclose.search.by_construction.matching import build_matchings
from tclose.search.full_domain.incognito import incognito
from tclose.search.full_domain.optimal import optimal
from tclose.search.limits import choose_within_limits
from tclose.search.local_search.hybrid import cover, hybrid
from tclose.search.merging import merge_farthest
from tclose.search.mondrian import mondrian
from tclose.search.outcome import Budget, Outcome, Trial
from tclose.search.problem import SearchProblem

MANY_CELLS = 2_000_000
MOST_ROWS = 50_000_000
TINY_BUDGET = 0.5
BUILDING, REPAIRING = 0.14, 0.06
"""What all challengers get, and the best of them on top, as shares of the effort of `hybrid`."""
EXTRA = BUILDING + REPAIRING
COLUMNS_AFTER = 0.8
"""The share of the effort after which stars of whole columns are tried."""
NEAR = 1.05
"""A partition that loses so many times the least is worth repairs."""
SMALL = Fraction(3, 50)
"""A t at which methods that are close by construction may win."""
ROWS = 20_000
"""Rows for which a second of effort is enough to try challengers."""
DISTANCES = (ConstraintKind.EMD, ConstraintKind.KL, ConstraintKind.JS)
"""The kinds of constraints that t bounds."""
COMBINATIONS = 1_000
"""Combinations of sensitive values that `fragments` can plan with in no time."""


@dataclass(frozen=True)
class Method:
    """One way of searching."""

    name: str
    search: Callable[[SearchProblem, Budget], Outcome]
    summary: str
    any_requirement: bool = False
    """Whether it takes any requirement: it evaluates those that kernels cannot judge (slowly), and
    does not rely on merging classes."""
    suppression: bool = False
    """Whether it leaves rows out if that lowers the loss and the budget allows it."""
    supersets: bool = False
    """Whether it supports (n, t)-closeness."""
    local: bool = False
    """Whether rows with equal quasi-identifiers may be in different classes."""
    divides: bool = False
    """Whether it gains by dividing rows that are alike in all values between several cells."""
    improves: bool = False
    """Whether it improves the release until the budget is spent."""
    takes_objective: bool = False
    """Whether it recodes whole columns to levels, by any loss and within limits of levels."""
    keeps_limits: bool = False
    """Whether it generalizes no column further than the policy allows."""
    close: range | None = None
    """If it chooses row by row: how many requirements of closeness by a tree distance it takes."""
    lines: bool = False
    """Whether it takes closeness by ordered and numeric distances only."""
    start: Callable[[SearchProblem, Budget, Ints], Outcome] | None = None
    """The same search from a given partition that keeps the promise; its result is no worse."""
    published: Literal["", "lines", "any"] = ""
    """The distances ("lines", "any", or none) for which it can run exactly as published."""

    def run(self, problem: SearchProblem, budget: Budget, start: Ints | None = None) -> Outcome:
        """Searches, from a partition if given; raises UsageError if it cannot judge the promise."""
        self.refuse(problem)
        if not budget.polish:
            self.refuse_unpublished(problem)
        order, budget = problem.natural_order(), budget.scale_to(problem.n_cells)
        ordered = problem.reorder(order)
        if problem.limited:
            share = budget.suppression if self.suppression else Fraction(0)
            kept = choose_within_limits(ordered, share)
            if len(kept) < len(order):
                return _search_part(self.search, ordered, kept, budget).restore_order(order)
        elif start is not None and self.start is not None:
            return self.start(ordered, budget, start[order]).restore_order(order)
        return self.search(ordered, budget).restore_order(order)

    def refuse(self, problem: SearchProblem) -> None:
        """Raises UsageError if the method cannot judge the promise."""
        for reason in self.cannot(problem):
            raise UsageError(
                f"the method {self.name!r} {reason}",
                where="search.method",
                hint='use "auto", which chooses a method that can',
            )

    def refuse_unpublished(self, problem: SearchProblem) -> None:
        """Raises UsageError where there is no published form of the method for the promise."""
        known = [method.name for method in METHODS.values() if method.published]
        where, hint = "search.polish", f"leave it out, or use one of {', '.join(known)}"
        if not self.published:
            what = f"the method {self.name!r} has no published steps to keep to"
            raise UsageError(what, where=where, hint=hint)
        if self.published == "lines" and not lie_on_lines(problem.constraints):
            what = f"the method {self.name!r} is published for ordered and numeric distances only"
            raise UsageError(what, where=where, hint=hint)

    def cannot(self, problem: SearchProblem) -> tuple[str, ...]:
        """The reasons why the method cannot search the problem."""
        constraints, reasons = problem.constraints, []
        foreseen = self.takes_objective or problem.foresees_columns
        if constraints.whole_columns and not foreseen:
            reasons.append("does not recode whole columns, as promises of combinations need")
        unjudged = [each for each in constraints.uncompiled if not each.capabilities.whole_columns]
        if unjudged and not self.any_requirement:
            names = sorted({f"{each.name} of {each.attribute}" for each in unjudged})
            reasons.append(f"cannot judge {', '.join(names)}")
        if constraints.supersets and not self.supersets:
            reasons.append("does not support (n, t)-closeness")
        hinders = constraints.supersets and (problem.classes.persons is not None or problem.limited)
        if hinders and self.supersets and not self.any_requirement:
            reasons.append(
                "supports (n, t)-closeness of rows only, and without limits of generalization"
            )
        if not constraints.monotone and not constraints.supersets and not self.any_requirement:
            reasons.append("needs a promise that merging classes keeps")
        if problem.objective.given and not self.takes_objective:
            given = ", ".join(f"search.{name}" for name in problem.objective.given)
            reasons.append(f"does not recode whole columns, and takes no {given}")
        if problem.limited and not self.keeps_limits:
            name = problem.columns[problem.limited[0]].name
            reasons.append(f"cannot limit how far {name!r} is generalized")
        if self.close is None:
            return tuple(reasons)
        promised = len(constraints.closeness)
        if promised not in self.close:
            least = self.close[0]
            many = f"exactly {least}" if len(self.close) == 1 else f"at least {least}"
            reasons.append(
                f"needs t-closeness by ordered, numeric, equal or hierarchical distances of {many} "
                f"{'attribute' if least == 1 else 'attributes'}, and it is promised of {promised}"
            )
        if problem.n_rows > MOST_ROWS:
            reasons.append(f"chooses row by row, and there are more than {MOST_ROWS:,} rows")
        if self.lines and not lie_on_lines(constraints):
            reasons.append("takes ordered and numeric distances without missing values only")
        return tuple(reasons)


def auto(problem: SearchProblem, budget: Budget, start: Ints | None = None) -> Outcome:
    """The method that suits the problem, or the best of several (`run_portfolio`).

    Where classes could be exactly like the table, it is run a second time for t = 0, with as much
    effort, and the better counts: no larger t loses more than t = 0 does. `start` is a partition
    that keeps the promise; only `hybrid` starts from it.
    """
    name, why = choose_method(problem, budget)
    METHODS[name].refuse(problem)

    def search(some: SearchProblem, part: Budget) -> Outcome:
        if name == "hybrid":
            return run_portfolio(some, part, start if some is problem else None)
        if some.foresees_columns:
            return _choose_stars(some, part, name)
        return replace(METHODS[name].search(some, part), why=f"{name}: {why}")

    exact = tighten_to_zero(problem)
    if exact is None:
        return search(problem, budget)
    share, total = (1.0, 2.0) if budget.seconds is None else (0.5, 1.0)
    found = search(problem, budget.portion(share, 0.0, total))
    if found.stopped == "cancelled":
        return found
    other = search(exact, budget.portion(share, share, total))
    steps = _list_trials([found, replace(other, method="t = 0")])
    best = found
    if other.cost < found.cost:
        why = f"{other.why}; found for t = 0, which loses less here"
        best = replace(other, why=why, bound=found.bound)
    return replace(best, tried=steps, stopped=max(found, other, key=_is_early).stopped)


def _choose_stars(problem: SearchProblem, budget: Budget, name: str) -> Outcome:
    """Stars in single cells, repaired until combinations hold, or in whole columns: the fewer."""
    cells = METHODS[name].search(problem, budget.portion(COLUMNS_AFTER, 0.0))
    if cells.stopped == "cancelled":
        return cells
    columns = METHODS["optimal"].search(problem, budget.portion(1 - COLUMNS_AFTER, COLUMNS_AFTER))
    best = min((cells, columns), key=lambda outcome: outcome.cost)
    why = f"single cells lost {cells.cost:.4f}, whole columns {columns.cost:.4f}"
    return replace(best, tried=_list_trials([cells, columns]), why=f"{best.method}: {why}")


def _is_early(outcome: Outcome) -> bool:
    return outcome.stopped in ("cancelled", "clock")


def tighten_to_zero(problem: SearchProblem) -> SearchProblem | None:
    """The problem with t = 0 in place of every t; None where that is promised already, or where one
    class of everything is all that keeps it.

    Classes like the table have λ times its count of every value, so λ is a multiple of one over the
    greatest common divisor of the counts.
    """
    made = problem.constraints
    compiled = tuple(
        replace(each, threshold=Fraction(0)) if each.kind in DISTANCES else each
        for each in made.compiled
    )
    if compiled == made.compiled or made.supersets or made.uncompiled:
        return None
    fields = [made.fields[each.field] for each in compiled if each.kind in DISTANCES]
    if any(field.hides for field in fields):
        return None
    counts = [
        np.bincount(field.codes, problem.rows if field.mass is None else field.mass)
        for field in fields
    ]
    if math.gcd(*(int(count) for each in counts for count in each)) <= 1:
        return None
    return replace(problem, constraints=replace(made, compiled=compiled))


def choose_method(problem: SearchProblem, budget: Budget) -> tuple[str, str]:
    """The method that `auto` runs, and why; other methods may challenge `hybrid`."""
    if problem.objective.given:
        return "optimal", "a loss or levels of whole columns are asked for"
    if problem.constraints.whole_columns and not problem.foresees_columns:
        return "optimal", "combinations of columns can be foreseen where whole columns are recoded"
    unfit = METHODS["hybrid"].cannot(problem)
    if problem.constraints.supersets and (unfit or budget.expected < TINY_BUDGET):
        return "nt-mondrian", "(n, t)-closeness is promised"
    if unfit:
        return "mondrian", "the promise has to be judged by the requirements themselves"
    if budget.expected < TINY_BUDGET:
        return "mondrian", "there is little time"
    if problem.n_cells > MANY_CELLS:
        return "mondrian", f"the table has more than {MANY_CELLS:,} cells"
    if problem.objective.stars and not METHODS["cover"].cannot(problem):
        return "cover", "there is nothing between a value and its star"
    return "hybrid", "it loses least on most tables"


def list_challengers(problem: SearchProblem, budget: Budget) -> dict[str, str]:
    """The methods that may beat `hybrid` on such a promise, and why; the most promising first.
    Measured (`measured.md`): where t is not small, `matching` and `fragments` lose far more."""
    constraints = problem.constraints.closeness.values()
    if (
        problem.constraints.supersets
        or len(constraints) < 2
        or problem.n_rows > ROWS * budget.expected
        or problem.limited
    ):
        return {}
    several = {"cover": "several attributes"}
    if min(constraint.threshold for constraint in constraints) > SMALL:
        return several
    if len(constraints) == 2 and lie_on_lines(problem.constraints):
        return {"matching": "two ordered ones, a small t"} | several
    if len(np.unique(problem.sensitive, axis=0)) <= COMBINATIONS:
        return {"fragments": "several with a small t"} | several
    return several


def run_portfolio(problem: SearchProblem, budget: Budget, start: Ints | None = None) -> Outcome:
    """The least loss of `hybrid` and its challengers, if it has any.

    `hybrid` runs first, with all of the effort, exactly as it would alone. Its challengers then get
    `BUILDING` on top, and the best of them `REPAIRING`, in which `hybrid` improves it, if it comes
    near. So the outcome is never worse than what `hybrid` alone finds; unless the clock limits the
    search (`seconds`): then everything has to fit, and nothing is promised.
    """
    challengers = list_challengers(problem, budget)
    if not challengers:
        return replace(hybrid(problem, budget, start), why="hybrid: it loses least on most tables")
    used, total = (1.0, 1.0 + EXTRA) if budget.seconds is None else (1.0 - EXTRA, 1.0)
    outcomes = [hybrid(problem, budget.portion(used, 0.0, total), start)]
    share = BUILDING / len(challengers)
    for name in challengers:
        if outcomes[-1].stopped != "cancelled":
            part = budget.portion(share, used, total)
            outcomes.append(METHODS[name].search(problem, part))
            used += share
    if outcomes[-1].stopped != "cancelled":
        built = min(outcomes[1:], key=lambda outcome: outcome.cost)
        if built.cost <= NEAR * outcomes[0].cost:
            part = budget.portion(REPAIRING, used, total)
            repaired = hybrid(problem, part, start=built.label)
            outcomes.append(replace(repaired, method=built.method))
    best = min(outcomes, key=lambda outcome: outcome.cost)
    ended = {outcome.stopped: outcome.stopped for outcome in outcomes}
    stopped = ended.get("cancelled") or ended.get("clock") or best.stopped
    why = _explain_choice(best, outcomes, challengers)
    return replace(best, stopped=stopped, tried=_list_trials(outcomes), why=why)


def _search_part(
    search: Callable[[SearchProblem, Budget], Outcome],
    problem: SearchProblem,
    kept: Ints,
    budget: Budget,
) -> Outcome:
    """A search of some cells, the others left out of the rows that may be."""
    part = problem.reorder(kept)
    room = int(budget.suppression * problem.n_rows) - (problem.n_rows - part.n_rows)
    found = search(part, replace(budget, suppression=Fraction(room, part.n_rows)))
    label = np.full(problem.n_cells, -1, dtype=np.int64)
    label[kept] = found.label
    value = problem.cost(label) if problem.objective.weights else None
    return replace(
        found, label=label, loss=problem.loss(label).overall, value=value, bound=None, cuts=None
    )


def _explain_choice(best: Outcome, outcomes: list[Outcome], challengers: dict[str, str]) -> str:
    """A sentence with the loss of each method, and why each challenger was tried."""
    words = [f"{best.method}: hybrid lost {outcomes[0].cost:.4f}"]
    for name, why in challengers.items():
        losses = [outcome.cost for outcome in outcomes[1:] if outcome.method == name]
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


def _make_close(
    name: str, build: Callable[[Construction], None], close: range, summary: str,
    published: Literal["", "lines", "any"] = "",
) -> Method:  # fmt: skip
    """A method whose classes are close by the way they are built."""
    search = partial(construct, name, build)
    return Method(name, search, summary, local=True, close=close, published=published)


_ONE, _TWO, _SOME, _ANY = range(1, 2), range(2, 3), range(1, 1_000), range(1_000)
_gather, _group = microaggregation.gather_classes, baselines.build_groups

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("hybrid", hybrid,
            "plain and stratified cuts, many starts, then repairs and swaps until time is up",
            suppression=True, local=True, keeps_limits=True, supersets=True, divides=True,
            improves=True, start=hybrid),
        Method("mondrian", mondrian,
            "strict cuts, each the allowed one that saves the most loss", any_requirement=True,
            keeps_limits=True),
        Method("mondrian-median", partial(mondrian, method="mondrian-median", rule="median"),
            "strict cuts at the median of the widest column that allows it, as published",
            any_requirement=True,
            published="any"),
        Method("mondrian-relaxed", partial(mondrian, method="mondrian-relaxed", rule="relaxed"),
            "median cuts that may separate rows with equal values",
            any_requirement=True, local=True),
        Method("nt-mondrian", partial(mondrian, method="nt-mondrian"),
            "strict cuts for (n, t)-closeness to the table or to a large enough part of it",
            any_requirement=True, supersets=True, keeps_limits=True),
        Method("optimal", optimal,
            "whole columns recoded to the levels with the least loss, proved or with a bound",
            any_requirement=True, suppression=True, takes_objective=True, supersets=True,
            keeps_limits=True),
        Method("incognito", incognito,
            "all minimal levels of whole columns, subset by subset, as published; the best of them",
            any_requirement=True, takes_objective=True, supersets=True, keeps_limits=True,
            published="any"),
        Method("cover", cover,
            "classes of whole-column levels round by round, then cuts, repairs and swaps in them",
            suppression=True, local=True, divides=True, improves=True),
        _make_close("fragments", fragments.build_fragments, _SOME,
            "close by construction: fragments of several sensitive attributes, assigned to classes",
            published="lines"),
        replace(_make_close("fragments-thesis", fragments.build_as_published, _SOME,
            "fragments with the bound and the class sizes as published, to compare",
            published="lines"), lines=True),
        _make_close("matching", build_matchings, _TWO,
            "close by construction: one record per bucket of two sensitive attributes"),
        _make_close("sabre", fragments.build_buckets, _ONE,
            "close by construction: buckets of one sensitive attribute, nearest records",
            published="any"),
        _make_close("sabre-curve", partial(fragments.build_buckets, along=True), _ONE,
            "the same with records next to each other on a space-filling curve: fast",
            published="any"),
        _make_close("mdav", _gather, _ANY,
            "microaggregation: the farthest record and its nearest, in turn; failing classes merge",
            published="any"),
        _make_close("micro-merge", partial(_gather, merge=merge_farthest), _SOME,
            "microaggregation, then the class farthest from the table merged with the nearest",
            published="any"),
        _make_close("micro-swap", partial(_gather, merge=merge_farthest, exchanges=True), _SOME,
            "microaggregation that exchanges records while a class is formed, until it is close",
            published="any"),
        _make_close("micro-t-first", microaggregation.build_t_first, _ONE,
            "one near record from each subset of one sensitive attribute's values",
            published="any"),
        _make_close("wang-cluster", partial(_group, group=baselines.group_by_clusters), _SOME,
            "one near record from each fuzzy cluster of sensitive values, to compare"),
        _make_close("wang-pca", partial(_group, group=baselines.group_by_component), _SOME,
            "one near record from each run along the first principal component, to compare"),
        _make_close("gowda-frequency", baselines.assign_by_frequency, _ONE,
            "values of one sensitive attribute assigned in turn, the commonest first, to compare"),
        Method("auto", auto,
            "the method that suits the promise, the table and the time, or the best of several",
            any_requirement=True, suppression=True, supersets=True, local=True,
            takes_objective=True, keeps_limits=True, divides=True, improves=True, start=auto),
    )
}  # fmt: skip


FORMER_NAMES = {"frequency-deal": "gowda-frequency"}
"""What methods were called before."""


def method_named(name: str) -> Method:
    """A method by its name."""
    name = FORMER_NAMES.get(name, name)
    if name not in METHODS:
        hint = nearest(name, METHODS)
        if name == "suppress-cells":
            hint = (
                'say release.recoding = "suppress-cells" in the policy: every method can search so'
            )
        raise UsageError("there is no such method", where="search.method", hint=hint)
    return METHODS[name]
