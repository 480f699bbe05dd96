"""Commands that show what there is to choose from: frontier, lattice, methods, distances."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import tclose
from tclose.cli import console, options
from tclose.cli.progress import READING, SEARCHING
from tclose.data.io.transaction import write_together

if TYPE_CHECKING:
    from tclose.search import Method


@console.guard
def frontier(
    file: options.Place,
    policy: Path,
    t: str | None = None,
    k: str | None = None,
    methods: str | None = None,
    loss: str = "loss",
    points: int = 10,
    svg: Path = Path("frontier.svg"),
    report: Path | None = None,
    *,
    search: options.SearchOptions,
    start_from: Path | None = None,
    population: options.Place | None = None,
    reading: options.ReadingOptions,
    force: bool = False,
    as_json: bool = False,
) -> None:
    """Show how the information loss depends on t or k.

    Nothing is released. Ctrl-C stops and keeps the finished points.

    --t RANGE: Values of t, as a range (default 0.05:0.5) or a list such as 0.1,0.2.
    --k RANGE: Vary k instead: a range such as 2:20 or a list such as 2,5,10.
    --loss MEASURE: What to draw: loss, ncp, entropy, discernibility, query-error or associations.
    --points N≥2: How many points of a range to search.
    --svg FILE: The picture of the curves.
    The search:
    --methods, --method A,B: Search methods, each with a curve; see `tclose methods`.
    """
    from tclose.data.io.files import write_text
    from tclose.recode.plan import Plan
    from tclose.report.frontier import draw_frontier, make_frontier_document, summarize_frontier
    from tclose.report.render.saving import choose_file, refuse_report, save_document

    inputs = (file, policy, population, start_from)
    options.refuse_picture(svg, inputs, force=force)
    refuse_report(report, "external", inputs, (svg,))
    options.refuse_taken((report,), force=force)
    with console.show_steps(READING, SEARCHING) as display:
        found = tclose.frontier(
            file,
            policy,
            t=t,
            k=k,
            methods=methods,
            loss=loss,
            points=points,
            **search,
            start_from=None if start_from is None else Plan.load(start_from),
            population=population,
            reading=reading,
            **display.watch,
            announce=console.say,
        )
    document = None if report is None else make_frontier_document(found, file.name)
    with write_together(svg):
        write_text(svg, draw_frontier(found))
        if document is not None and (page := choose_file(report)) is not None:
            save_document(document, page)
    console.show(found, summarize_frontier, as_json=as_json, document=document, report=report)
    console.say(f"picture: {svg}")


@console.guard
def lattice(
    file: options.Place,
    policy: Path,
    svg: Path = Path("lattice.svg"),
    *,
    suppression: str | None = None,
    seconds: float | None = None,
    effort: float | None = None,
    population: options.Place | None = None,
    reading: options.ReadingOptions,
    force: bool = False,
    as_json: bool = False,
) -> None:
    """Show which full-domain generalizations satisfy the promise, and which loses least.

    Up to 20 000 generalizations are judged one by one, and up to 5 000 are drawn. Of more, only
    the best is searched, with a lower bound of the loss.

    --svg FILE: The picture of a small lattice.
    """
    from tclose.data.io.files import write_text
    from tclose.report.lattice import draw_lattice, summarize_lattice

    options.refuse_picture(svg, (file, policy, population), force=force)
    with console.show_steps(READING, SEARCHING) as display:
        found = tclose.lattice(
            file,
            policy,
            suppression=suppression,
            seconds=seconds,
            effort=effort,
            population=population,
            reading=reading,
            **display.watch,
        )
    drawn = draw_lattice(found)
    if drawn is not None:
        write_text(svg, drawn)
    console.show(found, summarize_lattice, as_json=as_json)
    console.say(
        f"picture: {svg}" if drawn is not None else "no picture: there are too many nodes to draw"
    )


@console.guard
def methods(as_json: bool = False) -> None:
    """List the search methods and what each supports."""
    from tclose.search import METHODS

    known = [(method.name, method.summary, _list_abilities(method)) for method in METHODS.values()]
    if as_json:
        console.print_json(
            [dict(zip(("name", "summary", "supports"), row, strict=True)) for row in known]
        )
    else:
        rows = [(name, summary, ", ".join(able)) for name, summary, able in known]
        console.print_table("Search methods", ("method", "what it does", "supports"), rows)


@console.guard
def distances(as_json: bool = False) -> None:
    """Compare the distances for t-closeness and their uses.

    Computes every distance on the papers' own pairs of distributions, and checks the properties
    that the (n, t)-closeness paper requires of a measure.
    """
    from tclose.report.summaries import summarize_distances

    console.show(tclose.compare_distances(), summarize_distances, as_json=as_json)


def _list_abilities(method: Method) -> list[str]:
    """What a method can do beyond k, l and t with tree distances, in words."""
    words = {
        "any requirement": method.any_requirement,
        "(n, t)-closeness": method.supersets,
        "leaving rows out": method.suppression,
        "overlapping classes": method.local,
        "losses and levels": method.takes_objective,
        "limits of generalization": method.keeps_limits,
    }
    return [word for word, able in words.items() if able]
