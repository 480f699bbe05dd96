"""What classes are released as, in the codes of some table: runs along a line, or sets of values.

A shape holds one column of released words against the values of a table, so that new rows can be
compared with all classes at once: which values a class covers, what it would be released as with
some more in it, what that costs. Nothing is widened beyond the hull of what was released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from tclose.arrays import Flags, Floats, Ints
from tclose.data.binding import BoundTable, is_fixed, make_hierarchy
from tclose.data.encode.columns import Dictionary
from tclose.data.encode.labels import ANYTHING, covers_missing, read_interval, read_set
from tclose.distance.histogram import group_codes
from tclose.errors import UsageError
from tclose.hierarchy.tree import Hierarchy
from tclose.policy.columns import HierarchySpec
from tclose.recode.number_line import NumberLine
from tclose.recode.values import Released, write_interval, write_set
from tclose.utility.loss import ColumnLoss

NO_SETS = np.zeros((0, 0), dtype=np.bool_)


@dataclass(frozen=True)
class Shape:
    """One column: what each class covers, and the code of each cell of a table.

    Codes run along the number line, the leaves of the hierarchy, or the values; a missing value has
    the code after the last, a value that the column has no place for has −1.
    """

    column: ColumnLoss
    texts: tuple[str, ...]
    """The value of each code."""
    low: Ints
    high: Ints
    """[classes]: the run of codes that a class covers; empty for missing values alone."""
    member: Flags
    """[classes, codes]: of sets, in place of `low` and `high`."""
    missing: Flags
    """[classes]: whether a class covers a missing value."""
    anything: Flags
    """[classes]: whether it covers all values, also those that have no code."""
    node: Ints
    """[classes]: of trees, the node that a class is released as."""
    code: Ints
    """[cells]."""
    line: NumberLine | None = None
    """Of numbers and dates: where exactly the codes lie."""

    @property
    def known(self) -> int:
        """How many codes there are, a missing value not counted."""
        return len(self.texts)

    @cached_property
    def codes(self) -> dict[str, int]:
        """The code of each value."""
        return {text: at for at, text in enumerate(self.texts)}

    @property
    def is_set(self) -> bool:
        """Whether classes are released as sets."""
        return self.column.kind == "set"

    @cached_property
    def inside(self) -> Flags:
        """Which cells lie in the hull of all that is released."""
        reach = np.zeros(self.known + 2, dtype=bool)
        if self.is_set:
            reach[: self.known] = self.member.any(axis=0)
        else:
            reach[self._hull()] = True
        reach[self.known] = self.missing.any()
        result: Flags = reach[self.code]  # the code −1 reads the spare last entry
        return result

    def _hull(self) -> slice:
        tree = self.column.hierarchy
        has_ends = self.low <= self.high
        if tree is None:
            has_ends &= ~self.anything  # `*` hides both ends; in a tree it is the root
        runs = np.flatnonzero(has_ends)
        if not len(runs):
            return slice(0, self.known)
        low, high = int(self.low[runs].min()), int(self.high[runs].max())
        if tree is not None:
            top = tree.lca_of_ranges(np.array([low]), np.array([high])).astype(np.int64)
            (low,), (high,) = _runs_below(tree, top)
        return slice(low, high + 1)

    @cached_property
    def codes_present(self) -> Ints:
        """The codes that occur in the table, in order; a missing value's is not among them."""
        return np.unique(self.code[(self.code >= 0) & (self.code < self.known)])

    def covers(self, cell: Ints, chosen: Ints) -> Flags:
        """Whether the class chosen for each of some cells covers it as it is."""
        code, gap = self.code[cell], self.code[cell] == self.known
        if self.is_set:  # every value has a code
            inside = np.zeros(len(code), dtype=bool)
            inside[~gap] = self.member[chosen[~gap], code[~gap]]
        else:
            inside = (code >= self.low[chosen]) & (code <= self.high[chosen])
        return np.where(gap, self.missing[chosen], inside) | self.anything[chosen]

    def widen(self, cell: Ints, chosen: Ints) -> Shape:
        """The classes widened to cover some further cells."""
        code = self.code[cell]
        has_place = (code >= 0) & (code < self.known)
        owner, code_there = chosen[has_place], code[has_place]
        missing = self.missing.copy()
        missing[chosen[code == self.known]] = True
        if self.is_set:
            member = self.member.copy()
            member[owner, code_there] = True
            return replace(self, member=member, missing=missing)
        low, high = self.low.copy(), self.high.copy()
        np.minimum.at(low, owner, code_there)
        np.maximum.at(high, owner, code_there)
        anything = self.anything | (missing & (low <= high))
        low[anything], high[anything] = 0, self.known - 1
        tree, node = self.column.hierarchy, self.node
        if tree is not None:
            moved = np.flatnonzero((low != self.low) | (high != self.high))
            node = node.copy()
            node[moved] = tree.lca_of_ranges(low[moved], high[moved])
            low[moved], high[moved] = _runs_below(tree, node[moved])
        return replace(self, low=low, high=high, missing=missing, anything=anything, node=node)

    def key(self) -> Ints:
        """A number for each class; classes with equal released values have the same number."""
        if self.is_set:
            rows = [self.anything, self.missing, *np.packbits(self.member, axis=1).T]
        else:
            rows = [self.anything, self.missing, self.low, self.high, self.node]
        return group_codes([np.asarray(row, dtype=np.int64) for row in rows])[0]

    def differs_from(self, other: Shape) -> Flags:
        """Which classes cover other values than they do in another shape."""
        moved: Flags = (self.low != other.low) | (self.high != other.high)
        if self.is_set:
            moved = np.any(self.member != other.member, axis=1)
        return np.asarray(moved | (self.missing != other.missing))

    def losses(self) -> Floats:
        """[classes]: the loss in this column."""
        if self.is_set:
            loss = self.column.of_sets(self.member.sum(axis=1) + self.missing)
        else:
            some = self.low <= self.high
            loss = np.where(some, self.column.between(self.low * some, self.high * some), 0.0)
        return np.where(self.anything, 1.0, loss)

    def write(self, before: Shape, words: Released) -> Released:
        """The released value of every class; one that covers the same values keeps its text."""
        values = list(words.values)
        for at in np.flatnonzero(self.differs_from(before)).tolist():
            values[at] = self._write_class(at)
        return replace(words, values=tuple(values))

    def _write_class(self, at: int) -> str | None:
        if self.anything[at]:
            return ANYTHING
        if self.is_set:
            names = [self.texts[code] for code in np.flatnonzero(self.member[at])]
            return write_set(names, missing=bool(self.missing[at]))
        low, high = int(self.low[at]), int(self.high[at])
        if low > high:
            return None
        if self.column.hierarchy is not None:
            return self.column.hierarchy.labels[int(self.node[at])]
        return write_interval(self.texts[low], self.texts[high])


def _runs_below(tree: Hierarchy, node: Ints) -> tuple[Ints, Ints]:
    """The first and the last leaf below each node."""
    first = tree.first_below[node].astype(np.int64)
    return first, first + tree.size_below[node] - 1


def read_shapes(
    released: Sequence[Released], bound: BoundTable, borders: Mapping[str, Sequence[str]] = {}
) -> tuple[Shape, ...]:
    """What classes are released as, held against the values of a table.

    `borders` are further values and labels of a column that its line must have a place for.
    """
    shapes = []
    for column in released:
        name = column.column
        values, codes = bound.cells.dictionaries[name].labels, bound.cells.codes[name]
        if column.kind == "tree":
            tree = extend_hierarchy(column, bound, borders.get(name, ()))
            shapes.append(_read_nodes(column, tree, values, codes))
        else:
            read = _read_intervals if column.kind == "interval" else _read_sets
            shapes.append(read(column, values, codes))
    return tuple(shapes)


def _read_intervals(released: Released, values: Sequence[str], codes: Ints) -> Shape:
    line = NumberLine.read(released.values, values)
    runs = [line.run(label) for label in released.values]
    low, high = np.array(runs, dtype=np.int64).reshape(-1, 2).T.copy()
    gap = np.array([label in (None, ANYTHING) for label in released.values], dtype=bool)
    has_missing = bool(gap.any()) or len(values) in codes
    column = ColumnLoss.interval(released.column, line.positions, has_missing=has_missing)
    places = [line.codes.get(value, -1) for value in values]
    code = np.array([*places, len(line.texts)], dtype=np.int64)[codes]
    none = np.zeros(len(gap), np.int64)
    whole = gap & (low <= high)
    return Shape(column, line.texts, low, high, NO_SETS, gap, whole, none, code, line)


def _read_sets(released: Released, values: Sequence[str], codes: Ints) -> Shape:
    anything = np.array([label == ANYTHING for label in released.values], dtype=bool)
    named = [_list_members(label) for label in released.values]
    names = pa.array([*values, *(text for some in named for text in some)], pa.string())
    texts = Dictionary.encode(pa.chunked_array([names]))[0].labels
    place = {text: at for at, text in enumerate(texts)}
    member = np.zeros((len(named), len(place)), dtype=np.bool_)
    for at, some in enumerate(named):
        member[at, [place[text] for text in some]] = True
    gap = np.array([label is None or covers_missing(label) for label in released.values], bool)
    has_missing = bool(gap.any()) or len(values) in codes
    column = ColumnLoss.sets(released.column, np.arange(len(place)), has_missing=has_missing)
    recode = np.array([*(place[value] for value in values), len(place)], dtype=np.int64)
    none = np.zeros(len(gap), np.int64)
    return Shape(column, texts, none, none, member, gap, anything, none, recode[codes])


def _list_members(label: str | None) -> list[str]:
    """The values that a released set names; a single value is a set of one."""
    if label is None or label == ANYTHING:
        return []
    found = read_set(label)
    if found is None or len(found.members) + found.with_missing < 2:
        return [label]  # nothing is released as a set of one: this is a value with braces
    return found.members


def _read_nodes(released: Released, tree: Hierarchy, values: Sequence[str], codes: Ints) -> Shape:
    gap = np.array([label in (None, ANYTHING) for label in released.values], dtype=bool)
    root = tree.labels[tree.root]
    labels = [root if label is None or label == ANYTHING else label for label in released.values]
    node = tree.indices(labels).astype(np.int64)
    low, high = _runs_below(tree, node)
    nothing = np.array([label is None for label in released.values], dtype=bool)
    low[nothing], high[nothing] = tree.leaf_count, -1
    leaf = tree.find(values).astype(np.int64)
    recode = np.append(np.where(leaf < tree.leaf_count, leaf, -1), tree.leaf_count)
    has_missing = bool(gap.any()) or len(values) in codes
    column = ColumnLoss.tree(
        released.column, tree, np.arange(tree.leaf_count), has_missing=has_missing
    )
    return Shape(column, tree.leaves, low, high, NO_SETS, gap, gap & ~nothing, node, recode[codes])


def extend_hierarchy(released: Released, bound: BoundTable, borders: Sequence[str]) -> Hierarchy:
    """The column's hierarchy with a place for the plan's labels, also where values built it."""
    name = released.column
    spec, tree = bound.policy.hierarchy_of(name), bound.hierarchies.get(name)
    if spec is None or tree is None:
        raise UsageError(
            "the plan recodes the column by a hierarchy, and the policy names none",
            where=f"column {name!r}",
            hint="apply the plan with the policy it was made under",
        )
    wanted = {*released.values, *borders} - {None, ANYTHING}
    lacking = [str(label) for label in wanted if not tree.contains(str(label))]
    if lacking and not is_fixed(spec):
        labels = bound.cells.dictionaries[name].labels
        seeds = sorted(_seed(label, spec) for label in lacking)
        tree = make_hierarchy(spec, name, [*labels, *seeds], bound.policy.base)
        lacking = [label for label in lacking if not tree.contains(label)]
    if lacking:
        raise UsageError(
            f"{len(lacking):,} labels of the plan are not in the hierarchy",
            where=f"column {name!r}",
            hint="apply the plan with the hierarchy it was made with",
        )
    return tree


def _seed(label: str, spec: HierarchySpec) -> str:
    """A value or label from which the builder makes a branch with this label."""
    interval = read_interval(label) if spec.kind in ("intervals", "cuts") else None
    if interval is None:
        return label
    if interval.low is not None and interval.with_low:
        return str(interval.low)
    if interval.high is not None and interval.low is None:
        return str(interval.high - 1)
    return label
