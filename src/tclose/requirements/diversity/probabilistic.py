"""Probabilistic l-diversity: no value has more than a share 1/l of its class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tclose.distance.numbers import Ratios
from tclose.requirements.classes import Tally
from tclose.requirements.constraint import AttributePool, Constraint, ConstraintKind
from tclose.requirements.requirement import AttributeRequirement, Scores


@dataclass(frozen=True)
class ProbabilisticDiversity(AttributeRequirement):
    """Nobody's value can be guessed with probability above 1/l."""

    name = "probabilistic-l-diversity"
    key = "l"
    kind = "probabilistic"
    sentence = (
        "Someone who knows only the class guesses {about} correctly at most once in {required} "
        "times."
    )
    small_is_bad = True

    def score(self, tally: Tally) -> Scores:
        """Returns the l that each class attains: the inverse of its largest share."""
        share = find_commonest(tally)
        l = Ratios(share.below, share.above)
        scores = Scores.at_most(share, None if self.limit is None else 1 / Fraction(self.limit))
        return replace(scores, value=l.value, exact=l.exact(scores.worst))

    def compile(self, attributes: AttributePool, limit: Fraction) -> tuple[Constraint, ...]:
        """Bounds the share of every value."""
        return (Constraint(ConstraintKind.SHARE, attributes.find(self.attribute), 1 / limit),)


def find_commonest(tally: Tally, among: Sequence[int] | None = None) -> Ratios:
    """Returns the largest share of one value (of those in `among`) in each distribution."""
    histogram = tally.histogram
    count = histogram.count
    if among is not None:
        count = np.where(np.isin(histogram.code, among), count, 0)
    top = np.zeros(histogram.classes, dtype=count.dtype)
    np.maximum.at(top, histogram.owner(), count)
    return Ratios((top,), (tally.size,))
