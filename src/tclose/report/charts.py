"""Charts as inline SVG: axes that say what they measure, marks that say their number.

Drawn by our own lines, so that a page holds nothing but what is seen. Each picture has a title and
a description; its numbers stand beside it as a table (`Chart.table`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tclose.report.document import Bars, Histogram, Series
from tclose.report.flow import escape
from tclose.report.style import BAD, BAD_GROUND, INK, PAPER, RULE, SERIES, SOFT

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
                parts.append(_box(x, base - tall, inner, tall, colour, words))
    parts += _below(chart, step, base)
    parts.append(_line(LEFT, base, WIDE - RIGHT, base, INK))
    parts.append(_text(LEFT, 14, chart.up, fill=SOFT))
    parts.append(
        _text(LEFT + (WIDE - LEFT - RIGHT) / 2, base + 52, chart.across, anchor="middle", fill=SOFT)
    )
    limit = f" Limit: {chart.limit.words}." if chart.limit else ""
    told = f"Histogram: {chart.up} by {chart.across}.{limit}"
    return _svg(chart.title, told, base + BELOW, parts)


def _limit(chart: Histogram, step: float, base: float) -> Iterator[str]:
    """The limit as a dashed line; what is beyond it on a ground of its own."""
    if chart.limit is None:
        return
    x, end = LEFT + step * chart.limit.after, WIDE - RIGHT
    start, wide = (x, end - x) if chart.limit.good == "before" else (LEFT, x - LEFT)
    if wide > 0:
        yield (
            f'<rect x="{start:.1f}" y="{TOP - 8}" width="{wide:.1f}" height="{PLOT + 8}" '
            f'fill="{BAD_GROUND}"/>'
        )
    yield (
        f'<line x1="{x:.1f}" y1="{TOP - 20}" x2="{x:.1f}" y2="{base}" stroke="{BAD}" '
        'stroke-width="2" stroke-dasharray="6 4"/>'
    )
    near_end = x > LEFT + (WIDE - LEFT - RIGHT) * 0.6
    at, anchor = (x - 6, "end") if near_end else (x + 6, "start")
    yield _text(at, TOP - 13, chart.limit.words, anchor=anchor, fill=BAD, weight="600")


def _below(chart: Histogram, step: float, base: float) -> Iterator[str]:
    """What stands below the bins; in two rows where one has no room."""
    labels = chart.edges or chart.bins
    offset = 0.0 if chart.edges else step / 2
    crowded = not chart.edges and max(map(len, labels), default=0) * LETTER > step
    for at, label in enumerate(labels):
        x = LEFT + step * at + offset
        y = base + (34 if crowded and at % 2 else 19)
        if label and chart.edges:
            yield _line(x, base, x, base + 5, INK)
        if label:
            yield _text(x, y, label, anchor="middle")


def _bars(chart: Bars) -> str:
    thick = ROW * max(len(chart.series), 1)
    height = BAR_TOP + thick * len(chart.names)
    marks = ticks(chart.most)
    wide = WIDE - NAMES - RIGHT - 46
    parts = list(_legend(chart.series, NAMES))
    for mark in marks:
        x = NAMES + wide * mark / marks[-1]
        parts.append(_line(x, BAR_TOP - 6, x, height, RULE))
        parts.append(_text(x, height + 18, f"{mark:.0%}", anchor="middle", fill=SOFT))
    coloured = _coloured(chart.series)
    for row, name in enumerate(chart.names):
        middle = BAR_TOP + thick * (row + 0.5)
        parts.append(_text(NAMES - 10, middle + 4, _short(name), anchor="end", whole=name))
        for which, (one, colour) in enumerate(coloured):
            value = one.values[row]
            if value is None:
                continue
            y = BAR_TOP + thick * row + ROW * which + 4
            long = max(wide * value / marks[-1], 1.0)
            words = f"{name}: {value:.1%} {one.name}"
            parts.append(_box(NAMES, y, long, ROW - 8, colour, words))
            parts.append(_text(NAMES + long + 6, y + ROW - 13, f"{value:.1%}", halo=True))
    parts.append(_line(NAMES, BAR_TOP - 6, NAMES, height, INK))
    parts.append(_text(NAMES + wide / 2, height + 40, chart.across, anchor="middle", fill=SOFT))
    return _svg(chart.title, f"Bars: {chart.across}, by name.", height + 50, parts)


def _svg(title: str, told: str, height: float, parts: Sequence[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {height:.0f}" '
            f'width="{WIDE}" height="{height:.0f}" role="img" aria-label="{escape(title)}" '
            'font-family="system-ui, sans-serif" font-size="13">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(told)}</desc>",
            f'<rect width="{WIDE}" height="{height:.0f}" fill="{PAPER}"/>',
            *parts,
            "</svg>",
        ]
    )


def _legend(series: Sequence[Series], left: float = LEFT) -> Iterator[str]:
    """Which colour is which table; a single one needs no legend."""
    if len(series) < 2:
        return
    x = max(WIDE - RIGHT - sum(24 + 7.2 * len(one.name) for one in series), left)
    for one, colour in _coloured(series):
        yield f'<rect x="{x:.1f}" y="4" width="12" height="12" fill="{colour}"/>'
        yield _text(x + 17, 14, one.name)
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
        yield _line(LEFT, y, WIDE - RIGHT, y, RULE)
        yield _text(LEFT - 8, y + 4, f"{100 * mark:.3g}%", anchor="end", fill=SOFT)


def _box(x: float, y: float, wide: float, tall: float, colour: str, words: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{tall:.1f}" fill="{colour}">'
        f"<title>{escape(words)}</title></rect>"
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def _text(
    x: float, y: float, words: str, *, anchor: str = "start", fill: str = INK,
    weight: str = "normal", halo: bool = False, whole: str = "",
) -> str:  # fmt: skip
    """Words; a halo keeps them legible where they cross a line."""
    ring = f' paint-order="stroke" stroke="{PAPER}" stroke-width="4"' if halo else ""
    full = f"<title>{escape(whole)}</title>" if whole else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" '
        f'font-weight="{weight}"{ring}>{escape(words)}{full}</text>'
    )
