"""A lattice of full-domain generalizations: in words and tables, and as a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from tclose.report.charts.axes import Axis, Plot
from tclose.report.charts.colours import INK, PAPER, RULE, SOFT, mix_losses
from tclose.report.charts.svg import (
    MarkShape,
    box,
    draw_hit_area,
    draw_mark,
    element,
    link_mark,
    picture,
    shorten,
    text,
)
from tclose.report.document import Paragraph, Part, Table
from tclose.search.full_domain.survey import MOST_NODES, LatticePoint, Survey

MOST_ROWS = 20
MOST_DRAWN = 5_000
MOST_LINKED = 400
MOST_NAMED = 60
MOST_BESIDE = 9
"""The most nodes of one height that can be named in words."""
LEFT, RIGHT, TOP, BOTTOM = 60, 30, 56, 56
HEADING = 72
"""The height of the heading of a picture that is a file of its own."""

Places = Mapping[tuple[int, ...], tuple[float, float]]


class NodeMark(NamedTuple):
    """How a kind of node is drawn; important ones remain visible among many."""

    shape: MarkShape
    words: str
    growth: float
    least_size: float
    thickness: float


FAILS = NodeMark("cross", "breaks the promise", 0.8, 1.1, 1.3)
HOLDS = NodeMark("circle", "keeps the promise", 1.0, 3.0, 0.6)
MINIMAL = NodeMark("diamond", "minimal", 1.3, 6.0, 1.4)
BEST = NodeMark("star", "least loss", 1.7, 10.0, 1.4)


def name_lattice(survey: Survey) -> str:
    """Says what the lattice is of."""
    count = len(survey.columns)
    return f"Full-domain generalizations of {count} quasi-identifier{'' if count == 1 else 's'}"


def describe_lattice(survey: Survey) -> str:
    """Describes how many nodes keep the promise, and the best one."""
    words = f"{survey.lattice.size:,} nodes"
    if survey.points:
        keep = "satisfies" if len(survey.holding) == 1 else "satisfy"
        words += f", {len(survey.holding):,} of which {keep} the promise; "
        have, them = ("has", "it") if len(survey.minimal) == 1 else ("have", "them")
        words += f"{len(survey.minimal):,} of these {have} no finer node below {them} that does"
    else:
        words += ", too many to judge one by one"
        words += " in the time given" if survey.lattice.size <= MOST_NODES else ""
    if survey.best is None or survey.loss is None:
        return f"{words}. No node satisfies the promise."
    words += f". Best: {survey.name_node(survey.best)}; {survey.measure} loss {survey.loss:.4f}"
    if survey.proved:
        return f"{words}; this is proved optimal."
    if survey.bound is None:
        return f"{words}; its distance from the optimum is unknown."
    return f"{words}; no node loses less than {survey.bound:.4f}."


def group_by_height(survey: Survey) -> Iterator[tuple[int, list[LatticePoint]]]:
    """Yields the nodes of each height, from the raw table up."""
    base = sum(survey.lattice.low)
    layers: list[list[LatticePoint]] = [[] for _ in survey.heights]
    for point in survey.points:
        layers[sum(point.levels) - base].append(point)
    return enumerate(layers, start=base)


def summarize_lattice(survey: Survey) -> list[Part]:
    """Summarizes the levels, the counts of nodes, the minimal ones and the best."""
    rows = tuple(
        (name, str(low), str(high), _list_words(survey, at, low, high))
        for at, (name, low, high) in enumerate(_list_bounds(survey))
    )
    headings = ("quasi-identifier", "lowest level", "highest level", "levels")
    parts: list[Part] = [
        Paragraph(name_lattice(survey), "strong"),
        Table("Levels", headings, rows, (1, 2)),
        Paragraph(describe_lattice(survey)),
    ]
    if bare := [name for name, _, high in _list_bounds(survey) if high == 1]:
        words = "exact or hidden only, as they have no hierarchy with levels between"
        parts.append(Paragraph(f"{', '.join(bare)}: {words}.", "aside"))
    if survey.points:
        parts.append(_tabulate_heights(survey))
    if survey.minimal:
        parts += _list_minimal(survey)
    return parts


def _list_bounds(survey: Survey) -> Iterator[tuple[str, int, int]]:
    return zip(survey.columns, survey.lattice.low, survey.lattice.high, strict=True)


def _list_words(survey: Survey, column: int, low: int, high: int) -> str:
    return "; ".join(survey.name_level(column, level) for level in range(low, high + 1))


def _tabulate_heights(survey: Survey) -> Table:
    rows = []
    for height, points in group_by_height(survey):
        kept = [point.loss for point in points if point.holds]
        least = f"{min(kept):.4f}" if kept else ""
        rows.append((str(height), f"{len(points):,}", f"{len(kept):,}", least))
    headings = ("height", "nodes", "keep the promise", "least loss of those")
    return Table("By height (levels added up)", headings, tuple(rows), (0, 1, 2, 3))


def _list_minimal(survey: Survey) -> Iterator[Part]:
    points = sorted(survey.minimal, key=lambda point: (point.loss, point.levels))
    rows = tuple(
        (
            survey.name_node(point.levels),
            *(f"{point.loss:.4f}", f"{point.classes:,}", f"{point.left_out:,}"),
        )
        for point in points[:MOST_ROWS]
    )
    headings = ("generalization", "loss", "classes", "left out")
    yield Table("Minimal generalizations, least loss first", headings, rows, (1, 2, 3))
    if len(points) > MOST_ROWS:
        yield Paragraph(f"and {len(points) - MOST_ROWS:,} more (--json lists all)", "aside")


Link = Callable[[LatticePoint], str]


def draw_lattice(
    survey: Survey, *, inline: bool = False, link: Link | None = None,
    current: LatticePoint | None = None,
) -> str | None:  # fmt: skip
    """Draws the lattice as the text of an SVG file, or for a page.

    `link` gives the page that a click on a node leads to; the `current` node is in a ring. Returns
    None if there are too many nodes to draw.
    """
    if not 0 < len(survey.points) <= MOST_DRAWN:
        return None
    widest = max(survey.heights)
    gap = min(max(1100 / widest, 4.0), 120.0)
    width = max(int(LEFT + gap * widest + RIGHT), 880)
    lines = len(survey.columns) if _has_room(survey) else 1
    step = 44 + 12 * lines if len(survey.points) <= MOST_NAMED else 36
    top = TOP if inline else TOP + HEADING
    plot = Plot(LEFT, top, width - RIGHT, top + step * survey.lattice.height)
    base = sum(survey.lattice.low)
    up = Axis(base, base + survey.lattice.height, plot.floor, plot.top)
    places, heights = {}, []
    for height, points in group_by_height(survey):  # nodes of one height are side by side
        heights.append(float(height))
        for at, point in enumerate(points):
            x = plot.left + (plot.right - plot.left) * (at + 0.5) / len(points)
            places[point.levels] = (x, up.place(height))
    bottom = plot.floor + BOTTOM + 12 * lines
    parts = [
        *([] if inline else _draw_heading(survey)),
        *_draw_key(survey, plot),
        *plot.draw_upward(up, heights, lambda height: f"{height:g}", ruled=False),
        text(8, bottom - 12, "height: levels added up; 0 is the raw table", fill=SOFT),
        *_draw_links(survey, places),
        *_draw_nodes(survey, places, gap, link),
    ]
    if current is not None:
        parts.append(draw_mark("circle", *places[current.levels], 14, thick=2))
    return picture(
        name_lattice(survey), describe_lattice(survey), (width, bottom), parts,
        inline=inline, links=link is not None,
    )  # fmt: skip


def _has_room(survey: Survey) -> bool:
    """Whether every node can be named in words, a line for each column."""
    return bool(survey.words) and max(survey.heights) <= MOST_BESIDE


def _draw_heading(survey: Survey) -> Iterator[str]:
    names = ", ".join(f"{name} {low}–{high}" for name, low, high in _list_bounds(survey))
    yield text(LEFT, 24, name_lattice(survey), size=16, weight="bold")
    yield text(LEFT, 44, f"Levels: {names}")
    for at, sentence in enumerate(describe_lattice(survey).split(". ")):
        yield text(LEFT, 62 + 16 * at, sentence)


def _draw_key(survey: Survey, plot: Plot) -> Iterator[str]:
    """Draws the colours of losses and the marks of nodes, above the plot."""
    low, high = _find_ends(survey)
    y = plot.top - 24
    for at in range(20):
        yield box(LEFT + 70 + 8 * at, y - 10, 8, 12, mix_losses(at / 19))
    yield text(LEFT, y, f"loss {low:.3g}")
    yield text(LEFT + 236, y, f"{high:.3g} ({survey.measure})")
    key = plot.right - 430
    for offset, mark in ((0, HOLDS), (150, FAILS), (240, MINIMAL), (322, BEST)):
        yield _draw_node(key + offset, y - 4, 6, PAPER, mark)
        yield text(key + offset + 13, y, "breaks it" if mark is FAILS else mark.words)


def _draw_links(survey: Survey, places: Places) -> Iterator[str]:
    if len(survey.points) > MOST_LINKED:
        return
    links = []
    for point in survey.points:
        x, y = places[point.levels]
        for above in survey.lattice.successors(point.levels):
            u, v = places[above]
            links.append(f"M{x:.1f} {y:.1f}L{u:.1f} {v:.1f}")
    yield element("path", d="".join(links), stroke=RULE, stroke_width=0.7, fill="none")


def _draw_nodes(survey: Survey, places: Places, gap: float, link: Link | None) -> list[str]:
    """Draws the nodes; important ones are drawn last, above all others."""
    size = min(max(gap * 0.28, 1.6), 9.0)
    low, high = _find_ends(survey)
    parts: list[str] = []
    last: list[str] = []
    for point in survey.points:
        x, y = places[point.levels]
        mark = _choose_mark(survey, point)
        fill = mix_losses((point.loss - low) / ((high - low) or 1.0))
        words = f"{survey.name_node(point.levels)}: {mark.words}; loss {point.loss:.4f}; "
        words += f"classes: {point.classes:,}"
        words += f"; rows left out: {point.left_out:,}" if point.left_out else ""
        reach = max(size * mark.growth, mark.least_size)
        node = _draw_node(x, y, reach, fill, mark, "" if link is not None else words)
        if link is not None:
            around = draw_hit_area(x, y, min(max(gap / 2, reach), 14.0))
            node = link_mark(around + node, words, link(point))
        (last if mark in (BEST, MINIMAL) else parts).append(node)
        if len(survey.points) <= MOST_NAMED:
            names = [",".join(map(str, point.levels))]
            if _has_room(survey):
                names = [survey.name_level(at, level) for at, level in enumerate(point.levels)]
            for at, name in enumerate(names):
                last.append(text(x, y + 22 + 12 * at, shorten(name, 20), anchor="middle", size=10,
                                 title=name, halo=True))  # fmt: skip
    return [*parts, *last]


def _choose_mark(survey: Survey, point: LatticePoint) -> NodeMark:
    if point.levels == survey.best:
        return BEST
    if point.minimal:
        return MINIMAL
    return HOLDS if point.holds else FAILS


def _draw_node(x: float, y: float, size: float, fill: str, mark: NodeMark, words: str = "") -> str:
    # A cross has no area: its lines carry the colour.
    edge = fill if mark is FAILS and fill != PAPER else INK
    thick = mark.thickness
    return draw_mark(mark.shape, x, y, size, fill=fill, edge=edge, thick=thick, words=words)


def _find_ends(survey: Survey) -> tuple[float, float]:
    losses = [point.loss for point in survey.points]
    return min(losses), max(losses)
