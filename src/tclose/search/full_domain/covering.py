"""Covering: rows that one full-domain generalization releases cheaply, then the rest at other
levels.

A level vector groups the rows that are not covered yet. Classes that keep the promise are covered
at what they lose; every other row is charged a price below 1 and left for the next round. A round
counts only if the rest, as one class, keeps the promise too: it can then always be finished. Level
vectors are found by steps of one level, from the best on a path through the lattice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tclose.arrays import Ints
from tclose.search.full_domain.lattice import Ladder, Lattice, Levels, ladders_of
from tclose.search.full_domain.measures import loss_of
from tclose.search.full_domain.rollup import Roller
from tclose.search.outcome import Clock
from tclose.search.problem import SearchProblem, number_classes

ROUNDS = 12


def cover_cells(problem: SearchProblem, clock: Clock, price: float, until: float) -> Ints:
    """A class for each cell: classes at the levels of some rounds, and one class of all remaining
    cells. `price` is the assumed loss of a row that remains; `until` the share of the budget to
    spend.
    """
    ladders = ladders_of(problem)
    label = np.full(problem.n_cells, -1, dtype=np.int64)
    made = 0
    for _ in range(ROUNDS):
        rest = np.flatnonzero(label < 0)
        if not len(rest) or clock.is_over("covering", until):
            break
        cover = _Round(problem, rest, ladders, price, clock)
        best = cover.climb(until)
        if best is None:
            break
        found = number_classes(cover.label(best))
        label[rest] = np.where(found >= 0, found + made, -1)
        made += int(found.max()) + 1
    return number_classes(np.where(label < 0, made, label))


class _Round(Roller):
    """The cells that are not covered yet, judged against the whole table."""

    def __init__(
        self,
        problem: SearchProblem,
        rest: Ints,
        ladders: Sequence[Ladder],
        price: float,
        clock: Clock,
    ) -> None:
        part = problem.part(rest)
        cost = max(part.n_rows, 1) * len(ladders)
        prices = [
            weight * (price - ladder.loss).ravel() / cost
            for weight, ladder in zip(problem.weights, ladders, strict=True)
        ]
        prices.append(np.zeros(0))
        super().__init__(
            part, ladders, np.concatenate(prices), clock, room=part.n_rows, reference="table",
            whole=problem,
        )  # fmt: skip
        self.loss = loss_of(part, ladders, problem.objective.weights)
        self.price_of_waiting = price
        self.known: dict[Levels, float] = {}

    def climb(self, until: float) -> Levels | None:
        """The node with the least cost that single steps lead to; None where nothing is won."""
        low = (0,) * len(self.ladders)
        lattice = Lattice(low, tuple(ladder.levels - 1 for ladder in self.ladders))
        path = self.loss.path(lattice.low, lattice.high)
        best = min(path, key=lambda node: (self._cost(node), node))
        while not self.clock.is_over("covering", until):
            near = [*lattice.predecessors(best), *lattice.successors(best)]
            step = min(near, key=lambda node: (self._cost(node), node), default=best)
            if self._cost(step) >= self._cost(best):
                break
            best = step
        return best if self._cost(best) < self.price_of_waiting else None

    def _cost(self, node: Levels) -> float:
        """The mean loss per row: of covered classes, and `price` for each other row."""
        if node not in self.known:
            verdict = self.look(node)
            covers = verdict.feasible and self.rest_holds()
            self.known[node] = self.loss.floor(node) + verdict.left_price if covers else np.inf
        return self.known[node]
