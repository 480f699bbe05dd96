"""δ-disclosure privacy: how much belief in a value may change at all, up or down."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.classes import Classes
from tclose.distance import Ratios
from tclose.distance.numbers import compare, decimal_of
from tclose.requirements.beta_likeness import gains
from tclose.requirements.requirement import Capabilities, Measurement, settle, shown


@dataclass(frozen=True)
class DeltaDisclosure:
    """|log(p/q)| < δ, strictly, for every value of the table.

    A value that a class lacks altogether has p = 0 and breaks any δ; `absent = "ignore"` is the
    laxer reading of some tools, under which merging classes can make matters worse.
    """

    attribute: str
    delta: Fraction | None = None
    base: str = "e"
    absent: str = "violate"
    name: str = "delta-disclosure"
    distance: str | None = None

    @property
    def required(self) -> str | None:
        """The bound, its logarithm, and what an absent value means."""
        return None if self.delta is None else f"{shown(self.delta)} (log {self.base})"

    @property
    def capabilities(self) -> Capabilities:
        """Monotone in its strict reading only."""
        return Capabilities(monotone=self.absent == "violate", follows_table=True, exact=False)

    def measure(self, classes: Classes) -> Measurement:
        """The largest change of belief; infinite where a value is absent from a class."""
        tally = classes.tally(self.attribute)
        gain = gains(tally)
        unit = np.log(2) if self.base == "2" else 1.0
        change = np.asarray(abs(np.log(gain.value)) / unit, dtype=np.float64)
        owner = tally.histogram.owner()
        by_row = np.zeros(tally.histogram.classes)
        np.maximum.at(by_row, owner, change)
        if self.absent == "violate":
            by_row[np.diff(tally.histogram.start) < np.count_nonzero(tally.table)] = np.inf
        fails = np.zeros(len(by_row), dtype=bool)
        if self.delta is not None:
            fails = np.isinf(by_row)
            fails[owner[self._reached(gain, change, self.delta)]] = True
        # A gain and its inverse have logarithms that differ in the last digit only.
        worst = int(np.flatnonzero(by_row >= by_row.max() - 1e-13)[0])
        return settle(
            classes, tally, by_row, fails, worst,
            limit=None if self.delta is None else float(self.delta), exact=None,
            note="" if self.absent == "violate" else "values absent from a class are ignored",
        )  # fmt: skip

    def _reached(
        self, gain: Ratios, change: NDArray[np.float64], delta: Fraction
    ) -> NDArray[np.bool_]:
        """Which entries have |log(p/q)| ≥ δ, decided with as many digits as it takes."""
        result = change >= float(delta)

        @cache
        def reaches(ratio: Fraction) -> bool:
            def precise() -> Decimal:
                log = abs(decimal_of(ratio).ln())
                return log / Decimal(2).ln() if self.base == "2" else log

            return compare(precise, float(delta), delta) >= 0

        for index in np.flatnonzero(abs(change - float(delta)) < 1e-8):
            result[index] = reaches(gain.exact(int(index)) or Fraction(0))
        return result
