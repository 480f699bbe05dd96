"""The explanation of one class's distance: its distribution, the table's, and moves of mass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from tclose.plain import rows_text, share_text
from tclose.report.charts.axes import Axis, Plot, ticks_to, write_share
from tclose.report.charts.colours import CLASS, INK, SOFT, TABLE
from tclose.report.charts.plots import NARROW, WIDE
from tclose.report.charts.svg import box, element, line, picture, shorten, text
from tclose.report.document import Paragraph, Part, Picture, Table
from tclose.verify.explanation import Explanation, Share, Step, merge_shares, merge_steps

MOST_ROWS = 20
ALONG = {"hierarchical": "up and down the hierarchy", "equal": "by way of a common middle"}
MOST_VALUES = 24
MOST_MOVES = 40
STEP = 44
LEFT, RIGHT, TOP = 64, 24, 66
ARCS, BARS = 150, 190
AMOUNT = (34, 11)
"""Width and height of an amount written on an arc."""
PLACES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82)
"""Where along an arc an amount may stand, the best first."""
LONGEST = 22
"""The most letters of a value below its bars."""
TITLED = 26
"""The height of the title of a picture that is a file of its own."""
ROW = 22
"""The distance between two diverging bars."""
OTHERS = "other values"


def summarize_explanation(why: Explanation, *, drawn: bool = False) -> list[Part]:
    """Summarizes the class, its distance, both distributions (drawn if they differ), and moves."""
    exact = f" = {why.exact}" if why.exact is not None else ""
    limit = ""
    if why.t is not None:
        limit = f"; promised at most {float(why.t):g}: " + ("kept" if why.holds else "BROKEN")
    label = ", ".join(f"{name} = {value}" for name, value in why.label.items())
    distance = f"Distance of {why.attribute} ({why.by}) from {why.against}: {why.distance:.4f}"
    parts: list[Part] = [
        Paragraph(f"Class {why.number}: {rows_text(why.size)} with {label}", "strong"),
        Paragraph(f"{distance}{exact}{limit}"),
    ]
    if not drawn:
        parts.append(_tabulate_shares(why))
    elif choose_shares(why, 1):
        title = f"{why.attribute}: how the class differs from the {why.beside}"
        parts.append(Picture(title, draw_differences(why, inline=True), _tabulate_shares(why)))
    if why.actions:
        along = ALONG.get(why.by, "between neighbours")
        parts.append(_tabulate_steps(f"Step by step, {along}", why.actions))
    if why.moves:
        parts.append(_tabulate_steps("Directly, from value to value", why.moves))
    elif why.exact != 0 and not why.actions:
        parts.append(Paragraph("This distance compares shares value by value; nothing is moved."))
    if why.note:
        parts.append(Paragraph(f"Note: {why.note}", "note"))
    return parts


def choose_shares(why: Explanation, most: int) -> list[Share]:
    """Returns the values whose shares in class and table differ most, in their own order."""
    ranked = sorted(why.shares, key=lambda share: -abs(share.difference))[:most]
    return [share for share in why.shares if share in ranked]


def _tabulate_shares(why: Explanation) -> Table:
    rows = []
    for share in choose_shares(why, MOST_ROWS):
        shares = (share_text(float(part)) for part in (share.in_class, share.in_table))
        difference = _write_difference(share)
        rows.append((share.value, f"{share.rows:,}", *shares, difference))
    if len(why.shares) > MOST_ROWS:
        more = f"… {len(why.shares) - MOST_ROWS:,} more values that differ less"
        rows.append((more, "", "", "", ""))
    headings = (why.attribute, "rows", "in the class", f"in the {why.beside}", "difference")
    return Table("Both distributions", headings, tuple(rows), (1, 2, 3, 4))


def _tabulate_steps(title: str, steps: Sequence[Step]) -> Table:
    """Tabulates the costliest steps, the total cost of the others, and the sum."""
    total = sum(float(step.cost) for step in steps)
    shown = sorted(steps, key=lambda step: -step.cost)[:MOST_ROWS]
    rows = [
        (step.source, step.target, _write_fraction(step.mass), _write_fraction(step.cost))
        for step in steps
        if step in shown
    ]
    if len(steps) > MOST_ROWS:
        rest = total - sum(float(step.cost) for step in shown)
        rows.append((f"… {len(steps) - MOST_ROWS:,} smaller ones", "", "", f"{rest:.4f}"))
    rows.append(("sum", "", "", f"{total:.4f}"))
    return Table(title, ("from", "to", "mass", "cost"), tuple(rows), (2, 3))


def _write_fraction(number: Fraction | float) -> str:
    text = str(number)
    exact = f" = {text}" if len(text) <= 9 and "/" in text else ""
    return f"{float(number):.4f}{exact}"


def _write_difference(share: Share) -> str:
    """Writes a difference with its sign; the minus is as wide as a plus."""
    return f"{float(share.difference):+.1%}".replace("-", "−")


def group_shares(why: Explanation) -> list[tuple[str, list[Share]]]:
    """Groups the values that differ most by the parts of their hierarchy.

    Values and groups that are more frequent in the class come first; values in no group come last.
    """
    shown, _, _ = _choose_shown(why)
    groups: dict[str, list[Share]] = {}
    for share in shown:
        groups.setdefault(share.group, []).append(share)
    for shares in groups.values():
        shares.sort(key=lambda share: -share.difference)
    ranked = sorted(groups.items(), key=lambda named: -sum(s.difference for s in named[1]))
    return sorted(ranked, key=lambda named: named[0] == "")


def draw_differences(why: Explanation, *, inline: bool = False, wide: int = WIDE) -> str:
    """Draws class against table as diverging bars: more frequent in the class to the right."""
    groups = group_shares(why)
    named = len(groups) > 1
    left = 250 if wide > NARROW else 150
    heading = 0 if inline else TITLED
    top, letters = 70 + heading, left // 8
    rows = sum(len(shares) + named for _, shares in groups)
    plot = Plot(left + 64, top, wide - 64, top + ROW * rows)
    most = max((abs(float(share.difference)) for _, some in groups for share in some), default=0.0)
    across = Axis(-(most or 1.0), most or 1.0, plot.left, plot.right)
    middle, y = across.place(0.0), plot.top
    title = f"Class {why.number}: {why.attribute}, class against {_name_whole(why)}"
    parts = [
        *([] if inline else [text(12, 26, title, size=16, weight="bold")]),
        text(12, 22 + heading, _describe_distance(why)),
        text(middle - 10, plot.top - 12, "◂ the class has less", anchor="end", fill=SOFT),
        text(middle + 10, plot.top - 12, "the class has more ▸", fill=SOFT),
    ]
    for name, shares in groups:
        if named:
            words = shorten(name or "all others", letters)
            parts.append(text(12, y + 15, words, weight="600", title=name))
            y += ROW
        for share in shares:
            parts += _draw_difference(share, across, y, letters, why.beside)
            y += ROW
    parts.append(line(middle, plot.top - 4, middle, plot.floor + 4, INK))
    described = f"{why.by} distance {why.distance:.4f}; differences of {rows} shares"
    size = (wide, plot.floor + 16)
    return picture(title, described, size, parts, letters=13, inline=inline)


def _draw_difference(
    share: Share, across: Axis, y: float, letters: int, beside: str
) -> Iterator[str]:
    middle, end = across.place(0.0), across.place(float(share.difference))
    more = end >= middle
    words = f"{share.value}: {share_text(float(share.in_class))} of the class, "
    words += f"{share_text(float(share.in_table))} of the {beside}"
    yield text(24, y + 15, shorten(share.value, letters), title=share.value)
    wide = max(abs(end - middle), 1.0)
    yield box(min(middle, end), y + 3, wide, ROW - 6, CLASS if more else TABLE, words)
    place, anchor = (end + 6, "start") if more else (end - 6, "end")
    yield text(place, y + 15, _write_difference(share), anchor=anchor, halo=True)


def draw_flow(why: Explanation, *, inline: bool = False) -> str:
    """Draws an explanation with its moves, as the text of an SVG file or for a place in a page."""
    shares, moves, hidden = _choose_shown(why)
    width = max(LEFT + STEP * len(shares) + RIGHT, 620)
    longest = max(len(shorten(share.value, LONGEST)) for share in shares)
    heading = 0 if inline else TITLED
    ground = TOP + heading + ARCS
    plot = Plot(LEFT - 6, ground + 20, width - RIGHT, ground + BARS)
    title = f"Class {why.number}: {why.attribute} in the class and in the {_name_whole(why)}"
    parts = [
        *([] if inline else [text(LEFT, 26, title, size=16, weight="bold")]),
        *_draw_legend(why, hidden, heading),
        *_draw_arcs(shares, moves, ground),
        *_draw_shares(shares, plot, why.beside),
    ]
    described = f"{why.by} distance {why.distance:.4f}; {len(why.moves)} moves of mass"
    return picture(title, described, (width, plot.floor + 36 + 5 * longest), parts, inline=inline)


def _choose_shown(why: Explanation) -> tuple[list[Share], list[Step], int]:
    """Chooses as many values and moves as are legible; sums up other values, counts other moves."""
    shares = list(why.shares)
    moves: Sequence[Step] = why.moves
    if len(shares) > MOST_VALUES:
        kept = {share.value for share in choose_shares(why, MOST_VALUES - 1)}
        label = {each.value: each.value if each.value in kept else OTHERS for each in shares}
        shares = sorted(merge_shares(shares, label), key=lambda share: share.value == OTHERS)
        moves = merge_steps(moves, label)
    ranked = sorted((m for m in moves if m.source != m.target), key=lambda move: -move.mass)
    return shares, ranked[:MOST_MOVES], max(0, len(ranked) - MOST_MOVES)


def _draw_legend(why: Explanation, hidden: int, top: float) -> Iterator[str]:
    more = f"; {hidden} smaller moves not drawn" if hidden else ""
    yield text(LEFT, top + 20, f"{_describe_distance(why)}{more}")
    for offset, colour, where in ((0, CLASS, "class"), (150, TABLE, why.beside)):
        yield box(LEFT + offset, top + 32, 12, 12, colour)
        yield text(LEFT + offset + 18, top + 42, f"share in the {where}")
    yield text(LEFT + 300, top + 42, "arcs: mass to be moved", fill=SOFT)


def _name_whole(why: Explanation) -> str:
    return "whole table" if why.beside == "table" else why.beside


def _describe_distance(why: Explanation) -> str:
    exact = f" = {why.exact}" if why.exact is not None and why.exact.denominator < 10_000 else ""
    limit = "" if why.t is None else f" (promised: at most {float(why.t):g})"
    return f"{why.by} distance {why.distance:.4f}{exact}{limit}; {rows_text(why.size)}"


def _draw_shares(shares: Sequence[Share], plot: Plot, beside: str) -> Iterator[str]:
    """Draws the two bars of each value, with their axes."""
    ticks = ticks_to(max(float(max(share.in_class, share.in_table)) for share in shares), 3)
    up = Axis(0.0, ticks[-1], plot.floor, plot.top)
    yield from plot.draw_upward(up, ticks, write_share)
    for at, share in enumerate(shares):
        bars = ((0, share.in_class, CLASS, "class"), (15, share.in_table, TABLE, beside))
        for offset, part, colour, where in bars:
            tall = plot.floor - up.place(float(part))
            words = f"{share.value}: {share_text(float(part))} of the {where}"
            x = LEFT + STEP * at + 6 + offset
            yield box(x, plot.floor - tall, 14, tall, colour, words)
    marks = [(LEFT + STEP * at + 22, shorten(s.value, LONGEST)) for at, s in enumerate(shares)]
    yield from plot.draw_below(marks, lines="none", turned=-40)


def _draw_arcs(shares: Sequence[Share], moves: Sequence[Step], ground: float) -> Iterator[str]:
    """Draws arcs between values, higher for greater distances, with arrowheads at the target."""
    place = {share.value: LEFT + STEP * at + 20 for at, share in enumerate(shares)}
    largest = max((float(move.mass) for move in moves), default=1.0)
    ends = {id(move): (place[move.source], place[move.target]) for move in moves}
    spans = sorted({abs(end - start) for start, end in ends.values()})
    # In steps, not in proportion: so arcs are apart also where one is ten times as wide.
    highs = {
        each: ground - 24 - (ARCS - 40) * (1 + spans.index(abs(end - start))) / len(spans)
        for each, (start, end) in ends.items()
    }
    for move in sorted(moves, key=lambda m: highs[id(m)]):
        (start, end), high = ends[id(move)], highs[id(move)]
        yield element(
            "path", fill="none", stroke=INK, stroke_opacity="0.45",
            d=f"M{start},{ground} C{start},{high:.1f} {end},{high:.1f} {end},{ground - 6}",
            stroke_width=1 + 5 * float(move.mass) / largest,
            words=f"{float(move.mass):.4f} from {move.source} to {move.target}",
        )  # fmt: skip
        yield element("path", d=f"M{end},{ground + 2} l-5,-9 h10 z", fill=INK, fill_opacity="0.7")
    written: list[tuple[float, float]] = []
    for move in sorted(moves, key=lambda move: -move.mass):
        found = _place_amount(*ends[id(move)], highs[id(move)], ground, written)
        # Where there is no room for a label, larger amounts come first; arcs have all as titles.
        if found is not None:
            written.append(found)
            amount = share_text(float(move.mass))
            yield text(*found, amount, size=10, anchor="middle", halo=True)


def _place_amount(
    start: float, end: float, high: float, ground: float, written: Sequence[tuple[float, float]]
) -> tuple[float, float] | None:
    """Finds a place on an arc that is free of other labels, as near to its middle as can be."""
    for part in PLACES:
        back = 1 - part
        near = back**3 + 3 * back**2 * part
        x = start * near + end * (1 - near)
        y = ground * (part**3 + back**3) + high * 3 * part * back
        y += -5 if start < end else 6  # of two arcs between the same values, above and below
        if all(abs(x - u) > AMOUNT[0] or abs(y - v) > AMOUNT[1] for u, v in written):
            return x, y
    return None
