"""δ-presence: how sure anyone may be that a person of the population is in the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tclose.distance.numbers import Misuse, Number, Part, Ratios
from tclose.errors import UsageError
from tclose.requirements.classes import Classes
from tclose.requirements.identity.k_map import PopulationRequirement
from tclose.requirements.requirement import (
    Capabilities,
    Measurement,
    ProposedCells,
    Scores,
    write_number,
)


class Presence(Part):
    """δ-presence: how sure anyone may be that a person of the population is in the table."""

    min: Number = Fraction(0)
    max: Number = Fraction(1)

    def find_misuses(self) -> Iterator[Misuse]:
        """Ends that are no probabilities, or change places."""
        if not 0 <= self.min <= self.max <= 1:
            yield "needs 0 ≤ min ≤ max ≤ 1", ""


@dataclass(frozen=True)
class DeltaPresence(PopulationRequirement):
    """Nobody of the population is in the table with a probability above max, or below min."""

    name = "delta-presence"
    key = "presence"
    topic = "Being in the table at all"
    sentence = (
        "Of the people who fit a class, a share within {required} is in the table, so that being "
        "in it stays uncertain."
    )

    min: Fraction = Fraction(0)

    @property
    def required(self) -> str | None:
        """Returns the two bounds as text."""
        if self.limit is None:
            return None
        return f"[{write_number(self.min)}, {write_number(self.limit)}]"

    @property
    def capabilities(self) -> Capabilities:
        """Monotone only without a lower bound: merging can lower a share below it."""
        free = not self.min
        return Capabilities(monotone=free, overlapping=free, self_contained=False, whole_table=True)

    def measure(self, classes: Classes) -> Measurement:
        """Measures the largest probability of being in the table, and the margin to both bounds."""
        measured = super().measure(classes)
        below = self._find_shares(classes).value - float(self.min)
        return replace(measured, margin=np.minimum(measured.margin, below))

    def score(self, classes: Classes) -> Scores:
        """Returns the probability of being in the table; infinite where nobody matches.

        If only the lower bound is broken, the worst is the least probability.
        """
        share = self._find_shares(classes)
        low = int(np.argmin(share.value))
        note = f"least: {write_number(share.exact(low)) or 'infinite'}"
        scores = Scores.at_most(share, self.limit, note)
        below = share.within(self.min, strictly=True) & (self.limit is not None)
        if below.any() and not scores.fails.any():
            scores = replace(scores, worst=low, exact=share.exact(low))
        return replace(scores, fails=scores.fails | below)

    def _find_shares(self, classes: Classes) -> Ratios:
        return Ratios((classes.size,), (self.matches,))

    def measure_proposed(self, classes: Classes, cells: ProposedCells) -> Measurement | None:
        """Measures by the people who match a raw class, which are enough for the largest share."""
        if self.min:
            raise UsageError(
                "a least share of the population cannot be searched for",
                where="presence.min",
                hint="require presence.max only, and verify the least share afterwards",
            )
        return super().measure_proposed(classes, cells)
