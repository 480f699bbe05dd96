"""Commands that look at a table or a release: audit, verify, explain, attack, utility."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from tclose.cli import options
from tclose.cli.console import FAILS, HOLDS, guard, print_json, progress, say, show, stdout
from tclose.data.io.paths import Reading
from tclose.errors import UsageError

if TYPE_CHECKING:
    from tclose.policy import Policy
    from tclose.verify.forms import Recount


@guard
def audit(
    file: options.Table,
    *,
    declared: options.DeclaredColumns,
    population: options.Population = None,
    report: options.Report = None,
    edition: options.Edition = "external",
    reading: options.ReadingOptions,
    as_json: options.AsJson = False,
) -> None:
    """Measure how private a table is, and which classes break the promise.

    Exit code 0: the promise holds (or none was made); 1: it does not.
    """
    import tclose
    from tclose.report.render.saving import choose_file, refuse_report
    from tclose.report.summaries import summarize_audit
    from tclose.workflows.inputs import count_population

    refuse_report(report, edition, (file, declared["policy"], population))
    document = None
    with progress() as step:
        result = tclose.audit(
            file, **declared, population=population, reading=reading, progress=step
        )
        if report is not None:
            step("writing the report")
            document = tclose.audit_report(
                result,
                choose_file(report),
                edition=edition,
                hashes={"table": result.bound.source.digest()},
                population=count_population(result.bound, population, reading),
            )
    show(result, summarize_audit, as_json=as_json, document=document, report=report)
    raise typer.Exit(FAILS if result.holds is False else HOLDS)


@guard
def verify(
    file: options.Table,
    policy: options.PolicyFile = None,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="C", help="Confirm or refute every line of this certificate."),
    ] = None,
    population: options.Population = None,
    report: options.Report = None,
    edition: options.Edition = "external",
    *,
    reading: options.ReadingOptions,
    as_json: options.AsJson = False,
) -> None:
    """Recount a released table from scratch, in exact integers: does the promise hold?

    With a certificate, every line of it is held against the fresh count; its own policy is judged
    unless another is given. FILE may also be a folder of files, or one that `tclose split` wrote.
    Exit code 0: all holds; 1: it does not, or cannot be decided.
    """
    import tclose
    from tclose.report.render.saving import choose_file, refuse_report
    from tclose.report.summaries import summarize_audit, summarize_checks
    from tclose.verify import Certificate, recheck
    from tclose.workflows.inputs import count_population, parse_embedded_policy

    refuse_report(report, edition, (file, policy, certificate, population))
    against = policy is not None or certificate is not None
    if isinstance(file, Path) and file.is_dir() and not (against and _is_table(file)):
        others = {"--certificate": certificate, "--population": population, "--report": report}
        _verify_folder(file, policy, reading, others, as_json=as_json)
    if not against:
        raise UsageError("verify against what?", hint="give --policy POLICY or --certificate C")
    stated = None if certificate is None else Certificate.load(certificate)
    rules: Path | Policy | None = policy
    if policy is None and stated is not None and certificate is not None:
        rules = parse_embedded_policy(stated.policy, certificate.parent, "certificate")
    assert rules is not None
    with progress() as step:
        result = tclose.verify(file, rules, population=population, reading=reading, progress=step)
    now = result.bound.source.digest()
    checks = () if stated is None else recheck(stated, result, now)
    document = None
    if report is not None:
        document = tclose.audit_report(
            result,
            choose_file(report),
            edition=edition,
            kind="verify",
            certificate=stated,
            checks=checks,
            hashes={"file as counted": now},
            population=count_population(result.bound, population, reading),
        )
    held = [] if stated is None else [summarize_checks(checks)]
    lines = {} if stated is None else {"certificate": [vars(check) for check in checks]}
    show(
        result,
        lambda audit: [*summarize_audit(audit, details=False), *held],
        as_json=as_json,
        plain=lambda audit: audit.to_json() | lines,
        document=document,
        report=report,
    )
    sound = all(check.confirmed is not False for check in checks)
    raise typer.Exit(HOLDS if result.holds and sound else FAILS)


def _is_table(folder: Path) -> bool:
    """Whether a folder's files are one table, not those of a split release."""
    from tclose.verify.forms import CERTIFICATE

    return not (folder / CERTIFICATE).exists()


def _verify_folder(
    folder: Path,
    policy: Path | None,
    reading: Reading,
    others: Mapping[str, object],
    *,
    as_json: bool,
) -> NoReturn:
    """`tclose verify FOLDER`: the tables of a split release, counted again."""
    wrong = [name for name, value in others.items() if value is not None]
    if reading != Reading(memory=reading.memory):
        wrong.append("a delimiter, encoding or text for missing values")
    if wrong:
        raise UsageError(
            f"{wrong[0]} is about a single file", where=str(folder), hint="leave it out"
        )
    import tclose
    from tclose.report.render.terminal import render_parts
    from tclose.report.summaries import summarize_checks

    found = tclose.verify_split(folder, policy, memory=reading.memory)
    if as_json:
        print_json(found.to_json())
    else:
        show_recount(found)
        stdout().print(render_parts([summarize_checks(found.checks)]))
    raise typer.Exit(HOLDS if found.holds else FAILS)


def show_recount(found: Recount) -> None:
    """What was counted on every table."""
    from rich.text import Text

    from tclose.report.render.terminal import render_parts
    from tclose.report.summaries import tabulate_promised

    groups = "classes or more" if found.layout.form == "projections" else "groups"
    head = f"{found.layout.form}: {found.rows:,} rows in {found.groups:,} {groups}. "
    holds = ("The promise holds.", "green") if found.holds else ("It does NOT hold.", "bold red")
    stdout().print(Text.assemble((head, "bold"), holds))
    for file, audit in found.audits.items():
        stdout().print(render_parts([tabulate_promised(file, audit.requirements)]))


@guard
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
            file, **declared, number=number, attribute=attribute, reading=reading, progress=step
        )
    if svg is not None:
        write_text(svg, draw_flow(why))
        say(f"picture: {svg}")
    show(why, summarize_explanation, as_json=as_json)


@guard
def attack(
    file: options.Table,
    policy: options.Policy,
    original: Annotated[options.Place | None, options.of_original] = None,
    population: options.Population = None,
    other: Annotated[
        options.Place | None, options.table_option(help="Another release about the same people.")
    ] = None,
    key: options.Key = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed where people are drawn.")] = 1,
    *,
    reading: options.ReadingOptions,
    as_json: options.AsJson = False,
) -> None:
    """Try every known attack on a release, and say what each would learn.

    No cell value is printed: classes and values are told by their numbers. Nothing is judged
    against the policy's promise (`tclose verify` does that), so the exit code is 0 whatever is
    found.
    """
    import tclose
    from tclose.report.summaries import summarize_attacks

    with progress() as step:
        report = tclose.attack(
            file,
            policy,
            original=original,
            population=population,
            other=other,
            key=key,
            seed=seed,
            reading=reading,
            progress=step,
        )
    show(report, summarize_attacks, as_json=as_json)


@guard
def utility(
    release: Annotated[
        options.Place, options.table_argument(metavar="RELEASE", help="The released table.")
    ],
    original: Annotated[options.Place, options.of_original],
    policy: options.Policy,
    queries: Annotated[
        int, typer.Option(metavar="N", min=0, help="How many random counts to ask; 0 for none.")
    ] = 1000,
    columns: Annotated[
        int, typer.Option(metavar="N", min=1, help="Quasi-identifiers that each of them is about.")
    ] = 3,
    share: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the rows that each is to select.")
    ] = 0.1,
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Also learn this column (needs scikit-learn)."),
    ] = None,
    key: options.Key = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of queries and models.")] = 1,
    *,
    reading: options.ReadingOptions,
    as_json: options.AsJson = False,
) -> None:
    """Measure what a release is still good for: losses, errors of counts, learning.

    Works for a release of any tool whose values can be read (intervals, sets, masks, labels of the
    policy's hierarchies).
    """
    import tclose
    from tclose.report.summaries import summarize_utility

    with progress() as step:
        result = tclose.measure(
            original,
            release,
            policy,
            queries=queries,
            columns=columns,
            share=share,
            target=target,
            key=key,
            seed=seed,
            reading=reading,
            progress=step,
        )
    show(result, summarize_utility, as_json=as_json)
