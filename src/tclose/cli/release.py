"""Commands that search: anonymize, apply, split, frontier, lattice, methods."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tclose.cli import options
from tclose.cli.console import (
    command_line,
    guard,
    print_json,
    print_table,
    progress,
    say,
    searching,
    show,
    stdout,
)
from tclose.cli.judge import show_recount
from tclose.errors import UsageError

if TYPE_CHECKING:
    from tclose.release import Release
    from tclose.search import Method, Outcome


@guard
def anonymize(
    file: options.Table,
    policy: options.Policy,
    output: options.Output,
    certificate: options.CertificateFile = None,
    plan: Annotated[
        Path | None, typer.Option("--plan", metavar="PLAN", help="Where to write the plan (JSON).")
    ] = None,
    *,
    method: options.Method = None,
    search: options.SearchOptions,
    report: options.Report = None,
    edition: options.Edition = "external",
    frontier: Annotated[
        bool,
        typer.Option("--frontier", help="Put loss against t into the report: as much work again."),
    ] = False,
    on_interrupt: Annotated[
        str, typer.Option(help="After Ctrl-C: ask, keep the best so far, or drop it.")
    ] = "ask",
    population: options.Population = None,
    key_file: options.KeyFile = None,
    reading: options.ReadingOptions,
    as_json: options.AsJson = False,
) -> None:
    """Find the release that keeps the promise with the least loss; write, verify, certify it.

    The file appears only after it has been read back and every requirement recounted on it.
    """
    import tclose
    from tclose.data.io.files import refuse_overwriting
    from tclose.report.render.saving import choose_file, refuse_report
    from tclose.report.summaries import summarize_release

    written = (output, certificate, plan)
    refuse_report(report, edition, (file, policy, population, key_file), written)
    for target in written:
        if target is not None:
            refuse_overwriting(target, (key_file,))
    if frontier and report is None:
        raise UsageError("--frontier is a part of the report", hint="name one with --report")
    if on_interrupt not in ("ask", "keep", "drop"):
        raise UsageError("--on-interrupt is ask, keep or drop")
    with searching() as watch:
        release = tclose.anonymize(
            file,
            policy,
            output=output,
            certificate=certificate,
            plan=plan,
            method=method,
            **search,
            population=population,
            key=options.read_key(key_file),
            reading=reading,
            **watch,
            on_cancel=lambda outcome: _keep(outcome, on_interrupt),
            command=command_line(),
        )
    curves = None
    if frontier:
        with searching() as watch:
            curves = tclose.frontier(
                file,
                policy,
                methods=method,
                **search,
                population=population,
                reading=reading,
                **watch,
            )
    document = None
    if report is not None:
        with progress() as step:
            step("attacking the release, for the report")
            document = release.report(choose_file(report), edition=edition, frontier=curves)
    plain = release_to_json
    show(release, summarize_release, as_json=as_json, plain=plain, document=document, report=report)


def release_to_json(release: Release) -> dict[str, Any]:
    """What a release is, as plain values."""
    content = release.certificate.to_json()
    stated = "way held_back widened changed_hierarchies levels optimality leftover".split()
    return {
        **{key: content[key] for key in stated if key in content},
        "output": str(release.path),
        "rows": release.audit.rows,
        "classes": release.classes,
        "left_out": release.left_out,
        "outside": release.outside,
        "loss": release.loss.overall,
        "columns": release.loss.columns,
        "holds": release.holds,
        "method": content["method"],
        "requirements": [verdict.to_json() for verdict in release.audit.requirements],
    }


def _keep(outcome: Outcome, wish: str) -> bool:
    if wish == "ask" and sys.stdin.isatty():
        return typer.confirm(f"Stopped. Keep the best release so far (loss {outcome.loss:.4f})?")
    return wish == "keep"


@guard
def apply(
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN", help="The plan of a release.", show_default=False)
    ],
    file: options.Table,
    output: options.Output,
    policy: options.PolicyFile = None,
    certificate: options.CertificateFile = None,
    population: options.Population = None,
    key_file: options.KeyFile = None,
    *,
    reading: options.ReadingOptions,
    as_json: options.AsJson = False,
) -> None:
    """Recode next month's rows by the levels, cuts or classes of an earlier release.

    Classes are widened where a row in them needs it. Rows outside of all that the plan covers, or
    that would break the promise, are held back and counted. The promise is the plan's own policy
    unless one is given; its relative paths start from the plan.
    """
    import tclose
    from tclose.data.io.files import refuse_overwriting
    from tclose.recode import Plan
    from tclose.report.summaries import summarize_release

    made = Plan.load(plan)
    for target in (output, certificate):
        if target is not None:
            refuse_overwriting(target, (plan, key_file))
    with progress() as step:
        step("putting rows into the plan's classes")
        release = tclose.apply(
            made,
            file,
            policy=policy,
            base=plan.parent,
            output=output,
            certificate=certificate,
            population=population,
            key=options.read_key(key_file),
            reading=reading,
            command=command_line(),
        )
    show(release, summarize_release, as_json=as_json, plain=release_to_json)


@guard
def split(
    file: options.Table,
    policy: options.Policy,
    form: Annotated[str, typer.Option(metavar="FORM", help="anatomy, slicing or projections.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="A new folder for the tables.")
    ],
    column_set: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="A,B", help="Columns to be published together (repeatable)."),
    ] = None,
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="csv, parquet or arrow; like FILE if unsaid.")
    ] = None,
    method: Annotated[
        str | None,
        options.of_search(metavar="NAME", help="dealing, or a search; see `tclose methods`."),
    ] = None,
    *,
    limits: options.SearchLimits,
    seed: options.Seed = None,
    key_file: options.KeyFile = None,
    reading: options.ReadingOptions,
    as_json: options.AsJson = False,
) -> None:
    """Publish a table as several that keep the promise together; write, verify, certify them.

    anatomy: exact quasi-identifiers, and beside them counts of sensitive values per group. slicing:
    sets of columns, shuffled within groups. projections: a release per set of sensitive attributes.
    The folder appears only after its files have been read back and recounted (`tclose verify
    FOLDER` does that again).
    """
    import tclose

    with searching() as watch:
        made = tclose.split(
            file,
            policy,
            form=form,
            output=output,
            sets=None if not column_set else [_split_names(names) for names in column_set],
            kind=kind,
            method=method,
            **limits,
            seed=seed,
            key=options.read_key(key_file),
            reading=reading,
            **watch,
            command=command_line(),
        )
    if as_json:
        further = {
            "output": str(made.path),
            "sets": [list(names) for names in made.sets],
            "files": made.certificate.hashes.files,
            "method": made.certificate.method,
            "attacks": [finding.to_json() for finding in made.findings],
            "notes": list(made.notes),
        }
        print_json(made.recount.to_json() | further)
        return
    show_recount(made.recount)
    for note in made.notes:
        stdout().print(f"Note: {note}", style="yellow", markup=False)


def _split_names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


@guard
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


@guard
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


@guard
def methods(as_json: options.AsJson = False) -> None:
    """List the search methods and what each supports."""
    from tclose.search import METHODS

    known = [(method.name, method.summary, _list_abilities(method)) for method in METHODS.values()]
    if as_json:
        print_json([dict(zip(("name", "summary", "supports"), row, strict=True)) for row in known])
        return
    headings = ("method", "what it does", "supports")
    rows = [(name, summary, ", ".join(able)) for name, summary, able in known]
    print_table("Search methods", headings, rows)


def _list_abilities(method: Method) -> list[str]:
    """What a method can do beyond k, l and t by tree distances, in words."""
    words = {
        "any requirement": method.any_requirement,
        "(n, t)-closeness": method.supersets,
        "leaving rows out": method.suppression,
        "overlapping classes": method.local,
        "losses, weights and levels": method.takes_objective,
    }
    return [word for word, able in words.items() if able]
