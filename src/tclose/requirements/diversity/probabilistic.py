"""Probabilistic l-diversity: no value above a share 1/l of its class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np

from tclose.distance import Ratios
from tclose.distance.numbers import Number, Part, must
from tclose.requirements.classes import JudgedClasses, SensitiveValues, Tally
from tclose.requirements.constraint import AttributePool, Constraint, ConstraintKind
from tclose.requirements.requirement import (
    AttributeRequirement,
    Measurement,
    Requirement,
    Table,
    nothing_fails,
    settle,
)

Values = Annotated[Number, must("l must be at least 1", lambda l: l >= 1)]


class ProbabilisticKey(Part):
    """`probabilistic` among the kinds of l-diversity."""

    probabilistic: Values | None = None


@dataclass(frozen=True)
class ProbabilisticDiversity(AttributeRequirement):
    """Nobody's value can be guessed with probability above 1/l."""

    name: ClassVar[str] = "probabilistic-l-diversity"
    key: ClassVar[str] = "l"
    sentence: ClassVar[str] = (
        "Nobody who knows only the class guesses {about} right more often than once in {required}."
    )

    l: Fraction | None = None

    @property
    def limit(self) -> Fraction | None:
        """The l of 1/l."""
        return self.l

    def measure(self, classes: JudgedClasses) -> Measurement:
        """The l that the table attains: the inverse of the largest share."""
        tally = classes.tally(self.attribute)
        top = commonest(tally)
        inverse = Ratios(top.below, top.above)
        worst = top.largest()
        fails = ~top.within(1 / self.l) if self.l else nothing_fails(top.value)
        return settle(
            classes, tally, inverse.value, fails, worst,
            limit=self.l, exact=inverse.exact(worst), small_is_bad=True,
        )  # fmt: skip

    def compile(self, attributes: AttributePool) -> tuple[Constraint, ...] | None:
        """The share of every value."""
        if not self.l:
            return None
        return (Constraint(ConstraintKind.SHARE, attributes.add(self.attribute), 1 / self.l),)

    @classmethod
    def from_column(cls, values: SensitiveValues, table: Table) -> Iterator[Requirement]:
        """`l = { probabilistic = 3 }`."""
        kinds = getattr(values.column, cls.key)
        if isinstance(kinds, ProbabilisticKey) and kinds.probabilistic is not None:
            yield cls(values.name, kinds.probabilistic)


def commonest(tally: Tally, among: list[int] | None = None) -> Ratios:
    """The largest share that one value (among some) has in each distribution."""
    histogram = tally.histogram
    count = histogram.count
    if among is not None:
        count = np.where(np.isin(histogram.code, among), count, 0)
    top = np.zeros(histogram.classes, dtype=count.dtype)
    np.maximum.at(top, histogram.owner(), count)
    return Ratios((top,), (tally.size,))
