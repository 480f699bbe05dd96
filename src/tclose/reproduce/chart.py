"""Lines and bars as SVG for a page: axes with words, marks that say what they show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tclose.report.charts import svg
from tclose.report.charts.bars import ticks as from_zero
from tclose.report.charts.svg import COLOURS, FAINT, GRID, INK, box, line, text

WIDTH, HEIGHT = 720, 340
LEFT, RIGHT, TOP, BOTTOM = 84, 216, 40, 52
Point = tuple[float, float]


@dataclass(frozen=True)
class Series:
    """One curve; points whose height is nan are not drawn."""

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Axis:
    """What an axis says, and whether its steps are factors."""

    title: str
    logarithmic: bool = False

    def ticks(self, least: float, most: float) -> list[float]:
        """Round numbers from at most the least to at least the most.

        >>> Axis("s").ticks(0.03, 0.21)
        [0.0, 0.05, 0.1, 0.15, 0.2, 0.25]
        >>> Axis("rows", logarithmic=True).ticks(300.0, 20_000.0)
        [100.0, 1000.0, 10000.0, 100000.0]
        """
        if self.logarithmic:
            first, last = math.floor(math.log10(least)), math.ceil(math.log10(most))
            return [10.0**power for power in range(first, max(last, first + 1) + 1)]
        return from_zero(most, about=6)

    def share(self, value: float, ticks: Sequence[float]) -> float:
        """How far up the axis a value is, from 0 to 1."""
        low, high = ticks[0], ticks[-1]
        if self.logarithmic:
            return math.log(value / low) / math.log(high / low)
        return (value - low) / (high - low)


def line_chart(title: str, across: str, up: Axis, series: Sequence[Series]) -> str:
    """Curves over a few whole numbers."""
    drawn = [
        Series(one.name, tuple(point for point in one.points if not math.isnan(point[1])))
        for one in series
    ]
    heights = [y for one in drawn for _, y in one.points]
    places = sorted({x for one in series for x, _ in one.points})
    if not heights:
        return _framed(title, [text(LEFT, TOP + 20, "no table keeps any of the measures")])
    ticks = up.ticks(min(heights), max(heights))
    room, floor = WIDTH - LEFT - RIGHT, HEIGHT - BOTTOM
    span = (places[-1] - places[0]) or 1.0

    def at(point: Point) -> Point:
        x = LEFT + 16 + (room - 32) * (point[0] - places[0]) / span
        return x, floor - (floor - TOP) * up.share(point[1], ticks)

    parts = _frame(across, up, ticks)
    for x in places:
        parts.append(text(at((x, ticks[-1]))[0], floor + 18, f"{x:g}", anchor="middle"))
    for number, one in enumerate(drawn):
        parts += _curve(one, number, [at(point) for point in one.points], up)
        parts += svg.key(WIDTH - RIGHT + 14, TOP + 6 + 22 * number, one.name, number)
    return _framed(title, parts)


def bar_chart(title: str, up: str, bars: Sequence[tuple[str, int, int]]) -> str:
    """Bars of a whole (name, whole, part) with the part of it marked."""
    axis = Axis(up)
    ticks = axis.ticks(0, max([whole for _, whole, _ in bars], default=1) or 1)
    room, floor = WIDTH - LEFT - RIGHT, HEIGHT - BOTTOM
    parts = _frame("measure", axis, ticks)
    step = room / max(len(bars), 1)
    for number, (name, whole, part) in enumerate(bars):
        x = LEFT + step * (number + 0.2)
        for count, colour, word in (
            (whole, "#B8D4E8", "minimal"),
            (part, COLOURS[1], "vulnerable"),
        ):
            tall = (floor - TOP) * axis.share(count, ticks)
            words = f"{name.replace(chr(10), ', ')}: {count} {word}"
            parts.append(box(x, floor - tall, step * 0.6, tall, colour, words, edge=INK))
        top = floor - (floor - TOP) * axis.share(whole, ticks)
        parts.append(text(x + step * 0.3, top - 5, f"{part} of {whole}", anchor="middle"))
        for row, words in enumerate(name.split("\n")):
            parts.append(
                text(x + step * 0.3, floor + 15 + 13 * row, words, anchor="middle", size=11)
            )
    for row, (colour, words) in enumerate(
        (("#B8D4E8", "minimal tables"), (COLOURS[1], "of these vulnerable"))
    ):
        y = TOP + 10 + 22 * row
        parts.append(box(WIDTH - RIGHT + 14, y - 10, 14, 12, colour, edge=INK))
        parts.append(text(WIDTH - RIGHT + 36, y, words))
    return _framed(title, parts)


def number(value: float) -> str:
    """A tick or a value, short.

    >>> number(0.25), number(30162.0), number(5.517e7), number(float("nan"))
    ('0.25', '30,162', '5.52e7', 'no table')
    """
    return "no table" if math.isnan(value) else svg.short_number(value)


def _framed(title: str, parts: Sequence[str]) -> str:
    heading = text(LEFT, 20, title, size=14, weight="bold")
    told = "What each mark shows is said beside it; the numbers stand in the table."
    return svg.picture(title, told, (WIDTH, HEIGHT), [heading, *parts], inline=True)


def _frame(across: str, up: Axis, ticks: Sequence[float]) -> list[str]:
    floor, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = []
    for tick in ticks:
        y = floor - (floor - TOP) * up.share(tick, ticks)
        colour = INK if tick == ticks[0] else GRID
        parts.append(line(LEFT, y, right, y, colour))
        parts.append(text(LEFT - 8, y + 4, number(tick), anchor="end", fill=FAINT))
    parts.append(line(LEFT, TOP, LEFT, floor, INK))
    parts.append(text((LEFT + right) / 2, HEIGHT - 12, across, anchor="middle"))
    parts.append(text(18, (TOP + floor) / 2, up.title, anchor="middle", turned=-90))
    return parts


def _curve(one: Series, order: int, places: Sequence[Point], up: Axis) -> list[str]:
    parts = [svg.curve(places, order)]
    for (x, y), (value, height) in zip(places, one.points, strict=True):
        words = f"{one.name} at {value:g}: {number(height)} {up.title}"
        parts.append(svg.mark(x, y, order, words))
    return parts
