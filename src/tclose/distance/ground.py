"""How far apart two sensitive values are: the ground distances, as exact whole numbers.

Ordered, numeric, equal and hierarchical distances are distances along a tree, so one formula and
one kernel serve them all (`docs/mathematics.md` 1.1: EMD = Σ_edges length · |P(below) − Q(below)|).
Anything else is a matrix. Every metric is scaled so that its diameter is 1.

A missing value that counts as a value of its own (`missing=True`: it gets the last code) hangs at
half the diameter from the middle of an order or from the root of a hierarchy: at least 1/2 from
every value, 1 from the extremes, and biased towards neither end.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.distance.histogram import Counts


@dataclass(frozen=True)
class Chains:
    """A tree that is a bundle of chains meeting at the root, edges numbered outer end first."""

    slot: NDArray[np.int64]
    """The edge just above each value; −1 for a value that sits at the root."""
    begin: NDArray[np.int64]
    """The outermost edge of each edge's chain."""
    end: NDArray[np.int64]
    """One past the last edge of each edge's chain."""
    node: NDArray[np.int64]
    """The node below each edge."""


@dataclass(frozen=True)
class TreeMetric:
    """Values hung on a tree; their distance is the length of the path between them.

    Nodes are numbered children before parents, the root last. `leaf[v]` is the node of value v,
    `length[node]` that of the edge to its parent, and a path of `diameter` has distance 1.

    >>> from tclose.distance import ordered
    >>> metric = ordered(4)
    >>> metric.between(0, 3), metric.between(1, 2)
    (Fraction(1, 1), Fraction(1, 3))
    """

    name: str
    leaf: NDArray[np.int64]
    parent: NDArray[np.int64]
    length: Counts
    diameter: int
    origin: tuple[int, ...] = ()
    """For each node, the hierarchy's node that it stands for (−1: none)."""

    @property
    def values(self) -> int:
        """How many values there are."""
        return len(self.leaf)

    @cached_property
    def span(self) -> int:
        """The length of all edges together."""
        return sum(int(length) for length in self.length)

    def between(self, one: int, other: int) -> Fraction:
        """The distance between two values."""
        a, b, walked = int(self.leaf[one]), int(self.leaf[other]), 0
        while a != b:
            if a < b:
                walked += int(self.length[a])
                a = int(self.parent[a])
            else:
                walked += int(self.length[b])
                b = int(self.parent[b])
        return Fraction(walked, self.diameter)

    def below(self, counts: Counts) -> Counts:
        """Rows below each node, for each row of a references × values table of counts."""
        result = np.zeros((len(counts), len(self.parent)), dtype=counts.dtype)
        np.add.at(result.T, self.leaf, counts.T)
        if (chains := self.chains) is not None:
            running = np.cumsum(result[:, chains.node], axis=1, dtype=counts.dtype)
            before = np.concatenate((np.zeros((len(counts), 1), counts.dtype), running), axis=1)
            result[:, chains.node] = running - before[:, chains.begin]
            result[:, -1] = counts.sum(axis=1)
            return result
        for node, parent in enumerate(self.parent[:-1]):
            result[:, parent] += result[:, node]
        return result

    @cached_property
    def chains(self) -> Chains | None:
        """The tree as chains meeting at the root, or None where it branches elsewhere."""
        root = len(self.parent) - 1
        children = np.bincount(self.parent[:-1], minlength=root + 1)
        if (children[:-1] > 1).any():
            return None
        node: list[int] = []
        bounds: list[tuple[int, int]] = []
        for tip in np.flatnonzero(children == 0):
            begin, at = len(node), int(tip)
            while at != root:
                node.append(at)
                at = int(self.parent[at])
            bounds.append((begin, len(node)))
        edge = np.full(root + 1, -1, dtype=np.int64)
        edge[node] = np.arange(len(node))
        begins, ends = np.array(bounds, dtype=np.int64).reshape(-1, 2).T
        width = ends - begins
        return Chains(
            edge[self.leaf],
            np.repeat(begins, width),
            np.repeat(ends, width),
            np.array(node, dtype=np.int64),
        )


@dataclass(frozen=True)
class MatrixMetric:
    """Distances between values given one by one; `cost / diameter` lies in [0, 1]."""

    name: str
    cost: Counts
    diameter: int

    @property
    def values(self) -> int:
        """How many values there are."""
        return len(self.cost)

    def between(self, one: int, other: int) -> Fraction:
        """The distance between two values."""
        return Fraction(int(self.cost[one, other]), self.diameter)


Metric = TreeMetric | MatrixMetric
