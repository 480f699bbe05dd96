"""tclose apply: recode new rows as an earlier release was."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tclose.cli import options
from tclose.cli.console import command_line, guarded, progress, show
from tclose.cli.release.anonymize import release_json


@guarded
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
    show(release, summarize_release, as_json=as_json, plain=release_json)
