"""Run by a test: a small cluster of real executors, of which one is killed in the middle of work.

Prints what became of the release as JSON: `right`, `none`, or anything else, which is a defect.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import tclose
from tclose.sample import hospital

ROWS, PARTS = 300, 4
RULES = {
    "k": 3,
    "columns": {
        "birth_date": {"role": "quasi", "hierarchy": {"dates": ["month", "year"]}},
        "sex": "quasi",
        "diagnosis": {"role": "sensitive", "t": 0.6},
        "cost": "insensitive",
    },
}


def table() -> pa.Table:
    return hospital(ROWS).select(list(RULES["columns"]))


def values(found: pa.Table) -> list[str]:
    return sorted(map(repr, found.to_pylist()))


def executors() -> list[int]:
    """The executors among the processes that this one has started, directly or not."""
    parents: dict[int, int] = {}
    commands: dict[int, bytes] = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            stat = (place / "stat").read_text().rpartition(")")[2].split()
            commands[int(place.name)] = (place / "cmdline").read_bytes()
        except OSError:
            continue
        parents[int(place.name)] = int(stat[1])

    def is_mine(process: int) -> bool:
        while process > 1:
            if process == os.getpid():
                return True
            process = parents.get(process, 0)
        return False

    backend = b"CoarseGrainedExecutorBackend"
    return [one for one, command in commands.items() if backend in command and is_mine(one)]


class Slow:
    """Rows that come slowly once they are asked to, and tell when they do."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, batches: Any) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if (self.folder / "slow").exists():
                (self.folder / "working").touch()
                time.sleep(0.3)
            yield batch


def killing(folder: Path) -> threading.Thread:
    """Kills one executor as soon as rows are on their way."""

    def wait() -> None:
        while not (folder / "working").exists():
            time.sleep(0.01)
        os.kill(executors()[0], signal.SIGKILL)
        (folder / "slow").unlink()
        (folder / "killed").touch()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def outcome(made: Callable[[], list[str]], expected: list[str]) -> str:
    try:
        found = made()
    except tclose.TcloseError as error:
        return f"none: {error}"
    return "right" if found == expected else f"wrong: {len(found)} rows"


def main(folder: Path) -> None:
    from pyspark.sql import SparkSession

    from tclose.data.engines.spark.frames import map_batches

    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.executor.memory", "512m")
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.shuffle.io.maxRetries", "1")
        .config("spark.shuffle.io.retryWait", "1s")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    pq.write_table(table(), folder / "given.parquet")
    given = session.read.parquet(str(folder / "given.parquet")).repartition(PARTS)
    frame = map_batches(given, Slow(folder), given.schema)
    expected = values(tclose.anonymize(table(), RULES, method="mondrian").data)
    told: dict[str, Any] = {}

    def slowed(step: Any) -> None:
        if not (folder / "killed").exists():
            (folder / "slow").touch()

    def anonymized(output: Path | None) -> Any:
        for name in ("working", "killed", "slow"):
            (folder / name).unlink(missing_ok=True)
        thread = killing(folder)
        release = tclose.anonymize(frame, RULES, method="mondrian", output=output, progress=slowed)
        thread.join(30)
        return release

    def stored() -> list[str]:
        anonymized(folder / "out" / "release.parquet")
        return values(pq.read_table(folder / "out" / "release.parquet"))

    told["stored"] = outcome(stored, expected)
    told["left"] = [one.name for one in (folder / "out").glob("*")]
    told["killed"] = [(folder / "killed").exists()]
    releases: list[Any] = []

    def framed() -> list[str]:
        releases.append(anonymized(None))
        return values(releases[0].data.toArrow())

    told["framed"] = outcome(framed, expected)
    told["killed"].append((folder / "killed").exists())
    for one in executors():
        os.kill(one, signal.SIGKILL)

    def again() -> list[str]:
        assert tclose.verify(releases[0].data, RULES).holds
        return values(releases[0].data.toArrow())

    told["read again"] = outcome(again, expected)
    print(json.dumps(told))
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
