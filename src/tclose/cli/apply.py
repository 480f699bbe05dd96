"""tclose apply: recode new rows as an earlier release was."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from tclose.cli import options
from tclose.cli.anonymize import CertificateFile, KeyFile, Output, read_key, release_json
from tclose.cli.console import guarded, print_json, progress, stdout
from tclose.errors import UsageError


@guarded
def apply(
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN", help="The plan of a release.", show_default=False)
    ],
    file: options.Table,
    output: Output,
    policy: options.PolicyFile = None,
    certificate: CertificateFile = None,
    population: options.Population = None,
    key_file: KeyFile = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    null: options.Null = None,
    memory: options.Memory = None,
    as_json: options.AsJson = False,
) -> None:
    """Recode next month's rows by the levels, cuts or classes of an earlier release.

    Classes are widened where a row in them needs it. Rows outside of all that the plan covers, or
    that would break the promise, are held back and counted. The promise is the plan's own policy
    unless one is given; its relative paths start from the plan.
    """
    from tclose import publish
    from tclose.recode import Plan
    from tclose.report.released import release_view
    from tclose.table.write import refuse_overwriting

    try:
        made = Plan.from_json(json.loads(plan.read_text(encoding="utf-8")))
    except OSError as error:
        raise UsageError(f"cannot be read ({error.strerror})", where=str(plan)) from None
    except ValueError:
        raise UsageError("this is not a plan of tclose", where=str(plan)) from None
    for target in (output, certificate):
        if target is not None:
            refuse_overwriting(target, (plan, key_file))
    with progress() as step:
        step("putting rows into the plan's classes")
        release = publish.apply(
            made,
            file,
            policy=policy,
            base=plan.parent,
            output=output,
            certificate=certificate,
            population=population,
            key=read_key(key_file),
            reading=options.reading(delimiter, encoding, null, memory),
            command=shlex.join(["tclose", *sys.argv[1:]]),
        )
    if as_json:
        print_json(release_json(release))
    else:
        stdout().print(release_view(release))
