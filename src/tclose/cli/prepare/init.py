"""tclose init: draft a policy from the columns of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tclose.cli import options
from tclose.cli.console import guarded, progress, say
from tclose.errors import UsageError


@guarded
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
    from tclose.data.io.files import refuse_overwriting, write_text
    from tclose.data.open import open_source
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
