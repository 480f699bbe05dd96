"""The whole lattice of a table at a glance: which nodes keep the promise, and what they lose.

A lattice that can be enumerated is looked at node by node; of a larger one the optimum is searched
for, and the rest is counted by height.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tclose.search.full_domain.domain import Domain, domain_of
from tclose.search.full_domain.lattice import Lattice, Levels
from tclose.search.full_domain.optimal import optimal
from tclose.search.outcome import Budget, Clock
from tclose.search.problem import SearchProblem

MOST_NODES = 20_000
"""A larger lattice is not looked at node by node."""
LOOKING = 0.5
"""The share of the budget for that; if it is not enough, the rest goes into the optimum."""


@dataclass(frozen=True)
class LatticePoint:
    """One node: its levels, whether a release comes of it, what that loses and leaves out."""

    levels: Levels
    holds: bool
    minimal: bool
    """It holds and nothing finer does."""
    loss: float
    """By the measure in use; where it does not hold, of the generalization alone."""
    classes: int
    left_out: int


@dataclass(frozen=True)
class Survey:
    """A lattice and what is known of it."""

    columns: tuple[str, ...]
    lattice: Lattice
    measure: str
    points: tuple[LatticePoint, ...]
    """Every node, finer ones first; empty where the lattice is too large or time was up."""
    best: Levels | None
    """The node with the least loss, as far as was searched."""
    loss: float | None
    bound: float | None
    """No node that holds loses less; equal to `loss` where the best is proved."""

    @cached_property
    def holding(self) -> tuple[LatticePoint, ...]:
        """The nodes that keep the promise."""
        return tuple(point for point in self.points if point.holds)

    @cached_property
    def minimal(self) -> tuple[LatticePoint, ...]:
        """Those of them that have nothing finer below them."""
        return tuple(point for point in self.points if point.minimal)

    @cached_property
    def heights(self) -> tuple[int, ...]:
        """How many nodes there are at each height, from the raw table up."""
        count = np.array([1], dtype=object)
        for low, high in zip(self.lattice.low, self.lattice.high, strict=True):
            count = np.convolve(count, np.ones(high - low + 1, dtype=object))
        return tuple(int(number) for number in count)

    @property
    def proved(self) -> bool:
        """Whether the best node is known to be the best."""
        return self.loss is not None and self.loss == self.bound


def survey(problem: SearchProblem, budget: Budget) -> Survey:
    """Looks at the lattice of a problem."""
    domain, points, before = domain_of(problem, Clock(budget)), None, 0.0
    if domain.lattice.size <= MOST_NODES:
        points, before = _judge_nodes(domain), LOOKING
    best: Levels | None
    loss: float | None
    if points is None:
        found = optimal(problem, budget.portion(1.0 - before, before))
        best, bound = found.levels, found.bound
        loss = found.loss if found.value is None else found.value
    else:
        holding = ((point.loss, point.levels) for point in points if point.holds)
        loss, best = min(holding, default=(None, None))
        bound = loss
    columns = tuple(column.name for column in problem.columns)
    return Survey(columns, domain.lattice, domain.measure.name, points or (), best, loss, bound)


def _judge_nodes(domain: Domain) -> tuple[LatticePoint, ...] | None:
    """Every node, judged; None where time was up before."""
    found: list[LatticePoint] = []
    has_holding: dict[Levels, bool] = {}
    """Whether a node or something finer holds."""
    for node in sorted(domain.lattice.nodes(), key=lambda node: (sum(node), node)):
        if domain.clock.is_over("looking at every node", LOOKING):
            return None
        verdict, measure = domain.look(node), domain.measure
        holds, tally = verdict.feasible, verdict.tally
        finer = any(has_holding[below] for below in domain.lattice.predecessors(node))
        has_holding[node] = finer or holds
        loss = measure.value(node, tally) if holds else measure.bound(node, tally, 0)
        classes = tally.classes - tally.left_classes
        point = LatticePoint(node, holds, holds and not finer, loss, classes, tally.left_rows)
        found.append(point)
    return tuple(found)
