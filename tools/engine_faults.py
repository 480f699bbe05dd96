"""Runs of tclose on PostgreSQL and on Spark that are killed, or that lose their server.

    python tools/engine_faults.py --postgres 40 --spark 8 --seed 1

A server of its own is started (initdb, pg_ctl); Spark needs Java. Every run is a process of its
own, and ends at a random moment: by SIGKILL, by SIGTERM, or because the server or the Java process
is gone. After each: the release is whole or not there; a certificate is never there without the
release that it is about; the table that was read is as it was; no raw name is in the database, in
the temporary folder or in what is hidden; nothing ends in a traceback or with a verdict. Then the
next run must end well and leave nothing hidden. Ends with 1 where anything is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import getpass
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SECRET = "SECRET-NAME"
POLICY = """
k = 3
[columns]
name = "identifier"
age = "quasi"
zip = "quasi"
ill = { role = "sensitive", t = 0.5 }
"""
ROWS = 400
PATIENCE = 60
"""Seconds until what belongs to a dead process must be gone."""


@dataclass
class Tally:
    """What was seen, and what should not have been."""

    seen: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def expect(self, right: bool, what: str) -> None:
        """Notes what is wrong."""
        if not right:
            self.wrong.append(what)
            print(f"WRONG: {what}", flush=True)


class Folder:
    """Where commands run: the inputs, a temporary folder, and what the last command printed."""

    def __init__(self, place: Path) -> None:
        self.place, self.aside = place, place / "aside"
        self.aside.mkdir()
        draw = random.Random(5)
        self.rows = [
            (f"{SECRET} {at}", draw.randrange(20, 90), str(draw.randrange(400, 460)),
             draw.choice(["flu", "gout", "asthma", "ulcer"]))
            for at in range(ROWS)
        ]  # fmt: skip
        lines = ["name,age,zip,ill", *(",".join(map(str, row)) for row in self.rows)]
        (place / "t.csv").write_text("\n".join(lines) + "\n")
        (place / "p.toml").write_text(POLICY)
        self.told = place / "told.txt"

    def start(self, words: str) -> subprocess.Popen[bytes]:
        """A process that runs a command, in a group of its own."""
        env = {**os.environ, "TMPDIR": str(self.aside)}
        with self.told.open("wb") as told:
            return subprocess.Popen(
                [sys.executable, "-m", "tclose", *words.split()],
                cwd=self.place, env=env, stdout=told, stderr=told, start_new_session=True,
            )  # fmt: skip

    def run(self, words: str) -> int:
        """The exit code of a command, once nothing of it goes on."""
        process = self.start(words)
        code = process.wait()
        wait_for_java(process.pid)
        return code

    def finds_raw_rows(self) -> bool:
        """Whether a name, which no release shows, stands anywhere but in the input."""
        places = [*self.aside.rglob("*"), *self.place.glob(".*"), *self.place.glob(".*/**/*")]
        places += [*self.place.glob("r*/**/*"), *self.place.glob("*.json")]
        found = False
        for place in places:
            with contextlib.suppress(OSError):
                found = found or (place.is_file() and SECRET.encode() in place.read_bytes())
        return found

    def list_left(self) -> list[str]:
        """What is hidden, or left in the temporary folder."""
        left = [path.name for path in self.place.iterdir() if path.name.startswith(".")]
        return left + [path.name for path in self.aside.iterdir()]


def judge_end(folder: Folder, code: int, ends: tuple[int, ...], what: str, tally: Tally) -> None:
    """What holds of every run that was disturbed."""
    # What a thread of pyspark says of a Java process that is gone is between two lines of dashes.
    parts = folder.told.read_text(errors="replace").split("-" * 40)
    told = "".join(part for part in parts if "pyspark/accumulators.py" not in part)
    tally.expect(code in ends, f"{what}: ends with {code}: {told}")
    tally.expect("Traceback" not in told, f"{what}: {told}")
    tally.expect(SECRET not in told, f"{what}: a name is printed")


# --- PostgreSQL


@contextlib.contextmanager
def start_server(folder: Path) -> Iterator[tuple[int, Any]]:
    """A server on a port of its own, and what runs `pg_ctl` for it."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = shutil.which("initdb") or str(found[-1])
    pg_ctl = shutil.which("pg_ctl") or str(Path(initdb).resolve().with_name("pg_ctl"))
    names = {user.pw_name for user in pwd.getpwall()}
    owner = getpass.getuser() if os.getuid() else ("postgres" if "postgres" in names else "nobody")
    other: dict[str, Any] = {} if os.getuid() else {"user": owner, "extra_groups": []}
    home = Path(tempfile.mkdtemp(prefix="faults-pg-"))
    shutil.chown(home, owner)

    def run(*words: str) -> None:
        subprocess.run(words, cwd=home, check=True, stdout=subprocess.DEVNULL, **other)

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    run(initdb, "-D", str(home / "data"), "-U", "postgres", "-A", "trust", "-N", "--locale=C", "-E",
        "UTF8")  # fmt: skip
    settings = f"-k {home} -p {port} -c listen_addresses=127.0.0.1 -c fsync=off"

    def control(verb: str) -> None:
        more = ["-o", settings, "-l", str(home / "log")] if verb == "start" else ["-m", "immediate"]
        run(pg_ctl, "-D", str(home / "data"), "-w", *more, verb)

    control("start")
    try:
        yield port, control
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):
            control("stop")
        shutil.rmtree(home, ignore_errors=True)


def ask(port: int, sql: str) -> list[tuple[Any, ...]]:
    """Runs some SQL."""
    import psycopg

    with psycopg.connect(f"postgresql://postgres@127.0.0.1:{port}/postgres", autocommit=True) as db:
        cursor = db.execute(sql)  # type: ignore[call-overload]
        return list(cursor.fetchall()) if cursor.description else []


OTHERS = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
TABLES = (
    "SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n "
    "ON n.oid = c.relnamespace WHERE relkind = 'r' AND nspname NOT IN "
    "('pg_catalog', 'information_schema') ORDER BY 1"
)


def wait_for_sessions(port: int) -> None:
    """Waits until the server has noticed that its clients are dead."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and ask(port, OTHERS) != [(1,)]:
        time.sleep(0.1)


def disturb_postgres(folder: Folder, number: int, draw: random.Random, tally: Tally) -> None:
    """Kills runs on a database, or the server under them."""
    with start_server(folder.place) as (port, control):
        ask(port, "CREATE TABLE t (name text, age int, zip text, ill text)")
        values = ", ".join(f"('{a}', {b}, '{c}', '{d}')" for a, b, c, d in folder.rows)
        ask(port, f"INSERT INTO t VALUES {values}")
        before = ask(port, "SELECT md5(string_agg(t::text, '' ORDER BY name)) FROM t")
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        words = f"anonymize {url}#t -p p.toml -o {url}#r --certificate c.json --effort 0.1"
        verify = f"verify {url}#r --policy p.toml --certificate c.json"
        began = time.monotonic()
        tally.expect(folder.run(words) == 0, f"PostgreSQL: {folder.told.read_text()}")
        length = time.monotonic() - began
        for at in range(number):
            ask(port, "DROP TABLE IF EXISTS r")
            (folder.place / "c.json").unlink(missing_ok=True)
            how = draw.choice(["SIGKILL", "SIGKILL", "SIGTERM", "the server is gone"])
            share = draw.random()
            moment = length * (0.3 + 0.8 * share)
            process = folder.start(words)
            time.sleep(moment)
            if how == "the server is gone":
                control("stop")
                code = process.wait()
                control("start")
            else:
                process.send_signal(getattr(signal, how))
                code = process.wait()
            wait_for_sessions(port)
            what = f"PostgreSQL {at} ({how} after {moment:.2f} s)"
            judge_end(folder, code, (0, 2, -9, 143, -15), what, tally)
            tables = [name for (name,) in ask(port, TABLES)]
            has_release, has_certificate = "public.r" in tables, (folder.place / "c.json").exists()
            strange = [name for name in tables if name not in ("public.t", "public.r")]
            tally.expect(not strange, f"{what}: {strange} are left")
            now = ask(port, "SELECT md5(string_agg(t::text, '' ORDER BY name)) FROM t")
            tally.expect(now == before, f"{what}: the table is another")
            tally.expect(has_release or not has_certificate, f"{what}: a certificate of nothing")
            tally.expect(code != 0 or has_certificate, f"{what}: no certificate")
            tally.expect(not folder.finds_raw_rows(), f"{what}: raw rows were left")
            if has_release:
                told = ask(port, f"SELECT count(*) FROM r WHERE r::text LIKE '%{SECRET}%'")
                tally.expect(told == [(0,)], f"{what}: names in the release")
                tally.expect(ask(port, "SELECT count(*) FROM r") == [(ROWS,)], f"{what}: not whole")
            if has_release and has_certificate:
                tally.expect(folder.run(verify) == 0, f"{what}: {folder.told.read_text()}")
            left = {(True, True): "new", (False, False): "old"}.get(
                (has_release, has_certificate), "the release without its certificate"
            )
            tally.seen[f"PostgreSQL, {how}: {left if code else 'done before'}"] += 1
        ask(port, "DROP TABLE IF EXISTS r")
        (folder.place / "c.json").unlink(missing_ok=True)
        tally.expect(folder.run(words) == 0, f"the next run: {folder.told.read_text()}")
        tally.expect(not folder.list_left(), f"the next run: {folder.list_left()} is left")


# --- Spark


def list_java(group: int) -> list[int]:
    """The Java processes of a process's session."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = (place / "stat").read_text().rpartition(")")[2].split()
            is_java = b"java" in (place / "cmdline").read_bytes().split(b"\0")[0]
            if is_java and int(fields[3]) == group:
                found.append(int(place.name))
    return found


def wait_for_java(group: int) -> None:
    """Waits until the Java processes of a dead process have noticed it."""
    until = time.monotonic() + PATIENCE
    while list_java(group) and time.monotonic() < until:
        time.sleep(0.2)


def disturb_spark(folder: Folder, number: int, draw: random.Random, tally: Tally) -> None:
    """Kills runs that Spark writes, or the Java process under them."""
    words = (
        "anonymize t.csv --engine spark -p p.toml -o r.parquet --certificate c.json --effort 0.1"
    )
    verify = "verify r.parquet --policy p.toml --certificate c.json"
    began = time.monotonic()
    tally.expect(folder.run(words) == 0, f"Spark: {folder.told.read_text()}")
    length = time.monotonic() - began
    for at in range(number):
        shutil.rmtree(folder.place / "r.parquet", ignore_errors=True)
        (folder.place / "c.json").unlink(missing_ok=True)
        how = ("SIGKILL", "Java is gone", "SIGTERM")[at % 3]
        moment = length * (0.4 + 0.6 * draw.random())
        process = folder.start(words)
        time.sleep(moment)
        java = list_java(process.pid)
        if how == "Java is gone":
            for each in java:
                os.kill(each, signal.SIGKILL)
        else:
            process.send_signal(getattr(signal, how))
        code = process.wait()
        wait_for_java(process.pid)
        what = f"Spark {at} ({how} after {moment:.1f} s)"
        tally.expect(not list_java(process.pid), f"{what}: Java goes on")
        judge_end(folder, code, (0, 2, -9, 143, -15), what, tally)
        release, certificate = folder.place / "r.parquet", folder.place / "c.json"
        tally.expect(release.exists() or not certificate.exists(), f"{what}: a certificate alone")
        tally.expect(not folder.finds_raw_rows(), f"{what}: raw rows were left")
        if release.exists() and certificate.exists():
            tally.expect(folder.run(verify) == 0, f"{what}: {folder.told.read_text()}")
        left = {(True, True): "new", (False, False): "old"}.get(
            (release.exists(), certificate.exists()), "the release without its certificate"
        )
        tally.seen[f"Spark, {how}: {left if code else 'done before'}"] += 1
    shutil.rmtree(folder.place / "r.parquet", ignore_errors=True)
    (folder.place / "c.json").unlink(missing_ok=True)
    tally.expect(folder.run(words) == 0, f"the next run: {folder.told.read_text()}")
    tally.expect(not folder.list_left(), f"the next run: {folder.list_left()} is left")


def main() -> int:
    """Disturbs runs as told, prints what was seen, and says whether all was right."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--postgres", type=int, default=40, help="runs on a database")
    parser.add_argument("--spark", type=int, default=8, help="runs on Spark")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    given = parser.parse_args()
    draw, tally = random.Random(given.seed), Tally()
    for number, disturb in ((given.postgres, disturb_postgres), (given.spark, disturb_spark)):
        if number:
            place = Path(tempfile.mkdtemp(prefix="faults-"))
            try:
                disturb(Folder(place), number, draw, tally)
            finally:
                shutil.rmtree(place, ignore_errors=True)
    for what, count in sorted(tally.seen.items()):
        print(f"{count:5}  {what}")
    print(f"{len(tally.wrong)} wrong")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
