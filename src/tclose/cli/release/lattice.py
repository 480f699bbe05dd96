"""tclose lattice: every full-domain generalization at a glance."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tclose.cli import options
from tclose.cli.console import guarded, say, show
from tclose.cli.search_progress import searching


@guarded
def lattice(
    file: options.Table,
    policy: options.Policy,
    svg: Annotated[
        Path, typer.Option("--svg", metavar="FILE", help="Where to draw a small lattice.")
    ] = Path("lattice.svg"),
    *,
    suppression: options.Suppression = None,
    limits: options.SearchLimits,
    population: options.Population = None,
    reading: options.ReadingOptions,
    as_json: options.AsJson = False,
) -> None:
    """Show which generalizations of whole columns keep the promise, and which loses least.

    A lattice of up to 20 000 nodes is looked at node by node and, up to 5 000, drawn; of a larger
    one the best node is searched for, with a bound on what any node loses.
    """
    import tclose
    from tclose.data.io.files import refuse_overwriting, refuse_unwritable, write_text
    from tclose.report.lattice import draw_lattice, lattice_to_json, summarize_lattice

    refuse_unwritable(svg)
    refuse_overwriting(svg, (file, policy, population), "the picture")
    with searching() as watch:
        found = tclose.lattice(
            file,
            policy,
            suppression=suppression,
            **limits,
            population=population,
            reading=reading,
            **watch,
        )
    drawn = draw_lattice(found)
    if drawn is not None:
        write_text(svg, drawn)
    show(found, summarize_lattice, as_json=as_json, plain=lattice_to_json)
    say(f"picture: {svg}" if drawn is not None else "no picture: there are too many nodes to draw")
