"""Mondrian (LeFevre 2006) with any promise: cut a class in two as long as both halves keep it.

- `mondrian`         strict; of all allowed cuts the one that saves the most loss
- `mondrian-median`  strict; the median of the widest column that allows it, as published
- `mondrian-relaxed` the median likewise, but cells with equal codes may part
- `nt-mondrian`      strict; a class may be close to any large enough node above it instead
"""

from __future__ import annotations

import numpy as np

from tclose.kernels.splitting.node import NodeWorkspace
from tclose.kernels.splitting.split_tree import SplitTree
from tclose.search.budget import Budget, Clock
from tclose.search.finalize import settled
from tclose.search.mondrian.by_requirements import split_by_requirements
from tclose.search.outcome import Cuts, Outcome, numbered
from tclose.search.problem import Problem

EFFORT = 20_000_000
"""Steps between two looks at the clock: well under a tenth of a second."""
STEP = 2.5e-9
"""Seconds of an ordinary core per step."""


def mondrian(problem: Problem, budget: Budget) -> Outcome:
    """Strict cuts, each the one that saves the most loss."""
    return _run("mondrian", "gain", problem, budget)


def mondrian_median(problem: Problem, budget: Budget) -> Outcome:
    """Strict cuts at the median of the widest column."""
    return _run("mondrian-median", "median", problem, budget)


def mondrian_relaxed(problem: Problem, budget: Budget) -> Outcome:
    """Cuts at the median of the widest column that may part cells with equal codes."""
    return _run("mondrian-relaxed", "relaxed", problem, budget)


def nt_mondrian(problem: Problem, budget: Budget) -> Outcome:
    """Strict cuts whose classes are close to some node of n or more rows above them.

    Such closeness is not kept by merging, so refusing a cut is a heuristic here: cuts below it
    might have been allowed (`docs/mathematics.md` 2.2).
    """
    return _run("nt-mondrian", "gain", problem, budget)


def _run(method: str, rule: str, problem: Problem, budget: Budget) -> Outcome:
    clock = Clock(budget)
    tree = SplitTree(NodeWorkspace(problem.coded_table(ordered=False)), rule)
    if problem.constraints.uncompiled:
        split_by_requirements(tree, problem, clock)
    else:
        grow(tree, clock)
    is_strict = rule != "relaxed"
    return settled(
        problem, tree.label, clock, method=method, uses_sensitive=not is_strict,
        cuts=cuts_of(tree) if is_strict else None,
    )  # fmt: skip


def grow(tree: SplitTree, clock: Clock) -> None:
    """Splits until no allowed cut is left; nodes that wait when time is up stay as they are."""
    while tree.n_waiting > 0:
        if clock.over("cutting"):
            tree.close_all()
        else:
            clock.spend(STEP * tree.grow(EFFORT))


def cuts_of(tree: SplitTree) -> Cuts:
    """The cuts as plain numbers, with classes numbered as the outcome numbers them."""
    column, left = tree.column[: tree.n_nodes], tree.left[: tree.n_nodes].copy()
    rank = np.zeros(tree.n_classes, dtype=np.int64)
    rank[tree.label] = numbered(tree.label)
    left[column < 0] = rank[left[column < 0]]
    return Cuts(
        tuple(column.tolist()), tuple(tree.code[: tree.n_nodes].tolist()), tuple(left.tolist()),
        tuple(tree.right[: tree.n_nodes].tolist()),
    )  # fmt: skip
