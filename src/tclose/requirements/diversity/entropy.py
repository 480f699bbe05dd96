"""Entropy l-diversity: the values of a class are as uncertain as l equally likely ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Histogram
from tclose.distance.numbers import Number, Part, compare, decimal_of, must
from tclose.requirements.classes import JudgedClasses, SensitiveValues
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


class EntropyKey(Part):
    """`entropy` among the kinds of l-diversity."""

    entropy: Values | None = None


@dataclass(frozen=True)
class EntropyDiversity(AttributeRequirement):
    """H(class) ≥ log l (Li 2007, section 2). The whole table must have that much to begin with."""

    name: ClassVar[str] = "entropy-l-diversity"
    key: ClassVar[str] = "l"
    sentence: ClassVar[str] = (
        "In every class {about} is at least as uncertain as among {required} equally likely values."
    )

    l: Fraction | None = None

    @property
    def limit(self) -> Fraction | None:
        """The l of log l."""
        return self.l

    def measure(self, classes: JudgedClasses) -> Measurement:
        """exp(H) of the least uncertain class."""
        tally = classes.tally(self.attribute)
        entropy = entropies(tally.histogram)
        value = np.exp(entropy)
        # Equal counts in another order add up to another last digit; the first such class is meant.
        worst = int(np.flatnonzero(entropy <= entropy.min() + 1e-13)[0])
        fails = nothing_fails(value)
        if self.l is not None:
            fails = _below(tally.histogram, entropy, self.l)
        alone = tally.histogram.start[worst + 1] - tally.histogram.start[worst] == 1
        return settle(
            classes, tally, value, fails, worst,
            limit=self.l, exact=Fraction(1) if alone else None, small_is_bad=True,
        )  # fmt: skip

    def compile(self, attributes: AttributePool) -> tuple[Constraint, ...] | None:
        """The entropy, from below."""
        if self.l is None:
            return None
        return (Constraint(ConstraintKind.ENTROPY, attributes.add(self.attribute), self.l),)

    @classmethod
    def from_column(cls, values: SensitiveValues, table: Table) -> Iterator[Requirement]:
        """`l = { entropy = 2.5 }`."""
        kinds = getattr(values.column, cls.key)
        if isinstance(kinds, EntropyKey) and kinds.entropy is not None:
            yield cls(values.name, kinds.entropy)


def entropies(histogram: Histogram) -> NDArray[np.float64]:
    """H of every class, in natural units: Σ (c/r) · log(r/c)."""
    owner = histogram.owner()
    size = histogram.size.astype(float)
    share = histogram.count.astype(float) / size[owner]
    terms = -share * np.log(share)
    return np.bincount(owner, terms, minlength=histogram.classes).astype(np.float64)


def _below(
    histogram: Histogram, entropy: NDArray[np.float64], limit: Fraction
) -> NDArray[np.bool_]:
    """Which classes have H < log l, decided with as many digits as it takes."""
    difference = entropy - np.log(float(limit))
    result: NDArray[np.bool_] = difference < 0

    @cache
    def short(counts: tuple[int, ...]) -> bool:
        def excess() -> Decimal:
            size = sum(counts)
            spread = sum((c * Decimal(c).ln() for c in counts), Decimal(0))
            return Decimal(size).ln() - spread / size - decimal_of(limit).ln()

        return compare(excess, 0.0, Fraction(0)) < 0

    for index in np.flatnonzero(abs(difference) < 1e-8):
        counts = histogram.count[histogram.start[index] : histogram.start[index + 1]].tolist()
        common = math.gcd(*counts)
        result[index] = short(tuple(sorted(count // common for count in counts)))
    return result
