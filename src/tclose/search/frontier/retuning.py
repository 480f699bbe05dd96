"""What a stricter promise costs: one problem searched at many t and k, the strictest first.

Cells are counted once and only the promise is compiled anew. Classes that keep a smaller t or a
larger k keep every milder promise too, since nothing else about it changes; so each search starts
from the best stricter partition, where its method can, and none ends with anything worse. Loss
therefore never rises as t grows, and never falls as k does.

Where several t are promised, the largest of them is the one on the axis, and the others keep their
proportion to it: the steward's own weighing of the attributes is part of the promise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.errors import InternalError, UsageError
from tclose.requirements import Requirement
from tclose.requirements.identity.k_anonymity import KAnonymity
from tclose.search.budget import Budget, Progress
from tclose.search.compile.constraints import compile_constraints
from tclose.search.exact_judge import Judge
from tclose.search.feasibility import infeasible
from tclose.search.frontier.curves import Frontier, Place, Point, place_text
from tclose.search.local_search.hybrid import hybrid
from tclose.search.outcome import Outcome
from tclose.search.problem import Problem
from tclose.search.registry import method_named, suited

Ints = NDArray[np.int64]
Value = Callable[[Outcome], float]
Worth = tuple[float, Outcome]
"""What a partition loses by the measure, and the partition."""
AIMS = {"discernibility": "discernibility", "average-class-size": "class-size"}
"""Measures that full-domain searches make least themselves, by their names there."""
MOST = Fraction(1_000_000)
"""More than any divergence that is not bounded by itself."""


def promised_t(problem: Problem) -> Fraction | None:
    """The largest t that is promised; None where no closeness is."""
    return max((t for _, t in _stated_limits(problem)), default=None)


def highest_t(problem: Problem) -> Fraction:
    """The largest t worth a place on the axis: there, one that cannot be above 1 is 1."""
    largest, most = promised_t(problem), Fraction(0)
    for requirement, t in _stated_limits(problem):
        if requirement.bounded:
            most = max(most, _part(t, largest))
    return 1 / most if most else MOST


def proportions(problem: Problem) -> dict[str, Fraction]:
    """Each t that is promised, as a part of the largest; 1 where all of them are 0."""
    largest = promised_t(problem)
    return {_title(each): _part(t, largest) for each, t in _stated_limits(problem)}


def retuned(problem: Problem, t: Fraction | None, k: int | None) -> Problem:
    """The same problem with another t, in proportion where several are promised, or another k.

    None leaves what the policy says.
    """
    largest, requirements, sized = promised_t(problem), [], False
    for requirement in problem.constraints.requirements:
        if requirement.axis == "t" and requirement.limit is not None and t is not None:
            requirement = requirement.at_limit(t * _part(Fraction(requirement.limit), largest))
        elif requirement.axis == "k" and k is not None:
            requirement, sized = requirement.at_limit(k), True
        requirements.append(requirement)
    if k is not None and not sized:
        requirements.insert(0, KAnonymity(limit=k))
    constraints = compile_constraints(requirements, problem.classes)
    return replace(
        problem,
        constraints=replace(constraints, share_per_person=problem.constraints.share_per_person),
    )


def sweep(
    problem: Problem,
    methods: Sequence[str],
    ts: Sequence[Fraction | None],
    ks: Sequence[int | None],
    budget: Budget,
    *,
    own: Place,
    measure: str = "loss",
    value: Value = lambda outcome: outcome.loss,
) -> Frontier:
    """Searches every combination of t and k by every method; the budget is shared out evenly.

    `own` is what the policy itself promises, and `value` what an outcome loses by the measure.
    """
    names = list(dict.fromkeys(_named(one, problem, budget) for one in methods))
    run = _Run(problem, budget, len(names) * len(ts) * len(ks), measure, value, own)
    points = [point for name in names for point in run.curve(name, ts, ks)]
    if all(point.loss is None for point in points):
        raise UsageError(f"no release can keep any of these promises: {run.reason}", where="policy")
    only_k = len(ts) == 1 and (len(ks) > 1 or ts[0] is None)
    return Frontier(
        measure, tuple(points), "k" if only_k else "t", proportions(problem), problem.rows,
        budget.expected, budget.seed, not run.stopped,
    )  # fmt: skip


@dataclass
class _Run:
    """One sweep under way."""

    problem: Problem
    budget: Budget
    points: int
    measure: str
    value: Value
    own: Place
    done: int = 0
    stopped: bool = False
    reason: str = ""

    def curve(
        self, method: str, ts: Sequence[Fraction | None], ks: Sequence[int | None]
    ) -> Iterator[Point]:
        """One method at every promise, so that stricter ones come before milder ones."""
        best: dict[tuple[int, int], Worth] = {}
        for row, k in enumerate(sorted(ks, key=lambda one: -(one or 0))):
            for column, t in enumerate(sorted(ts, key=lambda one: one or Fraction(0))):
                if self.stopped:
                    return
                stricter = [best[at] for at in ((row - 1, column), (row, column - 1)) if at in best]
                problem = self._problem(method, (t, k))
                found = self._found(method, problem, (t, k), [one for _, one in stricter])
                self.done += 1
                kept = min([*found, *stricter], key=lambda one: one[0], default=None)
                if kept is not None:
                    best[row, column] = kept
                known = [one.label for _, one in stricter]
                yield self._point(problem, method, (t, k), kept, known)

    def _problem(self, method: str, place: Place) -> Problem:
        problem, aims = retuned(self.problem, *place), self.problem.aims
        if method_named(method).aims and self.measure in AIMS and "loss" not in aims.given:
            return replace(problem, aims=replace(aims, loss=AIMS[self.measure]))
        return problem

    def _found(
        self, method: str, problem: Problem, place: Place, stricter: Sequence[Outcome]
    ) -> list[Worth]:
        """What a search finds, if anything."""
        method_named(method).refuse(problem)
        start = min(stricter, key=lambda one: one.loss, default=None)
        label = None if start is None else start.label
        try:
            for reason in infeasible(problem):
                raise UsageError(str(reason))
            outcome = _searched(method, problem, self._budget(method, place), label)
        except UsageError as error:
            self.reason = error.what
            return []
        self.stopped = outcome.stopped == "cancelled" or self.budget.cancelled()
        return [(self.value(outcome), outcome)]

    def _budget(self, method: str, place: Place) -> Budget:
        """An even share of the budget, which reports how far the whole sweep is."""
        share = _shared(self.budget, self.points)
        begun, total = self.done * share.expected, self.points * share.expected
        told = f"{method} at {place_text(place)} ({self.done + 1} of {self.points})"

        def report(step: Progress) -> None:
            used = begun + min(step.seconds_used, share.expected)
            self.budget.report(Progress(used, total, step.loss, told))

        return replace(share, report=report)

    def _point(
        self,
        problem: Problem,
        method: str,
        place: Place,
        kept: Worth | None,
        known: Sequence[Ints],
    ) -> Point:
        chosen = place == self.own
        if kept is None:
            return Point(method, *place, None, chosen=chosen)
        loss, outcome = kept
        label = outcome.label
        left_out = int(problem.weight[label < 0].sum())
        return Point(
            method, *place, loss, outcome.classes, left_out, _distances(problem, label),
            any(np.array_equal(label, one) for one in known), chosen, label,
        )  # fmt: skip


def _searched(method: str, problem: Problem, budget: Budget, start: Ints | None) -> Outcome:
    """One search; the default method begins with a partition that is known to keep the promise."""
    if method != "hybrid" or start is None:
        return method_named(method).run(problem, budget)
    order = problem.natural_order()
    return hybrid(problem.reordered(order), budget, start[order]).restored(order)


def _distances(problem: Problem, label: Ints) -> dict[str, float]:
    """How far the farthest class is from the released table, for each promise of closeness."""
    judge, found = Judge(problem), {}
    for requirement in problem.constraints.requirements:
        if (distance := requirement.against_table()) is None:
            continue
        measured = judge.measure(distance, label)
        if measured is None or measured.fails.any():
            raise InternalError("a class of the frontier breaks the promise of its point")
        found[_title(requirement)] = measured.achieved
    return found


def _stated_limits(problem: Problem) -> list[tuple[Requirement, Fraction]]:
    """The requirements of closeness, each with its t."""
    return [
        (requirement, Fraction(requirement.limit))
        for requirement in problem.constraints.requirements
        if requirement.axis == "t" and requirement.limit is not None
    ]


def _title(requirement: Requirement) -> str:
    about = requirement.attribute or ""
    return f"{about} (cross)" if requirement.adversary == "knows_others" else about


def _part(t: Fraction, largest: Fraction | None) -> Fraction:
    return t / largest if largest else Fraction(1)


def _shared(budget: Budget, points: int) -> Budget:
    seconds = None if budget.seconds is None else budget.seconds / points
    limited = budget.effort is not None or budget.seconds is None
    return replace(budget, seconds=seconds, effort=budget.work / points if limited else None)


def _named(method: str, problem: Problem, budget: Budget) -> str:
    """The method that is run, so that a curve says what it shows."""
    return suited(problem, budget) if method == "auto" else method_named(method).name
