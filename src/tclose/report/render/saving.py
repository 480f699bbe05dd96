"""A document as a file, of the kind that its suffix names, whole or not at all.

A page is one HTML file that needs nothing else: no script, no font, no network.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tclose.data.io.files import refuse_overwriting, refuse_unwritable, write_text
from tclose.errors import UsageError
from tclose.report.charts import colours
from tclose.report.charts.plots import draw_chart
from tclose.report.charts.svg import replace_unprintable
from tclose.report.document import EDITIONS, Chart, Document, Edition, Picture
from tclose.report.render.terminal import write_plain_text
from tclose.version import VERSION

if TYPE_CHECKING:
    from jinja2 import Environment

SUFFIXES = (".html", ".htm", ".json", ".txt")
SCREEN = Path("-")
"""What a command is given in place of a file where the report is to be shown, not written."""
SHOWS = {
    "internal": "Internal edition: shows values of single classes. Do not pass it on.",
    "external": "External edition: counts only, no value of any person or class.",
}
"""What a page says of its edition."""


def save_document(document: Document, path: str | Path) -> Path:
    """Writes a page (.html), plain values (.json) or plain text (.txt)."""
    suffix = _suffix(path)
    if suffix == ".json":
        text = json.dumps(document.to_json(), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    elif suffix == ".txt":
        text = write_plain_text(document)
    else:
        text = render_page(document)
    return write_text(path, text)


def choose_file(report: Path | None) -> Path | None:
    """The file that a report goes to, if any.

    >>> choose_file(Path("-")), choose_file(Path("report.html")).name
    (None, 'report.html')
    """
    return None if report == SCREEN else report


def refuse_report(
    path: str | Path | None, edition: str, inputs: Iterable[object], outputs: Iterable[object] = ()
) -> None:
    """Raises where a report could not be written, before any work is done for it.

    It is neither one of the files that are read nor one of the others that are written.
    """
    if path is None:
        if parse_edition(edition) != "external":
            raise UsageError("an edition of what?", where="edition", hint="give --report FILE, too")
        return
    parse_edition(edition)
    if path == SCREEN:
        return
    _suffix(path)
    refuse_unwritable(path)
    refuse_overwriting(path, inputs, "the report")
    target = Path(path).resolve()
    if any(isinstance(other, Path) and other.resolve() == target for other in outputs):
        raise UsageError(
            "the report would overwrite another file", where=str(path), hint="name another file"
        )


def parse_edition(word: str) -> Edition:
    """An edition by its name; raises UsageError where there is none.

    >>> parse_edition("internal")
    'internal'
    """
    for edition in EDITIONS:
        if word == edition:
            return edition
    raise UsageError(
        "a report has an internal and an external edition",
        where="edition",
        hint="external shows counts only, internal also values of single classes",
    )


def _suffix(path: str | Path) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(
            "unknown kind of report",
            where=str(path),
            hint=f"end it in one of {', '.join(SUFFIXES)}, or give - to see it here",
        )
    return suffix


def render_page(document: Document) -> str:
    """The page of a document.

    >>> render_page(Document("A & B", "", "external", ())).count("A &amp; B")
    2
    """
    return _load_templates().get_template("page.html").render(document=document)


@cache
def _load_templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def draw(chart: Chart) -> Markup:
        """The picture, whose words are escaped where it is drawn."""
        svg = chart.svg if isinstance(chart, Picture) else draw_chart(chart, inline=True)
        return Markup(svg.strip())

    def clean(value: object) -> object:
        if isinstance(value, str) and not isinstance(value, Markup):
            return replace_unprintable(value)
        return value

    templates = Environment(
        loader=PackageLoader("tclose.report.render"),
        autoescape=True,
        finalize=clean,
        keep_trailing_newline=True,
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    templates.filters["draw"] = draw
    templates.filters["kind"] = lambda part: type(part).__name__
    templates.globals["colours"] = {
        name.lower().replace("_", "-"): value
        for name, value in vars(colours).items()
        if name.isupper() and isinstance(value, str)
    }
    templates.globals["editions"] = SHOWS
    templates.globals["version"] = VERSION
    return templates
