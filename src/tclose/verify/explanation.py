"""The flow behind one class's distance: both distributions, and which mass moves where."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tclose.data.binding import BoundTable
from tclose.data.encode.classes import Classes
from tclose.data.encode.columns import Attribute
from tclose.distance import EarthMover, Histogram, Move, TreeMetric, actions, transport
from tclose.distance.histogram import Counts
from tclose.errors import UsageError, nearest


@dataclass(frozen=True)
class Share:
    """How often one value occurs in the class and in the table."""

    value: str
    rows: int
    """Of the class; persons, where these are counted."""
    in_class: Fraction
    in_table: Fraction


@dataclass(frozen=True)
class Step:
    """Some mass moved from one value to another, and what that costs."""

    source: str
    target: str
    mass: Fraction
    cost: Fraction


@dataclass(frozen=True)
class Explanation:
    """Why one class is as far from the table as it is.

    `actions` go between neighbours (along an order, or up and down a hierarchy), `moves` from value
    to value; the costs of either add up to `distance`.
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

    @property
    def holds(self) -> bool | None:
        """Whether the class keeps the promised t, if one was promised."""
        if self.t is None:
            return None
        return (self.exact if self.exact is not None else self.distance) <= self.t

    def to_json(self) -> dict[str, Any]:
        """The explanation as plain values."""
        return {
            "class": self.number,
            "rows": self.size,
            "quasi": self.label,
            "attribute": self.attribute,
            "distance": self.by,
            "achieved": self.distance,
            "achieved_exact": None if self.exact is None else str(self.exact),
            "required": None if self.t is None else str(self.t),
            "holds": self.holds,
            "shares": [
                {
                    "value": share.value,
                    "rows": share.rows,
                    "class": str(share.in_class),
                    "table": str(share.in_table),
                }
                for share in self.shares
            ],
            "actions": [_step_json(step) for step in self.actions],
            "moves": [_step_json(step) for step in self.moves],
            "note": self.note,
        }

    def __str__(self) -> str:
        who = ", ".join(f"{name} {value}" for name, value in self.label.items())
        head = f"class {self.number} ({who}; {self.size:,} rows), {self.attribute}, {self.by}"
        exact = f" = {self.exact}" if self.exact is not None else ""
        lines = [head, f"distance {self.distance:.4f}{exact}"]
        lines += [
            f"  {move.mass} from {move.source} to {move.target}, cost {move.cost}"
            for move in self.moves
        ]
        return "\n".join(lines)


def explain_class(bound: BoundTable, number: int | None, attribute: str | None) -> Explanation:
    """Explains one class (counted from 1; the farthest one, if none is named)."""
    chosen = _attribute(bound, attribute)
    classes = bound.classes
    if number is not None and not 1 <= number <= classes.count:
        raise UsageError(
            f"there is no class {number}",
            where=bound.source.name,
            hint=f"classes are numbered from 1 to {classes.count:,}",
        )
    distance, notes = chosen.distance(chosen.column.distance)
    tally = classes.tally(chosen.name)
    distances = distance.of(tally.histogram, tally.table)
    row = _row(distances.largest(), number, tally.view, classes, distances.value)
    view = int(tally.view[row])
    at = (
        int(classes.class_of[np.searchsorted(classes.view_of, view)])
        if number is None
        else number - 1
    )
    counts = tally.histogram.take(np.array([row])).dense()[0]
    ground = distance.metric if isinstance(distance, EarthMover) else None
    steps: tuple[Step, ...] = ()
    moves: tuple[Step, ...] = ()
    if isinstance(ground, TreeMetric):
        names = _node_names(chosen, ground)
        steps = _named(actions(ground, counts, tally.table), names)
    if ground is not None:
        moves = _named(transport(ground, counts, tally.table), dict(enumerate(chosen.labels)))
    extra = _view_note(classes.view_size[view] != classes.size[at], tally.histogram, row, chosen)
    return Explanation(
        number=at + 1,
        size=int(classes.class_rows[at]),
        label=classes.label(at),
        attribute=chosen.name,
        by=distance.name,
        distance=float(distances.value[row]),
        exact=distances.exact(row),
        t=chosen.column.t if chosen.column.n is None else None,
        shares=_shares(chosen, counts, tally.table, _rows(classes, chosen, at, counts)),
        actions=steps,
        moves=moves,
        note="; ".join([*notes, *extra]),
    )


def _attribute(bound: BoundTable, name: str | None) -> Attribute:
    attributes = bound.attributes
    if name is None and attributes:
        return next(iter(attributes.values()))
    if name not in attributes:
        raise UsageError(
            f"{name!r} is not a sensitive attribute",
            where=bound.source.name,
            hint=nearest(name or "", attributes),
        )
    return attributes[name]


def _row(largest: int, number: int | None, view: Any, classes: Any, value: Any) -> int:
    """The distribution to explain: the worst of a class's views, or the worst of all."""
    if number is None:
        return largest
    mine = classes.view_of[classes.class_of == number - 1]
    rows = np.flatnonzero(np.isin(view, mine))
    return int(rows[np.argmax(value[rows])])


def _node_names(attribute: Attribute, metric: TreeMetric) -> dict[int, str]:
    names = {node: "(between)" for node in range(len(metric.parent))}
    if attribute.hierarchy is not None and metric.origin:
        known = attribute.hierarchy.labels
        names |= {node: known[at] for node, at in enumerate(metric.origin) if at >= 0}
    return names | {int(node): attribute.labels[v] for v, node in enumerate(metric.leaf)}


def _named(moves: tuple[Move, ...], names: dict[int, str]) -> tuple[Step, ...]:
    return tuple(Step(names[m.source], names[m.target], m.mass, m.cost) for m in moves)


def _shares(attribute: Attribute, counts: Counts, table: Counts, rows: Counts) -> tuple[Share, ...]:
    size, total = int(counts.sum()), int(table.sum())
    return tuple(
        Share(label, int(here), Fraction(int(mine), size), Fraction(int(theirs), total))
        for label, mine, theirs, here in zip(attribute.labels, counts, table, rows, strict=True)
    )


def _rows(classes: Classes, attribute: Attribute, at: int, counts: Counts) -> Counts:
    """How many rows of a class have each value: what was counted, unless that was weighed."""
    if classes.cell_weight is None:
        return counts
    code = classes.cell_codes[attribute.name]
    inside = np.flatnonzero((classes.cell_class == at) & (code >= 0))
    rows = np.zeros(attribute.values, dtype=np.int64)
    np.add.at(rows, code[inside], classes.cell_rows[inside])
    return rows


def _view_note(widened: bool, histogram: Histogram, row: int, attribute: Attribute) -> list[str]:
    notes = []
    if widened:
        notes.append("counted with the rows whose missing quasi-identifiers match this class")
    if attribute.column.missing == "any":
        notes.append("missing values are taken to be the value that makes the class worst")
    return notes


def _step_json(step: Step) -> dict[str, str]:
    return {
        "from": step.source,
        "to": step.target,
        "mass": str(step.mass),
        "cost": str(step.cost),
    }
