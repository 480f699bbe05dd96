"""The options that several commands share, and what they become."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tclose.api import Reading
from tclose.errors import UsageError

Table = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="The table: a CSV or Parquet file.", show_default=False),
]
PolicyFile = Annotated[
    Path | None, typer.Option("--policy", "-p", metavar="POLICY", help="The policy (TOML or JSON).")
]
Policy = Annotated[
    Path, typer.Option("--policy", "-p", metavar="POLICY", help="The policy (TOML or JSON).")
]
Quasi = Annotated[str, typer.Option(metavar="A,B", help="Without a policy: the quasi-identifiers.")]
Sensitive = Annotated[
    str, typer.Option(metavar="C,D", help="Without a policy: the sensitive attributes.")
]
Population = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A table of the population (k-map, presence).")
]
Key = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Link rows of two tables by this column, not by order."),
]
Method = Annotated[
    str | None, typer.Option("--method", metavar="NAME", help="The search; see `tclose methods`.")
]
Seconds = Annotated[
    float | None, typer.Option("--seconds", min=0, help="How long to search, by the clock.")
]
Effort = Annotated[
    float | None,
    typer.Option("--effort", min=0, help="How much work, in seconds of an ordinary core."),
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Equal seeds search alike.")]
Suppression = Annotated[
    str | None,
    typer.Option(
        "--suppression", metavar="SHARE", help="Share of rows that may be left out, such as 0.05."
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(metavar="CHAR", help="CSV delimiter, if it is guessed wrong (or: tab)."),
]
Encoding = Annotated[
    str | None, typer.Option(metavar="NAME", help="CSV encoding, if it is guessed wrong.")
]
Null = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="CSV text that means a missing value (repeatable)."),
]
Memory = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Most memory for counting, such as 4GB.")
]
Report = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", help="Also write a report: .html, .json or .txt."),
]
Edition = Annotated[
    str,
    typer.Option(
        "--edition", metavar="NAME", help="external: counts only; internal: values of classes too."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]


def reading(
    delimiter: str | None, encoding: str | None, null: list[str] | None, memory: str | None
) -> Reading:
    """How the files of this command are read."""
    mark = {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)
    return Reading(mark, encoding, tuple(["", *(null or [])]), memory)


def policy_or_columns(policy: Path | None, quasi: str, sensitive: str) -> None:
    """Raises unless the command was told what the columns are."""
    if policy is None and not quasi:
        raise UsageError(
            "what are the columns?",
            hint="give --policy POLICY (draft one with `tclose init FILE`), "
            "or --quasi age,zip --sensitive disease",
        )
