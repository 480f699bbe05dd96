"""k-map and δ-presence: what a class means beside a table of the population.

Both count, for every class, the people of the population who fit its quasi-identifiers; a
generalized value fits everyone it covers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.cells import Cells
from tclose.data.encode.classes import Classes
from tclose.data.encode.coverage import covering_of
from tclose.distance import Ratios
from tclose.hierarchy import Hierarchy
from tclose.requirements.requirement import Capabilities, Measurement, settle, shown


@dataclass(frozen=True)
class KMap:
    """Every class is matched by at least k people of the population."""

    matches: NDArray[np.int64]
    k: int | None = None
    name: str = "k-map"
    attribute: str | None = None
    distance: str | None = None
    capabilities: ClassVar[Capabilities] = Capabilities(
        monotone=True, needs="population", overlapping=True
    )

    @property
    def required(self) -> str | None:
        """The least number of people."""
        return shown(self.k)

    def measure(self, classes: Classes) -> Measurement:
        """The number of people that fit the rarest class."""
        worst = int(np.argmin(self.matches))
        fails = self.matches < (self.k or 0)
        return settle(
            _plain(classes), None, self.matches.astype(float), fails, worst,
            limit=self.k, exact=Fraction(int(self.matches[worst])), small_is_bad=True,
        )  # fmt: skip


@dataclass(frozen=True)
class DeltaPresence:
    """Nobody of the population is known to be in the table with more (or less) than a bound."""

    matches: NDArray[np.int64]
    least: Fraction | None = None
    most: Fraction | None = None
    name: str = "delta-presence"
    attribute: str | None = None
    distance: str | None = None

    @property
    def required(self) -> str | None:
        """The bounds."""
        return None if self.most is None else f"[{shown(self.least)}, {shown(self.most)}]"

    @property
    def capabilities(self) -> Capabilities:
        """Merging can lower a share below a lower bound, so it is monotone only without one."""
        return Capabilities(monotone=not self.least, needs="population", overlapping=not self.least)

    def measure(self, classes: Classes) -> Measurement:
        """The largest probability of being in the table; infinite where nobody fits.

        Where only the lower bound is broken, the least probability is what counts.
        """
        share = Ratios((classes.size,), (self.matches,))
        worst, low = share.largest(), int(np.argmin(share.value))
        above = below = np.zeros(classes.count, dtype=bool)
        if self.most is not None and self.least is not None:
            above, below = ~share.within(self.most), share.under(self.least)
        if below.any() and not above.any():
            worst = low
        measured = settle(
            _plain(classes), None, share.value, above | below, worst,
            limit=None if self.most is None else float(self.most), exact=share.exact(worst),
            note=f"least: {shown(share.exact(low)) or 'infinite'}",
        )  # fmt: skip
        least = Fraction(0) if self.least is None else self.least
        return replace(measured, margin=np.minimum(measured.margin, share.value - float(least)))


def match_population(
    classes: Classes, population: Cells, trees: Mapping[str, Hierarchy]
) -> NDArray[np.int64]:
    """How many people of the population fit each class."""
    return covering_of(classes, population, trees).rows_covered(population)


def _plain(classes: Classes) -> Classes:
    """The classes without further views: both models judge a class as it is printed."""
    return classes.regrouped(()) if classes.views != classes.count else classes
