"""Whole columns recoded less far by telling few sensitive values less precisely.

Levels that are finer than those of a full-domain search have classes that break the promise. Where
few values of these have to be masked, the finer levels may lose less than the masks cost. Nodes of
the lattice are tried in the order of the rows in classes that fail, beginning with the node that
was found, and every class is judged by the requirements with all masks in place.
"""

from __future__ import annotations

import heapq
from dataclasses import replace

import numpy as np

from tclose.arrays import Ints
from tclose.distance.histogram import group_codes
from tclose.search.full_domain.lattice import Ladder, Levels, ladders_of, lattice_of
from tclose.search.full_domain.measures import loss_of, measure_of
from tclose.search.local_search.masking import LOOK, Masking, MaskingSearch, find_cost
from tclose.search.outcome import Outcome, Trial
from tclose.search.problem import SearchProblem, number_classes

MOST_IDLE = 30
"""Nodes that are tried in turn without finding a better one."""


def mask_levels(
    problem: SearchProblem, outcome: Outcome, masking: Masking, effort: float
) -> Outcome:
    """The outcome at other levels with masked values, where these and the masks cost less."""
    assert outcome.levels is not None
    ladders = ladders_of(problem)
    lattice, measure = lattice_of(problem, ladders), measure_of(problem, ladders)
    best, least, spent, idle = outcome, outcome.cost, 0.0, 0
    waiting: list[tuple[int, Levels]] = [(0, outcome.levels)]
    seen = {outcome.levels}
    while waiting and spent < effort and idle < MOST_IDLE:
        _, node = heapq.heappop(waiting)
        idle += 1
        label = classify_cells(problem, ladders, node)
        search = MaskingSearch(problem, replace(outcome, label=label), masking, effort - spent, 1.0)
        masked = search.mask_failing() if measure.floor(node) < least else None
        spent += search.spent
        if masked is not None:
            value = measure.floor(node)
            cost = value + find_cost(problem, masked, masking)
            if cost < least:
                least, idle = cost, 0
                best = replace(
                    outcome, label=label, levels=node, loss=loss_of(problem, ladders).floor(node),
                    value=None if outcome.value is None else value, bound=None,
                    masked=masked if any(each.any() for each in masked.values()) else None,
                    tried=(*outcome.tried, Trial("sensitive values masked", value, search.seconds)),
                )  # fmt: skip
        for near in (*lattice.predecessors(node), *lattice.successors(node)):
            if near not in seen and measure.floor(near) < least and spent < effort:
                seen.add(near)
                spent += LOOK * problem.n_cells
                heapq.heappush(waiting, (_count_failing(problem, ladders, near), near))
    return best


def classify_cells(problem: SearchProblem, ladders: tuple[Ladder, ...], levels: Levels) -> Ints:
    """The class of each cell at some levels; none is left out."""
    pairs = zip(ladders, levels, problem.codes.T, strict=True)
    label, _ = group_codes([ladder.group[level][codes] for ladder, level, codes in pairs])
    return number_classes(label)


def _count_failing(problem: SearchProblem, ladders: tuple[Ladder, ...], levels: Levels) -> int:
    """The rows in classes that break the promise, classes that are too small counting double:
    masks do not help them."""
    label = classify_cells(problem, ladders, levels)
    size = np.bincount(label, problem.rows).astype(np.int64)
    fails = problem.find_failing(label)
    small = size < max(problem.constraints.k, 1)
    return int(size[fails].sum() + size[small].sum())
