"""A document as one HTML file that needs nothing else: no script, no font, no network."""

from __future__ import annotations

from collections.abc import Iterator

from tclose.report.charts.bars import chart_svg
from tclose.report.charts.colours import STYLE
from tclose.report.charts.svg import escape
from tclose.report.document import (
    Chart,
    Document,
    Figures,
    Paragraph,
    Part,
    Picture,
    Points,
    Section,
    Table,
)
from tclose.version import VERSION

EDITION_WORDS = {
    "internal": "Internal edition: shows values of single classes. Do not pass it on.",
    "external": "External edition: counts only, no value of any person or class.",
}
NOTHING = "\u00a0"
LONG = 40
"""From how many characters on a cell is a hash, or a sentence that needs room."""


def document_html(document: Document) -> str:
    """The page of a document.

    >>> from tclose.report.document import Document
    >>> document_html(Document("A & B", "", "external", ())).count("A &amp; B")
    2
    """
    title = escape(document.title)
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8"/>',
            '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
            # Nothing may be fetched, whatever a value or a later change might smuggle in.
            '<meta http-equiv="Content-Security-Policy" '
            "content=\"default-src 'none'; style-src 'unsafe-inline'\"/>",
            '<meta name="referrer" content="no-referrer"/>',
            f"<title>{title}</title>",
            f"<style>\n{STYLE}\n</style>",
            "</head>",
            "<body>",
            "<header>",
            f"<h1>{title}</h1>",
            f'<p class="subtitle">{escape(document.subtitle)}</p>',
            f'<p class="edition">{escape(EDITION_WORDS[document.edition])}</p>',
            *_contents(document),
            "</header>",
            "<main>",
            *(line for section in document.sections for line in _section(section)),
            "</main>",
            f"<footer><p>Made by tclose {VERSION}. {escape(CLOSING)}</p></footer>",
            "</body>",
            "</html>",
            "",
        ]
    )


CLOSING = (
    "Numbers were counted on the table itself; whether it may be published is a judgement that "
    "they inform and do not replace."
)


def _contents(document: Document) -> Iterator[str]:
    if document.sections:
        yield '<nav aria-label="Contents"><ol>'
        for section in document.sections:
            yield f'<li><a href="#{escape(section.key)}">{escape(section.title)}</a></li>'
        yield "</ol></nav>"


def _section(section: Section) -> Iterator[str]:
    key = escape(section.key)
    yield f'<section id="{key}" aria-labelledby="{key}-heading">'
    yield f'<h2 id="{key}-heading">{escape(section.title)}</h2>'
    for at, part in enumerate(section.parts):
        yield from _part(part, f"{key}-{at}")
    yield "</section>"


def _part(part: Part, name: str) -> Iterator[str]:
    if isinstance(part, Paragraph):
        tone = "" if part.tone == "plain" else f' class="{part.tone}"'
        yield f"<p{tone}>{escape(part.text)}</p>"
    elif isinstance(part, Points):
        yield '<ul class="points">'
        for lead, words in part.entries:
            yield f"<li><strong>{escape(lead)}</strong> {escape(words)}</li>"
        yield "</ul>"
    elif isinstance(part, Figures):
        yield from _figures(part)
    elif isinstance(part, Table):
        yield from _table(part)
    else:
        yield from _chart(part, name)


def _figures(part: Figures) -> Iterator[str]:
    yield '<dl class="figures">'
    for one in part.entries:
        tone = "" if one.tone == "plain" else f' class="is-{one.tone}"'
        about = f'<dd class="about">{escape(one.note)}</dd>' if one.note else ""
        yield (
            f"<div{tone}><dt>{escape(one.label)}</dt>"
            f'<dd class="value">{escape(one.value)}</dd>{about}</div>'
        )
    yield "</dl>"


def _table(part: Table) -> Iterator[str]:
    # What scrolls sideways must be reachable by keyboard.
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(part.caption)}">'
    yield f"<table><caption>{escape(part.caption)}</caption>"
    heads = "".join(
        f'<th scope="col"{_aligned(part, at)}>{escape(one or NOTHING)}</th>'
        for at, one in enumerate(part.headings)
    )
    yield f"<thead><tr>{heads}</tr></thead><tbody>"
    for row in part.rows:
        first = f'<th scope="row"{_aligned(part, 0)}>{escape(row[0])}</th>'
        rest = "".join(
            f"<td{_aligned(part, at, one)}>{escape(one)}</td>"
            for at, one in enumerate(row[1:], start=1)
        )
        yield f"<tr>{first}{rest}</tr>"
    yield "</tbody></table></div>"


def _aligned(part: Table, at: int, text: str = "") -> str:
    if at in part.numeric:
        return ' class="number"'
    if len(text) <= LONG:
        return ""
    return ' class="mono"' if text.isalnum() else ' class="prose"'


def _chart(part: Chart, name: str) -> Iterator[str]:
    kind = ' class="flow"' if isinstance(part, Picture) else ""
    yield f'<figure{kind} aria-labelledby="{name}-title">'
    yield f'<figcaption><h3 id="{name}-title">{escape(part.title)}</h3></figcaption>'
    label = escape(f"Drawing: {part.title}")
    yield f'<div class="drawing" tabindex="0" role="group" aria-label="{label}">'
    yield part.svg.strip() if isinstance(part, Picture) else chart_svg(part)
    yield "</div>"
    yield "<details><summary>The same as a table</summary>"
    yield from _table(part.table())
    yield "</details></figure>"
