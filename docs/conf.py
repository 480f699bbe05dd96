"""How the site is made: `make docs` builds it into build/docs, and every warning is an error."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from pygments.lexers.special import TextLexer

sys.path.insert(0, str(Path(__file__).parent))
import generate

from tclose.version import VERSION

project = "tclose"
author = copyright = "tclose contributors"
release = version = VERSION
html_title = f"tclose {VERSION}"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["notebooks", "**/README.txt"]
nitpicky = True
linkcheck_ignore = [r"https://github\.com/OWNER/", r"http://(127\.0\.0\.1|localhost)"]  # not real
nitpick_ignore_regex = [("py:.*", r".*")]  # types of other packages: there is no page for them
myst_heading_anchors = 4
myst_enable_extensions = ["html_image"]
suppress_warnings = ["myst.header"]

default_role = "code"
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
napoleon_numpy_docstring = True

html_theme = "furo"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#14507a", "color-brand-content": "#14507a"},
    "dark_css_variables": {"color-brand-primary": "#7fb8e6", "color-brand-content": "#7fb8e6"},
}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
smartquotes_action = "qe"  # quotes and ellipses; two dashes begin an option
html_copy_source = True
html_last_updated_fmt = None

MADE = {
    "reference/command-line": generate.describe_commands,
    "reference/python": generate.describe_python,
}
"""Pages whose end is made from the program."""


FILE = re.compile(r"^( *)```(\w+) title=(\S+)$", flags=re.MULTILINE)
"""The beginning of a block that is the content of a file."""


def fill_page(app: Any, name: str, source: list[str]) -> None:
    """Adds what the program says of itself to a page about it; names files above their content."""
    if name in MADE:
        source[0] += "\n" + MADE[name]()
    source[0] = FILE.sub(r"\1```{code-block} \2\n\1:caption: \3\n", source[0])


def write_for_machines(app: Any, error: Exception | None) -> None:
    """Writes llms.txt, and what it refers to where that is made."""
    if error is not None or app.builder.name != "html":
        return
    site, env = Path(app.outdir), app.env
    titles = {name: env.titles[name].astext() for name in env.found_docs}
    indexes = {
        name: Path(env.doc2path(name)).read_text(encoding="utf-8")
        for name in titles
        if name == "index" or name.endswith("/README")
    }
    (site / "llms.txt").write_text(generate.list_pages(titles, indexes), encoding="utf-8")
    for name, text in (
        ("reference/command-line", generate.describe_commands()),
        ("reference/python", generate.list_docstrings()),
    ):
        with (site / "_sources" / f"{name}.md.txt").open("a", encoding="utf-8") as page:
            page.write("\n" + text)


def setup(app: Any) -> None:
    """Connects the two."""
    app.add_lexer("csv", TextLexer)
    app.connect("source-read", fill_page)
    app.connect("build-finished", write_for_machines)
