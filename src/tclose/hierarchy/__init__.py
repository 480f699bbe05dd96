"""Generalization trees: what a value becomes when it is told less precisely.

A map of the room:

- `tree`     the immutable `Hierarchy`: labels, parents, heights, ancestors, lowest common ancestors
- `chains`   from rows of labels (value first, root last) to parent links; every contradiction is
  refused here
- `arx`      headerless CSV files in and out (`arx.read`, `arx.write`)
- `build`    builders from a column's values: `intervals`, `cuts`, `prefixes`, `dates`, `groups`
- `number`   exact numbers from text and back, for the builders
- `preview`  a plain-text drawing of a tree
- `place`    how errors of this room say where they happened

Labels are text. An error names the column, the line and the level, never a label: the level of a
value is 0, and grows towards the root.
"""

from tclose.hierarchy.arx import read, write
from tclose.hierarchy.build import cuts, dates, groups, intervals, prefixes
from tclose.hierarchy.preview import preview
from tclose.hierarchy.tree import Hierarchy

__all__ = [
    "Hierarchy",
    "cuts",
    "dates",
    "groups",
    "intervals",
    "prefixes",
    "preview",
    "read",
    "write",
]
