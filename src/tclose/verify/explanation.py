"""The flow behind one class's distance: both distributions, and which mass moves where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np

from tclose.data.binding import BoundTable
from tclose.data.encode.cells import split_evenly
from tclose.distance.emd import EarthMover
from tclose.distance.ground import Metric, TreeMetric
from tclose.distance.histogram import Counts, whole
from tclose.distance.registry import Attribute
from tclose.distance.transport import Move, actions, transport
from tclose.errors import UsageError, nearest
from tclose.notebook import Drawable, Tabular
from tclose.plain import join_lines, rows_text
from tclose.requirements.classes import Classes

THE_TABLE = "the table"
MANY, RANGES = 60, 20
"""From how many values on these are shown in ranges, and in how many."""


@dataclass(frozen=True)
class Share:
    """How often one value occurs in the class and in the table."""

    value: str
    rows: int
    """Of the class; persons, where these are counted."""
    in_class: Fraction
    in_table: Fraction
    group: str = ""
    """The part of the hierarchy that it lies in, directly below the root; if it lies in one."""

    @property
    def difference(self) -> Fraction:
        """How much more of the class than of the table has it."""
        return self.in_class - self.in_table


@dataclass(frozen=True)
class Step:
    """Some mass moved from one value to another, and what that costs."""

    source: str
    target: str
    mass: Fraction
    cost: Fraction

    def to_json(self) -> dict[str, str]:
        """The step as plain values."""
        words = (self.source, self.target, str(self.mass), str(self.cost))
        return dict(zip(("from", "to", "mass", "cost"), words, strict=True))


@dataclass(frozen=True, repr=False)
class Explanation(Tabular, Drawable):
    """Why one class is as far from the table as it is.

    `actions` go between neighbours (along an order, or up and down a hierarchy), `moves` from value
    to value; the costs of either add up to `distance`. Of very many numbers or dates, ranges stand
    in place of values, and what moves inside of one goes from it to itself.
    """

    number: int
    size: int
    label: dict[str, str]
    attribute: str
    by: str
    distance: float
    exact: Fraction | None
    t: Fraction | None
    shares: tuple[Share, ...]
    actions: tuple[Step, ...]
    moves: tuple[Step, ...]
    note: str
    against: str = THE_TABLE
    """What the class is compared with: the table, or the reference that the policy declares."""

    @property
    def holds(self) -> bool | None:
        """Whether the class keeps the promised t, if one was promised."""
        if self.t is None:
            return None
        return (self.exact if self.exact is not None else self.distance) <= self.t

    @property
    def beside(self) -> str:
        """What the class is compared with, in a word."""
        return "table" if self.against == THE_TABLE else "reference"

    @property
    def headline(self) -> str:
        """Which class it is about, and how far that is from the table."""
        return f"class {self.number}, {self.attribute}: distance {self.distance:.4f} ({self.by})"

    def records(self) -> list[dict[str, Any]]:
        """A line for each value: its share of the class and of the table."""
        return [
            {"value": share.value, "rows": share.rows}
            | {"in_class": float(share.in_class), "in_table": float(share.in_table)}
            for share in self.shares
        ]

    def to_json(self) -> dict[str, Any]:
        """The explanation as plain values."""
        return {
            "class": self.number,
            "rows": self.size,
            "quasi": self.label,
            "attribute": self.attribute,
            "distance": self.by,
            "against": self.against,
            "achieved": self.distance,
            "achieved_exact": None if self.exact is None else str(self.exact),
            "required": None if self.t is None else str(self.t),
            "holds": self.holds,
            "shares": [
                {"value": each.value, "rows": each.rows}
                | {"class": str(each.in_class), "table": str(each.in_table)}
                for each in self.shares
            ],
            "actions": [step.to_json() for step in self.actions],
            "moves": [step.to_json() for step in self.moves],
            "note": self.note,
        }

    def __str__(self) -> str:
        who = ", ".join(f"{name} {value}" for name, value in self.label.items())
        head = f"class {self.number} ({who}; {rows_text(self.size)}), {self.attribute}, {self.by}"
        exact = f" = {self.exact}" if self.exact is not None else ""
        lines = [head, f"distance {self.distance:.4f}{exact}"]
        lines += [
            f"  {float(move.mass):.4f} from {move.source} to {move.target}, "
            f"cost {float(move.cost):.4f}"
            for move in self.moves
        ]
        return join_lines(lines)


def explain_class(
    bound: BoundTable, number: int | None, attribute: str | None, ranges: int = RANGES
) -> Explanation:
    """Explains one class (counted from 1; the farthest one, if none is named).

    Values that have an order are put into so many ranges where there are more than `MANY` of them.
    """
    if ranges < 2:
        raise UsageError("there must be two ranges at least", where="ranges")
    classes, chosen = bound.classes, _find_attribute(bound, attribute)
    if number is not None and not (isinstance(number, Integral) and 1 <= number <= classes.count):
        hint = f"classes are numbered from 1 to {classes.count:,}"
        raise UsageError(f"there is no class {number!r}", where=bound.source.name, hint=hint)
    distance, remarks = chosen.distance()
    tally = classes.tally(chosen.name)
    declared = chosen.reference
    table = tally.table if declared is None else whole(declared.counts)
    distances = distance.of(tally.histogram, table)
    if number is None:
        row = distances.largest()
        at = int(classes.class_of[np.searchsorted(classes.view_of, tally.view[row])])
    else:
        at = number - 1
        rows = np.flatnonzero(np.isin(tally.view, classes.view_of[classes.class_of == at]))
        row = int(rows[np.argmax(distances.value[rows])])
    view = int(tally.view[row])
    counts = tally.histogram.take(np.array([row])).dense()[0]
    ground = distance.metric if isinstance(distance, EarthMover) else None
    steps, moves = _find_steps(chosen, ground, counts, table)
    notes = list(remarks)
    if declared is not None:
        notes.append(f"the class is compared with {declared.words}, not with the table's own")
    shares = _shares(chosen, counts, table, _rows(classes, chosen, at, counts))
    if chosen.has_order and chosen.values > MANY:
        label = _name_ranges(chosen, table, ranges)
        shares = merge_shares(shares, label)
        steps, moves = (merge_steps(given, label) for given in (steps, moves))
        notes.append(
            f"{chosen.values:,} values are shown in {len(shares)} ranges; the distance and the "
            "costs are those of the values themselves"
        )
        if steps:
            notes.append("what moves step by step inside a range counts at each value it passes")
    if classes.view_size[view] != classes.size[at]:
        notes.append("counted with the rows whose missing quasi-identifiers match this class")
    notes += _note_values(bound, chosen.name)
    if attribute is None and len(bound.attributes) > 1:
        others = ", ".join(other for other in bound.attributes if other != chosen.name)
        notes.append(f"other sensitive attributes, which are explained by name: {others}")
    column = bound.policy.columns[chosen.name]
    return Explanation(
        number=at + 1,
        size=int(classes.class_rows[at]),
        label=classes.label(at),
        attribute=chosen.name,
        by=distance.name,
        distance=float(distances.value[row]),
        exact=distances.exact(row),
        t=column.t if column.n is None else None,
        shares=shares,
        actions=steps,
        moves=moves,
        note="; ".join(notes),
        against=THE_TABLE if declared is None else declared.words,
    )


def _find_attribute(bound: BoundTable, name: str | None) -> Attribute:
    """The sensitive attribute of this name; the first, without one."""
    if name is None:
        return next(iter(bound.attributes.values()))
    if name not in bound.attributes:
        what, hint = f"{name!r} is not a sensitive attribute", nearest(name, bound.attributes)
        raise UsageError(what, where=bound.source.name, hint=hint)
    return bound.attributes[name]


def _find_steps(
    attribute: Attribute, metric: Metric | None, counts: Counts, table: Counts
) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """The steps along a hierarchy, and the moves between values, where there are any."""
    if metric is None:
        return (), ()
    moves = _name_steps(transport(metric, counts, table), dict(enumerate(attribute.labels)))
    if not isinstance(metric, TreeMetric):
        return (), moves
    return _name_steps(actions(metric, counts, table), _node_names(attribute, metric)), moves


def _note_values(bound: BoundTable, name: str) -> Iterator[str]:
    """How masked and missing values of an attribute are counted, and what else is promised."""
    if name in bound.classes.masked:
        yield (
            "hidden values and groups count as what they may be, in their shares of the table; "
            "rows are those with exact values"
        )
    column = bound.policy.columns[name]
    if column.n is not None:
        yield (
            f"promised is closeness to a part of the table with {column.n:,} rows or more; this is "
            "the distance from the whole table"
        )
    if column.missing == "any":
        yield "missing values are taken to be the value that makes the class worst"


def _node_names(attribute: Attribute, metric: TreeMetric) -> dict[int, str]:
    names = {node: "(between)" for node in range(len(metric.parent))}
    if attribute.hierarchy is not None and metric.origin:
        known = attribute.hierarchy.labels
        names |= {node: known[at] for node, at in enumerate(metric.origin) if at >= 0}
    return names | {int(node): attribute.labels[v] for v, node in enumerate(metric.leaf)}


def _name_steps(moves: tuple[Move, ...], names: dict[int, str]) -> tuple[Step, ...]:
    return tuple(Step(names[m.source], names[m.target], m.mass, m.cost) for m in moves)


def _shares(attribute: Attribute, counts: Counts, table: Counts, rows: Counts) -> tuple[Share, ...]:
    size, total = int(counts.sum()), int(table.sum())
    return tuple(
        Share(label, int(here), Fraction(int(mine), size), Fraction(int(theirs), total), group)
        for label, mine, theirs, here, group in zip(
            attribute.labels, counts, table, rows, _name_groups(attribute), strict=True
        )
    )


def _name_groups(attribute: Attribute) -> list[str]:
    """The part of the hierarchy that each value lies in; none where a value is a part itself."""
    tree = attribute.hierarchy
    if tree is None:
        return [""] * len(attribute.labels)
    names = []
    for label in attribute.labels:
        node = tree.index(label) if tree.contains(label) else tree.root
        start = node
        while node < tree.root and tree.parent[node] < tree.root:
            node = int(tree.parent[node])
        names.append(tree.labels[node] if node not in (start, tree.root) else "")
    return names


def _name_ranges(attribute: Attribute, table: Counts, ranges: int) -> dict[str, str]:
    """The range of each value: runs with about equally many rows each; a gap stays by itself."""
    known = attribute.values - attribute.with_missing
    part = split_evenly(table[:known].astype(np.float64), ranges)
    _, first = np.unique(part, return_index=True)
    labels = dict(zip(attribute.labels[known:], attribute.labels[known:], strict=True))
    for low, end in pairwise([*first.tolist(), known]):
        ends = (attribute.labels[low], attribute.labels[end - 1])
        name = ends[0] if end - low == 1 else f"[{ends[0]}, {ends[1]}]"
        labels |= dict.fromkeys(attribute.labels[low:end], name)
    return labels


def merge_shares(shares: Sequence[Share], label: Mapping[str, str]) -> tuple[Share, ...]:
    """Adds up the shares of values with the same label."""
    sums: dict[str, list[Share]] = {}
    for share in shares:
        sums.setdefault(label[share.value], []).append(share)
    return tuple(
        some[0]
        if len(some) == 1
        else Share(
            name,
            sum(share.rows for share in some),
            sum((share.in_class for share in some), Fraction(0)),
            sum((share.in_table for share in some), Fraction(0)),
        )
        for name, some in sums.items()
    )


def merge_steps(steps: Sequence[Step], label: Mapping[str, str]) -> tuple[Step, ...]:
    """Adds up the steps between the same two labels; a value without one stays as it is."""
    sums: dict[tuple[str, str], tuple[Fraction, Fraction]] = {}
    for step in steps:
        ends = (label.get(step.source, step.source), label.get(step.target, step.target))
        mass, cost = sums.get(ends, (Fraction(0), Fraction(0)))
        sums[ends] = (mass + step.mass, cost + step.cost)
    return tuple(Step(*ends, *amounts) for ends, amounts in sums.items())


def _rows(classes: Classes, attribute: Attribute, at: int, counts: Counts) -> Counts:
    """The rows of a class by value: as counted, unless the distribution is weighted."""
    if classes.cell_weight is None and attribute.name not in classes.masked:
        return counts
    code = classes.cell_codes[attribute.name]
    inside = np.flatnonzero((classes.cell_class == at) & (code >= 0))
    rows = np.zeros(attribute.values, dtype=np.int64)
    np.add.at(rows, code[inside], classes.cell_rows[inside])
    return rows
