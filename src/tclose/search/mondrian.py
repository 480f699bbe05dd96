"""Mondrian (LeFevre 2006) with any promise: cut a class in two as long as both halves keep it.

- `mondrian`         strict; of all allowed cuts the one that saves the most loss
- `mondrian-median`  strict; the median of the widest column that allows it, as published
- `mondrian-relaxed` the same, but cells with equal codes may be separated
- `nt-mondrian`      strict; a class may be close to any large enough node above it instead, so
  refusing a cut is a heuristic: cuts below it might have been allowed (`mathematics.md` 2.2);
  or to a region that was split off before, whatever loses less (`supersets`)

Requirements that cannot be compiled judge the cuts that the constraints leave, the best first; each
costs a full measurement, so a node whose cuts could not all be judged in time is a class as it is.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from tclose.arrays import Ints
from tclose.kernels.splitting.split import NodeWorkspace, SplitTree
from tclose.search.outcome import Budget, Clock, Cuts, Outcome, finalize
from tclose.search.problem import SearchProblem, number_classes
from tclose.search.supersets import (
    Region,
    can_search_regions,
    list_partitions,
    name_regions,
    search_regions,
    settle_cuts,
    split_into_regions,
)

EFFORT = 20_000_000
"""Steps of work between two checks of the clock: well under a tenth of a second."""
STEP = 2.5e-9
"""Seconds of an ordinary core per step."""
JUDGED, JUDGED_CELL = 2e-3, 2e-7
"""Seconds of an ordinary core for the requirements to judge a cut: each, and per cell."""


def mondrian(
    problem: SearchProblem,
    budget: Budget,
    *,
    method: str = "mondrian",
    rule: Literal["gain", "median", "relaxed"] = "gain",
) -> Outcome:
    """Returns the classes cut by a rule: largest gain, median, or a median that divides codes."""
    clock = Clock(budget)
    tree = SplitTree(NodeWorkspace(problem.make_coded_table(ordered=False)), rule)
    if problem.constraints.uncompiled:
        split_by_requirements(tree, problem, clock)
    else:
        split_all(tree, clock)
    is_strict = rule != "relaxed"
    cuts = read_cuts(tree) if is_strict else None
    if problem.constraints.supersets and cuts is not None:
        return _name_supersets(problem, cuts, clock, method)
    return finalize(
        problem, tree.label, clock, method=method, uses_sensitive=not is_strict, cuts=cuts
    )


def _name_supersets(problem: SearchProblem, cuts: Cuts, clock: Clock, method: str) -> Outcome:
    """The better of cuts that end close to nodes above them, and of cuts within regions."""
    label, cuts, named = settle_cuts(problem, cuts)
    best, least = (label, named), problem.cost(label)
    found: Cuts | None = cuts
    if can_search_regions(problem):
        root = split_into_regions(problem, clock)

        def cut(part: SearchProblem, region: Region) -> Ints:
            tree = SplitTree(NodeWorkspace(part.make_coded_table(ordered=False)), "gain")
            split_all(tree, clock)
            return number_classes(tree.label)

        for regions in list_partitions(root):
            label = search_regions(problem, regions, cut)
            if (cost := problem.cost(label)) < least:
                best, least, found = (label, name_regions(problem, label, root)), cost, None
    return finalize(
        problem, best[0], clock, method=method, uses_sensitive=False, cuts=found, supersets=best[1]
    )


def split_all(tree: SplitTree, clock: Clock) -> None:
    """Splits until no allowed cut is left; nodes still waiting when time is up stay whole."""
    while tree.n_waiting > 0:
        if clock.is_over("cutting"):
            tree.close_all()
        else:
            clock.spend(STEP * tree.grow(EFFORT))


def split_by_requirements(tree: SplitTree, problem: SearchProblem, clock: Clock) -> None:
    """Splits like `split_all`, but judges every cut by requirements that cannot be compiled."""
    while tree.n_waiting > 0:
        chosen = _choose_cut(tree, tree.take_next(), problem, clock)
        if chosen is None:
            tree.close()
        else:
            tree.split(*chosen)


def _choose_cut(
    tree: SplitTree, cells: Ints, problem: SearchProblem, clock: Clock
) -> tuple[int, int] | None:
    """The best cut that every requirement accepts: a column, and where its left part ends."""
    step = "cutting, judged by the requirements"
    if clock.is_over(step):
        return None
    for column, where in tree.candidates():
        if clock.is_over(step):
            return None
        clock.spend(JUDGED + JUDGED_CELL * len(cells))
        codes = problem.codes[cells, column]
        place = (
            np.argsort(np.argsort(codes, kind="stable")) + 1 if tree.rule == "relaxed" else codes
        )
        goes_left = place <= where
        if not problem.breaks_uncompiled([cells[goes_left], cells[~goes_left]]):
            return column, where
    return None


def read_cuts(tree: SplitTree) -> Cuts:
    """The cuts as plain numbers, with classes numbered as the outcome numbers them."""
    number = np.zeros(tree.n_classes, dtype=np.int64)
    number[tree.label] = number_classes(tree.label)
    arrays = (tree.column, tree.code, tree.left, tree.right)
    return Cuts(*(tuple(each[: tree.n_nodes].tolist()) for each in arrays)).rename(number)
