"""Generalization loss: the share of its domain that a released value covers, from 0 to 1.

The codes of a column are in an order in which everything that a class can be released as is a run
of codes: the number line, or the leaves of its hierarchy depth first. The loss of a class in a
column then depends only on its lowest and highest code (Iyengar 2002):

- numbers and dates: width of the interval over width of the domain;
- with a hierarchy: (leaves below the lowest common ancestor − 1) / (leaves − 1);
- other categories are released as sets: number of values over size of the domain, 0 for one value.

A missing value has the last code. A class that mixes it with other values can only be released as
"anything", with loss 1 (in a set it is one more value).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from tclose.arrays import Flags, Floats, Ints
from tclose.data.binding import BoundTable
from tclose.data.encode.columns import NUMBER
from tclose.data.encode.limits import GeneralizationLimit, refuse_limit
from tclose.distance.histogram import Counts, add_by_group
from tclose.errors import PolicyError, Problem
from tclose.hierarchy.tree import Hierarchy

Kind = Literal["interval", "tree", "set"]
LARGEST_GRID = 16_000_000
"""The largest number of classes times values for which all pairs are flags in one array."""


@dataclass(frozen=True)
class ColumnLoss:
    """The loss of one quasi-identifier's released values.

    `place` has, in the order of codes, positions on the number line (intervals), leaf numbers
    (trees) or dictionary codes (sets); with `has_missing`, a missing value has the code after the
    last.
    >>> ages = ColumnLoss.interval("age", [Fraction(20), Fraction(30), Fraction(60)])
    >>> ages.between(np.array([0, 0]), np.array([1, 2])).tolist()
    [0.25, 1.0]
    """

    name: str
    kind: Kind
    place: Floats
    has_missing: bool
    hierarchy: Hierarchy | None = None
    reach: Ints | None = None
    """[codes]: the highest code that may be released with it; None if any may."""
    max_level: int = 0
    """With a reach: the highest level to which whole columns may be recoded."""

    @property
    def values(self) -> int:
        """The number of codes, including that of a missing value."""
        return len(self.place) + self.has_missing

    @classmethod
    def interval(
        cls, name: str, positions: Sequence[Fraction], *, has_missing: bool = False
    ) -> ColumnLoss:
        """Makes a column of numbers or dates, released as intervals."""
        place = np.array([float(position) for position in positions])
        return cls(name, "interval", place, has_missing)

    @classmethod
    def tree(
        cls, name: str, hierarchy: Hierarchy, leaves: Ints, *, has_missing: bool = False
    ) -> ColumnLoss:
        """Makes a column with a hierarchy, released as common ancestors; `leaves` must ascend."""
        return cls(name, "tree", leaves.astype(np.float64), has_missing, hierarchy)

    @classmethod
    def sets(cls, name: str, order: Ints, *, has_missing: bool = False) -> ColumnLoss:
        """Makes a column of categories without a hierarchy, released as sets, in any order."""
        return cls(name, "set", order.astype(np.float64), has_missing)

    def between(self, low: Ints, high: Ints) -> Floats:
        """Returns the loss of classes with codes from `low` to `high` (intervals and trees)."""
        if not len(self.place):  # only missing values
            return np.zeros(len(low))
        known = len(self.place)
        first, last = (
            self.place[np.minimum(low, known - 1)],
            self.place[np.minimum(high, known - 1)],
        )
        if self.kind == "interval":
            result = (last - first) / (float(self.place[-1] - self.place[0]) or 1.0)
        else:
            assert self.hierarchy is not None
            top = self.hierarchy.lca_of_ranges(first, last)
            below = self.hierarchy.size_below[top]
            result = (below - 1) / max(self.hierarchy.leaf_count - 1, 1)
        return np.where(low >= known, 0.0, np.where(high >= known, 1.0, result))

    def allows(self, low: Ints, high: Ints) -> Flags:
        """Flags the ranges of codes that may be released together; for sets, all."""
        allowed = np.ones(len(low), dtype=bool) if self.reach is None else high <= self.reach[low]
        return np.asarray(allowed)

    def coarse(self, codes: Ints) -> list[str]:
        """Describes roughly where in the domain each code lies, without naming values.

        >>> ages = ColumnLoss.interval("age", [Fraction(20), Fraction(30), Fraction(60)])
        >>> ages.coarse(np.array([0, 2]))
        ['lowest third', 'highest third']
        """
        known = len(self.place)
        parts = {code: self._name_part(code) for code in set(codes.tolist()) if code < known}
        return [parts.get(code, "missing") for code in codes.tolist()]

    def _name_part(self, code: int) -> str:
        if self.hierarchy is not None and self.hierarchy.levels > 2:
            leaf = self.hierarchy.labels[int(self.place[code])]
            group = self.hierarchy.generalize(leaf, self.hierarchy.levels - 2)
            return "any" if group == leaf else group
        if self.kind != "interval":
            return "any"
        wide = float(self.place[-1] - self.place[0]) or 1.0
        third = int(3 * (self.place[code] - self.place[0]) / wide)
        return ("lowest third", "middle third", "highest third")[min(2, third)]

    def of_sets(self, distinct: Ints) -> Floats:
        """Returns the loss of sets with these numbers of values."""
        return np.where(distinct <= 1, 0.0, distinct / max(self.values, 1))


@dataclass(frozen=True)
class LossReport:
    """The loss of a partition: overall, per column, and per class and column."""

    overall: float
    columns: dict[str, float]
    classes: Floats
    left_out: int


def partition_loss(
    columns: Sequence[ColumnLoss], codes: Ints, weight: Counts, label: Ints
) -> LossReport:
    """Returns the loss of cells labelled with classes; cells left out (label −1) lose everything.

    >>> ages = ColumnLoss.interval("age", [Fraction(20), Fraction(30), Fraction(60)])
    >>> cells = np.array([[0], [1], [2]])
    >>> partition_loss([ages], cells, np.array([1, 1, 2]), np.array([0, 0, -1])).overall
    0.625
    """
    kept = np.flatnonzero(label >= 0)
    classes = int(label.max(initial=-1)) + 1
    each = np.zeros((classes, len(columns)))
    for at, column in enumerate(columns):
        inside = codes[kept, at], label[kept], classes, column.values
        if column.kind == "set":
            each[:, at] = column.of_sets(_distinct(*inside))
        else:
            each[:, at] = column.between(*ends(*inside))
    return weigh_loss([column.name for column in columns], each, weight, label)


def weigh_loss(names: Sequence[str], each: Floats, weight: Counts, label: Ints) -> LossReport:
    """Returns the loss of cells in classes whose loss in each column is known."""
    rows = int(weight.sum())
    size = add_by_group(weight, label, len(each))
    left_out = rows - int(size.sum())
    # Summed in sorted order, so that the result does not depend on how classes are numbered.
    lost = np.sort(size[:, None] * each, axis=0).sum(axis=0)
    share = (lost + left_out) / max(rows, 1)
    return LossReport(
        overall=float(share.mean()) if len(names) else 0.0,
        columns={name: float(value) for name, value in zip(names, share, strict=True)},
        classes=each,
        left_out=left_out,
    )


def _distinct(codes: Ints, label: Ints, classes: int, values: int) -> Ints:
    """Counts the different codes of each class."""
    pairs = label.astype(np.int64) * values + codes
    if classes * values <= LARGEST_GRID:
        grid = np.zeros(classes * values, dtype=bool)
        grid[pairs] = True
        return np.count_nonzero(grid.reshape(classes, values), axis=1)  # type: ignore[no-any-return]
    return np.bincount(np.unique(pairs) // max(values, 1), minlength=classes)


def ends(codes: Ints, label: Ints, classes: int, values: int) -> tuple[Ints, Ints]:
    """Returns the lowest and the highest code of each class."""
    low = np.full(classes, values, dtype=np.int64)
    high = np.full(classes, -1, dtype=np.int64)
    np.minimum.at(low, label, codes)
    np.maximum.at(high, label, codes)
    return low, high


@dataclass(frozen=True)
class Quasi:
    """The quasi-identifiers of every cell, in codes along which values are released."""

    columns: tuple[ColumnLoss, ...]
    codes: Ints

    def name_levels(self, levels: Sequence[int]) -> dict[str, int]:
        """Returns levels of full-domain recoding by the name of the column."""
        return {column.name: int(level) for column, level in zip(self.columns, levels, strict=True)}


def code_quasi(bound: BoundTable) -> Quasi:
    """Codes each quasi-identifier along the number line, its hierarchy, or its values.

    A value that is not a leaf of its hierarchy cannot be generalized, and is reported as a problem
    of the policy (audits may still read such a label).
    """
    columns, codes, problems = [], [], []
    for name in bound.classes.quasi:
        made = _code_column(bound, name)
        if isinstance(made, Problem):
            problems.append(made)
        else:
            columns.append(made[0])
            codes.append(made[1][bound.cells.codes[name]])
    if problems:
        raise PolicyError(problems)
    return Quasi(tuple(columns), np.stack(codes, axis=1))


def _code_column(bound: BoundTable, name: str) -> tuple[ColumnLoss, Ints] | Problem:
    """Returns the column's loss, and the new code per dictionary code (a missing value last)."""
    made, column = _code_values(bound, name), bound.policy.columns[name]
    if isinstance(made, Problem):
        return made
    if column.borders is not None and (problem := _refuse_borders(bound, name)) is not None:
        return problem
    if not column.limits:
        return made
    tree, dictionary = bound.hierarchies.get(name), bound.cells.dictionaries[name]
    if (problem := refuse_limit(name, column, dictionary, tree)) is not None:
        return problem
    limit = GeneralizationLimit.of(column, tree)
    assert limit is not None
    loss, codes = made
    places = dictionary.places[0] if loss.kind == "interval" else loss.place.astype(int).tolist()
    reach = limit.find_reach(places, loss.values)
    return replace(loss, reach=reach, max_level=limit.level), codes


def _refuse_borders(bound: BoundTable, name: str) -> Problem | None:
    """Returns the problem, if any, of widening the ends of a column's intervals."""
    words, where = bound.cells.dictionaries[name], f"columns.{name}.borders"
    if bound.policy.release.recoding != "local":
        hint = "leave it out, or release.recoding"
        return Problem(where, "central values have no borders", hint)
    if words.kind != "number" or not all(NUMBER.match(label) for label in words.labels):
        hint = "give the column a hierarchy, whose borders do not depend on the values"
        return Problem(where, "only plain numbers have borders to widen", hint)
    return None


def _code_values(bound: BoundTable, name: str) -> tuple[ColumnLoss, Ints] | Problem:
    dictionary, tree = bound.cells.dictionaries[name], bound.hierarchies.get(name)
    has_missing = dictionary.has_missing
    if tree is not None:
        nodes = tree.find(dictionary.labels).astype(np.int64)
        lost = int(np.count_nonzero((nodes < 0) | (nodes >= tree.leaf_count)))
        if lost:
            what = f"{lost} distinct values are not leaves of the hierarchy"
            return Problem(f"columns.{name}", what, "only raw values can be generalized; add them")
        order = np.argsort(nodes)
        column = ColumnLoss.tree(name, tree, nodes[order], has_missing=has_missing)
        return column, np.append(np.argsort(order), len(order))
    if dictionary.line is not None:
        place, rank = dictionary.places
        return ColumnLoss.interval(name, place, has_missing=has_missing), np.append(
            rank, len(place)
        )
    # Sorted by their rows: cutting off the rare values then makes small sets.
    rows = add_by_group(bound.cells.rows, bound.cells.codes[name], dictionary.known + 1)
    order = np.argsort(-rows[: dictionary.known], kind="stable")
    column = ColumnLoss.sets(name, order, has_missing=has_missing)
    return column, np.append(np.argsort(order), len(order))
