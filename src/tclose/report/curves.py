"""A frontier as a self-contained SVG picture.

Curves differ in shape of mark and dash as well as in colour (Okabe and Ito's, which colour-blind
eyes can tell apart). A ring marks the policy's own promise, a diamond the knee; every mark says in
words what it shows. The loss axis starts at 0, so that steepness is not exaggerated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from tclose.report.flow import escape
from tclose.report.frontier import point_words, title_of, told
from tclose.search.frontier import Curve, Frontier, Point, shown_number

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000")
DASHES = ("", "8 4", "2 3", "10 3 2 3", "14 4")
INK, FAINT, GRID = "#222222", "#666666", "#dddddd"
WIDTH, FLOOR = 860, 380
LEFT, RIGHT, TOP = 84, 262, 84
LINE = 17
KEPT = "every point keeps its promise, and more work might find less loss"
AXES = {"t": "t: how far a class may be from the table", "k": "k: least size of a class"}

Place = Callable[[float, float], tuple[float, float]]


def frontier_svg(frontier: Frontier) -> str:
    """The picture as the text of an SVG file."""
    notes = list(told(frontier))
    height = FLOOR + 72 + LINE * len(notes)
    words = escape(title_of(frontier))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" font-family="system-ui, sans-serif" font-size="12">',
        f"<title>{words}</title>",
        f"<desc>{escape(' '.join(notes))}</desc>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(LEFT, 26, title_of(frontier), 'font-size="16" font-weight="bold"'),
        _text(LEFT, 46, f"{frontier.rows:,} rows; {KEPT}", faint=True),
        *_drawn(frontier),
        *(_text(LEFT, FLOOR + 72 + LINE * at, note) for at, note in enumerate(notes)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


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
        yield from _key(curve, order)
    yield from _marks(len(frontier.curves))


def _frame(
    frontier: Frontier, along: Sequence[float], up: Sequence[float], place: Place
) -> Iterator[str]:
    right = WIDTH - RIGHT
    for tick in up:
        y = place(along[0] if along else 0.0, tick)[1]
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="{GRID}"/>'
        yield _text(LEFT - 8, y + 4, _short(tick), 'text-anchor="end"', faint=True)
    for tick in along:
        x = place(tick, 0.0)[0]
        yield f'<line x1="{x:.1f}" y1="{FLOOR}" x2="{x:.1f}" y2="{FLOOR + 5}" stroke="{INK}"/>'
        yield _text(x, FLOOR + 26, f"{tick:g}", 'text-anchor="middle"', faint=True)
    yield f'<path d="M{LEFT} {TOP}V{FLOOR}H{right}" fill="none" stroke="{INK}"/>'
    middle, half = (LEFT + right) / 2, (TOP + FLOOR) / 2
    yield _text(middle, FLOOR + 44, AXES[frontier.across], 'text-anchor="middle"')
    meaning = "loss (0 exact, 1 nothing left)" if frontier.measure == "loss" else frontier.measure
    yield _text(0, 0, meaning, f'text-anchor="middle" transform="translate(20,{half}) rotate(-90)"')


def _own(frontier: Frontier, chosen: Point, place: Place) -> Iterator[str]:
    x, top = place(_across(frontier, chosen), 0.0)[0], TOP - 4
    yield (
        f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{FLOOR}" stroke="{FAINT}" '
        'stroke-dasharray="4 4"/>'
    )
    words = f"the policy's own {frontier.across}={shown_number(getattr(chosen, frontier.across))}"
    yield _text(x + 6, top - 2, words, faint=True)


def _curve(frontier: Frontier, curve: Curve, order: int, place: Place) -> Iterator[str]:
    colour = COLOURS[order % len(COLOURS)]
    spots = [
        (point, *place(_across(frontier, point), float(point.loss or 0))) for point in curve.found
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for _, x, y in spots)
    yield (
        f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2" '
        f'stroke-dasharray="{DASHES[order % len(DASHES)]}"/>'
    )
    for point, x, y in spots:
        words = escape(point_words(frontier, point))
        yield f"<g>{_mark(x, y, order)}<title>{words}</title></g>"
        if point.chosen:
            yield _ring(x, y)
        if point is curve.knee:
            yield _diamond(x, y)


def _key(curve: Curve, order: int) -> Iterator[str]:
    x, y = WIDTH - RIGHT + 20, TOP + 8 + 22 * order
    yield (
        f'<line x1="{x}" y1="{y}" x2="{x + 30}" y2="{y}" stroke="{COLOURS[order % len(COLOURS)]}" '
        f'stroke-width="2" stroke-dasharray="{DASHES[order % len(DASHES)]}"/>'
    )
    yield _mark(x + 15, y, order)
    yield _text(x + 40, y + 4, curve.name)


def _marks(curves: int) -> Iterator[str]:
    """What the ring and the diamond mean, below the names of so many curves."""
    x, y = WIDTH - RIGHT + 35, TOP + 18 + 22 * curves
    yield _ring(x, y)
    yield _text(x + 25, y + 4, "the policy's own promise")
    yield _diamond(x, y + 26)
    yield _text(x + 25, y + 30, "knee: suggested, not chosen")


def _mark(x: float, y: float, order: int) -> str:
    """A dot, square, triangle, cross or bar."""
    shapes = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"',
        f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"',
        f'<path d="M{x:.1f} {y - 5:.1f}l5 9h-10z"',
        f'<path d="M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"',
        f'<path d="M{x:.1f} {y - 5:.1f}v10"',
    )
    colour = COLOURS[order % len(COLOURS)]
    return f'{shapes[order % len(shapes)]} fill="{colour}" stroke="{colour}" stroke-width="1.5"/>'


def _ring(x: float, y: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8" fill="none" stroke="{INK}" stroke-width="2"/>'


def _diamond(x: float, y: float) -> str:
    path = f"M{x:.1f} {y - 11:.1f}l11 11l-11 11l-11 -11z"
    return f'<path d="{path}" fill="none" stroke="{INK}" stroke-width="1.6"/>'


def _across(frontier: Frontier, point: Point) -> float:
    return float(getattr(point, frontier.across) or 0)


def _short(value: float) -> str:
    """A tick, short.

    >>> _short(0.25), _short(20000.0), _short(3e7)
    ('0.25', '20,000', '3e7')
    """
    if value >= 1e6:
        number, power = f"{value:.3e}".split("e")
        return f"{float(number):g}e{int(power)}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"


def _text(x: float, y: float, words: str, more: str = "", *, faint: bool = False) -> str:
    colour = FAINT if faint else INK
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" {more}>{escape(words)}</text>'
