"""A document for a terminal: the same words and numbers, charts as bars of text."""

from __future__ import annotations

import io
from collections.abc import Iterator

from rich import table as rich_table
from rich.console import Console, Group, RenderableType
from rich.rule import Rule
from rich.text import Text

from tclose.report.document import (
    Bars,
    Document,
    Figures,
    Histogram,
    Paragraph,
    Part,
    Points,
    Table,
)

TONES = {"plain": "", "good": "green", "bad": "bold red", "note": "yellow"}
LONGEST = 40


def document_view(document: Document) -> RenderableType:
    """The whole document."""
    parts: list[RenderableType] = [Text(document.title, "bold"), Text(document.subtitle, "dim")]
    for section in document.sections:
        parts += [Text(""), Rule(Text(section.title, "bold"), align="left")]
        for part in section.parts:
            parts += _part(part)
    return Group(*parts)


def document_text(document: Document, width: int = 110) -> str:
    """The same as plain text."""
    page = io.StringIO()
    console = Console(file=page, width=width, highlight=False, no_color=True, force_terminal=False)
    console.print(document_view(document))
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines()) + "\n"


def _part(part: Part) -> Iterator[RenderableType]:
    if isinstance(part, Paragraph):
        yield Text(part.text, TONES[part.tone])
    elif isinstance(part, Points):
        for lead, words in part.entries:
            yield Text.assemble("- ", (lead, "bold"), f" {words}")
    elif isinstance(part, Figures):
        yield _grid(part)
    elif isinstance(part, Histogram | Bars):
        yield _drawn(part)
    else:
        yield _table(part if isinstance(part, Table) else part.table())


def _grid(part: Figures) -> rich_table.Table:
    grid = rich_table.Table.grid(padding=(0, 2))
    for one in part.entries:
        value = Text(one.value, TONES[one.tone] or "bold")
        grid.add_row(Text(one.label), value, Text(one.note, "dim"))
    return grid


def _table(part: Table) -> rich_table.Table:
    table = rich_table.Table(title=Text(part.caption), title_justify="left", title_style="bold")
    for at, heading in enumerate(part.headings):
        side = "right" if at in part.numeric else "left"
        table.add_column(Text(heading), justify=side, overflow="fold")  # type: ignore[arg-type]
    for row in part.rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _drawn(part: Histogram | Bars) -> rich_table.Table:
    """Bars of text beside their numbers; the limit is a line between two of them."""
    names = part.bins if isinstance(part, Histogram) else part.names
    table = rich_table.Table(title=Text(part.title), title_justify="left", title_style="bold")
    table.add_column(Text(part.across), overflow="fold")
    for one in part.series:
        table.add_column(Text(one.name), justify="right")
        table.add_column("", width=LONGEST // len(part.series))
    limit = part.limit if isinstance(part, Histogram) else None
    for at, name in enumerate(names):
        if limit is not None and at == limit.after:
            table.add_row(Text(f"limit: {limit.words}", "bold"), end_section=True)
        cells: list[RenderableType] = [Text(name)]
        for one in part.series:
            value = one.values[at]
            long = 0 if value is None else round(value * LONGEST / len(part.series))
            cells += [Text("–" if value is None else f"{value:.1%}"), Text("█" * long)]
        table.add_row(*cells)
    return table
