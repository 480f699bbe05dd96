"""Bar charts and curves with their axes, each with a title and a description."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from tclose.plain import share_text
from tclose.report.charts.axes import Axis, Plot, powers_of_ten, ticks_to, write_number, write_share
from tclose.report.charts.colours import AREAS, BAD, BAD_GROUND, CURVES, DASHES, INK, SOFT
from tclose.report.charts.svg import (
    CURVE_MARKS,
    box,
    draw_hit_area,
    draw_mark,
    element,
    line,
    link_mark,
    picture,
    shorten,
    text,
)
from tclose.report.document import Bars, HistogramChart, Series

NARROW, WIDE, SMALL = 520, 980, 340
"""Widths of a chart: on a telephone (which shrinks it to its width), on a desk, and in a card."""
ROW = 26
LONGEST = 17
"""The most letters of a name beside its bars."""
CURVES_WIDE = 860
BELOW = 60
"""The height of the axis below the plot."""


def draw_chart(chart: HistogramChart | Bars, *, inline: bool = False, wide: int = NARROW) -> str:
    """Draws a chart of shares, `wide` units wide.

    >>> "age: 25.0%" in draw_chart(Bars("Lost", "share", ("age",), (Series("lost", (0.25,)),)))
    True
    """
    if isinstance(chart, Bars):
        return _draw_bars(chart, inline=inline, wide=wide)
    most = _find_highest(chart)
    marks = [mark for mark in ticks_to(most) if mark <= 1] or [0.0, 1.0]
    marks += [1.0] if marks[-1] < most else []
    return _draw_histogram(chart, marks, write_share, share_text, inline=inline, wide=wide)


def draw_counts(chart: HistogramChart, *, inline: bool = False) -> str:
    """Draws a chart of counts."""
    marks = ticks_to(_find_highest(chart))
    return _draw_histogram(chart, marks, write_number, write_number, inline=inline)


def _draw_histogram(
    chart: HistogramChart, marks: Sequence[float], write: Callable[[float], str],
    write_value: Callable[[float], str], *, inline: bool, wide: int = NARROW,
) -> str:  # fmt: skip
    small = wide <= SMALL
    plot = Plot(left=46 if small else 70, top=30 if small else 52, right=wide - 16,
                floor=120 if small else 232)  # fmt: skip
    step = (plot.right - plot.left) / max(len(chart.bins), 1)
    up = Axis(marks[0], marks[-1], plot.floor, plot.top)
    parts = [
        *_draw_legend(chart.series, plot.right),
        *_draw_limit(chart, plot, step),
        *plot.draw_upward(up, marks, write, "" if small else chart.up),
    ]
    thick = step * 0.84 / max(len(chart.series), 1)
    for which, (series, colour) in enumerate(_choose_colours(chart.series)):
        for at, value in enumerate(series.values):
            if value:
                tall = max(plot.floor - up.place(value), 1.5)
                x = plot.left + step * (at + 0.08) + thick * which
                words = f"{chart.across} {chart.bins[at]}: {write_value(value)} {series.name}"
                parts.append(box(x, plot.floor - tall, thick, tall, colour, words))
    offset = 0.0 if chart.edges else 0.5
    labels = enumerate(chart.edges or chart.bins)
    below = [(plot.left + step * (at + offset), label) for at, label in labels if label]
    if small:
        parts += _draw_ends(chart, plot)
    else:
        parts += plot.draw_below(below, chart.across, lines="ticks" if chart.edges else "none")
    limit = f" Limit: {chart.limit.words}." if chart.limit else ""
    described = f"Histogram: {chart.up} by {chart.across}.{limit}"
    size = (wide, plot.floor + (40 if small else 60))
    return picture(chart.title, described, size, parts, letters=13, inline=inline)


def _draw_ends(chart: HistogramChart, plot: Plot) -> Iterator[str]:
    """Draws the names of the first and the last bin, where there is no room for the others."""
    longest, y = LONGEST if len(chart.bins) > 1 else 2 * LONGEST, plot.floor + 18
    ends = ((chart.bins[0], plot.left, ""), (chart.bins[-1], plot.right, "end"))
    for name, x, anchor in ends[: len(chart.bins)]:
        short = shorten(name.removesuffix(" of the range"), longest)  # the axis title says of what
        yield text(x, y, short, anchor=anchor, fill=SOFT, title=name)
    middle = (plot.left + plot.right) / 2
    yield text(middle, y + 16, chart.across, anchor="middle", fill=SOFT)


def _draw_limit(chart: HistogramChart, plot: Plot, step: float) -> Iterator[str]:
    """Draws the limit as a dashed line and shades the area beyond it."""
    if chart.limit is None:
        return
    x = plot.left + step * chart.limit.after
    start, end = (x, plot.right) if chart.limit.good == "before" else (plot.left, x)
    if end > start:
        yield box(start, plot.top - 8, end - start, plot.floor - plot.top + 8, BAD_GROUND)
    yield line(x, plot.top - 20, x, plot.floor, BAD, thick=2, dash="6 4")
    near_end = x > plot.left + (plot.right - plot.left) * 0.6
    at, anchor = (x - 6, "end") if near_end else (x + 6, "start")
    yield text(at, plot.top - 13, chart.limit.words, anchor=anchor, fill=BAD, weight="600")


def _draw_bars(chart: Bars, *, inline: bool, wide: int) -> str:
    thick = ROW * max(len(chart.series), 1)
    plot = Plot(left=128, top=22, right=wide - 62, floor=28 + thick * len(chart.names))
    marks = ticks_to(chart.most)
    across = Axis(marks[0], marks[-1], plot.left, plot.right)
    below = [(across.place(mark), write_share(mark)) for mark in marks]
    parts = [
        *_draw_legend(chart.series, wide - 16),
        *plot.draw_below(below, chart.across, lines="rules"),
    ]
    for row, name in enumerate(chart.names):
        top = 28 + thick * row
        short = shorten(name, LONGEST)
        parts.append(text(plot.left - 10, top + thick / 2 + 4, short, anchor="end", title=name))
        for which, (series, colour) in enumerate(_choose_colours(chart.series)):
            value = series.values[row]
            if value is None:
                continue
            y, words = top + ROW * which + 4, share_text(value)
            long = max(across.place(value) - plot.left, 1.0)
            parts.append(box(plot.left, y, long, ROW - 8, colour, f"{name}: {words} {series.name}"))
            parts.append(text(plot.left + long + 6, y + ROW - 13, words, halo=True))
    parts.append(line(plot.left, plot.top, plot.left, plot.floor, INK))
    described = f"Bars: {chart.across}, by name."
    size = (wide, plot.floor + 50)
    return picture(chart.title, described, size, parts, letters=13, inline=inline)


def _draw_legend(series: Sequence[Series], right: float) -> Iterator[str]:
    """Draws which colour is which table; a single series needs no legend."""
    if len(series) < 2:
        return
    x = max(right - sum(24 + 7.2 * len(each.name) for each in series), 0.0)
    for each, colour in _choose_colours(series):
        yield box(x, 4, 12, 12, colour)
        yield text(x + 17, 14, each.name)
        x += 24 + 7.2 * len(each.name)


def _choose_colours(series: Sequence[Series]) -> list[tuple[Series, str]]:
    """Colours the last series, which the report is about, blue in every chart."""
    others = [*AREAS[1:], *AREAS[1:]][: max(len(series) - 1, 0)]
    return list(zip(series, [*others, AREAS[0]], strict=False))


def _find_highest(chart: HistogramChart) -> float:
    values = [value for series in chart.series for value in series.values if value is not None]
    return max(values, default=1.0)


@dataclass(frozen=True)
class PlottedPoint:
    """A point of a curve, the words shown when the pointer rests on it, and its marks."""

    x: float
    y: float
    words: str = ""
    chosen: bool = False
    suggested: bool = False
    link: str = ""
    """Where a click on it leads; empty for no link."""
    current: bool = False
    """Whether it was clicked last."""


draw_ring = partial(draw_mark, "circle", size=8, thick=2)
draw_diamond = partial(draw_mark, "diamond", size=11, thick=1.6)
"""Draws the mark of a suggested point; `draw_ring` that of a chosen one."""
PlottedCurve = tuple[str, Sequence[PlottedPoint]]
"""A curve with its name."""


def lay_out(heading: float = 0.0) -> Plot:
    """Returns the plot of curves below a heading, with room for names on the right."""
    return Plot(left=84, top=28 + heading, right=598, floor=324 + heading)


def find_across(plot: Plot, places: Sequence[float], *, logarithmic: bool = False) -> Axis:
    """Returns the lower axis of curves: from the first to the last place."""
    return Axis(min(places), max(places), plot.left + 14, plot.right - 14, logarithmic)


def draw_plain_curves(
    title: str, across: str, up: str, curves: Sequence[PlottedCurve], *,
    logarithmic: bool = False, by_factors: bool = False,
) -> str:  # fmt: skip
    """Draws curves over a few whole numbers, for a place in a page. Heights may be logarithmic, and
    so may the numbers (`by_factors`).
    """
    plot = lay_out()
    points = [point for _, curve in curves for point in curve]
    if points:
        low, high = min(point.y for point in points), max(point.y for point in points)
        ticks = powers_of_ten(low, high) if logarithmic else ticks_to(high, 6)
        axis = Axis(ticks[0], ticks[-1], plot.floor, plot.top, logarithmic)
        places = sorted({point.x for point in points})
        along = find_across(plot, places, logarithmic=by_factors)
        marks = [(along.place(x), f"{x:g}") for x in places]
        parts = [
            *plot.draw_upward(axis, ticks, write_number, up),
            *plot.draw_below(marks, across),
            *draw_curves(curves, plot, along, axis),
        ]
    else:
        parts = [text(plot.left, plot.top + 20, "There are no points to draw.")]
    described = f"Curves: {up} by {across}. The numbers are in the table."
    return picture(title, described, (CURVES_WIDE, plot.floor + BELOW), parts, inline=True)


def draw_curves(
    curves: Sequence[PlottedCurve], plot: Plot, across: Axis, up: Axis
) -> Iterator[str]:
    """Draws curves on their axes, and their names on the right of the plot."""
    for order, (_, points) in enumerate(curves):
        places = [(across.place(point.x), up.place(point.y)) for point in points]
        through = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield element(
            "polyline", points=through, fill="none", stroke=CURVES[order % len(CURVES)],
            stroke_width=2, stroke_dasharray=DASHES[order % len(DASHES)],
        )  # fmt: skip
        for point, (x, y) in zip(points, places, strict=True):
            mark = _draw_point(x, y, order, size=8.5 if point.current else 4.5)
            around = draw_hit_area(x, y, 12) if point.link else ""
            yield link_mark(around + mark, point.words, point.link)
            if point.chosen:
                yield draw_ring(x, y)
            if point.suggested:
                yield draw_diamond(x, y)
    for order, (name, _) in enumerate(curves):
        x, y = plot.right + 20, plot.top + 8 + 22 * order
        colour, dash = CURVES[order % len(CURVES)], DASHES[order % len(DASHES)]
        yield line(x, y, x + 30, y, colour, thick=2, dash=dash)
        yield _draw_point(x + 15, y, order)
        yield text(x + 40, y + 4, name)


def _draw_point(x: float, y: float, order: int, *, size: float = 4.5) -> str:
    colour, mark = CURVES[order % len(CURVES)], CURVE_MARKS[order % len(CURVE_MARKS)]
    return draw_mark(mark, x, y, size, fill=colour, edge=colour, thick=1.5)
