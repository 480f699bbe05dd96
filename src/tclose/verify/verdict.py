"""What a table attains in one requirement, and how that is written down."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from pydantic import Field

from tclose.data.io.records import JsonObject, Record
from tclose.requirements import Measurement, Requirement
from tclose.verify.wording import number_text


class RequirementRecord(Record):
    """A requirement as a certificate states it."""

    requirement: str
    attribute: str | None
    distance: str | None
    reading: str
    required: str | None
    achieved: float | None = Field(description="null where it is infinite")
    achieved_exact: str | None = Field(description="a fraction, where there is one")
    holds: bool | None = Field(description="null where it could not be decided")
    worst_class: int
    failing_classes: int
    failing_rows: int
    note: str
    table: str | None = Field(None, description="the file that it was judged on, of several")

    @property
    def name(self) -> str:
        """What tells it from the other requirements of a certificate."""
        parts = (self.table, self.requirement, self.attribute, self.distance, self.reading)
        return " ".join(part for part in parts if part)

    def __str__(self) -> str:
        attained = self.achieved if self.achieved_exact is None else self.achieved_exact
        holds = {True: "holds", False: "fails", None: "not decided"}[self.holds]
        failing = f", {self.failing_classes} classes fail" if self.failing_classes else ""
        return f"{self.required} asked, {attained} attained: {holds}{failing}"


@dataclass(frozen=True)
class Verdict:
    """What a table attains in one requirement. `holds` is None where that cannot be decided."""

    requirement: str
    attribute: str | None
    distance: str | None
    reading: str
    required: str | None
    achieved: float
    achieved_exact: Fraction | None
    holds: bool | None
    worst_class: int
    failing_classes: int
    failing_rows: int
    note: str
    measurement: Measurement = field(repr=False, compare=False)

    @property
    def title(self) -> str:
        """The requirement and what it is about, in a few words."""
        return _title(self.requirement, self.attribute, self.distance, self.reading)

    @property
    def achieved_text(self) -> str:
        """The attained value as people read it."""
        return number_text(self.achieved)

    def record(self, table: str | None = None) -> RequirementRecord:
        """The verdict as it is written down, on a table of several if named."""
        finite = math.isfinite(self.achieved)
        exact = None if finite else "infinity"
        if self.achieved_exact is not None:
            exact = str(self.achieved_exact)
        return RequirementRecord(
            requirement=self.requirement,
            attribute=self.attribute,
            distance=self.distance,
            reading=self.reading,
            required=self.required,
            achieved=self.achieved if finite else None,
            achieved_exact=exact,
            holds=self.holds,
            worst_class=self.worst_class,
            failing_classes=self.failing_classes,
            failing_rows=self.failing_rows,
            note=self.note,
            table=table,
        )

    def to_json(self) -> JsonObject:
        """The verdict as plain values."""
        return self.record().to_json()

    def __str__(self) -> str:
        mark = {True: "holds", False: "FAILS", None: "not decided"}[self.holds]
        asked = f"{self.required} asked, " if self.required is not None else ""
        told = f"{self.title}: {asked}{self.achieved_text} attained"
        if self.required is None:
            return f"{told} (class {self.worst_class})"
        lost = f", {self.failing_classes:,} classes with {self.failing_rows:,} rows break it"
        return f"{mark}  {told} (class {self.worst_class}){'' if self.holds else lost}"


def make_verdict(
    requirement: Requirement,
    measured: Measurement,
    *,
    worst_class: int,
    failing_classes: int,
    failing_rows: int,
    alone: float,
) -> Verdict:
    """What was measured of a requirement, as it is told.

    `alone` is the share of the rows that stand alone where other sensitive attributes are known.
    """
    seen = ""
    if requirement.adversary == "knows_others":
        seen = f"{alone:.1%} of the rows stand alone when the other sensitive attributes are known"
    return Verdict(
        requirement=requirement.name,
        attribute=requirement.attribute,
        distance=requirement.distance,
        reading=requirement.reading,
        required=requirement.required,
        achieved=measured.achieved,
        achieved_exact=measured.exact,
        holds=None if failing_classes and not measured.decided else failing_classes == 0,
        worst_class=worst_class,
        failing_classes=failing_classes,
        failing_rows=failing_rows,
        note="; ".join(note for note in (measured.note, seen) if note),
        measurement=measured,
    )


def title_requirement(requirement: Requirement) -> str:
    """The requirement and what it is about, in a few words."""
    return _title(*requirement.identity)


def _title(name: str, attribute: str | None, distance: str | None, reading: str) -> str:
    about = f" of {attribute}" if attribute else ""
    by = f", {distance}" if distance else ""
    how = f" ({reading})" if reading != "separate" else ""
    return f"{name}{about}{by}{how}"
