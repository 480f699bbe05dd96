"""tclose attack: what could somebody who means ill learn from a release?"""

from __future__ import annotations

from typing import Annotated

import typer

from tclose.cli import options
from tclose.cli.console import guarded, progress, show


@guarded
def attack(
    file: options.Table,
    policy: options.Policy,
    original: Annotated[
        options.Place | None,
        typer.Option(metavar="FILE", help="The table that it was made from.", parser=options.place),
    ] = None,
    population: options.Population = None,
    other: Annotated[
        options.Place | None,
        typer.Option(
            metavar="FILE", help="Another release about the same people.", parser=options.place
        ),
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
