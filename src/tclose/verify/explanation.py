"""The flow behind one class's distance: both distributions, and which mass moves where."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tclose.data.binding import BoundTable
from tclose.data.encode.classes import Classes
from tclose.data.encode.columns import Attribute
from tclose.distance import EarthMover, Move, TreeMetric, actions, transport
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

    def to_json(self) -> dict[str, Any]:
        """The share as plain values."""
        shares = {"class": str(self.in_class), "table": str(self.in_table)}
        return {"value": self.value, "rows": self.rows, **shares}


@dataclass(frozen=True)
class Step:
    """Some mass moved from one value to another, and what that costs."""

    source: str
    target: str
    mass: Fraction
    cost: Fraction

    def to_json(self) -> dict[str, str]:
        """The step as plain values."""
        amounts = {"mass": str(self.mass), "cost": str(self.cost)}
        return {"from": self.source, "to": self.target, **amounts}


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
            "shares": [share.to_json() for share in self.shares],
            "actions": [step.to_json() for step in self.actions],
            "moves": [step.to_json() for step in self.moves],
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
    chosen = _choose_attribute(bound, attribute)
    classes = bound.classes
    if number is not None and not 1 <= number <= classes.count:
        raise UsageError(
            f"there is no class {number}",
            where=bound.source.name,
            hint=f"classes are numbered from 1 to {classes.count:,}",
        )
    distance, remarks = chosen.distance(chosen.column.distance)
    tally = classes.tally(chosen.name)
    distances = distance.of(tally.histogram, tally.table)
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
    steps: tuple[Step, ...] = ()
    moves: tuple[Step, ...] = ()
    if isinstance(ground, TreeMetric):
        names = _node_names(chosen, ground)
        steps = _name_steps(actions(ground, counts, tally.table), names)
    if ground is not None:
        moves = _name_steps(transport(ground, counts, tally.table), dict(enumerate(chosen.labels)))
    notes = list(remarks)
    if classes.view_size[view] != classes.size[at]:
        notes.append("counted with the rows whose missing quasi-identifiers match this class")
    if chosen.column.missing == "any":
        notes.append("missing values are taken to be the value that makes the class worst")
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
        note="; ".join(notes),
    )


def _choose_attribute(bound: BoundTable, name: str | None) -> Attribute:
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
