"""tclose verify: recount a file, ours or anybody's, and judge what the policy promises."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tclose.cli import options
from tclose.cli.console import FAILS, HOLDS, guarded, print_json, progress, stdout


@guarded
def verify(
    file: options.Table,
    policy: Annotated[
        Path, typer.Option("--policy", "-p", metavar="POLICY", help="The policy (TOML or JSON).")
    ],
    population: options.Population = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    null: options.Null = None,
    memory: options.Memory = None,
    as_json: options.AsJson = False,
) -> None:
    """Recount a released table from scratch, in exact integers: does the promise hold?

    Exit code 0: it holds; 1: it does not, or cannot be decided.
    """
    from tclose import api
    from tclose.report import audit_view

    with progress() as step:
        result = api.verify(
            file,
            policy,
            population=population,
            reading=options.reading(delimiter, encoding, null, memory),
            progress=step,
        )
    if as_json:
        print_json(result.to_json())
    else:
        stdout().print(audit_view(result, details=False))
    raise typer.Exit(HOLDS if result.holds else FAILS)
