"""δ-presence: how sure anyone may be that a person of the population is in the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from pydantic import model_validator

from tclose.distance import Ratios
from tclose.distance.numbers import Number, Part
from tclose.errors import UsageError
from tclose.requirements.classes import JudgedClasses
from tclose.requirements.fields import PolicyPart
from tclose.requirements.identity.population import PopulationRequirement, without_views
from tclose.requirements.requirement import (
    Capabilities,
    Matching,
    Measurement,
    Proposal,
    Requirement,
    Table,
    settle,
    shown,
)


class Presence(Part):
    """δ-presence: how sure anyone may be that a person of the population is in the table."""

    min: Number = Fraction(0)
    max: Number = Fraction(1)

    @model_validator(mode="after")
    def _ordered(self) -> Presence:
        if not 0 <= self.min <= self.max <= 1:
            raise ValueError("needs 0 ≤ min ≤ max ≤ 1")
        return self


class PresenceField(PolicyPart):
    """`presence` of a policy."""

    presence: Presence | None = None


@dataclass(frozen=True)
class DeltaPresence(PopulationRequirement):
    """Nobody of the population is known to be in the table with more (or less) than a table."""

    name: ClassVar[str] = "delta-presence"
    key: ClassVar[str] = "presence"
    topic: ClassVar[str] = "Being in the table at all"
    sentence: ClassVar[str] = (
        "Of the people who fit a class, a share within {required} is in the table, so that being "
        "in it stays uncertain."
    )

    least: Fraction | None = None
    most: Fraction | None = None

    @property
    def limit(self) -> Fraction | None:
        """The largest share."""
        return self.most

    @property
    def required(self) -> str | None:
        """The bounds."""
        return None if self.most is None else f"[{shown(self.least)}, {shown(self.most)}]"

    @property
    def capabilities(self) -> Capabilities:
        """Merging can lower a share below a lower bound, so it is monotone only without one."""
        return Capabilities(
            monotone=not self.least,
            overlapping=not self.least,
            self_contained=False,
            whole_table="promises about a population",
        )

    def measure(self, classes: JudgedClasses) -> Measurement:
        """The largest probability of being in the table; infinite where nobody fits.

        Where only the lower bound is broken, the least probability is what counts.
        """
        share = Ratios((classes.size,), (self.matches,))
        worst, low = share.largest(), int(np.argmin(share.value))
        above = below = np.zeros(classes.count, dtype=bool)
        if self.most is not None and self.least is not None:
            above, below = ~share.within(self.most), share.under(self.least)
        if below.any() and not above.any():
            worst = low
        measured = settle(
            without_views(classes), None, share.value, above | below, worst,
            limit=self.most, exact=share.exact(worst),
            note=f"least: {shown(share.exact(low)) or 'infinite'}",
        )  # fmt: skip
        least = Fraction(0) if self.least is None else self.least
        return replace(measured, margin=np.minimum(measured.margin, share.value - float(least)))

    def measure_proposed(self, classes: JudgedClasses, proposal: Proposal) -> Measurement | None:
        """Judged by the people who fit a raw class, which are enough for the largest share."""
        if self.least:
            raise UsageError(
                "a least share of the population cannot be searched for",
                where="presence.min",
                hint="promise presence.max only, and verify the least share afterwards",
            )
        return super().measure_proposed(classes, proposal)

    @classmethod
    def from_policy(cls, table: Table, match_population: Matching) -> Iterator[Requirement]:
        """`presence = { min = 0, max = 0.5 }`."""
        policy = table.policy
        if isinstance(policy, PresenceField) and (presence := policy.presence) is not None:
            yield cls(match_population(), presence.min, presence.max)
