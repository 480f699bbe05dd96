"""k-map: every class could be about at least k people of the population.

A generalized value fits everyone it covers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from pydantic import Field

from tclose.requirements.classes import JudgedClasses
from tclose.requirements.requirement import (
    Capabilities,
    Ints,
    Matching,
    Measurement,
    PolicyPart,
    ProposedCells,
    Requirement,
    Scores,
    Statement,
    Table,
)


class KMapField(PolicyPart):
    """`k_map = 5` of a policy."""

    k_map: int | None = Field(None, ge=1, description="k-map: least matches in the population")


@dataclass(frozen=True)
class PopulationRequirement(Requirement):
    """A requirement about the people who fit a class: `matches` has their number for each."""

    matches: Ints

    def measure(self, classes: JudgedClasses) -> Measurement:
        """What the classes attain as they are printed, whatever else they may be seen as."""
        printed = classes.regroup(()) if classes.views != classes.count else classes
        return self.summarize(printed, np.arange(classes.count), self.score(classes))

    def score(self, classes: JudgedClasses) -> Scores:
        """What each of the classes attains."""
        raise NotImplementedError

    def measure_proposed(self, classes: JudgedClasses, cells: ProposedCells) -> Measurement | None:
        """Judged by the people who fit one of the raw classes in each."""
        return replace(self, matches=cells.match(self.matches, classes.count)).measure(classes)

    @classmethod
    def from_policy(
        cls, stated: Statement, table: Table, match_population: Matching
    ) -> tuple[Requirement, ...]:
        """What is stated, with those who fit each class."""
        return (cls(match_population(), **cls.read_statement(stated)),)


@dataclass(frozen=True)
class KMap(PopulationRequirement):
    """Every class is matched by at least k people of the population."""

    name = "k-map"
    key = "k_map"
    topic = "Being one of many people out there"
    sentence = "Every class fits at least {required} people of the population."
    small_is_bad = True
    capabilities = Capabilities(overlapping=True, self_contained=False, whole_table=True)

    def score(self, classes: JudgedClasses) -> Scores:
        """The number of people that fit each class."""
        return Scores.at_least(self.matches, self.limit)
