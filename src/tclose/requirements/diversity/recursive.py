"""Recursive (c, l)-diversity: the commonest value is not too common compared with rarer ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated

import numpy as np
from pydantic import Field

from tclose.distance.histogram import Histogram, add_by_group
from tclose.distance.numbers import Number, Part, Ratios, must
from tclose.requirements.classes import Tally
from tclose.requirements.constraint import AttributePool, Constraint, ConstraintKind
from tclose.requirements.requirement import AttributeRequirement, Scores, write_number


class Recursive(Part):
    """Recursive (c, l)-diversity: the commonest value under c times the l-th and all rarer ones."""

    c: Annotated[Number, must("c must be positive", lambda c: c > 0)]
    l: int = Field(ge=1)


@dataclass(frozen=True)
class RecursiveDiversity(AttributeRequirement):
    """r₁ < c · (r_l + … + r_m), strictly, with counts r₁ ≥ r₂ ≥ … ≥ r_m."""

    name = "recursive-(c,l)-diversity"
    key = "l"
    kind = "recursive"
    limit_key = "c"
    sentence = (
        "In no class is one value of {about} overwhelming, even if some others can be ruled out "
        "({required})."
    )

    l: int = 2

    @property
    def required(self) -> str | None:
        """Returns c and l as text."""
        return None if self.limit is None else f"c={write_number(self.limit)}, l={self.l}"

    def score(self, tally: Tally) -> Scores:
        """Returns r₁ / (r_l + … + r_m): a class is (c, l)-diverse for every c above that."""
        ratio = divide_head_by_tail(tally.histogram, self.l)
        scores = Scores.at_most(ratio, None, f"l={self.l}")
        if self.limit is None:
            return scores
        return replace(scores, fails=~ratio.within(Fraction(self.limit), strictly=True))

    def compile(self, attributes: AttributePool, limit: Fraction) -> tuple[Constraint, ...]:
        """Bounds the commonest value by the l-th and all rarer ones."""
        at = attributes.find(self.attribute)
        return (Constraint(ConstraintKind.RECURSIVE, at, limit, l=self.l),)


def divide_head_by_tail(histogram: Histogram, l: int) -> Ratios:
    """Divides the largest count of each class by the sum of the l-th largest and all smaller."""
    owner = histogram.owner()
    order = np.lexsort((-histogram.count, owner))
    rank = np.arange(len(owner)) - histogram.start[owner]
    count = histogram.count[order]
    head = np.zeros(histogram.classes, dtype=count.dtype)
    head[owner[rank == 0]] = count[rank == 0]
    tail = add_by_group(count, np.where(rank >= l - 1, owner, -1), histogram.classes)
    return Ratios((head,), (tail,))
