"""A release and the table it was made from, and the result of a measure of the two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from tclose.arrays import Floats, Ints
from tclose.data.alignment import Alignment, align
from tclose.data.binding import BoundTable
from tclose.distance.histogram import Counts, add_by_group
from tclose.notebook import Tabular
from tclose.plain import join_lines, to_plain


@dataclass(frozen=True)
class Measure:
    """The result of one measure; `overall` is None if it is not defined here (`note` says why).

    >>> Measure("loss", 0.25, columns={"age": 0.25}).to_json()["overall"]
    0.25
    """

    name: str
    overall: float | None
    meaning: str = ""
    columns: Mapping[str, float] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Returns plain values for JSON; infinite ones are null."""
        plain: dict[str, Any] = to_plain(vars(self))
        return plain


@dataclass(frozen=True, repr=False)
class Utility(Tabular):
    """The results of all measures of a release."""

    original: str
    release: str
    rows: int
    left_out: int
    classes: int
    row_by_row: bool
    """Whether every released row could be compared with its own original row."""
    measures: tuple[Measure, ...]

    def __getitem__(self, name: str) -> Measure:
        """Returns the measure with this name."""
        return next(measure for measure in self.measures if measure.name == name)

    @property
    def headline(self) -> str:
        """The number of rows and measures, and the loss that searches minimize."""
        loss = next((each.overall for each in self.measures if each.name == "loss"), None)
        words = "" if loss is None else f", loss {loss:.4f}"
        return f"{self.rows:,} rows by {len(self.measures)} measures{words}"

    def records(self) -> list[dict[str, Any]]:
        """Returns a record for each measure: overall (column None), and for each column."""
        return [
            {"measure": measure.name, "column": column, "value": value}
            for measure in self.measures
            for column, value in ((None, measure.overall), *measure.columns.items())
        ]

    def __str__(self) -> str:
        lines = [f"{self.release}: {self.rows:,} rows, {self.left_out:,} of them left out"]
        for measure in self.measures:
            value = "not defined" if measure.overall is None else f"{measure.overall:.4f}"
            lines.append(f"  {measure.name}: {value}{f' ({measure.note})' if measure.note else ''}")
        return join_lines(lines)


@dataclass(frozen=True)
class Pair(Alignment):
    """An original and its release, both bound to one policy.

    If rows are linked, `linked` says which cell of the original each released row comes from, and
    the measures are exact. Otherwise a released value stands for the original's values that it
    covers, in the shares that they have in the whole table.
    """

    @property
    def rows(self) -> int:
        """The number of rows of the original."""
        return self.original.cells.n_rows

    @property
    def left_out(self) -> int:
        """The number of rows that the release lacks."""
        return self.rows - self.release.cells.n_rows

    @property
    def size(self) -> Counts:
        """[classes]: the number of rows."""
        return self.release.classes.class_rows

    @cached_property
    def counts(self) -> tuple[Ints, ...]:
        """For each column, the number of rows of the original at each place."""
        cells = self.original.cells
        return tuple(
            add_by_group(cells.rows, boxes.rank[cells.codes[boxes.name]], boxes.values)
            for boxes in self.covering.columns
        )

    @cached_property
    def label_rows(self) -> tuple[Ints, ...]:
        """For each column, the number of released rows with each released value."""
        return tuple(
            add_by_group(self.size, self.covering.key[:, at], len(boxes.start) - 1)
            for at, boxes in enumerate(self.covering.columns)
        )

    @cached_property
    def pairs(self) -> tuple[Ints, Ints, Ints]:
        """For linked rows: the original's cell, the class, and the number of rows of each pair."""
        assert self.linked is not None
        number = self.release.classes.cell_class[self.linked.second]
        return self.linked.first, number, self.linked.rows

    def standardize(self, at: int) -> tuple[Floats, float, float]:
        """Returns a column's standardized numbers by place (missing: 0), their mean and spread."""
        boxes = self.covering.columns[at]
        assert boxes.number is not None
        seen = self.counts[at][: boxes.known]
        count = max(int(seen.sum()), 1)
        mean = float(seen @ boxes.number) / count
        spread = float(np.sqrt(seen @ (boxes.number - mean) ** 2 / count)) or 1.0
        value = np.append((boxes.number - mean) / spread, [0.0] * boxes.has_missing)
        return value, mean, spread

    @cached_property
    def unlinked(self) -> Ints:
        """[cells of the original]: the number of rows that were left out, if rows are linked."""
        assert self.linked is not None
        rest = self.original.cells.rows.copy()
        np.subtract.at(rest, self.linked.first, self.linked.rows)
        return rest


def pair_of(original: BoundTable, release: BoundTable, *, key: str | None = None) -> Pair:
    """Aligns a release with its original (see `tclose.data.alignment.align`)."""
    found = align(original, release, key)
    return Pair(**{each.name: getattr(found, each.name) for each in fields(found)})
