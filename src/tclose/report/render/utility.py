"""What a release is still good for, as a table for a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tclose.utility import Measure, Utility
from tclose.verify.wording import classes_text, number_text, rows_text


def utility_view(utility: Utility) -> RenderableType:
    """Every measure, then what each column contributes, then the further numbers."""
    linked = "row by row" if utility.row_by_row else "by what each value covers"
    head = Text.assemble(
        (f"{utility.release}", "bold"),
        f" beside {utility.original}: {rows_text(utility.rows)}, {utility.left_out:,} left out, "
        f"{classes_text(utility.classes)}; compared {linked}.",
    )
    parts: list[RenderableType] = [head, _measures(utility)]
    if any(one.columns for one in utility.measures):
        parts.append(_columns(utility))
    parts += [_numbers(one) for one in utility.measures if one.name in ("query-error", "learning")]
    return Group(*parts)


def _measures(utility: Utility) -> Table:
    table = Table(title="What is lost, and what is left", title_justify="left", title_style="bold")
    table.add_column("measure")
    table.add_column("value", justify="right")
    table.add_column("meaning", overflow="fold")
    for one in utility.measures:
        told = "not defined" if one.overall is None else number_text(one.overall)
        about = f"{one.meaning}; {one.note}" if one.note else one.meaning
        table.add_row(Text(one.name), told, Text(about))
    return table


def _columns(utility: Utility) -> Table:
    shown = [one for one in utility.measures if one.columns]
    names = list(dict.fromkeys(name for one in shown for name in one.columns))
    table = Table(title="Column by column", title_justify="left", title_style="bold")
    table.add_column("quasi-identifier", overflow="fold")
    for one in shown:
        table.add_column(one.name, justify="right")
    for name in names:
        told = [number_text(one.columns[name]) if name in one.columns else "" for one in shown]
        table.add_row(Text(name), *told)
    return table


def _numbers(one: Measure) -> Table:
    table = Table(title=one.name, title_justify="left", title_style="bold", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, value in one.numbers.items():
        table.add_row(Text(name), number_text(value))
    return table
