"""(α, k)-anonymity: no protected value above a share of its class."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from pydantic import Field

from tclose.distance.numbers import Number, Part, must
from tclose.errors import UsageError
from tclose.requirements.classes import Classes
from tclose.requirements.constraint import AttributePool, Compiled, Constraint, ConstraintKind
from tclose.requirements.diversity.probabilistic import find_commonest
from tclose.requirements.requirement import AttributeRequirement, Measurement, Scores


class Alpha(Part):
    """(α, k)-anonymity: no value (or none of those named) has more than a share α of its class."""

    short_key: ClassVar[str] = "max"

    max: Annotated[Number, must("a share must lie in (0, 1]", lambda share: 0 < share <= 1)]
    values: tuple[str, ...] | None = Field(None, description="protected values; all if not given")


@dataclass(frozen=True)
class AlphaAnonymity(AttributeRequirement):
    """(α, k)-anonymity's α: no protected value has more than a share α of its class."""

    name = "alpha-k-anonymity"
    key = "alpha"
    topic = "Share of single values of {about}"
    sentence = (
        "No protected value of {about} makes up more than a share of {required} of any class."
    )

    values: tuple[str, ...] | None = None

    def measure(self, classes: Classes) -> Measurement:
        """Measures the largest share of a protected value in every class."""
        labels = classes.attributes[self.attribute].labels
        unknown = [value for value in self.values or () if value not in labels]
        if unknown:
            raise UsageError(
                f"{len(unknown)} of the protected values do not occur in the table",
                where=f"columns.{self.attribute}.alpha.values",
                hint="check their spelling",
            )
        tally = classes.tally(self.attribute)
        shares = find_commonest(tally, self._find_codes(labels))
        return self.summarize(classes, tally.view, Scores.at_most(shares, self.limit))

    def compile(self, attributes: AttributePool, limit: Fraction) -> Compiled:
        """Bounds the share of every protected value, if all of them occur in the table."""
        labels = attributes.classes.attributes[self.attribute].labels
        if not set(self.values or ()) <= set(labels):
            return None
        at, protected = attributes.find(self.attribute), self._find_codes(labels)
        return (Constraint(ConstraintKind.SHARE, at, limit, protected=protected),)

    def _find_codes(self, labels: tuple[str, ...]) -> tuple[int, ...] | None:
        """Returns the codes of the protected values; None for all."""
        return None if self.values is None else tuple(map(labels.index, self.values))
