"""Starts the studio on this machine, opens its page, and cleans up when it ends."""

from __future__ import annotations

import os
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from tclose.data.io.paths import AS_FOUND, Address, Reading
from tclose.data.io.scratch import Scratch
from tclose.data.io.transaction import try_lock
from tclose.errors import UsageError
from tclose.studio.app import build_app
from tclose.studio.guard import Guard
from tclose.studio.project import Project
from tclose.studio.workbench import Workbench

LOCAL = "127.0.0.1"
MOST_UPLOADED = 4 << 30
LOCK = ".lock"


@dataclass(frozen=True)
class ServerSettings:
    """The settings of a studio."""

    project: Path
    table: str | Address | None = None
    policy: Path | None = None
    reading: Reading = AS_FOUND
    host: str = LOCAL
    port: int = 0
    """0 chooses a free one."""
    most_uploaded: int = MOST_UPLOADED


class Studio:
    """A server that is ready to run."""

    def __init__(self, settings: ServerSettings) -> None:
        self.lock = _lock(settings.project)
        try:
            project = Project(settings.project)
            if settings.table is not None or settings.policy is not None:
                _take(project, settings)
            project.save()
            self.socket = _listen(settings)
        except BaseException:
            os.close(self.lock)
            raise
        self.scratch = Scratch()
        self.private = self.scratch.path
        port = int(self.socket.getsockname()[1])
        hosts = {settings.host, LOCAL, "localhost"} if settings.host == LOCAL else {settings.host}
        self.bench = Workbench(project, self.private)
        self.guard = Guard(build_app(self.bench), hosts, port, settings.most_uploaded)
        self.base = f"http://{settings.host}:{port}"
        config = uvicorn.Config(
            self.guard, log_config=None, access_log=False, ws="none", server_header=False,
            date_header=False, proxy_headers=False, timeout_graceful_shutdown=1,
        )  # fmt: skip
        self.server = uvicorn.Server(config)

    @property
    def address(self) -> str:
        """The address that the user opens; it works once."""
        return f"{self.base}/?token={self.guard.token}"

    def run(self, *, open_page: bool, ready: Callable[[str], None]) -> None:
        """Serves until it is stopped, and then removes private files."""
        try:
            if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
                # The terminal was closed. An exception could get lost among the server's callbacks.
                signal.signal(signal.SIGHUP, self._end)
            ready(self.address)
            if open_page:
                webbrowser.open(self.address)
            self.server.run(sockets=[self.socket])
        finally:
            self.close()

    def _end(self, number: int, frame: object) -> None:
        self.server.should_exit = True

    def close(self) -> None:
        """Stops all jobs, and removes private files."""
        self.bench.jobs.stop_all(10)
        self.socket.close()
        os.close(self.lock)
        self.scratch.close()


def _take(project: Project, settings: ServerSettings) -> None:
    """Opens the table and policy of the command in the project; a project has one table."""
    table = project.table if settings.table is None else settings.table
    if table is None:
        raise UsageError("the policy is given without a table", hint="name the table as well")
    if project.table is not None and str(project.table) != str(table):
        raise UsageError(
            "this project is about another table",
            where=str(project.folder),
            hint="choose another folder with --project",
        )
    raw = None if settings.policy is None else project.adopt_policy(settings.policy)
    reading = project.reading if settings.table is None else settings.reading
    project.open(table, reading, raw)


def _lock(project: Path) -> int:
    """Locks a project's folder against other studios while this process has it open."""
    try:
        project.mkdir(parents=True, exist_ok=True)
        file = os.open(project / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        what, hint = f"cannot keep a project there ({error.strerror})", "choose another --project"
        raise UsageError(what, where=str(project), hint=hint) from None
    if not try_lock(file):
        os.close(file)
        what, hint = "another studio is using this folder", "end it, or choose another --project"
        raise UsageError(what, where=str(project), hint=hint)
    return file


def _listen(settings: ServerSettings) -> socket.socket:
    try:
        found = socket.create_server((settings.host, settings.port))
    except OSError as error:
        raise UsageError(
            f"cannot listen there ({error.strerror})",
            where=f"{settings.host}:{settings.port}",
            hint="choose another --port, or leave it out",
        ) from None
    return found
