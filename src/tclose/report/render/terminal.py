"""Parts of a document for a terminal: the same words and numbers, charts as bars of text."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

from rich import table
from rich.console import Console, Group, RenderableType
from rich.rule import Rule
from rich.text import Text

from tclose.report.document import (
    Bars,
    Document,
    Figures,
    HistogramChart,
    Paragraph,
    Part,
    Points,
    Table,
    Tone,
)

STYLES: dict[Tone, str] = {
    "plain": "",
    "good": "green",
    "bad": "bold red",
    "note": "yellow",
    "aside": "dim",
    "strong": "bold",
}
LONGEST = 40


def render_document(document: Document) -> RenderableType:
    """The whole document."""
    parts: list[RenderableType] = [Text(document.title, "bold"), Text(document.subtitle, "dim")]
    for section in document.sections:
        parts += [Text(""), Rule(Text(section.title, "bold"), align="left")]
        parts.append(render_parts(section.parts))
    return Group(*parts)


def render_parts(parts: Iterable[Part]) -> RenderableType:
    """Some parts, such as the summary of a command."""
    return Group(*(shown for part in parts for shown in _render_part(part)))


def write_plain_text(document: Document, width: int = 110) -> str:
    """The whole document without colours."""
    page = io.StringIO()
    console = Console(file=page, width=width, highlight=False, no_color=True, force_terminal=False)
    console.print(render_document(document))
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines()) + "\n"


def _render_part(part: Part) -> Iterator[RenderableType]:
    if isinstance(part, Paragraph):
        yield Text(part.text, STYLES[part.tone])
    elif isinstance(part, Points):
        for lead, words in part.entries:
            yield Text.assemble("- ", (lead, "bold"), f" {words}")
    elif isinstance(part, Figures):
        grid = table.Table.grid(padding=(0, 2))
        for figure in part.entries:
            value = Text(figure.value, STYLES[figure.tone] or "bold")
            grid.add_row(Text(figure.label), value, Text(figure.note, "dim"))
        yield grid
    elif isinstance(part, HistogramChart | Bars):
        yield _render_bars(part)
    else:
        yield _render_table(part if isinstance(part, Table) else part.table())


def _start_table(title: str, *, headed: bool = True) -> table.Table:
    return table.Table(
        title=Text(title), title_justify="left", title_style="bold", show_header=headed
    )


def _render_table(part: Table) -> table.Table:
    shown = _start_table(part.caption, headed=any(part.headings))
    for at, heading in enumerate(part.headings):
        numeric = at in part.numeric
        shown.add_column(Text(heading), justify="right" if numeric else "left", overflow="fold")
    tones = part.tones or tuple[Tone, ...](["plain"] * len(part.rows))
    for (first, *rest), tone in zip(part.rows, tones, strict=True):
        row_style = STYLES[tone] if tone == "strong" else None
        shown.add_row(Text(first, STYLES[tone]), *map(Text, rest), style=row_style)
    return shown


def _render_bars(part: HistogramChart | Bars) -> table.Table:
    """Bars of text beside their numbers; the limit is a line between two of them."""
    numbers = part.table()
    shown = _start_table(part.title)
    shown.add_column(Text(part.across), overflow="fold")
    widest = LONGEST // len(part.series)
    for series in part.series:
        shown.add_column(Text(series.name), justify="right")
        shown.add_column("", width=widest)
    limit = part.limit if isinstance(part, HistogramChart) else None
    for at, (name, *shares) in enumerate(numbers.rows):
        if limit is not None and at == limit.after:
            shown.add_row(Text(f"limit: {limit.words}", "bold"), end_section=True)
        cells = [Text(name)]
        for series, share in zip(part.series, shares, strict=True):
            long = round((series.values[at] or 0.0) * LONGEST / len(part.series))
            cells += [Text(share), Text("█" * long)]
        shown.add_row(*cells)
    return shown
