"""(α, k)-anonymity: no protected value above a share of its class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from tclose.distance.numbers import Number, Part, must
from tclose.errors import UsageError
from tclose.requirements.classes import JudgedClasses, SensitiveValues
from tclose.requirements.constraint import AttributePool, Constraint, ConstraintKind
from tclose.requirements.diversity.probabilistic import commonest
from tclose.requirements.fields import ColumnPart
from tclose.requirements.requirement import (
    AttributeRequirement,
    Measurement,
    Requirement,
    Table,
    nothing_fails,
    settle,
)


class Alpha(Part):
    """(α, k)-anonymity: no value (or none of the named ones) above a share α of its class."""

    short_form: ClassVar[dict[str, Any] | None] = {"type": ["number", "string"]}

    max: Annotated[Number, must("a share must lie in (0, 1]", lambda share: 0 < share <= 1)]
    values: tuple[str, ...] | None = Field(None, description="protected values; all if not given")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return value if isinstance(value, dict) else {"max": value}


class AlphaField(ColumnPart):
    """`alpha` of a column."""

    alpha: Alpha | None = None


@dataclass(frozen=True)
class AlphaAnonymity(AttributeRequirement):
    """(α, k)-anonymity's α: no protected value has more than a share α of its class."""

    name: ClassVar[str] = "alpha-k-anonymity"
    key: ClassVar[str] = "alpha"
    sentence: ClassVar[str] = (
        "No protected value of {about} makes up more than a share of {required} of any class."
    )

    alpha: Fraction | None = None
    values: tuple[str, ...] | None = None

    @property
    def limit(self) -> Fraction | None:
        """The largest share."""
        return self.alpha

    def measure(self, classes: JudgedClasses) -> Measurement:
        """The largest share of a protected value in any class."""
        tally = classes.tally(self.attribute)
        top = commonest(tally, self._protected(classes))
        worst = top.largest()
        fails = nothing_fails(top.value) if self.alpha is None else ~top.within(self.alpha)
        return settle(
            classes, tally, top.value, fails, worst, limit=self.alpha, exact=top.exact(worst)
        )

    def compile(self, attributes: AttributePool) -> tuple[Constraint, ...] | None:
        """The share of every protected value, where all of them are known."""
        labels, protected = attributes.labels(self.attribute), None
        if self.alpha is None or not set(self.values or ()) <= set(labels):
            return None
        if self.values is not None:
            protected = tuple(labels.index(value) for value in self.values)
        at = attributes.add(self.attribute)
        return (Constraint(ConstraintKind.SHARE, at, self.alpha, protected=protected),)

    @classmethod
    def from_column(cls, values: SensitiveValues, table: Table) -> Iterator[Requirement]:
        """`alpha = 0.5` or `alpha = { max = 0.5, values = ["hiv"] }`."""
        column = values.column
        if isinstance(column, AlphaField) and column.alpha is not None:
            yield cls(values.name, column.alpha.max, column.alpha.values)

    def _protected(self, classes: JudgedClasses) -> list[int] | None:
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
