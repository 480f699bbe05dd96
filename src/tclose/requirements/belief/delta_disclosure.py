"""δ-disclosure privacy: how much the belief in a value may change, up or down."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

import numpy as np

from tclose.distance.numbers import Misuse, Number, Part, compare_each, decimal_of, must
from tclose.requirements.belief.beta_likeness import measure_gains
from tclose.requirements.classes import Tally, find_largest
from tclose.requirements.constraint import AttributePool, Constraint, ConstraintKind
from tclose.requirements.requirement import (
    AttributeRequirement,
    Capabilities,
    ColumnPart,
    Scores,
    write_number,
)


class Delta(Part):
    """δ-disclosure: |log(p/q)| < δ for every value of the table."""

    short_key: ClassVar[str] = "max"

    max: Annotated[Number, must("δ must be positive", lambda delta: delta > 0)]
    base: Literal["2", "e"] = "e"
    absent: Literal["violate", "ignore"] = "violate"


@dataclass(frozen=True)
class DeltaDisclosure(AttributeRequirement):
    """|log(p/q)| < δ, strictly, for every value of the table.

    A value that a class lacks has p = 0 and breaks any δ. `absent = "ignore"` is the laxer
    definition of some tools, under which merging classes can make matters worse.
    """

    name = "delta-disclosure"
    key = "delta"
    topic = "Belief in {about}"
    sentence = (
        "Knowing the class changes the belief in any {about}, up or down, by less than the factor "
        "that corresponds to {required}."
    )

    base: str = "e"
    absent: str = "violate"

    @property
    def required(self) -> str | None:
        """Returns δ and the base of its logarithm as text."""
        return None if self.limit is None else f"{write_number(self.limit)} (log {self.base})"

    @property
    def capabilities(self) -> Capabilities:
        """Returns that it is monotone unless absent values are ignored."""
        return Capabilities(monotone=self.absent == "violate")

    def score(self, tally: Tally) -> Scores:
        """Returns the largest change of belief; infinite where a value is absent from a class."""
        gain, histogram = measure_gains(tally), tally.histogram
        unit = math.log(2) if self.base == "2" else 1.0
        change = np.asarray(abs(np.log(gain.value)) / unit, dtype=np.float64)
        reached = np.zeros(len(change), dtype=bool)
        if self.limit is not None:
            # Which entries have |log(p/q)| ≥ δ, decided with as many digits as it takes.
            reached = (
                compare_each(
                    change - float(self.limit),
                    lambda index: gain.exact(index) or Fraction(0),
                    self._find_excess,
                )
                >= 0
            )
        owner, rows = histogram.owner(), histogram.classes
        value = np.maximum(find_largest(owner, change, rows), 0.0)
        fails = find_largest(owner, reached, rows) > 0
        note = "values absent from a class are ignored"
        if self.absent == "violate":
            value[np.diff(histogram.start) < np.count_nonzero(tally.table)] = np.inf
            note = ""
        if self.limit is not None:
            fails |= np.isinf(value)
        # A gain and its inverse have logarithms that differ in the last digit only.
        worst = int(np.flatnonzero(value >= value.max() - 1e-13)[0])
        return Scores(value, fails, worst, note=note)

    def _find_excess(self, ratio: Fraction) -> Decimal:
        """Returns |log(p/q)| − δ, to the digits of the current decimal context."""
        log = abs(decimal_of(ratio).ln())
        change = log / Decimal(2).ln() if self.base == "2" else log
        return change - decimal_of(Fraction(self.limit or 0))

    def compile(self, attributes: AttributePool, limit: Fraction) -> tuple[Constraint, ...]:
        """Bounds the share of every value by a band around its share in the table."""
        spread = float(limit) * (math.log(2) if self.base == "2" else 1.0)
        at, lax = attributes.find(self.attribute), self.absent == "ignore"
        return (Constraint(ConstraintKind.BAND, at, spread=spread, absent=lax),)

    @classmethod
    def find_misuses(cls, part: ColumnPart, stated: Delta) -> Iterator[Misuse]:
        """Yields absent = "ignore" with missing = "any".

        Ignoring absent values is not monotone, so trying each completion would not find the worst
        one.
        """
        if part.missing == "any" and stated.absent == "ignore":
            yield 'delta with absent = "ignore" is not defined where missing = "any"', ""
