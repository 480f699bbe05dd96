"""What attacks on a release found, as tables for a terminal; what affects most rows is first."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tclose.attacks import AttackReport, Belief, Finding
from tclose.verify.wording import classes_text, rows_text


def attack_view(report: AttackReport) -> RenderableType:
    """What the table teaches, what was found, what was not, and what could not be tried."""
    harmless = len(report.findings) - len(report.found)
    head = Text.assemble(
        (report.source, "bold"),
        f": {rows_text(report.rows)} in {classes_text(report.classes)}. ",
        (f"{len(report.found)} of {len(report.findings)} attacks found something", "bold"),
        f"; {harmless} found nothing.",
    )
    parts: list[RenderableType] = [head]
    if report.beliefs:
        parts.append(_beliefs(report.beliefs))
    if report.found:
        parts.append(_table("What was found", report.found))
    quiet = [one for one in report.findings if not one.found]
    if quiet:
        parts.append(_table("What found nothing", quiet))
    parts += [Text(f"Not tried: {line}", "dim") for line in report.not_tried]
    return Group(*parts)


def _beliefs(beliefs: tuple[Belief, ...]) -> Table:
    table = Table(
        title="How often the best guess is right", title_justify="left", title_style="bold"
    )
    table.add_column("attribute", overflow="fold")
    for heading in ("nothing known", "the table known", "the class known"):
        table.add_column(heading, justify="right")
    for one in beliefs:
        table.add_row(Text(one.attribute), *(f"{chance:.1%}" for chance in one.guess))
    return table


def _table(title: str, findings: list[Finding] | tuple[Finding, ...]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("attack")
    table.add_column("attribute", overflow="fold")
    table.add_column("rows", justify="right")
    table.add_column("of all", justify="right")
    table.add_column("in words", overflow="fold", ratio=1)
    table.add_column("worst classes", overflow="fold")
    for one in findings:
        table.add_row(
            Text(one.attack, "red" if one.found else "green"),
            Text(one.attribute or ""),
            f"{one.affected:,}",
            f"{one.share:.1%}",
            Text(one.sentence),
            ", ".join(str(number) for number in one.classes[:5]),
        )
    return table
