"""t-closeness: the attribute's distribution in every class is near that in the whole table."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.data.encode.classes import Classes
from tclose.distance import Distance
from tclose.requirements.requirement import Capabilities, Measurement, settle, shown


@dataclass(frozen=True)
class TCloseness:
    """D[class, table] ≤ t (Li 2007, definition 2), decided exactly.

    Every distance of the house is convex (or quasi-convex) in the class's distribution, so merging
    classes never raises the largest distance (Li 2007, fact 2).
    """

    attribute: str
    measure_by: Distance
    t: Fraction | None = None
    name: str = "t-closeness"
    note: str = ""

    @property
    def distance(self) -> str:
        """The name of the distance."""
        return self.measure_by.name

    @property
    def required(self) -> str | None:
        """The largest distance allowed."""
        return shown(self.t)

    @property
    def capabilities(self) -> Capabilities:
        """Merging never hurts; leaving rows out moves the table's own distribution."""
        emd = self.measure_by.name not in ("kl", "js", "smoothed-js")
        return Capabilities(monotone=True, follows_table=True, exact=emd)

    def measure(self, classes: Classes) -> Measurement:
        """The distance of the farthest class."""
        tally = classes.tally(self.attribute)
        distances = self.measure_by.of(tally.histogram, tally.table)
        worst = distances.largest()
        value = distances.value
        fails = np.zeros(len(value), dtype=bool) if self.t is None else ~distances.within(self.t)
        return settle(
            classes, tally, value, fails, worst,
            limit=None if self.t is None else float(self.t), exact=distances.exact(worst),
            note=self.note,
        )  # fmt: skip
