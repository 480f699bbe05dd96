"""lattice: which generalizations of whole columns keep the promise; nothing is released."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tclose.data.binding import BoundTable
from tclose.data.io.paths import AS_FOUND, Reading
from tclose.notebook import show_progress
from tclose.search import Progress, problem_of
from tclose.search.full_domain.survey import Survey, survey
from tclose.workflows.inputs import PolicyLike, budget_of, check, count_population


@show_progress
def lattice(
    data: Any,
    policy: PolicyLike,
    *,
    suppression: float | str | None = None,
    seconds: float | None = None,
    effort: float | None = None,
    population: Any = None,
    reading: Reading = AS_FOUND,
    progress: Callable[[Progress], None] = lambda step: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Survey:
    """Returns which full-domain generalizations keep the promise, and the loss of each.

    >>> import pyarrow as pa
    >>> table = pa.table({"sex": list("ffmm"), "ill": list("abab")})
    >>> rules = {"k": 2, "columns": {"sex": "quasi", "ill": {"role": "sensitive", "t": 0.1}}}
    >>> found = lattice(table, rules)
    >>> found.lattice.size, [point.levels for point in found.minimal]
    (2, [(0,)])
    """
    bound = check(data, policy, reading=reading)
    budget = budget_of(
        bound.policy.search, seconds, effort, None, suppression,
        cancelled=cancelled, progress=progress,
    )  # fmt: skip
    people = count_population(bound, population, reading)
    problem = problem_of(bound, people)
    bound.source.close()
    found = survey(problem, budget)
    return replace(found, words=tuple(_name_levels(bound, name) for name in found.columns))


def _name_levels(bound: BoundTable, name: str) -> tuple[str, ...]:
    """What every level of a column is called; without a hierarchy it is exact or hidden."""
    tree = bound.hierarchies.get(name)
    top = 1 if tree is None else tree.levels - 1
    return tuple(bound.policy.name_level(name, level, top) for level in range(top + 1))
