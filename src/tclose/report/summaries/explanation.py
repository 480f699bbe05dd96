"""One class beside the table, and the moves of mass that would make them equal."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tclose.report.document import Paragraph, Part, Table
from tclose.verify.explanation import Explanation, Step
from tclose.verify.wording import rows_text

MOST_ROWS = 20
ALONG = {"hierarchical": "up and down the hierarchy", "equal": "by way of a common middle"}


def summarize_explanation(why: Explanation) -> list[Part]:
    """The class, its distance, both distributions, and the moves."""
    exact = f" = {why.exact}" if why.exact is not None else ""
    limit = ""
    if why.t is not None:
        limit = f"; promised at most {float(why.t):g}: " + ("kept" if why.holds else "BROKEN")
    label = ", ".join(f"{name} = {value}" for name, value in why.label.items())
    distance = f"Distance of {why.attribute} ({why.by}) from the table: {why.distance:.4f}"
    parts: list[Part] = [
        Paragraph(f"Class {why.number}: {rows_text(why.size)} with {label}", "strong"),
        Paragraph(f"{distance}{exact}{limit}"),
        _tabulate_shares(why),
    ]
    if why.actions:
        along = ALONG.get(why.by, "between neighbours")
        parts.append(_tabulate_steps(f"Step by step, {along}", why.actions))
    if why.moves:
        parts.append(_tabulate_steps("Directly, from value to value", why.moves))
    elif why.exact != 0 and not why.actions:
        parts.append(Paragraph("This distance compares shares value by value; nothing is moved."))
    if why.note:
        parts.append(Paragraph(f"Note: {why.note}", "note"))
    return parts


def _tabulate_shares(why: Explanation) -> Table:
    shown = sorted(why.shares, key=lambda share: -abs(share.in_class - share.in_table))[:MOST_ROWS]
    rows = [
        (
            share.value,
            f"{share.rows:,}",
            f"{float(share.in_class):.1%}",
            f"{float(share.in_table):.1%}",
            f"{float(share.in_class - share.in_table):+.1%}",
        )
        for share in why.shares
        if share in shown
    ]
    if len(why.shares) > MOST_ROWS:
        more = f"… {len(why.shares) - MOST_ROWS:,} more values that differ less"
        rows.append((more, "", "", "", ""))
    headings = (why.attribute, "rows", "in the class", "in the table", "difference")
    return Table("Both distributions", headings, tuple(rows), (1, 2, 3, 4))


def _tabulate_steps(title: str, steps: Sequence[Step]) -> Table:
    """The costliest steps, what the others cost together, and the sum."""
    total = sum(float(step.cost) for step in steps)
    shown = sorted(steps, key=lambda step: -step.cost)[:MOST_ROWS]
    rows = [
        (step.source, step.target, _write_fraction(step.mass), _write_fraction(step.cost))
        for step in steps
        if step in shown
    ]
    if len(steps) > MOST_ROWS:
        rest = total - sum(float(step.cost) for step in shown)
        rows.append((f"… {len(steps) - MOST_ROWS:,} smaller ones", "", "", f"{rest:.4f}"))
    rows.append(("sum", "", "", f"{total:.4f}"))
    return Table(title, ("from", "to", "mass", "cost"), tuple(rows), (2, 3))


def _write_fraction(number: Fraction | float) -> str:
    text = str(number)
    exact = f" = {text}" if len(text) <= 9 and "/" in text else ""
    return f"{float(number):.4f}{exact}"
