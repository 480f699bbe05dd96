"""A table and a promise as a search sees them: integers, no frame and no raw value in sight."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.data.binding import BoundTable
from tclose.data.encode.cells import Cells
from tclose.data.encode.classes import Classes
from tclose.data.encode.persons import distinct_sizes
from tclose.kernels.base.table import CodedTable
from tclose.requirements import state_requirements
from tclose.requirements.constraint import Constraints
from tclose.search.compile.coded_table import make_coded_table
from tclose.search.compile.constraint_arrays import count_slots
from tclose.search.compile.constraints import compile_constraints
from tclose.search.objective import Aims, aims_of
from tclose.search.space_filling_curve import rank_along_curve
from tclose.utility import ColumnLoss, LossReport, code_quasi, partition_loss

Ints = NDArray[np.int64]
STRETCH = 4
"""Times k persons are looked at together to see how often a person's rows are near each other."""


@dataclass(frozen=True)
class Problem:
    """Cells with coded quasi-identifiers and sensitive values, and what every class must keep.

    A solution is a label per cell: the number of its class, or −1 for a cell that is left out.
    """

    codes: Ints
    """[cells, columns]: the quasi-identifiers, coded along what they are released as."""
    weight: Ints
    """[cells]: how many rows each cell stands for."""
    columns: tuple[ColumnLoss, ...]
    attributes: tuple[str, ...]
    """The sensitive attributes, in the order of `sensitive`."""
    sensitive: Ints
    """[cells, attributes]: −1 for a missing value that may be any value."""
    constraints: Constraints
    classes: Classes
    """The raw table's classes, from which the requirements themselves can judge any other."""
    aims: Aims = field(default_factory=Aims)
    """What is asked of a full-domain search beyond the promise."""

    @cached_property
    def rows(self) -> int:
        """How many rows the cells stand for."""
        return int(self.weight.sum())

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return len(self.weight)

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
    def drag(self) -> float:
        """How much slower a step of work is than on a small table, whose arrays fit the caches."""
        return min(float(max(self.cells / 50_000, 1.0) ** 0.45), 5.0)

    def loss(self, label: Ints) -> LossReport:
        """What a partition loses; a cell left out loses everything."""
        return partition_loss(self.columns, self.codes, self.weight, label)

    def coded_table(self, *, ordered: bool = True) -> CodedTable:
        """The problem laid out for the kernels, judged against the whole table.

        A search that suppresses rows changes the reference (`refer_to_released`), so each takes its
        own. Only stratified splits need the orders along the sensitive values.
        """
        return make_coded_table(
            self.columns, self.codes, self.weight, self.constraints, ordered=ordered
        )

    def refer_to_released(self, table: CodedTable, label: Ints) -> None:
        """Makes the released cells (label ≥ 0) what classes are compared with."""
        weights = np.where(label >= 0, self.constraints.masses(self.weight), 0)
        table.constraints.arrays.refer_to(count_slots(self.constraints, weights))

    def part(self, cells: Ints) -> Problem:
        """Some of the cells as a problem. Its classes are those of the whole table, so it cannot be
        judged by the requirements."""
        return replace(
            self,
            codes=self.codes[cells],
            weight=self.weight[cells],
            sensitive=self.sensitive[cells],
            constraints=self.constraints.of_cells(cells),
        )

    def natural_order(self) -> Ints:
        """The cells by their codes: an order that does not depend on how the engine counted."""
        columns = [*self.codes.T, *(self.sensitive.T + 1)]
        key, room = np.zeros(self.cells, dtype=np.int64), 1
        for column in columns:
            wide = int(column.max(initial=0)) + 1
            room *= wide
            if room >= 2**62:
                return np.lexsort(columns[::-1]).astype(np.int64)
            key = key * wide + column
        return np.argsort(key, kind="stable").astype(np.int64)

    def reordered(self, order: Ints) -> Problem:
        """The same problem with its cells in another order."""
        return replace(
            self,
            codes=self.codes[order],
            weight=self.weight[order],
            sensitive=self.sensitive[order],
            constraints=self.constraints.of_cells(order),
            classes=self.classes.of_cells(order),
        )


def problem_of(bound: BoundTable, population: Cells | None = None) -> Problem:
    """The search problem of a table that its policy is bound to."""
    quasi = code_quasi(bound)
    classes = bound.classes
    names = tuple(classes.attributes)
    sensitive = np.zeros((len(bound.cells.rows), len(names)), dtype=np.int64)
    for at, name in enumerate(names):
        sensitive[:, at] = classes.cell_codes[name]
    constraints = compile_constraints(state_requirements(bound, population), classes)
    if classes.persons is not None:
        lean = _share_per_person(classes, quasi.codes, constraints.k)
        constraints = replace(constraints, share_per_person=lean)
    return Problem(
        codes=quasi.codes,
        weight=bound.cells.rows.astype(np.int64),
        columns=quasi.columns,
        attributes=names,
        sensitive=sensitive,
        constraints=constraints,
        classes=classes,
        aims=aims_of(bound.policy.search),
    )


def _share_per_person(classes: Classes, codes: Ints, k: int) -> float:
    """How much of a person a class has, on the average of those who have rows in it.

    Looked up in stretches of a curve through the quasi-identifiers, each as large as a small class.
    """
    persons = classes.persons
    assert persons is not None
    stretches = max(persons.everyone // (STRETCH * max(k, 2)), 1)
    rank = rank_along_curve(codes, classes.cell_rows)[persons.cell]
    place = np.empty(len(rank), dtype=np.int64)
    place[np.argsort(rank, kind="stable")] = np.arange(len(rank)) * stretches // len(rank)
    owner = classes.cell_class[persons.cell]
    first = np.full(classes.count, stretches, dtype=np.int64)
    np.minimum.at(first, owner, place)
    met = int(distinct_sizes(first[owner], persons.who, stretches).sum())
    return persons.everyone / met
