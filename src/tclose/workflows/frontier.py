"""frontier: what other promises would cost; nothing is released."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tclose.arrays import Ints
from tclose.data.binding import BoundTable, bind
from tclose.data.io.paths import AS_FOUND, Reading
from tclose.data.opening import open_source
from tclose.errors import UsageError, nearest
from tclose.notebook import show_progress
from tclose.recode.assignment import recall_classes
from tclose.recode.plan import Plan
from tclose.recode.recoding import recode_outcome
from tclose.recode.rewrite import Pseudonyms, Rewriter
from tclose.recode.values import count_released
from tclose.search import Budget, Outcome, Progress, SearchProblem, method_named, problem_of
from tclose.search.frontier.curves import Frontier, Place
from tclose.search.frontier.sweep import (
    POINTS,
    Asked,
    can_start,
    highest_t,
    largest_t,
    spread_k,
    spread_t,
    sweep,
)
from tclose.search.problem import number_classes
from tclose.utility.associations import measure_associations
from tclose.utility.measures import MEASURES, Sizes, class_sizes
from tclose.utility.pair import Measure, Pair, pair_of
from tclose.utility.queries import measure_query_error
from tclose.workflows.inputs import PolicyLike, budget_of, check, count_population
from tclose.workflows.release.start import refuse_start
from tclose.workflows.release.task import choose_division, divide_table

DEFAULT_T, DEFAULT_K = "0.05:0.5", 20
BESIDE: dict[str, Callable[[Pair], Measure]] = {
    **MEASURES,
    "query-error": measure_query_error,
    "associations": measure_associations,
}
"""Every measure, of a release beside its original."""
SIZED: dict[str, Callable[[Sizes], float]] = {
    "discernibility": lambda sizes: float(sizes.discernibility),
    "average-class-size": lambda sizes: sizes.mean,
}
"""Those that the sizes of classes are enough for."""


@show_progress
def frontier(
    data: Any,
    policy: PolicyLike,
    *,
    t: Asked = None,
    k: Asked = None,
    methods: str | Sequence[str] | None = None,
    loss: str = "loss",
    points: int = POINTS,
    seconds: float | None = None,
    effort: float | None = None,
    seed: int | None = None,
    suppression: float | str | None = None,
    target: str | None = None,
    start_from: Plan | None = None,
    population: Any = None,
    reading: Reading = AS_FOUND,
    progress: Callable[[Progress], None] = lambda step: None,
    cancelled: Callable[[], bool] = lambda: False,
    announce: Callable[[str], None] = lambda text: None,
) -> Frontier:
    """Searches a table at several values of t or k and returns the loss at each.

    `t` and `k` are lists of values, or a range such as "0.05:0.5", of which `points` values are
    taken. The policy's own value is included if it lies in the range. By default t varies from 0.05
    to 0.5, or k from 2 to 20 if no t is required. If attributes have different t, the largest
    varies and the others keep their proportion to it. Each of the `methods` gives one curve. `loss`
    is any measure of `tclose.measure` except learning; `target` is that of `anonymize`. `effort`
    (20 by default) is for all points together. `start_from` is the plan of a release of the same
    rows: a point of `hybrid` whose promise its classes keep loses no more than they do.

    The points are results of searches; only `anonymize` writes and certifies a release.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [21, 22, 23, 44, 45, 46], "ill": ["a", "b", "a", "b", "a", "b"]})
    >>> rules = {"k": 2, "columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 0.2}}}
    >>> found = frontier(table, rules, t=[0, 0.2, 0.5], methods="mondrian")
    >>> [(float(point.t), round(point.loss, 2)) for point in found.points]
    [(0.0, 0.31), (0.2, 0.08), (0.5, 0.08)]
    """
    bound = check(data, policy, reading=reading)
    search = bound.policy.search
    given = methods.split(",") if isinstance(methods, str) else methods or ()
    named = [name.strip() for name in given if name.strip()]
    names = list(dict.fromkeys(named)) or [search.method]
    chosen = [method_named(name) for name in names]
    most = choose_division(bound, chosen, start_from)
    bound = divide_table(bound, most, start_from, rewrites=bound.source.rewrites)
    problem = problem_of(bound, count_population(bound, population, reading), target)
    budget = budget_of(
        search, seconds, effort, seed, suppression, cancelled=cancelled, progress=progress
    )
    ts, ks = _grid(problem, bound.policy.k, t, k, points)
    value = _choose_measure(loss, bound)
    announce(_describe_budget(budget, len(ts) * len(ks), names))
    if search.masking != "none":
        announce("no sensitive value is masked along the curve; `anonymize` may do better")
    start = None
    if start_from is not None:
        start = _read_start(bound, problem, start_from, names, budget, announce)
    own = largest_t(problem), bound.policy.k
    found = sweep(
        problem, names, ts, ks, budget, own=own, measure=loss, value=value, start=start,
        count_classes=lambda outcome: count_released(recode_outcome(bound, outcome)),
    )  # fmt: skip
    bound.source.close()
    return found


def _grid(
    problem: SearchProblem, own_k: int | None, t: Asked, k: Asked, points: int
) -> tuple[Sequence[Fraction | None], Sequence[int | None]]:
    """Every t and every k to look at; one each where the policy's own stays."""
    own: Place = largest_t(problem), own_k
    if t is None and k is None:
        some_k = f"2:{min(DEFAULT_K, problem.n_rows)}" if problem.n_rows > 2 else [1]
        t, k = (DEFAULT_T, None) if own[0] is not None else (None, some_k)
    if t is not None and own[0] is None:
        raise UsageError(
            "no attribute promises t, so there is no t to vary",
            where="policy",
            hint="state t at a sensitive column, or vary k with --k 2:20",
        )
    ts = [own[0]] if t is None else [*spread_t(t, points, own[0], highest_t(problem))]
    ks = [own[1]] if k is None else [*spread_k(k, points, own[1], problem.n_rows)]
    return ts, ks


def _read_start(
    bound: BoundTable, problem: SearchProblem, plan: Plan, names: Sequence[str], budget: Budget,
    announce: Callable[[str], None],
) -> Ints | None:  # fmt: skip
    """The classes that the rows have in a plan; None where no curve can start from them."""
    refuse_start(plan, given=None)
    if not any(can_start(name, problem, budget) for name in names):
        announce("no curve starts from the plan: only the method hybrid does, for closeness to the "
                 "table and without limits of columns")  # fmt: skip
        return None
    return number_classes(recall_classes(bound, plan))


def _describe_budget(budget: Budget, points: int, names: Sequence[str]) -> str:
    spent = (
        f"{budget.seconds:g} seconds by the clock"
        if budget.effort is None and budget.seconds is not None
        else f"work of {budget.work:g} seconds of an ordinary core"
    )
    curves = f"{len(names)} methods" if len(names) > 1 else f"the method {names[0]}"
    number = "1 point" if points == 1 else f"{points} points"
    return f"{spent} for {number} of {curves}; give --effort for more or less"


def _choose_measure(name: str, bound: BoundTable) -> Callable[[Outcome], float]:
    """Returns the function that gives the loss of a proposal; smaller is better.

    Sizes and the loss that searches make least follow from the proposal itself. For any other
    measure the rows are recoded in memory and held against the original.
    """
    if name == "loss":
        return lambda outcome: outcome.loss
    if name in SIZED:
        return lambda outcome: SIZED[name](_sizes(bound, outcome))
    if name not in BESIDE:
        hint = nearest(name, BESIDE) or f"one of {', '.join(BESIDE)}"
        raise UsageError("there is no such measure of loss", where="--loss", hint=hint)
    return lambda outcome: _measure(name, bound, outcome)


def _sizes(bound: BoundTable, outcome: Outcome) -> Sizes:
    kept = outcome.label >= 0
    size = np.zeros(outcome.classes, dtype=np.int64)
    np.add.at(size, outcome.label[kept], bound.cells.rows[kept])
    return class_sizes(size, bound.classes.n_rows)


def _measure(name: str, bound: BoundTable, outcome: Outcome) -> float:
    rewriter = Rewriter(bound, bound.source.stream(), recode_outcome(bound, outcome), Pseudonyms())
    theirs = bind(bound.policy, open_source(rewriter.read_table()))
    measure = BESIDE[name](pair_of(bound.plain, theirs))
    if measure.overall is None:
        raise UsageError(f"the measure cannot be taken: {measure.note}", where="--loss")
    return measure.overall
