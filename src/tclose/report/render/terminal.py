"""Audits and explanations as tables for a terminal; the worst comes first."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from tclose.verify.audit import Audit
from tclose.verify.certificate import NOT_HERE, Check
from tclose.verify.explanation import Explanation, Step
from tclose.verify.verdict import Verdict
from tclose.verify.wording import classes_text, number_text, rows_text
from tclose.verify.worst_classes import ClassReport

MOST_ROWS = 20
SHOWN = 16
"""How many digits of a hash are shown."""
ALONG = {"hierarchical": "up and down the hierarchy", "equal": "by way of a common middle"}
MARKS = {
    True: Text("holds", "green"),
    False: Text("FAILS", "bold red"),
    None: Text("not decided", "yellow"),
}


def audit_view(audit: Audit, *, details: bool = True) -> RenderableType:
    """The whole audit: verdict, promises, worst classes, further measures, notes."""
    parts: list[RenderableType] = [_headline(audit)]
    if audit.promised:
        parts.append(verdict_table("What was promised", audit.requirements, promised=True))
        parts += _worst(audit.worst)
    else:
        parts.append(verdict_table("What the table attains", audit.requirements, promised=False))
    if details and audit.measured:
        parts.append(verdict_table("Also measured", audit.measured, promised=False))
    parts += [Text(f"Note: {note}", "yellow") for note in audit.notes]
    parts += _remarks((*audit.requirements, *(audit.measured if details else ())))
    return Group(*parts)


def explanation_view(why: Explanation) -> RenderableType:
    """One class beside the table, and the moves of mass that would make them equal."""
    exact = f" = {why.exact}" if why.exact is not None else ""
    limit = ""
    if why.t is not None:
        limit = f"; promised at most {float(why.t):g}: " + ("kept" if why.holds else "BROKEN")
    head = Text.assemble(
        (f"Class {why.number}", "bold"),
        f": {rows_text(why.size)} with ",
        ", ".join(f"{name} = {value}" for name, value in why.label.items()),
    )
    told = Text(
        f"Distance of {why.attribute} ({why.by}) from the table: {why.distance:.4f}{exact}{limit}"
    )
    parts: list[RenderableType] = [head, told, _shares(why)]
    if why.actions:
        along = ALONG.get(why.by, "between neighbours")
        parts.append(_steps(f"Step by step, {along}", why.actions))
    if why.moves:
        parts.append(_steps("Directly, from value to value", why.moves))
    elif why.exact != 0 and not why.actions:
        parts.append(Text("This distance compares shares value by value; nothing is moved."))
    if why.note:
        parts.append(Text(f"Note: {why.note}", "yellow"))
    return Group(*parts)


def checks_view(checks: Sequence[Check]) -> RenderableType:
    """A certificate held against a fresh count, line by line."""
    table = Table(title="The certificate", title_justify="left", title_style="bold")
    for heading in ("", "line", "certified", "counted"):
        table.add_column(heading, overflow="fold")
    marks = {
        True: Text("confirmed", "green"),
        False: Text("REFUTED", "bold red"),
        None: Text("unchecked", "dim"),
    }
    for check in checks:
        hashed = check.line.startswith("sha256")
        told = [_short(text) if hashed else text for text in (check.stated, check.counted)]
        table.add_row(marks[check.confirmed], Text(check.line), *(Text(text) for text in told))
    return table


def _short(text: str) -> str:
    return text if text == NOT_HERE else text[:SHOWN]


def _headline(audit: Audit) -> Text:
    counted = (
        f"{audit.source}: {rows_text(audit.rows)} in {classes_text(audit.classes)}; "
        f"the smallest has {audit.k_text}.\n"
    )
    if not audit.promised:
        return Text.assemble(counted, "Nothing was promised; this is what the table attains.")
    if audit.holds:
        return Text.assemble(counted, ("The promise holds.", "bold green"))
    return Text.assemble(counted, ("The promise does NOT hold.", "bold red"))


def verdict_table(title: str, verdicts: Sequence[Verdict], *, promised: bool) -> Table:
    """Requirements with what is asked and attained."""
    table = Table(title=title, title_justify="left", title_style="bold", expand=False)
    if promised:
        table.add_column("")
    table.add_column("requirement", overflow="fold")
    if promised:
        table.add_column("asked", justify="right")
    table.add_column("attained", justify="right")
    table.add_column("worst class", justify="right")
    if promised:
        table.add_column("classes failing", justify="right")
        table.add_column("rows in them", justify="right")
    for verdict in verdicts:
        cells: list[RenderableType] = [MARKS[verdict.holds]] if promised else []
        cells.append(Text(verdict.title))
        cells += [Text(verdict.required or "")] if promised else []
        cells += [Text(_attained(verdict)), Text(f"{verdict.worst_class:,}")]
        if promised:
            cells += [Text(f"{verdict.failing_classes:,}"), Text(f"{verdict.failing_rows:,}")]
        table.add_row(*cells)
    return table


def _attained(verdict: Verdict) -> str:
    exact = verdict.achieved_exact
    if exact is None or exact.denominator == 1 or exact.denominator > 9999:
        return verdict.achieved_text
    return f"{verdict.achieved_text} = {exact}"


def _worst(reports: Sequence[ClassReport]) -> list[RenderableType]:
    broken = [report for report in reports if report.breaks]
    if not broken:
        return []
    table = Table(title="Worst classes", title_justify="left", title_style="bold", expand=False)
    table.add_column("class", justify="right")
    table.add_column("rows", justify="right")
    table.add_column("quasi-identifiers", overflow="fold")
    table.add_column("breaks, and by how much", overflow="fold")
    for report in broken[:10]:
        who = ", ".join(f"{name}={value}" for name, value in report.label.items())
        how = "\n".join(
            f"{title}, by {number_text(abs(report.margins[title]))}" for title in report.breaks
        )
        table.add_row(f"{report.number:,}", f"{report.size:,}", escape(who), escape(how))
    return [table]


def _remarks(verdicts: Sequence[Verdict]) -> list[RenderableType]:
    return [
        Text(f"  {verdict.title}: {verdict.note}", "dim") for verdict in verdicts if verdict.note
    ]


def _shares(why: Explanation) -> Table:
    table = Table(title="Both distributions", title_justify="left", title_style="bold")
    table.add_column(escape(why.attribute), overflow="fold")
    table.add_column("rows", justify="right")
    table.add_column("in the class", justify="right")
    table.add_column("in the table", justify="right")
    table.add_column("difference", justify="right")
    shown = sorted(why.shares, key=lambda s: -abs(s.in_class - s.in_table))[:MOST_ROWS]
    for share in (share for share in why.shares if share in shown):
        difference = float(share.in_class - share.in_table)
        table.add_row(
            escape(share.value),
            f"{share.rows:,}",
            f"{float(share.in_class):.1%}",
            f"{float(share.in_table):.1%}",
            f"{difference:+.1%}",
        )
    if len(why.shares) > MOST_ROWS:
        table.add_row(f"… {len(why.shares) - MOST_ROWS:,} more values that differ less", *[""] * 4)
    return table


def _steps(title: str, steps: Sequence[Step]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", show_footer=True)
    total = sum(float(step.cost) for step in steps)
    table.add_column("from", "sum", overflow="fold")
    table.add_column("to", overflow="fold")
    table.add_column("mass", justify="right")
    table.add_column("cost", f"{total:.4f}", justify="right")
    shown = sorted(steps, key=lambda step: -step.cost)[:MOST_ROWS]
    for step in (step for step in steps if step in shown):
        table.add_row(escape(step.source), escape(step.target), _part(step.mass), _part(step.cost))
    if len(steps) > MOST_ROWS:
        rest = total - sum(float(step.cost) for step in shown)
        table.add_row(f"… {len(steps) - MOST_ROWS:,} smaller ones", "", "", f"{rest:.4f}")
    return table


def _part(number: object) -> str:
    text = str(number)
    value = float(number)  # type: ignore[arg-type]
    return f"{value:.4f} = {text}" if len(text) <= 9 and "/" in text else f"{value:.4f}"
