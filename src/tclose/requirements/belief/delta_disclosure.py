"""δ-disclosure privacy: how much belief in a value may change at all, up or down."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from tclose.distance import Ratios
from tclose.distance.numbers import Number, Part, compare, decimal_of, must
from tclose.requirements.belief.beta_likeness import gains
from tclose.requirements.classes import JudgedClasses, SensitiveValues
from tclose.requirements.constraint import AttributePool, Constraint, ConstraintKind
from tclose.requirements.fields import ColumnPart
from tclose.requirements.requirement import (
    AttributeRequirement,
    Capabilities,
    Measurement,
    Requirement,
    Table,
    nothing_fails,
    settle,
    shown,
)


class Delta(Part):
    """δ-disclosure: |log(p/q)| < δ for every value of the table."""

    short_form: ClassVar[dict[str, Any] | None] = {"type": ["number", "string"]}

    max: Annotated[Number, must("δ must be positive", lambda delta: delta > 0)]
    base: Literal["2", "e"] = "e"
    absent: Literal["violate", "ignore"] = "violate"

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return value if isinstance(value, dict) else {"max": value}


class DeltaField(ColumnPart):
    """`delta` of a column."""

    delta: Delta | None = None

    @model_validator(mode="after")
    def _absent_defined(self) -> DeltaField:
        if self.missing == "any" and self.delta is not None and self.delta.absent == "ignore":
            raise ValueError('delta with absent = "ignore" is not defined where missing = "any"')
        return self


@dataclass(frozen=True)
class DeltaDisclosure(AttributeRequirement):
    """|log(p/q)| < δ, strictly, for every value of the table.

    A value that a class lacks altogether has p = 0 and breaks any δ; `absent = "ignore"` is the
    laxer reading of some tools, under which merging classes can make matters worse.
    """

    name: ClassVar[str] = "delta-disclosure"
    key: ClassVar[str] = "delta"
    topic: ClassVar[str] = "Belief in {about}"
    sentence: ClassVar[str] = (
        "Knowing the class changes the belief in any {about}, up or down, by less than the factor "
        "that {required} stands for."
    )

    delta: Fraction | None = None
    base: str = "e"
    absent: str = "violate"

    @property
    def limit(self) -> Fraction | None:
        """δ."""
        return self.delta

    @property
    def required(self) -> str | None:
        """The bound, its logarithm, and what an absent value means."""
        return None if self.delta is None else f"{shown(self.delta)} (log {self.base})"

    @property
    def capabilities(self) -> Capabilities:
        """Monotone in its strict reading only."""
        return Capabilities(monotone=self.absent == "violate")

    def measure(self, classes: JudgedClasses) -> Measurement:
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
        fails = nothing_fails(by_row)
        if self.delta is not None:
            fails = np.isinf(by_row)
            fails[owner[self._reached(gain, change, self.delta)]] = True
        # A gain and its inverse have logarithms that differ in the last digit only.
        worst = int(np.flatnonzero(by_row >= by_row.max() - 1e-13)[0])
        return settle(
            classes, tally, by_row, fails, worst,
            limit=self.delta, exact=None,
            note="" if self.absent == "violate" else "values absent from a class are ignored",
        )  # fmt: skip

    def compile(self, attributes: AttributePool) -> tuple[Constraint, ...] | None:
        """The band in which the share of every value must stay."""
        if self.delta is None:
            return None
        spread = float(self.delta) * (math.log(2) if self.base == "2" else 1.0)
        at, lax = attributes.add(self.attribute), self.absent == "ignore"
        return (Constraint(ConstraintKind.BAND, at, spread=spread, absent=lax),)

    @classmethod
    def from_column(cls, values: SensitiveValues, table: Table) -> Iterator[Requirement]:
        """`delta = 1` or `delta = { max = 1, base = "2", absent = "ignore" }`."""
        column = values.column
        if isinstance(column, DeltaField) and (delta := column.delta) is not None:
            yield cls(values.name, delta.max, delta.base, delta.absent)

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
