"""The classes that are worst off: with their values and flows inside the house, as counts outside.

An external document names no class, not even by its number: with the release beside it a number
would lead to the values.
"""

from __future__ import annotations

from collections.abc import Iterator

from tclose.report.charts.flow import draw_flow
from tclose.report.document import Paragraph, Part, Picture, Section, Table
from tclose.report.subject import Subject
from tclose.verify.audit import Audit
from tclose.verify.explanation import Explanation, explain_class
from tclose.verify.wording import number_text
from tclose.verify.worst_classes import ClassReport

MOST_CLASSES = 10
MOST_FLOWS = 4
MOST_VALUES = 12


def make_worst_section(subject: Subject) -> Section:
    """The worst classes, as far as this edition may tell of them."""
    audit = subject.now.audit
    parts: list[Part] = [_state_outcome(subject)]
    if audit.promised:
        parts.append(_tabulate_failing(audit))
    if subject.internal:
        if audit.worst:
            parts.append(_tabulate_worst(audit.worst[:MOST_CLASSES]))
        parts += list(_draw_flows(audit))
    return Section("worst", "The classes that are worst off", tuple(parts))


def _state_outcome(subject: Subject) -> Paragraph:
    audit = subject.now.audit
    if not audit.promised:
        outcome = "Nothing was promised, so no class breaks anything."
    elif any(report.breaks for report in audit.worst):
        outcome = "Some classes break the promise."
    else:
        outcome = "No class breaks the promise."
    if subject.internal:
        return Paragraph(f"{outcome} The pictures show which shares would have to move where.")
    return Paragraph(
        f"{outcome} This edition tells only how many there are; the internal edition names the "
        "worst ones and shows what is in them."
    )


def _tabulate_failing(audit: Audit) -> Table:
    """How many classes break what, and how near the worst of them comes to the limit."""
    rows = tuple(
        (
            verdict.title,
            verdict.required or "",
            verdict.achieved_text,
            f"{verdict.failing_classes:,} of {len(verdict.measurement.fails):,}",
            f"{verdict.failing_rows:,} of {audit.rows:,}",
        )
        for verdict in audit.requirements
    )
    heads = ("requirement", "asked", "the worst class attains", "classes breaking it", "their rows")
    return Table("How many classes break the promise", heads, rows, (1, 2, 3, 4))


def _tabulate_worst(reports: tuple[ClassReport, ...]) -> Table:
    titles = list(reports[0].margins)
    rows = tuple(
        (
            f"{report.number:,}",
            ", ".join(f"{name} {value}" for name, value in report.label.items()),
            f"{report.size:,}",
            *(_write_margin(report.margins[title]) for title in titles),
        )
        for report in reports
    )
    caption = "The worst classes, and how far each is from breaking a requirement (minus: it does)"
    numeric = (0, *range(2, 3 + len(titles)))
    return Table(caption, ("class", "who", "rows", *titles), rows, numeric)


def _write_margin(value: float) -> str:
    return number_text(value).replace("-", "−")


def _draw_flows(audit: Audit) -> Iterator[Picture]:
    """The farthest class of each attribute."""
    for name in list(audit.bound.attributes)[:MOST_FLOWS]:
        why = explain_class(audit.bound, None, name)
        yield Picture(_name_flow(why), draw_flow(why, inline=True), _tabulate_shares(why))


def _name_flow(why: Explanation) -> str:
    return f"The class that is farthest from the table in {why.attribute}: class {why.number:,}"


def _tabulate_shares(why: Explanation) -> Table:
    shown = sorted(why.shares, key=lambda share: -abs(share.in_class - share.in_table))[
        :MOST_VALUES
    ]
    rows = tuple(
        (share.value, f"{float(share.in_class):.1%}", f"{float(share.in_table):.1%}")
        for share in why.shares
        if share in shown
    )
    caption = f"Shares of {why.attribute} that differ most"
    return Table(caption, (why.attribute, "in the class", "in the table"), rows, (1, 2))
