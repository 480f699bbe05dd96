"""A table and a promise as a search sees them: integers, no frame and no raw value in sight."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.data.binding import BoundTable
from tclose.data.encode.cells import Cells
from tclose.data.encode.classes import Classes
from tclose.data.encode.persons import Persons, distinct_sizes
from tclose.distance.histogram import Counts
from tclose.kernels.base.table import CodedTable
from tclose.policy.model import SearchSettings
from tclose.requirements import Requirement, state_requirements
from tclose.requirements.constraint import AttributePool, Constraint, Constraints, JudgedAttribute
from tclose.search.curve import rank_along_curve
from tclose.search.kernel_arrays import count_slots, make_coded_table
from tclose.utility.loss import ColumnLoss, LossReport, code_quasi, partition_loss

Ints = NDArray[np.int64]
STRETCH = 4
"""Times k persons are looked at together to see how often a person's rows are near each other."""
LARGEST_WEIGHT = 2**50
"""What all rows may weigh together for the kernels to weigh them exactly."""
MOST_SHARES = 10
"""Up to so many cells, a person is shared out among them without a remainder."""


@dataclass(frozen=True)
class Objective:
    """What a full-domain search makes least: a loss, what each column counts, and which levels.

    >>> Objective().given
    ()
    >>> Objective(loss="discernibility").given
    ('loss',)
    """

    loss: str = "iyengar"
    weights: Mapping[str, Fraction] = field(default_factory=dict)
    """What a column counts, by its name; 1 where it is not named."""
    levels: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """The lowest and the highest level of a column, by its name."""
    memory: int = 256 << 20
    """Bytes that groupings may take."""

    @classmethod
    def of_policy(cls, search: SearchSettings) -> Objective:
        """What a policy's `[search]` states."""
        weights, levels = dict(search.weights or {}), dict(search.levels or {})
        return cls(search.loss or "iyengar", weights, levels, search.megabytes << 20)

    @property
    def given(self) -> tuple[str, ...]:
        """What is not the usual, by its name in a policy."""
        usual = {"loss": "iyengar", "weights": {}, "levels": {}}
        return tuple(name for name, value in usual.items() if getattr(self, name) != value)


@dataclass(frozen=True)
class SearchProblem:
    """Cells with coded quasi-identifiers and sensitive values, and what every class must keep.

    A solution is a label per cell: the number of its class, or −1 for a cell that is left out.
    """

    codes: Ints
    """[cells, columns]: the quasi-identifiers, coded along what they are released as."""
    rows: Ints
    """[cells]: how many rows each cell stands for."""
    columns: tuple[ColumnLoss, ...]
    attributes: tuple[str, ...]
    """The sensitive attributes, in the order of `sensitive`."""
    sensitive: Ints
    """[cells, attributes]: −1 for a missing value that may be any value."""
    constraints: Constraints
    classes: Classes
    """The raw table's classes, from which the requirements themselves can judge any other."""
    objective: Objective = field(default_factory=Objective)
    """What is asked of a full-domain search beyond the promise."""

    @cached_property
    def n_rows(self) -> int:
        """How many rows the cells stand for."""
        return int(self.rows.sum())

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return len(self.rows)

    @property
    def monotone(self) -> bool:
        """Whether merging classes that keep the promise gives a class that keeps it."""
        requirements = self.constraints.requirements
        return self.constraints.monotone and (
            not self.overlaps or all(each.capabilities.overlapping for each in requirements)
        )

    @property
    def overlaps(self) -> bool:
        """Whether classes may have persons in common."""
        persons = self.classes.persons
        return persons is not None and persons.scattered

    @property
    def cache_penalty(self) -> float:
        """How much slower a step of work is than on a small table, whose arrays fit the caches."""
        return min(float(max(self.n_cells / 50_000, 1.0) ** 0.45), 5.0)

    def loss(self, label: Ints) -> LossReport:
        """What a partition loses; a cell left out loses everything."""
        return partition_loss(self.columns, self.codes, self.rows, label)

    def make_coded_table(self, *, ordered: bool = True) -> CodedTable:
        """The problem laid out for the kernels, judged against the whole table.

        A search that suppresses rows changes the reference (`refer_to_released`), so each takes its
        own. Only stratified splits need the orders along the sensitive values.
        """
        return make_coded_table(
            self.columns, self.codes, self.rows, self.constraints, ordered=ordered
        )

    def refer_to_released(self, table: CodedTable, label: Ints) -> None:
        """Makes the released cells (label ≥ 0) what classes are compared with."""
        weights = np.where(label >= 0, self.constraints.masses(self.rows), 0)
        table.constraints.arrays.refer_to(count_slots(self.constraints, weights))

    def part(self, cells: Ints) -> SearchProblem:
        """Some of the cells as a problem. Its classes are those of the whole table, so it cannot be
        judged by the requirements."""
        return replace(
            self,
            codes=self.codes[cells],
            rows=self.rows[cells],
            sensitive=self.sensitive[cells],
            constraints=self.constraints.of_cells(cells),
        )

    def reorder(self, order: Ints) -> SearchProblem:
        """The same problem with its cells in another order."""
        return replace(self.part(order), classes=self.classes.of_cells(order))

    def natural_order(self) -> Ints:
        """The cells by their codes: an order that does not depend on how the engine counted."""
        columns = [*self.codes.T, *(self.sensitive.T + 1)]
        key, room = np.zeros(self.n_cells, dtype=np.int64), 1
        for column in columns:
            wide = int(column.max(initial=0)) + 1
            room *= wide
            if room >= 2**62:
                return np.lexsort(columns[::-1]).astype(np.int64)
            key = key * wide + column
        return np.argsort(key, kind="stable").astype(np.int64)


def problem_of(bound: BoundTable, population: Cells | None = None) -> SearchProblem:
    """The search problem of a table that its policy is bound to."""
    quasi, classes = code_quasi(bound), bound.classes
    names = tuple(classes.attributes)
    sensitive = np.zeros((len(bound.cells.rows), len(names)), dtype=np.int64)
    for at, name in enumerate(names):
        sensitive[:, at] = classes.cell_codes[name]
    constraints = compile_constraints(state_requirements(bound, population), classes)
    if classes.persons is not None:
        share = _measure_share_per_person(classes, classes.persons, quasi.codes, constraints.k)
        constraints = replace(constraints, share_per_person=share)
    return SearchProblem(
        codes=quasi.codes,
        rows=bound.cells.rows.astype(np.int64),
        columns=quasi.columns,
        attributes=names,
        sensitive=sensitive,
        constraints=constraints,
        classes=classes,
        objective=Objective.of_policy(bound.policy.search),
    )


def _measure_share_per_person(classes: Classes, persons: Persons, codes: Ints, k: int) -> float:
    """How much of a person a class has, on the average of those who have rows in it.

    Looked up in stretches of a curve through the quasi-identifiers, each as large as a small class.
    """
    stretches = max(persons.everyone // (STRETCH * max(k, 2)), 1)
    rank = rank_along_curve(codes, classes.cell_rows)[persons.cell]
    place = np.empty(len(rank), dtype=np.int64)
    place[np.argsort(rank, kind="stable")] = np.arange(len(rank)) * stretches // len(rank)
    owner = classes.cell_class[persons.cell]
    first = np.full(classes.count, stretches, dtype=np.int64)
    np.minimum.at(first, owner, place)
    met = int(distinct_sizes(first[owner], persons.who, stretches).sum())
    return persons.everyone / met


def compile_constraints(requirements: Sequence[Requirement], classes: Classes) -> Constraints:
    """Compiles what can be compiled; kernels do not know what an adversary knows of others."""
    attributes = AttributePool(classes)
    compiled: list[Constraint] = []
    uncompiled: list[Requirement] = []
    for requirement in requirements:
        is_plain = requirement.adversary == "knows_class"
        made = requirement.compile(attributes) if is_plain else None
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
    return found if classes.cell_weight is None else _weigh_rows(found, classes.cell_weight)


def _weigh_rows(constraints: Constraints, weight: Counts) -> Constraints:
    """The constraints with weighted histograms; weights that are too large are rounded."""
    total = sum(weight.tolist())
    exact = total < LARGEST_WEIGHT
    if not exact:
        weight = np.maximum(weight.astype(object) * LARGEST_WEIGHT // total, 1).astype(np.int64)
    fields = tuple(replace(each, mass=weight) for each in constraints.fields)
    return replace(constraints, fields=fields, exact=exact)


def _count_persons(constraints: Constraints, persons: Persons, cells: int) -> Constraints:
    """The constraints with histograms in which persons are shared out among the cells they have.

    Numbers of persons do not add up, as the kernels add. But of one person's shares a class has at
    most the whole: so it has at least as many persons as it has units, rounded up. Likewise it has
    at least so many persons with a value, and the table exactly so many. Where nobody has several
    cells all this is exact.
    """
    most = int(np.bincount(persons.who).max())
    unit = math.lcm(*range(1, min(most, MOST_SHARES) + 1))
    nobody = np.zeros(cells, dtype=np.int64)
    fields = [replace(each, mass=persons.shares(each.codes, unit)) for each in constraints.fields]
    fields.append(JudgedAttribute("persons", nobody, 1, mass=persons.shares(nobody, unit)))
    return replace(constraints, fields=tuple(fields), unit=unit, exact=not persons.scattered)
