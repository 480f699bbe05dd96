"""The Spark session that files are read with, and the file systems that it reaches."""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tclose.data.io.scratch import Scratch
from tclose.errors import DataError

SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt])?i?b?\s*$", re.IGNORECASE)
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
GLOB = re.compile(r"[*?\[{]")
UNITS = {"": 1 / (1 << 20), "k": 1 / (1 << 10), "m": 1, "g": 1 << 10, "t": 1 << 20}


def get_session(memory: str | None = None) -> Any:
    """The session of this process, or a new one with Spark's own default settings."""
    running = SparkSession.getActiveSession()
    found = running if running is not None else _start(memory)
    if not hasattr(found, "_jsparkSession"):
        what = "only classic Spark sessions can be used, not Spark Connect"
        hint = "unset SPARK_REMOTE, or name a master"
        raise DataError(what, where="Spark", hint=hint)
    return found


def _start(memory: str | None) -> Any:
    home = os.environ.get("JAVA_HOME")
    java = Path(home, "bin", "java").exists() if home else shutil.which("java") is not None
    if not java and "PYSPARK_GATEWAY_PORT" not in os.environ:
        raise DataError("Spark needs Java, and there is none", hint="install Java 17 or newer")
    settings = _read_settings()
    builder = SparkSession.builder.appName("tclose")
    for name, value in _defaults(settings, memory).items():
        builder = builder.config(name, value)
    try:
        with nullcontext() if "spark.log.level" in settings else _silence():
            session = builder.getOrCreate()
        logging.getLogger().addFilter(_is_ours)
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
        return session
    except PySparkException as error:
        raise DataError(
            f"Spark did not start ({error.getCondition()})",
            hint="see why with: python -c 'from pyspark.sql import SparkSession as s; "
            "s.builder.getOrCreate()'",
        ) from None


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether a message is no traceback of Spark's bridge, which is raised as an error besides."""
    return Path(record.pathname).parent.name != "py4j"


def _read_settings() -> str:
    home = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
    folder = os.environ.get("SPARK_CONF_DIR") or str(Path(home, "conf"))
    file = Path(folder, "spark-defaults.conf")
    written = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
    lines = [line for line in written.splitlines() if not line.lstrip().startswith("#")]
    return "\n".join([os.environ.get("PYSPARK_SUBMIT_ARGS", ""), *lines])


def _defaults(settings: str, memory: str | None) -> dict[str, str]:
    """Settings for everything that the user's own settings leave open."""
    wanted = {"spark.ui.enabled": "false"}
    if "spark.master" not in settings and "--master" not in settings and "MASTER" not in os.environ:
        # Nobody else has to reach a session on this machine alone.
        wanted |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        # Its Python processes take no module from the current folder, where the table may have come
        # with others.
        wanted["spark.executorEnv.PYTHONSAFEPATH"] = "1"
        if "spark.pyspark.python" not in settings:
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        if "SPARK_LOCAL_DIRS" not in os.environ:
            wanted["spark.local.dir"] = str(_find_scratch().path)
    if memory:
        wanted["spark.driver.memory"] = f"{_megabytes(memory)}m"
    return {name: value for name, value in wanted.items() if name not in settings}


@cache
def _find_scratch() -> Scratch:
    """Where Spark spills rows: a folder that the next process removes if all of this are killed."""
    return Scratch()


def _megabytes(memory: str) -> int:
    size = SIZE.match(memory)
    if size is None:
        raise DataError("not an amount of memory", hint="for example --memory 4GB")
    return max(1, round(float(size[1]) * UNITS[(size[2] or "").lower()]))


@contextmanager
def _silence() -> Iterator[None]:
    """Discards the messages of processes that are started meanwhile, for as long as they run."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@dataclass(frozen=True)
class SparkPath:
    """A path of a session's file systems; a plain one is on the session's own."""

    session: SparkSession = field(repr=False)
    text: str

    @classmethod
    def from_user(cls, session: SparkSession, path: str | Path) -> SparkPath:
        """Reads a location as a user writes it; relative ones start in the working directory."""
        text = str(path)
        if isinstance(path, Path):  # it has eaten a slash of `hdfs://host/folder`
            text = re.sub(r"^(?!file:)([A-Za-z][A-Za-z0-9+.-]+):/(?!/)", r"\1://", text)
        if SCHEME.match(text) is None and cls(session, "/").local is not None:
            text = os.path.abspath(text)
        return cls(session, text)

    @cached_property
    def path(self) -> Any:
        return self.session._jvm.org.apache.hadoop.fs.Path(self.text)

    @cached_property
    def system(self) -> Any:
        return self.path.getFileSystem(self.session._jsparkSession.sessionState().newHadoopConf())

    @property
    def local(self) -> Path | None:
        """The location as a path on this machine, if it is a local file."""
        is_local = self.system.getUri().getScheme() == "file"
        return Path(self.path.toUri().getPath()) if is_local else None

    @property
    def literal(self) -> str:
        """The path as Spark's readers take it, who read every path as a pattern."""
        return re.sub(r"([\\*?{}\[\]])", r"\\\1", self.text)

    @property
    def name(self) -> str:
        return str(self.path.getName())

    def sibling(self, name: str) -> SparkPath:
        return SparkPath(self.session, f"{self.path.getParent().toString().rstrip('/')}/{name}")

    def exists(self) -> bool:
        return bool(self.system.exists(self.path))

    def files(self) -> list[SparkPath]:
        """The files at the location: itself, the files of a folder, or those matching a pattern."""
        found = self.system.globStatus(self.path) if GLOB.search(self.text) else None
        roots = [self.path] if found is None else [match.getPath() for match in found]
        listed: list[str] = []
        for root in filter(self.system.exists, roots):
            each = self.system.listFiles(root, True)
            while each.hasNext():
                listed.append(each.next().getPath().toString())
        kept = [SparkPath(self.session, text) for text in sorted(listed)]
        return [place for place in kept if not place.name.startswith((".", "_"))]

    def beginning(self, most: int) -> bytes:
        with closing(self.system.open(self.path)) as stream:
            return bytes(stream.readNBytes(most))

    def move(self, target: SparkPath) -> bool:
        """Renames a folder; whether it is now there, and was nothing there before."""
        if target.exists() or not self.system.rename(self.path, target.path):
            return False
        # Where somebody else was quicker, it was moved into what they have made.
        inside = SparkPath(self.session, f"{target.text.rstrip('/')}/{self.name}")
        if inside.exists():
            inside.remove()
            return False
        return target.exists()

    def remove(self) -> None:
        """Deletes it with everything below it, if it is there."""
        self.system.delete(self.path, True)
