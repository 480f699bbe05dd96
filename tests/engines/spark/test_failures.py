"""Tasks that fail and executors that die: the release is right, or there is none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tclose
from tclose import DataError
from tclose.sample import hospital

RULES = {
    "k": 3,
    "columns": {
        "birth_date": {"role": "quasi", "hierarchy": {"dates": ["month", "year"]}},
        "sex": "quasi",
        "diagnosis": {"role": "sensitive", "t": 0.6},
        "cost": "insensitive",
    },
}
SECRET = "zQ7-hidden"


def table() -> pa.Table:
    return hospital(200).select(list(RULES["columns"]))


def values(found: pa.Table) -> list[str]:
    return sorted(map(repr, found.to_pylist()))


def failing(spark: Any, when: Callable[[], bool], attempts: int) -> Any:
    """A frame of three parts, the last of which fails so many times whenever it is computed."""
    from tclose.data.engines.spark.frames import map_batches

    def work(batches: Any) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        yield from batches
        if when() and context.partitionId() == 2 and context.attemptNumber() < attempts:
            raise RuntimeError(f"no luck with {SECRET}")

    frame = spark.createDataFrame(table()).repartition(3).localCheckpoint()
    return map_batches(frame, work, frame.schema)


def test_tasks_that_fail_twice_change_nothing(spark: Any, tmp_path: Path) -> None:
    mark, output = tmp_path / "mark", tmp_path / "out.parquet"
    left = tmp_path / ".out.0a1b2c3d.part.parquet"  # by a process that was killed
    left.mkdir()
    tclose.anonymize(
        failing(spark, mark.exists, 2), RULES, method="mondrian", output=output,
        progress=lambda step: mark.touch(),
    )  # fmt: skip
    expected = tclose.anonymize(table(), RULES, method="mondrian")
    assert values(spark.read.parquet(str(output)).toArrow()) == values(expected.data)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["mark", "out.parquet"]


@pytest.mark.parametrize("kind", ["frame", "out.csv"])
def test_a_task_that_always_fails_leaves_nothing(
    spark: Any, tmp_path: Path, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    mark = tmp_path / "mark"
    frame = failing(spark, mark.exists, 99)
    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.raises(DataError, match="Spark frame") as raised:
        tclose.anonymize(
            frame, RULES, method="mondrian",
            output=None if kind == "frame" else folder / kind,
            certificate=folder / "paper.json", plan=folder / "plan.json",
            progress=lambda step: mark.touch(),
        )  # fmt: skip
    assert mark.exists() and not list(folder.iterdir())
    told = capfd.readouterr()
    assert SECRET not in f"{raised.value}{told.out}{told.err}"


def test_an_executor_that_is_killed_leaves_the_right_release_or_none(
    has_spark: None, tmp_path: Path
) -> None:
    if not Path("/proc").is_dir():
        pytest.skip("executors are found in /proc, which is not on this system")
    import pyspark

    home = tmp_path / "spark"
    home.mkdir()
    for name in ("bin", "jars", "sbin"):
        (home / name).symlink_to(Path(pyspark.__file__).parent / name)
    source = Path(tclose.__file__).resolve().parents[1]
    script = Path(__file__).with_name("lost_executor.py")
    run = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        env={
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(source),
        },
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    told = json.loads(run.stdout.splitlines()[-1])
    assert told["killed"] == [True, True]
    assert told["stored"] == "right" or told["stored"].startswith("none: ")
    assert told["left"] == ["release.parquet"] * (told["stored"] == "right")
    for step in ("framed", "read again"):
        assert told[step] == "right" or told[step].startswith("none: "), told
