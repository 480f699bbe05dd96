"""Judges partitions by the requirements themselves: slower than compiled rules, and the last word.

A requirement sees a partition as `Classes`. To judge a few classes it is enough to show them with
all other rows as one more class: histograms are all that counts, and the table's distribution is
the sum of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.errors import UsageError
from tclose.privacy import Line, Measurement, Requirement
from tclose.privacy.nt_closeness import NTCloseness
from tclose.privacy.population import DeltaPresence, KMap
from tclose.search.problem import Problem
from tclose.table.classes import Classes, grouped

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
        return grouped([problem.sensitive[:, at] for at in range(len(problem.attributes))])

    @cached_property
    def _totals(self) -> Ints:
        """The rows of the whole table with each combination of sensitive values."""
        label, first = self._tuples
        total = np.zeros(len(first), dtype=np.int64)
        np.add.at(total, label, self.problem.weight)
        return total

    def failing(
        self, label: Ints, lines: Sequence[Line], climbs: list[list[Ints]] | None = None
    ) -> NDArray[np.bool_]:
        """Which classes of a labelling break a line; cells labelled −1 are not released.

        `climbs` are the codes of every class at each level of each column: the supersets of
        (n, t)-closeness. Without them it is not judged.
        """
        kept = np.flatnonzero(label >= 0)
        count = int(label.max(initial=-1)) + 1
        weight = self.problem.weight[kept]
        classes = self._classes(label[kept], self._tuples[0][kept], weight, count)
        return self._broken(classes, lines, label[kept], kept, climbs)

    def refuses(self, parts: Sequence[Ints], lines: Sequence[Line]) -> bool:
        """Whether one of some classes, given by their cells, breaks a line; no row is left out."""
        of_cell, first = self._tuples
        weight = self.problem.weight
        rest = self._totals.copy()
        owner, code, count = [], [], []
        for at, cells in enumerate(parts):
            inside = np.bincount(of_cell[cells], weight[cells], len(first)).astype(np.int64)
            rest -= inside
            here = np.flatnonzero(inside)
            owner.append(np.full(len(here), at))
            code.append(here)
            count.append(inside[here])
        there = np.flatnonzero(rest)
        others = len(there) > 0
        owner.append(np.full(len(there), len(parts)))
        classes = self._classes(
            np.concatenate(owner), np.concatenate([*code, there]),
            np.concatenate([*count, rest[there]]), len(parts) + others,
        )  # fmt: skip
        of_part = np.repeat(np.arange(len(parts)), [len(cells) for cells in parts])
        broken = self._broken(classes, lines, of_part, np.concatenate(parts))
        return bool(broken[: len(parts)].any())

    def measure(self, line: Line, label: Ints | None = None) -> Measurement:
        """What a labelling attains; by default the whole table as one class."""
        if label is None:
            label = np.zeros(self.problem.cells, dtype=np.int64)
        kept = np.flatnonzero(label >= 0)
        count, weight = int(label.max(initial=-1)) + 1, self.problem.weight[kept]
        classes = self._classes(label[kept], self._tuples[0][kept], weight, count)
        requirement, seen = self._shown(line, classes)
        if isinstance(requirement, KMap | DeltaPresence):
            requirement = self._matched(requirement, classes, label[kept], kept)
        return requirement.measure(seen)

    def _classes(self, owner: Ints, code: Ints, weight: Ints, count: int) -> Classes:
        """Classes made of entries that name their class, their sensitive values and their rows."""
        raw, first = self.problem.classes, self._tuples[1]
        size = np.zeros(count, dtype=np.int64)
        np.add.at(size, owner, weight)
        whole = np.arange(count)
        codes = {name: raw.cell_codes[name][first][code] for name in raw.attributes}
        return Classes(
            quasi=raw.quasi, dictionaries=raw.dictionaries, attributes=raw.attributes,
            key=np.zeros((count, len(raw.quasi)), dtype=np.int64), size=size, cell_class=owner,
            cell_codes=codes, cell_weight=weight, view_of=whole, class_of=whole, origin=whole,
        )  # fmt: skip

    def _broken(
        self,
        classes: Classes,
        lines: Sequence[Line],
        owner: Ints,
        cells: Ints,
        climbs: list[list[Ints]] | None = None,
    ) -> NDArray[np.bool_]:
        broken = np.zeros(classes.count, dtype=bool)
        for line in lines:
            requirement, seen = self._shown(line, classes)
            if isinstance(requirement, NTCloseness):
                if climbs is not None:
                    broken |= requirement.measure_along(classes, climbs).fails
                continue  # else judged along the cuts, which is where its supersets are
            if isinstance(requirement, KMap | DeltaPresence):
                requirement = self._matched(requirement, classes, owner, cells)
            broken[seen.origin[requirement.measure(seen).fails]] = True
        return broken

    def _shown(self, line: Line, classes: Classes) -> tuple[Requirement, Classes]:
        """What the line's reading sees: where other attributes are known, classes split by them."""
        name = line.requirement.attribute
        if line.reading != "cross" or name is None:
            return line.requirement, classes
        return line.requirement, classes.regrouped(
            [one for one in classes.attributes if one != name]
        )

    def _matched(self, requirement: Any, classes: Classes, owner: Ints, cells: Ints) -> Any:
        """The requirement with the people who match each class (`owner` of the given cells).

        At least those who match one of the raw classes in it do: people match one each, so their
        numbers add up, and whoever matches a released class without matching a raw one only makes
        the class safer, unless a least share is promised.
        """
        if isinstance(requirement, DeltaPresence) and requirement.least:
            raise UsageError(
                "a least share of the population cannot be searched for",
                where="presence.min",
                hint="promise presence.max only, and verify the least share afterwards",
            )
        raw, people = self.problem.classes, requirement.matches
        inside = np.unique(owner * raw.count + raw.cell_class[cells])
        matches = np.zeros(classes.count, dtype=np.int64)
        np.add.at(matches, inside // raw.count, people[inside % raw.count])
        return replace(requirement, matches=matches)
