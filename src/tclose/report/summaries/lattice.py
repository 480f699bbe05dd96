"""A lattice of full-domain generalizations in words and tables, and as plain values."""

from __future__ import annotations

from collections.abc import Iterator

from tclose.report.document import Paragraph, Part, Table
from tclose.report.words.lattice import describe_lattice, group_by_height, name_lattice
from tclose.search.full_domain.survey import Survey

MOST_ROWS = 20


def summarize_lattice(survey: Survey) -> list[Part]:
    """The levels, how the nodes stand, the minimal ones and the best."""
    bounds = zip(survey.columns, survey.lattice.low, survey.lattice.high, strict=True)
    rows = tuple((name, str(low), str(high)) for name, low, high in bounds)
    headings = ("quasi-identifier", "lowest level", "highest level")
    parts: list[Part] = [
        Paragraph(name_lattice(survey), "strong"),
        Table("Levels", headings, rows, (1, 2)),
        Paragraph(describe_lattice(survey)),
    ]
    if survey.points:
        parts.append(_tabulate_heights(survey))
    if survey.minimal:
        parts += _list_minimal(survey)
    return parts


def lattice_to_json(survey: Survey) -> dict[str, object]:
    """What is known of a lattice, as plain values."""
    return {
        "columns": list(survey.columns),
        "levels": [list(survey.lattice.low), list(survey.lattice.high)],
        "nodes": survey.lattice.size,
        "heights": list(survey.heights),
        "enumerated": bool(survey.points),
        "measure": survey.measure,
        "holding": len(survey.holding) if survey.points else None,
        "minimal": [
            {
                "levels": list(point.levels),
                "loss": point.loss,
                "classes": point.classes,
                "left_out": point.left_out,
            }
            for point in survey.minimal
        ],
        "best": None if survey.best is None else list(survey.best),
        "loss": survey.loss,
        "bound": survey.bound,
        "proved": survey.proved,
    }


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
            *map(str, point.levels),
            f"{point.loss:.4f}",
            f"{point.classes:,}",
            f"{point.left_out:,}",
        )
        for point in points[:MOST_ROWS]
    )
    headings = (*survey.columns, "loss", "classes", "left out")
    title = "Minimal generalizations, least loss first"
    yield Table(title, headings, rows, tuple(range(len(headings))))
    if len(points) > MOST_ROWS:
        yield Paragraph(f"and {len(points) - MOST_ROWS:,} more (--json lists all)", "aside")
