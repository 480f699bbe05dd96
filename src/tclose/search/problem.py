"""A table and a promise as a search sees them: integers, no frame and no raw value in sight.

A `SearchProblem` can have any partition of its cells judged by the requirements themselves: that is
slower than the compiled constraints, and the last word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from tclose.arrays import Flags, Floats, Ints
from tclose.data.binding import BoundTable
from tclose.data.encode.cells import Cells
from tclose.distance.histogram import Counts, group_codes
from tclose.kernels.base.constraints import ConstraintSet
from tclose.kernels.base.table import CodedTable
from tclose.requirements import (
    Measurement,
    ProposedCells,
    Requirement,
    compile_constraints,
    evaluate,
    failing_classes,
    state_requirements,
)
from tclose.requirements.classes import Classes
from tclose.requirements.closeness.supersets import Supersets
from tclose.requirements.constraint import Constraints
from tclose.requirements.persons import Persons
from tclose.search.curve import rank_along_curve
from tclose.search.kernel_arrays import FORBIDDEN, ConstraintArrays, TableArrays, count_slots
from tclose.utility.loss import ColumnLoss, LossReport, code_quasi, ends, partition_loss
from tclose.utility.target import Target, weigh_by_target

Climbs = list[list[Ints]] | None
"""The codes of every class at each level of each column: the supersets of (n, t)-closeness."""
NamedSupersets = Mapping[str, Supersets]
"""By sensitive attribute, the superset that each class is close to."""
STRETCH = 4
"""Times k persons are looked at together to see how often a person's rows are near each other."""


@dataclass(frozen=True)
class Objective:
    """What a search minimizes: a loss, the weights of columns, and the allowed levels."""

    loss: str = "iyengar"
    weights: Mapping[str, Fraction] = field(default_factory=dict)
    """What a column counts, by its name; 1 where it is not named."""
    target: Target | None = None
    """The column that is to be learned from the release; it is in the weights already."""
    levels: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """The lowest and the highest level of a column, by its name."""
    memory: int = 256 << 20
    """Bytes that groupings may take."""
    stars: bool = False
    """Whether single cells are suppressed and nothing is generalized."""

    @property
    def given(self) -> tuple[str, ...]:
        """The parts of the objective that only full-domain searches support, by policy key."""
        usual = {"loss": "iyengar", "levels": {}}
        return tuple(name for name, value in usual.items() if getattr(self, name) != value)


@dataclass(frozen=True)
class SearchProblem:
    """Cells with coded quasi-identifiers and sensitive values, and the constraints of every class.
    A solution is a label per cell: its class number, or −1 if the cell is left out.
    """

    codes: Ints
    """[cells, columns]: the quasi-identifiers, coded along what they are released as."""
    rows: Ints
    """[cells]: how many rows each cell stands for."""
    columns: tuple[ColumnLoss, ...]
    constraints: Constraints
    classes: Classes
    """The raw table's classes, from which the requirements themselves can judge any other."""
    objective: Objective = field(default_factory=Objective)
    """What is asked of a search beyond the promise."""

    @cached_property
    def sensitive(self) -> Ints:
        """[cells, attributes]: −1 for a missing value that may be any value."""
        codes = [self.classes.cell_codes[name] for name in self.classes.attributes]
        return np.array(codes, dtype=np.int64).reshape(len(codes), self.n_cells).T

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

    def loss(self, label: Ints) -> LossReport:
        """The loss of a partition; a cell that is left out loses everything."""
        return partition_loss(self.columns, self.codes, self.rows, label)

    @cached_property
    def weights(self) -> Floats:
        """The weight of each column, 1 on average."""
        given = self.objective.weights
        each = [given.get(column.name, Fraction(1)) for column in self.columns]
        mean = sum(each, Fraction(0)) / max(len(each), 1) or Fraction(1)
        return np.array([float(weight / mean) for weight in each])

    def cost(self, label: Ints) -> float:
        """What a search minimizes: the weighted loss, and more than any loss for rows too wide."""
        report = self.loss(label)
        cost = report.overall
        if self.objective.weights:
            cost = float(np.mean(self.weights * list(report.columns.values())))
        if self.limited:
            wide = np.append(self.find_too_wide(label).any(axis=1), False)
            cost += FORBIDDEN * float(self.rows[wide[label]].sum()) / max(self.n_rows, 1)
        return cost

    @property
    def limited(self) -> list[int]:
        """The columns that may not be generalized at will."""
        return [at for at, column in enumerate(self.columns) if column.reach is not None]

    def find_too_wide(self, label: Ints) -> Flags:
        """[classes, columns]: which classes are wider than their columns may be."""
        kept = np.flatnonzero(label >= 0)
        classes = int(label.max(initial=-1)) + 1
        wide = np.zeros((classes, len(self.columns)), dtype=bool)
        for at in self.limited:
            column = self.columns[at]
            low, high = ends(self.codes[kept, at], label[kept], classes, column.values)
            wide[:, at] = ~column.allows(low, high)
        return wide

    @cached_property
    def blocks(self) -> Ints:
        """The widest classes that could be allowed: rows that no class may have together are apart.
        Whatever keeps to the limits divides them further."""
        codes = [np.zeros(self.n_cells, dtype=np.int64)]
        for at in self.limited:
            reach = self.columns[at].reach
            assert reach is not None
            fresh = np.arange(1, len(reach)) > np.maximum.accumulate(reach)[:-1]
            codes.append(np.append(0, np.cumsum(fresh))[self.codes[:, at]])
        return number_classes(group_codes(codes)[0])

    def make_coded_table(self, *, ordered: bool = True) -> CodedTable:
        """The problem laid out for the kernels, judged against the whole table.

        A search that suppresses rows changes the reference (`refer_to_released`), so each takes its
        own. Only stratified splits need the orders along the sensitive values.
        """
        constraints, total = self.constraints, self.constraints.rows(self.rows)
        made = ConstraintArrays(constraints, constraints.compiled, total)
        made.refer_to(count_slots(constraints, constraints.masses(self.rows)))
        arrays = TableArrays(
            self.columns, self.codes, self.rows, constraints, self.weights, ordered=ordered
        )
        return CodedTable(arrays, ConstraintSet(made))

    def refer_to_released(self, table: CodedTable, label: Ints) -> None:
        """Compares classes with the distribution of the released cells (label ≥ 0)."""
        weights = np.where(label >= 0, self.constraints.masses(self.rows), 0)
        table.constraints.arrays.refer_to(count_slots(self.constraints, weights))

    def part(self, cells: Ints) -> SearchProblem:
        """Some of the cells, compared with the whole table; only constraints judge them."""
        return replace(
            self,
            codes=self.codes[cells],
            rows=self.rows[cells],
            constraints=self.constraints.of_cells(cells),
        )

    def reorder(self, order: Ints) -> SearchProblem:
        """The problem with its cells in another order."""
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

    def find_failing(
        self, label: Ints, climbs: Climbs = None, supersets: NamedSupersets | None = None
    ) -> Flags:
        """Which classes of a labelling break a requirement; cells labelled −1 are not released.
        Without `climbs` or `supersets`, (n, t)-closeness is not judged."""
        proposed = self._propose(label, climbs, supersets)
        return failing_classes(self.constraints.requirements, *proposed)

    def choose_supersets(
        self, label: Ints, natural: Sequence[Ints] = (), climbs: Climbs = None
    ) -> NamedSupersets:
        """By promise of (n, t)-closeness, a superset for every class that has one among some."""
        classes, _ = self._propose(label)
        found = {}
        for requirement in self.constraints.requirements:
            chosen = requirement.choose_supersets(classes, natural, climbs)
            if chosen is not None and requirement.attribute is not None:
                found[requirement.attribute] = chosen
        return found

    def measure(self, requirement: Requirement, label: Ints | None = None) -> Measurement | None:
        """What a partition attains, by default one class; None if its classes do not say."""
        label = np.zeros(self.n_cells, dtype=np.int64) if label is None else label
        classes, proposal = self._propose(label)
        found = evaluate([requirement], classes, proposal=proposal)
        return next((each.measured for each in found), None)

    def _propose(
        self, label: Ints, climbs: Climbs = None, supersets: NamedSupersets | None = None
    ) -> tuple[Classes, ProposedCells]:
        """The classes of a labelling, from the cells that it keeps."""
        kept = np.flatnonzero(label >= 0)
        count = int(label.max(initial=-1)) + 1
        if climbs is None and self.foresees_columns:
            climbs = [[code] for code in self._code_stars(kept, label[kept], count)]
        proposal = ProposedCells(self.classes.cell_class[kept], label[kept], climbs, supersets)
        return _regroup(self.classes.of_cells(kept), label[kept], count), proposal

    @property
    def foresees_columns(self) -> bool:
        """Whether the released values of a class follow from its cells: a value, or a star."""
        return self.objective.stars and self.constraints.whole_columns

    def _code_stars(self, cells: Ints, label: Ints, count: int) -> Iterator[Ints]:
        """By column, the code that each class is released as; after all values: a star."""
        for column, codes in zip(self.columns, self.codes[cells].T, strict=True):
            low, high = ends(codes, label, count, column.values)
            yield np.where(low == high, low, column.values)

    def breaks_uncompiled(self, parts: Sequence[Ints]) -> bool:
        """Whether one of some classes, given by their cells, breaks a requirement that cannot be
        compiled. No row is left out.

        It is enough to show them with all other rows as one more class: histograms are all that
        counts, and the table's distribution is the sum of them; unless persons are counted, whose
        numbers do not add up.
        """
        of_part = np.repeat(np.arange(len(parts)), [len(cells) for cells in parts])
        cells = np.concatenate(parts)
        if self.classes.persons is None:
            classes = self._add_rest(of_part, cells, len(parts))
        else:
            label = np.full(self.n_cells, len(parts), dtype=np.int64)
            label[cells] = of_part
            classes, _ = self._propose(label)
        proposal = ProposedCells(self.classes.cell_class[cells], of_part, None)
        broken = failing_classes(self.constraints.uncompiled, classes, proposal)
        return bool(broken[: len(parts)].any())

    @cached_property
    def _tuples(self) -> tuple[Ints, Ints, dict[str, Counts]]:
        """Each cell's sensitive tuple, a cell of each tuple, and its rows and weight."""
        label, first = np.zeros(self.n_cells, dtype=np.int64), np.zeros(1, dtype=np.int64)
        if self.classes.attributes:
            label, first = group_codes(list(self.sensitive.T))
        totals = {}
        for name in ("cell_rows", "cell_weight"):
            if (counts := getattr(self.classes, name)) is not None:
                totals[name] = np.zeros(len(first), dtype=counts.dtype)
                np.add.at(totals[name], label, counts)
        return label, first, totals

    def _add_rest(self, owner: Ints, cells: Ints, parts: int) -> Classes:
        """Some cells in so many parts, and all others as one further class. Rows and weights are
        additive, so the others have the remainder of every combination of sensitive values.
        """
        of_cell, first, totals = self._tuples
        rests = {name: total.copy() for name, total in totals.items()}
        for name, rest in rests.items():
            np.subtract.at(rest, of_cell[cells], getattr(self.classes, name)[cells])
        there = np.flatnonzero(rests["cell_rows"])
        counts = {
            name: np.concatenate([getattr(self.classes, name)[cells], rest[there]])
            for name, rest in rests.items()
        }
        both = replace(
            self.classes.of_cells(np.concatenate([cells, first[there]])),
            cell_rows=counts["cell_rows"],
            cell_weight=counts.get("cell_weight"),
        )
        number = np.concatenate([owner, np.full(len(there), parts)])
        return _regroup(both, number, parts + (len(there) > 0))


def _regroup(classes: Classes, owner: Ints, count: int) -> Classes:
    """The cells of some classes in others: `owner[cell]` of so many."""
    every = np.arange(count)
    key = np.zeros((count, len(classes.quasi)), dtype=np.int64)
    return replace(classes, key=key, cell_class=owner, view_of=every, class_of=every, origin=every)


def problem_of(
    bound: BoundTable, population: Cells | None = None, target: str | None = None
) -> SearchProblem:
    """The search problem of a bound table, for the policy's target if no other is named."""
    quasi, classes, search = code_quasi(bound), bound.classes, bound.policy.search
    if classes.persons is not None and classes.persons.are_rows(bound.cells.rows):
        classes = replace(classes, persons=None)  # who has one row each is counted as rows
    constraints = compile_constraints(state_requirements(bound, population), classes)
    if classes.persons is not None:
        share = _measure_share_per_person(classes, classes.persons, quasi.codes, constraints.k)
        constraints = replace(constraints, share_per_person=share)
    weights, levels = dict(search.weights or {}), dict(search.levels or {})
    aim, target = None, target or search.target
    if target is not None:
        aim = weigh_by_target(bound, quasi, target)
        weights = {name: weights.get(name, 1) * each for name, each in aim.weights.items()}
    return SearchProblem(
        codes=quasi.codes,
        rows=bound.cells.rows.astype(np.int64),
        columns=quasi.columns,
        constraints=constraints,
        classes=classes,
        objective=Objective(
            search.loss or "iyengar",
            weights,
            aim,
            levels,
            search.megabytes << 20,
            stars=bound.policy.release.suppresses_cells,
        ),
    )


def _measure_share_per_person(classes: Classes, persons: Persons, codes: Ints, k: int) -> float:
    """The mean share of a person's rows that fall into one class. Estimated in stretches of a curve
    through the quasi-identifiers, each the size of a small class.
    """
    stretches = max(persons.everyone // (STRETCH * max(k, 2)), 1)
    rank = rank_along_curve(codes, classes.cell_rows)[persons.cell]
    place = np.empty(len(rank), dtype=np.int64)
    place[np.argsort(rank, kind="stable")] = np.arange(len(rank)) * stretches // len(rank)
    owner = classes.cell_class[persons.cell]
    first = np.full(classes.count, stretches, dtype=np.int64)
    np.minimum.at(first, owner, place)
    met = int(persons.sizes(first[classes.cell_class], stretches).sum())
    return persons.everyone / met


def number_classes(label: Ints) -> Ints:
    """Classes renumbered by first cell, so that equal partitions are equal bytes.

    >>> number_classes(np.array([7, -1, 3, 7])).tolist()
    [0, -1, 1, 0]
    """
    result = np.full(len(label), -1, dtype=np.int64)
    kept = np.flatnonzero(label >= 0)
    old = label[kept]
    if int(old.max(initial=0)) > 4 * len(label):
        old = np.unique(old, return_inverse=True)[1]
    first = np.full(int(old.max(initial=-1)) + 1, len(label), dtype=np.int64)
    first[old[::-1]] = kept[::-1]
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    result[kept] = number[old]
    return result
