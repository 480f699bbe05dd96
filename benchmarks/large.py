"""The default search on large tables with 8 quasi-identifiers, Parquet in, verified Parquet out.

    python benchmarks/large.py [--rows 1000000] [--efforts 1 4 10] [--cells 500000 …] [--folder F]

A made-up table of which nearly every row is a distinct tuple: eight quasi-identifiers that hang
together (age, education, hours of work, income, …), skewed, and one sensitive attribute that hangs
on them, equal t = 0.2, k = 5. For each multiple of the default effort: seconds by the clock and of
the processor, peak memory, the loss, and the loss of the first line over it. With `--cells`, the
same with so many cells in one place at most, so that the table is searched in parts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from scale import peak_of_tree

POLICY: dict[str, Any] = {
    "k": 5,
    "columns": {
        "age": "quasi",
        "sex": "quasi",
        "region": {"role": "quasi", "hierarchy": {"prefix": [3, 2, 1, 0]}},
        "education": "quasi",
        "trade": {"role": "quasi", "hierarchy": {"prefix": [2, 1, 0]}},
        "hours": "quasi",
        "income": "quasi",
        "household": "quasi",
        "diagnosis": {"role": "sensitive", "t": 0.2, "distance": "equal"},
        "note": "insensitive",
    },
}
DRAWS = 12
"""Uniform numbers that a row is made of; one more tells its kind."""
MADE = """
    WITH drawn AS (
        SELECT i, {draws} FROM range({rows}) AS t(i)
    ), kinds AS (
        SELECT *, floor(8 * u0 * u0) AS kind FROM drawn
    )
    SELECT CAST(18 + least(72, 30 * (u1 + u2) / 2 + 6 * kind + 10 * u3) AS INTEGER) AS age,
           CASE WHEN u4 < 0.3 + 0.05 * kind THEN 'f' ELSE 'm' END AS sex,
           lpad(CAST(CAST(floor(999 * u5 * (0.4 + 0.6 * u6)) AS INTEGER) AS VARCHAR), 3, '0')
               AS region,
           CAST(floor(6 * u3 + 5 * (u7 + kind / 8)) AS INTEGER) AS education,
           lpad(CAST(CAST(floor(5 * kind + 60 * u8 * u7) AS INTEGER) AS VARCHAR), 2, '0') AS trade,
           CAST(CASE WHEN u9 < 0.4 THEN 40 ELSE 10 + 60 * u9 * u1 + 2 * kind END AS INTEGER)
               AS hours,
           CAST(100 * floor(exp(2.3 + 1.2 * (u10 + u11 + u3) + 0.1 * kind)) AS INTEGER) AS income,
           CAST(1 + floor(6 * u12 * u2) AS INTEGER) AS household,
           'D' || CAST(floor(11.99 * pow(u6, 1.5) * (0.7 + 0.3 * u1) * (1 - kind / 40))::INTEGER
               AS VARCHAR) AS diagnosis,
           printf('%08x', hash(i + 13e10::BIGINT) % 4294967296) AS note
    FROM kinds ORDER BY i
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=10**6)
    parser.add_argument("--efforts", type=float, nargs="*", default=[1.0])
    parser.add_argument("--cells", type=int, nargs="*", default=[])
    parser.add_argument("--method", default="auto")
    parser.add_argument("--rows-order", choices=("random", "keep", "shuffle"), default=None)
    parser.add_argument("--folder", help="where the table is made")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        print(json.dumps(measure(**json.loads(chosen.measure))))
        return
    with tempfile.TemporaryDirectory(prefix="tclose-large-", dir=chosen.folder) as folder:
        make(chosen.rows, Path(folder) / "in.parquet")
        runs: list[dict[str, Any]] = [{"times": times} for times in chosen.efforts]
        runs += [{"times": 1.0, "cells": cells} for cells in chosen.cells]
        first = 0.0
        for run in runs:
            asked = {"folder": folder, "method": chosen.method, "order": chosen.rows_order} | run
            command = [sys.executable, __file__, "--measure", json.dumps(asked)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            first = first or found["loss"]
            cells = f"at most {run['cells']:,} cells" if "cells" in run else "one piece"
            print(
                f"{chosen.rows:,} rows, {cells}, effort {found['effort']:g}: "
                f"{found['seconds']:.1f} s ({found['processor']:.1f} s of processor, "
                f"search {found['search']:.1f} s), peak {found['peak']:,.0f} MB, "
                f"{found['method']}: loss {found['loss']:.4f}, first over it "
                f"{first / found['loss']:.3f}",
                flush=True,
            )


def make(rows: int, place: Path) -> None:
    """The table: equal rows on every machine."""
    import duckdb

    draws = ", ".join(
        f"(hash(i + {at}e10::BIGINT) % 1000003) / 1000003.0 AS u{at}" for at in range(DRAWS + 1)
    )
    with duckdb.connect() as connection:
        connection.sql(MADE.format(rows=rows, draws=draws)).to_parquet(str(place))


def measure(
    folder: str, method: str, times: float, order: str | None = None, cells: int | None = None
) -> dict[str, Any]:
    """One run, in a process of its own."""
    import pyarrow.parquet as pq

    import tclose
    from tclose.search.outcome import choose_effort

    policy = POLICY | ({"release": {"rows": order}} if order else {})
    place, output = Path(folder) / "in.parquet", Path(folder) / "out.parquet"
    effort = None if times == 1.0 else times * choose_effort(pq.read_metadata(place).num_rows)
    reading = tclose.Reading() if cells is None else tclose.Reading(max_cells=cells)
    phases: dict[str, float] = {}

    def see(progress: Any) -> None:
        phases.setdefault(progress.phase, time.perf_counter())

    with peak_of_tree() as peak:
        start, processor = time.perf_counter(), sum(os.times()[:4])
        release = tclose.anonymize(
            place, policy, output=output, method=method, effort=effort, seed=1, reading=reading,
            progress=see,
        )  # fmt: skip
        seconds = time.perf_counter() - start
        used = sum(os.times()[:4]) - processor
    output.unlink()
    phases.setdefault("writing", start + seconds)
    return {
        "seconds": seconds,
        "processor": used,
        "search": phases["writing"] - phases.get("searching", start),
        "peak": peak[0] / 1e6,
        "loss": release.loss.overall,
        "effort": effort or choose_effort(pq.read_metadata(place).num_rows),
        "method": "parts" if release.outcome is None else release.outcome.method,
    }


if __name__ == "__main__":
    main()
