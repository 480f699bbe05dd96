"""Mondrian (LeFevre 2006) with any promise: cut a class in two as long as both halves keep it.

- `mondrian`         strict; of all allowed cuts the one that saves the most loss
- `mondrian-median`  strict; the median of the widest column that allows it, as published
- `mondrian-relaxed` the median likewise, but cells with equal codes may part
- `nt-mondrian`      strict; a class may be close to any large enough node above it instead
"""

from __future__ import annotations

import numpy as np

from tclose.kernels.tables import Tables
from tclose.search.budget import Budget, Clock, rehearsal
from tclose.search.finalize import settled
from tclose.search.mondrian import growth
from tclose.search.mondrian.by_requirements import cut_by_requirements
from tclose.search.mondrian.cuts import GAIN, MEDIAN, RELAXED
from tclose.search.mondrian.growth import Tree
from tclose.search.mondrian.sweep import Work, make_work
from tclose.search.outcome import Cuts, Outcome, numbered
from tclose.search.problem import Problem

EFFORT = 20_000_000
"""Steps between two looks at the clock: well under a tenth of a second."""
STEP = 2.5e-9
"""Seconds of an ordinary core per step."""


def mondrian(problem: Problem, budget: Budget) -> Outcome:
    """Strict cuts, each the one that saves the most loss."""
    return _run("mondrian", GAIN, problem, budget)


def mondrian_median(problem: Problem, budget: Budget) -> Outcome:
    """Strict cuts at the median of the widest column."""
    return _run("mondrian-median", MEDIAN, problem, budget)


def mondrian_relaxed(problem: Problem, budget: Budget) -> Outcome:
    """Cuts at the median of the widest column that may part cells with equal codes."""
    return _run("mondrian-relaxed", RELAXED, problem, budget)


def nt_mondrian(problem: Problem, budget: Budget) -> Outcome:
    """Strict cuts whose classes are close to some node of n or more rows above them.

    Such closeness is not kept by merging, so refusing a cut is a heuristic here: cuts below it
    might have been allowed (`mathematics` 3.4).
    """
    return _run("nt-mondrian", GAIN, problem, budget)


def _run(name: str, rule: int, problem: Problem, budget: Budget) -> Outcome:
    _rehearse(rule, problem, budget)
    clock = Clock(budget)
    tab = problem.tables(ordered=False)
    work = make_work(tab)
    if problem.constraints.uncompiled:
        tree = growth.make_tree(problem.cells)
        cut_by_requirements(problem, rule, tab, work, tree, clock)
    else:
        tree = grow_tree(rule, problem.cells, tab, work, clock)
    return settled(
        problem, tree.label, clock, method=name, uses_sensitive=rule == RELAXED,
        cuts=None if rule == RELAXED else cut_tree(tree),
    )  # fmt: skip


def _rehearse(rule: int, problem: Problem, budget: Budget) -> None:
    """Has the kernels compiled (the first use of a machine takes a while) before time counts."""
    Clock(budget).tell("compiling, once", now=True)
    tab = problem.excerpt().tables(ordered=False)
    grow_tree(rule, len(tab.weight), tab, make_work(tab), Clock(rehearsal(budget)))


def grow_tree(rule: int, cells: int, tab: Tables, work: Work, clock: Clock) -> Tree:
    """Cuts until no allowed cut is left; what is still uncut when time is up stays as it is."""
    tree = growth.make_tree(cells)
    while tree.top[0] > 0:
        if clock.over("cutting"):
            growth.close_all(tree)
            break
        clock.spend(STEP * growth.grow(rule, EFFORT, tab, work, tree))
    return tree


def cut_tree(tree: Tree) -> Cuts:
    """The cuts as plain numbers, with classes numbered as the outcome numbers them."""
    nodes = int(tree.top[1])
    column, left = tree.column[:nodes], tree.left[:nodes].copy()
    first = numbered(tree.label)
    rank = np.zeros(int(tree.top[2]), dtype=np.int64)
    rank[tree.label] = first
    left[column < 0] = rank[left[column < 0]]
    return Cuts(
        tuple(column.tolist()), tuple(tree.value[:nodes].tolist()), tuple(left.tolist()),
        tuple(tree.right[:nodes].tolist()),
    )  # fmt: skip
