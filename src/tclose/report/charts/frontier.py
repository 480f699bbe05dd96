"""A frontier as a self-contained SVG picture.

A ring marks the policy's own promise, a diamond the knee. The loss axis starts at 0, so that
steepness is not exaggerated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from tclose.report.charts import svg
from tclose.report.charts.svg import FAINT, GRID, INK, line, text
from tclose.report.render.frontier import point_words, title_of, told
from tclose.search.frontier.curves import Curve, Frontier, Point, shown_number

WIDTH, FLOOR = 860, 380
LEFT, RIGHT, TOP = 84, 262, 84
LINE = 17
HEADING = 56
"""What a title takes, down to the words above the axis."""
KEPT = "every point keeps its promise, and more work might find less loss"
AXES = {"t": "t: how far a class may be from the table", "k": "k: least size of a class"}

Place = Callable[[float, float], tuple[float, float]]


def frontier_svg(frontier: Frontier, *, inline: bool = False) -> str:
    """The picture as the text of an SVG file, or for a page with a title and sentences of its own.

    Both describe it in words to whoever cannot see it.
    """
    notes = list(told(frontier))
    if inline:
        height = FLOOR + 60 - HEADING
        parts = [f'<g transform="translate(0 {-HEADING})">', *_drawn(frontier), "</g>"]
    else:
        height = FLOOR + 72 + LINE * len(notes)
        parts = _worded(frontier, notes)
    size = (WIDTH, height)
    return svg.picture(title_of(frontier), " ".join(notes), size, parts, inline=inline)


def _worded(frontier: Frontier, notes: Sequence[str]) -> list[str]:
    """The drawing below its title and above its sentences."""
    return [
        text(LEFT, 26, title_of(frontier), size=16, weight="bold"),
        text(LEFT, 46, f"{frontier.rows:,} rows; {KEPT}", fill=FAINT),
        *_drawn(frontier),
        *(text(LEFT, FLOOR + 72 + LINE * at, note) for at, note in enumerate(notes)),
    ]


def ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Round numbers that lie between two numbers, and at most so many of them.

    >>> ticks(0.0, 0.53), ticks(2, 20)
    ([0.0, 0.1, 0.2, 0.3, 0.4, 0.5], [5.0, 10.0, 15.0, 20.0])
    """
    wide = (high - low) or 1.0
    size = 10.0 ** math.floor(math.log10(wide))
    step = next(
        size * part for part in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0) if wide / (size * part) <= most - 1
    )
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(step * at, 10) for at in range(first, last + 1)]


def _drawn(frontier: Frontier) -> Iterator[str]:
    across = [_across(frontier, point) for point in frontier.points]
    losses = [point.loss for point in frontier.points if point.loss is not None]
    low, high, most = min(across), max(across), max(losses, default=0.0) or 1.0
    room, tall = WIDTH - LEFT - RIGHT - 24, FLOOR - TOP - 8

    def place(x: float, y: float) -> tuple[float, float]:
        share = (x - low) / (high - low) if high > low else 0.5
        return LEFT + 12 + room * share, FLOOR - tall * y / most

    yield from _frame(frontier, ticks(low, high), ticks(0.0, most), place)
    if frontier.chosen is not None:
        yield from _own(frontier, frontier.chosen, place)
    for order, curve in enumerate(frontier.curves):
        yield from _curve(frontier, curve, order, place)
    for order, curve in enumerate(frontier.curves):
        yield from svg.key(WIDTH - RIGHT + 20, TOP + 8 + 22 * order, curve.name, order)
    yield from _marks(len(frontier.curves))


def _frame(
    frontier: Frontier, along: Sequence[float], up: Sequence[float], place: Place
) -> Iterator[str]:
    right = WIDTH - RIGHT
    for tick in up:
        y = place(along[0] if along else 0.0, tick)[1]
        yield line(LEFT, y, right, y, GRID)
        yield text(LEFT - 8, y + 4, svg.short_number(tick), anchor="end", fill=FAINT)
    for tick in along:
        x = place(tick, 0.0)[0]
        yield line(x, FLOOR, x, FLOOR + 5, INK)
        yield text(x, FLOOR + 26, f"{tick:g}", anchor="middle", fill=FAINT)
    yield f'<path d="M{LEFT} {TOP}V{FLOOR}H{right}" fill="none" stroke="{INK}"/>'
    middle, half = (LEFT + right) / 2, (TOP + FLOOR) / 2
    yield text(middle, FLOOR + 44, AXES[frontier.across], anchor="middle")
    meaning = "loss (0 exact, 1 nothing left)" if frontier.measure == "loss" else frontier.measure
    yield text(20, half, meaning, anchor="middle", turned=-90)


def _own(frontier: Frontier, chosen: Point, place: Place) -> Iterator[str]:
    x, top = place(_across(frontier, chosen), 0.0)[0], TOP - 4
    yield line(x, top, x, FLOOR, FAINT, dash="4 4")
    words = f"the policy's own {frontier.across}={shown_number(getattr(chosen, frontier.across))}"
    yield text(x + 6, top - 2, words, fill=FAINT)


def _curve(frontier: Frontier, curve: Curve, order: int, place: Place) -> Iterator[str]:
    spots = [
        (point, *place(_across(frontier, point), float(point.loss or 0))) for point in curve.found
    ]
    yield svg.curve([(x, y) for _, x, y in spots], order)
    for point, x, y in spots:
        yield svg.mark(x, y, order, point_words(frontier, point))
        if point.chosen:
            yield _ring(x, y)
        if point is curve.knee:
            yield _diamond(x, y)


def _marks(curves: int) -> Iterator[str]:
    """What the ring and the diamond mean, below the names of so many curves."""
    x, y = WIDTH - RIGHT + 35, TOP + 18 + 22 * curves
    yield _ring(x, y)
    yield text(x + 25, y + 4, "the policy's own promise")
    yield _diamond(x, y + 26)
    yield text(x + 25, y + 30, "knee: suggested, not chosen")


def _ring(x: float, y: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8" fill="none" stroke="{INK}" stroke-width="2"/>'


def _diamond(x: float, y: float) -> str:
    path = f"M{x:.1f} {y - 11:.1f}l11 11l-11 11l-11 -11z"
    return f'<path d="{path}" fill="none" stroke="{INK}" stroke-width="1.6"/>'


def _across(frontier: Frontier, point: Point) -> float:
    return float(getattr(point, frontier.across) or 0)
