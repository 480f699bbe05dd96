"""(n, t)-closeness: every class is near some natural superset of at least n rows.

A natural superset of a class holds all rows that fit a broader version of it. A release names one
for every class (`supersets`), and these are judged. Where none is named, each quasi-identifier is
tried at every level of its hierarchy; a column without a hierarchy (or with labels that the
hierarchy does not have) can only be kept or dropped. If none of these supersets is close, others
may exist that were not tried, and the answer is "not decided" instead of "fails".
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from tclose.arrays import Flags, Ints
from tclose.distance.emd import Reference
from tclose.distance.histogram import group_codes
from tclose.distance.numbers import Distances
from tclose.distance.registry import Attribute
from tclose.errors import PolicyError, Problem, UsageError
from tclose.hierarchy.tree import Hierarchy
from tclose.plain import classes_text
from tclose.requirements.classes import Classes
from tclose.requirements.closeness.supersets import Supersets
from tclose.requirements.closeness.t_closeness import Closeness, ClosenessField, TCloseness
from tclose.requirements.constraint import AttributePool, Compiled, Constraint, ConstraintKind
from tclose.requirements.requirement import (
    Capabilities,
    Measurement,
    ProposedCells,
    Requirement,
    Table,
    write_number,
)

MOST_NODES = 20_000

Levels = list[Ints]


@dataclass(frozen=True)
class NTCloseness(Closeness):
    """Some superset S of at least n rows has D[class, S] ≤ t. Merging classes can break this."""

    name = "(n,t)-closeness"
    key = "n"
    sentence = (
        "In every class the spread of {about} is as close to that of some large part of the table "
        "as promised ({required}), {by}."
    )
    suggested = False

    n: int
    trees: Mapping[str, Hierarchy] = field(default_factory=dict)
    named: Supersets | None = None
    """The superset that a release names for each class, if it names any."""

    @property
    def capabilities(self) -> Capabilities:
        """Not monotone: two classes may be close to their supersets, and their union to none."""
        return Capabilities(
            monotone=False, self_contained=False, whole_table=True, least_table=self.n
        )

    @property
    def required(self) -> str | None:
        """Returns n and t as text."""
        return f"n={self.n}, t={write_number(self.limit)}"

    def measure(self, classes: Classes) -> Measurement:
        """Measures the distance of every class to its named superset, or to the nearest one."""
        if self.named is not None:
            return self.measure_named(classes, self.named)
        return self.measure_along(classes, *self._find_levels(classes))

    def measure_proposed(self, classes: Classes, cells: ProposedCells) -> Measurement | None:
        """Measures by the supersets that a search names, or along the levels of its proposal."""
        if cells.supersets is not None:
            return self.measure_named(classes, cells.supersets[self.attribute])
        return None if cells.climbs is None else self.measure_along(classes, cells.climbs)

    def compile(self, attributes: AttributePool, limit: Fraction) -> Compiled:
        """Bounds the distance from a superset, for searches that know the supersets."""
        if (tree := self.measure_by.tree) is None:
            return None
        at = attributes.find(self.attribute)
        return (Constraint(ConstraintKind.EMD, at, limit, tree, need=self.n),)

    def refuse_uncompiled(self) -> None:
        """Raises UsageError: only a constraint can tell a search which supersets to look at."""
        raise UsageError(
            f"(n, t)-closeness by {self.distance} can be audited, not searched for",
            where=f"columns.{self.attribute}.distance",
            hint="use ordered, numeric, equal or hierarchical",
        )

    def against_table(self) -> Requirement:
        """Returns the distance from the table as a requirement; it may be larger than t."""
        return TCloseness(self.attribute, self.measure_by, adversary=self.adversary)

    @classmethod
    def from_column(cls, stated: int, values: Attribute, table: Table) -> tuple[Requirement, ...]:
        """Returns the requirement of `t = 0.2` with `n = 1000`."""
        column = table.policy.columns[values.name]
        assert isinstance(column, ClosenessField)
        quasi = [table.policy.columns[name] for name in table.policy.quasi]
        if any(each.missing == "any" for each in (column, *quasi)):
            what = '(n, t)-closeness is not defined where a missing value may be "any" value'
            raise PolicyError([Problem(f"columns.{values.name}.n", what, 'say missing = "value"')])
        distance, _ = values.distance()
        return (cls(values.name, distance, stated, table.hierarchies, limit=column.t),)

    def name_supersets(self, supersets: Mapping[str, Supersets]) -> Requirement:
        """Returns the requirement judged by the supersets that a release names."""
        if self.adversary == "knows_others" or self.attribute not in supersets:
            return self
        return replace(self, named=supersets[self.attribute])

    def choose_supersets(
        self, classes: Classes, natural: Sequence[Ints], climbs: list[Levels] | None
    ) -> Supersets:
        """Chooses for every class the smallest natural superset that it is close to, if any.

        With `climbs` (the levels of a full-domain recoding) it takes the first along the levels
        instead.
        """
        assert self.limit is not None
        if climbs is not None:
            return self._choose_along(classes, climbs)
        of_class = np.full(classes.count, -1, dtype=np.int64)
        chosen: list[Ints] = []
        size = [self._count_members(classes, members) for members in natural]
        for at in np.argsort(size, kind="stable").tolist():
            todo = natural[at][of_class[natural[at]] < 0]
            if size[at] < self.n or not len(todo):
                continue
            found = self._compare_with(classes, todo, [natural[at]], np.zeros_like(todo))
            close = todo[found.within(Fraction(self.limit))]
            if len(close):
                of_class[close] = len(chosen)
                chosen.append(natural[at])
        return Supersets(of_class, tuple(chosen))

    def _choose_along(self, classes: Classes, climbs: list[Levels]) -> Supersets:
        assert self.limit is not None
        of_class = np.full(classes.count, -1, dtype=np.int64)
        chosen: list[Ints] = []
        todo = np.ones(classes.count, dtype=bool)
        for label, members, distances in self._compare(classes, climbs, todo):
            close = members[distances.within(Fraction(self.limit))]
            todo[close] = False
            for group in np.unique(label[close]).tolist():
                of_class[close[label[close] == group]] = len(chosen)
                chosen.append(np.flatnonzero(label == group))
        return Supersets(of_class, tuple(chosen))

    def measure_named(self, classes: Classes, named: Supersets) -> Measurement:
        """Measures the distance of every class to its named superset; infinite if that is invalid.

        A class must have a superset that is natural, covers it, and has at least n rows.
        """
        value = np.full(classes.count, np.inf)
        fails = np.ones(classes.count, dtype=bool)
        faults = {"no superset": int((named.of_class < 0).sum())}
        large: list[Ints] = []
        place = np.full(len(named.members) + 1, -1, dtype=np.int64)  # last: classes without one
        covered = np.zeros(classes.count, dtype=bool)
        for at, members in enumerate(named.members):
            mine = np.flatnonzero(named.of_class == at)
            fault = ""
            if members is None:
                fault = "a superset that is not natural: its box cuts through a class"
            elif self._count_members(classes, members) < self.n:
                fault = f"a superset of fewer than {self.n:,}"
            else:
                covered[np.intersect1d(mine, members)] = True
                place[at] = len(large)
                large.append(members)
            if fault:
                faults[fault] = faults.get(fault, 0) + len(mine)
        outside = (place[named.of_class] >= 0) & ~covered
        faults["a superset that does not cover the class"] = int(outside.sum())
        some = np.flatnonzero(covered)
        if len(some):
            found = self._compare_with(classes, some, large, place[named.of_class[some]])
            value[some] = found.value
            fails[some] = False if self.limit is None else ~found.within(Fraction(self.limit))
        worst = int(np.argmax(value))
        note = "; ".join(
            f"{classes_text(count)} {'names' if count == 1 else 'name'} {what}"
            for what, count in faults.items() if count
        )  # fmt: skip
        exact = found.exact(int(np.searchsorted(some, worst))) if covered[worst] else None
        return self.conclude(value, fails, worst, float(value[worst]), exact, note)

    def _count_members(self, classes: Classes, members: Ints) -> int:
        """Counts the rows, or persons, of some classes together."""
        label = np.full(classes.count, -1, dtype=np.int64)
        label[members] = 0
        return int(classes.sizes(label, 1)[0])

    def _compare_with(
        self, classes: Classes, some: Ints, supersets: Sequence[Ints], of_class: Ints
    ) -> Distances:
        """Measures the distance of each of some classes to one of the supersets."""
        counts = []
        for members in supersets:
            label = np.full(classes.count, -1, dtype=np.int64)
            label[members] = 0
            counts.append(classes.merge_histogram(self.attribute, label, 1).dense()[0])
        reference = Reference(np.stack(counts), of_class)
        return self.measure_by.against(classes.histogram(self.attribute).take(some), reference)

    def measure_along(
        self, classes: Classes, levels: list[Levels], unseen: Sequence[str] = ()
    ) -> Measurement:
        """Measures the distance of every class to its nearest superset along the levels.

        `levels` has the codes of each quasi-identifier at each level; `unseen` are the columns
        whose levels are not all known.
        """
        value = np.full(classes.count, np.inf)
        close = np.full(classes.count, self.limit is None)
        for _, members, distances in self._compare(classes, levels, np.ones_like(close)):
            value[members] = np.minimum(value[members], distances.value)
            if self.limit is not None:
                close[members] |= distances.within(Fraction(self.limit))
        worst, fails = int(np.argmax(value)), ~close
        note = ""
        # No superset, seen or unseen, is larger than the table.
        if fails.any() and self.n <= classes.everyone:
            if math.prod(map(len, levels)) > MOST_NODES:
                note = f"only {MOST_NODES:,} of the possible supersets were tried"
            elif unseen:
                columns = ", ".join(repr(name) for name in unseen)
                note = (
                    f"without a hierarchy that knows every label of {columns}, supersets may exist "
                    "unseen; a release's certificate names them"
                )
        only = np.arange(classes.count) == worst
        nearest = [each.exact(0) for _, _, each in self._compare(classes, levels, only)]
        known = [distance for distance in nearest if distance is not None]
        exact = min(known, default=None) if len(known) == len(nearest) else None
        measured = self.conclude(value, fails, worst, float(value[worst]), exact, note)
        return replace(measured, decided=not note)

    def _compare(
        self, classes: Classes, levels: list[Levels], some: Flags
    ) -> Iterator[tuple[Ints, Ints, Distances]]:
        """Yields, for every vector of levels, the group of each class and the distances to groups.

        Per vector: the group of each class, the classes in groups of at least n, and the distances
        of these to their groups. Only the classes flagged in `some` count; the caller may clear
        flags between two steps.
        """
        histogram = classes.histogram(self.attribute)
        for codes in _list_vectors(levels):
            if not some.any():
                return
            label, first = group_codes(codes)
            large = classes.sizes(label, len(first)) >= self.n
            members = np.flatnonzero(large[label] & some)
            if not len(members):
                continue
            groups, of_class = np.unique(label[members], return_inverse=True)
            place = np.full(len(first), -1, dtype=np.int64)
            place[groups] = np.arange(len(groups))
            merged = classes.merge_histogram(self.attribute, place[label], len(groups))
            reference = Reference(merged.dense(), of_class.astype(np.int64))
            yield label, members, self.measure_by.against(histogram.take(members), reference)

    def _find_levels(self, classes: Classes) -> tuple[list[Levels], list[str]]:
        """Returns the codes of each column at each of its levels, and columns without levels."""
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
    """Returns the node of each label at a level of a hierarchy; a missing value stays itself."""
    above = [tree.index(tree.generalize(label, level)) for label in labels]
    return np.array([*above, len(tree.labels)], np.int64)


def _list_vectors(levels: list[Levels]) -> Iterator[tuple[Ints, ...]]:
    """Yields vectors of levels from the finest, at most MOST_NODES of them, the coarsest last."""
    every = itertools.product(*levels)
    if math.prod(map(len, levels)) <= MOST_NODES:
        return every
    top = tuple(codes[-1] for codes in levels)
    return itertools.chain(itertools.islice(every, MOST_NODES - 1), [top])
