"""The numbers that Li 2007 prints in section 6, without those only in its figures.

N. Li, T. Li, S. Venkatasubramanian: t-Closeness: Privacy Beyond k-Anonymity and l-Diversity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TITLE = "The experiments of Li 2007, again"
ROWS = 30_162
SENSITIVE = "occupation"
GROUPS = 3
"""The number of groups of similar occupations, of roughly equal size; the paper prints none."""


@dataclass(frozen=True)
class StatedColumn:
    """A line of Figure 2: a column's name in the table, and what the paper says about it."""

    column: str
    name: str
    values: int
    height: int


QUASI = (
    StatedColumn("age", "Age", 74, 5),
    StatedColumn("workclass", "Workclass", 8, 3),
    StatedColumn("education", "Education", 16, 4),
    StatedColumn("native-country", "Country", 41, 3),
    StatedColumn("marital-status", "Marital Status", 7, 3),
    StatedColumn("race", "Race", 5, 3),
    StatedColumn("sex", "Gender", 2, 2),
)
"""In the order of Figure 2: a quasi-identifier of size s is the first s of them."""
OCCUPATION = StatedColumn(SENSITIVE, "Occupation", 14, 3)


@dataclass(frozen=True)
class StatedAttack:
    """The result of the similarity attack on the minimal tables of one measure."""

    tables: int
    vulnerable: int
    worst: int | None
    """The most records whose group of occupations could be inferred in one table, if printed."""


PRINTED_ENTROPY = StatedAttack(21, 13, 916)
PRINTED_RECURSIVE = StatedAttack(26, 17, None)


C = 4
"""The c of recursive (c, l)-diversity. Li 2007 prints it for the similarity attack only, as 4."""


@dataclass(frozen=True)
class PaperMeasure:
    """One measure with its parameter: what the policy requires of all rows and of the occupation.

    >>> closeness("0.2", 5).title, closeness("0.2", 5).k
    ('5-anonymity, t = 0.2', 5)
    """

    kind: str
    """The name of the curve."""
    title: str
    """The name with its parameters."""
    label: str
    """The title for narrow places."""
    k: int | None = None
    required: Mapping[str, Any] = field(default_factory=dict, hash=False)


def anonymity(k: int) -> PaperMeasure:
    """Returns k-anonymity."""
    return PaperMeasure("k-anonymity", f"{k}-anonymity", f"k = {k}", k)


def entropy(l: int) -> PaperMeasure:
    """Returns entropy l-diversity, without any k."""
    required = {"l": {"entropy": l}}
    title = f"entropy {l}-diversity"
    return PaperMeasure("entropy l-diversity", title, f"entropy {l}", required=required)


def recursive(l: int) -> PaperMeasure:
    """Returns recursive (4, l)-diversity, without any k."""
    required = {"l": {"recursive": {"c": C, "l": l}}}
    title = f"recursive ({C}, {l})-diversity"
    return PaperMeasure(f"recursive ({C}, l)-diversity", title, f"({C}, {l})", required=required)


def closeness(t: str, k: int) -> PaperMeasure:
    """Returns k-anonymity with t-closeness."""
    title = f"{k}-anonymity, t = {t}"
    return PaperMeasure(f"k-anonymity, t = {t}", title, f"k = {k}, t = {t}", k, {"t": t})


def five(parameter: int) -> tuple[PaperMeasure, ...]:
    """Returns all five measures in the paper's order; the parameter is their k and l."""
    return (
        anonymity(parameter),
        entropy(parameter),
        recursive(parameter),
        closeness("0.2", parameter),
        closeness("0.15", parameter),
    )


ANONYMITY, ENTROPY, RECURSIVE, CLOSE, CLOSER = (measure.kind for measure in five(5))
"""The names of the five curves."""
