"""How a Spark cluster shares the work: the same release with 1, 2 and 4 executors.

    python benchmarks/executors.py [--rows 300000] [--executors 1 2 4] [--cells 20000]

A cluster of Spark's own on this machine (`local-cluster[n,1,1024]`: a master and n workers, each a
process with one core) reads the made-up table of `large.py` from Parquet, searches it in fragments
of so many cells, writes the release as CSV and counts it again. For each number of executors:
seconds, over those of one executor, and whether the files of the release, in order, have the same
bytes. (Of Parquet the rows are the same, but Java lists the encodings of a column in the file's
footer in an order that every process chooses anew.) More executors than the machine has cores
cannot be faster.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from large import POLICY, make


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=300_000)
    parser.add_argument("--executors", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--cells", type=int, default=20_000)
    parser.add_argument("--folder", help="where the table is made")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        folder, executors = chosen.measure
        print(json.dumps(measure(Path(folder), int(executors), chosen.cells)))
        return
    with tempfile.TemporaryDirectory(prefix="tclose-executors-", dir=chosen.folder) as folder:
        make(chosen.rows, Path(folder) / "in.parquet")
        print(f"{chosen.rows:,} rows, {os.cpu_count()} cores", flush=True)
        first: dict[str, Any] = {}
        for executors in chosen.executors:
            command = [sys.executable, __file__, "--measure", folder, str(executors)]
            command += ["--cells", str(chosen.cells)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            run = json.loads(done.stdout.splitlines()[-1])
            first = first or run
            same = "the same bytes" if run["hash"] == first["hash"] else "OTHER BYTES"
            print(
                f"  {executors} executor{'' if executors == 1 else 's'}: {run['seconds']:7.1f} s, "
                f"{run['seconds'] / first['seconds']:.2f} times the first; {run['fragments']} "
                f"fragments, loss {run['loss']:.4f}, {same} ({run['hash'][:12]})",
                flush=True,
            )


def measure(folder: Path, executors: int, cells: int) -> dict[str, Any]:
    """One release, after a small one that has the executors start; in a process of its own."""
    from pyspark.sql import SparkSession

    import tclose

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master(f"local-cluster[{executors},1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.executor.memory", "512m")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.default.parallelism", "8")
        # Where the table is cut must not follow from how many cores read it.
        .config("spark.sql.files.minPartitionNum", "8")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    try:
        while session._jsc.sc().getExecutorMemoryStatus().size() <= executors:
            time.sleep(0.2)
        session.range(0, 1000, 1, 8).repartition(8).count()
        output = folder / f"out-{executors}.csv"
        start = time.perf_counter()
        release = tclose.anonymize(
            session.read.parquet(str(folder / "in.parquet")),
            POLICY,
            output=output,
            method="mondrian",
            reading=tclose.Reading(max_cells=cells),
        )
        seconds = time.perf_counter() - start
    finally:
        session.stop()
    digest = hashlib.sha256()
    for part in sorted(output.glob("part-*"), key=lambda place: place.name[:10]):
        digest.update(part.read_bytes())
    return {
        "seconds": seconds,
        "hash": digest.hexdigest(),
        "loss": release.loss.overall,
        "fragments": release.certificate.fragments,
    }


if __name__ == "__main__":
    main()
