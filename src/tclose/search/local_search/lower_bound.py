"""A loss that no partition of the cells can be below, proved row by row.

Let S be a class with a row x. In every column S loses at least what x and any other of its rows
lose together, so over all columns it loses at least d(x, y), the sum of those, for each y in S. Let
B be the rows up to a distance r from x. Where B has fewer rows than a class must have, S has one
beyond. The same where no distribution on the values in B is within t of the table's: moving every
value of the table to the nearest in B is the least work for any of them, Σ p(v) · dist(v, B).

So x loses at least the smallest r at which neither holds, and the table at least the mean over
rows. The bound is weak: it asks each row for its own best class, and not that these are disjoint.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tclose.arrays import Ints
from tclose.requirements.constraint import ConstraintKind
from tclose.search.problem import SearchProblem

Floats = NDArray[np.float64]
BLOCK = 4_000_000
"""Distances that are held at a time."""
PAIR = 1e-8
"""Seconds of an ordinary core per pair of cells and column."""
MANY_VALUES = 200
"""Values of a sensitive attribute, or codes of a column, beyond which it is left out of account."""
ROUNDING = 1e-9


def estimate_work(problem: SearchProblem) -> float:
    """Seconds of an ordinary core that the bound takes."""
    return PAIR * problem.n_cells**2 * (len(problem.columns) + 4)


def bound_loss(problem: SearchProblem) -> float:
    """A cost (`SearchProblem.cost`) that no partition without suppressed rows can be below."""
    if problem.n_cells == 0 or not problem.columns:
        return 0.0
    pairs = [_pair_losses(problem, at) for at in range(len(problem.columns))]
    coverages = list(_list_coverages(problem))
    least_rows, total = max(problem.constraints.k, 1), 0.0
    step = max(BLOCK // problem.n_cells, 1)
    for first in range(0, problem.n_cells, step):
        cells = np.arange(first, min(first + step, problem.n_cells))
        distance = np.zeros((len(cells), problem.n_cells))
        for at, pair in enumerate(pairs):
            if pair is not None:
                codes = problem.codes[:, at]
                distance += pair[codes[cells]][:, codes]
        radius = _reach_rows(distance, problem.rows, least_rows)
        for values, share, ground, t in coverages:
            radius = np.maximum(radius, _reach_values(distance, values, share, ground, t))
        total += float(problem.rows[cells] @ radius)
    bound = total / (problem.n_rows * len(problem.columns))
    return max(bound - ROUNDING, 0.0)


def _pair_losses(problem: SearchProblem, at: int) -> Floats | None:
    """[code, code]: the loss of a column if two values are released together."""
    column, weight = problem.columns[at], float(problem.weights[at])
    if column.values > 10 * MANY_VALUES:
        return None
    low, high = np.sort(np.indices((column.values, column.values)).reshape(2, -1), axis=0)
    if column.kind == "set":
        lost = np.where(low == high, 0.0, column.of_sets(np.full(len(low), 2)))
    else:
        lost = np.where(low == high, 0.0, column.between(low, high))
    return weight * lost.reshape(column.values, column.values)


def _list_coverages(problem: SearchProblem) -> Iterator[tuple[Ints, Floats, Floats, float]]:
    """For each promise of closeness that can be judged by it: the value of each cell, the table's
    distribution, the ground distance of two values, and t."""
    made = problem.constraints
    for constraint in made.compiled:
        field = made.fields[constraint.field]
        if constraint.kind != ConstraintKind.EMD or constraint.metric is None:
            continue
        if field.hides or field.mass is not None or field.whole is not None:
            continue
        if made.supersets or field.values > MANY_VALUES:
            continue
        share = np.bincount(field.codes, problem.rows, field.values) / problem.n_rows
        metric = constraint.metric
        length = np.array([float(edge) for edge in metric.length])
        ground = _measure_ground(metric.parent, length, metric.leaf) / float(metric.diameter)
        yield field.codes, share, ground, float(constraint.threshold)


def _measure_ground(parent: Ints, length: Floats, leaf: Ints) -> Floats:
    """[value, value]: the length of the path between two leaves of a tree."""
    above = np.zeros((len(leaf), len(parent)))
    for value, node in enumerate(leaf.tolist()):
        while node >= 0:
            above[value, node] = length[node]
            node = int(parent[node])
    return np.array([np.abs(above - row).sum(axis=1) for row in above])


def _reach_rows(distance: Floats, rows: Ints, least: int) -> Floats:
    """By row of distances: the smallest radius with so many rows."""
    order = np.argsort(distance, axis=1, kind="stable")
    enough = np.argmax(np.cumsum(rows[order], axis=1) >= least, axis=1)
    at = np.arange(len(distance))
    radius: Floats = distance[at, order[at, enough]]
    return radius


def _reach_values(
    distance: Floats, values: Ints, share: Floats, ground: Floats, t: float
) -> Floats:
    """By row of distances: the smallest radius whose values allow a distribution within t."""
    nearest = np.full((len(distance), len(share)), np.inf)
    for value in np.unique(values):
        nearest[:, value] = distance[:, values == value].min(axis=1)
    order = np.argsort(nearest, axis=1, kind="stable")
    at = np.arange(len(distance))
    to_go = np.full_like(nearest, np.inf)
    radius, is_open = np.zeros(len(distance)), np.ones(len(distance), dtype=bool)
    for turn in range(len(share)):
        value = order[:, turn]
        is_open &= np.isfinite(nearest[at, value])
        to_go = np.minimum(to_go, ground[value])
        radius = np.where(is_open, nearest[at, value], radius)
        is_open &= to_go @ share > t + ROUNDING
        if not is_open.any():
            break
    return radius
