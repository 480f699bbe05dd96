"""(α, k)-anonymity: no protected value above a share of its class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from tclose.data.binding import BoundTable
from tclose.data.encode.attribute import Attribute
from tclose.data.encode.classes import Classes
from tclose.errors import UsageError
from tclose.policy.model import Column
from tclose.requirements.constraint import AttributePool, Constraint, ConstraintKind
from tclose.requirements.diversity.probabilistic import commonest
from tclose.requirements.requirement import (
    AttributeRequirement,
    Measurement,
    Requirement,
    nothing_fails,
    settle,
)


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

    def measure(self, classes: Classes) -> Measurement:
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
    def from_column(
        cls, column: Column, values: Attribute, bound: BoundTable
    ) -> Iterator[Requirement]:
        """`alpha = 0.5` or `alpha = { max = 0.5, values = ["hiv"] }`."""
        if column.alpha is not None:
            yield cls(values.name, column.alpha.max, column.alpha.values)

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
