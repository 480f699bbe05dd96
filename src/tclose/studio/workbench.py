"""Everything that pages share: the project, the jobs, and counts that are made once."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

import tclose
from tclose.data.alignment import locate_rows
from tclose.data.binding import BoundTable
from tclose.data.io.files import write_text
from tclose.data.io.paths import Address
from tclose.errors import UsageError
from tclose.release import Release
from tclose.studio.jobs import BackgroundJob, Jobs
from tclose.studio.project import POLICY, Project, Run
from tclose.studio.table import (
    CLEANING,
    ColumnCounts,
    TableView,
    count_column,
    look_at_table,
    refuse_bomb,
)
from tclose.verify.audit import Audit

CHUNK = 1 << 20
FIRST_RELEASED = 1_000
"""Rows that are shown beside what became of them."""


class Workbench:
    """A project that is worked on, with a private folder for what must not outlive it."""

    def __init__(self, project: Project, private: Path) -> None:
        self.project, self.private, self.jobs = project, private, Jobs()
        self.imports: dict[str, tuple[str, str]] = {}
        """Hierarchy files that were uploaded and not yet taken, by column: their name and text."""

    # --- the table

    def view(self) -> BackgroundJob:
        """The table as it was first looked at."""
        project = self.project
        data, reading = project.data, project.reading

        def look(job: BackgroundJob) -> TableView:
            job.tell("counting the columns")
            return look_at_table(data if isinstance(data, Address) else Path(data), reading)

        return self.jobs.compute(("view", project.identity), "Looking at the table", look)

    def find_view(self) -> TableView | None:
        """The same where it is known by now."""
        job = self.view()
        return job.result if job.is_done else None

    def take_upload(self, name: str, content: BinaryIO, *, keep: bool) -> Path:
        """Stores an uploaded table, in the private folder unless it is to be kept."""
        plain = re.sub(r"[^\w.-]", "_", Path(name.replace("\\", "/")).name, flags=re.ASCII)
        folder = (self.project.folder / "data") if keep else (self.private / "uploads")
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / (plain.lstrip(".")[-80:] or "table.csv")
        with path.open("wb") as file:
            shutil.copyfileobj(content, file, CHUNK)
        path.chmod(0o600)
        try:
            refuse_bomb(path)
        except UsageError:
            path.unlink()
            raise
        return path

    def count_column(self, name: str, *, wait: float = 30.0) -> ColumnCounts:
        """The counts of a column, made once for all previews."""
        project = self.project
        data, reading, column = project.data, project.reading, project.columns.get(name, {})
        cleaning = json.dumps({key: column.get(key) for key in CLEANING}, sort_keys=True)
        key = ("column", project.identity, name, cleaning)
        place = data if isinstance(data, Address) else Path(data)
        job = self.jobs.compute(
            key, "Counting", lambda job: count_column(place, reading, name, column)
        )
        job.wait(wait)
        return self.require(job, key)  # type: ignore[no-any-return]

    def require(self, job: BackgroundJob, key: Hashable) -> Any:
        """What a job gave; raises what went wrong, and forgets it so that it is tried again."""
        if job.problem is not None:
            self.jobs.forget(key)
            raise UsageError(job.problem)
        if not job.is_done:
            raise UsageError("this takes longer than usual", hint="try again in a moment")
        return job.result

    # --- judging

    @property
    def stand(self) -> tuple[object, ...]:
        """What tells the table and the policy as they are now from any others."""
        return (self.project.identity, json.dumps(self.project.raw, sort_keys=True))

    def audit(self) -> tuple[BackgroundJob, Hashable]:
        """The audit of the table as it stands."""
        project, key = self.project, ("audit", self.stand)
        data, policy, reading = project.data, project.policy, project.reading

        def work(job: BackgroundJob) -> Audit:
            return tclose.audit(data, policy, reading=reading, progress=job.tell)

        return self.jobs.compute(key, "Counting the classes", work), key

    def attack(self, run: Run | None = None) -> tuple[BackgroundJob, Hashable]:
        """What attacks find in the table as it stands, or in a release."""
        project = self.project
        data, reading = project.data, project.reading
        key: Hashable = ("attack", self.stand if run is None else (run.number, run.folder))
        policy = project.policy if run is None else run.policy

        def work(job: BackgroundJob) -> Any:
            if run is None:
                return tclose.attack(data, policy, reading=reading, progress=job.tell)
            return tclose.attack(run.release, policy, original=data, progress=job.tell)

        return self.jobs.compute(key, "Trying attacks", work), key

    # --- searching

    @property
    def search_job(self) -> BackgroundJob | None:
        """The search that is under way or ended last."""
        return self._search

    _search: BackgroundJob | None = None

    def refuse_second_search(self) -> None:
        """Raises where a search goes on: each takes all that the machine has."""
        if self._search is not None and not self._search.is_done:
            raise UsageError("a search is going on", hint="stop it, or wait until it is done")

    def start_search(self) -> BackgroundJob:
        """Begins a search by the policy as it stands; only one goes on at a time."""
        self.refuse_second_search()
        project = self.project
        data, reading = project.data, project.reading
        run = project.start_run()
        command = self.release_command()

        def work(job: BackgroundJob) -> Release:
            try:
                release = tclose.anonymize(
                    data, run.folder / POLICY, output=run.folder / self.release_name(),
                    certificate=run.folder / "certificate.json", plan=run.folder / "plan.json",
                    reading=reading, command=command, **job.watch,
                )  # fmt: skip
                note_rows(run, release, lambda: tclose.check(data, run.policy, reading=reading))
                return release
            finally:
                if not (run.folder / "certificate.json").is_file():
                    shutil.rmtree(run.folder, ignore_errors=True)

        self.jobs.forget(("search", run.number))  # a run that was dropped had the same number
        self._search = self.jobs.compute(("search", run.number), "Searching", work)
        return self._search

    def release_name(self) -> str:
        """What a release is called: of the kind that the table is, where that can be written."""
        data = self.project.data
        suffix = data.suffix.lower() if isinstance(data, Path) else ".csv"
        same = suffix in (".parquet", ".arrow", ".xlsx", ".dta", ".sav")
        return f"release{suffix if same else '.csv'}"

    # --- the same by the command line

    def command(self, verb: str, *words: object) -> str:
        """A command of the command line on the table as it is read here."""
        reading, table = self.project.reading, self.project.table
        told: list[object] = [table if table is not None else "TABLE"]
        for name in ("delimiter", "encoding", "sheet", "query"):
            if (value := getattr(reading, name)) is not None:
                told += [f"--{name}", "tab" if value == "\t" else value]
        for mark in reading.nulls:
            told += ["--null", mark] if mark else []
        parts = verb.split()
        return shlex.join(["tclose", *parts, *map(str, told), *map(str, words)])

    def release_command(self) -> str:
        """The command that makes a release by the policy file in the current folder."""
        return self.command(
            "anonymize", "--policy", POLICY, "--output", self.release_name(),
            "--certificate", "certificate.json", "--plan", "plan.json",
        )  # fmt: skip


def note_rows(run: Run, release: Release, bind: Callable[[], BoundTable]) -> None:
    """Writes which rows of the table the first released ones are, by their numbers from 0."""
    settings = run.policy.release
    if settings.rows != "keep" or settings.leftover != "drop" or release.outcome is None:
        return
    numbers = list(range(min(FIRST_RELEASED, release.audit.rows)))
    if release.left_out:
        kept = np.flatnonzero(release.outcome.label[locate_rows(bind())] >= 0)
        numbers = kept[:FIRST_RELEASED].tolist()
    write_text(run.folder / "rows.json", json.dumps(numbers) + "\n")


def script_for(bench: Workbench, run: Run) -> str:
    """A Python script that makes a run's release again."""
    reading = bench.project.reading
    said = ", ".join(
        f"{name}={getattr(reading, name)!r}"
        for name in ("delimiter", "encoding", "nulls", "sheet", "query")
        if getattr(reading, name) not in (None, ("",))
    )
    stopped = run.certificate.stopped
    notes = ['"""Makes this release again: equal bytes for the equal table and policy."""']
    if stopped in ("cancelled", "clock"):
        how = "by hand" if stopped == "cancelled" else "by the clock"
        notes = [
            f'"""Searches by the same policy again. The search was stopped {how}, so that another',
            'one may find another release; apply plan.json to get this one\'s classes."""',
        ]
    return "\n".join(
        [
            *notes, "", "from pathlib import Path", "", "import tclose", "",
            "here = Path(__file__).parent",
            "release = tclose.anonymize(",
            f"    {str(bench.project.table)!r},",
            f'    here / "{POLICY}",',
            f'    output=here / "{run.release.name}",',
            '    certificate=here / "certificate.json",',
            '    plan=here / "plan.json",',
            *([f"    reading=tclose.Reading({said}),"] if said else []),
            ")",
            "print(release)", "",
        ]
    )  # fmt: skip
