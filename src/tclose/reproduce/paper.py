"""What Li 2007 prints in section 6. What stands only in its figures is not here.

N. Li, T. Li, S. Venkatasubramanian: t-Closeness: Privacy Beyond k-Anonymity and l-Diversity.
"""

from __future__ import annotations

from dataclasses import dataclass

TITLE = "The experiments of Li 2007, again"
ROWS = 30_162
SENSITIVE = "occupation"
GROUPS = 3
"""The groups of similar occupations. They are said to be of roughly equal size; which they are is
not printed."""


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
    """What the similarity attack found in the minimal tables of one measure."""

    tables: int
    vulnerable: int
    worst: int | None
    """The most records whose group of occupations could be inferred in one table, if printed."""


ENTROPY = StatedAttack(21, 13, 916)
RECURSIVE = StatedAttack(26, 17, None)
