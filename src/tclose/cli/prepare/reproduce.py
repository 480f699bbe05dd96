"""tclose reproduce: published experiments, run again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tclose.cli.console import guarded, progress, stdout

if TYPE_CHECKING:
    from rich.table import Table

    from tclose.reproduce import Claim

app = typer.Typer(help="Run the experiments of a paper again.", no_args_is_help=True)


@app.callback()
def _top() -> None:
    """Run the experiments of a paper again."""


@app.command("li2007")
@guarded
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
    from tclose.reproduce import check_claims, open_census, run_experiments, write_report
    from tclose.reproduce.page import refuse_folder

    refuse_folder(output)
    with progress() as step:
        step("reading the table")
        census = open_census(adult)
        found = run_experiments(census, progress=step)
        step("writing the page")
        written = write_report(found, output)
    console = stdout()
    console.print(_summary(check_claims(found)))
    console.print(f"\nPage: {written[0]} (its numbers as CSV files beside it)", markup=False)


def _summary(claims: Sequence[Claim]) -> Table:
    from rich.table import Table

    table = Table(title="Li 2007, section 6", title_justify="left", title_style="bold")
    for heading in ("statement", "paper", "here", "verdict"):
        table.add_column(heading, overflow="fold")
    for claim in claims:
        table.add_row(claim.about, claim.stated, claim.measured, claim.verdict)
    return table
