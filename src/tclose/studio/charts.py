"""Charts for pages: a column's values at a glance, and as its distance compares them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tclose.arrays import Floats
from tclose.hierarchy.tree import Hierarchy
from tclose.plain import share_text
from tclose.report.charts.axes import Axis
from tclose.report.charts.colours import BLUE, INK, RULE, SKY, SOFT
from tclose.report.charts.svg import box, line, picture, shorten, text
from tclose.report.document import HistogramChart, Picture, Series, Table
from tclose.studio.project import Raw
from tclose.studio.sentences import read_t
from tclose.studio.table import ColumnCounts, show_value

WIDE, TALL, GAP = 132, 30, 2
WIDEST, NARROW = 760, 420
ROW = 22
MOST_NODES = 44
MOST_BARS = 80
LONGEST_NAME = 22
ORDERED = 40
LEAST_BARS = 10
"""The least number of bars that determines their width, so that a few bars are not blocks."""


def draw_spark(chart: HistogramChart | None) -> Picture | None:
    """Draws bars without axes; each has its value as a title."""
    if chart is None:
        return None
    shares = [share or 0.0 for share in chart.series[0].values]
    wide, named = WIDE / max(len(shares), LEAST_BARS), len(shares)
    if chart.across == "by frequency" and chart.bins[-1] == "others":
        named -= 1  # the bar of the others must not dwarf single values
    most, bars = max(shares[:named], default=0.0) or 1.0, []
    for at, (name, share) in enumerate(zip(chart.bins, shares, strict=True)):
        tall = max(min(share / most, 1.0) * (TALL - 2), 0.6)
        colour, words = BLUE if at < named else RULE, f"{name}: {share_text(share)}"
        bars.append(box(at * wide, TALL - tall, wide - GAP, tall, colour, words))
    drawn = picture(chart.title, chart.across, (WIDE, TALL), bars, inline=True)
    return Picture(chart.title, drawn, chart.table())


@dataclass(frozen=True)
class Bin:
    """A value on a line, or several neighbouring ones: from where to where, and their share."""

    first: str
    last: str
    place: float
    share: float

    @property
    def name(self) -> str:
        """The name of the bar."""
        first, last = show_value(self.first), show_value(self.last)
        return first if self.first == self.last else f"{first} to {last}"


def group_bins(order: Sequence[str], places: Sequence[float], shares: Sequence[float]) -> list[Bin]:
    """Makes a bin for each value in order, or for several neighbours if there are many values."""
    if len(order) <= MOST_BARS:
        return [Bin(value, value, *at) for value, *at in zip(order, places, shares, strict=True)]
    at, share = np.array(places), np.array(shares)
    low, high = at.min(), at.max()
    which = np.clip((at - low) / (high - low) * MOST_BARS, 0, MOST_BARS - 1).astype(np.int64)
    found = []
    for each in np.unique(which):
        inside = np.flatnonzero(which == each)
        middle = float(low + (each + 0.5) * (high - low) / MOST_BARS)
        ends = order[int(inside[0])], order[int(inside[-1])]
        found.append(Bin(*ends, middle, float(share[inside].sum())))
    return found


def draw_line(name: str, bins: Sequence[Bin], t: float | None) -> Picture:
    """Draws the values at their places on a line, as high as their rows, and the length of t."""
    title, across = f"{name}: from the lowest value to the highest", "share of rows"
    drawn = [_draw_line(title, bins, t, wide) for wide in (WIDEST, NARROW)]
    cells = tuple((each.name, share_text(each.share)) for each in bins)
    return Picture(title, drawn[0], Table(title, ("value", across), cells, (1,)), drawn[1])


def _draw_line(title: str, bins: Sequence[Bin], t: float | None, wide: int) -> str:
    places = [each.place for each in bins]
    thick = max(min(wide / len(bins) * 0.7, 26.0), 1.5)
    left, right, floor = 4 + thick / 2, wide - 4 - thick / 2, 130
    low, high = min(places), max(places)
    across = Axis(low, high if high > low else low + 1, left, right)
    most = max(each.share for each in bins) or 1.0
    parts = [line(0, floor, wide, floor, INK)]
    for each in bins:
        tall, x = max(each.share / most * 100, 1.0), across.place(each.place)
        words = f"{each.name}: {share_text(each.share)}"
        parts.append(box(x - thick / 2, floor - tall, thick, tall, BLUE, words))
    names = [each.first for each in bins[:-1]] + [bins[-1].last]
    parts += _name_places(names, [across.place(at) for at in places], floor + 18, wide)
    tall = floor + 34
    if t is not None:
        far, y = (right - left) * min(t, 1.0), floor + 44
        parts += [
            line(left, y, left + far, y, INK, thick=2),
            line(left, y - 5, left, y + 5, INK, thick=2),
            line(left + far, y - 5, left + far, y + 5, INK, thick=2),
        ]
        words = f"t = {t:g}: people may have to move this far, on average"
        x_text = left + far + 10
        fits = x_text + 7 * len(words) < right
        under = (x_text, y + 4) if fits else (left, y + 20)
        parts.append(text(under[0], under[1], words, fill=SOFT))
        tall = y + (14 if fits else 30)
    about = f"{len(bins)} bars in the order of the values" + ("" if t is None else f", t = {t:g}")
    return picture(title, about, (wide, tall), parts, letters=13, inline=True)


def _name_places(
    order: Sequence[str], places: Sequence[float], y: float, wide: int
) -> Iterator[str]:
    """Draws names of values below their places: the first, the last, and others that have room."""
    ends = {0, len(order) - 1}
    reach = -1.0
    last = places[-1] - _measure(order[-1]) if len(order) > 1 else float(wide)
    for at, (value, x) in enumerate(zip(order, places, strict=True)):
        long, anchor = _measure(value), "middle"
        start, end = x - long / 2, x + long / 2
        if at in ends:
            anchor = "start" if at == 0 else "end"
            start, end = (x - 8, x + long) if at == 0 else (x - long, x)
        if start > reach and (at in ends or end < last - 8):
            yield text(x, y, shorten(value, LONGEST_NAME), anchor=anchor, fill=SOFT, title=value)
            reach = end + 8


def _measure(value: str) -> float:
    return 7.2 * min(len(value), LONGEST_NAME)


def draw_tree(counts: ColumnCounts, tree: Hierarchy) -> Picture:
    """Draws the groups of a tree below each other, as long as their rows, finer ones indented."""
    title = f"{counts.name}: its groups"
    nodes = tree.find(counts.labels)
    below = np.zeros(len(tree.labels))
    np.add.at(below, nodes[nodes >= 0], counts.rows[:-1][nodes >= 0])
    for node in range(len(tree.labels) - 1):  # a parent's number is larger than its child's
        below[tree.parent[node]] += below[node]
    total = below[-1] or 1.0
    shown = _list_nodes(tree, below)
    drawn = [_draw_tree(title, tree, shown, below / total, wide) for wide in (WIDEST, NARROW)]
    cells = tuple(
        (" " * 2 * depth + show_value(tree.labels[node]), share_text(below[node] / total))
        for node, depth in shown
    )
    return Picture(title, drawn[0], Table(title, ("group", "share of rows"), cells, (1,)), drawn[1])


def _list_nodes(tree: Hierarchy, below: Floats) -> list[tuple[int, int]]:
    """Lists groups that occur, the largest first among siblings, down to a level that fits."""
    for least in range(tree.levels):
        found = list(_walk(tree, below, tree.root, 0, least))
        if len(found) <= MOST_NODES:
            return found
    return found[:MOST_NODES]


def _walk(
    tree: Hierarchy, below: Floats, node: int, depth: int, least: int
) -> Iterator[tuple[int, int]]:
    if depth:
        yield node, depth - 1
    for child in sorted(tree.children(node).tolist(), key=lambda child: -below[child]):
        if below[child] and tree.height[child] >= least:
            yield from _walk(tree, below, child, depth + 1, least)


def _draw_tree(
    title: str, tree: Hierarchy, shown: Sequence[tuple[int, int]], shares: Floats, wide: int
) -> str:
    longest = 34 if wide > NARROW else 20
    left = min(26 + max((_indent(tree, each, longest) for each in shown), default=0), wide / 2)
    most = max((shares[node] for node, _ in shown), default=1.0) or 1.0
    parts = []
    for at, (node, depth) in enumerate(shown):
        y, name = ROW * at + 4, tree.labels[node]
        weight = "600" if depth == 0 and tree.height[node] else ""
        short = shorten(name, longest)
        parts.append(text(18 * depth, y + 14, short, weight=weight, title=name))
        long = max(shares[node] / most * (wide - left - 70), 1.0)
        words = f"{show_value(name)}: {share_text(shares[node])}"
        parts.append(box(left, y + 3, long, ROW - 8, BLUE if tree.height[node] else SKY, words))
        parts.append(text(left + long + 6, y + 14, share_text(shares[node]), fill=SOFT))
    described = f"{len(shown)} groups and values with their shares of the rows"
    size = (wide, ROW * max(len(shown), 1) + 8)
    return picture(title, described, size, parts, letters=13, inline=True)


def _indent(tree: Hierarchy, each: tuple[int, int], longest: int) -> float:
    node, depth = each
    return 18 * depth + 7.4 * min(len(tree.labels[node]), longest)


def draw_distance(
    counts: ColumnCounts, column: Raw, tree: Hierarchy | None
) -> HistogramChart | Picture | None:
    """Draws the values as the distance compares them: on a line with t, or as a tree."""
    distance, order = column.get("distance", "equal"), column.get("order")
    on_line: tuple[Sequence[str], Sequence[float]] | None = None
    rows = dict(counts.ranked)
    if distance == "hierarchical" and tree is not None:
        return draw_tree(counts, tree)
    known, numbers = counts.labels, counts.dictionary.line
    if distance == "numeric" and numbers:
        on_line = (known, [float(number) for number in numbers])
    elif distance == "ordered":
        values = order if isinstance(order, list) and order else known
        on_line = (values, [float(at) for at in range(len(values))])
    if on_line is None or len(on_line[0]) < 2:
        return draw_order(counts, column, counts.dictionary.kind)
    total = sum(rows.values()) or 1
    shares = [rows.get(value, 0) / total for value in on_line[0]]
    return draw_line(counts.name, group_bins(*on_line, shares), read_t(column))


def draw_order(counts: ColumnCounts, column: Raw, kind: str) -> HistogramChart | None:
    """Charts how often each value occurs, in the order used by its distance."""
    order = column.get("order")
    if isinstance(order, list) and len(order) <= ORDERED:
        rows = dict(counts.ranked)
        total = sum(rows.values()) or 1
        shares = tuple(rows.get(value, 0) / total for value in order)
        return HistogramChart(
            f"{counts.name}: how its values are spread", "in the order that is stated",
            "share of rows", tuple(map(show_value, order)), (Series("table", shares),),
        )  # fmt: skip
    nominal = kind not in ("number", "date") or column.get("distance") in ("equal", "hierarchical")
    return counts.chart(nominal=nominal)
