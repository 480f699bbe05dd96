"""A frontier as a section of a report, or as a report of its own; without any value of a table."""

from __future__ import annotations

from tclose.report.charts.frontier import draw_frontier
from tclose.report.document import Document, Paragraph, Part, Picture, Section, Table
from tclose.report.words.frontier import (
    KNEE_RULE,
    describe_frontier,
    head_points,
    list_points,
    name_frontier,
)
from tclose.search.frontier.curves import Frontier

PROPOSED = (
    "Every point is what a search found within its share of the work, and keeps its promise; more "
    "work may find less loss. No point is written or certified: that is what anonymize does."
)


def make_frontier_section(frontier: Frontier) -> Section:
    """The curves as a section of a report."""
    title = name_frontier(frontier)
    rows = [(curve.name, *row) for curve in frontier.curves for _, row in list_points(curve)]
    headings = ("curve", *head_points(frontier.curves[0]))
    numbers = Table(title, headings, tuple(rows), (1, 2, 3, 4, 5))
    picture = Picture(title, draw_frontier(frontier, inline=True), numbers)
    sentences = (Paragraph(sentence) for sentence in describe_frontier(frontier))
    parts: list[Part] = [Paragraph(PROPOSED), picture, *sentences, Paragraph(KNEE_RULE, "note")]
    return Section("frontier", "What a stricter promise costs", tuple(parts))


def make_frontier_document(frontier: Frontier, source: str) -> Document:
    """A report of the frontier alone."""
    subtitle = f"{source}: {frontier.rows:,} rows"
    return Document("Frontier", subtitle, "external", (make_frontier_section(frontier),))
