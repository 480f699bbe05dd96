"""Published methods kept for comparison, **reconstructed** from their abstracts.

- `wang-cluster`, `wang-pca` (Wang et al. 2018): records are parted into K groups of nearly equal
  size that are alike in all sensitive attributes, fuzzy clusters by the distance sqrt(Σ_a d_a²) of
  sensitive values, or runs along the first principal component; a class takes one record of each.
  Ours are medoids in place of means (categories have none), and a category in the component
  analysis as its edges in the tree, which makes squared distances the ground distance.
- `gowda-frequency` (Gowda et al. 2021): the records of one sensitive attribute are stacked by
  value, the commonest first, and assigned to q classes in turn, here the most that are close.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tclose.arrays import Floats, Ints
from tclose.kernels.records.filling import allot_rows
from tclose.search.by_construction.construct import Construction
from tclose.search.by_construction.emd_bounds import EmdAttribute, EmdConstraints, make_emd_bounds
from tclose.search.by_construction.quotas import (
    assign_in_turn,
    count_most_classes,
    count_subset_rows,
    take_one_of_each,
)

Group = Callable[[Construction, int], Ints]

DOUBLINGS = 6
BUILDING = 0.5
SITES = 64
"""Combinations of values that may be the middle of a cluster."""
ROUNDS = 10
CLEAR = 1e-9
"""Components that differ by less are equal."""
SITE = 1e-8
"""Seconds of an ordinary core per combination of values and site, all rounds together."""


def build_groups(made: Construction, group: Group) -> None:
    """One near record from each of K groups (Wang et al.), K doubled while the loss falls."""
    rows, last = made.problem.n_rows, np.inf
    for turn in range(DOUBLINGS):
        groups = min(made.k << turn, rows)
        if turn > 0 and (made.clock.is_over("groups", BUILDING) or made.least >= last):
            return
        last = made.least
        reach = made.choose_reach(groups, BUILDING / DOUBLINGS)
        quotas = take_one_of_each(rows, groups)
        made.fill_from_buckets(f"{groups} groups", group(made, groups), quotas, reach)


def group_by_component(made: Construction, groups: int) -> Ints:
    """The group of each row: runs along the first principal component."""
    rank = np.unique(rank_along_component(made.closeness), return_inverse=True)[1]
    return made.assign_runs(rank, count_subset_rows(made.closeness.total, groups))


def rank_along_component(closeness: EmdConstraints) -> Ints:
    """The place of each tuple along the first principal component, in steps of `CLEAR`."""
    place = np.concatenate([find_coordinates(each) for each in closeness.attributes], axis=1)
    place -= closeness.rows @ place / closeness.total
    spread = (place * closeness.rows[:, None]).T @ place / closeness.total
    axis = np.linalg.eigh(spread)[1][:, -1]
    axis *= np.sign(axis[np.argmax(np.abs(axis))]) or 1.0
    along: Ints = np.rint(place @ axis / CLEAR).astype(np.int64)
    return along


def find_coordinates(attribute: EmdAttribute) -> Floats:
    """[tuples, dimensions]: the position on the line, or for each edge of the tree whether the
    value is below it. An edge of length l counts √l, so that squared distances are those of the
    tree.
    """
    if attribute.position is not None:
        return attribute.position[attribute.node][:, None]
    above = attribute.above[attribute.node, :-1]
    return np.where(above, np.sqrt(attribute.stretch[:-1]), 0.0)


def group_by_clusters(made: Construction, groups: int) -> Ints:
    """The group of each row: fuzzy clusters of equal size."""
    closeness = made.closeness
    order = np.lexsort([attribute.rank for attribute in closeness.attributes[::-1]])
    likeness = measure_memberships(closeness, order, groups)
    made.clock.spend(SITE * likeness.size * SITES)
    likeliest = np.argsort(-likeness, axis=None, kind="stable")
    parts = allot_rows(likeliest, closeness.rows, count_subset_rows(closeness.total, groups))
    bucket = np.repeat(np.tile(np.arange(groups), len(parts)), parts.ravel())
    return bucket[np.argsort(made.order_rows(np.arange(len(closeness.rows))))]


def measure_memberships(closeness: EmdConstraints, order: Ints, groups: int) -> Floats:
    """[tuples, groups]: how much each tuple belongs to each of the fuzzy clusters.

    Belonging falls with the square of the distance (fuzzifier 2); a cluster's middle is the site
    with the least sum of squared distances, weighted by squared belonging. Sites are at even steps
    through the rows along the `order` of the tuples.
    """
    ends, most = np.cumsum(closeness.rows[order]), max(SITES, groups)
    steps = np.searchsorted(ends, (np.arange(most) + 0.5) * ends[-1] / most)
    sites = order[np.unique(steps)]
    far: Floats = np.zeros((len(sites), len(order)))
    for attribute in closeness.attributes:
        far += np.square(measure_from_sites(attribute, sites))
    chosen = np.arange(groups) * len(sites) // groups
    for _ in range(ROUNDS):
        cost = (np.square(_share_membership(far[chosen])) * closeness.rows) @ far.T
        moved = np.argmin(cost, axis=1)
        if np.array_equal(moved, chosen):
            break
        chosen = moved
    return np.ascontiguousarray(_share_membership(far[chosen]).T)


def _share_membership(far: Floats) -> Floats:
    near = 1.0 / (far + CLEAR)
    share: Floats = near / near.sum(axis=0)
    return share


def measure_from_sites(attribute: EmdAttribute, sites: Ints) -> Floats:
    """[sites, tuples]: the ground distance of every tuple from some."""
    if attribute.position is not None:
        place = attribute.position[attribute.node]
        return np.abs(place[sites][:, None] - place)
    above, length = attribute.above, attribute.stretch * (attribute.parent >= 0)
    depth = above @ length
    shared = (above[attribute.node[sites]] * length) @ above.T
    far = depth[attribute.node[sites]][:, None] + depth - 2 * shared
    found: Floats = far[:, attribute.node]
    return found


def assign_by_frequency(made: Construction) -> None:
    """Records assigned by the frequency of their values."""
    closeness = made.closeness
    place = np.argsort(np.argsort(-closeness.rows, kind="stable"))
    rows = np.sort(closeness.rows)[::-1].copy()
    bounds = make_emd_bounds(closeness, place, [[np.arange(len(rows))]])
    quotas = assign_in_turn(rows, count_most_classes(rows, bounds, made.k))
    made.fill_from_fragments(f"{len(rows)} values", place, quotas, reach=1)
