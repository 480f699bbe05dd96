"""The whole lattice of a table: which nodes keep the promise, and their losses.

A lattice that can be enumerated is looked at node by node; of a larger one the optimum is searched
for, and the rest is counted by height.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tclose.notebook import Drawable, Tabular
from tclose.plain import to_plain
from tclose.search.full_domain.lattice import Lattice, Levels
from tclose.search.full_domain.optimal import optimal
from tclose.search.full_domain.rollup import Domain
from tclose.search.outcome import Budget, Clock
from tclose.search.problem import SearchProblem

MOST_NODES = 20_000
"""A larger lattice is not looked at node by node."""
LOOKING = 0.5
"""The share of the budget for that; if it is not enough, the rest goes into the optimum."""


@dataclass(frozen=True)
class LatticePoint:
    """One node: its levels, whether a release exists, its loss, and the rows it leaves out."""

    levels: Levels
    holds: bool
    minimal: bool
    """It holds and nothing finer does."""
    loss: float
    """By the measure in use; where it does not hold, of the generalization alone."""
    classes: int
    left_out: int


@dataclass(frozen=True, repr=False)
class Survey(Tabular, Drawable):
    """A lattice with the verdict on each of its nodes."""

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
    words: tuple[tuple[str, ...], ...] = ()
    """What every level of each column is called, where somebody said so."""

    def name_level(self, column: int, level: int) -> str:
        """One level of one column, such as `decade of birth`."""
        return self.words[column][level] if self.words else f"{self.columns[column]} {level}"

    def name_node(self, levels: Levels) -> str:
        """A node in words: `decade of birth · 3-character zip · sex exact`."""
        return " · ".join(self.name_level(column, level) for column, level in enumerate(levels))

    @cached_property
    def holding(self) -> tuple[LatticePoint, ...]:
        """The nodes that keep the promise."""
        return tuple(point for point in self.points if point.holds)

    @cached_property
    def minimal(self) -> tuple[LatticePoint, ...]:
        """The nodes that keep the promise and have no finer such node below them."""
        return tuple(point for point in self.points if point.minimal)

    @cached_property
    def heights(self) -> tuple[int, ...]:
        """How many nodes there are at each height, from the raw table up."""
        count = np.array([1], dtype=object)
        for low, high in zip(self.lattice.low, self.lattice.high, strict=True):
            count = np.convolve(count, np.ones(high - low + 1, dtype=object))
        return tuple(int(number) for number in count)

    @property
    def headline(self) -> str:
        """How many nodes there are, and the loss of the best one."""
        best = "none is known to hold" if self.loss is None else f"best {self.loss:.4f}"
        return f"{self.lattice.size:,} nodes over {len(self.columns)} columns, {best}"

    def records(self) -> list[dict[str, Any]]:
        """A line for each node that was looked at, with its level of each column."""
        names = ("holds", "minimal", "loss", "classes", "left_out")
        return [
            dict(zip(self.columns, point.levels, strict=True))
            | {name: getattr(point, name) for name in names}
            for point in self.points
        ]

    def to_json(self) -> dict[str, Any]:
        """What is known of the lattice, as plain values; of its nodes only the minimal ones."""
        shown = ("levels", "loss", "classes", "left_out")
        plain: dict[str, Any] = to_plain({
            "columns": self.columns,
            "words": self.words,
            "levels": (self.lattice.low, self.lattice.high),
            "nodes": self.lattice.size,
            "heights": self.heights,
            "enumerated": bool(self.points),
            "measure": self.measure,
            "holding": len(self.holding) if self.points else None,
            "minimal": [{name: getattr(each, name) for name in shown} for each in self.minimal],
            "best": self.best,
            "loss": self.loss,
            "bound": self.bound,
            "proved": self.proved,
        })  # fmt: skip
        return plain

    @property
    def proved(self) -> bool:
        """Whether the best node is known to be the best."""
        return self.loss is not None and self.loss == self.bound


def survey(problem: SearchProblem, budget: Budget) -> Survey:
    """Looks at the lattice of a problem."""
    domain, points, before = Domain(problem, Clock(budget)), None, 0.0
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
        holds = verdict.feasible
        finer = any(has_holding[below] for below in domain.lattice.predecessors(node))
        has_holding[node] = finer or holds
        loss = measure.value(node, verdict) if holds else measure.bound(node, verdict, 0)
        classes = verdict.classes - verdict.left_classes
        minimal = holds and not finer
        found.append(LatticePoint(node, holds, minimal, loss, classes, verdict.left_rows))
    return tuple(found)
