"""What the compiled kernels check: constraints, compiled from the requirements of a policy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from tclose.arrays import Ints
from tclose.distance.ground import TreeMetric
from tclose.requirements.classes import Classes
from tclose.requirements.persons import Persons

if TYPE_CHECKING:
    from tclose.requirements.requirement import Requirement

LARGEST_WEIGHT = 2**50
"""What all rows may weigh together for the kernels to weigh them exactly; else it is rounded."""
MOST_SHARES = 10
"""Up to so many cells, a person is shared out among them without a remainder."""


class ConstraintKind(IntEnum):
    """The quantity that a constraint bounds; the kernels know the kinds by these numbers."""

    EMD = 0  # an earth mover's distance along a tree, from the table or from a superset
    DISTINCT = 1  # the number of different values, from below
    SHARE = 2  # the share of each protected value
    GAIN = 3  # the share of each value over its share in the table
    BAND = 4  # the share of each value, from both sides of its share in the table
    ENTROPY = 5  # the entropy, from below
    RECURSIVE = 6  # the commonest value over the l-th and all rarer ones
    KL = 7  # the Kullback-Leibler divergence from the table
    JS = 8  # the Jensen-Shannon divergence from the table


@dataclass(frozen=True)
class JudgedAttribute:
    """A judged distribution: that of one sensitive attribute, or of several taken together."""

    name: str
    codes: Ints
    """[cells]: the code of the value; −1 for a missing value that may be any value."""
    values: int
    whole: Ints | None = None
    """The counts in the whole table, where the cells are only a part of it."""
    mass: Ints | None = None
    """[cells]: what each cell adds to a class's histogram; None for its number of rows."""

    @property
    def hides(self) -> bool:
        """Whether some values are missing and may be any value."""
        return bool((self.codes < 0).any())

    def of_cells(self, cells: Ints) -> JudgedAttribute:
        """Returns the attribute of some cells, in the order given."""
        mass = None if self.mass is None else self.mass[cells]
        return replace(self, codes=self.codes[cells], mass=mass)


class AttributePool:
    """The attributes that constraints refer to, each listed once."""

    def __init__(self, classes: Classes) -> None:
        self.classes = classes
        self.fields: list[JudgedAttribute] = []

    def find(self, name: str) -> int:
        """Returns the number of a sensitive attribute; adds it if it is new."""
        classes = self.classes
        whole = None if classes.whole is None else classes.whole[name]
        values = classes.attributes[name].values
        return self.add(JudgedAttribute(name, classes.cell_codes[name], values, whole))

    def add(self, attribute: JudgedAttribute) -> int:
        """Returns the number of a judged distribution; adds it if it is new."""
        names = [field.name for field in self.fields]
        if attribute.name not in names:
            self.fields.append(attribute)
            return len(names)
        return names.index(attribute.name)


@dataclass(frozen=True)
class Constraint:
    """One bound on the distribution of a judged attribute, which a kernel checks of every class.

    `field` is the number of the attribute; `metric` the ground distance, if there is one.
    """

    kind: ConstraintKind
    field: int
    threshold: Fraction = Fraction(0)
    metric: TreeMetric | None = None
    l: int = 0
    protected: tuple[int, ...] | None = None
    spread: float | None = None
    """δ in natural units, for δ-disclosure; None for the logarithm of enhanced β-likeness."""
    absent: bool = False
    """Whether values that a class lacks are ignored."""
    need: int = 0
    """(n, t)-closeness: the least size of a superset to be close to; 0 otherwise."""


Compiled = tuple[Constraint, ...] | None
"""The constraints that together are a requirement; None where kernels cannot judge it."""


@dataclass(frozen=True)
class Constraints:
    """All conditions on every class: a least size, constraints, and the other requirements."""

    requirements: tuple[Requirement, ...]
    k: int
    fields: tuple[JudgedAttribute, ...]
    compiled: tuple[Constraint, ...]
    uncompiled: tuple[Requirement, ...] = ()
    """The requirements that are not compiled to constraints."""
    unit: int = 0
    """Largest mass per person; 0 if rows are counted. The last field then counts persons."""
    share_per_person: float = 1.0
    """The expected share of a unit that a class has of each of its persons."""
    exact: bool = True
    """Whether constraints count what the requirements count; if not, they only guide a search."""

    @property
    def monotone(self) -> bool:
        """Whether a union of classes that satisfy all this satisfies it too."""
        return all(requirement.capabilities.monotone for requirement in self.requirements)

    @property
    def supersets(self) -> bool:
        """Whether classes may be close to a superset instead of the table."""
        return any(constraint.need for constraint in self.compiled)

    @property
    def closeness(self) -> dict[int, Constraint]:
        """The constraints EMD ≤ t against the whole table, by their number."""
        return {
            at: constraint
            for at, constraint in enumerate(self.compiled)
            if constraint.kind == ConstraintKind.EMD and not constraint.need
        }

    @property
    def whole_columns(self) -> bool:
        """Whether a requirement can only be foreseen by searches that recode whole columns."""
        return any(requirement.capabilities.whole_columns for requirement in self.requirements)

    @property
    def base(self) -> Ints:
        """[fields + 1]: where each field begins in a class's histogram, and the total length."""
        return np.cumsum([0, *(field.values + 1 for field in self.fields)])

    def rows(self, weight: Ints) -> int:
        """Returns the total mass of the table that cells with these weights are compared with.

        With several fields, that of the field where it is largest.
        """
        wholes = [int(each.whole.sum()) for each in self.fields if each.whole is not None]
        return int(max([*self.masses(weight).sum(axis=1), *wholes]))

    @property
    def sensitive_fields(self) -> int:
        """The number of fields that are sensitive attributes."""
        return len(self.fields) - (self.unit > 0)

    def masses(self, weight: Ints) -> Ints:
        """Returns [1 or fields, cells]: what each cell adds to a field of a class's histogram.

        A single row holds for all fields.
        """
        given = [each.mass for each in self.fields]
        if not given or given[0] is None:
            return np.ascontiguousarray(weight, dtype=np.int64)[None]
        if all(mass is given[0] for mass in given):
            return np.ascontiguousarray(given[0])[None]
        return np.stack([mass for mass in given if mass is not None])

    def of_cells(self, cells: Ints) -> Constraints:
        """Returns the constraints of some cells, in the order given."""
        return replace(self, fields=tuple(each.of_cells(cells) for each in self.fields))

    def places(self, cells: int) -> Ints:
        """Returns [cells, fields]: the position in a class's histogram where each cell counts."""
        place = np.zeros((cells, len(self.fields)), dtype=np.int64)
        for at, each in enumerate(self.fields):
            place[:, at] = np.where(each.codes < 0, each.values, each.codes) + self.base[at]
        return place


def compile_constraints(requirements: Sequence[Requirement], classes: Classes) -> Constraints:
    """Compiles the requirements that kernels can judge: not those against `knows_others`."""
    attributes = AttributePool(classes)
    compiled: list[Constraint] = []
    uncompiled: list[Requirement] = []
    for requirement in requirements:
        made, limit = None, requirement.limit
        if requirement.adversary == "knows_class" and limit is not None:
            made = requirement.compile(attributes, Fraction(limit))
        if made is None:
            requirement.refuse_uncompiled()
            uncompiled.append(requirement)
        else:
            compiled += made
    k = max((each.capabilities.least_size for each in requirements), default=1)
    found = Constraints(
        tuple(requirements), k, tuple(attributes.fields), tuple(compiled), tuple(uncompiled)
    )
    if classes.persons is not None:
        return _count_persons(found, classes.persons, len(classes.cell_rows))
    if (weight := classes.cell_weight) is None:
        return found
    total = sum(weight.tolist())
    exact = total < LARGEST_WEIGHT
    if not exact:
        weight = np.maximum(weight.astype(object) * LARGEST_WEIGHT // total, 1).astype(np.int64)
    fields = tuple(replace(each, mass=weight) for each in found.fields)
    return replace(found, fields=fields, exact=exact)


def _count_persons(constraints: Constraints, persons: Persons, cells: int) -> Constraints:
    """The constraints with histograms in which persons are shared out among the cells they have.

    Numbers of persons do not add up, as the kernels add. But of one person's shares a class has at
    most the whole: so it has at least as many persons (with a value, too) as it has units, rounded
    up, and the table exactly so many. Where nobody has several cells all this is exact.
    """
    most = int(np.bincount(persons.who).max())
    unit = math.lcm(*range(1, min(most, MOST_SHARES) + 1))
    nobody = np.zeros(cells, dtype=np.int64)
    fields = [
        replace(
            each,
            mass=persons.shares(each.codes, unit),
            whole=None if each.whole is None else each.whole * unit,
        )
        for each in constraints.fields
    ]
    everyone = None if persons.whole is None else np.array([persons.whole * unit])
    mass = persons.shares(nobody, unit)
    fields.append(JudgedAttribute("persons", nobody, 1, mass=mass, whole=everyone))
    return replace(constraints, fields=tuple(fields), unit=unit, exact=not persons.scattered)
