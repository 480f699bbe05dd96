"""Curves of loss against t or k, and where they bend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from tclose.arrays import Ints
from tclose.notebook import Drawable, Tabular

Place = tuple[Fraction | None, int | None]
"""A t and a k."""


@dataclass(frozen=True)
class Point:
    """One promise, and the loss of the best partition found for it."""

    method: str
    t: Fraction | None
    """The largest t promised; None where no closeness is."""
    k: int | None
    loss: float | None
    """By the frontier's measure; None where no release was found."""
    classes: int = 0
    left_out: int = 0
    distances: dict[str, float] = field(default_factory=dict)
    """By promise of closeness, the distance of the farthest class from the released table."""
    carried: bool = False
    """Whether the partition was found at a stricter point."""
    chosen: bool = False
    """Whether this is the promise that the policy states."""
    label: Ints = field(default_factory=lambda: np.zeros(0, np.int64), repr=False, compare=False)
    """The class of each cell; −1 where it is left out."""

    @property
    def place(self) -> Place:
        """The promise that varies."""
        return self.t, self.k

    @property
    def worst(self) -> float | None:
        """The largest of the distances."""
        return max(self.distances.values(), default=None)


@dataclass(frozen=True)
class Curve:
    """The points of one method along the axis, from left to right."""

    method: str
    fixed: str
    """What does not change along the curve, such as `k=5`; empty where nothing else could."""
    across: Literal["t", "k"]
    points: tuple[Point, ...]

    @property
    def name(self) -> str:
        """The name of the curve in a legend."""
        return f"{self.method}, {self.fixed}" if self.fixed else self.method

    @property
    def found(self) -> tuple[Point, ...]:
        """The points for which there is a release."""
        return tuple(point for point in self.points if point.loss is not None)

    @cached_property
    def knee(self) -> Point | None:
        """Where the curve bends most: suggested, never chosen."""
        places = [float(getattr(point, self.across) or 0) for point in self.found]
        at = knee_of(places, [float(point.loss or 0.0) for point in self.found])
        return None if at is None else self.found[at]


@dataclass(frozen=True, repr=False)
class Frontier(Tabular, Drawable):
    """Loss against t or k, as one curve or several."""

    measure: str
    points: tuple[Point, ...]
    across: Literal["t", "k"]
    thresholds: dict[str, Fraction]
    """What each promise of closeness is in proportion to the t on the axis."""
    rows: int
    effort: float
    """What all searches together might spend."""
    seed: int
    complete: bool = True
    """False where it was stopped before the last point."""

    @cached_property
    def curves(self) -> tuple[Curve, ...]:
        """Points of one method, and of one k where t is the axis."""
        other: Literal["t", "k"] = "k" if self.across == "t" else "t"
        several = len({getattr(point, other) for point in self.points}) > 1
        rank = {name: at for at, name in enumerate(dict.fromkeys(at.method for at in self.points))}
        groups: dict[tuple[int, Fraction], list[Point]] = {}
        for point in sorted(self.points, key=lambda point: getattr(point, self.across) or 0):
            place = rank[point.method], Fraction(getattr(point, other) or 0)
            groups.setdefault(place, []).append(point)
        found = []
        for _, points in sorted(groups.items(), key=lambda group: group[0]):
            fixed = f"{other}={show_number(getattr(points[0], other))}" if several else ""
            found.append(Curve(points[0].method, fixed, self.across, tuple(points)))
        return tuple(found)

    @property
    def chosen(self) -> Point | None:
        """The policy's own promise on the first curve that has it."""
        return next((point for point in self.points if point.chosen), None)

    @property
    def knee(self) -> Point | None:
        """The knee of the first curve: a suggestion; nothing acts on it."""
        return self.curves[0].knee if self.curves else None

    @property
    def headline(self) -> str:
        """What is drawn against which threshold, and where the first curve bends."""
        knee = "" if self.knee is None else f"; knee at {place_text(self.knee.place)}"
        return f"{self.measure} against {self.across}, {len(self.points)} points{knee}"

    def records(self) -> list[dict[str, Any]]:
        """A line for each point of each curve."""
        names = ("loss", "classes", "left_out", "worst", "carried", "chosen")
        return [
            {"method": curve.method, **(_write_place(point) or {})}
            | {name: getattr(point, name) for name in names}
            | {"knee": point is curve.knee}
            for curve in self.curves
            for point in curve.points
        ]

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values, without any cell value."""
        names = ("measure", "across", "rows", "effort", "seed", "complete")
        return {
            **{name: getattr(self, name) for name in names},
            "curves": [
                {
                    "method": curve.method,
                    "points": [self._describe(point) for point in curve.points],
                    "knee": _write_place(curve.knee),
                }
                for curve in self.curves
            ],
            "chosen": _write_place(self.chosen),
        }

    def _describe(self, point: Point) -> dict[str, Any]:
        t, parts = point.t, self.thresholds.items()
        promised = {} if t is None else {name: float(t * part) for name, part in parts}
        names = ("loss", "classes", "left_out", "worst", "distances", "carried", "chosen")
        described = {name: getattr(point, name) for name in names}
        return {**(_write_place(point) or {}), "promised": promised, **described}


def _write_place(point: Point | None) -> dict[str, Any] | None:
    if point is None:
        return None
    return {"t": None if point.t is None else float(point.t), "k": point.k}


def knee_of(places: Sequence[float], losses: Sequence[float]) -> int | None:
    """The point farthest below the chord between the ends, both axes scaled to 1; None where the
    curve does not bend downwards. Of equals the first.

    >>> knee_of([0.0, 0.1, 0.2, 0.3], [1.0, 0.4, 0.3, 0.2]), knee_of([0, 1, 2], [2, 1, 0])
    (1, None)
    """
    if len(places) < 3:
        return None
    wide, low, high = places[-1] - places[0], min(losses), max(losses)
    if wide <= 0 or high <= low:
        return None
    far = np.array([(place - places[0]) / wide for place in places])
    tall = np.array([(loss - low) / (high - low) for loss in losses])
    below = tall[0] + far * (tall[-1] - tall[0]) - tall
    at = int(np.argmax(below))
    return at if below[at] > 1e-9 else None


def place_text(place: Place) -> str:
    """Where a point is, in words."""
    t, k = place
    words = [] if t is None else [f"t={show_number(t)}"]
    return ", ".join(words if k is None else [*words, f"k={k}"])


def show_number(number: Fraction | int | None) -> str:
    """A short decimal.

    >>> show_number(Fraction(1, 20)), show_number(Fraction(1, 3)), show_number(5)
    ('0.05', '0.3333', '5')
    """
    return "none" if number is None else f"{float(number):.4g}"
