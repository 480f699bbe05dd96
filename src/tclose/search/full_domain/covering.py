"""Covering by full-domain classes: what some levels publish cheaply, then the rest at other levels.

A level vector groups the rows that are not covered yet. Classes that keep the promise are covered
at what they lose; every other row is charged a price below 1, so that only cheap classes are worth
taking, and is left for the next round at other levels. A round counts only if the rest, as one
class, keeps the promise too: it can then always be finished, by itself if need be. Level vectors
are found by steps of one level, from the best on a path through the lattice.

Regions whose own distribution is close to the table's are found at fine levels that way, which
cuts from the top may miss.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.search.full_domain.lattice import Ladder, Lattice, Levels, ladders_of
from tclose.search.full_domain.measures import house_loss
from tclose.search.full_domain.rollup import Roller
from tclose.search.outcome import Clock, number_classes
from tclose.search.problem import SearchProblem

Ints = NDArray[np.int64]

ROUNDS = 12


def cover_cells(problem: SearchProblem, clock: Clock, price: float, until: float) -> Ints:
    """A class for each cell: classes at the levels of some rounds, and the rest as one more.

    `price` is what a row costs that is left for later; `until` the share of the budget to spend.
    """
    ladders = ladders_of(problem)
    label = np.full(problem.n_cells, -1, dtype=np.int64)
    made = 0
    for _ in range(ROUNDS):
        rest = np.flatnonzero(label < 0)
        if not len(rest) or clock.is_over("covering", until):
            break
        cover = _Round(problem.part(rest), problem, ladders, price, clock, until)
        best = cover.climb()
        if best is None:
            break
        found = number_classes(cover.roller.label(best, cover.part.n_rows))
        label[rest] = np.where(found >= 0, found + made, -1)
        made += int(found.max()) + 1
    return number_classes(np.where(label < 0, made, label))


@dataclass
class _Round:
    """The cells that are not covered yet, judged against the whole table."""

    part: SearchProblem
    problem: SearchProblem
    ladders: tuple[Ladder, ...]
    price: float
    clock: Clock
    until: float

    def __post_init__(self) -> None:
        cost = max(self.part.n_rows, 1) * len(self.ladders)
        prices = [(self.price - ladder.loss).ravel() / cost for ladder in self.ladders]
        self.house = house_loss(self.part, self.ladders)
        self.roller = Roller(
            self.part, self.ladders, np.concatenate([np.zeros(0), *prices]), reference="table",
            whole=self.problem,
        )  # fmt: skip
        highest = tuple(ladder.levels - 1 for ladder in self.ladders)
        self.lattice = Lattice((0,) * len(self.ladders), highest)

    def climb(self) -> Levels | None:
        """The node with the least cost that single steps lead to; None where nothing is won."""
        known: dict[Levels, float] = {}
        path = self.house.path(self.lattice.low, self.lattice.high)
        best = min(path, key=lambda node: (self._cost(node, known), node))
        while not self.clock.is_over("covering", self.until):
            near = [*self.lattice.predecessors(best), *self.lattice.successors(best)]
            step = min(near, key=lambda node: (self._cost(node, known), node), default=best)
            if self._cost(step, known) >= self._cost(best, known):
                break
            best = step
        return best if self._cost(best, known) < self.price else None

    def _cost(self, node: Levels, known: dict[Levels, float]) -> float:
        """Per row: what covered classes lose, and the price of the others."""
        if node not in known:
            before = self.roller.effort
            verdict = self.roller.look(node, self.part.n_rows)
            self.clock.spend(self.roller.effort - before)
            known[node] = np.inf
            if verdict.feasible and self.roller.rest_holds():
                known[node] = self.house.floor(node) + verdict.tally.left_price
        return known[node]
