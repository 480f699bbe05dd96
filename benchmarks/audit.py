"""How fast an audit is, and how much memory it takes, beside what it is measured against.

    python benchmarks/audit.py [--rows 20000000] [--skip-large] [--adult FOLDER]

1. Adult (30,162 rows, seven quasi-identifiers): from a pandas frame to t, against pyCANON's
   `t_closeness` of the same frame. pyCANON is optional: `pip install pycanon`.
2. A made-up hospital as a Parquet file: the whole audit against the bare `GROUP BY` of the same
   columns in DuckDB, fetched to Arrow. Once as such tables are released (year of birth, district),
   once raw (date of birth, postcode), where nearly every row is a class of its own.

Each measurement runs in a process of its own, one at a time, so that its peak memory is its own.
Seconds depend on the machine; the ratios are what to look at. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ADULT = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult"
ADULT_QUASI = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass",
)  # fmt: skip
SENSITIVE = ("diagnosis", "length_of_stay")
VARIANTS = {
    "as released": ("birth_year", "sex", "district", "ethnicity"),
    "raw": ("birth_date", "sex", "postcode", "ethnicity"),
}
ROUNDS = {"as released": 3, "raw": 1}
MOST_ROWS = {"as released": 10**9, "raw": 2_000_000}
"""Where nearly every row is a class, memory goes with the classes: the raw variant stays small."""

Result = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=20_000_000, help="rows of the large table")
    parser.add_argument("--skip-large", action="store_true", help="measure Adult only")
    parser.add_argument("--adult", type=Path, help="the folder that holds adult.csv")
    parser.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        name, *arguments = chosen.measure
        print(json.dumps(MEASURES[name](*arguments)))
        return
    report_adult(chosen.adult or Path(os.environ.get("TCLOSE_ADULT", ADULT)))
    if not chosen.skip_large:
        report_large(chosen.rows)


def report_adult(folder: Path) -> None:
    table = folder / "adult.csv"
    if not table.exists():
        print("Adult: no adult.csv; name its folder with --adult or TCLOSE_ADULT\n")
        return
    print("Adult, from a pandas frame to t")
    ours = measured("adult-tclose", str(table))
    print(f"  tclose, t only        {ours['verify']:10.4f} s   t = {ours['t']:.6f}")
    print(f"  tclose, whole audit   {ours['audit']:10.4f} s   {ours['classes']:,} classes")
    theirs = measured("adult-pycanon", str(table))
    if not theirs:
        print("  pyCANON               not installed: pip install pycanon\n")
        return
    print(f"  pyCANON, t only       {theirs['seconds']:10.4f} s   t = {theirs['t']:.6f}")
    only, whole = theirs["seconds"] / ours["verify"], theirs["seconds"] / ours["audit"]
    print(f"  tclose is {only:,.0f} times as fast; its whole audit {whole:,.0f} times\n")


def report_large(rows: int) -> None:
    for variant, quasi in VARIANTS.items():
        some = min(rows, MOST_ROWS[variant])
        with tempfile.TemporaryDirectory(prefix="tclose-benchmark-") as folder:
            made = measured("hospital", folder, str(some))
            size = f"{made['file']:,.0f} MB as a file, {made['decoded']:,.0f} MB decoded"
            print(f"Hospital, {some:,} rows as Parquet: {size}")
            print(f"  {variant}: {', '.join(quasi)}")
            bare, audits = alternating(folder, variant)
            print(f"    bare GROUP BY   {costs(bare)}   {bare['cells']:,} cells")
            print(f"    tclose audit    {costs(audits)}   {audits['classes']:,} classes")
            print(f"    ratio           {ratios(audits, bare)}", flush=True)


def alternating(folder: str, variant: str) -> tuple[Result, Result]:
    """The fastest bare count and the fastest audit of several, taken by turns."""
    runs: dict[str, list[Result]] = {"bare": [], "audit": []}
    for _ in range(ROUNDS[variant]):
        for name, results in runs.items():
            results.append(measured(name, folder, variant))
    bare, audits = (min(results, key=lambda run: run["seconds"]) for results in runs.values())
    return bare, audits


def costs(run: Result) -> str:
    seconds, processor, peak = run["seconds"], run["processor"], run["peak"]
    return f"{seconds:8.2f} s  {processor:8.2f} s of processor  {peak:7,.0f} MB"


def ratios(one: Result, other: Result) -> str:
    time_, processor, peak = (one[key] / other[key] for key in ("seconds", "processor", "peak"))
    return f"{time_:8.2f}    {processor:8.2f}                  {peak:7.2f}"


def measured(*command: str) -> Result:
    """What a measurement says that runs in a process of its own."""
    run = subprocess.run(
        [sys.executable, __file__, "--measure", *command], stdout=subprocess.PIPE, check=True
    )
    result: Result = json.loads(run.stdout.splitlines()[-1])
    return result


# What follows runs in those processes. They import what they need and nothing else.


def adult_tclose(table: str) -> Result:
    import tclose

    frame = adult_frame(table)
    sensitive = {"role": "sensitive", "distance": "equal", "t": 1}
    roles: dict[str, Any] = {name: "insensitive" for name in frame.columns}
    roles |= {name: "quasi" for name in ADULT_QUASI} | {"occupation": sensitive}
    policy = {"columns": roles}
    result = tclose.verify(frame, policy)
    return {
        "verify": best(lambda: tclose.verify(frame, policy)),
        "audit": best(lambda: tclose.audit(frame, policy)),
        "t": result.requirements[0].achieved,
        "classes": result.classes,
    }


def adult_pycanon(table: str) -> Result:
    try:
        from pycanon import anonymity
    except ImportError:
        return {}
    frame, quasi = adult_frame(table), list(ADULT_QUASI)
    anonymity.t_closeness(frame.head(200), quasi, ["occupation"])
    # Once is enough: it runs for minutes, and the ratio is not about the last per cent.
    start = time.perf_counter()
    t = anonymity.t_closeness(frame, quasi, ["occupation"])
    return {"seconds": time.perf_counter() - start, "t": float(t)}


def adult_frame(table: str) -> Any:
    import pandas as pd

    return pd.read_csv(table, sep=";", dtype=str)


def best(work: Callable[[], object], rounds: int = 7) -> float:
    """The shortest of several runs, after one that warms up."""
    work()
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def make_hospital(folder: str, rows: str) -> Result:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from tclose.sample import HOSPITAL_SCHEMA, diagnosis_chains, hospital_blocks

    home = Path(folder)
    tree = "".join(";".join(chain) + "\n" for chain in diagnosis_chains())
    (home / "diagnosis.csv").write_text(tree, encoding="utf-8")
    schema = HOSPITAL_SCHEMA
    schema = schema.append(pa.field("birth_year", pa.int64()))
    schema = schema.append(pa.field("district", pa.string()))
    decoded = 0
    with pq.ParquetWriter(home / "hospital.parquet", schema) as writer:
        for block in hospital_blocks(int(rows)):
            year = pc.year(block.column("birth_date"))
            district = pc.utf8_slice_codeunits(block.column("postcode"), 0, 2)
            wider = pa.RecordBatch.from_arrays([*block.columns, year, district], schema=schema)
            decoded += wider.nbytes
            writer.write_batch(wider)
    file = (home / "hospital.parquet").stat().st_size
    return {"file": file / 1e6, "decoded": decoded / 1e6}


def bare_count(folder: str, variant: str) -> Result:
    import duckdb

    names = ", ".join((*VARIANTS[variant], *SENSITIVE))
    meter = Meter()
    connection = duckdb.connect()
    connection.execute("SET preserve_insertion_order = false")
    relation = connection.read_parquet(str(Path(folder) / "hospital.parquet"))
    counted = relation.aggregate(f"{names}, count(*) AS weight", names).to_arrow_table()
    return meter.read() | {"cells": counted.num_rows}


def whole_audit(folder: str, variant: str) -> Result:
    import tclose

    policy = hospital_policy(Path(folder), VARIANTS[variant])
    meter = Meter()
    result = tclose.audit(Path(folder) / "hospital.parquet", policy)
    return meter.read() | {"classes": result.classes}


def hospital_policy(folder: Path, quasi: tuple[str, ...]) -> dict[str, Any]:
    import pyarrow.parquet as pq

    names = pq.read_schema(folder / "hospital.parquet").names
    tree = str(folder / "diagnosis.csv")
    roles: dict[str, Any] = {name: "insensitive" for name in names}
    roles |= {name: "quasi" for name in quasi}
    roles["diagnosis"] = {"role": "sensitive", "hierarchy": tree, "t": "1/5"}
    roles["length_of_stay"] = {"role": "sensitive", "distance": "ordered", "t": "1/5"}
    return {"k": 5, "columns": roles}


class Meter:
    """Seconds and processor seconds since it was made, and the process's peak memory in MB."""

    def __init__(self) -> None:
        self.start, self.processor = time.perf_counter(), time.process_time()

    def read(self) -> Result:
        unit = 1 if sys.platform == "darwin" else 1024
        return {
            "seconds": time.perf_counter() - self.start,
            "processor": time.process_time() - self.processor,
            "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6,
        }


MEASURES: dict[str, Callable[..., Result]] = {
    "adult-tclose": adult_tclose,
    "adult-pycanon": adult_pycanon,
    "hospital": make_hospital,
    "bare": bare_count,
    "audit": whole_audit,
}

if __name__ == "__main__":
    main()
