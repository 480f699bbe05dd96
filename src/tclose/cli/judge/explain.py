"""tclose explain: which mass moves where, behind one class's distance."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tclose.cli import options
from tclose.cli.console import guarded, progress, say, show


@guarded
def explain(
    file: options.Table,
    *,
    declared: options.DeclaredColumns,
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
    reading: options.ReadingOptions,
    as_json: options.AsJson = False,
) -> None:
    """Show a class beside the whole table, and the optimal moves of mass between them.

    The moves are shown twice, between neighbours and from value to value; either way their costs
    add up to the distance. This prints values of the table: it is for the steward's own eyes.
    """
    import tclose
    from tclose.data.io.files import refuse_overwriting, refuse_unwritable, write_text
    from tclose.report import draw_flow
    from tclose.report.explanation import summarize_explanation

    if svg is not None:
        refuse_unwritable(svg)
        refuse_overwriting(svg, (file, declared["policy"]), "the picture")
    with progress() as step:
        why = tclose.explain(
            file,
            **declared,
            number=number,
            attribute=attribute,
            reading=reading,
            progress=step,
        )
    if svg is not None:
        write_text(svg, draw_flow(why))
        say(f"picture: {svg}")
    show(why, summarize_explanation, as_json=as_json)
