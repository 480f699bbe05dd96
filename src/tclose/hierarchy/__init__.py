"""Generalization trees: what a value becomes when it is told less precisely.

Labels are text. An error names the column, the line and the level, never a label: the level of a
value is 0, and grows towards the root.
"""

from tclose.hierarchy.arx import read, write
from tclose.hierarchy.build import cuts, dates, groups, intervals, prefixes
from tclose.hierarchy.preview import preview
from tclose.hierarchy.tree import Hierarchy

__all__ = [
    "Hierarchy", "cuts", "dates", "groups", "intervals", "prefixes", "preview", "read", "write",
]  # fmt: skip
