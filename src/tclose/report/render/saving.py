"""Saves a document as a file, of the kind that its suffix names, completely or not at all.

A page is one HTML file that needs nothing else: no script, no font, no network.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tclose.data.io.files import refuse_overwriting, refuse_unwritable, write_text
from tclose.errors import UsageError
from tclose.plain import escape_controls, json_text
from tclose.report.charts import colours
from tclose.report.charts.plots import NARROW, SMALL, WIDE, draw_chart
from tclose.report.document import EDITIONS, Chart, Document, Edition, Picture
from tclose.report.render.printing import find_browser, write_pdf
from tclose.report.render.terminal import write_plain_text
from tclose.version import VERSION

if TYPE_CHECKING:
    from jinja2 import Environment

SUFFIXES = (".html", ".htm", ".pdf", ".json", ".txt")
COLOUR = re.compile('"#[0-9a-f]{6}"')
SCREEN = Path("-")
"""Given instead of a file: shows the report, without writing it."""
SHOWS = {
    "internal": "Internal edition: shows values of single classes. Do not pass it on.",
    "external": "External edition: counts only, no value of any person or class.",
    "users": "Users' edition: what was done to each column, for those who receive the data.",
}
"""What a page says about its edition."""


def save_document(document: Document, path: str | Path) -> Path:
    """Writes a page (.html, or .pdf by a browser), plain values (.json) or plain text (.txt)."""
    suffix = _suffix(path)
    if suffix == ".pdf":
        return write_pdf(path, render_page(document))
    if suffix == ".json":
        text = json_text(document.to_json())
    else:
        text = write_plain_text(document) if suffix == ".txt" else render_page(document)
    return write_text(path, text)


def choose_file(report: Path | None) -> Path | None:
    """Returns the file to write a report to, if any.

    >>> choose_file(Path("-")), choose_file(Path("report.html")).name
    (None, 'report.html')
    """
    return None if report == SCREEN else report


def refuse_report(
    path: str | Path | None,
    edition: str,
    inputs: Iterable[object],
    outputs: Iterable[object] = (),
    *,
    kind: str = "release",
) -> None:
    """Raises UsageError if a report cannot be written, or only over another file."""
    if parse_edition(edition, kind) != "external" and path is None:
        raise UsageError(
            "an edition is chosen, but no report is written",
            where="edition",
            hint="give --report FILE as well",
        )
    if path is None or path == SCREEN:
        return
    if _suffix(path) == ".pdf":
        find_browser(str(path))
    refuse_unwritable(path)
    refuse_overwriting(path, inputs, "the report")
    target = Path(path).resolve()
    if any(isinstance(other, Path) and other.resolve() == target for other in outputs):
        raise UsageError(
            "the report would overwrite another file", where=str(path), hint="name another file"
        )


def parse_edition(word: str, kind: str = "release") -> Edition:
    """Returns an edition by its name; raises UsageError if this kind of report does not have it.

    >>> parse_edition("internal")
    'internal'
    """
    if word == "users" and kind == "audit":
        raise UsageError(
            "the users' edition says what was done to a release; nothing was done to this table",
            where="edition",
            hint="choose external or internal, or report on a release",
        )
    for edition in EDITIONS:
        if word == edition:
            return edition
    raise UsageError(
        "a report has an internal, an external and a users edition",
        where="edition",
        hint="external shows counts only, internal also values of single classes, users only what "
        "was done to each column",
    )


def _suffix(path: str | Path) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(
            "unknown kind of report",
            where=str(path),
            hint=f"end its name in one of {', '.join(SUFFIXES)}, or give - to see it here",
        )
    return suffix


def render_page(document: Document) -> str:
    """Renders a document as a page.

    >>> render_page(Document("A & B", "", "external", ())).count("A &amp; B")
    2
    """
    return render_template("page.html", document=document)


def render_template(template: str, **values: object) -> str:
    """Renders a template with these values, escaped."""
    return load_templates().get_template(template).render(**values)


@cache
def load_templates(*packages: str) -> Environment:
    """Loads the templates of these packages and of reports; values are escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    names = {f'"{value}"': f'"var(--{name})"' for name, value in colours.LIGHT.items()}

    def draw(chart: Chart, wide: int) -> Markup:
        """Draws a chart with escaped words, in the colours of the page."""
        if isinstance(chart, Picture):
            svg = chart.svg if wide > NARROW else chart.narrow
        else:
            svg = draw_chart(chart, inline=True, wide=wide)
        # Only attributes with a colour match: quotation marks in words are escaped.
        return Markup(COLOUR.sub(lambda found: names.get(found[0], found[0]), svg.strip()))

    def clean(value: object) -> object:
        if isinstance(value, str) and not isinstance(value, Markup):
            return escape_controls(value)
        return value

    loaders = [PackageLoader(package) for package in (*packages, "tclose.report.render")]
    templates = Environment(
        loader=ChoiceLoader(loaders), autoescape=True, finalize=clean,
        keep_trailing_newline=True, lstrip_blocks=True, trim_blocks=True, undefined=StrictUndefined,
    )  # fmt: skip
    templates.filters["draw"] = draw
    templates.filters["kind"] = lambda part: type(part).__name__
    templates.globals |= {"light": colours.LIGHT, "dark": colours.DARK}
    templates.globals |= {"wide": WIDE, "narrow": NARROW, "small": SMALL}
    templates.globals |= {"editions": SHOWS, "version": VERSION}
    return templates
