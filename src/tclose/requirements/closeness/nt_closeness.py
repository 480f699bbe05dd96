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
from tclose.requirements.constraint import AttributePool, Constraint, ConstraintKind
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
    """Some superset S of n or more rows has D[class, S] ≤ t. Not kept by merging classes.

    A union of two classes, each like its own surroundings, may be like nobody's.
    """

    name = "(n,t)-closeness"
    key = "n"
    sentence = (
        "In every class the spread of {about} is as close to that of some large part of the table "
        "as promised ({required}), {by}."
    )
    capabilities = Capabilities(monotone=False, self_contained=False, whole_table=True)

    n: int
    trees: Mapping[str, Hierarchy] = field(default_factory=dict)

    @property
    def least_table(self) -> int:
        """No superset is larger than the table."""
        return self.n

    @property
    def required(self) -> str | None:
        """n and t."""
        return f"n={self.n}, t={write_number(self.limit)}"

    def measure(self, classes: JudgedClasses) -> Measurement:
        """The largest, over classes, of the distance to the nearest superset."""
        return self.measure_along(classes, *self._levels(classes))

    def measure_proposed(
        self, classes: JudgedClasses, proposal: ProposedCells
    ) -> Measurement | None:
        """Judged along the levels of the proposal; its cuts keep it where these are not given."""
        return None if proposal.climbs is None else self.measure_along(classes, proposal.climbs)

    def constrain(
        self, attributes: AttributePool, limit: Fraction
    ) -> tuple[Constraint, ...] | None:
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
    ) -> Iterator[Requirement]:
        """`t = 0.2` with `n = 1000`."""
        column = values.column
        assert isinstance(stated, int) and isinstance(column, ClosenessField)
        quasi = [table.policy.columns[name] for name in table.policy.quasi]
        if any(each.missing == "any" for each in (column, *quasi)):
            what = '(n, t)-closeness is not defined where a missing value may be "any" value'
            raise PolicyError([Problem(f"columns.{values.name}.n", what, 'say missing = "value"')])
        distance, _ = values.distance(column.distance)
        yield cls(values.name, distance, stated, table.hierarchies, limit=column.t)

    @classmethod
    def suggest_for_column(cls, values: SensitiveValues) -> Iterator[Requirement]:
        """Nothing without an n."""
        yield from ()

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
        exact = self._measure_nearest(lattice, worst)
        limit = np.inf if self.limit is None else float(self.limit)
        # No superset, seen or unseen, is larger than the table.
        possible = self.n <= classes.everyone
        undecided = bool(fails.any()) and possible and (bool(unseen) or lattice.cut_short)
        return Measurement(
            value=value, fails=fails, achieved=float(value[worst]), exact=exact, worst=worst,
            margin=limit - value, decided=not undecided,
            note=_say_why(unseen, lattice.cut_short) if undecided else "",
        )  # fmt: skip

    def _measure_nearest(self, lattice: _Lattice, index: int) -> Fraction | None:
        """The exact distance of one class from its nearest superset."""
        found = []
        for members, distances in lattice.compare(self.measure_by, only=index):
            found += [distances.exact(int(at)) for at in np.flatnonzero(members == index)]
        whole = [distance for distance in found if distance is not None]
        return min(whole) if whole and len(whole) == len(found) else None

    def _levels(self, classes: JudgedClasses) -> tuple[list[Levels], list[str]]:
        """Each quasi-identifier's codes at each level, and the columns that cannot be climbed."""
        levels, unseen = [], []
        for at, name in enumerate(classes.quasi):
            dictionary, tree = classes.dictionaries[name], self.trees.get(name)
            here = classes.key[:, at]
            if tree is not None and all(tree.contains(label) for label in dictionary.labels):
                levels.append(_climb(tree, dictionary.labels, here))
            else:
                unseen.append(name)
                levels.append([here, np.zeros_like(here)])
        return levels, unseen


class _Lattice:
    """The broader versions of all classes, level vector by level vector."""

    def __init__(
        self, classes: JudgedClasses, attribute: str, levels: list[Levels], least: int
    ) -> None:
        self.classes, self.attribute = classes, attribute
        self.histogram = classes.histogram(attribute)
        self.levels = levels
        self.least = least
        self.cut_short = False

    def compare(
        self, distance: Distance, only: int | None = None
    ) -> Iterator[tuple[Ints, Distances]]:
        """For every level vector: the classes inside large enough groups, and their distances."""
        for vector in self._vectors():
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
            yield members, distance.against(self.histogram.take(members), reference)

    def _vectors(self) -> Iterator[tuple[int, ...]]:
        """Level vectors from the narrowest up, as many as can be afforded."""
        every = itertools.product(*(range(len(codes)) for codes in self.levels))
        total = int(np.prod([float(len(codes)) for codes in self.levels]))
        self.cut_short = total > MOST_NODES
        if not self.cut_short:
            yield from every
            return
        top = tuple(len(codes) - 1 for codes in self.levels)
        yield from itertools.islice(every, MOST_NODES - 1)
        yield top


def _climb(tree: Hierarchy, labels: tuple[str, ...], key: Ints) -> Levels:
    """Codes of the classes' values at each level of a hierarchy; a missing value stays itself."""
    missing = len(tree.labels)
    result = []
    for level in range(tree.levels):
        node = np.array([tree.node_at(label, level) for label in labels] + [missing], np.int64)
        result.append(node[key])
    result.append(np.zeros_like(key))
    return result


def _say_why(unseen: Sequence[str], cut_short: bool) -> str:
    if cut_short:
        return f"only {MOST_NODES:,} of the possible supersets were tried"
    columns = ", ".join(repr(name) for name in unseen)
    return f"without a hierarchy that knows every label of {columns}, supersets may exist unseen"
