"""The cuts behind a release in the words of its released values, so that new rows go the same way.

A search cuts codes; a plan tells values. Where a cut runs is told by what both halves show:

- numbers and dates: between the highest end on the left side and the lowest on the right. New
  values between the two go to the nearer one. Where a class on the right is released as `*`, so
  that its lowest end is not shown, only the left end is told; where nothing but missing values is
  on the right, no end is.
- with a hierarchy: through the coarsest group whose end parts the halves. Where the halves are
  released as different groups this is the group on the left, or one above it; where both are
  released as the same group, the cut is inside of it and names the group, or at worst the single
  value, on which the left half ends.
- other categories: the values that occur on the left side, all of which its sets name. Every other
  value, and every missing one, goes to the right.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.data.binding import BoundTable
from tclose.recode.plan.model import PlanClass, PlanCut, PlanNode
from tclose.recode.plan.number_line import Line
from tclose.recode.plan.shapes import Shape
from tclose.recode.values import Writer
from tclose.search import Cuts
from tclose.utility.loss import ColumnLoss, Quasi, ends

Ints = NDArray[np.int64]


def name_borders(
    cuts: Cuts, bound: BoundTable, quasi: Quasi, label: Ints, renamed: Sequence[int]
) -> tuple[PlanNode, ...]:
    """The cuts of a search in words; class c of the search is class `renamed[c]` of the plan."""
    sides = [
        _Side(column, quasi.codes[:, at], label, bound) for at, column in enumerate(quasi.columns)
    ]
    halves = _classes_below(cuts)
    nodes: list[PlanNode] = []
    for at, cut in enumerate(cuts.column):
        left, right = cuts.left[at], cuts.right[at]
        if cut < 0:
            nodes.append(PlanClass(number=renamed[left]))
        else:
            border = sides[cut].border(cuts.code[at], halves[left], halves[right])
            name = quasi.columns[cut].name
            nodes.append(PlanCut(column=name, border=border, left=left, right=right))
    return tuple(nodes)


def _classes_below(cuts: Cuts) -> list[Ints]:
    """The classes below each node; a node's number is lower than those of its halves."""
    below: list[Ints] = [np.zeros(0, dtype=np.int64)] * len(cuts.column)
    for at in reversed(range(len(cuts.column))):
        if cuts.column[at] < 0:
            below[at] = np.array([cuts.left[at]], dtype=np.int64)
        else:
            below[at] = np.concatenate([below[cuts.left[at]], below[cuts.right[at]]])
    return below


class _Side:
    """What the classes show of one column."""

    def __init__(self, column: ColumnLoss, codes: Ints, label: Ints, bound: BoundTable) -> None:
        self.column = column
        self.writer = Writer(column, bound.cells.dictionaries[column.name])
        classes = int(label.max()) + 1
        self.low, self.high = ends(codes, label, classes, column.values)
        self.occurs = np.zeros((classes, column.values) if column.kind == "set" else (0, 0), bool)
        if column.kind == "set":
            self.occurs[label, codes] = True

    def border(self, code: int, left: Ints, right: Ints) -> tuple[str | None, ...]:
        known = self.writer.known
        if self.column.kind == "set":
            inside = np.flatnonzero(self.occurs[left].any(axis=0))
            return tuple(sorted(self.writer.texts[int(code)] for code in inside if code < known))
        lowest = int(self.low[right].min())
        if self.column.hierarchy is not None:
            return (self._group(code, lowest),)
        if lowest >= known:
            return ()
        hidden = bool(((self.high >= known) & (self.low < known))[right].any())
        return (self.writer.last[code], None if hidden else self.writer.texts[lowest])

    def _group(self, code: int, lowest: int) -> str:
        """The highest node that holds the left half's last value and nothing of the right half."""
        tree = self.column.hierarchy
        assert tree is not None
        leaf = int(self.column.place[code])
        way = tree.ancestors[leaf]
        if lowest < self.writer.known:
            other = tree.ancestors[int(self.column.place[lowest])]
            way = way[way != other]
        return tree.labels[int(way[-1])]


def border_labels(nodes: Sequence[PlanNode]) -> dict[str, list[str]]:
    """The values and labels that borders name, by column."""
    named: dict[str, list[str]] = {}
    for node in nodes:
        if isinstance(node, PlanCut):
            labels = (label for label in node.border if label is not None)
            named.setdefault(node.column, []).extend(labels)
    return named


def classify(nodes: Sequence[PlanNode], shapes: Sequence[Shape]) -> Ints:
    """The class of each cell, by the cuts; −1 where a value has no place on its line."""
    at = {shape.column.name: number for number, shape in enumerate(shapes)}
    column, left, right = (np.full(len(nodes), -1, dtype=np.int64) for _ in range(3))
    for number, step in enumerate(nodes):
        if isinstance(step, PlanCut):
            column[number], left[number], right[number] = at[step.column], step.left, step.right
        else:
            left[number] = step.number
    limit, row = _limits(nodes, shapes, at)
    sets = [_among(nodes, shape) for shape in shapes]
    cells = len(shapes[0].code)
    code = np.stack([shape.code for shape in shapes], axis=1)
    node = np.zeros(cells, dtype=np.int64)
    while (inner := np.flatnonzero(column[node] >= 0)).size:
        some = node[inner]
        value = code[inner, column[some]]
        goes_left = value <= limit[some]
        for number, shape in enumerate(shapes):
            mine = np.flatnonzero(column[some] == number) if shape.is_set else NOBODY
            if len(mine):
                goes_left[mine] = sets[number][row[some[mine]], value[mine]]
        node[inner] = np.where(goes_left, left[some], right[some])
    lost = (code < 0).any(axis=1)
    return np.where(lost, -1, left[node]).astype(np.int64)


NOBODY = np.zeros(0, dtype=np.int64)


def _limits(
    nodes: Sequence[PlanNode], shapes: Sequence[Shape], at: dict[str, int]
) -> tuple[Ints, Ints]:
    """For each node the last code that goes left, and its row among the sets of its column."""
    limit, row = (np.zeros(len(nodes), dtype=np.int64) for _ in range(2))
    seen = [0] * len(shapes)
    for number, step in enumerate(nodes):
        if isinstance(step, PlanClass):
            continue
        shape = shapes[at[step.column]]
        tree = shape.column.hierarchy
        if shape.is_set:
            row[number] = seen[at[step.column]]
            seen[at[step.column]] += 1
        elif tree is not None:
            node = tree.index(str(step.border[0]))
            limit[number] = tree.first_below[node] + tree.size_below[node] - 1
        elif shape.line is not None:
            limit[number] = _last_below(step, shape.line)
    return limit, row


def _last_below(step: PlanCut, line: Line) -> int:
    """The last code of a line that is nearer to the left end of a border than to the right."""
    places = [line.position(text) for text in step.border if text is not None]
    if not places:
        return len(line.texts) - 1
    return bisect_right(line.positions, sum(places, Fraction(0)) / len(places)) - 1


def _among(nodes: Sequence[PlanNode], shape: Shape) -> NDArray[np.bool_]:
    """[steps of a column, codes]: the values that go left; a missing one never does."""
    mine = [
        node
        for node in nodes
        if shape.is_set and isinstance(node, PlanCut) and node.column == shape.column.name
    ]
    place = {text: at for at, text in enumerate(shape.texts)}
    table = np.zeros((len(mine), shape.known + 1), dtype=np.bool_)
    for at, step in enumerate(mine):
        table[at, [place[text] for text in step.border if text in place]] = True
    return table
