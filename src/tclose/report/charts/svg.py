"""SVG elements as text. Every mark can show words about itself."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape as escape_html
from typing import Literal

from tclose.plain import escape_controls
from tclose.report.charts.colours import INK, PAPER

MarkShape = Literal["circle", "square", "triangle", "cross", "bar", "diamond", "star"]
CURVE_MARKS: tuple[MarkShape, ...] = ("circle", "square", "triangle", "cross", "bar")
"""The marks of points on curves, which differ by them as well as by their colours."""
STAR = (
    (0, -1), (0.24, -0.32), (0.95, -0.31), (0.38, 0.12), (0.59, 0.81), (0, 0.4),
    (-0.59, 0.81), (-0.38, 0.12), (-0.95, -0.31), (-0.24, -0.32),
)  # fmt: skip
CORNERS: dict[MarkShape, tuple[tuple[float, float], ...]] = {
    "square": ((-0.8, -0.8), (0.8, -0.8), (0.8, 0.8), (-0.8, 0.8)),
    "triangle": ((0, -1), (1, 0.8), (-1, 0.8)),
    "diamond": ((0, -1), (1, 0), (0, 1), (-1, 0)),
    "star": STAR,
}
"""The corners of each mark, relative to its centre, at size 1."""


def element(tag: str, *content: str, words: str = "", **attributes: float | str) -> str:
    """Makes one element; `words` are shown when the pointer rests on it.

    Empty attributes are left out, `_` becomes `-`, fractions are rounded to a tenth.

    >>> element("path", d="M0 0", stroke_width=1.25, fill="", words="a < b")
    '<path d="M0 0" stroke-width="1.2"><title>a &lt; b</title></path>'
    """
    given = "".join(
        f' {name.replace("_", "-")}="{_write(value)}"'
        for name, value in attributes.items()
        if value != ""
    )
    inside = "".join(content) + (f"<title>{escape(words)}</title>" if words else "")
    return f"<{tag}{given}>{inside}</{tag}>" if inside else f"<{tag}{given}/>"


def picture(
    title: str, described: str, size: tuple[float, float], parts: Iterable[str], *,
    letters: int = 12, inline: bool = False, links: bool = False,
) -> str:  # fmt: skip
    """Makes an SVG picture with a title and a description, as a file or for a place in a page.

    With `links`, assistive technology sees a group of links instead of an image.

    >>> drawn = picture("A line", "one", (20, 10), [line(0, 5, 20, 5, INK)], inline=True)
    >>> drawn.count("A line"), '<line x1="0" y1="5" x2="20" y2="5" stroke="#1f2328"/>' in drawn
    (2, True)
    """
    wide, tall = (f"{length:.0f}" for length in size)
    named = (element("title", escape(title)), element("desc", escape(described)))
    lines = ("", *named, element("rect", width=wide, height=tall, fill=PAPER), *parts, "")
    drawn = element(
        "svg", "\n".join(lines), xmlns="" if inline else "http://www.w3.org/2000/svg",
        viewBox=f"0 0 {wide} {tall}", width=wide, height=tall,
        role="group" if links else "img", aria_label=title,
        font_family="system-ui, sans-serif", font_size=letters,
    )  # fmt: skip
    return drawn + "\n"


def link_mark(mark: str, words: str, link: str) -> str:
    """Adds words to a mark, and a link if there is one.

    >>> link_mark("<path/>", "here", "/there")
    '<a href="/there" aria-label="here"><path/><title>here</title></a>'
    """
    if link:
        return element("a", mark, href=link, aria_label=words, words=words)
    return element("g", mark, words=words)


def draw_hit_area(x: float, y: float, reach: float) -> str:
    """Makes an area to click around a mark that is too small for a finger.

    >>> draw_hit_area(3, 4, 12)
    '<circle cx="3" cy="4" r="12" fill="none" stroke="none" pointer-events="all"/>'
    """
    return element("circle", cx=x, cy=y, r=reach, fill="none", stroke="none", pointer_events="all")


def text(
    x: float, y: float, words: str, *, size: int = 0, weight: str = "", anchor: str = "",
    fill: str = INK, turned: int = 0, halo: bool = False, title: str = "",
) -> str:  # fmt: skip
    """Makes words at a place; a halo keeps them legible where they cross a line.

    >>> text(1, 2, "a < b", anchor="end")
    '<text x="1" y="2" text-anchor="end" fill="#1f2328">a &lt; b</text>'
    """
    turn = f"translate({_write(x)},{_write(y)}) rotate({turned})" if turned else ""
    at: dict[str, float | str] = {"transform": turn} if turned else {"x": x, "y": y}
    ring: dict[str, float | str] = (
        {"paint_order": "stroke", "stroke": PAPER, "stroke_width": 4} if halo else {}
    )
    return element(
        "text", escape(words), words=title, **at, font_size=size or "", font_weight=weight,
        text_anchor=anchor, fill=fill, **ring,
    )  # fmt: skip


def line(
    x1: float, y1: float, x2: float, y2: float, colour: str, *, thick: float | str = "",
    dash: str = "",
) -> str:  # fmt: skip
    """Makes a straight line, dashed if `dash` is given."""
    return element(
        "line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=colour, stroke_width=thick, stroke_dasharray=dash
    )


def box(x: float, y: float, wide: float, tall: float, fill: str, words: str = "") -> str:
    """Makes a filled rectangle."""
    return element("rect", x=x, y=y, width=wide, height=tall, fill=fill, words=words)


def shorten(words: str, longest: int) -> str:
    """Shortens words for a narrow place.

    >>> shorten("occupation", 6), shorten("age", 6)
    ('occup…', 'age')
    """
    return words if len(words) <= longest else words[: longest - 1] + "…"


def escape(words: str) -> str:
    """Escapes text for XML, with control characters spelled out."""
    return escape_html(escape_controls(words))


def _write(value: float | str) -> str:
    if isinstance(value, str):
        return escape(value)
    return f"{value:.1f}".removesuffix(".0")


def draw_mark(
    kind: MarkShape, x: float, y: float, size: float, *, fill: str = "none", edge: str = INK,
    thick: float = 1.4, words: str = "",
) -> str:  # fmt: skip
    """Makes a mark around a place; `size` is its radius.

    >>> draw_mark("diamond", 10, 10, 5)
    '<path d="M10 5L15 10L10 15L5 10Z" fill="none" stroke="#1f2328" stroke-width="1.4"/>'
    """
    if kind == "circle":
        return element(
            "circle", cx=x, cy=y, r=size, fill=fill, stroke=edge, stroke_width=thick, words=words
        )
    if kind == "cross":
        path = f"M{x - size:.1f} {y - size:.1f}l{2 * size:.1f} {2 * size:.1f}"
        path += f"m0 {-2 * size:.1f}l{-2 * size:.1f} {2 * size:.1f}"
    elif kind == "bar":
        path = f"M{x:.1f} {y - size:.1f}v{2 * size:.1f}"
    else:
        corners = ((x + size * right, y + size * down) for right, down in CORNERS[kind])
        path = "M" + "L".join(f"{_write(a)} {_write(b)}" for a, b in corners) + "Z"
    return element("path", d=path, fill=fill, stroke=edge, stroke_width=thick, words=words)
