"""What a class means beside a table of the population: how many of its people could be in it.

A generalized value fits everyone it covers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tclose.requirements.classes import JudgedClasses
from tclose.requirements.requirement import Ints, Measurement, Proposal, Requirement


@dataclass(frozen=True)
class PopulationRequirement(Requirement):
    """A requirement about the people who fit a class: `matches` has their number for each."""

    matches: Ints

    def measure_proposed(self, classes: JudgedClasses, proposal: Proposal) -> Measurement | None:
        """Judged by the people who fit one of the raw classes in each."""
        return replace(self, matches=proposal.match(self.matches, classes.count)).measure(classes)


def without_views(classes: JudgedClasses) -> JudgedClasses:
    """The classes without further views: both models judge a class as it is printed."""
    return classes.regroup(()) if classes.views != classes.count else classes
