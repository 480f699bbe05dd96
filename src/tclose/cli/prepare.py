"""Commands around a release: policies, made-up tables, schemas."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import tclose
from tclose.cli import console, options
from tclose.cli.progress import RELEASING
from tclose.errors import PolicyError, UsageError
from tclose.plain import escape_controls, join_lines

if TYPE_CHECKING:
    import pyarrow as pa

    from tclose.policy.draft import Question
    from tclose.release import Release
    from tclose.verify.audit import Audit

policies = typer.Typer(
    help="Check a policy, confirm its draft, import one from ARX, print its schema.",
    no_args_is_help=True,
)


@console.guard
def demo(
    output: Path = Path("tclose-demo"),
    rows: int = 10_000,
    seed: int = 1,
    force: bool = False,
    effort: float = 10,
) -> None:
    """Run all steps on a made-up hospital table: audit, anonymize, verify, report.

    --output, -o DIR: The folder to write to.
    --rows N≥100: How many made-up patients.
    --seed N≥0: Seed: equal seeds give equal tables.
    --effort SECONDS≥0: Amount of work for the search, in seconds of an ordinary processor core.
    """
    from tclose.data.io.files import write_text
    from tclose.report import draw_differences
    from tclose.report.render.saving import save_document
    from tclose.sample import write_hospital

    certificate = output / "certificate.json"
    options.refuse_taken((output, *(output.iterdir() if output.is_dir() else ())), force=force)
    with console.show_steps(*RELEASING) as display:
        table, policy, _ = write_hospital(output, rows, seed)
        before = tclose.audit(table, policy)
        release = tclose.anonymize(
            table,
            policy,
            output=output / "release.csv",
            certificate=certificate,
            plan=output / "plan.json",
            effort=effort,
            **display.watch,
            on_cancel=lambda outcome: True,
        )
        why = tclose.explain(output / "release.csv", policy)
    write_text(output / "audit.json", json.dumps(before.to_json(), indent=2) + "\n")
    write_text(output / "worst-class.svg", draw_differences(why))
    document = release.report(output / "report.html", edition="internal")
    save_document(document, output / "report.txt")
    check = (output / "release.csv", "--certificate", certificate, "--policy", policy)
    _print_comparison(before, release)
    console.stdout().print(
        f"\nRelease: {output / 'release.csv'} (certificate, plan and policy in the same folder)\n"
        f"Report: {output / 'report.html'} (open it in a browser; as text: "
        f"{output / 'report.txt'}); picture of the worst class: {output / 'worst-class.svg'}\n"
        f"Check it yourself: {console.compose_command('verify', *check)}",
        soft_wrap=True,
        markup=False,
    )


def _print_comparison(before: Audit, release: Release) -> None:
    """Prints the made-up table beside the release made from it."""
    after = release.audit
    rows = [
        ("rows", f"{before.rows:,}", f"{after.rows:,}"),
        ("classes", f"{before.classes:,}", f"{after.classes:,}"),
    ]
    for raw, kept in zip(before.requirements, after.requirements, strict=False):
        broken = "" if raw.holds else f", {raw.failing_rows:,} rows in failing classes"
        rows.append(
            (
                f"{raw.title} (required: {raw.required})",
                f"{raw.achieved_text}{broken}",
                f"{kept.achieved_text}, {'holds' if kept.holds else 'FAILS'}",
            )
        )
    rows.append(("the promise", "broken" if before.holds is False else "holds", "holds"))
    rows.append(("loss (0: unchanged, 1: suppressed)", "0", f"{release.loss.overall:.4f}"))
    console.print_table("Before and after", ("", "raw table", "release"), rows)


@console.guard
def generate(output: Path, rows: int = 10_000, seed: int = 1, force: bool = False) -> None:
    """Write a made-up hospital table with realistic relations and missing values.

    --output, -o FILE: A .csv or .parquet file.
    --rows N≥1: How many patients.
    --seed N≥0: Seed: equal seeds give equal tables.
    """
    from tclose.data.io.files import write_table
    from tclose.sample import HOSPITAL_SCHEMA, hospital_blocks

    options.refuse_taken((output,), force=force)
    with console.progress() as step:

        def blocks() -> Iterator[pa.RecordBatch]:
            for at, block in enumerate(hospital_blocks(rows, seed)):
                step(f"writing rows from {at * 100_000:,} of {rows:,}")
                yield block

        write_table(output, HOSPITAL_SCHEMA, blocks())
    console.say(f"{output}: {rows:,} made-up patients")


@console.guard
def init(
    file: options.Place,
    output: Path | None = None,
    force: bool = False,
    ask: bool | None = None,
    *,
    reading: options.ReadingOptions,
) -> None:
    """Draft a policy with a suggested role for every column.

    Suggestions end in a question mark, and the draft cannot be used until they are confirmed.
    Doubtful columns are marked by a comment, or asked about on a terminal.

    --output, -o POLICY: The policy file to write. Default: print it.
    --ask/--no-ask: Whether to ask about doubtful columns one by one. Default: on a terminal.
    """
    from tclose.data.io.files import write_text

    if output is not None:
        options.refuse_taken((output,), force=force, inputs=(file,))
    with console.progress() as step:
        step("looking at the columns")
        suggested = tclose.draft_policy(file, reading=reading)
    for note in suggested.notes:
        console.say(f"Note: {note}")
    asked = suggested.questions
    on_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if ask and not on_terminal:
        hint = "run it on a terminal, without a pipe; or read the lines marked DOUBTFUL"
        raise UsageError("there is no terminal to ask on", where="--ask", hint=hint)
    answers = _ask(asked) if on_terminal and ask is not False else {}
    suggested = suggested.answer(answers)
    if output is None:
        console.echo(suggested.text, nl=False)
        return
    write_text(output, suggested.text)
    if left := len(asked) - len(answers):
        are = "question is" if left == 1 else "questions are"
        console.say(f"{left} {are} open: see the comments in {output}")
    confirm = console.compose_command("policy", "confirm", output)
    audit = console.compose_command("audit", file, "--policy", output)
    console.say(
        f"{output}: read it and correct the roles; remove the question marks, or confirm all that "
        f"are left with `{confirm}`; then `{audit}`"
    )


def _ask(questions: Sequence[Question]) -> dict[tuple[str, str], str]:
    """Asks the questions one by one; an empty answer or the end of the input leaves one open."""
    answers: dict[tuple[str, str], str] = {}
    for question in questions:
        if answers.get((question.column, "role"), "quasi") not in ("quasi", "sensitive"):
            continue
        try:
            if found := _ask_once(question):
                answers[question.column, question.topic] = found
        except typer.Abort:
            break
    return answers


def _ask_once(question: Question) -> str:
    """Reads one answer, which may be abbreviated if that is unambiguous; empty if none is given."""
    choice = "/".join(question.answers)
    words = f"{question.column}: {question.text} [{choice}, Enter leaves it open]"
    while answer := _prompt(words).strip().lower():
        found = [known for known in question.answers if known.startswith(answer)]
        if len(found) == 1:
            return found[0]
        words = f"Which of {choice}? Enter leaves it open"
    return ""


def _prompt(words: str) -> str:
    """Asks in one line, whatever the name of a column holds."""
    shown = escape_controls(words, lines=False)
    answer: str = typer.prompt(shown, default="", show_default=False, err=True)
    return answer


class FileKind(StrEnum):
    """The files that have a schema."""

    CERTIFICATE = "certificate"
    PLAN = "plan"
    POLICY = "policy"


@console.guard
def schema(
    kind: Annotated[
        FileKind,
        typer.Argument(help="Which schema: certificate, plan or policy.", show_default=False),
    ],
) -> None:
    """Print the JSON Schema of a certificate, a plan or a policy."""
    if kind is FileKind.CERTIFICATE:
        from tclose.verify.certificate import Certificate

        console.print_json(Certificate.json_schema())
    elif kind is FileKind.PLAN:
        from tclose.recode.plan import Plan

        console.print_json(Plan.json_schema())
    else:
        from tclose.policy.load import policy_schema

        console.print_json(policy_schema())


@policies.command("schema")
@console.guard
def print_policy_schema() -> None:
    """Print the JSON Schema of a policy, for editors."""
    schema(kind=FileKind.POLICY)


@policies.command()
@console.guard
def check(
    policy: Path,
    file: options.Place | None = None,
    *,
    reading: options.ReadingOptions,
    as_json: bool = False,
) -> None:
    """Report all errors in a policy, optionally for a table.

    With a table, also which promises no release of it can keep, and how large classes must be.

    POLICY: The policy (TOML or JSON).
    FILE: The table it is meant for.
    """
    from tclose.policy.load import load_policy

    notes: tuple[str, ...] = ()
    if file is None:
        load_policy(policy)
    else:
        from tclose.workflows.inputs import assess

        with console.progress() as step:
            step("comparing the policy with the table")
            notes = assess(file, policy, reading=reading)
    if as_json:
        console.print_json({"policy": str(policy), "problems": [], "notes": list(notes)})
        return
    console.echo(join_lines([f"{policy}: no problem found" + (f" with {file}" if file else "")]))
    for note in notes:
        console.echo(join_lines([f"Note: {note}"]))


@policies.command("import-arx")
@console.guard
def import_arx(project: Path, output: Path, table: bool = False) -> None:
    """Convert an ARX project to a policy: roles, hierarchies, models, suppression limit.

    What a policy cannot express is printed, and written into it as a comment.

    PROJECT: A project of ARX (.deid).
    --output, -o FOLDER: A new folder for policy and hierarchies.
    --table: Also write the project's own table, which is raw data.
    """
    from tclose.data.io.files import write_folder
    from tclose.policy.arx_project import read_arx_project

    if output.exists():
        raise UsageError("the folder is there already", where=str(output), hint="name a new one")
    found = read_arx_project(project, table=table)

    def write(folder: Path) -> None:
        (folder / "policy.toml").write_text(found.to_toml(), encoding="utf-8")
        for name, content in found.hierarchies.items():
            (folder / name).write_bytes(content)
        if found.table is not None:
            (folder / "table.csv").write_bytes(found.table)

    write_folder(output, write)
    console.say(f"{output}: policy.toml, {len(found.hierarchies)} hierarchies")
    for note in found.notes:
        console.say(f"Not carried over: {note}")
    if table and found.table is None:
        console.say("the project has no table")
    elif table:
        console.say(f"table.csv: raw data, fields separated by {found.delimiter!r}")


@policies.command()
@console.guard
def confirm(policy: Path, t: str | None = None) -> None:
    """Confirm all suggested roles in a draft by removing the question marks.

    `anonymize` needs a requirement for every sensitive column: give --t, or add one to each.

    POLICY: The policy (TOML or JSON).
    --t T: Add this t to every sensitive column that has no requirement yet.
    """
    from tclose.data.io.files import write_text
    from tclose.policy.draft import confirm_roles, list_doubtful
    from tclose.policy.load import parse_policy, read_raw

    read_raw(policy)
    drafted = policy.read_text(encoding="utf-8")
    text, count = confirm_roles(drafted, t)
    write_text(policy, text)
    console.say(f"{policy}: {count} suggested role{'' if count == 1 else 's'} confirmed")
    if count and (doubtful := list_doubtful(drafted)):
        names = ", ".join(doubtful)
        columns = "doubtful column" if len(doubtful) == 1 else "doubtful columns"
        console.say(f"{columns}: {names}; read the comments beside them before you continue")
    confirmed, problems = parse_policy(read_raw(policy))
    if problems or confirmed is None:
        raise PolicyError(problems)
    if confirmed.unprotected:
        columns = ", ".join(confirmed.unprotected)
        console.say(f"no requirement yet for: {columns}; add a t in the policy, or use --t")
