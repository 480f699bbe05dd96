"""From requirements to the constraints that kernels check, and a list of what has none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.classes import Classes
from tclose.data.encode.persons import Persons
from tclose.distance.histogram import Counts
from tclose.requirements import Requirement
from tclose.requirements.constraint import (
    AttributePool,
    Constraint,
    Constraints,
    JudgedAttribute,
)

Ints = NDArray[np.int64]
LARGEST = 2**50
"""What all rows may weigh together for the kernels to weigh them exactly."""
FINEST = 10
"""Up to so many cells, a person is shared out among them without a remainder."""


def compile_constraints(requirements: Sequence[Requirement], classes: Classes) -> Constraints:
    """Compiles what can be compiled; kernels do not know what an adversary knows of others."""
    attributes = AttributePool(classes)
    compiled: list[Constraint] = []
    uncompiled: list[Requirement] = []
    for requirement in requirements:
        made = None
        if requirement.adversary == "knows_class":
            made = requirement.compile(attributes)
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
        return _by_persons(found, classes.persons, len(classes.cell_rows))
    return found if classes.cell_weight is None else _by_mass(found, classes.cell_weight)


def _by_mass(constraints: Constraints, mass: Counts) -> Constraints:
    """The constraints with weighted histograms; masses that are too large are rounded."""
    total = sum(mass.tolist())
    exact = total < LARGEST
    if not exact:
        mass = np.maximum(mass.astype(object) * LARGEST // total, 1).astype(np.int64)
    fields = tuple(replace(each, mass=mass) for each in constraints.fields)
    return replace(constraints, fields=fields, exact=exact)


def _by_persons(constraints: Constraints, persons: Persons, cells: int) -> Constraints:
    """The constraints with histograms in which persons are shared out among the cells they have.

    Numbers of persons do not add up, as the kernels add. But of one person's shares a class has at
    most the whole: so it has at least as many persons as it has units, rounded up. Likewise it has
    at least so many persons with a value, and the table exactly so many. Where nobody has several
    cells all this is exact.
    """
    most = int(np.bincount(persons.who).max())
    unit = math.lcm(*range(1, min(most, FINEST) + 1))
    nobody = np.zeros(cells, dtype=np.int64)
    fields = [replace(each, mass=persons.shares(each.codes, unit)) for each in constraints.fields]
    fields.append(JudgedAttribute("persons", nobody, 1, mass=persons.shares(nobody, unit)))
    return replace(constraints, fields=tuple(fields), unit=unit, exact=not persons.scattered)
