"""What the full-domain searches share: a problem with its lattice, and the outcome of a node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.errors import InternalError, UsageError
from tclose.search.full_domain.lattice import Ladder, Lattice, Levels, ladders_of, lattice_of
from tclose.search.full_domain.measures import ByColumns, LossMeasure, house_loss, measure_of
from tclose.search.full_domain.rollup import NodeVerdict, Reference, Roller
from tclose.search.judge import Judge
from tclose.search.outcome import Clock, Outcome, Trial, number_classes
from tclose.search.problem import SearchProblem

Ints = NDArray[np.int64]


@dataclass
class Domain:
    """A problem with its levels and its measure, and what looks at its nodes."""

    problem: SearchProblem
    ladders: tuple[Ladder, ...]
    lattice: Lattice
    measure: LossMeasure
    house: ByColumns
    roller: Roller
    room: int
    """How many rows may be left out."""
    clock: Clock

    def look(self, levels: Levels, *, bounding: bool = False) -> NodeVerdict:
        """Judges a node, and counts what that cost."""
        before = self.roller.effort
        found = self.roller.look(levels, self.room, bounding=bounding)
        self.clock.spend(self.roller.effort - before)
        return found

    def value(self, levels: Levels, verdict: NodeVerdict) -> float:
        """What the node loses; infinite where no release comes of it."""
        return self.measure.value(levels, verdict.tally) if verdict.feasible else float("inf")

    def outcome(
        self,
        levels: Levels,
        method: str,
        *,
        bound: float | None = None,
        tried: tuple[Trial, ...] = (),
        value: float | None = None,
    ) -> Outcome:
        """The release at a node, every class judged once more by the requirements themselves."""
        self.clock.report("judging every class", now=True)
        label = number_classes(self.roller.label(levels, self.room))
        if self.roller.reference == "released":
            requirements = self.problem.constraints.requirements
            climbs = self.roller.climbs(levels, label)
            if Judge(self.problem).failing(label, requirements, climbs).any():
                raise InternalError("a class that the search accepted breaks the promise")
        loss = self._loss(levels, label)
        self.clock.loss = loss
        self.clock.report("done", now=True)
        plain = self.measure.name == "iyengar" and not self.problem.objective.weights
        return Outcome(
            label, loss, method, self.clock.stopped,
            (*tried, Trial("result", loss, self.clock.used)), uses_sensitive=False, levels=levels,
            measure=self.measure.name, value=None if plain else value,
            bound=loss if plain and bound == value and bound is not None else bound,
        )  # fmt: skip

    def _loss(self, levels: Levels, label: Ints) -> float:
        """The house's loss of the nodes at these levels; a row left out loses everything."""
        gone, more = np.flatnonzero(label < 0), 0.0
        for at, (ladder, level) in enumerate(zip(self.ladders, levels, strict=True)):
            kept = 1.0 - ladder.loss[level][self.problem.codes[gone, at]]
            more += float(kept @ self.problem.rows[gone])
        cost = max(self.problem.n_rows * len(self.ladders), 1)
        return self.house.floor(levels) + more / cost


def domain_of(
    problem: SearchProblem,
    clock: Clock,
    *,
    reference: Reference = "released",
    memory: int | None = None,
    suppression: bool = True,
) -> Domain:
    """Lays a problem out for a full-domain search."""
    ladders = ladders_of(problem)
    measure = measure_of(problem, ladders)
    room = int(clock.budget.suppression * problem.n_rows) if suppression else 0
    return Domain(
        problem, ladders, lattice_of(problem, ladders), measure,
        house_loss(problem, ladders),
        Roller(problem, ladders, measure.price, reference=reference, memory=memory), room, clock,
    )  # fmt: skip


def nothing_found(*, finished: bool) -> UsageError:
    """No node keeps the promise, or none was found in time."""
    if finished:
        what, where, hint = "within the levels allowed keeps the promise", "search.levels", ""
    else:
        what, where, hint = "that keeps the promise was found in time", "search", "more time, "
    return UsageError(
        f"no generalization {what}",
        where=where,
        hint=f"allow {hint}higher levels, or more rows to be left out",
    )
