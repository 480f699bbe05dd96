"""What a release is still good for."""

from __future__ import annotations

from tclose.report.document import Paragraph, Part, Table
from tclose.utility import Utility
from tclose.verify.wording import classes_text, number_text, rows_text

DETAILED = ("query-error", "learning")
"""The measures whose further numbers are shown."""


def summarize_utility(utility: Utility) -> list[Part]:
    """Every measure, then what each column contributes, then the further numbers."""
    linked = "row by row" if utility.row_by_row else "by what each value covers"
    parts: list[Part] = [
        Paragraph(
            f"{utility.release} beside {utility.original}: {rows_text(utility.rows)}, "
            f"{utility.left_out:,} left out, {classes_text(utility.classes)}; compared {linked}.",
            "strong",
        ),
        _tabulate_measures(utility),
    ]
    if any(measure.columns for measure in utility.measures):
        parts.append(_tabulate_columns(utility))
    for measure in utility.measures:
        if measure.name in DETAILED:
            rows = tuple((name, number_text(value)) for name, value in measure.numbers.items())
            parts.append(Table(measure.name, ("", ""), rows, (1,)))
    return parts


def _tabulate_measures(utility: Utility) -> Table:
    rows = tuple(
        (
            measure.name,
            "not defined" if measure.overall is None else number_text(measure.overall),
            f"{measure.meaning}; {measure.note}" if measure.note else measure.meaning,
        )
        for measure in utility.measures
    )
    title = "What is lost, and what is left"
    return Table(title, ("measure", "value", "meaning"), rows, (1,))


def _tabulate_columns(utility: Utility) -> Table:
    shown = [measure for measure in utility.measures if measure.columns]
    names = dict.fromkeys(name for measure in shown for name in measure.columns)
    rows = tuple(
        (
            name,
            *(
                number_text(measure.columns[name]) if name in measure.columns else ""
                for measure in shown
            ),
        )
        for name in names
    )
    headings = ("quasi-identifier", *(measure.name for measure in shown))
    return Table("Column by column", headings, rows, tuple(range(1, len(headings))))
