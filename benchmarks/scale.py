"""How audits and Mondrian grow with the table, engine by engine, beside the engine's bare work.

    python benchmarks/scale.py [--rows 100000 1000000 …] [--engines duckdb spark …] [--folder F]
    python benchmarks/scale.py --against PYTHON [--rows …]    (see against.py; DuckDB only)

A made-up table (age, sex, region; diagnosis and length of stay; a note) as Parquet, from a hundred
thousand rows to a hundred million. For each engine:

- *bare*: its own `GROUP BY` of the five columns, fetched, and its own copy of the table;
- *audit*: `tclose.audit` of it, over the `GROUP BY` alone;
- *mondrian*: `tclose.anonymize` by Mondrian to where the copy went, counted again and certified,
  over `GROUP BY` and copy;
- *fragments* (DuckDB): the same with at most 200,000 cells in one place.

Files are read by DuckDB and Spark, and in place by PostgreSQL (a server of its own, where initdb is
installed); frames are loaded before the clock starts. Frames, PostgreSQL and Spark stop at sizes
that fit an ordinary machine (`--all` does not stop). Each measurement runs in a process of its
own; its peak is the memory of that process and its children (Java, Spark's workers, the server)
together, shared pages once. Seconds depend on the machine; look at the ratios and the exponents.
"""

from __future__ import annotations

import argparse
import contextlib
import getpass
import json
import math
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from against import Job, compare

ROWS = (10**5, 10**6, 10**7, 10**8)
MOST = {
    "duckdb": 10**8, "lazy": 10**8, "polars": 10**7, "pandas": 10**7, "pyarrow": 10**7,
    "spark": 10**7, "postgres": 10**6,
}  # fmt: skip
JOBS = ("group", "copy", "audit", "mondrian", "fragments")
QUASI, SENSITIVE = ("age", "sex", "region"), ("diagnosis", "stay")
COUNTED = (*QUASI, *SENSITIVE)
RULES: dict[str, Any] = {
    "k": 10,
    "columns": {
        "age": "quasi",
        "sex": "quasi",
        "region": {"role": "quasi", "hierarchy": {"prefix": [2, 1, 0]}},
        "diagnosis": {"role": "sensitive", "t": 0.2, "distance": "equal"},
        "stay": {"role": "sensitive", "t": 0.15, "distance": "ordered"},
        "note": "insensitive",
    },
}
MADE = """
    SELECT CAST(18 + hash(i) % 72 AS INTEGER) AS age,
           CASE WHEN hash(i + 1e10::BIGINT) % 2 = 0 THEN 'f' ELSE 'm' END AS sex,
           lpad(CAST(hash(i + 2e10::BIGINT) % 100 AS VARCHAR), 2, '0') AS region,
           'D' || CAST((hash(i) % 72 / 12 + hash(i + 3e10::BIGINT) % 7)::INTEGER AS VARCHAR)
               AS diagnosis,
           CAST(1 + (hash(i + 4e10::BIGINT) % 8) AS INTEGER) AS stay,
           printf('%08x', hash(i + 5e10::BIGINT) % 4294967296) AS note
    FROM range({rows}) AS t(i)
"""
Result = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=lambda text: int(float(text)), nargs="+", default=ROWS)
    parser.add_argument("--engines", nargs="+", choices=MOST, default=list(MOST))
    parser.add_argument("--folder", help="where tables are made (about 2.5 GB for 10⁸ rows)")
    parser.add_argument("--all", action="store_true", help="every engine at every size")
    parser.add_argument("--against", type=Path, help="the interpreter of another revision")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        engine, job, folder = chosen.measure
        print(json.dumps(measure(engine, job, Path(folder))))
        return
    found: dict[tuple[str, str], dict[int, Result]] = {}
    for rows in sorted(chosen.rows):
        with tempfile.TemporaryDirectory(prefix="tclose-scale-", dir=chosen.folder) as folder:
            make(rows, Path(folder))
            size = (Path(folder) / "in.parquet").stat().st_size / 1e6
            print(f"\n{rows:,} rows, {size:,.0f} MB as Parquet", flush=True)
            if chosen.against:
                compare(list_jobs(rows, Path(folder) / "in.parquet"), chosen.against)
                continue
            for engine in chosen.engines:
                if rows <= MOST[engine] or chosen.all:
                    report(engine, rows, folder, found)
    if not chosen.against:
        exponents(found)


def list_jobs(rows: int, table: Path) -> list[Job]:
    """The jobs on DuckDB as calls; a unit is a million rows."""
    options = {"method": "mondrian", "seed": 1}
    return [
        Job("audit", str(table), RULES, verb="audit", units=rows / 1e6),
        Job("mondrian", str(table), RULES, options, suffix=".parquet", units=rows / 1e6),
    ]


def make(rows: int, folder: Path) -> None:
    import duckdb

    with duckdb.connect() as connection:
        connection.sql(MADE.format(rows=rows)).to_parquet(str(folder / "in.parquet"))


def report(
    engine: str, rows: int, folder: str, found: dict[tuple[str, str], dict[int, Result]]
) -> None:
    """Every job of an engine, one after the other; bare work first."""
    runs: dict[str, Result] = {}
    for job in JOBS:
        if job == "fragments" and engine != "duckdb":
            continue
        command = [sys.executable, __file__, "--measure", engine, job, folder]
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        told = run.stdout.strip().splitlines()
        runs[job] = json.loads(told[-1]) if run.returncode == 0 and told else {}
        if "why" in runs[job]:
            print(f"  {engine:9} not measured: {runs[job]['why']}", flush=True)
            return
        if not runs[job]:
            print(f"  {engine:9} {job:10} failed", flush=True)
            continue
        found.setdefault((engine, job), {})[rows] = runs[job]
        against = {"audit": ("group",), "mondrian": ("group", "copy")}
        against["fragments"] = against["mondrian"]
        base = [runs[one].get("seconds", math.nan) for one in against.get(job, ())]
        ratio = f"{runs[job]['seconds'] / sum(base):7.2f} times bare" if base else " " * 18
        more = f"   loss {runs[job]['loss']:.4f}" if "loss" in runs[job] else ""
        print(
            f"  {engine:9} {job:10} {runs[job]['seconds']:9.2f} s  {ratio}"
            f"   peak {runs[job]['peak']:8,.0f} MB{more}",
            flush=True,
        )


def exponents(found: dict[tuple[str, str], dict[int, Result]]) -> None:
    """How time and memory grow: the exponent of the rows, from the smallest to the largest."""
    print("\ngrowth from the smallest to the largest table (1: with the rows)")
    for (engine, job), runs in found.items():
        low, high = min(runs), max(runs)
        if low == high:
            continue
        steps = math.log(high / low)
        time_ = math.log(runs[high]["seconds"] / runs[low]["seconds"]) / steps
        peak = math.log(runs[high]["peak"] / runs[low]["peak"]) / steps
        print(f"  {engine:9} {job:10} time {time_:5.2f}   memory {peak:5.2f}   to {high:,} rows")


# What follows runs in processes of its own, which import what they need and nothing else.


def measure(engine: str, job: str, folder: Path) -> Any:
    """One job of one engine, after a small one that warms up what starts or compiles once."""
    small = folder / "small"
    small.mkdir(exist_ok=True)
    if not (small / "in.parquet").exists():
        make(2_000, small)
    with contextlib.ExitStack() as stack:
        try:
            jobs = ENGINES[engine](stack)
        except (ImportError, FileNotFoundError) as error:
            return {"why": str(error)}
        tidy(small)
        prepared = jobs[job](small)
        prepared()
        tidy(folder)
        work = jobs[job](folder)
        with peak_of_tree() as peak:
            start = time.perf_counter()
            result = work()
            seconds = time.perf_counter() - start
        tidy(folder)
    loss = {"loss": result.loss.overall} if hasattr(result, "loss") else {}
    return {"seconds": seconds, "peak": peak[0] / 1e6, **loss}


def tidy(folder: Path) -> None:
    for one in folder.glob("out*"):
        shutil.rmtree(one) if one.is_dir() else one.unlink()


@contextlib.contextmanager
def peak_of_tree() -> Iterator[list[float]]:
    """The most memory that this process and its children have had, sampled; shared pages once."""
    peak, done = [0.0], threading.Event()

    def watch() -> None:
        while not done.is_set():
            peak[0] = max(peak[0], float(sum(map(memory_of, family(os.getpid())))))
            done.wait(0.05)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()


def family(root: int) -> list[int]:
    """A process and all below it."""
    parent = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            parent[int(place.parent.name)] = int(place.read_text().rpartition(")")[2].split()[1])
    found, last = {root}, 0
    while len(found) > last:
        last = len(found)
        found |= {child for child, above in parent.items() if above in found}
    return sorted(found)


def memory_of(process: int) -> int:
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


Jobs = dict[str, Callable[[Path], Callable[[], Any]]]


def on_duckdb(stack: contextlib.ExitStack) -> Jobs:
    import duckdb

    import tclose

    listed = ", ".join(COUNTED)

    def group(folder: Path) -> Callable[[], Any]:
        table = duckdb.read_parquet(str(folder / "in.parquet"))
        return lambda: table.aggregate(f"{listed}, count(*)", listed).to_arrow_table()

    def copy(folder: Path) -> Callable[[], Any]:
        table = duckdb.read_parquet(str(folder / "in.parquet"))
        return lambda: table.to_parquet(str(folder / "out.parquet"))

    return {
        "group": group,
        "copy": copy,
        "audit": lambda folder: lambda: tclose.audit(folder / "in.parquet", RULES),
        "mondrian": lambda folder: (
            lambda: mondrian(folder / "in.parquet", output=folder / "out.parquet")
        ),
        "fragments": lambda folder: (
            lambda: mondrian(
                folder / "in.parquet",
                output=folder / "out.parquet",
                reading=tclose.Reading(max_cells=200_000 if folder.name != "small" else 500),
            )
        ),
    }


def on_lazy(stack: contextlib.ExitStack) -> Jobs:
    import polars as pl

    import tclose

    def scan(folder: Path) -> Any:
        return pl.scan_parquet(folder / "in.parquet")

    def released(folder: Path) -> Any:
        release = mondrian(scan(folder))
        release.data.sink_parquet(folder / "out.parquet")
        return release

    return {
        "group": lambda folder: (
            lambda: scan(folder).group_by(COUNTED).len().collect(engine="streaming")
        ),
        "copy": lambda folder: lambda: scan(folder).sink_parquet(folder / "out.parquet"),
        "audit": lambda folder: lambda: tclose.audit(scan(folder), RULES),
        "mondrian": lambda folder: lambda: released(folder),
    }


def on_polars(stack: contextlib.ExitStack) -> Jobs:
    import polars as pl

    return on_frames(
        lambda folder: pl.read_parquet(folder / "in.parquet"),
        lambda frame: frame.group_by(COUNTED).len(),
        lambda frame: frame.gather_every(1),
    )


def on_pandas(stack: contextlib.ExitStack) -> Jobs:
    import pandas as pd

    return on_frames(
        lambda folder: pd.read_parquet(folder / "in.parquet"),
        lambda frame: frame.groupby(list(COUNTED), dropna=False).size(),
        lambda frame: frame.copy(deep=True),
    )


def on_pyarrow(stack: contextlib.ExitStack) -> Jobs:
    import pyarrow as pa
    import pyarrow.parquet as pq

    return on_frames(
        lambda folder: pq.read_table(folder / "in.parquet"),
        lambda table: table.group_by(list(COUNTED)).aggregate([([], "count_all")]),
        lambda table: table.take(pa.array(range(table.num_rows))),
    )


def on_frames(
    load: Callable[[Path], Any], group: Callable[[Any], Any], copy: Callable[[Any], Any]
) -> Jobs:
    import tclose

    def job(work: Callable[[Any], Any]) -> Callable[[Path], Callable[[], Any]]:
        def prepared(folder: Path) -> Callable[[], Any]:
            frame = load(folder)
            return lambda: work(frame)

        return prepared

    return {
        "group": job(group),
        "copy": job(copy),
        "audit": job(lambda frame: tclose.audit(frame, RULES)),
        "mondrian": job(mondrian),
    }


def on_spark(stack: contextlib.ExitStack) -> Jobs:
    from pyspark.sql import SparkSession

    import tclose

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", "8")
        .getOrCreate()
    )
    stack.callback(session.stop)
    session.sparkContext.setLogLevel("OFF")

    def read(folder: Path) -> Any:
        return session.read.parquet(str(folder / "in.parquet"))

    return {
        "group": lambda folder: lambda: read(folder).groupBy(*COUNTED).count().toArrow(),
        "copy": lambda folder: lambda: read(folder).write.parquet(str(folder / "out.parquet")),
        "audit": lambda folder: lambda: tclose.audit(read(folder), RULES),
        "mondrian": lambda folder: lambda: mondrian(read(folder), output=folder / "out.parquet"),
    }


def on_postgres(stack: contextlib.ExitStack) -> Jobs:
    import psycopg

    import tclose

    address = served(stack)
    connection = stack.enter_context(psycopg.connect(address, autocommit=True))
    listed = ", ".join(COUNTED)

    def filled(folder: Path) -> None:
        import duckdb

        connection.execute("DROP TABLE IF EXISTS people, released")
        connection.execute(
            "CREATE TABLE people (age int, sex text, region text, diagnosis text, stay int, "
            "note text)"
        )
        rows = duckdb.connect().execute(
            "SELECT * FROM read_parquet(?)", [str(folder / "in.parquet")]
        )
        with connection.cursor().copy("COPY people FROM STDIN (FORMAT csv)") as copy:
            while part := rows.fetchmany(50_000):
                lines = [",".join(map(str, row)) + "\n" for row in part]
                copy.write("".join(lines))
        connection.execute("VACUUM ANALYZE people")

    def job(work: Callable[[], Any]) -> Callable[[Path], Callable[[], Any]]:
        def prepared(folder: Path) -> Callable[[], Any]:
            filled(folder)
            return work

        return prepared

    return {
        "group": job(
            lambda: connection.execute(
                f"SELECT {listed}, count(*) FROM people GROUP BY {listed}"
            ).fetchall()
        ),
        "copy": job(lambda: connection.execute("CREATE TABLE released AS TABLE people")),
        "audit": job(lambda: tclose.audit(f"{address}#people", RULES)),
        "mondrian": job(lambda: mondrian(f"{address}#people", output=f"{address}#released")),
    }


def served(stack: contextlib.ExitStack) -> str:
    """A PostgreSQL server of our own; its address."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = shutil.which("initdb") or (str(places[-1]) if places else None)
    if initdb is None:
        raise FileNotFoundError("PostgreSQL (initdb) is not installed")
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tclose-pg-")))
    owner, other = getpass.getuser(), {}
    if os.getuid() == 0:  # the server refuses to run as root
        known = {user.pw_name for user in pwd.getpwall()}
        owner = "postgres" if "postgres" in known else "nobody"
        other = {"user": owner, "extra_groups": []}
    shutil.chown(folder, owner)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def run(*words: str) -> None:
        subprocess.run(words, cwd=folder, stdout=subprocess.DEVNULL, check=True, **other)  # type: ignore[call-overload]

    pg_ctl = shutil.which("pg_ctl") or str(Path(initdb).with_name("pg_ctl"))
    data = str(folder / "data")
    run(initdb, "-D", data, "-U", "steward", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
    settings = f"-k {folder} -p {port} -c listen_addresses=127.0.0.1 -c shared_buffers=512MB"
    run(pg_ctl, "-D", data, "-o", settings, "-l", str(folder / "log"), "-w", "start")
    stack.callback(run, pg_ctl, "-D", data, "-m", "immediate", "stop")
    return f"postgresql://steward@127.0.0.1:{port}/postgres"


def mondrian(data: Any, **more: Any) -> Any:
    import tclose

    return tclose.anonymize(data, RULES, method="mondrian", **more)


ENGINES: dict[str, Callable[[contextlib.ExitStack], Jobs]] = {
    "duckdb": on_duckdb,
    "lazy": on_lazy,
    "polars": on_polars,
    "pandas": on_pandas,
    "pyarrow": on_pyarrow,
    "spark": on_spark,
    "postgres": on_postgres,
}

if __name__ == "__main__":
    main()
