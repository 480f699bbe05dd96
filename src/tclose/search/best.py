"""A search that keeps the best of what it tries: what the methods of several steps share."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.base.table import CodedTable
from tclose.search.budget import Clock
from tclose.search.finalize import settled
from tclose.search.outcome import Cuts, Outcome, Trial
from tclose.search.problem import Problem

Ints = NDArray[np.int64]


@dataclass
class Best:
    """One search: a problem, a budget that is being spent, and the best partition so far.

    It begins with all cells as one class. `together` says that the best was made without parting
    cells with equal quasi-identifiers; `cuts` are those that lead to it, where strict cuts do.
    """

    problem: Problem
    clock: Clock
    best: Ints = field(init=False)
    least: float = np.inf
    tried: list[Trial] = field(default_factory=list)
    together: bool = True
    cuts: Cuts | None = None

    def __post_init__(self) -> None:
        self.best = np.zeros(self.problem.cells, dtype=np.int64)
        self.offer("one class", self.best, together=True)

    @cached_property
    def table(self) -> CodedTable:
        """The problem as the kernels read it."""
        return self.problem.coded_table()

    @property
    def seed(self) -> int:
        """The seed of all chance."""
        return self.clock.budget.seed

    def spend(self, effort: float) -> None:
        """Counts work on the cells."""
        self.clock.spend(effort * self.problem.drag)

    def offer(
        self, step: str, label: Ints, *, together: bool = False, cuts: Cuts | None = None
    ) -> None:
        """Keeps a partition if it is the best so far."""
        loss = self.problem.loss(label).overall
        self.tried.append(Trial(step, loss, self.clock.used))
        if loss < self.least:
            self.best, self.least, self.together, self.cuts = label, loss, together, cuts
        self.clock.loss = self.least

    def settled(self, method: str) -> Outcome:
        """The best, judged by the requirements themselves."""
        return settled(
            self.problem, self.best, self.clock, method=method,
            uses_sensitive=not self.together, tried=tuple(self.tried), cuts=self.cuts,
        )  # fmt: skip
