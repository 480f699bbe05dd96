"""The classes of a release without its data: can be kept, read, and applied to new rows.

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

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from tclose.data.binding import BoundTable, hash_hierarchy, is_fixed
from tclose.data.io.records import JsonObject, Record, VersionedRecord
from tclose.recode.values import LabelWriter, Recoding, Released, merge_alike
from tclose.search import Cuts, Outcome
from tclose.utility.loss import ColumnLoss, Quasi, ends

Way = Literal["levels", "cuts", "classes"]
Ints = NDArray[np.int64]


class PlanCut(Record):
    """A cut of a column: rows up to its border go to the cut or class `left`, others to `right`."""

    column: str
    border: tuple[str | None, ...] = Field(
        description="numbers and dates: the ends on both sides; hierarchies: the group on which "
        "the left side ends; other categories: the values on the left side"
    )
    left: int = Field(description="the number of a later cut or class in the list")
    right: int


class PlanClass(Record):
    """Where the cuts lead to: a class, counted from 0."""

    number: int = Field(alias="class")


PlanNode = PlanCut | PlanClass


class Plan(VersionedRecord):
    """What every class is released as, and the policy under which that was decided."""

    kind: ClassVar[str] = "plan"
    format: ClassVar[int] = 2

    tclose_plan: Literal[2] = 2
    policy: JsonObject = Field(description="the policy itself: see `tclose schema policy`")
    method: str
    seed: int
    uses_sensitive: bool = Field(
        description="whether rows with equal quasi-identifiers may be in different classes, "
        "because the sensitive values decided: applying the plan has to choose among them"
    )
    columns: tuple[Released, ...] = Field(
        description="what every class is released as, column by column"
    )
    cuts: tuple[PlanNode, ...] = Field(
        (), description="the cuts that lead to the classes, where cuts do; the first one is first"
    )
    levels: dict[str, int] | None = Field(
        None, description="full-domain recoding: the level of its hierarchy for each column"
    )
    hierarchies: dict[str, str] = Field(
        {}, description="hashes of the hierarchies that do not depend on the table's values"
    )

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.columns[0].values) if self.columns else 0

    @property
    def way(self) -> Way:
        """How new rows find their class: by levels, by cuts, or by what the classes cover."""
        if self.levels is not None:
            return "levels"
        return "cuts" if self.cuts else "classes"

    @property
    def border_labels(self) -> dict[str, list[str]]:
        """The values and labels that borders name, by column."""
        named: dict[str, list[str]] = {}
        for node in self.cuts:
            if isinstance(node, PlanCut):
                labels = (label for label in node.border if label is not None)
                named.setdefault(node.column, []).extend(labels)
        return named

    @model_validator(mode="after")
    def _refuse_unsound(self) -> Plan:
        """Refuses what cannot be followed: a plan is a file that anybody may have edited."""
        names = {released.column for released in self.columns}
        if len({len(released.values) for released in self.columns}) != 1:
            raise ValueError("its columns have different numbers of classes")
        if self.levels is not None and set(self.levels) != names:
            raise ValueError("its levels are not those of its columns")
        for at, node in enumerate(self.cuts):
            if isinstance(node, PlanClass):
                sound = 0 <= node.number < self.classes
            else:
                ends = (node.left, node.right)
                sound = node.column in names and all(at < end < len(self.cuts) for end in ends)
            if not sound:
                raise ValueError(f"its cut {at + 1} leads nowhere")
        return self


def build_plan(bound: BoundTable, outcome: Outcome, recoding: Recoding, seed: int) -> Plan:
    """The plan by which a release can be repeated on other rows."""
    used = np.unique(recoding.label[recoding.label >= 0])
    words = [
        Released(released.column, released.kind, tuple(released.values[at] for at in used.tolist()))
        for released in recoding.released
    ]
    columns, renamed = merge_alike(words)
    local = bound.policy.release.recoding == "local"
    cuts: tuple[PlanNode, ...] = ()
    levels: dict[str, int] | None = None
    if local and outcome.levels is not None:
        levels = recoding.quasi.name_levels(outcome.levels)
    elif local and outcome.cuts is not None:
        cuts = _name_borders(outcome.cuts, bound, recoding.quasi, recoding.label, renamed)
    return Plan(
        policy=bound.policy.to_json(),
        method=outcome.method,
        seed=seed,
        uses_sensitive=outcome.uses_sensitive,
        columns=columns,
        cuts=cuts,
        levels=levels,
        hierarchies=_hash_fixed_hierarchies(bound),
    )


def _hash_fixed_hierarchies(bound: BoundTable) -> dict[str, str]:
    """The hashes of the quasi-identifiers' hierarchies that are the same for every table."""
    columns = bound.policy.columns
    return {
        name: hash_hierarchy(tree)
        for name, tree in sorted(bound.hierarchies.items())
        if is_fixed(columns[name].hierarchy)
    }


def find_changed_hierarchies(plan: Plan, bound: BoundTable) -> tuple[str, ...]:
    """The columns whose hierarchy is not the one that a plan was made with."""
    now = _hash_fixed_hierarchies(bound)
    return tuple(name for name, was in plan.hierarchies.items() if now.get(name) != was)


def _name_borders(
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
        self.writer = LabelWriter(column, bound.cells.dictionaries[column.name])
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
