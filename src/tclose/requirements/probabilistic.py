"""No value above a share of its class: probabilistic l-diversity and (α, k)-anonymity."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tclose.data.encode.classes import Classes, Tally
from tclose.distance import Ratios
from tclose.errors import UsageError
from tclose.requirements.requirement import Capabilities, Measurement, settle, shown


@dataclass(frozen=True)
class ProbabilisticDiversity:
    """Nobody's value can be guessed with probability above 1/l."""

    attribute: str
    l: Fraction | None = None
    name: str = "probabilistic-l-diversity"
    distance: str | None = None
    capabilities: ClassVar[Capabilities] = Capabilities(monotone=True)

    @property
    def required(self) -> str | None:
        """The l of 1/l."""
        return shown(self.l)

    def measure(self, classes: Classes) -> Measurement:
        """The l that the table attains: the inverse of the largest share."""
        tally = classes.tally(self.attribute)
        top = commonest(tally)
        inverse = Ratios(top.below, top.above)
        worst = top.largest()
        fails = ~top.within(1 / self.l) if self.l else np.zeros(len(top.value), dtype=bool)
        return settle(
            classes, tally, inverse.value, fails, worst,
            limit=None if self.l is None else float(self.l), exact=inverse.exact(worst),
            small_is_bad=True,
        )  # fmt: skip


@dataclass(frozen=True)
class AlphaAnonymity:
    """(α, k)-anonymity's α: no protected value has more than a share α of its class."""

    attribute: str
    alpha: Fraction | None = None
    values: tuple[str, ...] | None = None
    name: str = "alpha-k-anonymity"
    distance: str | None = None
    capabilities: ClassVar[Capabilities] = Capabilities(monotone=True)

    @property
    def required(self) -> str | None:
        """The largest share."""
        return shown(self.alpha)

    def measure(self, classes: Classes) -> Measurement:
        """The largest share of a protected value in any class."""
        tally = classes.tally(self.attribute)
        top = commonest(tally, self._protected(classes))
        worst = top.largest()
        fails = (
            np.zeros(len(top.value), dtype=bool) if self.alpha is None else ~top.within(self.alpha)
        )
        return settle(
            classes, tally, top.value, fails, worst,
            limit=None if self.alpha is None else float(self.alpha), exact=top.exact(worst),
        )  # fmt: skip

    def _protected(self, classes: Classes) -> list[int] | None:
        if self.values is None:
            return None
        labels = classes.attributes[self.attribute].labels
        unknown = [value for value in self.values if value not in labels]
        if unknown:
            raise UsageError(
                f"{len(unknown)} of the protected values do not occur in the table",
                where=f"columns.{self.attribute}.alpha.values",
                hint="check their spelling",
            )
        return [labels.index(value) for value in self.values]


def commonest(tally: Tally, among: list[int] | None = None) -> Ratios:
    """The largest share that one value (among some) has in each distribution."""
    histogram = tally.histogram
    count = histogram.count
    if among is not None:
        count = np.where(np.isin(histogram.code, among), count, 0)
    top = np.zeros(histogram.classes, dtype=count.dtype)
    np.maximum.at(top, histogram.owner(), count)
    return Ratios((top,), (tally.size,))
