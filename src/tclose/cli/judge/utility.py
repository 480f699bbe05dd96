"""tclose utility: what is a release still good for?"""

from __future__ import annotations

from typing import Annotated

import typer

from tclose.cli import options
from tclose.cli.console import guarded, progress, show


@guarded
def utility(
    release: Annotated[
        options.Place,
        typer.Argument(
            metavar="RELEASE",
            help="The released table.",
            show_default=False,
            parser=options.place,
        ),
    ],
    original: Annotated[
        options.Place,
        typer.Option(metavar="FILE", help="The table that it was made from.", parser=options.place),
    ],
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
