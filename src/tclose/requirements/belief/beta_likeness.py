"""β-likeness: how much belief in a value may grow, relative to the whole table."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np

from tclose.arrays import Flags
from tclose.distance.numbers import Number, Ratios, compare_each, decimal_of, must
from tclose.requirements.classes import Tally, find_largest
from tclose.requirements.constraint import AttributePool, Constraint, ConstraintKind
from tclose.requirements.requirement import AttributeRequirement, Scores, SeveralKinds

Gain = Annotated[Number, must("β must be positive", lambda beta: beta > 0)]


class Beta(SeveralKinds):
    """β-likeness: the belief in a value may grow by a factor of at most 1 + β."""

    short_key: ClassVar[str] = "basic"

    basic: Gain | None = None
    enhanced: Gain | None = None


@dataclass(frozen=True)
class BasicBetaLikeness(AttributeRequirement):
    """(p − q)/q ≤ β for every value, with its shares p in the class and q in the table."""

    name = "basic-beta-likeness"
    key = "beta"
    kind = "basic"
    topic = "Belief in {about}"
    sentence = (
        "Knowing the class raises the belief in any {about} by at most {required} times what it "
        "was."
    )

    def score(self, tally: Tally) -> Scores:
        """Returns the largest gain per distribution; infinite where a gain is beyond any β."""
        gain = measure_gains(tally)
        beyond = self.find_beyond(tally, gain)
        value, fails = np.where(beyond, np.inf, gain.value - 1), np.zeros_like(beyond)
        if self.limit is not None:
            fails = beyond | ~gain.within(1 + Fraction(self.limit))
        finite = not np.isinf(value).any()
        entry = gain.largest() if finite else int(np.argmax(value))
        exact = gain.exact(entry)
        exact = exact - 1 if exact is not None and finite else None
        owner, rows = tally.histogram.owner(), tally.histogram.classes
        broken = find_largest(owner, fails, rows) > 0
        return Scores(find_largest(owner, value, rows), broken, int(owner[entry]), exact)

    def find_beyond(self, tally: Tally, gain: Ratios) -> Flags:
        """Flags the histogram entries whose gain is beyond any β: none here."""
        return np.zeros(len(gain.value), dtype=bool)

    def compile(self, attributes: AttributePool, limit: Fraction) -> tuple[Constraint, ...]:
        """Bounds the gain of every value."""
        return (Constraint(ConstraintKind.GAIN, attributes.find(self.attribute), 1 + limit),)


@dataclass(frozen=True)
class EnhancedBetaLikeness(BasicBetaLikeness):
    """(p − q)/q ≤ min(β, −ln q): a common value may not gain as much as a rare one."""

    name = "enhanced-beta-likeness"
    kind = "enhanced"
    sentence = (
        "Knowing the class raises the belief in any {about} by at most {required} times what it "
        "was, and less for common values."
    )

    def find_beyond(self, tally: Tally, gain: Ratios) -> Flags:
        """Flags the entries with p/q − 1 > −ln q, decided with as many digits as it takes."""
        total, counts = tally.total, tally.table[tally.histogram.code]
        share = counts.astype(float) / total
        # A value that the table lacks gains infinitely, which is beyond any logarithm.
        difference = gain.value - 1 + np.log(np.where(share > 0, share, 1.0))

        def find_shares(index: int) -> tuple[Fraction, Fraction]:
            return gain.exact(index) or Fraction(0), Fraction(int(counts[index]), total)

        def find_excess(shares: tuple[Fraction, Fraction]) -> Decimal:
            ratio, q = shares
            return decimal_of(ratio) - 1 + decimal_of(q).ln()

        return compare_each(difference, find_shares, find_excess) > 0

    def compile(self, attributes: AttributePool, limit: Fraction) -> tuple[Constraint, ...]:
        """Bounds the gain of every value, and its share by the band that −ln q leaves."""
        band = Constraint(ConstraintKind.BAND, attributes.find(self.attribute), absent=True)
        return (*super().compile(attributes, limit), band)


def measure_gains(tally: Tally) -> Ratios:
    """Returns p/q = (c·n)/(r·N) for every entry of the histogram."""
    histogram, rows = tally.histogram, tally.total
    total = np.full(len(histogram.code), rows, np.int64 if rows < 2**62 else object)
    size = tally.size[histogram.owner()]
    return Ratios((histogram.count, total), (size, tally.table[histogram.code]))
