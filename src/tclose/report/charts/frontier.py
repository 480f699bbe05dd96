"""A frontier as a self-contained SVG picture.

A ring marks the policy's own promise, a diamond the knee. The loss axis starts at 0, so that
steepness is not exaggerated.
"""

from __future__ import annotations

from collections.abc import Iterator

from tclose.report.charts.axes import Axis, Plot, ticks_between, ticks_to, write_number
from tclose.report.charts.colours import SOFT
from tclose.report.charts.curves import (
    BELOW,
    WIDE,
    PlottedCurve,
    PlottedPoint,
    draw_curves,
    draw_diamond,
    draw_ring,
    find_across,
    lay_out,
)
from tclose.report.charts.svg import line, picture, text
from tclose.report.words.frontier import (
    describe_frontier,
    describe_point,
    name_frontier,
)
from tclose.search.frontier.curves import Curve, Frontier, Point, shown_number

LINE = 17
HEADING = 56
"""What a title takes, down to the words above the axis."""
KEPT = "every point keeps its promise, and more work might find less loss"
AXES = {"t": "t: how far a class may be from the table", "k": "k: least size of a class"}


def draw_frontier(frontier: Frontier, *, inline: bool = False) -> str:
    """The picture as the text of an SVG file, or for a page with a title and sentences of its own.

    Both describe it in words to whoever cannot see it.
    """
    notes, title = list(describe_frontier(frontier)), name_frontier(frontier)
    plot = lay_out(0 if inline else HEADING)
    parts, bottom = list(_draw_plot(frontier, plot)), plot.floor + BELOW
    if not inline:
        first = bottom + 12
        parts = [
            text(plot.left, 26, title, size=16, weight="bold"),
            text(plot.left, 46, f"{frontier.rows:,} rows; {KEPT}", fill=SOFT),
            *parts,
            *(text(plot.left, first + LINE * at, note) for at, note in enumerate(notes)),
        ]
        bottom = first + LINE * len(notes)
    return picture(title, " ".join(notes), (WIDE, bottom), parts, inline=inline)


def _draw_plot(frontier: Frontier, plot: Plot) -> Iterator[str]:
    places = [_place(frontier, point) for point in frontier.points]
    losses = [point.loss for point in frontier.points if point.loss is not None]
    ticks = ticks_to(max(losses, default=0.0), 6)
    up = Axis(0.0, ticks[-1], plot.floor, plot.top)
    across = find_across(plot, places)
    marks = [(across.place(tick), f"{tick:g}") for tick in ticks_between(min(places), max(places))]
    meaning = "loss (0 exact, 1 nothing left)" if frontier.measure == "loss" else frontier.measure
    yield from plot.draw_upward(up, ticks, write_number, meaning)
    yield from plot.draw_below(marks, AXES[frontier.across])
    if frontier.chosen is not None:
        x, top = across.place(_place(frontier, frontier.chosen)), plot.top - 4
        own = shown_number(getattr(frontier.chosen, frontier.across))
        yield line(x, top, x, plot.floor, SOFT, dash="4 4")
        yield text(x + 12, top - 6, f"the policy's own {frontier.across}={own}", fill=SOFT)
    yield from draw_curves([_plot(frontier, each) for each in frontier.curves], plot, across, up)
    x, y = plot.right + 35, plot.top + 18 + 22 * len(frontier.curves)
    yield draw_ring(x, y)
    yield text(x + 25, y + 4, "the policy's own promise")
    yield draw_diamond(x, y + 26)
    yield text(x + 25, y + 30, "knee: suggested, not chosen")


def _plot(frontier: Frontier, curve: Curve) -> PlottedCurve:
    points = (
        PlottedPoint(
            _place(frontier, point), float(point.loss or 0), describe_point(frontier, point),
            chosen=point.chosen, suggested=point is curve.knee,
        )
        for point in curve.found
    )  # fmt: skip
    return PlottedCurve(curve.name, tuple(points))


def _place(frontier: Frontier, point: Point) -> float:
    return float(getattr(point, frontier.across) or 0)
