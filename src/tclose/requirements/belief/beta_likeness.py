"""β-likeness: how much belief in a value may grow, relative to the whole table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from tclose.distance import Ratios
from tclose.distance.numbers import Number, Part, compare, decimal_of, must
from tclose.requirements.classes import JudgedClasses, SensitiveValues, Tally
from tclose.requirements.constraint import AttributePool, Constraint, ConstraintKind
from tclose.requirements.fields import ColumnPart
from tclose.requirements.requirement import (
    AttributeRequirement,
    Measurement,
    Requirement,
    Table,
    nothing_fails,
    settle,
)

Gain = Annotated[Number, must("β must be positive", lambda beta: beta > 0)]


class Beta(Part):
    """β-likeness: belief in a value may grow by a factor of at most 1 + β."""

    short_form: ClassVar[dict[str, Any] | None] = {"type": ["number", "string"]}

    basic: Gain | None = None
    enhanced: Gain | None = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return value if isinstance(value, dict) else {"basic": value}

    @model_validator(mode="after")
    def _some(self) -> Beta:
        if not self.model_fields_set:
            raise ValueError("name a kind: basic or enhanced")
        return self


class BetaField(ColumnPart):
    """`beta` of a column."""

    beta: Beta | None = None


@dataclass(frozen=True)
class BasicBetaLikeness(AttributeRequirement):
    """(p − q)/q ≤ β for every value: its share in a class over its share in the table."""

    name: ClassVar[str] = "basic-beta-likeness"
    key: ClassVar[str] = "beta"
    topic: ClassVar[str] = "Belief in {about}"
    sentence: ClassVar[str] = (
        "Knowing the class raises the belief in any {about} by at most {required} times what it "
        "was."
    )

    beta: Fraction | None = None

    @property
    def limit(self) -> Fraction | None:
        """The largest gain allowed."""
        return self.beta

    def measure(self, classes: JudgedClasses) -> Measurement:
        """The largest gain in belief."""
        tally = classes.tally(self.attribute)
        gain = gains(tally)
        fails = nothing_fails(gain.value) if self.beta is None else ~gain.within(1 + self.beta)
        return _settle_entries(classes, tally, gain, gain.value - 1, fails, self.beta)

    def compile(self, attributes: AttributePool) -> tuple[Constraint, ...] | None:
        """The gain of every value."""
        if self.beta is None:
            return None
        return (Constraint(ConstraintKind.GAIN, attributes.add(self.attribute), 1 + self.beta),)

    @classmethod
    def from_column(cls, values: SensitiveValues, table: Table) -> Iterator[Requirement]:
        """`beta = 1` or `beta = { basic = 1 }`."""
        column = values.column
        if isinstance(column, BetaField) and column.beta and column.beta.basic is not None:
            yield cls(values.name, column.beta.basic)


@dataclass(frozen=True)
class EnhancedBetaLikeness(BasicBetaLikeness):
    """(p − q)/q ≤ min(β, −ln q): a common value may not gain as much as a rare one."""

    name: ClassVar[str] = "enhanced-beta-likeness"
    sentence: ClassVar[str] = (
        "Knowing the class raises the belief in any {about} by at most {required} times what it "
        "was, and less for common values."
    )

    def measure(self, classes: JudgedClasses) -> Measurement:
        """The largest gain; infinite where a gain passes −ln q, which no β allows."""
        tally = classes.tally(self.attribute)
        gain = gains(tally)
        beyond = _beyond_logarithm(tally, gain)
        value = np.where(beyond, np.inf, gain.value - 1)
        fails = nothing_fails(value)
        if self.beta is not None:
            fails = beyond | ~gain.within(1 + self.beta)
        return _settle_entries(classes, tally, gain, value, fails, self.beta)

    def compile(self, attributes: AttributePool) -> tuple[Constraint, ...] | None:
        """The gain of every value, and the band that its logarithm leaves."""
        gain = super().compile(attributes)
        if gain is None:
            return None
        band = Constraint(ConstraintKind.BAND, attributes.add(self.attribute), absent=True)
        return (*gain, band)

    @classmethod
    def from_column(cls, values: SensitiveValues, table: Table) -> Iterator[Requirement]:
        """`beta = { enhanced = 1 }`."""
        column = values.column
        if isinstance(column, BetaField) and column.beta and column.beta.enhanced is not None:
            yield cls(values.name, column.beta.enhanced)


def gains(tally: Tally) -> Ratios:
    """p/q = (c·n)/(r·N) of every entry of the histogram."""
    histogram, rows = tally.histogram, tally.total
    total = np.broadcast_to(
        np.array(rows, np.int64 if rows < 2**62 else object), histogram.code.shape
    )
    size = tally.size[histogram.owner()]
    return Ratios((histogram.count, total), (size, tally.table[histogram.code]))


def _beyond_logarithm(tally: Tally, gain: Ratios) -> NDArray[np.bool_]:
    """Which entries have p/q − 1 > −ln q, decided with as many digits as it takes."""
    total = tally.total
    counts = tally.table[tally.histogram.code]
    share = counts.astype(float) / total
    # A value that the table lacks gains infinitely, which is beyond any logarithm.
    difference = gain.value - 1 + np.log(np.where(share > 0, share, 1.0))
    result = difference > 0

    @cache
    def passes(ratio: Fraction, count: int) -> bool:
        def excess() -> Decimal:
            return decimal_of(ratio) - 1 + decimal_of(Fraction(count, total)).ln()

        return compare(excess, 0.0, Fraction(0)) > 0

    for index in np.flatnonzero(abs(difference) < 1e-8):
        result[index] = passes(gain.exact(int(index)) or Fraction(0), int(counts[index]))
    return result


def _settle_entries(
    classes: JudgedClasses,
    tally: Tally,
    gain: Ratios,
    value: NDArray[np.float64],
    fails: NDArray[np.bool_],
    limit: Fraction | None,
) -> Measurement:
    """From entries to distributions: the worst value of each counts."""
    owner = tally.histogram.owner()
    finite = not np.isinf(value).any()
    entry = gain.largest() if finite else int(np.argmax(value))
    exact = gain.exact(entry)
    by_row = np.full(tally.histogram.classes, -np.inf)
    np.maximum.at(by_row, owner, value)
    broken = np.zeros(tally.histogram.classes, dtype=bool)
    broken[owner[fails]] = True
    return settle(
        classes, tally, by_row, broken, int(owner[entry]),
        limit=limit, exact=exact - 1 if exact is not None and finite else None,
    )  # fmt: skip
