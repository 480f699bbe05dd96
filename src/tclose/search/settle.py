"""The last word before an outcome: every class judged by the requirements, and mended."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.errors import UsageError
from tclose.search.budget import Clock
from tclose.search.judge import Judge
from tclose.search.outcome import Cuts, Outcome, Trial, numbered
from tclose.search.problem import Problem

Ints = NDArray[np.int64]


def settled(
    problem: Problem,
    label: Ints,
    clock: Clock,
    *,
    method: str,
    uses_sensitive: bool,
    tried: tuple[Trial, ...] = (),
    cuts: Cuts | None = None,
) -> Outcome:
    """An outcome that keeps the promise exactly, whatever the search believed.

    The compiled rules are sound, so there is nothing to mend unless one of them is wrong, or rows
    were left out that the promise cannot do without.
    """
    clock.tell("judging every class", now=True)
    found = numbered(label)
    mended = mend(problem, found)
    if not np.array_equal(mended, found):
        cuts = None
    loss = problem.loss(mended).overall
    clock.loss = loss
    clock.tell("done", now=True)
    return Outcome(
        mended, loss, method, clock.stopped, (*tried, Trial("result", loss, clock.used)),
        uses_sensitive, cuts,
    )  # fmt: skip


def mend(problem: Problem, label: Ints) -> Ints:
    """The same partition with failing classes merged; as a last resort one class of all rows."""
    judge, lines = Judge(problem), problem.promise.lines
    while (broken := judge.failing(label, lines)).any():
        if len(broken) == 1:
            return _one_class(problem, judge)
        label = _merged(problem, label, int(np.argmax(broken)))
    return label


def _merged(problem: Problem, label: Ints, failing: int) -> Ints:
    """A class united with the one that makes their union cheapest."""
    best, partner = np.inf, -1
    for other in range(int(label.max()) + 1):
        if other != failing:
            union = np.where(label == other, failing, label)
            cells = np.flatnonzero(union == failing)
            loss = problem.loss(np.where(union == failing, 0, -1)).classes.sum()
            cost = float(loss * problem.weight[cells].sum())
            if cost < best:
                best, partner = cost, other
    return numbered(np.where(label == partner, failing, label))


def _one_class(problem: Problem, judge: Judge) -> Ints:
    whole = np.zeros(problem.cells, dtype=np.int64)
    if judge.failing(whole, problem.promise.lines).any():
        raise UsageError(
            "the promise cannot be kept: even the whole table as one class breaks it",
            where="policy",
            hint="see what the whole table attains, and promise no more than that",
        )
    return whole
