"""Fragments: sensitive values parted so that a class is close whatever records it takes, as long
as it takes the right number from every fragment.

A fragment fixes, for every sensitive attribute, a run of values (an interval of numbers or ranks,
nodes side by side in a hierarchy, a set of values for the equal distance). Starting from one
fragment of everything, the best fragment is cut in two along the best attribute until the bound

    X_a = Σ_F w_F · D(R_{F,a}) ≤ target_a        (w_F the fragment's share of the rows)

holds for every attribute a. By Theorem B (`emd_bounds`) X_a bounds the EMD of every class that
takes its records from the fragments in proportion. A class that is right on fragments is right on
every coarser partition, so each attribute keeps the least bound met on the way.

- `fragments` finds fragmentations that use up shares of t, assigns the rows of each to as many
  classes as Theorem B allows (`quotas`), and builds the most promising ones: many classes, few
  fragments (the fewer there are, the more records a class may choose from). `fragments-thesis` is
  as published.
- `sabre` (Cao, Karras, Kalnis and Tan 2011) has one attribute, whose fragments are its *buckets*;
  the vector of bucket sizes is halved as long as both halves are close whatever records they take.
  `sabre-curve` takes the next along a space-filling curve in every bucket, in O(n log n). SABRE is
  reconstructed from the method's idea; bounds and acceptance are ours, and proved.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tclose.arrays import Flags, Floats, Ints
from tclose.kernels.records.bounds import CutBounds
from tclose.search.by_construction.construct import Construction
from tclose.search.by_construction.emd_bounds import (
    ROUNDING,
    EmdAttribute,
    EmdBound,
    EmdConstraints,
    make_emd_bounds,
)
from tclose.search.by_construction.quotas import (
    Quotas,
    assign_in_turn,
    count_in_proportion,
    count_most_classes,
    halve_as_published,
    halve_rows,
)
from tclose.search.outcome import Clock

Plan = tuple["Fragmentation", Quotas]
Sizing = Callable[[Ints, Sequence[EmdBound], int], Quotas]
"""The quotas for the rows of fragments, within bounds, of at least so many rows a class."""

FRAGMENT_SHARES = (0.7, 0.5, 0.35, 0.8, 0.6, 0.45, 0.4, 0.3, 0.2, 0.9)
"""Shares of t that a fragmentation may use up, the likeliest first; the rest is for rounding."""
BUCKET_SHARES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
TRIALS = 3
PLANNING, BUILDING = 0.3, 0.6
"""The shares of the budget after which planning and building end; what is left goes into swaps."""
FREEDOM = 0.7
"""¾ or so was best on twelve policies."""
PLAN = 6e-7
"""Seconds of an ordinary core per fragment and combination of values, for one plan."""
MOST_CUTS = 128
"""Places at which a fragment's run of values is tried; of more values, those at even shares."""
MOST_FRAGMENTS, MOST_ROOM = 10_000, 20_000_000
"""Cutting ends with so many fragments, or so many entries of fragments × values, whatever the
bounds then are; they are computed as they are, so nothing rests on the targets being met."""


def build_fragments(made: Construction) -> None:
    """Fragments with the corrected bound; without polish, as published."""
    if not made.polish:
        return build_as_published(made)
    _build_plans(made, plan_fragments(made.closeness, made.k, clock=made.clock), "fragments")


def build_as_published(made: Construction) -> None:
    """Fragments with the published bound, in exact proportion."""
    limits = [attribute.t for attribute in made.closeness.attributes]
    found = cut_into_fragments(made.closeness, limits, own_width=True)
    quotas = assign_in_turn(found.rows, count_in_proportion(found.rows, (), made.k))
    reach = made.choose_reach(found.count, BUILDING)
    made.fill_from_fragments(f"{found.count} fragments", found.of_tuple, quotas, reach)


def build_buckets(made: Construction, *, along: bool = False) -> None:
    """Buckets of one attribute, halved; records nearest to each other, or next along the curve.
    Along the curve a class has no choice of records, so few buckets are worth nothing."""
    freedom = 0.0 if along else FREEDOM
    if not made.polish:
        plans = plan_fragments(made.closeness, made.k, (1.0,), halve_as_published)
        return _build_plans(made, plans, "buckets", reach=1 if along else None)
    plans = plan_fragments(made.closeness, made.k, BUCKET_SHARES, halve_rows, freedom=freedom)
    _build_plans(made, plans, "buckets", reach=1 if along else None)


def _assign_most(rows: Ints, bounds: Sequence[EmdBound], k: int) -> Quotas:
    return assign_in_turn(rows, count_most_classes(rows, bounds, k))


def plan_fragments(
    closeness: EmdConstraints,
    k: int,
    shares: Sequence[float] = FRAGMENT_SHARES,
    choose_sizes: Sizing = _assign_most,
    clock: Clock | None = None,
    freedom: float = FREEDOM,
) -> list[Plan]:
    """Fragmentations and the classes that each guarantees, the most promising first.

    `freedom` is how much few fragments count for against many classes: they leave a class more
    records to choose from. With a clock, as many as a share of the budget allows, and one at least.
    """
    plans: dict[bytes, Plan] = {}
    for share in shares:
        if plans and clock is not None and clock.is_over("planning", PLANNING):
            break
        targets = [share * attribute.t for attribute in closeness.attributes]
        found = cut_into_fragments(closeness, targets)
        bounds = make_emd_bounds(closeness, found.of_tuple, found.coarser)
        plans[found.of_tuple.tobytes()] = (found, choose_sizes(found.rows, bounds, k))
        if clock is not None:
            clock.spend(PLAN * found.count * len(closeness.rows))
    return sorted(plans.values(), key=lambda plan: -plan[1].classes / plan[0].count ** freedom)


def _build_plans(
    made: Construction, plans: list[Plan], what: str, reach: int | None = None
) -> None:
    for at, (found, quotas) in enumerate(plans[:TRIALS]):
        if at > 0 and made.clock.is_over(what, BUILDING):
            return
        looks = made.choose_reach(found.count, BUILDING / TRIALS) if reach is None else reach
        made.fill_from_fragments(f"{found.count} {what}", found.of_tuple, quotas, looks)


@dataclass(frozen=True)
class Fragmentation:
    """A partition of the tuples of sensitive values into fragments, numbered along the cuts."""

    of_tuple: Ints
    rows: Ints
    """[fragments]"""
    coarser: tuple[tuple[Ints, ...], ...]
    """For each attribute the partitions that bound it: the group of each fragment."""
    attained: tuple[float, ...]
    """For each attribute its bound for classes in proportion."""
    ends: Ints
    """[fragments, attributes, 2]: the first and the last rank of each attribute's run."""

    @property
    def count(self) -> int:
        """How many fragments there are."""
        return len(self.rows)


@dataclass
class _Node:
    """A fragment on the way: its tuples, and how each of its cuts would change the bounds."""

    tuples: Ints
    ends: Ints
    """[attributes, 2]: the run of ranks that it spans, for the published bound."""
    bound: Floats
    """[attributes]: its part of the bounds, in rows."""
    along: Ints
    border: Ints
    after: Floats
    """[cuts, attributes]: the parts of both halves together."""
    halves: tuple[int, int] | None = None
    cut_at: int = -1


def cut_into_fragments(
    closeness: EmdConstraints, target: Sequence[float], *, own_width: bool = False
) -> Fragmentation:
    """Cuts until every attribute's bound is within its target, best cut first.

    The best cut lowers Σ_a max(X_a − target_a, 0) most; of several, the one that lowers Σ_a X_a.
    Distances are shares of the whole table's range; with `own_width` of each fragment's own, as
    published for two numerical attributes, to compare (`mathematics.md` 3.5).
    """
    return _Cutting(closeness, np.array(target, dtype=np.float64), own_width).run()


class _Cutting:
    """One search for a fragmentation; a heap holds the best cut of every fragment."""

    def __init__(self, closeness: EmdConstraints, target: Floats, own_width: bool) -> None:
        self.closeness, self.own_width = closeness, own_width
        self.limit = target * closeness.total
        trees = closeness.attributes
        sizes = [len(tree.parent) for tree in trees]
        first = np.cumsum([0, *sizes]).astype(np.int64)
        self.cut_bounds = CutBounds(
            closeness.rows,
            np.stack([tree.node + at for tree, at in zip(trees, first[:-1], strict=True)]),
            first,
            np.concatenate([tree.parent + at for tree, at in zip(trees, first[:-1], strict=True)]),
            np.concatenate([tree.stretch for tree in trees]),
            np.concatenate([
                np.zeros(size) if tree.position is None else tree.position
                for tree, size in zip(trees, sizes, strict=True)
            ]),
            np.array([tree.position is not None for tree in trees], dtype=np.int8),
            own_width,
        )  # fmt: skip
        self.nodes: list[_Node] = []
        spans = np.array([[0, int(tree.rank.max())] for tree in trees], dtype=np.int64)
        self._add(np.arange(len(closeness.rows)), spans)
        self.bound = self.nodes[0].bound.copy()
        self.least, self.least_at = self.bound.copy(), np.zeros(len(self.bound), dtype=np.int64)
        self.cuts = 0
        self.most = max(2, min(MOST_FRAGMENTS, MOST_ROOM // sum(sizes)))
        self.heap: list[tuple[float, float, int]] = []

    @property
    def attained(self) -> Floats:
        """The bound of each attribute, in rows."""
        return self.bound if self.own_width else self.least

    def run(self) -> Fragmentation:
        """Cuts the best fragment until all attributes are within their targets."""
        beyond = np.zeros(len(self.limit), dtype=bool)
        while self.cuts < self.most - 1:
            now = self.attained > self.limit + ROUNDING * self.closeness.total
            if (now != beyond).any():  # other attributes to lower, other cuts that are best
                beyond, self.heap = now, []
                for at in range(len(self.nodes)):
                    self._push(at, beyond)
            if not beyond.any() or not self.heap:
                break
            node = self.nodes[heapq.heappop(self.heap)[-1]]
            self._cut(node, self._best(node, beyond)[1])
            for half in node.halves or ():
                self._push(half, beyond)
        return self._finish()

    def _push(self, at: int, beyond: Flags) -> None:
        node = self.nodes[at]
        if node.halves is None and len(node.along):
            gain, best = self._best(node, beyond)
            saved = float((node.bound - node.after[best]).sum())
            heapq.heappush(self.heap, (-gain, -saved, at))

    def _best(self, node: _Node, beyond: Flags) -> tuple[float, int]:
        """The cut that lowers the bounds beyond their targets most; of several, all bounds most."""
        saved = node.bound - node.after
        gain = np.minimum(saved[:, beyond], (self.bound - self.limit)[beyond]).sum(axis=1)
        best = np.lexsort((-saved.sum(axis=1), -gain))[0]
        return float(gain[best]), int(best)

    def _cut(self, node: _Node, cut: int) -> None:
        a, border = int(node.along[cut]), int(node.border[cut])
        rank = self.closeness.attributes[a].rank[node.tuples]
        node.halves = (len(self.nodes), len(self.nodes) + 1)
        self.cuts += 1
        node.cut_at = self.cuts
        for left in (True, False):
            ends = node.ends.copy()
            ends[a, 1 if left else 0] = border - 1 if left else border
            self._add(node.tuples[(rank < border) == left], ends)
        self.bound += self.nodes[-1].bound + self.nodes[-2].bound - node.bound
        fell = self.bound < self.least - ROUNDING
        self.least = np.where(fell, self.bound, self.least)
        self.least_at = np.where(fell, self.cuts, self.least_at)

    def _add(self, tuples: Ints, ends: Ints) -> None:
        rows, bound = self.closeness.rows, np.zeros(len(ends))
        along, border, after = [], [], []
        for a, attribute in enumerate(self.closeness.attributes):
            order = tuples[np.argsort(attribute.rank[tuples], kind="stable")]
            rank = attribute.rank[order]
            if self.own_width:
                starts = np.arange(ends[a, 0] + 1, ends[a, 1] + 1)
                cuts = np.searchsorted(rank, starts)
            else:
                cuts = np.flatnonzero(np.diff(rank)) + 1
                if not attribute.is_along_lines:
                    cuts = _keep_between_siblings(attribute, order, cuts)
                cuts = _thin_out(cuts, rows[order])
                starts = rank[cuts]
            found = self.cut_bounds.weigh(order, cuts, starts, a, ends)
            bound = found[0]
            along.append(np.full(len(cuts), a))
            border.append(starts)
            after.append(found[1:])
        joined = [np.concatenate(parts) for parts in (along, border, after)]
        self.nodes.append(_Node(tuples, ends, bound, joined[0], joined[1], joined[2]))

    def _finish(self) -> Fragmentation:
        order: list[int] = []
        todo = [0]
        while todo:
            at = todo.pop()
            halves = self.nodes[at].halves
            if halves is None:
                order.append(at)
            else:
                todo += [halves[1], halves[0]]
        of_tuple = np.zeros(len(self.closeness.rows), dtype=np.int64)
        for number, at in enumerate(order):
            of_tuple[self.nodes[at].tuples] = number
        rows = np.bincount(of_tuple, weights=self.closeness.rows, minlength=len(order))
        coarser = []
        for attribute, when in zip(self.closeness.attributes, self.least_at, strict=True):
            earlier, alike = self._ancestors(order, int(when)), _group_alike(attribute, of_tuple)
            different: dict[bytes, Ints] = {}
            for group in (np.arange(len(order)), earlier, alike):
                different.setdefault(group.tobytes(), group)
            coarser.append(tuple(different.values()))
        attained = tuple((self.attained / self.closeness.total).tolist())
        ends = np.stack([self.nodes[at].ends for at in order])
        return Fragmentation(of_tuple, rows.astype(np.int64), tuple(coarser), attained, ends)

    def _ancestors(self, order: list[int], when: int) -> Ints:
        """For each fragment, the number of the larger fragment that held it after so many cuts."""
        group = np.zeros(len(self.nodes), dtype=np.int64)
        for at, node in enumerate(self.nodes):
            for half in node.halves or ():
                group[half] = half if node.cut_at <= when else group[at]
        return np.unique(group[order], return_inverse=True)[1]


def _group_alike(attribute: EmdAttribute, fragment: Ints) -> Ints:
    """Groups fragments with equal lowest and highest values of an attribute. Σ_F w_F·max(g_F − a, b
    − g_F) is at least as large as that of their union, whose mean lies between theirs.
    """
    count = int(fragment.max()) + 1
    low, high = np.full(count, len(attribute.rank)), np.full(count, -1)
    np.minimum.at(low, fragment, attribute.rank)
    np.maximum.at(high, fragment, attribute.rank)
    return np.unique(low * (len(attribute.rank) + 1) + high, return_inverse=True)[1]


def _keep_between_siblings(attribute: EmdAttribute, order: Ints, cuts: Ints) -> Ints:
    """The cuts of a fragment of leaves that part children of their lowest common node.

    So fragments are nodes of a hierarchy, or siblings side by side; for the equal distance, where
    all values are siblings, any run of them, the commonest first.
    """
    node = attribute.node[order]
    top = _find_meeting(attribute.parent, node[:1], node[-1:])
    apart: Ints = cuts[_find_meeting(attribute.parent, node[cuts - 1], node[cuts]) == top]
    return apart


def _find_meeting(parent: Ints, first: Ints, second: Ints) -> Ints:
    """The lowest node above both of two nodes, pair by pair; children come before parents."""
    first, second = first.copy(), second.copy()
    while (apart := first != second).any():
        lower = apart & (first < second)
        higher = apart & ~lower
        first[lower], second[higher] = parent[first[lower]], parent[second[higher]]
    return first


def _thin_out(places: Ints, rows: Ints) -> Ints:
    """Reduces the positions for a cut, if too many, to those at even shares of the rows."""
    if len(places) <= MOST_CUTS:
        return places
    share = np.cumsum(rows)[places - 1]
    wanted = np.linspace(share[0], share[-1], MOST_CUTS)
    return places[np.unique(np.searchsorted(share, wanted))]
