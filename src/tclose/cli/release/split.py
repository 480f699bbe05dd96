"""tclose split: publish a table as several, breaking links in place of values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from tclose.cli import options
from tclose.cli.console import FAILS, HOLDS, command_line, guarded, print_json, stdout
from tclose.cli.search_progress import searching
from tclose.data.io.reading import Reading
from tclose.errors import UsageError

if TYPE_CHECKING:
    from tclose.verify.forms import Recount


@guarded
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
            sets=None if not column_set else [_names(one) for one in column_set],
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
        told = {"output": str(made.path), "sets": [list(names) for names in made.sets]}
        found = [one.to_json() for one in made.findings]
        print_json(made.recount.to_json() | told | {"files": made.certificate.hashes.files,
                   "method": made.certificate.method, "attacks": found,
                   "notes": list(made.notes)})  # fmt: skip
        return
    show(made.recount)
    for note in made.notes:
        stdout().print(f"Note: {note}", style="yellow", markup=False)


def verify_folder(
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
        show(found)
        stdout().print(render_parts([summarize_checks(found.checks)]))
    raise typer.Exit(HOLDS if found.holds else FAILS)


def show(found: Recount) -> None:
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


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
