"""Entropy l-diversity: the values of a class are as uncertain as l equally likely ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated

import numpy as np

from tclose.arrays import Flags, Floats
from tclose.distance.histogram import Histogram
from tclose.distance.numbers import Number, compare_each, decimal_of, is_product_one, must
from tclose.requirements.classes import Tally
from tclose.requirements.constraint import AttributePool, Constraint, ConstraintKind
from tclose.requirements.requirement import AttributeRequirement, Scores

ValueCount = Annotated[Number, must("l must be at least 1", lambda l: l >= 1)]


@dataclass(frozen=True)
class EntropyDiversity(AttributeRequirement):
    """H(class) ≥ log l (Li 2007, section 2), which the table itself must satisfy to begin with."""

    name = "entropy-l-diversity"
    key = "l"
    kind = "entropy"
    sentence = (
        "In every class {about} is at least as uncertain as among {required} equally likely values."
    )
    small_is_bad = True

    def score(self, tally: Tally) -> Scores:
        """Returns exp(H)."""
        histogram = tally.histogram
        entropy = measure_entropy(histogram)
        # Equal counts in another order differ in the last digit of H: take the first such class.
        worst = int(np.flatnonzero(entropy <= entropy.min() + 1e-13)[0])
        fails = np.zeros(len(entropy), dtype=bool)
        if self.limit is not None:
            fails = _is_below(histogram, entropy, Fraction(self.limit))
        alone = histogram.start[worst + 1] - histogram.start[worst] == 1
        return Scores(np.exp(entropy), fails, worst, Fraction(1) if alone else None)

    def compile(self, attributes: AttributePool, limit: Fraction) -> tuple[Constraint, ...]:
        """Bounds the entropy from below."""
        return (Constraint(ConstraintKind.ENTROPY, attributes.find(self.attribute), limit),)


def measure_entropy(histogram: Histogram) -> Floats:
    """Returns H of every class in natural units: Σ (c/r) · log(r/c)."""
    owner = histogram.owner()
    size = histogram.size.astype(float)
    share = histogram.count.astype(float) / size[owner]
    terms = -share * np.log(share)
    return np.bincount(owner, terms, minlength=histogram.classes).astype(np.float64)


def _is_below(histogram: Histogram, entropy: Floats, limit: Fraction) -> Flags:
    """Flags the classes with H < log l: equality by n^n = l^n ∏ c^c, the rest by digits."""

    def reduce_counts(index: int) -> tuple[int, ...]:
        counts = histogram.count[histogram.start[index] : histogram.start[index + 1]].tolist()
        common = math.gcd(*counts)
        return tuple(sorted(count // common for count in counts))

    def find_excess(counts: tuple[int, ...]) -> Decimal:
        size = sum(counts)
        equal = [(size, size), (limit.numerator, -size), (limit.denominator, size)]
        if is_product_one([*equal, *((c, -c) for c in counts)]):
            return Decimal(0)
        spread = sum((c * Decimal(c).ln() for c in counts), Decimal(0))
        return Decimal(size).ln() - spread / size - decimal_of(limit).ln()

    return compare_each(entropy - np.log(float(limit)), reduce_counts, find_excess) < 0
