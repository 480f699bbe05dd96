"""Distinct l-diversity: enough different values in every class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tclose.data.binding import BoundTable
from tclose.data.encode.attribute import Attribute
from tclose.data.encode.classes import Classes
from tclose.policy.model import Column
from tclose.requirements.constraint import AttributePool, Constraint, ConstraintKind
from tclose.requirements.requirement import (
    AttributeRequirement,
    Capabilities,
    Measurement,
    Requirement,
    settle,
)


@dataclass(frozen=True)
class DistinctDiversity(AttributeRequirement):
    """Every class holds at least l different values of the attribute."""

    name: ClassVar[str] = "distinct-l-diversity"
    key: ClassVar[str] = "l"
    sentence: ClassVar[str] = "Every class shows at least {required} different values of {about}."

    l: int | None = None

    @property
    def limit(self) -> int | None:
        """The least number of values."""
        return self.l

    @property
    def capabilities(self) -> Capabilities:
        """A larger class has no fewer values."""
        return Capabilities(overlapping=True)

    def measure(self, classes: Classes) -> Measurement:
        """The number of values in the poorest class."""
        tally = classes.tally(self.attribute)
        values = np.diff(tally.histogram.start)
        worst = int(np.argmin(values))
        return settle(
            classes, tally, values.astype(float), values < (self.l or 0), worst,
            limit=self.l, exact=Fraction(int(values[worst])), small_is_bad=True,
        )  # fmt: skip

    def compile(self, attributes: AttributePool) -> tuple[Constraint, ...]:
        """The number of values."""
        at = attributes.add(self.attribute)
        return (Constraint(ConstraintKind.DISTINCT, at, Fraction(self.l or 0)),)

    @classmethod
    def from_column(
        cls, column: Column, values: Attribute, bound: BoundTable
    ) -> Iterator[Requirement]:
        """`l = 3` or `l = { distinct = 3 }`."""
        if column.l is not None and column.l.distinct is not None:
            yield cls(values.name, column.l.distinct)
