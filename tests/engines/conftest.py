"""Real engines, started once: those that are not on this machine are skipped with a reason."""

from __future__ import annotations

import getpass
import importlib.util
import itertools
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest


@pytest.fixture(scope="session")
def has_spark() -> None:
    """Skips where Spark cannot run."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, which is not on this machine")


@pytest.fixture(scope="session")
def spark(has_spark: None) -> Iterator[Any]:
    """A small local session whose tasks may fail three times before a job does."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master("local[2,4]")
        .appName("tclose tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.sql.session.timeZone", "Asia/Kathmandu")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


PASSWORD = "pa%ss:w?rd-Zq7"
"""Of everybody in the test server; nothing may ever print it, nor the way a URL writes it."""
IN_URL = "pa%25ss:w?rd-Zq7"
NUMBER = itertools.count(1)
KINDS = """
CREATE TYPE mood AS ENUM ('sad', 'fine');
CREATE EXTENSION citext;
CREATE TABLE kinds (
    truth boolean, small smallint, big bigint, single real, number double precision,
    free numeric, fixed numeric(10,2), long numeric(50,3), words text, short varchar(20),
    padded char(6), loose citext, feeling mood, id uuid, day date, hour time, moment timestamp,
    instant timestamptz, span interval, bytes bytea, tree jsonb, numbers int[], host inet
);
INSERT INTO kinds VALUES
    (true, -1, 9007199254740993, 0.1, 0.1, 1.500, 1.5, 1.5, '', 'x', 'ab', 'Ann', 'fine',
     '00000000-0000-0000-0000-00000000000a', '2024-01-02', '12:30:00.5',
     '2024-01-02 03:04:05.123456', '2024-01-02 03:04:05.123456+05:45', '1 mon 2 days',
     '\\xdead', '{"a": [1, "ü"]}', '{1,NULL,3}', '10.0.0.1'),
    (NULL, NULL, NULL, 'NaN', 'NaN', 'NaN', 'NaN', 'NaN', E'a\\n"b", ü€𝄞\\t', 'y ', ' z', 'ann',
     'sad', NULL, '0001-01-01', '00:00', '0001-01-01', '9999-12-31 23:59:59.999999+00', '0', '',
     '[]', '{}', '::1'),
    (false, 1, 1, 'inf', '-inf', 1.5, 1.5, 1.5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
     NULL, NULL, NULL, NULL, NULL, NULL, NULL)
"""


@dataclass(frozen=True)
class Database:
    """A database of its own on the test server."""

    port: int
    name: str
    socket: str
    password: str = PASSWORD
    secrets: tuple[str, ...] = (PASSWORD, IN_URL, "w?rd-Zq7")

    def url(self, table: str = "", user: str = "postgres", password: str | None = IN_URL) -> str:
        """The address of a table in it."""
        secret = "" if password is None else f":{password}"
        hash_table = f"#{table}" if table else ""
        return f"postgresql://{user}{secret}@127.0.0.1:{self.port}/{self.name}{hash_table}"

    def connect(self, user: str = "postgres") -> Any:
        """A connection that commits at once."""
        import psycopg

        return psycopg.connect(self.url(user=user), autocommit=True)

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """Runs some SQL as the administrator."""
        with self.connect() as connection:
            cursor = connection.execute(sql)
            return list(cursor.fetchall()) if cursor.description else []

    def put(self, name: str, table: pa.Table) -> str:
        """A new table with these rows; where it is."""
        from tclose.data.engines.postgres.source import fill_new_table
        from tclose.data.io.paths import Address

        url = self.url(name)
        fill_new_table(Address(url), table.schema, table.to_batches(), lambda source: None)
        return url

    def make_kinds(self) -> None:
        """Makes a table `kinds` with a column of every kind."""
        self.run(KINDS)

    def tables(self) -> list[str]:
        """The names of all tables that are there."""
        found = self.run("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
        return [name for (name,) in found]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Database]:
    """A server of its own, in a folder of its own, on a port of its own."""
    if importlib.util.find_spec("psycopg") is None:
        pytest.skip("psycopg is not installed")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = shutil.which("initdb") or (str(found[-1]) if found else None)
    if initdb is None:
        pytest.skip("PostgreSQL (initdb, pg_ctl) is not on this machine")
    pg_ctl = shutil.which("pg_ctl") or str(Path(initdb).resolve().with_name("pg_ctl"))
    folder = Path(tempfile.mkdtemp(prefix="tclose-pg-"))
    # The server refuses to run as root.
    names = {user.pw_name for user in pwd.getpwall()}
    owner = getpass.getuser() if os.getuid() else ("postgres" if "postgres" in names else "nobody")
    other: dict[str, Any] = {} if os.getuid() else {"user": owner, "extra_groups": []}
    # What our kernels may have to be loaded with (`make test-checked`) is not for the server.
    other["env"] = {name: told for name, told in os.environ.items() if name != "LD_PRELOAD"}
    (folder / "password").write_text(PASSWORD)
    for place in (folder, folder / "password"):
        shutil.chown(place, owner)

    def run(*words: str) -> None:
        done = subprocess.run(
            words, cwd=folder, capture_output=True, text=True, check=False, **other
        )
        assert done.returncode == 0, done.stdout + done.stderr

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = str(folder / "data")
    try:
        run(initdb, "-D", data, "-U", "postgres", "-A", "scram-sha-256", "-E", "UTF8", "--locale=C",
            "-N", f"--pwfile={folder / 'password'}")  # fmt: skip
        settings = f"-k {folder} -p {port} -F -c listen_addresses=127.0.0.1 -c timezone=Asia/Tokyo"
        run(pg_ctl, "-D", data, "-o", settings, "-l", str(folder / "log"), "-w", "start")
        yield Database(port, "postgres", str(folder))
        run(pg_ctl, "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def database(postgres: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """An empty database; nothing of the surroundings says how to connect."""
    for name in list(os.environ):
        if name.startswith("PG"):
            monkeypatch.delenv(name)
    name = f"clinic_{next(NUMBER)}"
    postgres.run(f"CREATE DATABASE {name} TEMPLATE template0")
    yield Database(postgres.port, name, postgres.socket)
    postgres.run(f"DROP DATABASE {name} WITH (FORCE)")
