"""Renders parts of a document for a terminal: same words and numbers, charts as bars of text."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from rich import table
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.rule import Rule
from rich.segment import Segment
from rich.style import Style
from rich.text import Text as StyledText

from tclose.plain import escape_controls
from tclose.report.document import (
    Bars,
    Card,
    Cards,
    Document,
    Figures,
    Folded,
    Gauge,
    Gauges,
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
FACT_BAR = 20


class Text(StyledText):
    """Styled words, with control characters spelled out before their width is measured."""

    def __init__(self, words: str = "", style: str = "", **how: Any) -> None:
        super().__init__(escape_controls(words, lines=False), style, **how)

    def append(self, text: StyledText | str, style: str | Style | None = None) -> Text:
        """Appends words, with control characters spelled out."""
        words = escape_controls(text, lines=False) if isinstance(text, str) else text
        super().append(words, style)
        return self


class SafeConsole(Console):
    """A console that prints no control characters except its own."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yields what is to be printed, piece by piece."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else escape_controls(text), style, control)

    def on_broken_pipe(self) -> None:
        """Leaves the end to the command: exit code 1, which rich ends with, is a verdict here."""
        raise BrokenPipeError


def render_document(document: Document) -> RenderableType:
    """Renders the whole document."""
    parts: list[RenderableType] = [Text(document.title, "bold"), Text(document.subtitle, "dim")]
    for section in document.sections:
        parts += [Text(""), Rule(Text(section.title, "bold"), align="left")]
        parts.append(render_parts(section.parts))
    return Group(*parts)


def render_parts(parts: Iterable[Part]) -> RenderableType:
    """Renders some parts, such as the summary of a command."""
    return Group(*(shown for part in parts for shown in _render_part(part)))


def write_plain_text(document: Document, width: int = 110) -> str:
    """Writes the whole document without colours."""
    page = io.StringIO()
    console = SafeConsole(
        file=page,
        width=width,
        highlight=False,
        emoji=False,
        no_color=True,
        force_terminal=False,
    )
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
    elif isinstance(part, Cards):
        for card in part.entries:
            yield from _render_card(card)
    elif isinstance(part, Gauges):
        yield Text(part.caption, "bold")
        for gauge in part.entries:
            yield from _render_gauge(gauge)
    elif isinstance(part, Folded):
        yield Text(part.summary, "bold")
        yield render_parts(part.parts)
    else:
        yield render_table(part if isinstance(part, Table) else part.table())


def _render_card(card: Card) -> Iterator[RenderableType]:
    yield Text.assemble((f"{card.title}: ", "bold"), (card.headline, STYLES[card.tone]))
    grid = table.Table.grid(padding=(0, 2))
    for fact in card.facts:
        bar = "" if fact.share is None else "█" * round(min(fact.share, 1.0) * FACT_BAR)
        value = Text(fact.value, STYLES[fact.tone])
        grid.add_row(Text(f"  {fact.name}"), value, Text(bar, "dim"))
    yield grid
    if card.note:
        yield Text(f"  {card.note}", "dim")
    if card.chart is not None:
        yield _render_bars(card.chart)


def _render_gauge(gauge: Gauge) -> Iterator[RenderableType]:
    """Renders a bar up to what was attained, with a mark at the limit, and the numbers."""
    yield Text.assemble((f"{gauge.name}: ", "bold"), (gauge.outcome, STYLES[gauge.tone]))
    bar = ""
    if gauge.place is not None and gauge.limit is not None:
        filled, mark = (round(share * FACT_BAR) for share in (gauge.place, gauge.limit))
        cells = ["█" if at < filled else "░" for at in range(FACT_BAR)]
        bar = "".join((*cells[:mark], "│", *cells[mark:])) + "  "
    before = f"; before: {gauge.before}" if gauge.before else ""
    yield Text(f"  {bar}{gauge.required} required, {gauge.attained} attained{before}")
    yield Text(f"  {gauge.sentence}", "dim")


def _start_table(title: str, *, headed: bool = True) -> table.Table:
    return table.Table(
        title=Text(title), title_justify="left", title_style="bold", show_header=headed
    )


@dataclass(frozen=True)
class StackedTable:
    """A table; if it does not fit without breaking words, its rows one below the other."""

    wide: table.Table
    part: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yields the table, or its rows as lines of a heading and a value each."""
        lines = Segment.split_lines(console.render(self.wide, options))
        if max(map(Segment.get_line_length, lines), default=0) <= options.max_width:
            yield self.wide
            return
        yield Text(self.part.caption, "bold")
        tones = self.part.tones or tuple[Tone, ...](["plain"] * len(self.part.rows))
        for row, tone in zip(self.part.rows, tones, strict=True):
            for at, (heading, value) in enumerate(zip(self.part.headings, row, strict=True)):
                if value:
                    lead = ("- " if at == 0 else "  ") + (f"{heading}: " if heading else "")
                    yield Text.assemble((lead, "dim"), (value, STYLES[tone] if at == 0 else ""))


def render_table(part: Table) -> StackedTable:
    """Renders a table as wide as needed, or stacked."""
    return StackedTable(_render_table(part), part)


def _render_table(part: Table) -> table.Table:
    shown = _start_table(part.caption, headed=any(part.headings))
    for at, heading in enumerate(part.headings):
        numeric = at in part.numeric
        words = (
            word for text in (heading, *(row[at] for row in part.rows)) for word in text.split()
        )
        longest = max(map(cell_len, words), default=0)
        justify: Literal["left", "right"] = "right" if numeric else "left"
        shown.add_column(Text(heading), justify=justify, overflow="fold", min_width=longest)
    tones = part.tones or tuple[Tone, ...](["plain"] * len(part.rows))
    for (first, *rest), tone in zip(part.rows, tones, strict=True):
        row_style = STYLES[tone] if tone == "strong" else None
        shown.add_row(Text(first, STYLES[tone]), *map(Text, rest), style=row_style)
    return shown


def _render_bars(part: HistogramChart | Bars) -> table.Table:
    """Renders bars of text beside their numbers; a limit is a line between two bars."""
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
