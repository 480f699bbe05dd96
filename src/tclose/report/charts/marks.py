"""The marks of points and nodes: each kind a shape of its own, so that colour is not needed."""

from __future__ import annotations

from typing import Literal

from tclose.report.charts.colours import INK
from tclose.report.charts.svg import element, shape

MarkShape = Literal["circle", "square", "triangle", "cross", "bar", "diamond", "star"]
STAR = ((0, -1), (0.24, -0.32), (0.95, -0.31), (0.38, 0.12), (0.59, 0.81), (0, 0.4))
"""The right half of a star with five points."""
CORNERS: dict[MarkShape, tuple[tuple[float, float], ...]] = {
    "square": ((-0.8, -0.8), (0.8, -0.8), (0.8, 0.8), (-0.8, 0.8)),
    "triangle": ((0, -1), (1, 0.8), (-1, 0.8)),
    "diamond": ((0, -1), (1, 0), (0, 1), (-1, 0)),
    "star": (*STAR, *((-x, y) for x, y in STAR[-2:0:-1])),
}


def draw_mark(
    kind: MarkShape, x: float, y: float, size: float, *, fill: str = "none", edge: str = INK,
    thick: float = 1.4, words: str = "",
) -> str:  # fmt: skip
    """A mark around a place; `size` is how far it reaches from there.

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
        path = shape((x + size * right, y + size * down) for right, down in CORNERS[kind])
    return element("path", d=path, fill=fill, stroke=edge, stroke_width=thick, words=words)
