"""Distinct l-diversity: enough different values in every class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from pydantic import Field

from tclose.distance.numbers import Part
from tclose.requirements.classes import JudgedClasses, SensitiveValues
from tclose.requirements.constraint import AttributePool, Constraint, ConstraintKind
from tclose.requirements.requirement import (
    AttributeRequirement,
    Capabilities,
    Measurement,
    Requirement,
    Table,
    settle,
)


class DistinctKey(Part):
    """`distinct` among the kinds of l-diversity."""

    distinct: int | None = Field(None, ge=1)


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

    def measure(self, classes: JudgedClasses) -> Measurement:
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
    def from_column(cls, values: SensitiveValues, table: Table) -> Iterator[Requirement]:
        """`l = 3` or `l = { distinct = 3 }`."""
        kinds = getattr(values.column, cls.key)
        if isinstance(kinds, DistinctKey) and kinds.distinct is not None:
            yield cls(values.name, kinds.distinct)
