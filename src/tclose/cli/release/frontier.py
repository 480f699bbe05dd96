"""tclose frontier: what a stricter or a milder promise would cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tclose.cli import options
from tclose.cli.console import guarded, say, show
from tclose.cli.search_progress import searching


@guarded
def frontier(
    file: options.Table,
    policy: options.Policy,
    t: Annotated[
        str | None,
        typer.Option("--t", metavar="RANGE", help="0.05:0.5 (if nothing is said), or 0.1,0.2."),
    ] = None,
    k: Annotated[
        str | None, typer.Option("--k", metavar="RANGE", help="Vary k, such as 2:20 or 2,5,10.")
    ] = None,
    method: Annotated[
        str | None,
        options.of_search(metavar="A,B", help="One curve for each; see `tclose methods`."),
    ] = None,
    loss: Annotated[
        str,
        typer.Option(metavar="MEASURE", help="loss, ncp, entropy, discernibility, query-error, …"),
    ] = "loss",
    points: Annotated[int, typer.Option(min=2, help="Points of a range.")] = 10,
    svg: Annotated[
        Path, typer.Option("--svg", metavar="FILE", help="Where to draw the curves.")
    ] = Path("frontier.svg"),
    report: options.Report = None,
    *,
    search: options.SearchOptions,
    population: options.Population = None,
    reading: options.ReadingOptions,
    as_json: options.AsJson = False,
) -> None:
    """Show what a stricter or a milder promise would cost: loss against t, or against k.

    Ctrl-C stops after the points that are done. Nothing is released, and nothing is chosen.
    """
    import tclose
    from tclose.data.io.files import refuse_overwriting, refuse_unwritable, write_text
    from tclose.report.frontier import draw_frontier, make_frontier_document, summarize_frontier
    from tclose.report.render.saving import choose_file, refuse_report, save_document

    refuse_unwritable(svg)
    refuse_overwriting(svg, (file, policy, population), "the picture")
    refuse_report(report, "external", (file, policy, population), (svg,))
    with searching() as watch:
        found = tclose.frontier(
            file,
            policy,
            t=t,
            k=k,
            methods=method,
            loss=loss,
            points=points,
            **search,
            population=population,
            reading=reading,
            **watch,
            announce=say,
        )
    write_text(svg, draw_frontier(found))
    document = None if report is None else make_frontier_document(found, file.name)
    if document is not None and (page := choose_file(report)) is not None:
        save_document(document, page)
    show(found, summarize_frontier, as_json=as_json, document=document, report=report)
    say(f"picture: {svg}")
