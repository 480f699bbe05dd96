"""Searches one problem at many t and k, the strictest first, to show what a stricter promise costs.

Classes that keep a smaller t or a larger k keep every milder promise too; so each search starts
from the best stricter partition, where its method can, and none ends with anything worse: loss
never rises as t grows, and never falls as k does. Where several t are promised, the largest is the
one on the axis, and the others keep their proportion to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tclose.arrays import Ints
from tclose.errors import InternalError, UsageError
from tclose.plain import exact
from tclose.requirements import Requirement, compile_constraints
from tclose.requirements.identity.k_anonymity import KAnonymity
from tclose.search.feasibility import infeasible
from tclose.search.frontier.curves import Frontier, Place, Point, place_text
from tclose.search.outcome import Budget, Clock, Outcome, Progress, finalize
from tclose.search.problem import SearchProblem
from tclose.search.registry import choose_method, method_named

Value = Callable[[Outcome], float]
Worth = tuple[float, Outcome]
"""What a partition loses by the measure, and the partition."""
OBJECTIVES = {"discernibility": "discernibility", "average-class-size": "class-size"}
"""Measures that full-domain searches make least themselves, by their names there."""
MOST = Fraction(1_000_000)
"""More than any divergence that is not bounded by itself."""
Asked = str | float | Fraction | Iterable[float | str | Fraction] | None
"""A range such as `0.05:0.5`, values with commas between, one value, or values."""
POINTS, MOST_POINTS = 10, 200
FINE = 10_000
"""Points between the ends are multiples of its inverse, so that what is printed can be promised."""


def largest_t(problem: SearchProblem) -> Fraction | None:
    """The largest t that is promised; None where no closeness is."""
    return max((t for _, t in _list_limits(problem)), default=None)


def highest_t(problem: SearchProblem) -> Fraction:
    """The largest t worth a place on the axis: there, one that cannot be above 1 is 1."""
    parts = [part for requirement, part in _list_parts(problem) if requirement.bounded]
    most = max(parts, default=Fraction(0))
    return 1 / most if most else MOST


def _list_limits(problem: SearchProblem) -> list[tuple[Requirement, Fraction]]:
    """The requirements of closeness, each with its t."""
    return [
        (requirement, Fraction(requirement.limit))
        for requirement in problem.constraints.requirements
        if requirement.axis == "t" and requirement.limit is not None
    ]


def _list_parts(problem: SearchProblem) -> list[tuple[Requirement, Fraction]]:
    """The promised t, each with its proportion to the largest."""
    largest = largest_t(problem)
    return [(each, t / largest if largest else Fraction(1)) for each, t in _list_limits(problem)]


def retune(problem: SearchProblem, t: Fraction | None, k: int | None) -> SearchProblem:
    """The problem with another t, in proportion if several are promised, or k; None: as it is."""
    parts = iter(_list_parts(problem))
    requirements, sized = [], False
    for requirement in problem.constraints.requirements:
        if requirement.axis == "t" and requirement.limit is not None and t is not None:
            requirement = replace(requirement, limit=t * next(parts)[1])
        elif requirement.axis == "k" and k is not None:
            requirement, sized = replace(requirement, limit=k), True
        requirements.append(requirement)
    if k is not None and not sized:
        requirements.insert(0, KAnonymity(limit=k))
    constraints = replace(
        compile_constraints(requirements, problem.classes),
        share_per_person=problem.constraints.share_per_person,
    )
    return replace(problem, constraints=constraints)


def sweep(
    problem: SearchProblem,
    methods: Sequence[str],
    ts: Sequence[Fraction | None],
    ks: Sequence[int | None],
    budget: Budget,
    *,
    own: Place,
    measure: str = "loss",
    value: Value = lambda outcome: outcome.loss,
    count_classes: Callable[[Outcome], int] = lambda outcome: outcome.classes,
    start: Ints | None = None,
) -> Frontier:
    """Searches every combination of t and k by every method; the budget is divided evenly. `own` is
    the policy's own t or k, `value` measures the loss of an outcome, and `count_classes` the
    classes that a reader of it would count. `start` is a known partition: where it keeps a point's
    promise, methods that start from partitions (`hybrid`) end with nothing worse.
    """
    chosen = {"auto": choose_method(problem, budget)[0]}
    names = list(dict.fromkeys(method_named(chosen.get(name, name)).name for name in methods))
    number = len(names) * len(ts) * len(ks)
    run = _Run(problem, budget, number, measure, value, count_classes, own, start)
    points = [point for name in names for point in run.curve(name, ts, ks)]
    if all(point.loss is None for point in points):
        raise UsageError(f"no release can keep any of these promises: {run.reason}", where="policy")
    only_k = len(ts) == 1 and (len(ks) > 1 or ts[0] is None)
    thresholds = {_title(requirement): part for requirement, part in _list_parts(problem)}
    return Frontier(
        measure, tuple(points), "k" if only_k else "t", thresholds, problem.n_rows,
        budget.expected, budget.seed, not run.stopped,
    )  # fmt: skip


def can_start(method: str, problem: SearchProblem, budget: Budget) -> bool:
    """Whether a curve can start from a partition that was found by another search."""
    name = choose_method(problem, budget)[0] if method == "auto" else method
    judged = problem.constraints.supersets or problem.limited
    return method_named(name).start is not None and not judged


@dataclass
class _Run:
    """One sweep under way."""

    problem: SearchProblem
    budget: Budget
    points: int
    measure: str
    value: Value
    count_classes: Callable[[Outcome], int]
    own: Place
    start: Ints | None
    done: int = 0
    stopped: bool = False
    reason: str = ""

    def curve(
        self, method: str, ts: Sequence[Fraction | None], ks: Sequence[int | None]
    ) -> Iterator[Point]:
        """One method at every promise, so that stricter ones come before milder ones."""
        best: dict[tuple[int, int], Worth] = {}
        for row, k in enumerate(sorted(ks, key=lambda k: -(k or 0))):
            for column, t in enumerate(sorted(ts, key=lambda t: t or Fraction(0))):
                if self.stopped:
                    return
                stricter = [best[at] for at in ((row - 1, column), (row, column - 1)) if at in best]
                problem = self._problem(method, (t, k))
                stricter += self._judge_start(method, problem)
                known = [outcome for _, outcome in stricter]
                found = self._search(method, problem, (t, k), known)
                self.done += 1
                kept = min([*found, *stricter], key=lambda worth: worth[0], default=None)
                point = Point(method, t, k, None, chosen=(t, k) == self.own)
                if kept is not None:
                    best[row, column] = kept
                    point = _describe_point(point, problem, *kept, known)
                    point = replace(point, classes=self.count_classes(kept[1]))
                yield point

    def _problem(self, method: str, place: Place) -> SearchProblem:
        problem, objective = retune(self.problem, *place), self.problem.objective
        if not method_named(method).takes_objective or "loss" in objective.given:
            return problem
        loss = OBJECTIVES.get(self.measure, objective.loss)
        return replace(problem, objective=replace(objective, loss=loss))

    def _judge_start(self, method: str, problem: SearchProblem) -> list[Worth]:
        """The partition that is known beforehand; classes that break the promise are merged."""
        start, budget = self.start, self.budget
        if start is None or not can_start(method, problem, budget):
            return []
        if problem.rows[start < 0].sum() > budget.suppression * problem.n_rows:
            return []
        clock = Clock(replace(budget, report=lambda progress: None))
        outcome = finalize(problem, start, clock, method=method, uses_sensitive=True)
        return [(self.value(outcome), outcome)]

    def _search(
        self, method: str, problem: SearchProblem, place: Place, stricter: Sequence[Outcome]
    ) -> list[Worth]:
        """The outcome of a search with its loss by the measure; empty if no release keeps the
        promise. The default method starts from a partition that is known to keep it.
        """
        method_named(method).refuse(problem)
        start = min(stricter, key=lambda outcome: outcome.cost, default=None)
        label = None if start is None else start.label
        try:
            for reason in infeasible(problem):
                raise UsageError(str(reason))
            outcome = method_named(method).run(problem, self._budget(method, place), label)
        except UsageError as error:
            self.reason = error.what
            return []
        self.stopped = outcome.stopped == "cancelled" or self.budget.cancelled()
        return [(self.value(outcome), outcome)]

    def _budget(self, method: str, place: Place) -> Budget:
        """An even share of the budget, which reports how far the whole sweep is."""
        share = self.budget.portion(1 / self.points, self.done / self.points)
        where = f"{method} at {place_text(place)} ({self.done + 1} of {self.points})"

        def report(progress: Progress) -> None:
            used = min(progress.seconds_used, share.expected)
            share.report(replace(progress, seconds_used=used, step=where))

        return replace(share, report=report)


def _describe_point(
    point: Point, problem: SearchProblem, loss: float, outcome: Outcome, known: Sequence[Outcome]
) -> Point:
    label = outcome.label
    return replace(
        point, loss=loss, left_out=int(problem.rows[label < 0].sum()),
        distances=_measure_distances(problem, label), label=label,
        carried=any(np.array_equal(label, each.label) for each in known),
    )  # fmt: skip


def _measure_distances(problem: SearchProblem, label: Ints) -> dict[str, float]:
    """How far the farthest class is from the released table, for each promise of closeness."""
    found = {}
    for requirement in problem.constraints.requirements:
        if (distance := requirement.against_table()) is None:
            continue
        measured = problem.measure(distance, label)
        if measured is None or measured.fails.any():
            raise InternalError("a class of the frontier breaks the promise of its point")
        found[_title(requirement)] = measured.achieved
    return found


def _title(requirement: Requirement) -> str:
    about = requirement.attribute or ""
    return f"{about} (cross)" if requirement.adversary == "knows_others" else about


def spread_t(asked: Asked, points: int, own: Fraction | None, highest: Fraction) -> list[Fraction]:
    """The requested values of t, ascending.

    >>> [str(t) for t in spread_t("0:0.5", 3, Fraction(1, 5), Fraction(1))]
    ['0', '1/5', '1/4', '1/2']
    """
    ends, values = _read(asked, points, "t", "such as 0.05:0.5 or 0.1,0.2,0.3")
    if not all(0 <= value <= highest for value in (*ends, *values)):
        raise UsageError(
            f"t must lie in [0, {float(highest):g}]",
            where="--t",
            hint="a distance between distributions is at most 1, in proportion where "
            "attributes promise different t",
        )
    if ends:
        low, high = ends
        steps = [low + (high - low) * at / (points - 1) for at in range(1, points - 1)]
        values = [low, *(Fraction(round(step * FINE), FINE) for step in steps), high]
        values = [value for value in values if low <= value <= high]
        values += [own] if own is not None and low <= own <= high else []
    return sorted(set(values))


def spread_k(asked: Asked, points: int, own: int | None, rows: int) -> list[int]:
    """The requested values of k, ascending.

    >>> spread_k("2:20", 4, 5, 100), spread_k([3, 2], 4, 5, 100)
    ([2, 5, 8, 14, 20], [2, 3])
    """
    ends, values = _read(asked, points, "k", "such as 2:20 or 2,5,10")
    for value in (*ends, *values):
        if value.denominator > 1 or value < 1:
            raise UsageError("k is a whole number, at least 1", where="--k", hint="such as 2:20")
        if value > rows:
            raise UsageError(
                f"k is larger than the table, which has {rows:,} rows", where="--k",
                hint="no class can have more rows than the table",
            )  # fmt: skip
    whole = [int(value) for value in values]
    if ends:
        low, high = (int(end) for end in ends)
        whole = [low + round(Fraction((high - low) * at, points - 1)) for at in range(points)]
        whole += [own] if own is not None and low <= own <= high else []
    return sorted(set(whole))


def _read(
    asked: Asked, points: int, name: str, hint: str
) -> tuple[tuple[Fraction, ...], list[Fraction]]:
    """The two ends of a range, or values."""
    if not 2 <= points <= MOST_POINTS:
        raise UsageError(f"a curve has 2 to {MOST_POINTS} points", where="--points")
    ranged = isinstance(asked, str) and ":" in asked
    if isinstance(asked, str):
        asked = asked.split(":" if ranged else ",")
    given = asked if isinstance(asked, Iterable) else [asked]
    try:
        numbers = [exact(number) for number in given]  # type: ignore[arg-type]
    except (ValueError, TypeError):
        numbers = []
    if not numbers or (ranged and (len(numbers) != 2 or numbers[0] >= numbers[1])):
        what = "a range goes from a lower to a higher number" if ranged else "no numbers are given"
        raise UsageError(what, where=f"--{name}", hint=hint)
    if len(numbers) > MOST_POINTS:
        raise UsageError(f"a curve has at most {MOST_POINTS} points", where=f"--{name}")
    return (tuple(numbers), []) if ranged else ((), numbers)
