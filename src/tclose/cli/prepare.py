"""Commands around a release: policies, made-up tables, schemas, published experiments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tclose.cli import options
from tclose.cli.console import (
    compose_command,
    guard,
    print_json,
    print_table,
    progress,
    say,
    searching,
    stdout,
)
from tclose.errors import PolicyError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from tclose.release import Release
    from tclose.verify import Audit

policies = typer.Typer(
    help="Print the schema of policies, check or confirm one.", no_args_is_help=True
)
experiments = typer.Typer(help="Run the experiments of a paper again.", no_args_is_help=True)

Seed = Annotated[int, typer.Option(min=0, help="Equal seeds give equal tables.")]
PolicyArgument = Annotated[
    Path, typer.Argument(metavar="POLICY", help="The policy (TOML or JSON).", show_default=False)
]
DRAFTED_T = re.compile(r"^# t = [0-9.]+", flags=re.MULTILINE)
SUGGESTED = re.compile(r"""(["'])(identifier|quasi|sensitive|insensitive)\?\1""")


@guard
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="The folder to write to.")
    ] = Path("tclose-demo"),
    rows: Annotated[int, typer.Option(min=100, help="How many made-up patients.")] = 10_000,
    seed: Seed = 1,
    effort: Annotated[float, typer.Option(min=0, help="How much work, in seconds.")] = 10,
) -> None:
    """Make up a hospital table, audit it, anonymize it, verify and explain the release."""
    import tclose
    from tclose.data.io.files import write_text
    from tclose.report import draw_flow
    from tclose.report.render.saving import save_document
    from tclose.sample import write_hospital

    certificate = output / "certificate.json"
    with searching() as watch:
        table, policy, _ = write_hospital(output, rows, seed)
        before = tclose.audit(table, policy)
        release = tclose.anonymize(
            table,
            policy,
            output=output / "release.csv",
            certificate=certificate,
            plan=output / "plan.json",
            effort=effort,
            **watch,
            on_cancel=lambda outcome: True,
        )
        why = tclose.explain(output / "release.csv", policy)
    write_text(output / "audit.json", json.dumps(before.to_json(), indent=2) + "\n")
    write_text(output / "worst-class.svg", draw_flow(why))
    document = release.report(output / "report.html", edition="internal")
    save_document(document, output / "report.txt")
    check = (output / "release.csv", "--certificate", certificate, "--policy", policy)
    _print_comparison(before, release)
    stdout().print(
        f"\nRelease: {output / 'release.csv'} (certificate, plan and policy beside it)\n"
        f"Report: {output / 'report.html'} (opens in any browser; as text: "
        f"{output / 'report.txt'}); its worst class as a picture: {output / 'worst-class.svg'}\n"
        f"Check it yourself: {compose_command('verify', *check)}",
        soft_wrap=True,
        markup=False,
    )


def _print_comparison(before: Audit, release: Release) -> None:
    """The made-up table as it stands beside the release made from it."""
    after = release.audit
    rows = [
        ("rows", f"{before.rows:,}", f"{after.rows:,}"),
        ("classes", f"{before.classes:,}", f"{after.classes:,}"),
    ]
    for raw, kept in zip(before.requirements, after.requirements, strict=False):
        broken = "" if raw.holds else f", {raw.failing_rows:,} rows in classes that break it"
        rows.append(
            (
                f"{raw.title} (asked: {raw.required})",
                f"{raw.achieved_text}{broken}",
                f"{kept.achieved_text}, {'holds' if kept.holds else 'FAILS'}",
            )
        )
    rows.append(("the promise", "broken" if before.holds is False else "holds", "holds"))
    rows.append(("loss (0 exact, 1 nothing left)", "0", f"{release.loss.overall:.4f}"))
    print_table("Before and after", ("", "the table as it stands", "the release"), rows)


@guard
def generate(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="A .csv or .parquet file.")
    ],
    rows: Annotated[int, typer.Option(min=1, help="How many patients.")] = 10_000,
    seed: Seed = 1,
) -> None:
    """Write a made-up hospital table: no real person, but realistic relations and gaps."""
    from tclose.data.io.files import write_table
    from tclose.sample import HOSPITAL_SCHEMA, hospital_blocks

    with progress() as step:

        def blocks() -> Iterator[pa.RecordBatch]:
            for at, block in enumerate(hospital_blocks(rows, seed)):
                step(f"writing rows from {at * 100_000:,} of {rows:,}")
                yield block

        write_table(output, HOSPITAL_SCHEMA, blocks())
    say(f"{output}: {rows:,} made-up patients")


@guard
def init(
    file: options.Table,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="POLICY", help="Where to write; printed if not given."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing policy.")] = False,
    *,
    reading: options.ReadingOptions,
) -> None:
    """Draft a commented policy: kinds, counts, and a suggested role for every column.

    Suggestions end in a question mark, and the draft does not run until they are confirmed.
    """
    from tclose.data.binding import open_source
    from tclose.data.io.files import refuse_overwriting, write_text
    from tclose.data.profile import profile_columns
    from tclose.policy.draft import draft

    if output is not None:
        refuse_overwriting(output, (file,))
    if output is not None and output.exists() and not force:
        raise UsageError(
            "there is such a file already",
            where=str(output),
            hint="choose another name, or overwrite it with --force",
        )
    with progress() as step:
        step("looking at the columns")
        reading.refuse_idle_query(file)
        source = open_source(file, reading)
        text = draft(source.name, profile_columns(source))
    for note in source.notes:
        say(f"Note: {note}")
    if output is None:
        typer.echo(text, nl=False)
        return
    write_text(output, text)
    say(
        f"{output}: read it, correct the roles and remove the question marks; "
        f"then `tclose audit {file} --policy {output}`"
    )


class FileKind(StrEnum):
    """The files that have a schema."""

    CERTIFICATE = "certificate"
    PLAN = "plan"
    POLICY = "policy"


@guard
def schema(
    kind: Annotated[FileKind, typer.Argument(help="Which file.", show_default=False)],
) -> None:
    """Print the JSON Schema of a certificate, a plan or a policy."""
    if kind is FileKind.CERTIFICATE:
        from tclose.verify import Certificate

        print_json(Certificate.json_schema())
    elif kind is FileKind.PLAN:
        from tclose.recode.plan import Plan

        print_json(Plan.json_schema())
    else:
        from tclose.policy import policy_schema

        print_json(policy_schema())


@policies.command("schema")
@guard
def print_policy_schema() -> None:
    """Print the JSON Schema of a policy, for editors that check while one types."""
    from tclose.policy import policy_schema

    print_json(policy_schema())


@policies.command()
@guard
def check(
    policy: PolicyArgument,
    file: Annotated[
        options.Place | None,
        options.table_argument(metavar="FILE", help="The table it is meant for."),
    ] = None,
    *,
    reading: options.ReadingOptions,
    as_json: options.AsJson = False,
) -> None:
    """Report everything that is wrong with a policy, by itself or for a table."""
    import tclose
    from tclose.policy import load_policy

    if file is None:
        load_policy(policy)
    else:
        with progress() as step:
            step("comparing the policy with the table")
            tclose.check(file, policy, reading=reading)
    if as_json:
        print_json({"policy": str(policy), "problems": []})
    else:
        typer.echo(f"{policy}: no problem found" + (f" with {file}" if file else ""))


@policies.command()
@guard
def confirm(
    policy: PolicyArgument,
    t: Annotated[
        str | None,
        typer.Option("--t", help="Promise this t of every sensitive column drafted without one."),
    ] = None,
) -> None:
    """Confirm every role that is still only suggested: removes the question marks.

    `anonymize` needs a promise of every sensitive column: name a t here, or write one at each.
    """
    from tclose.data.io.files import write_text
    from tclose.policy.load import parse_policy, read_raw

    read_raw(policy)
    text, count = SUGGESTED.subn(r"\1\2\1", policy.read_text(encoding="utf-8"))
    if t is not None:
        _refuse_threshold(t)
        text, drafted = DRAFTED_T.subn(f't = "{t}"', text)
        if not drafted:
            raise UsageError(
                "no sensitive column was drafted without a t, so --t would change nothing",
                where=str(policy),
                hint='give the columns to protect the role "sensitive", with a t at each',
            )
    write_text(policy, text)
    say(f"{policy}: {count} suggested role{'' if count == 1 else 's'} confirmed")
    confirmed, problems = parse_policy(read_raw(policy))
    if problems or confirmed is None:
        raise PolicyError(problems)
    if confirmed.unprotected:
        columns = ", ".join(confirmed.unprotected)
        say(f"nothing is promised yet of {columns}: write a t there, or give --t")


def _refuse_threshold(text: str) -> None:
    from tclose.distance.numbers import exact

    try:
        if 0 <= exact(text) <= 1:
            return
    except ValueError:
        pass
    raise UsageError("t is a number in [0, 1]", where="--t", hint="such as 0.2 or 1/5")


@experiments.callback()
def _reproduce() -> None:
    """Run the experiments of a paper again."""


@experiments.command("li2007")
@guard
def li2007(
    adult: Annotated[
        Path,
        typer.Option(
            "--adult",
            metavar="DIR",
            help="The folder with adult.csv and adult_hierarchy_<column>.csv.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="The folder to write to.")
    ] = Path("tclose-li2007"),
) -> None:
    """Similarity attack, efficiency and data quality of Li 2007, section 6, on the Adult table.

    Writes a page with tables and charts, and the numbers as CSV files. The exit code is 0 whether
    or not the paper's numbers come out: that they differ is a result.
    """
    from tclose.reproduce.census import open_census
    from tclose.reproduce.claims import check_claims
    from tclose.reproduce.experiments import run_experiments
    from tclose.reproduce.page import refuse_folder, write_report

    refuse_folder(output)
    with progress() as step:
        step("reading the table")
        census = open_census(adult)
        found = run_experiments(census, progress=step)
        step("writing the page")
        written = write_report(found, output)
    headings = ("statement", "paper", "here", "verdict")
    claims = [
        (claim.about, claim.stated, claim.measured, claim.verdict) for claim in check_claims(found)
    ]
    print_table("Li 2007, section 6", headings, claims)
    stdout().print(f"\nPage: {written[0]} (its numbers as CSV files beside it)", markup=False)
