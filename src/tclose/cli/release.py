"""Commands that make a release: anonymize, apply, split."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import tclose
from tclose.cli import console, options
from tclose.cli.judge import show_recount
from tclose.cli.progress import (
    ATTACKING,
    DRAWING,
    READING,
    RELEASING,
    REPORTING,
    SEARCHING,
    Display,
)
from tclose.data.io.transaction import write_together
from tclose.errors import UsageError

if TYPE_CHECKING:
    from tclose.release import Release
    from tclose.search import Outcome


@console.guard
def anonymize(
    file: options.Place,
    policy: Path,
    output: options.Place,
    certificate: Path | None = None,
    plan: Path | None = None,
    *,
    method: str | None = None,
    search: options.SearchOptions,
    fallback: bool = False,
    polish: bool | None = None,
    report: Path | None = None,
    edition: str = "external",
    dictionary: Path | None = None,
    attacks: bool = True,
    frontier: bool = False,
    on_interrupt: str = "ask",
    population: options.Place | None = None,
    start_from: Path | None = None,
    given: list[options.Place] | None = None,
    given_key: str | None = None,
    key_file: Path | None = None,
    reading: options.ReadingOptions,
    force: bool = False,
    as_json: bool = False,
) -> None:
    """Anonymize a table: search, write, verify and certify a release.

    The file appears only after it has been read back and every requirement verified on it.

    --plan PLAN: Also write a plan (JSON), with which `tclose apply` recodes later tables.
    --frontier: Add a chart of loss against t to the report; takes as long again.
    --on-interrupt WHAT: After Ctrl-C: ask, keep the best release so far, or drop it.
    --given FILE: An earlier release about the same people: the promise holds for both together
        (repeatable).
    --given-key COLUMN: The column that links people with earlier releases.
    The search:
    --fallback: Search under a stricter promise if the one in the policy cannot be proved.
    --polish/--no-polish: Whether to improve the result of the published method.
    """
    from tclose.recode.plan import Plan
    from tclose.report.render.saving import choose_file, refuse_report
    from tclose.report.summaries import summarize_release

    written = (output, certificate, plan)
    inputs = (file, policy, population, key_file, start_from, *(given or ()))
    options.refuse_taken(written, force=force, inputs=inputs)
    refuse_report(report, edition, inputs, written)
    _refuse_dictionary(dictionary, inputs, (*written, report))
    options.refuse_taken((report, dictionary), force=force)
    if frontier and report is None:
        raise UsageError("--frontier is a part of the report", hint="name one with --report")
    if frontier and given:
        raise UsageError(
            "--frontier does not take earlier releases into account",
            hint="leave out --frontier or --given",
        )
    if not attacks and report is None:
        raise UsageError("--no-attacks is about the report", hint="name one with --report")
    if on_interrupt not in ("ask", "keep", "drop"):
        raise UsageError("--on-interrupt is ask, keep or drop")
    search |= {"population": population, "reading": reading}
    later = [DRAWING] if frontier else []
    later += [] if report is None else [ATTACKING, REPORTING]
    pages = (None if report is None else choose_file(report), dictionary)
    with write_together(*written, *pages), console.show_steps(*RELEASING, *later) as display:
        options.refuse_taken((*written, *pages), force=force)  # now nobody else can write them
        release = tclose.anonymize(
            file,
            policy,
            output=output,
            certificate=certificate,
            plan=plan,
            method=method,
            **search,
            fallback=True if fallback else None,
            polish=polish,
            start_from=None if start_from is None else Plan.load(start_from),
            given=list(given) if given else None,
            given_key=given_key,
            key=options.read_key(key_file),
            **display.watch,
            on_cancel=lambda outcome: _keep(outcome, on_interrupt, display),
            command=console.command_line(),
        )
        curves = document = None
        if frontier:
            curves = tclose.frontier(
                file,
                policy,
                methods=method,
                **search,
                start_from=release.plan,
                **display.watch | {"progress": lambda at: display.begin(DRAWING, at.step)},
            )
        if report is not None:
            document = release.report(
                choose_file(report),
                edition=edition,
                frontier=curves,
                attacks=attacks,
                progress=lambda step: display.begin(
                    REPORTING if step == REPORTING else ATTACKING, step
                ),
            )
        _save_dictionary(release, dictionary)
    plain = _to_plain
    console.show(
        release, summarize_release, as_json=as_json, plain=plain, document=document, report=report
    )


def _refuse_dictionary(
    path: Path | None, inputs: tuple[object, ...], outputs: tuple[object, ...]
) -> None:
    """Raises where a data dictionary could not be written, or over another file."""
    from tclose.data.io.files import refuse_overwriting, refuse_unwritable
    from tclose.dictionary import refuse_dictionary

    if path is None:
        return
    refuse_dictionary(path)
    refuse_unwritable(path)
    refuse_overwriting(path, inputs, "the data dictionary")
    if any(isinstance(other, Path) and other.resolve() == path.resolve() for other in outputs):
        raise UsageError("two outputs have the same name", where=str(path))


def _save_dictionary(release: Release, path: Path | None) -> None:
    if path is not None:
        release.dictionary().save(path)
        console.say(f"data dictionary: {path}")


def _to_plain(release: Release) -> dict[str, Any]:
    content = release.certificate.to_json()
    stated = "way held_back widened changed_hierarchies levels optimality leftover masked target"
    return {
        **{key: content[key] for key in stated.split() if key in content},
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


def _keep(outcome: Outcome, wish: str, display: Display) -> bool:
    """Asks after Ctrl-C whether to keep the best release so far, with the display removed."""
    if wish == "ask" and sys.stdin.isatty():
        display.stop()
        console.stderr().print(
            "Stopped. --on-interrupt keep or --on-interrupt drop answers this beforehand."
        )
        return typer.confirm(f"Keep the best release so far (loss {outcome.loss:.4f})?")
    return wish == "keep"


@console.guard
def apply(
    plan: Path,
    file: options.Place,
    output: options.Place,
    policy: Path | None = None,
    certificate: Path | None = None,
    population: options.Place | None = None,
    key_file: Path | None = None,
    dictionary: Path | None = None,
    *,
    reading: options.ReadingOptions,
    force: bool = False,
    as_json: bool = False,
) -> None:
    """Recode new rows with the plan of an earlier release.

    Classes are widened to cover new rows where possible. Rows that no class covers, or that would
    break the promise, are left out and counted. The promise is that of the plan's policy unless
    --policy is given; files that the policy names are looked for in the folder of the plan.

    PLAN: The plan of a release.
    """
    from tclose.recode.plan import Plan
    from tclose.report.summaries import summarize_release

    made = Plan.load(plan)
    inputs = (plan, file, policy, population, key_file)
    _refuse_dictionary(dictionary, inputs, (output, certificate))
    options.refuse_taken((output, certificate, dictionary), force=force, inputs=inputs)
    with write_together(output, certificate, dictionary), console.progress() as step:
        options.refuse_taken((output, certificate, dictionary), force=force)
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
            command=console.command_line(),
        )
        _save_dictionary(release, dictionary)
    console.show(release, summarize_release, as_json=as_json, plain=_to_plain)


@console.guard
def split(
    file: options.Place,
    policy: Path,
    form: str,
    output: Path,
    column_set: list[str] | None = None,
    kind: str | None = None,
    method: str | None = None,
    *,
    seconds: float | None = None,
    effort: float | None = None,
    seed: int | None = None,
    key_file: Path | None = None,
    reading: options.ReadingOptions,
    force: bool = False,
    as_json: bool = False,
) -> None:
    """Publish a table as several tables without links between them; verify and certify them.

    anatomy: exact quasi-identifiers, and counts of sensitive values per group. slicing: sets of
    columns, shuffled within groups. projections: one release per set of sensitive attributes.
    The folder appears only after its files have been read back and recounted (`tclose verify
    FOLDER` does that again).

    --form FORM: How the table is split: anatomy, slicing or projections.
    --output, -o FOLDER: A new folder for the tables.
    column_set --set A,B: Columns that one table publishes together (repeatable).
    --kind KIND: Format of the files: csv, parquet or arrow. Default: that of FILE.
    --force: Create missing folders above the new one.
    The search:
    --method NAME: in-turn (plain groups), or a search method; see `tclose methods`.
    """
    from tclose.report.document import Paragraph
    from tclose.report.render.terminal import render_parts

    options.refuse_taken((output,), force=force)
    sets = [
        [name.strip() for name in names.split(",") if name.strip()] for names in column_set or ()
    ]
    with console.show_steps(READING, SEARCHING) as display:
        made = tclose.split(
            file,
            policy,
            form=form,
            output=output,
            sets=sets or None,
            kind=kind,
            method=method,
            seconds=seconds,
            effort=effort,
            seed=seed,
            key=options.read_key(key_file),
            reading=reading,
            **display.watch,
            command=console.command_line(),
        )
    if as_json:
        further = {
            "output": str(made.path),
            "sets": [list(names) for names in made.sets],
            "files": made.certificate.hashes.files,
            "method": made.certificate.method,
            "attacks": [finding.to_json() for finding in made.findings],
            "warnings": list(made.certificate.warnings or ()),
            "notes": list(made.notes),
        }
        console.print_json(made.recount.to_json() | further)
        return
    show_recount(made.recount)
    notes = [Paragraph(f"Warning: {each}", "bad") for each in made.certificate.warnings or ()]
    notes += [Paragraph(f"Note: {each}", "note") for each in made.notes]
    console.stdout().print(render_parts(notes))
