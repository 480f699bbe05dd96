"""k-map: every class could be about at least k people of the population.

A generalized value matches everyone whom it covers.
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
    """A requirement on the people who match a class; `matches` has their number for each class."""

    in_several_tables = (
        "several tables say more about who is in them than one, so nothing about a population can "
        "be required"
    )

    matches: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def measure(self, classes: Classes) -> Measurement:
        """Measures the classes as released, without the additional views of missing values."""
        printed = classes.regroup(()) if classes.views != classes.count else classes
        return self.summarize(printed, np.arange(classes.count), self.score(classes))

    def score(self, classes: Classes) -> Scores:
        """Returns what each of the classes attains."""
        raise NotImplementedError

    def measure_proposed(self, classes: Classes, cells: ProposedCells) -> Measurement | None:
        """Measures by the people who match one of the raw classes inside each proposed class.

        A person matches one raw class, so the numbers add up. People who match a released class
        without matching a raw one only make the class safer, unless a least share is required.
        """
        raw_classes = len(self.matches)
        inside = np.unique(cells.owner * raw_classes + cells.raw_class)
        owner, raw = np.divmod(inside, raw_classes)
        matches = add_by_group(self.matches[raw], owner, classes.count)
        return replace(self, matches=matches).measure(classes)

    def count_matches(self, match_population: Callable[[], Ints]) -> Requirement:
        """Returns the requirement with the number of people who match each class."""
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
        """Returns the number of people who match each class."""
        return Scores.at_least(self.matches, self.limit)
