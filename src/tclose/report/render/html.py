"""A document as one HTML file that needs nothing else: no script, no font, no network."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tclose.report.charts import colours
from tclose.report.charts.plots import draw_chart
from tclose.report.charts.svg import replace_unprintable
from tclose.report.document import Chart, Document, Picture
from tclose.version import VERSION

if TYPE_CHECKING:
    from jinja2 import Environment

EDITIONS = {
    "internal": "Internal edition: shows values of single classes. Do not pass it on.",
    "external": "External edition: counts only, no value of any person or class.",
}


def render_page(document: Document) -> str:
    """The page of a document.

    >>> from tclose.report.document import Document
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
    templates.globals["editions"] = EDITIONS
    templates.globals["version"] = VERSION
    return templates
