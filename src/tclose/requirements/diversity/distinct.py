"""Distinct l-diversity: enough different values in every class."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from pydantic import Field

from tclose.distance.numbers import Part
from tclose.requirements.classes import Tally
from tclose.requirements.constraint import AttributePool, Constraint, ConstraintKind
from tclose.requirements.requirement import AttributeRequirement, Capabilities, Scores


class DistinctKey(Part):
    """`l = 3` or `l = { distinct = 3 }`."""

    distinct: int | None = Field(None, ge=1)


@dataclass(frozen=True)
class DistinctDiversity(AttributeRequirement):
    """Every class holds at least l different values of the attribute."""

    name = "distinct-l-diversity"
    key = "l"
    kind = "distinct"
    sentence = "Every class shows at least {required} different values of {about}."
    small_is_bad = True
    capabilities = Capabilities(overlapping=True)

    def score(self, tally: Tally) -> Scores:
        """The number of values."""
        return Scores.at_least(np.diff(tally.histogram.start), self.limit)

    def constrain(self, attributes: AttributePool, limit: Fraction) -> tuple[Constraint, ...]:
        """The number of values."""
        return (Constraint(ConstraintKind.DISTINCT, attributes.add(self.attribute), limit),)
