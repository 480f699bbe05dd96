"""tclose reproduce: published experiments run again; each writes a page and its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tclose.cli import console, options
from tclose.errors import UsageError

if TYPE_CHECKING:
    from tclose.reproduce.published import Published

app = typer.Typer(help="Run a paper's experiments again.", no_args_is_help=True)


@app.callback()
def _reproduce() -> None:
    """Run the experiments of a paper again."""


def _publish(
    folder: Path,
    files: Iterable[str],
    run: Callable[[Callable[[str], None]], Published],
    *,
    force: bool,
) -> None:
    """Runs an experiment, writes its page, and shows its tables."""
    from tclose.reproduce.published import refuse_files

    options.refuse_taken((folder, *(folder.iterdir() if folder.is_dir() else ())), force=force)
    refuse_files(folder, files)
    with console.progress() as step:
        step("reading the table")
        published = run(step)
        step("writing the page")
        page = published.write(folder)
    for table in published.tables:
        console.print_table(table.caption, table.headings, table.rows)
    console.stdout().print(f"\nPage: {page} (its numbers as CSV files beside it)", markup=False)


def _choose(text: str, known: Sequence[str], where: str) -> list[str]:
    """The items of a comma-separated list; raises for an unknown one."""
    words = list(dict.fromkeys(word.strip() for word in text.split(",")))
    if not set(words) <= set(known):
        raise UsageError("not a reading of the paper", where=where, hint=f"of {', '.join(known)}")
    return words


@app.command()
@console.guard
def li2007(
    adult: Path,
    output: Path = Path("tclose-li2007"),
    distance: str = "hierarchical",
    groups: str = "4-7-3",
    race_levels: str = "2",
    force: bool = False,
) -> None:
    """Similarity attack, efficiency and data quality of Li 2007, section 6, on the Adult table.

    Writes a page with tables and charts, and the numbers as CSV files. The paper leaves some
    choices open: all combinations of the distances, groups and levels given here are run side by
    side, the first of them in full. The exit code is 0 whether or not the paper's numbers come out.

    --adult DIR: The folder with adult.csv and adult_hierarchy_<column>.csv.
    --output, -o FOLDER: The folder to write to.
    --distance A,B: Distances of occupations to run: hierarchical, ordered, equal.
    --groups A,B: Groupings of similar occupations to run: 4-7-3 (the folder's own), 5-5-4 (by
        collar).
    --race-levels A,B: Levels of race to run: 2 (as in the folder), 3 (with white or not).
    """
    from tclose.reproduce import census as known
    from tclose.reproduce.experiments import run_experiments
    from tclose.reproduce.page import FILES, publish_experiments
    from tclose.reproduce.readings import run_reading

    levels = [str(level) for level in known.RACE_LEVELS]
    chosen = [
        known.Reading2007(by, grouped, int(level))
        for by, grouped, level in product(
            _choose(distance, known.DISTANCES, "--distance"),
            _choose(groups, known.GROUPS, "--groups"),
            _choose(race_levels, levels, "--race-levels"),
        )
    ]

    def run(step: Callable[[str], None]) -> Published:
        census = known.open_census(adult)
        found = run_experiments(census.read_as(chosen[0]), progress=step)
        readings = [run_reading(census, reading, progress=step) for reading in chosen]
        return publish_experiments(found, readings)

    _publish(output, FILES, run, force=force)


@app.command()
@console.guard
def closeness(
    adult: Path,
    output: Path = Path("tclose-closeness"),
    effort: float = 5.0,
    force: bool = False,
) -> None:
    """t-closeness against (n, t)-closeness on the Adult table: loss, classes, what is learned.

    Writes a page with pictures, and the numbers as a CSV file: t = 0.1 and 0.2, n = 500 to 5,000.

    --adult DIR: The folder with adult.csv and adult_hierarchy_<column>.csv.
    --output, -o FOLDER: The folder to write to.
    --effort SECONDS≥0: Amount of work per search, in seconds of an ordinary core.
    """
    from tclose.reproduce.census import open_census
    from tclose.reproduce.closeness import FILES, compare_closeness, publish_closeness

    def run(step: Callable[[str], None]) -> Published:
        return publish_closeness(
            compare_closeness(open_census(adult), effort=effort, progress=step)
        )

    _publish(output, FILES, run, force=force)


@app.command()
@console.guard
def thesis(
    adult: Path | None = None,
    output: Path = Path("tclose-thesis"),
    force: bool = False,
) -> None:
    """Fragments of several sensitive attributes: Figures 15, 18 and 19, and both bounds.

    Writes a page with pictures, and the numbers as CSV files: the published bound against the
    corrected one for hours and education, and how closeness diminishes as attributes are added.

    --adult DIR: A folder with adult-full.csv; without, the figures only.
    --output, -o FOLDER: The folder to write to.
    """
    from tclose.reproduce.thesis import FILES, publish_thesis, run_thesis

    _publish(
        output, FILES, lambda step: publish_thesis(run_thesis(adult, progress=step)), force=force
    )
