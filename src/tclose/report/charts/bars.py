"""Charts as inline SVG: axes that say what they measure, marks that say their number.

Drawn by our own lines, so that a page holds nothing but what is seen. Each picture has a title and
a description; its numbers stand beside it as a table (`Chart.table`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tclose.report.charts.colours import BAD, BAD_GROUND, INK, RULE, SERIES, SOFT
from tclose.report.charts.svg import box, line, picture, text
from tclose.report.document import Bars, Histogram, Series

# Narrow, so that words stay legible where a telephone shrinks the picture to its width.
WIDE = 520
LEFT, RIGHT, TOP = 48, 16, 52
PLOT = 180
BELOW = 60
ROW = 26
BAR_TOP = 28
NAMES = 128
LONGEST = 17
LETTER = 7.3


def chart_svg(chart: Histogram | Bars) -> str:
    """The picture of a chart.

    >>> picture = chart_svg(Bars("Lost", "share", ("age",), (Series("lost", (0.25,)),)))
    >>> "age: 25.0%" in picture
    True
    """
    return _histogram(chart) if isinstance(chart, Histogram) else _bars(chart)


def ticks(most: float, about: int = 4) -> list[float]:
    """Round numbers from 0 to at least `most`.

    >>> ticks(0.83), ticks(7.0)
    ([0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 2.0, 4.0, 6.0, 8.0])
    """
    if not most > 0 or not math.isfinite(most):
        return [0.0, 1.0]
    rough = most / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(part * power for part in (1, 2, 2.5, 5, 10) if part * power >= rough * 0.999)
    return [round(at * step, 12) for at in range(math.ceil(most / step - 1e-9) + 1)]


def _histogram(chart: Histogram) -> str:
    shown = [value for one in chart.series for value in one.values if value is not None]
    marks = [mark for mark in ticks(max(shown, default=1.0)) if mark <= 1] or [0.0, 1.0]
    if marks[-1] < max(shown, default=1.0):
        marks.append(1.0)
    base, top = TOP + PLOT, marks[-1]
    step = (WIDE - LEFT - RIGHT) / max(len(chart.bins), 1)
    parts = [*_legend(chart.series), *_limit(chart, step, base), *_rules(marks, base)]
    inner = step * 0.84 / max(len(chart.series), 1)
    for which, (one, colour) in enumerate(_coloured(chart.series)):
        for at, value in enumerate(one.values):
            if value:
                tall = max(PLOT * value / top, 1.5)
                x = LEFT + step * at + step * 0.08 + inner * which
                words = f"{chart.across} {chart.bins[at]}: {value:.1%} {one.name}"
                parts.append(box(x, base - tall, inner, tall, colour, words))
    parts += _below(chart, step, base)
    parts.append(line(LEFT, base, WIDE - RIGHT, base, INK))
    parts.append(text(LEFT, 14, chart.up, fill=SOFT))
    parts.append(
        text(LEFT + (WIDE - LEFT - RIGHT) / 2, base + 52, chart.across, anchor="middle", fill=SOFT)
    )
    limit = f" Limit: {chart.limit.words}." if chart.limit else ""
    told = f"Histogram: {chart.up} by {chart.across}.{limit}"
    return picture(chart.title, told, (WIDE, base + BELOW), parts, letters=13)


def _limit(chart: Histogram, step: float, base: float) -> Iterator[str]:
    """The limit as a dashed line; what is beyond it on a ground of its own."""
    if chart.limit is None:
        return
    x, end = LEFT + step * chart.limit.after, WIDE - RIGHT
    start, wide = (x, end - x) if chart.limit.good == "before" else (LEFT, x - LEFT)
    if wide > 0:
        yield box(start, TOP - 8, wide, PLOT + 8, BAD_GROUND)
    yield line(x, TOP - 20, x, base, BAD, thick=2, dash="6 4")
    near_end = x > LEFT + (WIDE - LEFT - RIGHT) * 0.6
    at, anchor = (x - 6, "end") if near_end else (x + 6, "start")
    yield text(at, TOP - 13, chart.limit.words, anchor=anchor, fill=BAD, weight="600")


def _below(chart: Histogram, step: float, base: float) -> Iterator[str]:
    """What stands below the bins; in two rows where one has no room."""
    labels = chart.edges or chart.bins
    offset = 0.0 if chart.edges else step / 2
    crowded = not chart.edges and max(map(len, labels), default=0) * LETTER > step
    for at, label in enumerate(labels):
        x = LEFT + step * at + offset
        y = base + (34 if crowded and at % 2 else 19)
        if label and chart.edges:
            yield line(x, base, x, base + 5, INK)
        if label:
            yield text(x, y, label, anchor="middle")


def _bars(chart: Bars) -> str:
    thick = ROW * max(len(chart.series), 1)
    height = BAR_TOP + thick * len(chart.names)
    marks = ticks(chart.most)
    wide = WIDE - NAMES - RIGHT - 46
    parts = list(_legend(chart.series, NAMES))
    for mark in marks:
        x = NAMES + wide * mark / marks[-1]
        parts.append(line(x, BAR_TOP - 6, x, height, RULE))
        parts.append(text(x, height + 18, f"{mark:.0%}", anchor="middle", fill=SOFT))
    coloured = _coloured(chart.series)
    for row, name in enumerate(chart.names):
        middle = BAR_TOP + thick * (row + 0.5)
        parts.append(text(NAMES - 10, middle + 4, _short(name), anchor="end", told=name))
        for which, (one, colour) in enumerate(coloured):
            value = one.values[row]
            if value is None:
                continue
            y = BAR_TOP + thick * row + ROW * which + 4
            long = max(wide * value / marks[-1], 1.0)
            words = f"{name}: {value:.1%} {one.name}"
            parts.append(box(NAMES, y, long, ROW - 8, colour, words))
            parts.append(text(NAMES + long + 6, y + ROW - 13, f"{value:.1%}", halo=True))
    parts.append(line(NAMES, BAR_TOP - 6, NAMES, height, INK))
    parts.append(text(NAMES + wide / 2, height + 40, chart.across, anchor="middle", fill=SOFT))
    return picture(
        chart.title, f"Bars: {chart.across}, by name.", (WIDE, height + 50), parts, letters=13
    )


def _legend(series: Sequence[Series], left: float = LEFT) -> Iterator[str]:
    """Which colour is which table; a single one needs no legend."""
    if len(series) < 2:
        return
    x = max(WIDE - RIGHT - sum(24 + 7.2 * len(one.name) for one in series), left)
    for one, colour in _coloured(series):
        yield box(x, 4, 12, 12, colour)
        yield text(x + 17, 14, one.name)
        x += 24 + 7.2 * len(one.name)


def _coloured(series: Sequence[Series]) -> list[tuple[Series, str]]:
    """What a report is about is blue in every chart, what was before it is not."""
    others = [*SERIES[1:], *SERIES[1:]]
    return [
        (one, SERIES[0] if at == len(series) - 1 else others[at]) for at, one in enumerate(series)
    ]


def _rules(marks: Sequence[float], base: float) -> Iterator[str]:
    for mark in marks:
        y = base - PLOT * mark / marks[-1]
        yield line(LEFT, y, WIDE - RIGHT, y, RULE)
        yield text(LEFT - 8, y + 4, f"{100 * mark:.3g}%", anchor="end", fill=SOFT)


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
