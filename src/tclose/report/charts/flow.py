"""The flow behind one distance as a self-contained SVG picture.

Below, each value's share in the class beside its share in the table; above, arcs that carry the
surplus to where it is lacking, as thick as the mass they move. Blue and orange can be told apart by
colour-blind eyes and in print, and every mark says in words what it shows.
"""

from __future__ import annotations

from collections.abc import Sequence

from tclose.report.charts.svg import FAINT, GRID, INK, box, escape, line, picture, text
from tclose.verify.explanation import Explanation, Share, Step
from tclose.verify.wording import rows_text

MOST_VALUES = 24
MOST_MOVES = 40
STEP = 44
LEFT, RIGHT, TOP = 64, 24, 92
ARCS, BARS = 150, 190
CLASS, TABLE = "#0072B2", "#E69F00"
OTHERS = "other values"


def flow_svg(why: Explanation) -> str:
    """The picture of one explanation, as the text of an SVG file."""
    shares, moves, hidden = _fitting(why)
    width = max(LEFT + STEP * len(shares) + RIGHT, 620)
    longest = max(len(_short(share.value)) for share in shares)
    height = TOP + ARCS + BARS + 36 + 5 * longest
    base = TOP + ARCS + BARS
    top = max(max(float(s.in_class), float(s.in_table)) for s in shares) or 1.0
    parts = [
        *_heading(why, hidden),
        *_axis(base, top, width),
        *_arcs(shares, moves, base - BARS),
        *_bars(shares, base, top),
    ]
    return picture(_title(why), _description(why), (width, height), parts)


def _fitting(why: Explanation) -> tuple[list[Share], list[Step], int]:
    """As many values and moves as can be read; the others together, or left out and counted."""
    shares, moves = list(why.shares), list(why.moves)
    if len(shares) > MOST_VALUES:
        far = sorted(shares, key=lambda s: -abs(s.in_class - s.in_table))
        kept = {share.value for share in far[: MOST_VALUES - 1]}
        rest = [share for share in shares if share.value not in kept]
        others = Share(
            OTHERS,
            sum(share.rows for share in rest),
            sum((share.in_class for share in rest), start=rest[0].in_class * 0),
            sum((share.in_table for share in rest), start=rest[0].in_table * 0),
        )
        shares = [share for share in shares if share.value in kept] + [others]
        moves = _gathered(moves, kept)
    moves.sort(key=lambda move: -move.mass)
    return shares, moves[:MOST_MOVES], max(0, len(moves) - MOST_MOVES)


def _gathered(moves: Sequence[Step], kept: set[str]) -> list[Step]:
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


def _title(why: Explanation) -> str:
    return f"Class {why.number}: {why.attribute} in the class and in the whole table"


def _description(why: Explanation) -> str:
    return f"{why.by} distance {why.distance:.4f}; {len(why.moves)} moves of mass"


def _heading(why: Explanation, hidden: int) -> list[str]:
    exact = f" = {why.exact}" if why.exact is not None and why.exact.denominator < 10_000 else ""
    limit = ""
    if why.t is not None:
        limit = f" (promised: at most {float(why.t):g})"
    more = f"; {hidden} smaller moves not drawn" if hidden else ""
    told = f"{why.by} distance {why.distance:.4f}{exact}{limit}; {rows_text(why.size)}{more}"
    return [
        text(LEFT, 26, _title(why), size=16, weight="bold"),
        text(LEFT, 46, told),
        box(LEFT, 58, 12, 12, CLASS),
        text(LEFT + 18, 68, "share in the class"),
        box(LEFT + 150, 58, 12, 12, TABLE),
        text(LEFT + 168, 68, "share in the table"),
        text(LEFT + 300, 68, "arcs: mass to be moved", fill=FAINT),
    ]


def _axis(base: float, top: float, width: float) -> list[str]:
    parts = [line(LEFT - 6, base, width - RIGHT, base, INK)]
    for part in (0.0, 0.5, 1.0):
        y = base - part * (BARS - 20)
        parts.append(text(LEFT - 10, y + 4, f"{part * top:.0%}", anchor="end", fill=FAINT))
        if part:
            parts.append(line(LEFT - 6, y, width - RIGHT, y, GRID))
    return parts


def _bars(shares: Sequence[Share], base: float, top: float) -> list[str]:
    parts = []
    scale = (BARS - 20) / top
    for at, share in enumerate(shares):
        x = LEFT + STEP * at + 6
        for offset, part, colour, where in (
            (0, share.in_class, CLASS, "class"),
            (15, share.in_table, TABLE, "table"),
        ):
            tall = float(part) * scale
            words = f"{share.value}: {float(part):.1%} of the {where}"
            parts.append(box(x + offset, base - tall, 14, tall, colour, words))
        parts.append(text(x + 16, base + 14, _short(share.value), anchor="end", turned=-40))
    return parts


def _short(value: str) -> str:
    return value if len(value) <= 22 else value[:21] + "…"


def _arcs(shares: Sequence[Share], moves: Sequence[Step], ground: float) -> list[str]:
    """Arcs between values, higher the farther they reach; arrowheads at the receiving end."""
    place = {share.value: LEFT + STEP * at + 20 for at, share in enumerate(shares)}
    largest = max((float(move.mass) for move in moves), default=1.0)
    reach = max((abs(place[m.source] - place[m.target]) for m in moves), default=1) or 1
    parts = []
    for move in sorted(moves, key=lambda m: -abs(place[m.source] - place[m.target])):
        start, end = place[move.source], place[move.target]
        high = ground - 24 - (ARCS - 40) * abs(end - start) / reach
        thick = 1 + 5 * float(move.mass) / largest
        words = f"{float(move.mass):.4f} from {move.source} to {move.target}"
        parts.append(
            f'<path d="M{start},{ground} C{start},{high:.1f} {end},{high:.1f} {end},{ground - 6}" '
            f'fill="none" stroke="{INK}" stroke-opacity="0.45" stroke-width="{thick:.1f}">'
            f"<title>{escape(words)}</title></path>"
        )
        parts.append(
            f'<path d="M{end},{ground + 2} l-5,-9 h10 z" fill="{INK}" fill-opacity="0.7"/>'
        )
    return parts
