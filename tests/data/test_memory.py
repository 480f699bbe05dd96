"""Files larger than memory are audited and anonymized, under a limit that the system enforces.

The limit is 1 GiB, twice: on what a process may have of its own (RLIMIT_DATA), and, where the
system lets us make a control group, on all memory of that group, cached pages of files included.
A limit of the whole address space (RLIMIT_AS) would count some 400 MB of mapped libraries, too, and
every limit counts what allocators reserve and do not use; so these are told to reserve nothing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.data import source
from tclose.data.io.paths import Reading
from tclose.data.opening import open_source
from tclose.errors import DataError

pytestmark = pytest.mark.slow

LIMIT = 1 << 30
ROOM = 10 << 30
SOURCES = Path(__file__).resolve().parents[2] / "src"
PLAIN = {
    "MALLOC_ARENA_MAX": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "DUCKDB_JE_MALLOC_CONF": "retain:false,dirty_decay_ms:0,muzzy_decay_ms:0,narenas:2",
}
LAUNCH = """
import os, pathlib, resource, sys
if {group!r}:
    pathlib.Path({group!r}, "cgroup.procs").write_text(str(os.getpid()))
resource.setrlimit(resource.RLIMIT_DATA, ({limit}, {limit}))
os.execv(sys.executable, [sys.executable, "-m", "tclose", *sys.argv[1:]])
"""

limited = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux limits what a process has of its own"
)


@dataclass(frozen=True)
class Run:
    code: int
    told: str
    peak: int
    """Bytes that the process had at most."""
    spilled: int
    """Bytes that the engine had put aside at most."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that is gone after the test, whatever happens in it."""
    with tempfile.TemporaryDirectory(prefix="memory-") as name:
        if shutil.disk_usage(name).free < ROOM:
            pytest.skip(f"less than {ROOM >> 30} GiB are free below {tempfile.gettempdir()}")
        yield Path(name)


def tclose(folder: Path, *words: str) -> Run:
    """Runs a command under the limit, and looks at what it puts aside meanwhile."""
    aside = folder / "aside"
    aside.mkdir(exist_ok=True)
    paths = os.pathsep.join([str(SOURCES), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, **PLAIN, "TMPDIR": str(aside), "PYTHONPATH": paths}
    output = folder / "told.txt"
    with output.open("w") as told, control_group() as group:
        process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH.format(limit=LIMIT, group=group), *words],
            cwd=folder, env=env, stdout=told, stderr=subprocess.STDOUT,
        )  # fmt: skip
        peak = spilled = 0
        while process.poll() is None:
            peak, spilled = max(peak, most_of(process.pid)), max(spilled, put_aside(aside))
            time.sleep(0.02)
    run = Run(process.returncode, output.read_text(), peak, spilled)
    told = "and of its group" if group else "alone"
    limits = f"under the limit of the process {told}"
    print(f"{words[0]}: {run.peak >> 20} MB, {run.spilled >> 20} MB put aside, {limits}")
    assert list(aside.iterdir()) == [], "something was left behind"
    return run


@contextmanager
def control_group() -> Iterator[str]:
    """A group of processes that share the limit; an empty text where none can be made."""
    made = next(filter(None, map(limited_group, group_folders())), None)
    try:
        yield "" if made is None else str(made)
    finally:
        if made is not None:
            remove_group(made)


def group_folders() -> Iterator[tuple[Path, str]]:
    """Where a group could be made, and the name of its limit, by both versions of the system."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            yield Path(f"/sys/fs/cgroup/memory{path}"), "memory.limit_in_bytes"
        elif not controllers:
            yield Path(f"/sys/fs/cgroup{path}"), "memory.max"


def limited_group(place: tuple[Path, str]) -> Path | None:
    """A group of its own for one command; where its files are not the system's, there is none."""
    folder, limit = place
    try:
        group = Path(tempfile.mkdtemp(prefix="tclose-", dir=folder))
    except OSError:
        return None
    try:
        if (group / "cgroup.procs").exists():
            (group / limit).write_text(str(LIMIT))
            return group
    except OSError:
        pass
    remove_group(group)
    return None


def remove_group(group: Path) -> None:
    """The system empties a group a moment after its last process ends: wait, and never judge it."""
    for _ in range(100):
        try:
            return group.rmdir()
        except OSError:
            time.sleep(0.05)


def most_of(process: int) -> int:
    """The most memory that a process has had since it began to run its program."""
    told = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", told)
    return int(found[1]) * 1024 if found else 0


def put_aside(folder: Path) -> int:
    """The size of the largest file that the engine has put aside."""
    largest = 0
    with suppress(FileNotFoundError):  # it goes while it is looked at
        for place in folder.glob("*/duckdb_temp*"):
            largest = max(largest, place.stat().st_size)
    return largest


def make(path: Path, columns: str, rows: int) -> None:
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    connection.execute(f"COPY (SELECT {columns} FROM range({rows}) t(i)) TO '{path}' (HEADER)")
    connection.close()


def asked(sql: str, **paths: Path) -> Any:
    """The single row of a query over CSV files, all of whose columns are text."""
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    told = {name: f"read_csv('{path}', all_varchar = true)" for name, path in paths.items()}
    row = connection.sql(sql.format(**told)).fetchall()[0]
    connection.close()
    return row


ILLNESS = "['flu', 'ulcer', 'asthma', 'gout'][1 + (hash(i * 3 + 11) % 4)::INT] AS illness"
POLICY = """
k = 5
[columns]
{quasi}
note = "insensitive"
[columns.illness]
role = "sensitive"
distance = "equal"
t = {t}
"""
CLASSES = "SELECT {quasi}, illness, count(*) AS n FROM {{released}} GROUP BY ALL"
JUDGED = """
WITH cells AS ({cells}),
sizes AS (SELECT {quasi}, sum(n) AS size FROM cells GROUP BY ALL),
whole AS (SELECT illness, sum(n) / (SELECT sum(n) FROM cells) AS q FROM cells GROUP BY illness),
each AS (
    SELECT {quasi}, abs(coalesce(n, 0) / size - q) / 2 AS part
    FROM sizes CROSS JOIN whole LEFT JOIN cells USING ({quasi}, illness)
),
far AS (SELECT sum(part) AS distance FROM each GROUP BY {quasi})
SELECT (SELECT min(size) FROM sizes), (SELECT max(distance) FROM far),
    (SELECT count(*) FROM sizes)
"""


def judged(quasi: str, released: Path) -> Any:
    """The least size, the largest distance and the number of classes, by plain SQL."""
    cells = CLASSES.format(quasi=quasi)
    return asked(JUDGED.format(cells=cells, quasi=quasi), released=released)


@limited
def test_a_file_of_several_times_the_memory_is_audited_and_anonymized(folder: Path) -> None:
    table, released = folder / "table.csv", folder / "released.csv"
    text = "repeat(substr(md5(i::VARCHAR), 1, 16) || ' ', 64) || i AS note"
    columns = (
        "18 + (hash(i) % 73)::INT AS age, 100 * (hash(i + 1) % 40)::INT AS zip, "
        f"if(hash(i * 7) % 2 = 0, 'f', 'm') AS sex, {ILLNESS}, {text}"
    )
    make(table, columns, 3_000_000)
    assert table.stat().st_size > 3 * LIMIT
    quasi = "age, zip, sex"
    lines = "\n".join(f'{name} = "quasi"' for name in quasi.split(", "))
    (folder / "policy.toml").write_text(POLICY.format(quasi=lines, t=0.02))
    common = ("--policy", "policy.toml", "--memory", "400MB")
    runs = [tclose(folder, "audit", "table.csv", *common)]
    assert runs[-1].code == 1, runs[-1].told
    runs.append(
        tclose(
            folder, "anonymize", "table.csv", *common, "--method", "mondrian",
            "-o", "released.csv", "--certificate", "certificate.json",
        )
    )  # fmt: skip
    assert runs[-1].code == 0, runs[-1].told
    paper = ("--certificate", "certificate.json")
    runs.append(tclose(folder, "verify", "released.csv", *common, *paper))
    assert runs[-1].code == 0, runs[-1].told
    assert max(run.peak for run in runs) < LIMIT
    least, farthest, classes = judged(quasi, released)
    assert least >= 5 and farthest <= 0.02 + 1e-9 and classes > 100
    same = "SELECT count(*), sum(hash(illness || note)) FROM {one}"
    assert asked(same, one=table) == asked(same, one=released)


@limited
def test_more_cells_than_memory_holds_are_put_aside(folder: Path) -> None:
    table, released = folder / "table.csv", folder / "released.csv"
    rows = 1_500_000
    columns = (
        "18 + (hash(i) % 73)::INT AS age, 10000 + (hash(i + 1) % 9000)::INT AS zip, "
        f"500 * (hash(i * 5 + 1) % 20)::INT AS income, {ILLNESS}, i AS note"
    )
    make(table, columns, rows)
    quasi = "age, zip, income"
    lines = "\n".join(f'{name} = "quasi"' for name in quasi.split(", "))
    policy = POLICY.format(quasi=lines, t=0.3) + '[release]\nrows = "keep"\n'
    (folder / "policy.toml").write_text(policy)
    common = ("--policy", "policy.toml", "--memory", "120MB")
    audit = tclose(folder, "audit", "table.csv", *common)
    assert audit.code == 1, audit.told
    release = tclose(
        folder, "anonymize", "table.csv", *common, "--method", "mondrian",
        "-o", "released.csv", "--certificate", "certificate.json",
    )  # fmt: skip
    assert release.code == 0, release.told
    assert json.loads((folder / "certificate.json").read_text())["fragments"] > 1
    assert audit.spilled > 0 and release.spilled > 0
    assert max(audit.peak, release.peak) < LIMIT
    least, farthest, classes = judged(quasi, released)
    assert least >= 5 and farthest <= 0.3 + 1e-9 and classes > 50_000
    outside = " OR ".join(
        f"NOT b.{name}::INT BETWEEN replace(split_part(r.{name}, ',', 1), '[', '')::INT AND "
        f"replace(split_part(r.{name}, ',', -1), ']', '')::INT"
        for name in quasi.split(", ")
    )
    beside = (
        f"SELECT count(*), count(*) FILTER ({outside} OR b.illness <> r.illness) "
        "FROM {before} b JOIN {after} r USING (note)"
    )
    assert asked(beside, before=table, after=released) == (rows, 0)
    moved = (
        "SELECT count(*) FROM (SELECT note, row_number() OVER () AS place FROM {one}) "
        "WHERE note::BIGINT + 1 <> place"
    )
    assert asked(moved, one=released) == (0,), "the rows are not in the order of the table"


@limited
@pytest.mark.parametrize("command", ["audit", "anonymize"])
def test_too_little_memory_is_told_and_nothing_is_written(folder: Path, command: str) -> None:
    make(folder / "table.csv", f"i AS age, {ILLNESS}, i AS note", 200_000)
    (folder / "policy.toml").write_text(POLICY.format(quasi='age = "quasi"', t=0.3))
    words = ["table.csv", "--policy", "policy.toml", "--memory", "4MB"]
    run = tclose(folder, command, *words, *(["-o", "out.csv"] if command == "anonymize" else []))
    assert run.code == 2
    assert "not enough memory" in run.told and "--memory" in run.told
    assert not (folder / "out.csv").exists()
    assert [path.name for path in folder.iterdir() if "part" in path.name] == []


@limited
def test_rows_are_shuffled_within_the_memory(folder: Path) -> None:
    text = "repeat(md5(i::VARCHAR), 30) || i AS note"
    make(folder / "table.csv", f"20 + i % 50 AS age, {ILLNESS}, {text}", 300_000)
    policy = POLICY.format(quasi='age = "quasi"', t=0.9) + '[release]\nrows = "shuffle"\n'
    (folder / "policy.toml").write_text(policy)
    run = tclose(
        folder, "anonymize", "table.csv", "--policy", "policy.toml", "--memory", "150MB",
        "--method", "mondrian", "-o", "released.csv",
    )  # fmt: skip
    assert run.code == 0, run.told
    assert run.peak < LIMIT
    same = "SELECT count(*), sum(hash(illness || note)) FROM {one}"
    assert asked(same, one=folder / "table.csv") == asked(same, one=folder / "released.csv")


def test_a_full_disk_is_told_as_such(tmp_path: Path) -> None:
    make(tmp_path / "table.csv", "hash(i) AS a", 1_000_000)
    opened: Any = open_source(tmp_path / "table.csv", Reading(memory="60MB"))
    opened = replace(opened, max_cells=10_000_000)  # or an estimate refuses before the disk is full
    opened.connection.execute("SET max_temp_directory_size = '1MB'")
    with pytest.raises(DataError, match="not enough space on the disk"):
        opened.group(["a"])


def test_nothing_is_put_aside_where_others_could_read_it(tmp_path: Path) -> None:
    make(tmp_path / "table.csv", "i AS a", 10)
    opened: Any = open_source(tmp_path / "table.csv", Reading(memory="100MB"))
    place = Path(opened.connection.sql("SELECT current_setting('temp_directory')").fetchall()[0][0])
    assert place.stat().st_mode & 0o077 == 0
    del opened
    assert not place.exists()


texts = st.lists(st.text(max_size=30), max_size=40)


@given(st.lists(texts, max_size=8), st.integers(1, 200), st.integers(1, 20))
def test_pieces_hold_the_same_rows_and_are_neither_large_nor_many(
    parts: list[list[str]], size: int, rows: int
) -> None:
    batches = [pa.record_batch({"a": pa.array(part, pa.string())}) for part in parts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "PIECE", size)
        patch.setattr(source, "BATCH", rows)
        made = list(source.resize_batches(batches))
    rows_made = [text for piece in made for text in piece.column(0).to_pylist()]
    assert rows_made == [text for part in parts for text in part]
    assert all(0 < piece.num_rows <= rows for piece in made)
    for one, next_one in pairwise(made):
        largest = max(batch.nbytes for batch in batches)
        fits = one.num_rows + next_one.num_rows <= rows and one.nbytes + next_one.nbytes <= size
        assert not fits or largest > size
