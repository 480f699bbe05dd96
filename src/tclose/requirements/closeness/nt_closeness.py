"""(n, t)-closeness: every class is near some natural superset of at least n rows.

A natural superset of a class holds all rows whose quasi-identifiers fit a broader version of the
class's own. Without the tree by which a release was made, the broader versions are those of the
generalization lattice: each quasi-identifier at a level of its hierarchy. A column without a
hierarchy (or with labels that its hierarchy does not know) can only be kept or dropped; a class
that finds no close superset that way might have one that cannot be seen from here, and the answer
is then "not decided" instead of "fails".
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from tclose.distance import Distance, Distances, Reference
from tclose.distance.histogram import group_codes
from tclose.errors import PolicyError, Problem, UsageError
from tclose.hierarchy import Hierarchy
from tclose.requirements.classes import JudgedClasses, SensitiveValues
from tclose.requirements.closeness.t_closeness import Closeness, ClosenessField, TCloseness
from tclose.requirements.constraint import AttributePool, Compiled, Constraint, ConstraintKind
from tclose.requirements.requirement import (
    Capabilities,
    Ints,
    Measurement,
    ProposedCells,
    Requirement,
    Statement,
    Table,
    write_number,
)

MOST_NODES = 20_000

Levels = list[Ints]


@dataclass(frozen=True)
class NTCloseness(Closeness):
    """Some superset S of n or more rows has D[class, S] ≤ t. Not kept by merging classes."""

    name = "(n,t)-closeness"
    key = "n"
    sentence = (
        "In every class the spread of {about} is as close to that of some large part of the table "
        "as promised ({required}), {by}."
    )
    suggested = False

    n: int
    trees: Mapping[str, Hierarchy] = field(default_factory=dict)

    @property
    def capabilities(self) -> Capabilities:
        """A union of two classes, each like its own surroundings, may be like nobody's.

        No superset is larger than the table.
        """
        return Capabilities(
            monotone=False, self_contained=False, whole_table=True, least_table=self.n
        )

    @property
    def required(self) -> str | None:
        """n and t."""
        return f"n={self.n}, t={write_number(self.limit)}"

    def measure(self, classes: JudgedClasses) -> Measurement:
        """The largest, over classes, of the distance to the nearest superset."""
        return self.measure_along(classes, *self._find_levels(classes))

    def measure_proposed(self, classes: JudgedClasses, cells: ProposedCells) -> Measurement | None:
        """Judged along the levels of the proposal; its cuts keep it where these are not given."""
        return None if cells.climbs is None else self.measure_along(classes, cells.climbs)

    def constrain(self, attributes: AttributePool, limit: Fraction) -> Compiled:
        """The distance from a superset; only a search that knows its supersets keeps this."""
        if (tree := self.measure_by.tree) is None:
            return None
        at = attributes.add(self.attribute)
        return (Constraint(ConstraintKind.EMD, at, limit, tree, need=self.n),)

    def refuse_uncompiled(self) -> None:
        """Proposed classes do not tell their supersets, so searches rely on the constraint."""
        raise UsageError(
            f"(n, t)-closeness by {self.distance} can be audited, not searched for",
            where=f"columns.{self.attribute}.distance",
            hint="use ordered, numeric, equal or hierarchical",
        )

    def against_table(self) -> Requirement:
        """The distance from the table, which may be larger than t."""
        return TCloseness(self.attribute, self.measure_by, adversary=self.adversary)

    @classmethod
    def from_column(
        cls, stated: Statement, values: SensitiveValues, table: Table
    ) -> tuple[Requirement, ...]:
        """`t = 0.2` with `n = 1000`."""
        column = values.column
        assert isinstance(stated, int) and isinstance(column, ClosenessField)
        quasi = [table.policy.columns[name] for name in table.policy.quasi]
        if any(each.missing == "any" for each in (column, *quasi)):
            what = '(n, t)-closeness is not defined where a missing value may be "any" value'
            raise PolicyError([Problem(f"columns.{values.name}.n", what, 'say missing = "value"')])
        distance, _ = values.distance(column.distance)
        return (cls(values.name, distance, stated, table.hierarchies, limit=column.t),)

    def measure_along(
        self, classes: JudgedClasses, levels: list[Levels], unseen: Sequence[str] = ()
    ) -> Measurement:
        """The same where each quasi-identifier's codes at each level are given."""
        lattice = _Lattice(classes, self.attribute, levels, self.n)
        value = np.full(classes.count, np.inf)
        close = np.full(classes.count, self.limit is None)
        for members, distances in lattice.compare(self.measure_by):
            value[members] = np.minimum(value[members], distances.value)
            if self.limit is not None:
                close[members] |= distances.within(Fraction(self.limit))
        worst, fails = int(np.argmax(value)), ~close
        limit = np.inf if self.limit is None else float(self.limit)
        # No superset, seen or unseen, is larger than the table.
        possible = self.n <= classes.everyone
        undecided = bool(fails.any()) and possible and (bool(unseen) or lattice.cut_short)
        note = f"only {MOST_NODES:,} of the possible supersets were tried"
        if not lattice.cut_short:
            columns = ", ".join(repr(name) for name in unseen)
            note = (
                f"without a hierarchy that knows every label of {columns}, supersets may exist "
                "unseen"
            )
        return Measurement(
            value=value, fails=fails, achieved=float(value[worst]),
            exact=self._measure_nearest(lattice, worst), worst=worst, margin=limit - value,
            decided=not undecided, note=note if undecided else "",
        )  # fmt: skip

    def _measure_nearest(self, lattice: _Lattice, index: int) -> Fraction | None:
        """The exact distance of one class from its nearest superset."""
        nearest: list[Fraction] = []
        for members, distances in lattice.compare(self.measure_by, only=index):
            for at in np.flatnonzero(members == index):
                if (distance := distances.exact(int(at))) is None:
                    return None
                nearest.append(distance)
        return min(nearest, default=None)

    def _find_levels(self, classes: JudgedClasses) -> tuple[list[Levels], list[str]]:
        """Each quasi-identifier's codes at each level, and the columns that cannot be climbed."""
        levels, unseen = [], []
        for at, name in enumerate(classes.quasi):
            labels, tree = classes.dictionaries[name].labels, self.trees.get(name)
            codes = [classes.key[:, at]]
            if tree is not None and all(tree.contains(label) for label in labels):
                codes = [_climb(tree, labels, level)[codes[0]] for level in range(tree.levels)]
            else:
                unseen.append(name)
            levels.append([*codes, np.zeros_like(classes.key[:, at])])
        return levels, unseen


def _climb(tree: Hierarchy, labels: tuple[str, ...], level: int) -> Ints:
    """The node of each label at a level of a hierarchy; a missing value stays itself."""
    return np.array([*(tree.node_at(label, level) for label in labels), len(tree.labels)], np.int64)


@dataclass
class _Lattice:
    """The broader versions of all classes, level vector by level vector."""

    classes: JudgedClasses
    attribute: str
    levels: list[Levels]
    least: int
    """How many rows a superset must have."""

    @property
    def cut_short(self) -> bool:
        """Whether there are more level vectors than can be afforded."""
        return math.prod(len(codes) for codes in self.levels) > MOST_NODES

    def compare(
        self, distance: Distance, only: int | None = None
    ) -> Iterator[tuple[Ints, Distances]]:
        """For every level vector: the classes inside large enough groups, and their distances."""
        histogram = self.classes.histogram(self.attribute)
        for vector in self._list_vectors():
            label, first = group_codes(
                [codes[at] for codes, at in zip(self.levels, vector, strict=True)]
            )
            large = self.classes.sizes(label, len(first)) >= self.least
            members = np.flatnonzero(large[label])
            if only is not None:
                members = members[members == only]
            if not len(members):
                continue
            groups, of_class = np.unique(label[members], return_inverse=True)
            place = np.full(len(first), -1, dtype=np.int64)
            place[groups] = np.arange(len(groups))
            merged = self.classes.merge_histogram(self.attribute, place[label], len(groups))
            reference = Reference(merged.dense(), of_class.astype(np.int64))
            yield members, distance.against(histogram.take(members), reference)

    def _list_vectors(self) -> Iterator[tuple[int, ...]]:
        """Level vectors from the narrowest up, as many as can be afforded, the broadest last."""
        every = itertools.product(*(range(len(codes)) for codes in self.levels))
        if not self.cut_short:
            return every
        top = tuple(len(codes) - 1 for codes in self.levels)
        return itertools.chain(itertools.islice(every, MOST_NODES - 1), [top])
