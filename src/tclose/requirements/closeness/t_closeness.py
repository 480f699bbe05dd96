"""t-closeness: the attribute's distribution in every class is near that in the whole table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from pydantic import Field

from tclose.distance import Distance
from tclose.distance.numbers import MisuseError, Number
from tclose.distance.registry import DISTANCES, DIVERGENCES, DistanceSpec
from tclose.requirements.classes import SensitiveValues, Tally
from tclose.requirements.constraint import AttributePool, Compiled, Constraint, ConstraintKind
from tclose.requirements.requirement import (
    AttributeRequirement,
    ColumnPart,
    Requirement,
    Scores,
    Statement,
    Table,
)


class ClosenessField(ColumnPart):
    """`t = 0.2` of a column, and the `n` of closeness to a large part of the table."""

    t: Number | None = Field(None, description="t-closeness: largest distance from the table")
    n: int | None = Field(None, ge=1, description="with t: (n, t)-closeness")


@dataclass(frozen=True)
class Closeness(AttributeRequirement):
    """A requirement on the distance of a class from another distribution."""

    topic = "Closeness of {about}"
    axis = "t"

    measure_by: Distance

    @property
    def distance(self) -> str:
        """The name of the distance."""
        return self.measure_by.name

    @property
    def bounded(self) -> bool:
        """As the distance is."""
        return self.measure_by.bounded

    @classmethod
    def refuse_misuse(cls, part: ClosenessField) -> None:
        """There is no n without a t, and no t above the largest distance."""
        if part.t is None:
            raise ValueError("n needs t: (n, t)-closeness is t-closeness to a group of n rows")
        unbounded = part.distance is not None and not DISTANCES[part.distance.name].bounded
        if part.t < 0 or (part.t > 1 and not unbounded):
            hint = "0 allows no difference from the table, 1 allows any; such as t = 0.2"
            raise MisuseError("t must lie in [0, 1]", hint)


@dataclass(frozen=True)
class TCloseness(Closeness):
    """D[class, table] ≤ t (Li 2007, definition 2), decided exactly.

    Every distance of the house is convex (or quasi-convex) in the class's distribution, so merging
    classes never raises the largest distance (Li 2007, fact 2).
    """

    name = "t-closeness"
    key = "t"
    sentence = (
        "In no class does the spread of {about} differ from that of the whole table by more than "
        "{required}{scale}, {by}. The smaller this number, the less a person's class tells beyond "
        "what the table tells about everybody."
    )

    note: str = ""

    def score(self, tally: Tally) -> Scores:
        """The distance from the table."""
        found = self.measure_by.of(tally.histogram, tally.table)
        return Scores.at_most(found, self.limit, self.note)

    def constrain(self, attributes: AttributePool, limit: Fraction) -> Compiled:
        """The distance, where it is one that kernels compute."""
        if not self.measure_by.kernel:
            return None
        kind, at = ConstraintKind[self.measure_by.kernel], attributes.add(self.attribute)
        return (Constraint(kind, at, limit, self.measure_by.tree),)

    @classmethod
    def from_column(
        cls, stated: Statement, values: SensitiveValues, table: Table
    ) -> Iterator[Requirement]:
        """t, where it is not the t of (n, t)-closeness."""
        assert isinstance(stated, Fraction) and isinstance(values.column, ClosenessField)
        if values.column.n is None:
            distance, notes = values.distance(values.column.distance)
            yield cls(values.name, distance, "; ".join(notes), limit=stated)

    @classmethod
    def suggest_for_column(cls, values: SensitiveValues) -> Iterator[Requirement]:
        """The distance by every measure that suits the column, the policy's own first."""
        distance, notes = values.distance(values.column.distance)
        yield cls(values.name, distance, "; ".join(notes))
        for other in (*values.suitable, *DIVERGENCES):
            if other != distance.name:
                yield cls(values.name, values.distance(DistanceSpec(name=other))[0])

    @classmethod
    def suggest_for_table(cls, table: Table) -> Iterator[Requirement]:
        """What somebody learns who knows the other sensitive attributes."""
        for name, values in table.attributes.items() if len(table.attributes) > 1 else ():
            distance, notes = values.distance(DistanceSpec(name=choose_ground(values)))
            yield cls(name, distance, "; ".join(notes), adversary="knows_others")


def choose_ground(values: SensitiveValues) -> str:
    """The ground distance closest to what the policy asks for."""
    asked = values.column.distance.name if values.column.distance else ""
    return asked if asked in values.suitable else values.default_distance
