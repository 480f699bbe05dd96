"""Ground distances: how far apart two sensitive values are, in exact whole numbers.

Ordered, numeric, equal and hierarchical distances are distances along a tree, so one formula and
one kernel compute them all (`mathematics.md` 1.1: EMD = Σ_edges length · |P(below) − Q(below)|).
Any other distance is a matrix. Every metric is scaled so that its diameter is 1.

A missing value that counts as a value of its own (`missing=True`: it has the last code) is attached
at half the diameter to the middle of an order or to the root of a hierarchy: its distance is at
least 1/2 to every value, 1 to the extremes, and does not favour either end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tclose.arrays import Ints
from tclose.distance.histogram import Counts, whole
from tclose.distance.numbers import to_integers
from tclose.errors import UsageError

if TYPE_CHECKING:
    from tclose.distance.emd import Distance
    from tclose.distance.registry import Attribute, DistanceSpec

LARGEST_MATRIX = 2000


@dataclass(frozen=True)
class Chains:
    """A tree that consists of chains meeting at the root; edges are numbered from the outer end."""

    slot: Ints
    """[values]: the edge just above the value; −1 for a value at the root."""
    begin: Ints
    """[edges]: the outermost edge of the edge's chain."""
    end: Ints
    """[edges]: one past the last edge of the edge's chain."""
    node: Ints
    """[edges]: the node below the edge."""


@dataclass(frozen=True)
class TreeMetric:
    """Values attached to a tree; their distance is the length of the path between them.

    Nodes are numbered children before parents, the root last. `leaf[v]` is the node of value v,
    `length[node]` is the length of the edge to its parent; a path of length `diameter` has distance
    1.

    >>> from tclose.distance.ground import ordinal
    >>> metric = ordinal(4)
    >>> metric.between(0, 3), metric.between(1, 2)
    (Fraction(1, 1), Fraction(1, 3))
    """

    name: str
    leaf: Ints
    parent: Ints
    length: Counts
    diameter: int
    origin: tuple[int, ...] = ()
    """[nodes]: the hierarchy's node that it stands for; −1 for none."""

    @property
    def values(self) -> int:
        """The number of values."""
        return len(self.leaf)

    @cached_property
    def span(self) -> int:
        """The total length of all edges."""
        return sum(int(length) for length in self.length)

    def between(self, one: int, other: int) -> Fraction:
        """Returns the distance between two values."""
        low, high, walked = int(self.leaf[one]), int(self.leaf[other]), 0
        if (chains := self.chains) is not None:
            first, second = int(chains.slot[one]), int(chains.slot[other])
            here, there = self._to_root[low], self._to_root[high]
            if min(first, second) >= 0 and chains.begin[first] == chains.begin[second]:
                return Fraction(abs(here - there), self.diameter)
            return Fraction(here + there if low != high else 0, self.diameter)
        while low != high:
            low, high = min(low, high), max(low, high)
            walked += int(self.length[low])
            low = int(self.parent[low])
        return Fraction(walked, self.diameter)

    @cached_property
    def _to_root(self) -> list[int]:
        """[nodes]: the length of the path to the root."""
        paths = [0] * len(self.parent)
        for node in range(len(paths) - 2, -1, -1):
            paths[node] = paths[int(self.parent[node])] + int(self.length[node])
        return paths

    def below(self, counts: Counts) -> Counts:
        """Counts the rows below each node, for every row of a [references, values] table."""
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
        """The tree as chains that meet at the root; None if it branches elsewhere."""
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
    """Distances between values, given pair by pair; `cost / diameter` lies in [0, 1]."""

    name: str
    cost: Counts
    diameter: int

    @property
    def values(self) -> int:
        """The number of values."""
        return len(self.cost)

    def between(self, one: int, other: int) -> Fraction:
        """Returns the distance between two values."""
        return Fraction(int(self.cost[one, other]), self.diameter)


Metric = TreeMetric | MatrixMetric


@dataclass(frozen=True)
class DistanceKind:
    """The properties of one distance that policies, columns and reports use."""

    name: str
    """The name in a policy."""
    phrase: str
    """How it counts, in words for people."""
    suits: str
    """What it is suited for, in words for people."""
    ground: Callable[[Attribute], Metric] | None = None
    """Makes the ground distance, for an earth mover's distance that needs no options."""
    other: Callable[[Attribute, DistanceSpec], tuple[Distance, tuple[str, ...]]] | None = None
    """Makes any other distance, with notes on how it was made."""
    lack: Callable[[Attribute], str] = lambda values: ""
    """Says why values cannot have this distance; empty if they can."""
    hint: str = ""
    """How to make it possible, or what to use instead."""
    kernel: str = ""
    """The name of its kernel, if there is one and it is not a distance along a tree."""
    bounded: bool = True
    """Whether it lies in [0, 1]."""
    in_bits: bool = False
    on_a_line: bool = False
    knows_groups: bool = False
    """Whether a group of the hierarchy can count as a value beside its members."""
    options: frozenset[str] = frozenset()
    """The policy keys that only this distance has."""
    main_option: str = ""
    """The option that it requires; `{ name = value }` is short for giving it."""
    misuse: str = ""
    """The message if options are given to another distance, or the main option is missing."""


def refuse_large(values: Attribute, name: str) -> None:
    """Raises UsageError if there are too many values for a table of all pairs."""
    if values.values > LARGEST_MATRIX:
        raise UsageError(
            f"{values.values:,} values are too many for {name} (at most {LARGEST_MATRIX:,})",
            where=f"column {values.name!r}",
            hint="group the values, or use ordered or numeric",
        )


def equal(values: int) -> TreeMetric:
    """Returns distance 1 between any two values: a star with edges of length ½ (variational).

    >>> equal(3).between(0, 2)
    Fraction(1, 1)
    """
    parent = np.array([values] * values + [-1], dtype=np.int64)
    return TreeMetric("equal", np.arange(values), parent, whole([1] * values + [0]), 2)


def ordinal(values: int, *, missing: bool = False) -> TreeMetric:
    """Returns the rank distance |i − j| / (m − 1) (Li 2007, section 5.1).

    >>> ordinal(3, missing=True).between(0, 2)
    Fraction(1, 1)
    """
    return _hang_on_line("ordered", range(values - missing), missing)


def numeric(positions: Sequence[Fraction], *, missing: bool = False) -> TreeMetric:
    """Returns the distance |x − y| / range between the numbers themselves, which must ascend.

    >>> numeric([Fraction(0), Fraction(1), Fraction(10)]).between(0, 1)
    Fraction(1, 10)
    """
    return _hang_on_line("numeric", to_integers(positions)[0], missing)


def _hang_on_line(name: str, places: Sequence[int], missing: bool) -> TreeMetric:
    """Puts values along a line; a missing value is attached to its middle, half a diameter away."""
    wide = places[-1] - places[0] if places else 0
    if not missing:
        steps = [after - before for before, after in pairwise(places)]
        parent = np.array([*range(1, len(places)), -1], dtype=np.int64)
        return TreeMetric(name, np.arange(len(places)), parent, whole([*steps, 0]), max(wide, 1))
    if len(places) < 2:
        return replace(equal(len(places) + 1), name=name)
    return _hang_on_middle(name, [2 * (place - places[0]) for place in places], wide)


def _hang_on_middle(name: str, places: list[int], middle: int) -> TreeMetric:
    """Attaches both halves of a line of length 2·middle, and the missing value, to its middle."""
    known = len(places)
    left = [at for at in range(known) if places[at] < middle]
    right = [at for at in reversed(range(known)) if places[at] > middle]
    centre = [at for at in range(known) if places[at] == middle]
    order = [*left, *right, *centre, known]
    root = len(order)
    parent = np.arange(1, root + 2, dtype=np.int64)
    parent[[len(left) - 1, len(left) + len(right) - 1, *range(len(left) + len(right), root)]] = root
    parent[root] = -1
    place = np.array([places[at] if at < known else 2 * middle for at in [*order, known]], object)
    place[root] = middle
    length = abs(place[parent] - place)
    length[root] = 0
    leaf = np.empty(known + 1, dtype=np.int64)
    leaf[order] = np.arange(root)
    return TreeMetric(name, leaf, parent, whole(length), 2 * middle)


def hierarchical(
    parent: Sequence[int], height: Sequence[int], leaf: Sequence[int], *, missing: bool = False
) -> TreeMetric:
    """Returns the height of the lowest common ancestor over that of the tree (Li 2007, 5.2).

    `parent` and `height` describe the tree's nodes (the root's parent is −1); `leaf` is the node of
    each value. An edge to the parent has half the difference of their heights as its length.

    >>> tree = hierarchical([2, 2, 4, 4, -1], [0, 0, 1, 0, 2], [0, 1, 3])
    >>> tree.between(0, 1), tree.between(0, 2)
    (Fraction(1, 2), Fraction(1, 1))

    A value that is an inner node N (a generalized value) becomes an additional leaf below N, as far
    from every other value as the farthest value it can stand for (`mathematics.md` 1.1).

    >>> hierarchical([2, 2, 4, 4, -1], [0, 0, 1, 0, 2], [0, 3, 2]).between(0, 2)
    Fraction(1, 2)
    """
    nodes = sorted(range(len(parent)), key=lambda node: (height[node], node))
    root = nodes[-1]
    inner = [node for node in leaf if height[node] > 0]
    above = [*([root] if missing else []), *inner]
    place = {node: at + len(above) for at, node in enumerate(nodes)}
    up = [place[node] for node in above]
    up += [place[parent[node]] if node != root else -1 for node in nodes]
    step = [max(height[node], 1) for node in above]
    step += [height[parent[node]] - height[node] if node != root else 0 for node in nodes]
    tips = iter(range(int(missing), len(above)))
    spot = [next(tips) if height[node] > 0 else place[node] for node in leaf]
    if missing:
        spot.append(0)
    return TreeMetric(
        "hierarchical",
        np.array(spot, dtype=np.int64),
        np.array(up, dtype=np.int64),
        whole(step),
        2 * max(height[root], 1),
        (*([-1] * len(above)), *nodes),
    )


def _make_hierarchical(values: Attribute) -> Metric:
    tree = values.hierarchy
    assert tree is not None
    known = values.labels[: values.values - values.with_missing]
    leaf = [int(node) for node in tree.indices(known)]
    parent, height = tree.parent.tolist(), tree.height.tolist()
    return hierarchical(parent, height, leaf, missing=values.with_missing)


REPEATS = "some of its values are one number or date, written in several ways (such as 5 and 5.0)"


def _lack_positions(values: Attribute) -> str:
    if values.has_declared_order:
        return "its order is given by hand, so its values have no positions"
    if values.repeats:
        return REPEATS
    return "" if values.positions is not None else "its values are neither numbers nor dates"


def _lack_order(values: Attribute) -> str:
    if values.has_order:
        return ""
    if values.repeats:
        return REPEATS
    return "its values are neither numbers nor dates and have no declared order"


EQUAL = DistanceKind(
    "equal",
    "counting any two different values as equally far",
    "values without order or groups; a rise in a value's share counts the same at any level",
    ground=lambda values: equal(values.values),
    knows_groups=True,
)
ORDERED = DistanceKind(
    "ordered",
    "counting neighbouring values as near",
    "values with an order, where only their ranks mean something",
    ground=lambda values: ordinal(values.values, missing=values.with_missing),
    lack=_lack_order,
    hint=", or declare order = [lowest, …, highest]",
    on_a_line=True,
)
NUMERIC = DistanceKind(
    "numeric",
    "counting by how far numbers are apart",
    "numbers, where 10 and 20 are as far apart as 1 000 010 and 1 000 020",
    ground=lambda values: numeric(values.positions or (), missing=values.with_missing),
    lack=_lack_positions,
    on_a_line=True,
)
HIERARCHICAL = DistanceKind(
    "hierarchical",
    "counting values of one group as near",
    "values in groups, such as diagnoses: those of one group are near",
    ground=_make_hierarchical,
    lack=lambda values: "" if values.hierarchy is not None else "it has no hierarchy",
    knows_groups=True,
)
