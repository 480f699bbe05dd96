"""A frontier as a section of a report, or as a report of its own; without any value of a table."""

from __future__ import annotations

from tclose.report.charts.frontier import frontier_svg
from tclose.report.document import Document, Paragraph, Picture, Section, Table
from tclose.report.render.frontier import RULE, headings, point_rows, title_of, told
from tclose.search.frontier.curves import Curve, Frontier

PROPOSED = (
    "Every point is what a search found within its share of the work, and keeps its promise; more "
    "work may find less loss. No point is written or certified: that is what anonymize does."
)


def frontier_section(frontier: Frontier) -> Section:
    """The curves as a section of a report."""
    drawn = frontier_svg(frontier, inline=True)
    picture = Picture(title_of(frontier), drawn, _all_numbers(frontier))
    said = (Paragraph(line) for line in told(frontier))
    return Section(
        "frontier",
        "What a stricter promise costs",
        (Paragraph(PROPOSED), picture, *said, Paragraph(RULE, "note")),
    )


def frontier_document(frontier: Frontier, source: str) -> Document:
    """A report of the frontier alone."""
    subtitle = f"{source}: {frontier.rows:,} rows"
    return Document("Frontier", subtitle, "external", (frontier_section(frontier),))


def _all_numbers(frontier: Frontier) -> Table:
    rows = [(curve.name, *row) for curve in frontier.curves for _, row in point_rows(curve)]
    curve: Curve = frontier.curves[0]
    return Table(title_of(frontier), ("curve", *headings(curve)), tuple(rows), (1, 2, 3, 4, 5))
