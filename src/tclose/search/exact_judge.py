"""Judges partitions by the requirements themselves: slower than constraints, and the last word.

A requirement sees a partition as `Classes`. To judge a few classes it is enough to show them with
all other rows as one more class: histograms are all that counts, and the table's distribution is
the sum of them; unless persons are counted, whose numbers do not add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.classes import Classes, group_codes
from tclose.distance.histogram import Counts
from tclose.requirements import Measurement, ProposedCells, Requirement, evaluate, failing_classes
from tclose.search.problem import Problem

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Judge:
    """The requirements of a promise, ready to judge any partition of a problem's cells."""

    problem: Problem

    @cached_property
    def _tuples(self) -> tuple[Ints, Ints]:
        """The sensitive values of each cell as one number, and a cell that has them."""
        problem = self.problem
        if not problem.attributes:
            return np.zeros(problem.cells, dtype=np.int64), np.zeros(1, dtype=np.int64)
        return group_codes([problem.sensitive[:, at] for at in range(len(problem.attributes))])

    def _total(self, counts: Counts) -> Counts:
        """What the whole table has of each combination of sensitive values."""
        label, first = self._tuples
        total = np.zeros(len(first), dtype=counts.dtype)
        np.add.at(total, label, counts)
        return total

    @cached_property
    def _rows(self) -> Counts:
        return self._total(self.problem.weight)

    @cached_property
    def _mass(self) -> Counts | None:
        mass = self.problem.classes.cell_weight
        return None if mass is None else self._total(mass)

    def failing(
        self,
        label: Ints,
        requirements: Sequence[Requirement],
        climbs: list[list[Ints]] | None = None,
    ) -> NDArray[np.bool_]:
        """Which classes of a labelling break a requirement; cells labelled −1 are not released.

        `climbs` are the codes of every class at each level of each column: the supersets of
        (n, t)-closeness. Without them it is not judged.
        """
        kept = np.flatnonzero(label >= 0)
        proposal = self._proposal(label[kept], kept, climbs)
        return failing_classes(requirements, self._labelled(label, kept), proposal)

    def refuses(self, parts: Sequence[Ints], requirements: Sequence[Requirement]) -> bool:
        """Whether one of some classes, given by their cells, breaks a requirement.

        No row is left out.
        """
        of_part = np.repeat(np.arange(len(parts)), [len(cells) for cells in parts])
        cells = np.concatenate(parts)
        if self.problem.classes.persons is None:
            classes = self._beside_the_rest(of_part, cells, len(parts))
        else:  # who else is in the table is not told by how many are in these parts
            label = np.full(self.problem.cells, len(parts), dtype=np.int64)
            label[cells] = of_part
            classes = self._labelled(label, np.arange(self.problem.cells))
        broken = failing_classes(requirements, classes, self._proposal(of_part, cells))
        return bool(broken[: len(parts)].any())

    def measure(self, requirement: Requirement, label: Ints | None = None) -> Measurement | None:
        """What a labelling attains; by default the whole table as one class.

        None where that cannot be told from its classes.
        """
        if label is None:
            label = np.zeros(self.problem.cells, dtype=np.int64)
        kept = np.flatnonzero(label >= 0)
        classes = self._labelled(label, kept)
        proposal = self._proposal(label[kept], kept)
        for found in evaluate([requirement], classes, proposal=proposal):
            return found.measured
        return None

    def _proposal(
        self, owner: Ints, cells: Ints, climbs: list[list[Ints]] | None = None
    ) -> ProposedCells:
        return ProposedCells(self.problem.classes.cell_class[cells], owner, climbs)

    def _labelled(self, label: Ints, kept: Ints) -> Classes:
        """The classes of a labelling, from the cells that it keeps."""
        return self._named(
            self.problem.classes.of_cells(kept), label[kept], int(label.max(initial=-1)) + 1
        )

    def _beside_the_rest(self, owner: Ints, cells: Ints, parts: int) -> Classes:
        """Some cells in so many parts, and all others as one class more.

        Rows and masses add up, so the others have of each combination of sensitive values what the
        parts leave.
        """
        of_cell, first = self._tuples
        raw = self.problem.classes
        rest = _less(self._rows, of_cell[cells], raw.cell_rows[cells])
        there = np.flatnonzero(rest)
        both = raw.of_cells(np.concatenate([cells, first[there]]))
        both = replace(both, cell_rows=np.concatenate([raw.cell_rows[cells], rest[there]]))
        if raw.cell_weight is not None and self._mass is not None:
            rest = _less(self._mass, of_cell[cells], raw.cell_weight[cells])
            mass = np.concatenate([raw.cell_weight[cells], rest[there]])
            both = replace(both, cell_weight=mass)
        number = np.concatenate([owner, np.full(len(there), parts)])
        return self._named(both, number, parts + (len(there) > 0))

    def _named(self, classes: Classes, owner: Ints, count: int) -> Classes:
        """The cells of some classes in others: `owner[cell]` of so many."""
        whole = np.arange(count)
        key = np.zeros((count, len(classes.quasi)), dtype=np.int64)
        return replace(
            classes, key=key, cell_class=owner, view_of=whole, class_of=whole, origin=whole
        )


def _less(total: Counts, at: Ints, gone: Counts) -> Counts:
    """What is left of some totals."""
    rest = total.copy()
    np.subtract.at(rest, at, gone)
    return rest
