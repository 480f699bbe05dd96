"""Files and folders as Spark reaches them: on this machine, HDFS or any other file system."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
GLOB = re.compile(r"[*?\[{]")


@dataclass(frozen=True)
class SparkPath:
    """A path of a session's file systems; a plain one is on the session's own."""

    session: SparkSession = field(repr=False)
    text: str

    @classmethod
    def from_user(cls, session: SparkSession, path: str | Path) -> SparkPath:
        """A place by what a user calls it: what is relative starts where the user is.

        A Path has eaten a slash of `hdfs://host/folder`; it gets it back.
        """
        text = str(path)
        if isinstance(path, Path):
            text = re.sub(r"^(?!file:)([A-Za-z][A-Za-z0-9+.-]+):/(?!/)", r"\1://", text)
        if SCHEME.match(text) is None and cls(session, "/").is_local:
            text = os.path.abspath(text)
        return cls(session, text)

    @cached_property
    def path(self) -> Any:
        """The path as Hadoop has it."""
        return self.session._jvm.org.apache.hadoop.fs.Path(self.text)

    @cached_property
    def system(self) -> Any:
        """The file system that the path is on."""
        return self.path.getFileSystem(self.session._jsparkSession.sessionState().newHadoopConf())

    @property
    def is_local(self) -> bool:
        """Whether this machine's own files are meant."""
        return bool(self.system.getUri().getScheme() == "file")

    @property
    def local(self) -> Path | None:
        """The same on this machine, if its own files are meant."""
        return Path(self.path.toUri().getPath()) if self.is_local else None

    @property
    def literal(self) -> str:
        """The path as Spark's readers take it, who read every path as a pattern."""
        return re.sub(r"([\\*?{}\[\]])", r"\\\1", self.text)

    @property
    def name(self) -> str:
        """The last part of the path."""
        return str(self.path.getName())

    def sibling(self, name: str) -> SparkPath:
        """Another name in the same folder."""
        return SparkPath(self.session, f"{self.path.getParent().toString().rstrip('/')}/{name}")

    def rename(self, name: str) -> None:
        """Gives a file another name in its folder."""
        self.system.rename(self.path, self.sibling(name).path)

    def exists(self) -> bool:
        """Whether there is something."""
        return bool(self.system.exists(self.path))

    def files(self) -> list[SparkPath]:
        """The files that are meant: itself, all of a folder, or what a pattern names."""
        found = self.system.globStatus(self.path) if GLOB.search(self.text) else None
        roots = [self.path] if found is None else [match.getPath() for match in found]
        listed: list[str] = []
        for root in roots:
            if not self.system.exists(root):
                continue
            each = self.system.listFiles(root, True)
            while each.hasNext():
                listed.append(each.next().getPath().toString())
        kept = [SparkPath(self.session, text) for text in sorted(listed)]
        return [place for place in kept if not place.name.startswith((".", "_"))]

    def beginning(self, most: int) -> bytes:
        """The first bytes of a file."""
        stream = self.system.open(self.path)
        try:
            return bytes(stream.readNBytes(most))
        finally:
            stream.close()

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
