"""A frontier of loss against t or k as tables with bars."""

from __future__ import annotations

from tclose.report.document import Paragraph, Part, Table, Tone
from tclose.report.words.frontier import (
    KNEE_RULE,
    describe_frontier,
    head_points,
    list_points,
    name_frontier,
)
from tclose.search.frontier.curves import Curve, Frontier

BAR = 24


def summarize_frontier(frontier: Frontier) -> list[Part]:
    """The curves, and what their marks mean."""
    most = max((float(point.loss or 0) for point in frontier.points), default=0.0)
    return [
        Paragraph(name_frontier(frontier), "strong"),
        *(_tabulate(curve, most) for curve in frontier.curves),
        *(Paragraph(sentence) for sentence in (*describe_frontier(frontier), KNEE_RULE)),
    ]


def _tabulate(curve: Curve, most: float) -> Table:
    rows = []
    for point, (place, loss, *rest) in list_points(curve):
        bar = "█" * (round(BAR * float(point.loss or 0) / most) if most else 0)
        rows.append((place, loss, bar, *rest))
    across, loss, *others = head_points(curve)
    headings = (across, loss, "", *others)
    tones: list[Tone] = ["strong" if point.chosen else "plain" for point in curve.points]
    return Table(curve.name, headings, tuple(rows), (0, 1, 3, 4, 5), tuple(tones))
