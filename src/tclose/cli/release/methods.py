"""tclose methods: the ways of searching for a release, and what each supports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclose.cli import options
from tclose.cli.console import guarded, print_json, stdout

if TYPE_CHECKING:
    from tclose.search import Method


@guarded
def methods(as_json: options.AsJson = False) -> None:
    """List the search methods and what each supports."""
    from rich.table import Table

    from tclose.search import METHODS

    if as_json:
        print_json(
            [
                {"name": one.name, "summary": one.summary, "supports": _supports(one)}
                for one in METHODS.values()
            ]
        )
        return
    table = Table(title="Search methods", title_justify="left")
    for heading in ("method", "what it does", "supports"):
        table.add_column(heading, overflow="fold")
    for one in METHODS.values():
        table.add_row(one.name, one.summary, ", ".join(_supports(one)))
    stdout().print(table)


def _supports(method: Method) -> list[str]:
    """What a method can do beyond k, l and t by tree distances, in words."""
    words = {
        "any requirement": method.any_requirement,
        "(n, t)-closeness": method.supersets,
        "leaving rows out": method.suppression,
        "overlapping classes": method.local,
        "losses, weights and levels": method.aims,
    }
    return [word for word, able in words.items() if able]
