"""What attacks on a release found; what affects most rows is first."""

from __future__ import annotations

from collections.abc import Sequence

from tclose.attacks import AttackReport, Finding
from tclose.report.document import Paragraph, Part, Table, Tone
from tclose.verify.wording import classes_text, rows_text


def summarize_attacks(report: AttackReport) -> list[Part]:
    """What the table teaches, what was found, what was not, and what could not be tried."""
    quiet = [finding for finding in report.findings if not finding.found]
    parts: list[Part] = [
        Paragraph(
            f"{report.source}: {rows_text(report.rows)} in {classes_text(report.classes)}. "
            f"{len(report.found)} of {len(report.findings)} attacks found something; "
            f"{len(quiet)} found nothing.",
            "strong",
        )
    ]
    if report.beliefs:
        rows = tuple(
            (belief.attribute, *(f"{chance:.1%}" for chance in belief.guess))
            for belief in report.beliefs
        )
        headings = ("attribute", "nothing known", "the table known", "the class known")
        parts.append(Table("How often the best guess is right", headings, rows, (1, 2, 3)))
    if report.found:
        parts.append(_tabulate("What was found", report.found))
    if quiet:
        parts.append(_tabulate("What found nothing", quiet))
    parts += [Paragraph(f"Not tried: {reason}", "aside") for reason in report.not_tried]
    return parts


def _tabulate(title: str, findings: Sequence[Finding]) -> Table:
    rows = tuple(
        (
            finding.attack,
            finding.attribute or "",
            f"{finding.affected:,}",
            f"{finding.share:.1%}",
            finding.sentence,
            ", ".join(str(number) for number in finding.classes[:5]),
        )
        for finding in findings
    )
    headings = ("attack", "attribute", "rows", "of all", "in words", "worst classes")
    tones: list[Tone] = ["bad" if finding.found else "good" for finding in findings]
    return Table(title, headings, rows, (2, 3), tuple(tones))
