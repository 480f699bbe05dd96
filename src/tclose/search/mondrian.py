"""Mondrian (LeFevre 2006) with any promise: cut a class in two as long as both halves keep it.

- `mondrian`         strict; of all allowed cuts the one that saves the most loss
- `mondrian-median`  strict; the median of the widest column that allows it, as published
- `mondrian-relaxed` the median likewise, but cells with equal codes may part
- `nt-mondrian`      strict; a class may be close to any large enough node above it instead. Such
  closeness is not kept by merging, so refusing a cut is a heuristic there: cuts below it might have
  been allowed (`docs/mathematics.md` 2.2)

Compiled constraints judge the cuts. Requirements that cannot be compiled judge those that are left,
the best first; each costs a full measurement, so a node whose cuts could not all be judged in time
is a class as it is.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.splitting.node import NodeWorkspace
from tclose.kernels.splitting.split import SplitTree
from tclose.search.judge import Judge, finalize
from tclose.search.outcome import Budget, Clock, Cuts, Outcome, number_classes
from tclose.search.problem import SearchProblem

Ints = NDArray[np.int64]

EFFORT = 20_000_000
"""Steps between two looks at the clock: well under a tenth of a second."""
STEP = 2.5e-9
"""Seconds of an ordinary core per step."""
JUDGED, JUDGED_CELL = 2e-3, 2e-7
"""Seconds of an ordinary core to have a cut judged by the requirements: each, and per cell."""


def mondrian(
    problem: SearchProblem,
    budget: Budget,
    *,
    method: str = "mondrian",
    rule: Literal["gain", "median", "relaxed"] = "gain",
) -> Outcome:
    """Cuts by a rule: the one that saves most, the median, or a median that parts equal codes."""
    clock = Clock(budget)
    tree = SplitTree(NodeWorkspace(problem.make_coded_table(ordered=False)), rule)
    if problem.constraints.uncompiled:
        split_by_requirements(tree, problem, clock)
    else:
        split_all(tree, clock)
    is_strict = rule != "relaxed"
    return finalize(
        problem, tree.label, clock, method=method, uses_sensitive=not is_strict,
        cuts=read_cuts(tree) if is_strict else None,
    )  # fmt: skip


def split_all(tree: SplitTree, clock: Clock) -> None:
    """Splits until no allowed cut is left; nodes that wait when time is up stay as they are."""
    while tree.n_waiting > 0:
        if clock.is_over("cutting"):
            tree.close_all()
        else:
            clock.spend(STEP * tree.grow(EFFORT))


def split_by_requirements(tree: SplitTree, problem: SearchProblem, clock: Clock) -> None:
    """The same, every cut judged by the requirements that cannot be compiled."""
    judge = Judge(problem)
    while tree.n_waiting > 0:
        chosen = _choose_cut(tree, tree.take_next(), judge, clock)
        if chosen is None:
            tree.close()
        else:
            tree.split(*chosen)


def _choose_cut(tree: SplitTree, cells: Ints, judge: Judge, clock: Clock) -> tuple[int, int] | None:
    """The best cut of a node that every requirement accepts: a column, and where."""
    step = "cutting, judged by the requirements"
    if clock.is_over(step):
        return None
    for column, where in tree.candidates():
        if clock.is_over(step):
            return None
        clock.spend(JUDGED + JUDGED_CELL * len(cells))
        goes_left = _find_left_half(judge.problem.codes[cells, column], where, tree.rule)
        halves = [cells[goes_left], cells[~goes_left]]
        if not judge.refuses(halves, judge.problem.constraints.uncompiled):
            return column, where
    return None


def _find_left_half(codes: Ints, where: int, rule: str) -> NDArray[np.bool_]:
    """Which cells a cut sends left: those up to a code, or so many of the first."""
    if rule != "relaxed":
        return codes <= where
    goes_left = np.zeros(len(codes), dtype=bool)
    goes_left[np.argsort(codes, kind="stable")[:where]] = True
    return goes_left


def read_cuts(tree: SplitTree) -> Cuts:
    """The cuts as plain numbers, with classes numbered as the outcome numbers them."""
    number = np.zeros(tree.n_classes, dtype=np.int64)
    number[tree.label] = number_classes(tree.label)
    arrays = (tree.column, tree.code, tree.left, tree.right)
    return Cuts(*(tuple(each[: tree.n_nodes].tolist()) for each in arrays)).rename(number)
