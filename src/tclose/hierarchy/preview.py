"""A drawing of a hierarchy in plain text, to be looked at before it is used."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from tclose.hierarchy.tree import Hierarchy, hierarchy_error


def preview(hierarchy: Hierarchy, *, limit: int = 4, lines: int = 60) -> str:
    """Draws the tree from the root down, with the number of leaves below each group.

    At most `limit` members of a group are drawn, and groups are opened from the top until about
    `lines` lines are used. The drawing shows labels, which are values: do not put it into a log.

    >>> rows = [["cat", "animal", "*"], ["dog", "animal", "*"], ["oak", "*"]]
    >>> print(preview(Hierarchy.from_chains(rows, "kind")))
    kind: 3 leaves, 3 levels, nodes per level: 3, 2, 1
    * (3)
    ├─ animal (2)
    │  ├─ cat
    │  └─ dog
    └─ oak
    """
    if limit < 1 or lines < 1:
        raise hierarchy_error(hierarchy.column, "a preview needs at least one line")
    widths = ", ".join(str(len(np.unique(nodes))) for nodes in hierarchy.ancestors.T)
    leaves, levels = hierarchy.leaf_count, hierarchy.levels
    summary = (
        f"{hierarchy.column}: {leaves} {'leaf' if leaves == 1 else 'leaves'}, "
        f"{levels} level{'' if levels == 1 else 's'}, nodes per level: {widths}"
    )
    opened = _choose_open(hierarchy, limit, lines)
    drawn = _draw(hierarchy, hierarchy.root, "", opened)
    return "\n".join([summary, _name(hierarchy, hierarchy.root), *drawn])


def _name(hierarchy: Hierarchy, node: int) -> str:
    label = hierarchy.labels[node]
    shown = label if label.isprintable() else ascii(label)[1:-1]
    return shown if hierarchy.height[node] == 0 else f"{shown} ({hierarchy.size_below[node]})"


def _choose_open(hierarchy: Hierarchy, limit: int, lines: int) -> dict[int, tuple[list[int], int]]:
    """Chooses the groups to draw open; returns the members shown of each, and how many are not."""
    opened: dict[int, tuple[list[int], int]] = {}
    waiting, used = deque([hierarchy.root]), 2
    while waiting and used < lines:
        node = waiting.popleft()
        members = hierarchy.children(node).tolist()
        # A line saying "1 more" would take the place of the one member it hides.
        shown = members if len(members) <= limit + 1 else members[:limit]
        opened[node] = shown, len(members) - len(shown)
        waiting.extend(member for member in shown if hierarchy.height[member] > 0)
        used += len(shown) + (len(shown) < len(members))
    return opened


def _draw(
    hierarchy: Hierarchy, node: int, margin: str, opened: dict[int, tuple[list[int], int]]
) -> Iterator[str]:
    shown, hidden = opened.get(node, ([], 0))
    for member in shown:
        last = member == shown[-1] and not hidden
        yield f"{margin}{'└─' if last else '├─'} {_name(hierarchy, member)}"
        yield from _draw(hierarchy, member, margin + ("   " if last else "│  "), opened)
    if hidden:
        yield f"{margin}└─ … {hidden} more"
