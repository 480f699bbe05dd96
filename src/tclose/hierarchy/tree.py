"""The immutable generalization tree: labels, the parent of each node, and its height.

Nodes are numbered so that arithmetic replaces searching: leaves first, in depth-first order (the
leaves of any node are one contiguous range), then inner nodes by height, the root last. A parent's
number is therefore always larger than its child's. A tree is built from rows of labels (value
first, root last); contradictions between rows are refused here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.errors import HierarchyError

Nodes = NDArray[np.int32]

_ROOT_HINT = "end every row with the same label, for example a last column `*`"


def locate(column: str, *, line: int | None = None, level: int | None = None) -> str:
    """Describes a place in a hierarchy without quoting the label there.

    >>> locate("age", line=3, level=1)
    "hierarchy of column 'age', line 3, level 1"
    """
    parts = [f"hierarchy of column {column!r}"]
    parts += [] if line is None else [f"line {line}"]
    parts += [] if level is None else [f"level {level}"]
    return ", ".join(parts)


def hierarchy_error(
    column: str, what: str, hint: str = "", *, line: int | None = None, level: int | None = None
) -> HierarchyError:
    """Makes an error that says what is wrong in the hierarchy of a column, and where."""
    return HierarchyError(what, where=locate(column, line=line, level=level), hint=hint)


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy:
    """A generalization tree over the labels of one column.

    `labels[i]` is node i; `parent[i]` is the node above it (-1 for the root); `height[i]` is 0 for
    a leaf, and the length of the longest path down to a leaf for an inner node. On the levels
    height(N) .. height(parent(N)) - 1 a leaf below N is generalized to N, so that levels are well
    defined in unbalanced trees too.

    >>> rows = [["cat", "animal", "*"], ["dog", "animal", "*"], ["oak", "*"]]
    >>> kinds = Hierarchy.from_chains(rows, "kind")
    >>> kinds
    Hierarchy(column='kind', leaves=3, levels=3)
    >>> kinds.labels, kinds.leaves
    (('cat', 'dog', 'oak', 'animal', '*'), ('cat', 'dog', 'oak'))
    >>> kinds.parent.tolist(), kinds.height.tolist()
    ([3, 3, 4, 4, -1], [0, 0, 0, 1, 2])
    >>> kinds.first_below.tolist(), kinds.size_below.tolist()
    ([0, 1, 2, 0, 0], [1, 1, 1, 2, 3])
    >>> kinds.ancestors.tolist(), kinds.find(["animal", "fish"]).tolist()
    ([[0, 3, 4], [1, 3, 4], [2, 2, 4]], [3, -1])
    >>> kinds.generalize("cat", 1), kinds.generalize("oak", 1), kinds.generalize("animal", 0)
    ('animal', 'oak', 'animal')
    >>> kinds.lca([0, 1]), kinds.lca_of_ranges(np.array([0, 1, 2]), np.array([1, 2, 2])).tolist()
    (3, [3, 4, 2])
    """

    labels: tuple[str, ...]
    parent: Nodes
    height: Nodes
    column: str

    def __post_init__(self) -> None:
        """Freezes the arrays and checks that they describe one tree in the required order."""
        object.__setattr__(self, "labels", tuple(self.labels))
        object.__setattr__(self, "parent", _freeze(np.array(self.parent, dtype=np.int32)))
        object.__setattr__(self, "height", _freeze(np.array(self.height, dtype=np.int32)))
        if not self._is_ordered():
            what = "parents and heights do not describe one tree in depth-first order"
            raise self._error(what, "build it with Hierarchy.from_chains")
        if len(self._numbers) != len(self.labels):
            raise self._error("two nodes have the same label")

    def _is_ordered(self) -> bool:
        """Whether the arrays are numbered as the module's docstring says."""
        parent, height, count = self.parent, self.height, len(self.labels)
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
        runs = (nodes[_starts(nodes)] for nodes in self.ancestors.T)
        return all(len(np.unique(run)) == len(run) for run in runs)

    @classmethod
    def from_chains(
        cls, chains: Iterable[Sequence[str]], column: str, *, lines: Iterable[int] | None = None
    ) -> Hierarchy:
        """Builds the tree from rows that lead from a value to the root.

        Equal neighbours in a row are padding; rows may differ in length. Groups and leaves keep the
        order in which they first appear, with the leaves of a group next to each other. `lines` are
        the line numbers for errors; by default 1, 2, 3 …

        >>> rows = [["1", "odd", "*"], ["2", "even", "*"], ["3", "odd", "*"]]
        >>> Hierarchy.from_chains(rows, "n").leaves
        ('1', '3', '2')
        """
        labels, parent, height = _arrange(*_link_chains(chains, column, lines))
        return cls(labels, parent, height, column)

    def _error(self, what: str, hint: str = "") -> HierarchyError:
        return hierarchy_error(self.column, what, hint)

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {label: node for node, label in enumerate(self.labels)}

    @cached_property
    def _spans(self) -> tuple[Nodes, Nodes]:
        """The first leaf below each node, and the number of leaves below it."""
        first = np.zeros(len(self.labels), dtype=np.int32)
        size = np.zeros(len(self.labels), dtype=np.int32)
        for nodes in self.ancestors.T:
            starts = _starts(nodes)
            first[nodes[starts]] = starts
            size[nodes[starts]] = np.diff(starts, append=len(nodes))
        return _freeze(first), _freeze(size)

    @property
    def leaf_count(self) -> int:
        """The number of leaves; they are the nodes 0 .. leaf_count - 1."""
        return int(np.count_nonzero(self.height == 0))

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The labels of the leaves, in the order of their node numbers."""
        return self.labels[: self.leaf_count]

    @property
    def root(self) -> int:
        """The number of the root: the last node."""
        return len(self.labels) - 1

    @property
    def levels(self) -> int:
        """The number of levels: 0 is the value itself, levels - 1 the root."""
        return int(self.height[-1]) + 1

    @property
    def size_below(self) -> Nodes:
        """[nodes]: the number of leaves below the node (1 for a leaf)."""
        return self._spans[1]

    @property
    def first_below(self) -> Nodes:
        """[nodes]: the first leaf below the node; the others follow without a gap."""
        return self._spans[0]

    @cached_property
    def ancestors(self) -> Nodes:
        """[leaf, level]: the highest ancestor of the leaf whose height is at most level.

        Heights grow strictly on the way up, so going one level higher climbs at most one edge.
        """
        matrix = np.empty((self.leaf_count, self.levels), dtype=np.int32)
        matrix[:, 0] = np.arange(self.leaf_count)
        for level in range(1, self.levels):
            node = matrix[:, level - 1]
            above = self.parent[node]
            climbs = (above >= 0) & (self.height[above] <= level)
            matrix[:, level] = np.where(climbs, above, node)
        return _freeze(matrix)

    def contains(self, label: str) -> bool:
        """Whether the label is a node of the tree, leaf or not."""
        return label in self._numbers

    def find(self, labels: Iterable[str]) -> Nodes:
        """Returns the nodes of many labels; −1 for unknown labels."""
        return np.array([self._numbers.get(label, -1) for label in labels], dtype=np.int32)

    def index(self, label: str) -> int:
        """Returns the node of a label."""
        return int(self.indices([label])[0])

    def indices(self, labels: Iterable[str]) -> Nodes:
        """Returns the nodes of many labels; an error counts unknown labels, not showing them."""
        nodes = self.find(labels)
        missing = int(np.count_nonzero(nodes < 0))
        if missing:
            what = f"{missing} of {len(nodes)} values are not in the hierarchy"
            raise self._error(what, "add a row for each of them; spaces and spelling matter")
        return nodes

    def generalize(self, label: str, level: int) -> str:
        """Returns what a label becomes on a level; the label itself if it is already as high."""
        if not 0 <= level < self.levels:
            hint = f"levels go from 0 (the value itself) to {self.levels - 1} (the root)"
            raise self._error(f"there is no level {level}", hint)
        node = self.index(label)
        while (above := int(self.parent[node])) >= 0 and self.height[above] <= level:
            node = above
        return self.labels[node]

    def leaves_below(self, node: int) -> Nodes:
        """Returns the leaves below a node, a contiguous range of node numbers."""
        self._check_nodes(np.array([node]))
        first, size = self._spans
        return np.arange(first[node], first[node] + size[node], dtype=np.int32)

    def children(self, node: int) -> Nodes:
        """Returns the nodes right below a node, in the order of their leaves."""
        self._check_nodes(np.array([node]))
        below = np.flatnonzero(self.parent == node).astype(np.int32)
        return below[np.argsort(self._spans[0][below], kind="stable")]

    def lca(self, nodes: Sequence[int] | Nodes) -> int:
        """Returns the lowest node that is an ancestor of all given nodes (or is one of them).

        Climb from the highest given node, A, to the first node N whose leaves include all leaves
        below the given nodes. A given node X then lies below N or is N: it shares leaves with N, so
        otherwise it would be a proper ancestor of N, higher than N and thus than A.
        """
        given = np.asarray(nodes, dtype=np.int64)
        self._check_nodes(given)
        first, size = self._spans
        low, high = int(first[given].min()), int((first[given] + size[given]).max())
        node = int(given.max())  # larger numbers are never lower (see the module's docstring)
        while not (first[node] <= low and high <= first[node] + size[node]):
            node = int(self.parent[node])
        return node

    def _check_nodes(self, nodes: NDArray[Any]) -> None:
        if nodes.size == 0:
            raise self._error("no nodes were given")
        if nodes.min() < 0 or nodes.max() > self.root:
            raise self._error("there is no such node", f"nodes go from 0 to {self.root}")

    def lca_of_labels(self, labels: Iterable[str]) -> str:
        """Returns the label of the lowest common ancestor of some labels."""
        return self.labels[self.lca(self.indices(labels))]

    def lca_of_ranges(self, low: NDArray[Any], high: NDArray[Any]) -> Nodes:
        """Returns the lowest common ancestors of many sets of leaves, by their first and last.

        Leaves are in depth-first order, so a node above the first and the last leaf of a set is
        above all leaves in between. On the level of the ancestor's own height both ends are that
        ancestor; on a lower level they differ, or a lower node would be common to both.
        """
        ends = np.array([low, high], dtype=np.int64)
        if ends.size and (ends.min() < 0 or ends.max() >= self.leaf_count):
            raise self._error("a range does not consist of leaves")
        left, right = self.ancestors[ends[0]], self.ancestors[ends[1]]
        level = np.argmax(left == right, axis=1)
        lowest: Nodes = left[np.arange(len(left)), level]
        return lowest

    def __eq__(self, other: object) -> bool:
        """Compares labels, parents and heights; the column's name does not matter."""
        return isinstance(other, Hierarchy) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[tuple[str, ...], bytes, bytes]:
        return self.labels, self.parent.tobytes(), self.height.tobytes()

    def __repr__(self) -> str:
        """Describes the size of the tree, without labels, which are values of the table."""
        return f"Hierarchy(column={self.column!r}, leaves={self.leaf_count}, levels={self.levels})"

    def __reduce__(self) -> tuple[type[Hierarchy], tuple[tuple[str, ...], Nodes, Nodes, str]]:
        """Rebuilds on unpickling: numpy would hand back writeable arrays."""
        return Hierarchy, (self.labels, self.parent, self.height, self.column)


def _freeze(array: Nodes) -> Nodes:
    array.setflags(write=False)
    return array


def _starts(nodes: Nodes) -> NDArray[np.intp]:
    """Returns the places where runs of equal entries begin."""
    return np.flatnonzero(np.concatenate(([True], nodes[1:] != nodes[:-1])))


def _arrange(parent: Mapping[str, str], root: str) -> tuple[tuple[str, ...], Nodes, Nodes]:
    """Numbers the labels of a tree: depth-first, then stably by height."""
    below: dict[str, list[str]] = {label: [] for label in [*parent, root]}
    for label, above in parent.items():
        below[above].append(label)
    walk, stack = [], [root]
    while stack:
        walk.append(stack.pop())
        stack.extend(reversed(below[walk[-1]]))
    height = dict.fromkeys(walk, 0)
    for label in reversed(walk[1:]):
        height[parent[label]] = max(height[parent[label]], height[label] + 1)
    labels = sorted(walk, key=height.__getitem__)
    number = {label: node for node, label in enumerate(labels)}
    parents = [number[parent[label]] for label in labels[:-1]]
    return (
        tuple(labels),
        np.array([*parents, -1], dtype=np.int32),
        np.array([height[label] for label in labels], dtype=np.int32),
    )


@dataclass(frozen=True)
class _Rows:
    """All rows: as given, without padding, and with the line of each."""

    given: Sequence[Sequence[str]]
    paths: Sequence[Sequence[str]]
    lines: Sequence[int]
    column: str

    def error(self, what: str, row: int, level: int, hint: str) -> HierarchyError:
        return hierarchy_error(self.column, what, hint, line=self.lines[row], level=level)

    def second_root(self, row: int, root: str) -> HierarchyError:
        if len(self.paths[row]) == 1:
            what = "the row has a value and no label above it"
        else:
            first = next(i for i, path in enumerate(self.paths) if path[-1] == root)
            line = self.lines[first]
            what = f"there is more than one root: the row does not end like line {line}"
        return self.error(what, row, len(self.given[row]) - 1, _ROOT_HINT)

    def second_row(self, earlier: int, row: int) -> HierarchyError:
        same = list(self.paths[earlier]) == list(self.paths[row])
        also = "an identical one" if same else "and the two disagree"
        what = f"the value has a row on line {self.lines[earlier]} already, {also}"
        return self.error(what, row, 0, "keep one row per value")

    def second_parent(
        self, child: str, above: str, row: int, parent: Mapping[str, str]
    ) -> HierarchyError:
        earlier = next(i for i, path in enumerate(self.paths) if child in path[:-1])
        seen = f"line {self.lines[earlier]}, level {self.given[earlier].index(child)}"
        while above != child and above in parent:  # the links so far are a forest, so it ends
            above = parent[above]
        if above == child:
            what = f"a cycle: the label is below another here, and above it elsewhere (see {seen})"
        else:
            what = f"the label has two different labels above it, here and on {seen}"
        hint = "every label has one label above it; give two different groups different names"
        return self.error(what, row, self.given[row].index(child), hint)


def _link_chains(
    chains: Iterable[Sequence[str]], column: str, lines: Iterable[int] | None
) -> tuple[Mapping[str, str], str]:
    """Returns the label above each label, in order of first appearance, and the root.

    Every row ends in the same root and every other label has exactly one label above it, so walking
    up from any label follows a row to the root: there can be no cycle.
    """
    rows = _read_rows(list(chains), column, lines)
    # The end of the first row with more than one label; if there is none, the only label.
    root = next((path[-1] for path in rows.paths if len(path) > 1), rows.paths[0][-1])
    parent: dict[str, str] = {}
    first: dict[str, int] = {}
    for row, path in enumerate(rows.paths):
        if path[-1] != root:
            raise rows.second_root(row, root)
        earlier = first.setdefault(path[0], row)
        if earlier != row:
            raise rows.second_row(earlier, row)
        for child, above in pairwise(path):
            if parent.setdefault(child, above) != above:
                raise rows.second_parent(child, above, row, parent)
    return parent, root


def _read_rows(given: Sequence[Sequence[str]], column: str, lines: Iterable[int] | None) -> _Rows:
    if not given:
        raise hierarchy_error(column, "the hierarchy is empty", _ROOT_HINT)
    numbers = range(1, len(given) + 1) if lines is None else list(lines)
    if len(numbers) != len(given):
        raise hierarchy_error(column, "there must be one line number per row")
    for line, row in zip(numbers, given, strict=True):
        if not row or isinstance(row, str):
            what = "the row is a single text, not a list" if row else "the row has no labels"
            raise hierarchy_error(column, what, line=line)
    # Each distinct label is checked once; the first place of a bad one is searched for then.
    faults = {label: _fault(label) for label in set(chain.from_iterable(given))}
    if any(faults.values()):
        line, level, fault = next(
            (line, level, faults[label])
            for line, row in zip(numbers, given, strict=True)
            for level, label in enumerate(row)
            if faults[label]
        )
        hint = "labels are text; give numbers and dates in their text form"
        raise hierarchy_error(column, f"the label {fault}", hint, line=line, level=level)
    paths = [_path(row, line, column) for row, line in zip(given, numbers, strict=True)]
    return _Rows(given, paths, numbers, column)


def _fault(label: object) -> str:
    if not isinstance(label, str):
        return "is not text"
    if not label.strip():
        return "is blank"
    return "contains a NUL character" if "\0" in label else ""


def _path(row: Sequence[str], line: int, column: str) -> Sequence[str]:
    """Returns the row without padding; raises HierarchyError if a label returns after another."""
    distinct = len(set(row))
    if distinct == len(row):
        return row
    path = [label for label, _ in groupby(row)]
    if len(path) != distinct:
        changes = (at for at in range(2, len(row)) if row[at] != row[at - 1])
        level = next(at for at in changes if row[at] in row[:at])
        what = "a cycle: the label is above itself in this row"
        hint = "use a label on neighbouring levels only"
        raise hierarchy_error(column, what, hint, line=line, level=level)
    return path
