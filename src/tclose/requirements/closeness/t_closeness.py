"""t-closeness: the attribute's distribution in every class is near that in the whole table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from tclose.distance import Distance, EarthMover, JensenShannon, KullbackLeibler, TreeMetric
from tclose.distance.numbers import Number
from tclose.distance.registry import DISTANCES, DIVERGENCES, DistanceSpec
from tclose.requirements.classes import JudgedClasses, SensitiveValues
from tclose.requirements.constraint import AttributePool, Constraint, ConstraintKind
from tclose.requirements.fields import ColumnPart
from tclose.requirements.requirement import (
    AttributeRequirement,
    Measurement,
    Requirement,
    Table,
    nothing_fails,
    settle,
)


class ClosenessField(ColumnPart):
    """`t` of a column, and the `n` of closeness to a large part of the table."""

    t: Number | None = Field(None, description="t-closeness: largest distance from the table")
    n: int | None = Field(None, ge=1, description="with t: (n, t)-closeness")

    @model_validator(mode="after")
    def _t_possible(self) -> ClosenessField:
        if self.n is not None and self.t is None:
            raise ValueError("n needs t: (n, t)-closeness is t-closeness to a group of n rows")
        unbounded = self.distance is not None and not DISTANCES[self.distance.name].bounded
        if self.t is not None and (self.t < 0 or (self.t > 1 and not unbounded)):
            raise ValueError("t must lie in [0, 1]")
        return self


@dataclass(frozen=True)
class TCloseness(AttributeRequirement):
    """D[class, table] ≤ t (Li 2007, definition 2), decided exactly.

    Every distance of the house is convex (or quasi-convex) in the class's distribution, so merging
    classes never raises the largest distance (Li 2007, fact 2).
    """

    name: ClassVar[str] = "t-closeness"
    key: ClassVar[str] = "t"
    topic: ClassVar[str] = "Closeness of {about}"
    sentence: ClassVar[str] = (
        "In no class does the spread of {about} differ from that of the whole table by more than "
        "{required}{scale}, {by}. The smaller this number, the less a person's class tells beyond "
        "what the table tells about everybody."
    )
    axis: ClassVar[Literal["", "k", "t"]] = "t"

    measure_by: Distance
    t: Fraction | None = None
    note: str = ""

    @property
    def distance(self) -> str:
        """The name of the distance."""
        return self.measure_by.name

    @property
    def limit(self) -> Fraction | None:
        """The largest distance allowed."""
        return self.t

    @property
    def bounded(self) -> bool:
        """As the distance is."""
        return self.measure_by.bounded

    def measure(self, classes: JudgedClasses) -> Measurement:
        """The distance of the farthest class."""
        tally = classes.tally(self.attribute)
        distances = self.measure_by.of(tally.histogram, tally.table)
        worst = distances.largest()
        value = distances.value
        fails = nothing_fails(value) if self.t is None else ~distances.within(self.t)
        return settle(
            classes, tally, value, fails, worst,
            limit=self.t, exact=distances.exact(worst), note=self.note,
        )  # fmt: skip

    def compile(self, attributes: AttributePool) -> tuple[Constraint, ...] | None:
        """The distance, where it is one that kernels compute."""
        kind, metric = compiled_distance(self.measure_by)
        if kind is None or self.t is None:
            return None
        return (Constraint(kind, attributes.add(self.attribute), self.t, metric),)

    @classmethod
    def from_column(cls, values: SensitiveValues, table: Table) -> Iterator[Requirement]:
        """`t = 0.2`, without an n."""
        column = values.column
        if isinstance(column, ClosenessField) and column.t is not None and column.n is None:
            distance, notes = values.distance(column.distance)
            yield cls(values.name, distance, column.t, "; ".join(notes))

    @classmethod
    def measured_of_column(cls, values: SensitiveValues) -> Iterator[Requirement]:
        """The distance by every measure that suits the column, the policy's own first."""
        distance, notes = values.distance(values.column.distance)
        yield cls(values.name, distance, note="; ".join(notes))
        for other in (*values.suitable, *DIVERGENCES):
            if other != distance.name:
                yield cls(values.name, values.distance(DistanceSpec(name=other))[0])

    @classmethod
    def measured_of_table(cls, table: Table) -> Iterator[Requirement]:
        """What somebody learns who knows the other sensitive attributes."""
        for name, values in table.attributes.items() if len(table.attributes) > 1 else ():
            distance, notes = values.distance(DistanceSpec(name=ground_name(values)))
            yield cls(name, distance, note="; ".join(notes), adversary="knows_others")


def compiled_distance(distance: Distance) -> tuple[ConstraintKind | None, TreeMetric | None]:
    """What kernels call a distance, and its ground distance; no kind where they do not know it."""
    if isinstance(distance, EarthMover):
        if isinstance(distance.metric, TreeMetric):
            return ConstraintKind.EMD, distance.metric
    elif isinstance(distance, KullbackLeibler):
        return ConstraintKind.KL, None
    elif isinstance(distance, JensenShannon):
        return ConstraintKind.JS, None
    return None, None


def ground_name(values: SensitiveValues) -> str:
    """The ground distance closest to what the policy asks for."""
    asked = values.column.distance.name if values.column.distance else ""
    return asked if asked in values.suitable else values.default_distance
