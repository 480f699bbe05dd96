"""Distinct l-diversity, and p-sensitivity with k-anonymity: enough different values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.requirements.classes import Tally
from tclose.requirements.constraint import AttributePool, Constraint, ConstraintKind
from tclose.requirements.requirement import AttributeRequirement, Capabilities, Scores


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
        """Counts the different values."""
        return Scores.at_least(np.diff(tally.histogram.start), self.limit)

    def compile(self, attributes: AttributePool, limit: Fraction) -> tuple[Constraint, ...]:
        """Bounds the number of different values."""
        return (Constraint(ConstraintKind.DISTINCT, attributes.find(self.attribute), limit),)


@dataclass(frozen=True)
class PSensitivity(DistinctDiversity):
    """p-sensitive k-anonymity: the same as distinct l-diversity, together with k-anonymity."""

    name = "p-sensitive-k-anonymity"
    key = "p"
    kind = ""
    against_others = False
    suggested = False
