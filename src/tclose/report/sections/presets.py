"""Thresholds that others have used, with where they come from; none of them is a verdict.

What is told is what a source says about its own tables. Whether it fits a release of another kind,
for other recipients, is for a person to judge. For t there is nothing to list: no regulator that we
know of gives a value, and a report says so.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Preset:
    """A named threshold: what it is, who uses it, and what that does not mean."""

    name: str
    k: int
    source: str
    says: str


PRESETS: tuple[Preset, ...] = (
    Preset(
        "a minimum",
        3,
        "Common practice of statistical offices for tables of counts",
        "Cells with fewer than three contributors are withheld, because of two each would know "
        "the other. Offices differ, and many ask for more.",
    ),
    Preset(
        "usual",
        5,
        "Common practice in health statistics, and the number met most often in the literature "
        "on k-anonymity",
        "Counts below five are withheld or merged.",
    ),
    Preset(
        "research output",
        10,
        "Checking of research output at the Office for National Statistics (United Kingdom)",
        "A threshold of ten is part of its rules; results about fewer than ten observations are "
        "looked at case by case before they leave.",
    ),
    Preset(
        "CMS cell size",
        11,
        "Centers for Medicare & Medicaid Services (United States), cell size suppression policy",
        "No cell from 1 to 10 of its data may be displayed: the smallest count shown is 11. The "
        "policy is about counts in published tables and names neither k-anonymity nor classes.",
    ),
)
"""In the order of k."""

ABOUT_T = (
    "For t no regulator that we know of gives a value. Opinion 05/2014 of the Article 29 Data "
    "Protection Working Party (WP216) describes k-anonymity, l-diversity and t-closeness, their "
    "merits and their weaknesses, and names no value for t. The number in this report was chosen "
    "by whoever wrote the policy; what it allows is shown above, so that the choice can be argued."
)


def largest_reached(k: int) -> Preset | None:
    """The strictest preset that groups of at least k rows reach.

    >>> largest_reached(7).name, largest_reached(2)
    ('usual', None)
    """
    reached = [preset for preset in PRESETS if preset.k <= k]
    return reached[-1] if reached else None
