"""tclose generate: a made-up hospital table of any size."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tclose.cli.console import guarded, progress, say

if TYPE_CHECKING:
    import pyarrow as pa


@guarded
def generate(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="A .csv or .parquet file.")
    ],
    rows: Annotated[int, typer.Option(min=1, help="How many patients.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Equal seeds give equal tables.")] = 1,
) -> None:
    """Write a made-up hospital table: no real person, but realistic relations and gaps."""
    from tclose.data.io.files import write_table
    from tclose.sample import HOSPITAL_SCHEMA, hospital_blocks

    with progress() as step:

        def told() -> Iterator[pa.RecordBatch]:
            for at, block in enumerate(hospital_blocks(rows, seed)):
                step(f"writing rows from {at * 100_000:,} of {rows:,}")
                yield block

        write_table(output, HOSPITAL_SCHEMA, told())
    say(f"{output}: {rows:,} made-up patients")
