"""k-map: every class could be about at least k people of the population."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from pydantic import Field

from tclose.requirements.classes import JudgedClasses
from tclose.requirements.fields import PolicyPart
from tclose.requirements.identity.population import PopulationRequirement, without_views
from tclose.requirements.requirement import (
    Capabilities,
    Matching,
    Measurement,
    Requirement,
    Table,
    settle,
)


class KMapField(PolicyPart):
    """`k_map` of a policy."""

    k_map: int | None = Field(None, ge=1, description="k-map: least matches in the population")


@dataclass(frozen=True)
class KMap(PopulationRequirement):
    """Every class is matched by at least k people of the population."""

    name: ClassVar[str] = "k-map"
    key: ClassVar[str] = "k_map"
    topic: ClassVar[str] = "Being one of many people out there"
    sentence: ClassVar[str] = "Every class fits at least {required} people of the population."

    k: int | None = None

    @property
    def limit(self) -> int | None:
        """The least number of people."""
        return self.k

    @property
    def capabilities(self) -> Capabilities:
        """More people fit a larger class."""
        return Capabilities(
            overlapping=True, self_contained=False, whole_table="promises about a population"
        )

    def measure(self, classes: JudgedClasses) -> Measurement:
        """The number of people that fit the rarest class."""
        worst = int(np.argmin(self.matches))
        return settle(
            without_views(classes), None, self.matches.astype(float),
            self.matches < (self.k or 0), worst,
            limit=self.k, exact=Fraction(int(self.matches[worst])), small_is_bad=True,
        )  # fmt: skip

    @classmethod
    def from_policy(cls, table: Table, match_population: Matching) -> Iterator[Requirement]:
        """`k_map = 5`."""
        policy = table.policy
        if isinstance(policy, KMapField) and policy.k_map is not None:
            yield cls(match_population(), policy.k_map)
