"""The immutable generalization tree: every label, what stands above it, and how high it stands.

Nodes are numbered so that arithmetic replaces searching: leaves first, in depth-first order (the
leaves of any node are one contiguous range), then inner nodes by height, the root last. A parent's
number is therefore always larger than its child's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.errors import HierarchyError
from tclose.hierarchy.chains import link
from tclose.hierarchy.place import place

Nodes = NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy:
    """A generalization tree over the labels of one column.

    `labels[i]` is node i; `parent[i]` is the node above it (-1 for the root); `height[i]` is 0 for
    a leaf and the longest way down to a leaf for an inner node. Node N stands for its leaves on the
    levels height(N) .. height(parent(N)) - 1, so levels are well defined in unbalanced trees too.

    >>> rows = [["cat", "animal", "*"], ["dog", "animal", "*"], ["oak", "*"]]
    >>> kinds = Hierarchy.from_chains(rows, "kind")
    >>> kinds
    Hierarchy(column='kind', leaves=3, levels=3)
    >>> kinds.labels
    ('cat', 'dog', 'oak', 'animal', '*')
    >>> kinds.parent.tolist(), kinds.height.tolist()
    ([3, 3, 4, 4, -1], [0, 0, 0, 1, 2])
    """

    labels: tuple[str, ...]
    parent: Nodes
    height: Nodes
    column: str

    def __post_init__(self) -> None:
        """Freeze the arrays and check that they describe one tree in the promised order."""
        object.__setattr__(self, "labels", tuple(self.labels))
        object.__setattr__(self, "parent", _frozen(np.array(self.parent, dtype=np.int32)))
        object.__setattr__(self, "height", _frozen(np.array(self.height, dtype=np.int32)))
        if not _is_ordered_tree(self.parent, self.height, len(self.labels)):
            raise HierarchyError(
                "parents and heights do not describe one tree in depth-first order",
                where=place(self.column),
                hint="build it with Hierarchy.from_chains",
            )
        if len(self._numbers) != len(self.labels):
            raise HierarchyError("two nodes have the same label", where=place(self.column))

    @classmethod
    def from_chains(
        cls,
        chains: Iterable[Sequence[str]],
        column: str,
        *,
        lines: Iterable[int] | None = None,
    ) -> Hierarchy:
        """Build the tree from rows that lead from a value to the root.

        Equal neighbours in a row are padding; rows may differ in length. Groups and leaves keep
        the order in which they first appear, the leaves of a group side by side. `lines` are the
        line numbers to name in errors, 1, 2, 3 … unless given.

        >>> rows = [["1", "odd", "*"], ["2", "even", "*"], ["3", "odd", "*"]]
        >>> Hierarchy.from_chains(rows, "n").leaves
        ('1', '3', '2')
        """
        links = link(chains, column, lines)
        labels, parent, height = _arranged(links.parent, links.root)
        return cls(labels, parent, height, column)

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {label: node for node, label in enumerate(self.labels)}

    @cached_property
    def _spans(self) -> tuple[Nodes, Nodes]:
        """The first leaf below each node, and how many leaves there are."""
        first = np.zeros(len(self.labels), dtype=np.int32)
        size = np.zeros(len(self.labels), dtype=np.int32)
        for nodes in self.ancestors.T:
            starts = _starts(nodes)
            first[nodes[starts]] = starts
            size[nodes[starts]] = np.diff(starts, append=len(nodes))
        return _frozen(first), _frozen(size)

    @property
    def leaf_count(self) -> int:
        """How many leaves there are; they are the nodes 0 .. leaf_count - 1.

        >>> Hierarchy.from_chains([["cat", "*"], ["dog", "*"]], "kind").leaf_count
        2
        """
        return int(np.count_nonzero(self.height == 0))

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The labels of the leaves, in the order of their node numbers.

        >>> Hierarchy.from_chains([["cat", "*"], ["dog", "*"]], "kind").leaves
        ('cat', 'dog')
        """
        return self.labels[: self.leaf_count]

    @property
    def root(self) -> int:
        """The node above all others: the last one.

        >>> Hierarchy.from_chains([["cat", "*"], ["dog", "*"]], "kind").root
        2
        """
        return len(self.labels) - 1

    @property
    def levels(self) -> int:
        """How many levels of detail there are: 0 is the value itself, levels - 1 the root.

        >>> Hierarchy.from_chains([["cat", "*"], ["dog", "*"]], "kind").levels
        2
        """
        return int(self.height[-1]) + 1

    @property
    def size_below(self) -> Nodes:
        """How many leaves each node stands for (1 for a leaf).

        >>> Hierarchy.from_chains([["cat", "*"], ["dog", "*"]], "kind").size_below.tolist()
        [1, 1, 2]
        """
        return self._spans[1]

    @property
    def first_below(self) -> Nodes:
        """The first leaf below each node; the others follow it without a gap.

        >>> Hierarchy.from_chains([["cat", "*"], ["dog", "*"]], "kind").first_below.tolist()
        [0, 1, 0]
        """
        return self._spans[0]

    @cached_property
    def ancestors(self) -> Nodes:
        """Entry [leaf, level] is the highest ancestor of the leaf whose height is at most level.

        Heights grow strictly on the way up, so going one level higher climbs at most one edge.

        >>> Hierarchy.from_chains([["cat", "animal", "*"], ["oak", "*"]], "kind").ancestors.tolist()
        [[0, 2, 3], [1, 1, 3]]
        """
        return _ancestors(self.parent, self.height)

    def contains(self, label: str) -> bool:
        """Whether the label is a node of the tree, leaf or not.

        >>> Hierarchy.from_chains([["cat", "*"]], "kind").contains("dog")
        False
        """
        return label in self._numbers

    def index(self, label: str) -> int:
        """The node of a label.

        >>> Hierarchy.from_chains([["cat", "*"], ["dog", "*"]], "kind").index("dog")
        1
        """
        return int(self.indices([label])[0])

    def indices(self, labels: Iterable[str]) -> Nodes:
        """The nodes of many labels; the refusal counts the unknown ones and does not show them.

        >>> kinds = Hierarchy.from_chains([["cat", "*"], ["dog", "*"]], "kind")
        >>> kinds.indices(["*", "cat"]).tolist()
        [2, 0]
        """
        nodes = np.array([self._numbers.get(label, -1) for label in labels], dtype=np.int32)
        missing = int(np.count_nonzero(nodes < 0))
        if missing:
            raise HierarchyError(
                f"{missing} of {len(nodes)} values are not in the hierarchy",
                where=place(self.column),
                hint="add a row for each of them; blanks and spelling count",
            )
        return nodes

    def node_at(self, label: str, level: int) -> int:
        """The node that stands for a label, leaf or not, on a level.

        A label that stands higher than the level already is left as it is.

        >>> kinds = Hierarchy.from_chains([["cat", "animal", "*"], ["oak", "*"]], "kind")
        >>> kinds.node_at("cat", 1), kinds.node_at("oak", 1), kinds.node_at("animal", 0)
        (2, 1, 2)
        """
        if not 0 <= level < self.levels:
            raise HierarchyError(
                f"there is no level {level}",
                where=place(self.column),
                hint=f"levels go from 0 (the value itself) to {self.levels - 1} (the root)",
            )
        return self._climb(self.index(label), lambda node: int(self.height[node]) <= level)

    def generalize(self, label: str, level: int) -> str:
        """What a label becomes on a level.

        >>> kinds = Hierarchy.from_chains([["cat", "animal", "*"], ["oak", "*"]], "kind")
        >>> kinds.generalize("cat", 1)
        'animal'
        """
        return self.labels[self.node_at(label, level)]

    def _climb(self, node: int, allowed: Callable[[int], bool]) -> int:
        """The highest node above `node` that is reached over allowed nodes only."""
        above = int(self.parent[node])
        while above >= 0 and allowed(above):
            node, above = above, int(self.parent[above])
        return node

    def leaves_below(self, node: int) -> Nodes:
        """The leaves of a node, a contiguous range of node numbers.

        >>> rows = [["cat", "animal", "*"], ["oak", "*"], ["dog", "animal", "*"]]
        >>> Hierarchy.from_chains(rows, "kind").leaves_below(3).tolist()
        [0, 1]
        """
        self._check_nodes(np.array([node]))
        first, size = self._spans
        return np.arange(first[node], first[node] + size[node], dtype=np.int32)

    def children(self, node: int) -> Nodes:
        """The nodes right below a node, in the order of their leaves.

        >>> kinds = Hierarchy.from_chains([["cat", "animal", "*"], ["oak", "*"]], "kind")
        >>> kinds.children(3).tolist()
        [2, 1]
        """
        self._check_nodes(np.array([node]))
        below = np.flatnonzero(self.parent == node).astype(np.int32)
        return below[np.argsort(self._spans[0][below], kind="stable")]

    def lca(self, nodes: Sequence[int] | Nodes) -> int:
        """The lowest node that stands above all the given ones (or is one of them).

        Climb from the highest given node, A, to the first node N whose leaves include all leaves
        below the given nodes. A given node X then lies below N or is N: it shares leaves with N, so
        otherwise it would be a proper ancestor of N, higher than N and thus than A.

        >>> rows = [["cat", "animal", "*"], ["dog", "animal", "*"], ["oak", "*"]]
        >>> Hierarchy.from_chains(rows, "kind").lca([0, 1])
        3
        """
        given = np.asarray(nodes, dtype=np.int64)
        self._check_nodes(given)
        first, size = self._spans
        low, high = int(first[given].min()), int((first[given] + size[given]).max())
        node = int(given.max())  # a larger number is never lower, see the module's first lines
        while not (first[node] <= low and high <= first[node] + size[node]):
            node = int(self.parent[node])
        return node

    def _check_nodes(self, nodes: NDArray[Any]) -> None:
        if nodes.size == 0:
            raise HierarchyError("no nodes were given", where=place(self.column))
        if nodes.min() < 0 or nodes.max() > self.root:
            raise HierarchyError(
                "there is no such node",
                where=place(self.column),
                hint=f"nodes go from 0 to {self.root}",
            )

    def lca_of_labels(self, labels: Iterable[str]) -> str:
        """The label of the lowest node that stands above all the given labels.

        >>> rows = [["cat", "animal", "*"], ["dog", "animal", "*"], ["oak", "*"]]
        >>> Hierarchy.from_chains(rows, "kind").lca_of_labels(["cat", "dog"])
        'animal'
        """
        return self.labels[self.lca(self.indices(labels))]

    def lca_of_ranges(self, low: NDArray[Any], high: NDArray[Any]) -> Nodes:
        """The lowest common ancestors of many sets of leaves, each given by its two outermost.

        Leaves are in depth-first order, so whatever stands above the first and the last leaf of a
        set stands above all in between. On the level of the ancestor's own height both ends are
        that ancestor; on a lower level they differ, or a lower node would be common to both.

        >>> rows = [["cat", "animal", "*"], ["dog", "animal", "*"], ["oak", "*"]]
        >>> tree = Hierarchy.from_chains(rows, "kind")
        >>> tree.lca_of_ranges(np.array([0, 1, 2]), np.array([1, 2, 2])).tolist()
        [3, 4, 2]
        """
        ends = np.array([low, high], dtype=np.int64)
        if ends.size and (ends.min() < 0 or ends.max() >= self.leaf_count):
            raise HierarchyError("a range does not consist of leaves", where=place(self.column))
        left, right = self.ancestors[ends[0]], self.ancestors[ends[1]]
        level = np.argmax(left == right, axis=1)
        lowest: Nodes = left[np.arange(len(left)), level]
        return lowest

    def restrict(self, labels: Iterable[str]) -> Hierarchy:
        """The tree over some of the leaves. Heights, and so the meaning of a level, are kept.

        >>> rows = [["cat", "animal", "*"], ["dog", "animal", "*"], ["oak", "*"]]
        >>> small = Hierarchy.from_chains(rows, "kind").restrict(["oak"])
        >>> small.labels, small.height.tolist()
        (('oak', '*'), [0, 2])
        """
        chosen = self.indices(labels)
        if chosen.size == 0 or chosen.max() >= self.leaf_count:
            what = "some labels are groups, not leaves" if chosen.size else "no leaf would be left"
            raise HierarchyError(what, where=place(self.column))
        # A node is on the level of its own height in `ancestors`, so no ancestor is missed.
        kept = np.unique(self.ancestors[chosen])
        renumbered = np.full(len(self.labels) + 1, -1, dtype=np.int32)
        renumbered[kept] = np.arange(len(kept))
        parent = renumbered[self.parent[kept]]  # the root's -1 reads the spare last entry, -1
        labels_kept = tuple(self.labels[node] for node in kept)
        return Hierarchy(labels_kept, parent, self.height[kept], self.column)

    def __eq__(self, other: object) -> bool:
        """Equal trees: the same labels, parents and heights; the column's name does not matter."""
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return (
            self.labels == other.labels
            and np.array_equal(self.parent, other.parent)
            and np.array_equal(self.height, other.height)
        )

    def __hash__(self) -> int:
        """Equal trees have equal hashes."""
        return hash((self.labels, self.parent.tobytes()))

    def __repr__(self) -> str:
        """The size of the tree, without its labels: they are values of the table."""
        return f"Hierarchy(column={self.column!r}, leaves={self.leaf_count}, levels={self.levels})"

    def __reduce__(self) -> tuple[type[Hierarchy], tuple[tuple[str, ...], Nodes, Nodes, str]]:
        """Rebuild on unpickling: numpy would hand back writeable arrays."""
        return Hierarchy, (self.labels, self.parent, self.height, self.column)


def _frozen(array: Nodes) -> Nodes:
    array.setflags(write=False)
    return array


def _starts(nodes: Nodes) -> NDArray[np.intp]:
    """Where runs of equal entries begin."""
    return np.flatnonzero(np.concatenate(([True], nodes[1:] != nodes[:-1])))


def _ancestors(parent: Nodes, height: Nodes) -> Nodes:
    leaves = int(np.count_nonzero(height == 0))
    matrix = np.empty((leaves, int(height[-1]) + 1), dtype=np.int32)
    matrix[:, 0] = np.arange(leaves)
    for level in range(1, matrix.shape[1]):
        node = matrix[:, level - 1]
        above = parent[node]
        climbs = (above >= 0) & (height[above] <= level)
        matrix[:, level] = np.where(climbs, above, node)
    return _frozen(matrix)


def _is_ordered_tree(parent: Nodes, height: Nodes, count: int) -> bool:
    """Whether the arrays keep every promise of the numbering (see the module's first lines)."""
    if count == 0 or parent.shape != (count,) or height.shape != (count,) or parent[-1] != -1:
        return False
    child, above = np.arange(count - 1), parent[:-1]
    if not (np.all(above > child) and np.all(above < count)):
        return False
    inner = np.unique(above)
    leaves = count - len(inner)
    if not (np.all(height[:leaves] == 0) and np.array_equal(inner, np.arange(leaves, count))):
        return False
    if not (np.all(height[above] > height[child]) and np.all(np.diff(height) >= 0)):
        return False
    runs = (nodes[_starts(nodes)] for nodes in _ancestors(parent, height).T)
    return all(len(np.unique(run)) == len(run) for run in runs)


def _arranged(parent: Mapping[str, str], root: str) -> tuple[tuple[str, ...], Nodes, Nodes]:
    """Number the labels of a tree: depth-first, then stably by height."""
    labels = [root, *parent]
    number = {label: node for node, label in enumerate(labels)}
    above = [-1, *(number[label] for label in parent.values())]
    preorder = _preorder(above)
    height = [0] * len(labels)
    for node in reversed(preorder[1:]):
        height[above[node]] = max(height[above[node]], height[node] + 1)
    walk = np.array(preorder, dtype=np.int32)
    heights = np.array(height, dtype=np.int32)
    order = walk[np.argsort(heights[walk], kind="stable")]
    renumbered = np.full(len(labels) + 1, -1, dtype=np.int32)
    renumbered[order] = np.arange(len(labels))
    parents = renumbered[np.array(above, dtype=np.int32)[order]]  # -1 reads the spare entry
    return tuple(labels[node] for node in order), parents, heights[order]


def _preorder(above: Sequence[int]) -> list[int]:
    """Nodes so that each precedes its children, whose order is kept; node 0 is the root."""
    below: list[list[int]] = [[] for _ in above]
    for node in range(1, len(above)):
        below[above[node]].append(node)
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(reversed(below[node]))
    return order
