"""Cuts judged by the requirements themselves, for those that cannot be compiled to constraints.

The compiled constraints sort out what breaks the other requirements; of the cuts that are left, the
best that the requirements accept is taken. Each costs a full measurement, so time is the limit: a
node whose cuts could not all be judged in time is a class as it is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.splitting.split_tree import SplitTree
from tclose.search.budget import Clock
from tclose.search.exact_judge import Judge
from tclose.search.problem import Problem

Ints = NDArray[np.int64]
JUDGED, STEP = 2e-3, 2e-7
"""Seconds of an ordinary core to have a cut judged: each, and per cell."""


def split_by_requirements(tree: SplitTree, problem: Problem, clock: Clock) -> None:
    """Splits until no allowed cut is left or time is up."""
    judge = Judge(problem)
    while tree.n_waiting > 0:
        cells = tree.take_next()
        chosen = None
        if not clock.over("cutting, judged by the requirements"):
            chosen = _choose(tree, cells, judge, clock)
        if chosen is None:
            tree.close()
        else:
            tree.split(*chosen)


def _choose(tree: SplitTree, cells: Ints, judge: Judge, clock: Clock) -> tuple[int, int] | None:
    """The best cut of a node that every requirement accepts: a column, and where."""
    requirements = judge.problem.constraints.uncompiled
    for column, where in tree.candidates():
        if clock.over("cutting, judged by the requirements"):
            return None
        clock.spend(JUDGED + STEP * len(cells))
        goes_left = _left_half(judge.problem.codes[cells, column], where, tree.rule)
        if not judge.refuses([cells[goes_left], cells[~goes_left]], requirements):
            return column, where
    return None


def _left_half(codes: Ints, where: int, rule: str) -> NDArray[np.bool_]:
    """Which cells a cut sends left: those up to a code, or so many of the first."""
    if rule != "relaxed":
        return codes <= where
    goes_left = np.zeros(len(codes), dtype=bool)
    goes_left[np.argsort(codes, kind="stable")[:where]] = True
    return goes_left
