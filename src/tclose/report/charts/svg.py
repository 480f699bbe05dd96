"""What every picture is drawn with: words, lines, boxes, marks and colours, as the text of SVG.

Curves differ in shape of mark and dash as well as in colour (Okabe and Ito's, which colour-blind
eyes can tell apart); every mark can say in words what it shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape as escape_html

# What XML cannot hold, however it is written.
UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000")
DASHES = ("", "8 4", "2 3", "10 3 2 3", "14 4")
INK, FAINT, GRID, PAPER = "#222222", "#666666", "#dddddd", "#ffffff"

Place = tuple[float, float]


def escape(words: str) -> str:
    """Text as XML holds it: marks escaped, control characters replaced."""
    return escape_html(UNPRINTABLE.sub("\ufffd", words))


def picture(
    title: str, told: str, size: tuple[float, float], parts: Iterable[str], *, letters: int = 12,
    inline: bool = False,
) -> str:  # fmt: skip
    """A picture with its title and a description in words; by itself, or for a place in a page.

    >>> print(picture("A line", "one", (20, 10), [line(0, 5, 20, 5, INK)], inline=True))
    <svg viewBox="0 0 20 10" width="20" height="10" role="img" aria-label="A line" \
font-family="system-ui, sans-serif" font-size="12">
    <title>A line</title>
    <desc>one</desc>
    <rect width="20" height="10" fill="#ffffff"/>
    <line x1="0.0" y1="5.0" x2="20.0" y2="5.0" stroke="#222222"/>
    </svg>
    <BLANKLINE>
    """
    wide, tall = (f"{one:.0f}" for one in size)
    space = "" if inline else ' xmlns="http://www.w3.org/2000/svg"'
    shown = [
        f'<svg{space} viewBox="0 0 {wide} {tall}" width="{wide}" '
        f'height="{tall}" role="img" aria-label="{escape(title)}" '
        f'font-family="system-ui, sans-serif" font-size="{letters}">',
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(told)}</desc>",
        f'<rect width="{wide}" height="{tall}" fill="{PAPER}"/>',
        *parts,
        "</svg>",
    ]
    return "\n".join(shown) + "\n"


def text(
    x: float, y: float, words: str, *, size: int = 0, weight: str = "", anchor: str = "",
    fill: str = INK, turned: int = 0, halo: bool = False, told: str = "",
) -> str:  # fmt: skip
    """Words at a place; a halo keeps them legible where they cross a line.

    >>> text(1, 2, "a < b", anchor="end")
    '<text x="1.0" y="2.0" text-anchor="end" fill="#222222">a &lt; b</text>'
    """
    at = f'x="{x:.1f}" y="{y:.1f}"'
    if turned:
        at = f'transform="translate({x:.1f},{y:.1f}) rotate({turned})"'
    given = {"font-size": size, "font-weight": weight, "text-anchor": anchor, "fill": fill}
    said = "".join(f' {name}="{value}"' for name, value in given.items() if value)
    ring = f' paint-order="stroke" stroke="{PAPER}" stroke-width="4"' if halo else ""
    return f"<text {at}{said}{ring}>{escape(words)}{_told(told)}</text>"


def line(
    x1: float, y1: float, x2: float, y2: float, colour: str, *, thick: float = 1, dash: str = ""
) -> str:
    """A straight line, dashed if asked."""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"'
        f"{_stroke(thick, dash)}/>"
    )


def box(
    x: float, y: float, wide: float, tall: float, fill: str, told: str = "", *, edge: str = ""
) -> str:
    """A filled rectangle."""
    border = f' stroke="{edge}" stroke-width="0.6"' if edge else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{tall:.1f}" fill="{fill}"'
        f"{border}>{_told(told)}</rect>"
    )


def curve(places: Sequence[Place], order: int) -> str:
    """The line of the curve that comes so many-th."""
    through = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    stroke = f'stroke="{colour_of(order)}"{_stroke(2, DASHES[order % len(DASHES)])}'
    return f'<polyline points="{through}" fill="none" {stroke}/>'


def mark(x: float, y: float, order: int, told: str = "") -> str:
    """A dot, square, triangle, cross or bar: a point of the curve that comes so many-th."""
    shapes = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"',
        f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"',
        f'<path d="M{x:.1f} {y - 5:.1f}l5 9h-10z"',
        f'<path d="M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"',
        f'<path d="M{x:.1f} {y - 5:.1f}v10"',
    )
    colour = colour_of(order)
    shape = f'{shapes[order % len(shapes)]} fill="{colour}" stroke="{colour}" stroke-width="1.5"/>'
    return f"<g>{shape}{_told(told)}</g>" if told else shape


def key(x: float, y: float, name: str, order: int) -> list[str]:
    """Which curve has this line and mark."""
    dash = DASHES[order % len(DASHES)]
    return [
        line(x, y, x + 30, y, colour_of(order), thick=2, dash=dash),
        mark(x + 15, y, order),
        text(x + 40, y + 4, name),
    ]


def colour_of(order: int) -> str:
    """The colour of the curve that comes so many-th."""
    return COLOURS[order % len(COLOURS)]


def short_number(value: float) -> str:
    """A number as an axis says it.

    >>> short_number(0.25), short_number(30162.0), short_number(5.517e7), short_number(3e7)
    ('0.25', '30,162', '5.52e7', '3e7')
    """
    if value >= 1e6:
        number, power = f"{value:.2e}".split("e")
        return f"{float(number):g}e{int(power)}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _told(words: str) -> str:
    return f"<title>{escape(words)}</title>" if words else ""


def _stroke(thick: float, dash: str) -> str:
    wide = f' stroke-width="{thick:g}"' if thick != 1 else ""
    return wide + (f' stroke-dasharray="{dash}"' if dash else "")
