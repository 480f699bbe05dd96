"""tclose explain: which mass moves where, behind one class's distance."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tclose.cli import options
from tclose.cli.console import guarded, print_json, progress, say, stdout


@guarded
def explain(
    file: options.Table,
    policy: options.PolicyFile = None,
    number: Annotated[
        int | None,
        typer.Option("--class", metavar="N", help="The class; the farthest one if not given."),
    ] = None,
    attribute: Annotated[
        str | None,
        typer.Option(metavar="A", help="The sensitive attribute; the first one if not given."),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Also draw the flow as a picture.")
    ] = None,
    quasi: options.Quasi = "",
    sensitive: options.Sensitive = "",
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    null: options.Null = None,
    memory: options.Memory = None,
    as_json: options.AsJson = False,
) -> None:
    """Show a class beside the whole table, and the optimal moves of mass between them.

    The moves are shown twice, between neighbours and from value to value; either way their costs
    add up to the distance. This prints values of the table: it is for the steward's own eyes.
    """
    from tclose import api
    from tclose.report import explanation_view, flow_svg
    from tclose.table.write import refuse_overwriting, refuse_unwritable, write_text

    options.policy_or_columns(policy, quasi, sensitive)
    if svg is not None:
        refuse_unwritable(svg)
        refuse_overwriting(svg, (file, policy))
    with progress() as step:
        why = api.explain(
            file,
            policy,
            number=number,
            attribute=attribute,
            quasi=quasi,
            sensitive=sensitive,
            reading=options.reading(delimiter, encoding, null, memory),
            progress=step,
        )
    if svg is not None:
        write_text(svg, flow_svg(why))
        say(f"picture: {svg}")
    if as_json:
        print_json(why.to_json())
    else:
        stdout().print(explanation_view(why))
