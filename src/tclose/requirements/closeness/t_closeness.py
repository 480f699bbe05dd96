"""t-closeness: the attribute's distribution in every class is near that in the whole table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from tclose.distance.emd import Distance
from tclose.distance.histogram import whole
from tclose.distance.numbers import Misuse, MisuseError, Number, Part
from tclose.distance.registry import DISTANCES, DIVERGENCES, Attribute, DeclaredReference
from tclose.requirements.classes import Tally
from tclose.requirements.constraint import AttributePool, Compiled, Constraint, ConstraintKind
from tclose.requirements.requirement import (
    AttributeRequirement,
    ColumnPart,
    Requirement,
    Scores,
    Statement,
    Table,
)

LARGEST_REFERENCE = 2**40
"""The largest sum of a reference's counts for kernels; requirements themselves take any."""


class ReferenceSpec(Part):
    """The distribution that classes are compared with, if not the table's own."""

    short_key: ClassVar[str] = "name"

    name: Literal["table", "uniform"] | None = Field(
        None, description="the table's own distribution, or every value with equal share"
    )
    shares: dict[str, Number] | None = Field(
        None, description="value = share (or count); values not named have share 0"
    )
    file: str | None = Field(
        None, description="CSV of values and their counts or shares; relative to the policy"
    )

    def find_misuses(self) -> Iterator[Misuse]:
        """No reference or several, and shares that are no distribution."""
        if sum(part is not None for part in (self.name, self.shares, self.file)) != 1:
            hint = '"table", "uniform", { shares = { flu = 0.3, … } } or { file = "register.csv" }'
            yield "give one reference", hint
        if self.shares is not None:
            refuse_shares(self.shares)


def refuse_shares(shares: Mapping[str, Fraction]) -> None:
    """Raises MisuseError if the numbers are no distribution, however they are scaled."""
    if any(share < 0 for share in shares.values()) or not any(shares.values()):
        what = "shares must not be negative, nor all 0"
        raise MisuseError(what, "they may be counts: only their ratios matter")


class ClosenessField(ColumnPart):
    """A column with `t = 0.2`, and with the `n` of closeness to a large part of the table."""

    t: Number | None = Field(None, description="t-closeness: largest distance from the table")
    n: int | None = Field(None, ge=1, description="with t: (n, t)-closeness")
    reference: ReferenceSpec | None = Field(
        None, description="with t: what classes are close to, if not the table's own distribution"
    )

    @property
    def declares_reference(self) -> bool:
        """Whether classes are compared with something other than the table."""
        return self.reference is not None and self.reference.name != "table"

    def find_misuses(self) -> Iterator[Misuse]:
        """A reference to which no closeness is required, or closeness to something else."""
        yield from super().find_misuses()
        if self.declares_reference and self.t is None:
            yield "a reference needs t", "say how close to it classes must be"
        if self.declares_reference and self.n is not None:
            what = "(n, t)-closeness is closeness to a group of the table, not to a reference"
            yield what, "leave out `n` or `reference`"


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

    @classmethod
    def find_misuses(cls, part: ClosenessField, stated: Statement) -> Iterator[Misuse]:
        """Yields n without t, or a t above the largest possible distance."""
        if part.t is None:
            yield "n needs t: (n, t)-closeness is t-closeness to a group of n rows", ""
            return
        unbounded = part.distance is not None and not DISTANCES[part.distance.name].bounded
        if part.t < 0 or (part.t > 1 and not unbounded):
            hint = "0 allows no difference from the table, 1 allows any; such as t = 0.2"
            yield "t must lie in [0, 1]", hint


@dataclass(frozen=True)
class TCloseness(Closeness):
    """D[class, table] ≤ t (Li 2007, definition 2), decided exactly.

    Every distance is convex (or quasi-convex) in the class's distribution, so merging classes never
    raises the largest distance (Li 2007, fact 2).
    """

    name = "t-closeness"
    key = "t"
    sentence = (
        "In no class does the distribution of {about} differ from that of {whole} by more than "
        "{required}{scale}, {by}. The smaller this number, the less a person's class reveals "
        "beyond {whole}."
    )

    note: str = ""
    declared: DeclaredReference | None = None
    """The declared distribution that classes are compared with; None for the table's."""

    @property
    def reference(self) -> str | None:
        """A description of the declared distribution; None for the table's."""
        return None if self.declared is None else self.declared.words

    def score(self, tally: Tally) -> Scores:
        """Measures the distance from the table, or from the declared reference."""
        table = tally.table if self.declared is None else whole(self.declared.counts)
        found = self.measure_by.of(tally.histogram, table)
        return Scores.at_most(found, self.limit, self.note)

    def compile(self, attributes: AttributePool, limit: Fraction) -> Compiled:
        """Bounds the distance, if kernels can compute it."""
        tree = self.measure_by.tree
        kernel = DISTANCES[self.distance].kernel if tree is None else "EMD"
        if not kernel:
            return None
        field = attributes.find(self.attribute)
        if self.declared is not None:
            if sum(self.declared.counts) >= LARGEST_REFERENCE:
                return None
            judged, counts = attributes.fields[field], np.array(self.declared.counts, np.int64)
            name = f"{self.attribute} beside its reference"
            field = attributes.add(replace(judged, name=name, whole=counts))
        return (Constraint(ConstraintKind[kernel], field, limit, tree),)

    @classmethod
    def from_column(
        cls, stated: Fraction, values: Attribute, table: Table
    ) -> Iterator[Requirement]:
        """Yields the requirement of t, unless n makes it (n, t)-closeness."""
        column = table.policy.columns[values.name]
        assert isinstance(column, ClosenessField)
        if column.n is None:
            distance, notes = values.distance()
            yield cls(values.name, distance, "; ".join(notes), values.reference, limit=stated)

    @classmethod
    def suggest_for_column(cls, values: Attribute) -> Iterator[Requirement]:
        """Yields closeness by every distance that suits the column, the policy's own first."""
        distance, notes = values.distance()
        yield cls(values.name, distance, "; ".join(notes), values.reference)
        for other in (*values.suitable, *DIVERGENCES):
            if other != distance.name:
                yield cls(values.name, values.distance(other)[0])

    @classmethod
    def suggest_for_table(cls, table: Table) -> Iterator[Requirement]:
        """Yields closeness of each attribute against somebody who knows all the others."""
        for name, values in table.attributes.items() if len(table.attributes) > 1 else ():
            distance, notes = values.distance(choose_ground(values))
            yield cls(name, distance, "; ".join(notes), adversary="knows_others")


def choose_ground(values: Attribute) -> str:
    """Returns the ground distance closest to the one in the policy."""
    wanted = values.specified.name if values.specified else ""
    return wanted if wanted in values.suitable else values.default_distance
