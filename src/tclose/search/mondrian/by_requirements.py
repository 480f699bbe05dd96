"""Cuts judged by the requirements themselves, for promises that cannot be compiled.

The compiled rules sort out what breaks the rest of the promise; of the cuts that are left, the best
that the requirements accept is taken. Each costs a full measurement, so time is the limit: a node
whose cuts could not all be judged in time is a class as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.kernels import compiling
from tclose.kernels.tables import VALUES, Tables
from tclose.search.budget import Clock
from tclose.search.exact_judge import Judge
from tclose.search.mondrian import cuts, growth, halves, sweep
from tclose.search.mondrian.cuts import GAIN, RELAXED
from tclose.search.mondrian.growth import Tree
from tclose.search.mondrian.sweep import LEFT, NEAR, RIGHT, TALLY, WHOLE, Work
from tclose.search.problem import Problem

Ints = NDArray[np.int64]
JUDGED, STEP = 2e-3, 2e-7
"""Seconds of an ordinary core to have a cut judged: each, and per cell."""
Choice = tuple[int, int]


def cut_by_requirements(
    problem: Problem, rule: int, tab: Tables, work: Work, tree: Tree, clock: Clock
) -> None:
    """Cuts until no allowed cut is left or time is up."""
    judge = Judge(problem)
    while tree.top[0] > 0:
        lo, hi, node, depth = (int(number) for number in tree.stack[growth.take(tree, work)])
        chosen = None
        if not clock.over("cutting, judged by the requirements"):
            chosen = _choose(judge, rule, lo, hi, depth, tab, work, tree, clock)
        if chosen is None:
            growth.close(node, lo, hi, tree)
            continue
        j, v = chosen
        border = _part(rule, lo, hi, j, v, tab, work, tree)
        growth.open_halves(node, lo, border, hi, j, v, depth, tree)


def _choose(
    judge: Judge, rule: int, lo: int, hi: int, depth: int,
    tab: Tables, work: Work, tree: Tree, clock: Clock,
) -> Choice | None:  # fmt: skip
    """The best cut of a node that every requirement accepts."""
    requirements = judge.problem.constraints.uncompiled
    for j, v in _candidates(rule, lo, hi, depth, tab, work, tree):
        if clock.over("cutting, judged by the requirements"):
            return None
        clock.spend(JUDGED + STEP * (hi - lo))
        cells = tree.ids[lo:hi]
        if rule == RELAXED:
            order = np.argsort(tab.codes[cells, j], kind="stable")
            low = np.zeros(len(cells), dtype=bool)
            low[order[:v]] = True
        else:
            low = tab.codes[cells, j] <= v
        if not judge.refuses([cells[low], cells[~low]], requirements):
            return j, v
    return None


def _candidates(
    rule: int, lo: int, hi: int, depth: int, tab: Tables, work: Work, tree: Tree
) -> list[Choice]:
    """The cuts that the compiled rules allow, best first (by loss saved, or widest column)."""
    most = int(tab.column[VALUES].sum())
    saved, column, where = np.empty(most), np.empty(most, np.int64), np.empty(most, np.int64)
    found = list_cuts(
        tree.ids, lo, hi, rule, depth, tab, work, saved, column, where
    )  # fmt: skip
    order = np.argsort(-saved[:found], kind="stable") if rule == GAIN else np.arange(found)
    return [(int(column[at]), int(where[at])) for at in order]


def _part(rule: int, lo: int, hi: int, j: int, v: int, tab: Tables, work: Work, tree: Tree) -> int:
    if rule == RELAXED:
        return int(growth.part_at(tree.ids, lo, hi, j, v, work))
    return int(growth.part(tree.ids, lo, hi, j, v, tab, work))


@compiling.entry
def list_cuts(
    ids: Any, lo: Any, hi: Any, rule: Any, depth: Any, tab: Any, work: Any,
    saved: Any, column: Any, where: Any,
) -> Any:  # fmt: skip
    """All cuts of a node that the compiled rules allow; returns how many."""
    size = halves.weigh(ids, lo, hi, tab, work.hist[WHOLE])
    if size < 2 * tab.rules.count[-1] or hi - lo < 2:
        return 0
    sweep.gather(ids, lo, hi, tab, work)
    sweep.set_bits(hi - lo, work)
    here = sweep.box(tab, work)
    halves.enter(size, depth, tab, work)
    found = 0
    j = cuts.next_widest(-1, tab.codes.shape[1], work)
    while j >= 0 and work.ranks[j] > 1:
        if not sweep.weigh_cuts(j, hi - lo, tab, work):
            j = cuts.next_widest(j, tab.codes.shape[1], work)
            continue
        sweep.line_up(j, hi - lo, work)
        work.hist[NEAR] = 0
        below, first = 0, 0
        middle, at = cuts.middle(ids, lo, hi, j, size, rule, tab, work)
        for v in range(work.ranks[j] - 1 if rule == GAIN else min(middle + 1, 1)):
            rank = v if rule == GAIN else middle
            end = work.tick[TALLY, v] if rule == GAIN else at
            below += halves.add_cells(first, end, ids, lo, tab, work)
            first = end
            if rule == GAIN and not cuts.along(j, v, rule, tab, work):
                continue
            if halves.both_kept(below, size, depth, tab, work):
                saved[found], column[found], where[found] = 0.0, j, end
                if rule != RELAXED:
                    saved[found] = size * here - below * work.loss[LEFT, rank]
                    saved[found] -= (size - below) * work.loss[RIGHT, rank + 1]
                    where[found] = work.code[j, rank]
                found += 1
        j = cuts.next_widest(j, tab.codes.shape[1], work)
    return found
