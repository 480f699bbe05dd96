"""k-anonymity: every class has at least k rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.requirements.classes import Classes
from tclose.requirements.constraint import AttributePool, Constraint
from tclose.requirements.requirement import Capabilities, Measurement, Requirement, Scores, Table


@dataclass(frozen=True)
class KAnonymity(Requirement):
    """Nobody can be narrowed down to fewer than k rows by the quasi-identifiers."""

    name = "k-anonymity"
    key = "k"
    topic = "Being one of many"
    sentence = (
        "Someone who knows a person's {quasi} finds at least {required} {rows} that fit, and "
        "cannot tell which of them is the right one."
    )
    axis = "k"
    small_is_bad = True

    @property
    def capabilities(self) -> Capabilities:
        """Monotone: a larger class is never worse."""
        return Capabilities(overlapping=True, least_size=int(self.limit or 1))

    def measure(self, classes: Classes) -> Measurement:
        """Measures the size of every class."""
        scores = Scores.at_least(classes.view_size, self.limit)
        return self.summarize(classes, np.arange(classes.views), scores)

    def compile(self, attributes: AttributePool, limit: Fraction) -> tuple[Constraint, ...]:
        """Returns no constraint: kernels are given the least size of a class directly."""
        return ()

    @classmethod
    def suggest_for_table(cls, table: Table) -> tuple[Requirement, ...]:
        """Returns the size of the smallest class."""
        return (cls(),)
