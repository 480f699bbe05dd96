"""Fragmentation: sensitive values parted so that a class is close whatever records it takes, as
long as it takes the right number from every fragment.

A fragment fixes, for every sensitive attribute, a run of values (an interval of numbers or ranks,
nodes side by side in a hierarchy, a set of values for the equal distance). Starting from one
fragment of everything, the best fragment is cut in two along the best attribute until the bound

    X_a = Σ_F w_F · D(R_{F,a}) ≤ target_a        (w_F the fragment's share of the rows)

holds for every attribute a. By Theorem B (`emd_bounds`) X_a bounds the EMD of every class that
takes its records from the fragments in proportion. A class that is right on fragments is right on
every coarser partition, so each attribute keeps the least bound met on the way, and fragments with
the same ends are taken together. What is corrected in the published method for two numerical
attributes: `docs/mathematics.md` 3.5; `OWN_WIDTH` is the published bound, for comparison.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.search.by_construction.emd_bounds import (
    ROUNDING,
    EmdAttribute,
    EmdConstraints,
    make_cut_bounds,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

COMMON_WIDTH, OWN_WIDTH = range(2)
"""Distances as shares of the whole table's range, or of each fragment's own as in the thesis."""
MOST_CUTS = 128
"""Places at which a fragment's run of values is tried; of more values, those at even shares."""
MOST_FRAGMENTS, MOST_ROOM = 10_000, 20_000_000
"""Cutting ends with so many fragments, or so many entries of fragments × values, whatever the
bounds then are; they are computed as they are, so nothing rests on the targets being met."""


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
    closeness: EmdConstraints, target: Sequence[float], width: int = COMMON_WIDTH
) -> Fragmentation:
    """Cuts until every attribute's bound is within its target, best cut first.

    The best cut lowers Σ_a max(X_a − target_a, 0) most; of several, the one that lowers Σ_a X_a.
    """
    return _Cutting(closeness, np.array(target, dtype=np.float64), width).run()


class _Cutting:
    """One search for a fragmentation; a heap holds the best cut of every fragment."""

    def __init__(self, closeness: EmdConstraints, target: Floats, width: int) -> None:
        self.closeness, self.width = closeness, width
        self.limit = target * closeness.total
        self.cut_bounds = make_cut_bounds(closeness, own_width=width == OWN_WIDTH)
        self.nodes: list[_Node] = []
        every = np.arange(len(closeness.rows))
        spans = [[0, int(attribute.rank.max())] for attribute in closeness.attributes]
        self._add(every, np.array(spans, dtype=np.int64))
        self.bound = self.nodes[0].bound.copy()
        self.least, self.least_at = self.bound.copy(), np.zeros(len(self.bound), dtype=np.int64)
        self.cuts = 0
        nodes = sum(len(attribute.parent) for attribute in closeness.attributes)
        self.most = max(2, min(MOST_FRAGMENTS, MOST_ROOM // nodes))

    def run(self) -> Fragmentation:
        """Cuts the best fragment until all attributes are within their targets."""
        open_, heap = self._open(), self._heap(self._open())
        while open_.any() and heap and self.cuts < self.most - 1:
            _, _, at = heapq.heappop(heap)
            node = self.nodes[at]
            best = self._best(node, open_)[1]
            self._cut(at, best)
            for half in node.halves or ():
                self._push(heap, half, open_)
            if (now := self._open()).tolist() != open_.tolist():
                open_ = now
                heap = self._heap(open_)
        return self._finish()

    def _open(self) -> NDArray[np.bool_]:
        """Which attributes are still beyond their targets."""
        bound = self.least if self.width == COMMON_WIDTH else self.bound
        result: NDArray[np.bool_] = bound > self.limit + ROUNDING * self.closeness.total
        return result

    def _heap(self, open_: NDArray[np.bool_]) -> list[tuple[float, float, int]]:
        heap: list[tuple[float, float, int]] = []
        for at, node in enumerate(self.nodes):
            if node.halves is None:
                self._push(heap, at, open_)
        return heap

    def _push(
        self, heap: list[tuple[float, float, int]], at: int, open_: NDArray[np.bool_]
    ) -> None:
        node = self.nodes[at]
        if len(node.along):
            gain, best = self._best(node, open_)
            heapq.heappush(heap, (-gain, -float((node.bound - node.after[best]).sum()), at))

    def _best(self, node: _Node, open_: NDArray[np.bool_]) -> tuple[float, int]:
        """The cut that lowers the open bounds most; of several, the one that lowers all most."""
        saved = node.bound - node.after
        gain = np.minimum(saved[:, open_], (self.bound - self.limit)[open_]).sum(axis=1)
        best = np.lexsort((-saved.sum(axis=1), -gain))[0]
        return float(gain[best]), int(best)

    def _cut(self, at: int, cut: int) -> None:
        node = self.nodes[at]
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
            if self.width == COMMON_WIDTH:
                cuts = np.flatnonzero(np.diff(rank)) + 1
                if not attribute.is_along_lines:
                    cuts = _keep_between_siblings(attribute, order, cuts)
                cuts = _thin_out(cuts, rows[order])
                starts = rank[cuts]
            else:
                starts = np.arange(ends[a, 0] + 1, ends[a, 1] + 1)
                cuts = np.searchsorted(rank, starts)
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
        finest = np.arange(len(order))
        coarser = []
        for a, attribute in enumerate(self.closeness.attributes):
            earlier = self._ancestors(order, int(self.least_at[a]))
            different: dict[bytes, Ints] = {}
            for group in (finest, earlier, _group_alike(attribute, of_tuple)):
                different.setdefault(group.astype(np.int64).tobytes(), group)
            coarser.append(tuple(different.values()))
        bound = self.least if self.width == COMMON_WIDTH else self.bound
        attained = tuple((bound / self.closeness.total).tolist())
        return Fragmentation(of_tuple, rows.astype(np.int64), tuple(coarser), attained)

    def _ancestors(self, order: list[int], when: int) -> Ints:
        """For each fragment, what it was part of after so many cuts, numbered in order."""
        group = np.zeros(len(self.nodes), dtype=np.int64)
        for at, node in enumerate(self.nodes):
            for half in node.halves or ():
                group[half] = half if node.cut_at <= when else group[at]
        return np.unique(group[order], return_inverse=True)[1]


def _group_alike(attribute: EmdAttribute, fragment: Ints) -> Ints:
    """Fragments with the same lowest and highest value of an attribute as one group.

    Σ_F w_F·max(g_F − a, b − g_F) is at least the same of their union, whose mean is in between.
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
    top = attribute.find_meeting(node[:1], node[-1:])
    apart: Ints = cuts[attribute.find_meeting(node[cuts - 1], node[cuts]) == top]
    return apart


def _thin_out(places: Ints, rows: Ints) -> Ints:
    """Of too many places for a cut those at even shares of the rows."""
    if len(places) <= MOST_CUTS:
        return places
    share = np.cumsum(rows)[places - 1]
    wanted = np.linspace(share[0], share[-1], MOST_CUTS)
    return places[np.unique(np.searchsorted(share, wanted))]
