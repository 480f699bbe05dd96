"""Distinct l-diversity, and p-sensitivity: enough different values in every class."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tclose.data.encode.classes import Classes
from tclose.requirements.requirement import Capabilities, Measurement, settle, shown


@dataclass(frozen=True)
class DistinctDiversity:
    """Every class holds at least l different values of the attribute.

    p-sensitive k-anonymity asks the same of each sensitive attribute, next to k-anonymity; it goes
    by its own name.
    """

    attribute: str
    l: int | None = None
    name: str = "distinct-l-diversity"
    distance: str | None = None
    capabilities: ClassVar[Capabilities] = Capabilities(monotone=True, overlapping=True)

    @property
    def required(self) -> str | None:
        """The least number of values."""
        return shown(self.l)

    def measure(self, classes: Classes) -> Measurement:
        """The number of values in the poorest class."""
        tally = classes.tally(self.attribute)
        values = np.diff(tally.histogram.start)
        worst = int(np.argmin(values))
        return settle(
            classes, tally, values.astype(float), values < (self.l or 0), worst,
            limit=self.l, exact=Fraction(int(values[worst])), small_is_bad=True,
        )  # fmt: skip
