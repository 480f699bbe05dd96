"""One class beside the table, and the moves of mass between them: as a summary and as a picture.

In the picture, below, each value's share in the class beside its share in the table; above, arcs
that carry the surplus to where it is lacking, as thick as the mass they move.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from tclose.report.charts.axes import Axis, Plot, ticks_to, write_share
from tclose.report.charts.colours import BLUE, INK, ORANGE, SOFT
from tclose.report.charts.svg import box, element, picture, shorten, text
from tclose.report.document import Paragraph, Part, Table
from tclose.verify.explanation import Explanation, Share, Step
from tclose.verify.wording import rows_text

MOST_ROWS = 20
ALONG = {"hierarchical": "up and down the hierarchy", "equal": "by way of a common middle"}
MOST_VALUES = 24
MOST_MOVES = 40
STEP = 44
LEFT, RIGHT, TOP = 64, 24, 92
ARCS, BARS = 150, 190
LONGEST = 22
"""Letters of a value below its bars."""
CLASS, TABLE = BLUE, ORANGE
OTHERS = "other values"


def summarize_explanation(why: Explanation) -> list[Part]:
    """The class, its distance, both distributions, and the moves."""
    exact = f" = {why.exact}" if why.exact is not None else ""
    limit = ""
    if why.t is not None:
        limit = f"; promised at most {float(why.t):g}: " + ("kept" if why.holds else "BROKEN")
    label = ", ".join(f"{name} = {value}" for name, value in why.label.items())
    distance = f"Distance of {why.attribute} ({why.by}) from the table: {why.distance:.4f}"
    parts: list[Part] = [
        Paragraph(f"Class {why.number}: {rows_text(why.size)} with {label}", "strong"),
        Paragraph(f"{distance}{exact}{limit}"),
        _tabulate_shares(why),
    ]
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
    """The values whose shares in the class and in the table differ most, in their own order."""
    ranked = sorted(why.shares, key=lambda share: -abs(share.in_class - share.in_table))[:most]
    return [share for share in why.shares if share in ranked]


def _tabulate_shares(why: Explanation) -> Table:
    rows = []
    for share in choose_shares(why, MOST_ROWS):
        mine, whole = float(share.in_class), float(share.in_table)
        difference = f"{float(share.in_class - share.in_table):+.1%}"
        rows.append((share.value, f"{share.rows:,}", f"{mine:.1%}", f"{whole:.1%}", difference))
    if len(why.shares) > MOST_ROWS:
        more = f"… {len(why.shares) - MOST_ROWS:,} more values that differ less"
        rows.append((more, "", "", "", ""))
    headings = (why.attribute, "rows", "in the class", "in the table", "difference")
    return Table("Both distributions", headings, tuple(rows), (1, 2, 3, 4))


def _tabulate_steps(title: str, steps: Sequence[Step]) -> Table:
    """The costliest steps, what the others cost together, and the sum."""
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


def draw_flow(why: Explanation, *, inline: bool = False) -> str:
    """The picture of one explanation, as the text of an SVG file or for a place in a page."""
    shares, moves, hidden = _choose_shown(why)
    width = max(LEFT + STEP * len(shares) + RIGHT, 620)
    longest = max(len(shorten(share.value, LONGEST)) for share in shares)
    plot = Plot(LEFT - 6, TOP + ARCS + 20, width - RIGHT, TOP + ARCS + BARS)
    title = f"Class {why.number}: {why.attribute} in the class and in the whole table"
    parts = [
        text(LEFT, 26, title, size=16, weight="bold"),
        *_draw_heading(why, hidden),
        *_draw_arcs(shares, moves, TOP + ARCS),
        *_draw_shares(shares, plot),
    ]
    described = f"{why.by} distance {why.distance:.4f}; {len(why.moves)} moves of mass"
    return picture(title, described, (width, plot.floor + 36 + 5 * longest), parts, inline=inline)


def _choose_shown(why: Explanation) -> tuple[list[Share], list[Step], int]:
    """As many values and moves as can be read; the others together, or left out and counted."""
    shares, moves = list(why.shares), list(why.moves)
    if len(shares) > MOST_VALUES:
        shown = choose_shares(why, MOST_VALUES - 1)
        kept = {share.value for share in shown}
        rest = [share for share in shares if share.value not in kept]
        others = Share(
            OTHERS,
            sum(share.rows for share in rest),
            sum((share.in_class for share in rest), start=rest[0].in_class * 0),
            sum((share.in_table for share in rest), start=rest[0].in_table * 0),
        )
        shares = [*shown, others]
        moves = _gather_moves(moves, kept)
    moves.sort(key=lambda move: -move.mass)
    return shares, moves[:MOST_MOVES], max(0, len(moves) - MOST_MOVES)


def _gather_moves(moves: Sequence[Step], kept: set[str]) -> list[Step]:
    """The moves with the values that are not shown taken together."""
    sums: dict[tuple[str, str], Step] = {}
    for move in moves:
        source = move.source if move.source in kept else OTHERS
        target = move.target if move.target in kept else OTHERS
        before = sums.get((source, target))
        mass = move.mass + (before.mass if before else 0)
        cost = move.cost + (before.cost if before else 0)
        sums[source, target] = Step(source, target, mass, cost)
    return [move for (source, target), move in sums.items() if source != target]


def _draw_heading(why: Explanation, hidden: int) -> Iterator[str]:
    exact = f" = {why.exact}" if why.exact is not None and why.exact.denominator < 10_000 else ""
    limit = "" if why.t is None else f" (promised: at most {float(why.t):g})"
    more = f"; {hidden} smaller moves not drawn" if hidden else ""
    measured = f"{why.by} distance {why.distance:.4f}{exact}{limit}; {rows_text(why.size)}{more}"
    yield text(LEFT, 46, measured)
    yield box(LEFT, 58, 12, 12, CLASS)
    yield text(LEFT + 18, 68, "share in the class")
    yield box(LEFT + 150, 58, 12, 12, TABLE)
    yield text(LEFT + 168, 68, "share in the table")
    yield text(LEFT + 300, 68, "arcs: mass to be moved", fill=SOFT)


def _draw_shares(shares: Sequence[Share], plot: Plot) -> Iterator[str]:
    """The two bars of each value on their axes."""
    ticks = ticks_to(max(float(max(share.in_class, share.in_table)) for share in shares), 3)
    up = Axis(0.0, ticks[-1], plot.floor, plot.top)
    yield from plot.draw_upward(up, ticks, write_share)
    for at, share in enumerate(shares):
        bars = ((0, share.in_class, CLASS, "class"), (15, share.in_table, TABLE, "table"))
        for offset, part, colour, where in bars:
            tall = plot.floor - up.place(float(part))
            words = f"{share.value}: {float(part):.1%} of the {where}"
            x = LEFT + STEP * at + 6 + offset
            yield box(x, plot.floor - tall, 14, tall, colour, words)
    marks = [(LEFT + STEP * at + 22, shorten(s.value, LONGEST)) for at, s in enumerate(shares)]
    yield from plot.draw_below(marks, lines="none", turned=-40)


def _draw_arcs(shares: Sequence[Share], moves: Sequence[Step], ground: float) -> Iterator[str]:
    """Arcs between values, higher the farther they reach; arrowheads at the receiving end."""
    place = {share.value: LEFT + STEP * at + 20 for at, share in enumerate(shares)}
    largest = max((float(move.mass) for move in moves), default=1.0)
    reach = max((abs(place[m.source] - place[m.target]) for m in moves), default=1) or 1
    for move in sorted(moves, key=lambda m: -abs(place[m.source] - place[m.target])):
        start, end = place[move.source], place[move.target]
        high = ground - 24 - (ARCS - 40) * abs(end - start) / reach
        yield element(
            "path", fill="none", stroke=INK, stroke_opacity="0.45",
            d=f"M{start},{ground} C{start},{high:.1f} {end},{high:.1f} {end},{ground - 6}",
            stroke_width=1 + 5 * float(move.mass) / largest,
            words=f"{float(move.mass):.4f} from {move.source} to {move.target}",
        )  # fmt: skip
        yield element("path", d=f"M{end},{ground + 2} l-5,-9 h10 z", fill=INK, fill_opacity="0.7")
