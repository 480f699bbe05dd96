"""What a measure of utility answers: one number for the release, and one for each column."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Measure:
    """One measure; `overall` is None where it is not defined for such a release (see `note`).

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
        """Plain values; what is infinite is null."""
        return {
            "name": self.name,
            "overall": _to_plain(self.overall),
            "meaning": self.meaning,
            "columns": {name: _to_plain(value) for name, value in self.columns.items()},
            "numbers": {name: _to_plain(value) for name, value in self.numbers.items()},
            "note": self.note,
        }


@dataclass(frozen=True)
class Utility:
    """What a release is still good for, by every measure."""

    original: str
    release: str
    rows: int
    left_out: int
    classes: int
    row_by_row: bool
    """Whether every released row could be held against its own original row."""
    measures: tuple[Measure, ...]

    def __getitem__(self, name: str) -> Measure:
        """The measure of that name."""
        return next(measure for measure in self.measures if measure.name == name)

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values, without any cell value."""
        return {
            "original": self.original,
            "release": self.release,
            "rows": self.rows,
            "left_out": self.left_out,
            "classes": self.classes,
            "row_by_row": self.row_by_row,
            "measures": [measure.to_json() for measure in self.measures],
        }

    def __str__(self) -> str:
        lines = [f"{self.release}: {self.rows:,} rows, {self.left_out:,} of them left out"]
        for measure in self.measures:
            value = "not defined" if measure.overall is None else f"{measure.overall:.4f}"
            lines.append(f"  {measure.name}: {value}{f' ({measure.note})' if measure.note else ''}")
        return "\n".join(lines)


def _to_plain(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value
