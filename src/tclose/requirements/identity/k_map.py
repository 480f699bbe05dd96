"""k-map: every class could be about at least k people of the population.

A generalized value fits everyone it covers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from tclose.arrays import Ints
from tclose.distance.histogram import add_by_group
from tclose.requirements.classes import Classes
from tclose.requirements.requirement import (
    Capabilities,
    Measurement,
    ProposedCells,
    Requirement,
    Scores,
)


@dataclass(frozen=True)
class PopulationRequirement(Requirement):
    """A requirement about the people who fit a class: `matches` has their number for each."""

    in_several_tables = (
        "several tables say more about who is in them than one, so nothing about a population can "
        "be promised"
    )

    matches: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def measure(self, classes: Classes) -> Measurement:
        """What the classes attain as they are printed, whatever else they may be seen as."""
        printed = classes.regroup(()) if classes.views != classes.count else classes
        return self.summarize(printed, np.arange(classes.count), self.score(classes))

    def score(self, classes: Classes) -> Scores:
        """What each of the classes attains."""
        raise NotImplementedError

    def measure_proposed(self, classes: Classes, cells: ProposedCells) -> Measurement | None:
        """Judged by the people who fit one of the raw classes in each.

        People match one raw class each, so their numbers add up; whoever matches a released class
        without matching a raw one only makes the class safer, unless a least share is promised.
        """
        raw_classes = len(self.matches)
        inside = np.unique(cells.owner * raw_classes + cells.raw_class)
        owner, raw = np.divmod(inside, raw_classes)
        matches = add_by_group(self.matches[raw], owner, classes.count)
        return replace(self, matches=matches).measure(classes)

    def count_matches(self, match_population: Callable[[], Ints]) -> Requirement:
        """The same with those who fit each class."""
        return replace(self, matches=match_population())


@dataclass(frozen=True)
class KMap(PopulationRequirement):
    """Every class is matched by at least k people of the population."""

    name = "k-map"
    key = "k_map"
    topic = "Being one of many people out there"
    sentence = "Every class fits at least {required} people of the population."
    small_is_bad = True
    capabilities = Capabilities(overlapping=True, self_contained=False, whole_table=True)

    def score(self, classes: Classes) -> Scores:
        """The number of people that fit each class."""
        return Scores.at_least(self.matches, self.limit)
