"""Lines and bars as SVG for a page: axes with words, marks that differ in shape as well as colour.

The colours are Okabe and Ito's, which colour-blind eyes can tell apart; every mark says in words
what it shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tclose.report.flow import escape

COLOURS = ("#000000", "#D55E00", "#009E73", "#0072B2", "#CC79A7")
DASHES = ("", "7 3", "2 3", "9 3 2 3", "12 4")
INK, FAINT, GRID = "#222222", "#666666", "#dddddd"
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
        step = 10.0 ** math.floor(math.log10(most or 1.0))
        for part in (5, 2, 1):
            if most / (step / part) <= 6:
                step /= part
                break
        return [round(step * at, 12) for at in range(math.ceil(most / step - 1e-9) + 1)]

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
        return _framed(title, [_text(LEFT, TOP + 20, "no table keeps any of the measures")])
    ticks = up.ticks(min(heights), max(heights))
    room, floor = WIDTH - LEFT - RIGHT, HEIGHT - BOTTOM
    span = (places[-1] - places[0]) or 1.0

    def at(point: Point) -> Point:
        x = LEFT + 16 + (room - 32) * (point[0] - places[0]) / span
        return x, floor - (floor - TOP) * up.share(point[1], ticks)

    parts = _frame(across, up, ticks)
    for x in places:
        parts.append(_text(at((x, ticks[-1]))[0], floor + 18, f"{x:g}", anchor="middle"))
    for number, one in enumerate(drawn):
        parts += _curve(one, number, [at(point) for point in one.points], up)
        parts += _key(one.name, number)
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
            parts.append(
                f'<rect x="{x:.1f}" y="{floor - tall:.1f}" width="{step * 0.6:.1f}" '
                f'height="{tall:.1f}" fill="{colour}" stroke="{INK}" stroke-width="0.6">'
                f"<title>{escape(words)}</title></rect>"
            )
        top = floor - (floor - TOP) * axis.share(whole, ticks)
        parts.append(_text(x + step * 0.3, top - 5, f"{part} of {whole}", anchor="middle"))
        for line, words in enumerate(name.split("\n")):
            parts.append(
                _text(x + step * 0.3, floor + 15 + 13 * line, words, anchor="middle", size=11)
            )
    for line, (colour, words) in enumerate(
        (("#B8D4E8", "minimal tables"), (COLOURS[1], "of these vulnerable"))
    ):
        y = TOP + 10 + 22 * line
        parts.append(
            f'<rect x="{WIDTH - RIGHT + 14}" y="{y - 10}" width="14" height="12" fill="{colour}" '
            f'stroke="{INK}" stroke-width="0.6"/>'
        )
        parts.append(_text(WIDTH - RIGHT + 36, y, words))
    return _framed(title, parts)


def number(value: float) -> str:
    """A tick or a value, short.

    >>> number(0.25), number(30162.0), number(5.517e7), number(float("nan"))
    ('0.25', '30,162', '5.52e7', 'no table')
    """
    if math.isnan(value):
        return "no table"
    if value and value >= 1e6:
        mantissa, power = f"{value:.2e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(power)}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _framed(title: str, parts: Sequence[str]) -> str:
    head = (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        'font-family="system-ui, sans-serif" font-size="12">'
    )
    words = escape(title.replace("\n", " "))
    ground = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    heading = _text(LEFT, 20, title, size=14, weight="bold")
    return "\n".join([head, f"<title>{words}</title>", ground, heading, *parts, "</svg>"])


def _frame(across: str, up: Axis, ticks: Sequence[float]) -> list[str]:
    floor, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = []
    for tick in ticks:
        y = floor - (floor - TOP) * up.share(tick, ticks)
        colour = INK if tick == ticks[0] else GRID
        parts.append(
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="{colour}"/>'
        )
        parts.append(_text(LEFT - 8, y + 4, number(tick), anchor="end", fill=FAINT))
    parts.append(f'<line x1="{LEFT}" y1="{TOP}" x2="{LEFT}" y2="{floor}" stroke="{INK}"/>')
    parts.append(_text((LEFT + right) / 2, HEIGHT - 12, across, anchor="middle"))
    middle = (TOP + floor) / 2
    parts.append(
        f'<text transform="translate(18,{middle}) rotate(-90)" text-anchor="middle" '
        f'fill="{INK}">{escape(up.title)}</text>'
    )
    return parts


def _curve(one: Series, order: int, places: Sequence[Point], up: Axis) -> list[str]:
    colour = COLOURS[order % len(COLOURS)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts = [
        f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2" '
        f'stroke-dasharray="{DASHES[order % len(DASHES)]}"/>'
    ]
    for (x, y), (value, height) in zip(places, one.points, strict=True):
        words = f"{one.name} at {value:g}: {number(height)} {up.title}"
        parts.append(f"<g>{_mark(x, y, order)}<title>{escape(words)}</title></g>")
    return parts


def _key(name: str, order: int) -> list[str]:
    x, y = WIDTH - RIGHT + 14, TOP + 10 + 22 * order
    colour = COLOURS[order % len(COLOURS)]
    return [
        f'<line x1="{x}" y1="{y - 4}" x2="{x + 26}" y2="{y - 4}" stroke="{colour}" '
        f'stroke-width="2" stroke-dasharray="{DASHES[order % len(DASHES)]}"/>',
        _mark(x + 13, y - 4, order),
        _text(x + 33, y, name),
    ]


def _mark(x: float, y: float, order: int) -> str:
    """A circle, square, triangle, diamond or cross, hollow where it can be."""
    shapes = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"',
        f'<rect x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10"',
        f'<path d="M{x:.1f},{y - 6:.1f} l6,10 h-12 z"',
        f'<path d="M{x:.1f},{y - 6:.1f} l6,6 l-6,6 l-6,-6 z"',
        f'<path d="M{x - 5:.1f},{y - 5:.1f} l10,10 m0,-10 l-10,10"',
    )
    colour = COLOURS[order % len(COLOURS)]
    return f'{shapes[order % len(shapes)]} fill="none" stroke="{colour}" stroke-width="1.8"/>'


def _text(
    x: float, y: float, words: str, *, size: int = 12, weight: str = "normal",
    anchor: str = "start", fill: str = INK,
) -> str:  # fmt: skip
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}" fill="{fill}">{escape(words)}</text>'
    )
