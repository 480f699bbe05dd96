"""A lattice of full-domain generalizations: as a picture, and as tables for a terminal.

In the picture the raw table is at the bottom and everything generalized away at the top; a node is
linked to those one step above it. Its colour is its loss, from dark blue to yellow, a scale that
colour-blind eyes and greyscale print keep in order; its shape says how it stands.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tclose.report.charts.svg import INK, box, escape, picture, text
from tclose.search.full_domain.lattice import Lattice
from tclose.search.full_domain.survey import MOST_NODES, Point, Survey

MOST_DRAWN = 5_000
MOST_LINKED = 400
MOST_NAMED = 60
MOST_ROWS = 20
LEFT, RIGHT, TOP, BOTTOM = 60, 30, 128, 56
FAINT, LINK = "#8a8a8a", "#cccccc"
SCALE = ((0, 32, 76), (65, 77, 107), (124, 123, 120), (187, 174, 108), (255, 234, 70))
"""Dark blue to yellow in even steps of lightness."""
GROWN = {"fails": 1.0, "holds": 1.0, "minimal": 1.3, "best": 1.7}
LEAST = {"fails": 1.4, "holds": 3.0, "minimal": 6.0, "best": 10.0}
"""How large a mark is: what matters is seen in any crowd."""

Place = tuple[float, float]


def lattice_svg(survey: Survey) -> str | None:
    """The picture as the text of an SVG file; None where there are too many nodes to draw."""
    if not 0 < len(survey.points) <= MOST_DRAWN:
        return None
    widest = max(survey.heights)
    gap = min(max(1100 / widest, 4.0), 120.0)
    width = max(int(LEFT + gap * widest + RIGHT), 880)
    step = 56 if len(survey.points) <= MOST_NAMED else 36
    height = TOP + step * survey.lattice.height + BOTTOM
    place = _places(survey, width, height, step)
    size = min(max(gap * 0.28, 1.6), 9.0)
    parts = [
        *_heading(survey, width),
        *_axis(survey, height, step),
        *_links(survey, place),
        *_nodes(survey, place, size),
    ]
    return picture(_title(survey), _standing(survey), (width, height), parts)


def lattice_view(survey: Survey) -> RenderableType:
    """The levels, how the nodes stand, the minimal ones and the best."""
    parts: list[RenderableType] = [Text(_title(survey), "bold"), _columns(survey)]
    parts.append(Text(_standing(survey)))
    if survey.points:
        parts.append(_by_height(survey))
    if survey.minimal:
        parts.append(_minimal(survey))
    return Group(*parts)


def lattice_json(survey: Survey) -> dict[str, object]:
    """What is known of a lattice, as plain values."""
    return {
        "columns": list(survey.columns),
        "levels": [list(survey.lattice.low), list(survey.lattice.high)],
        "nodes": survey.lattice.size,
        "heights": list(survey.heights),
        "enumerated": bool(survey.points),
        "measure": survey.measure,
        "holding": len(survey.holding) if survey.points else None,
        "minimal": [_plain(point) for point in survey.minimal],
        "best": None if survey.best is None else list(survey.best),
        "loss": survey.loss,
        "bound": survey.bound,
        "proved": survey.proved,
    }


def _plain(point: Point) -> dict[str, object]:
    return {
        "levels": list(point.levels),
        "loss": point.loss,
        "classes": point.classes,
        "left_out": point.left_out,
    }


def _title(survey: Survey) -> str:
    count = len(survey.columns)
    return f"Full-domain generalizations of {count} quasi-identifier{'' if count == 1 else 's'}"


def _standing(survey: Survey) -> str:
    """How the nodes stand, in words."""
    told = f"{survey.lattice.size:,} nodes"
    if survey.points:
        told += (
            f", {len(survey.holding):,} of which keep the promise; {len(survey.minimal):,} of "
            "these have nothing finer below them that does"
        )
    else:
        told += ", too many to look at one by one"
        told += " in the time given" if survey.lattice.size <= MOST_NODES else ""
    if survey.best is None or survey.loss is None:
        return f"{told}. No node keeps the promise."
    told += f". Best: {_levels(survey)}, {survey.measure} loss {survey.loss:.4f}"
    if survey.proved:
        return f"{told}; nothing is better."
    if survey.bound is None:
        return f"{told}; how far from the best is not known."
    return f"{told}; no node loses less than {survey.bound:.4f}."


def _levels(survey: Survey) -> str:
    assert survey.best is not None
    return ", ".join(
        f"{name} {level}" for name, level in zip(survey.columns, survey.best, strict=True)
    )


def _columns(survey: Survey) -> Table:
    table = Table("quasi-identifier", "lowest level", "highest level", title="Levels")
    bounds = zip(survey.columns, survey.lattice.low, survey.lattice.high, strict=True)
    for name, low, high in bounds:
        table.add_row(Text(name), str(low), str(high))
    return table


def _by_height(survey: Survey) -> Table:
    table = Table(title="By height (levels added up)")
    for name in ("height", "nodes", "keep the promise", "least loss of those"):
        table.add_column(name, justify="right")
    for height, points in _layers(survey):
        kept = [point.loss for point in points if point.holds]
        least = f"{min(kept):.4f}" if kept else ""
        table.add_row(str(height), f"{len(points):,}", f"{len(kept):,}", least)
    return table


def _minimal(survey: Survey) -> Table:
    title = "Minimal generalizations, least loss first"
    table = Table(*survey.columns, title=title)
    for name in ("loss", "classes", "left out"):
        table.add_column(name, justify="right")
    points = sorted(survey.minimal, key=lambda point: (point.loss, point.levels))
    for point in points[:MOST_ROWS]:
        numbers = (f"{point.loss:.4f}", f"{point.classes:,}", f"{point.left_out:,}")
        table.add_row(*map(str, point.levels), *numbers)
    if len(points) > MOST_ROWS:
        table.caption = f"and {len(points) - MOST_ROWS:,} more (--json lists all)"
    return table


def _layers(survey: Survey) -> Iterator[tuple[int, list[Point]]]:
    """The nodes of each height, from the raw table up."""
    base = sum(survey.lattice.low)
    layers: list[list[Point]] = [[] for _ in survey.heights]
    for point in survey.points:
        layers[sum(point.levels) - base].append(point)
    return enumerate(layers, start=base)


def _places(
    survey: Survey, width: int, height: int, step: int
) -> dict[tuple[int, ...], Place]:  # fmt: skip
    place: dict[tuple[int, ...], Place] = {}
    room = width - LEFT - RIGHT
    for level, (_, points) in enumerate(_layers(survey)):
        for at, point in enumerate(points):
            x = LEFT + room * (at + 0.5) / len(points)
            place[point.levels] = (x, height - BOTTOM - step * level)
    return place


def _heading(survey: Survey, width: int) -> list[str]:
    names = ", ".join(
        f"{name} {low}–{high}"
        for name, low, high in zip(
            survey.columns, survey.lattice.low, survey.lattice.high, strict=True
        )
    )
    told = _standing(survey).split(". ")
    parts = [
        text(LEFT, 24, _title(survey), size=16, weight="bold"),
        text(LEFT, 44, f"Levels: {names}"),
        *(text(LEFT, 62 + 16 * at, line) for at, line in enumerate(told)),
    ]
    key = width - RIGHT - 400
    parts += [
        _mark(key, 100, 6, "#ffffff", "holds"), text(key + 12, 104, "keeps the promise"),
        _mark(key + 136, 100, 6, "#ffffff", "fails"), text(key + 148, 104, "breaks it"),
        _mark(key + 216, 100, 6, "#ffffff", "minimal"), text(key + 228, 104, "minimal"),
        _mark(key + 290, 100, 8, "#ffffff", "best"), text(key + 304, 104, "least loss"),
    ]  # fmt: skip
    return parts + _scale(survey)


def _scale(survey: Survey) -> list[str]:
    """The colours with the losses that they stand for."""
    low, high = _ends(survey)
    parts = []
    for at in range(20):
        fill = _colour(at / 19)
        parts.append(box(LEFT + 70 + 8 * at, 94, 8, 12, fill))
    parts.append(text(LEFT, 104, f"loss {low:.3g}"))
    parts.append(text(LEFT + 236, 104, f"{high:.3g} ({survey.measure})"))
    return parts


def _axis(survey: Survey, height: int, step: int) -> list[str]:
    parts = []
    for level, (number, _) in enumerate(_layers(survey)):
        y = height - BOTTOM - step * level
        parts.append(text(LEFT - 16, y + 4, str(number), anchor="end", fill=FAINT))
    parts.append(text(8, height - 12, "height: levels added up; 0 is the raw table", fill=FAINT))
    return parts


def _links(survey: Survey, place: dict[tuple[int, ...], Place]) -> list[str]:
    if len(survey.points) > MOST_LINKED:
        return []
    lattice: Lattice = survey.lattice
    lines = []
    for point in survey.points:
        x, y = place[point.levels]
        for other in lattice.successors(point.levels):
            u, v = place[other]
            lines.append(f"M{x:.1f} {y:.1f}L{u:.1f} {v:.1f}")
    return [f'<path d="{"".join(lines)}" stroke="{LINK}" stroke-width="0.7" fill="none"/>']


def _nodes(survey: Survey, place: dict[tuple[int, ...], Place], size: float) -> list[str]:
    low, high = _ends(survey)
    parts: list[str] = []
    last: list[str] = []
    for point in survey.points:
        x, y = place[point.levels]
        kind = "holds" if point.holds else "fails"
        if point.minimal:
            kind = "minimal"
        if point.levels == survey.best:
            kind = "best"
        fill = _colour((point.loss - low) / ((high - low) or 1.0))
        grown = max(size * GROWN[kind], LEAST[kind])
        mark = _mark(x, y, grown, fill, kind, _told(survey, point, kind))
        (last if kind in ("best", "minimal") else parts).append(mark)
        if len(survey.points) <= MOST_NAMED:
            name = ",".join(map(str, point.levels))
            last.append(text(x, y + 22, name, anchor="middle", size=10))
    return [*parts, *last]


def _told(survey: Survey, point: Point, kind: str) -> str:
    """What a node says where the pointer rests on it."""
    where = ", ".join(
        f"{name} {level}" for name, level in zip(survey.columns, point.levels, strict=True)
    )
    stands = {
        "best": "least loss", "minimal": "minimal", "holds": "keeps the promise",
        "fails": "breaks the promise",
    }[kind]  # fmt: skip
    told = f"{where}: {stands}; loss {point.loss:.4f}; classes: {point.classes:,}"
    return told + (f"; rows left out: {point.left_out:,}" if point.left_out else "")


def _mark(x: float, y: float, size: float, fill: str, kind: str, told: str = "") -> str:
    """A circle (keeps), a cross (breaks), a diamond (minimal) or a star (the best)."""
    title = f"<title>{escape(told)}</title>" if told else ""
    if kind == "holds":
        return (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}" fill="{fill}" stroke="{INK}" '
            f'stroke-width="0.6">{title}</circle>'
        )
    if kind == "fails":
        line = fill if fill != "#ffffff" else INK
        half = 0.8 * size
        path = (
            f"M{x - half:.1f} {y - half:.1f}L{x + half:.1f} {y + half:.1f}"
            f"M{x - half:.1f} {y + half:.1f}L{x + half:.1f} {y - half:.1f}"
        )
        return f'<path d="{path}" stroke="{line}" stroke-width="1.3">{title}</path>'
    path = _polygon(x, y, size, 4 if kind == "minimal" else 10)
    return f'<path d="{path}" fill="{fill}" stroke="{INK}" stroke-width="1.4">{title}</path>'


STAR = ((0, -1), (0.24, -0.32), (0.95, -0.31), (0.38, 0.12), (0.59, 0.81), (0, 0.4))
"""The right half of a star with five points."""


def _polygon(x: float, y: float, size: float, corners: int) -> str:
    if corners == 4:
        points = [(0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)]
    else:
        points = [*STAR, *((-a, b) for a, b in STAR[-2:0:-1])]
    return "M" + "L".join(f"{x + size * a:.1f} {y + size * b:.1f}" for a, b in points) + "Z"


def _ends(survey: Survey) -> tuple[float, float]:
    losses = [point.loss for point in survey.points]
    return min(losses), max(losses)


def _colour(share: float) -> str:
    """The colour of a share of the scale.

    >>> _colour(0.0), _colour(1.0)
    ('#00204c', '#ffea46')
    """
    at = min(max(share, 0.0), 1.0) * (len(SCALE) - 1)
    low = min(int(at), len(SCALE) - 2)
    mixed = (
        round(a + (b - a) * (at - low)) for a, b in zip(SCALE[low], SCALE[low + 1], strict=True)
    )
    return "#" + "".join(f"{part:02x}" for part in mixed)
