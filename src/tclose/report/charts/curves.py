"""Curves through points: lines that differ in colour, dash and mark, beside their names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tclose.report.charts.axes import Axis, Plot, powers_of_ten, ticks_to, write_number
from tclose.report.charts.colours import CURVES, DASHES
from tclose.report.charts.marks import MarkShape, draw_mark
from tclose.report.charts.svg import element, line, picture, text

WIDE = 860
BELOW = 60
"""What the axis takes below the plot."""
MARKS: tuple[MarkShape, ...] = ("circle", "square", "triangle", "cross", "bar")


@dataclass(frozen=True)
class PlottedPoint:
    """A point of a curve, and what it says where the pointer rests on it."""

    x: float
    y: float
    words: str = ""
    chosen: bool = False
    """A ring is drawn around it."""
    suggested: bool = False
    """A diamond is drawn around it."""


@dataclass(frozen=True)
class PlottedCurve:
    """A curve with its name."""

    name: str
    points: tuple[PlottedPoint, ...]


def lay_out(heading: float = 0.0) -> Plot:
    """The plot of curves below a heading, with room for names on the right."""
    return Plot(left=84, top=28 + heading, right=598, floor=324 + heading)


def find_across(plot: Plot, places: Sequence[float]) -> Axis:
    """The axis along which curves run: from the first to the last place."""
    return Axis(min(places), max(places), plot.left + 14, plot.right - 14)


def draw_plain_curves(
    title: str, across: str, up: str, curves: Sequence[PlottedCurve], *, logarithmic: bool = False
) -> str:
    """The picture of curves over a few whole numbers, for a place in a page."""
    plot = lay_out()
    points = [point for curve in curves for point in curve.points]
    if points:
        heights = [point.y for point in points]
        ticks = ticks_to(max(heights), 6)
        if logarithmic:
            ticks = powers_of_ten(min(heights), max(heights))
        axis = Axis(ticks[0], ticks[-1], plot.floor, plot.top, logarithmic)
        places = sorted({point.x for point in points})
        along = find_across(plot, places)
        marks = [(along.place(x), f"{x:g}") for x in places]
        parts = [
            *plot.draw_upward(axis, ticks, write_number, up),
            *plot.draw_below(marks, across),
            *draw_curves(curves, plot, along, axis),
        ]
    else:
        parts = [text(plot.left, plot.top + 20, "There is no point to draw.")]
    described = f"Curves: {up} by {across}. The numbers stand in the table."
    return picture(title, described, (WIDE, plot.floor + BELOW), parts, inline=True)


def draw_curves(
    curves: Sequence[PlottedCurve], plot: Plot, across: Axis, up: Axis
) -> Iterator[str]:
    """Curves on their axes, and their names on the right of the plot."""
    for order, curve in enumerate(curves):
        places = [(across.place(point.x), up.place(point.y)) for point in curve.points]
        through = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield element(
            "polyline", points=through, fill="none", stroke=CURVES[order % len(CURVES)],
            stroke_width=2, stroke_dasharray=DASHES[order % len(DASHES)],
        )  # fmt: skip
        for point, (x, y) in zip(curve.points, places, strict=True):
            yield element("g", _draw_point(x, y, order), words=point.words)
            if point.chosen:
                yield draw_ring(x, y)
            if point.suggested:
                yield draw_diamond(x, y)
    for order, curve in enumerate(curves):
        x, y = plot.right + 20, plot.top + 8 + 22 * order
        colour, dash = CURVES[order % len(CURVES)], DASHES[order % len(DASHES)]
        yield line(x, y, x + 30, y, colour, thick=2, dash=dash)
        yield _draw_point(x + 15, y, order)
        yield text(x + 40, y + 4, curve.name)


def draw_ring(x: float, y: float) -> str:
    """What marks a point that was chosen."""
    return draw_mark("circle", x, y, 8, thick=2)


def draw_diamond(x: float, y: float) -> str:
    """What marks a point that is suggested."""
    return draw_mark("diamond", x, y, 11, thick=1.6)


def _draw_point(x: float, y: float, order: int) -> str:
    colour = CURVES[order % len(CURVES)]
    return draw_mark(MARKS[order % len(MARKS)], x, y, 4.5, fill=colour, edge=colour, thick=1.5)
