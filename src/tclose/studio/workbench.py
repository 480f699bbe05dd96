"""Everything that pages share: the project, the jobs, and counts that are made only once."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Hashable
from pathlib import Path
from typing import BinaryIO

import tclose
from tclose.attacks.finding import AttackReport
from tclose.attacks.suite import attack_release
from tclose.data.alignment import align
from tclose.data.io.paths import Address, Reading
from tclose.errors import UsageError
from tclose.release import Release
from tclose.studio.jobs import BackgroundJob, Jobs
from tclose.studio.pairing import JudgedRun, note_classes
from tclose.studio.project import POLICY, Project, Raw, Run, TablePlace
from tclose.studio.script import describe_stop
from tclose.studio.table import (
    CLEANING,
    ColumnCounts,
    TableView,
    count_column,
    look_at_table,
    refuse_bomb,
)
from tclose.verify.audit import Audit
from tclose.workflows.inputs import count_population

CHUNK = 1 << 20


class Workbench:
    """A project that is open, with a private folder for files that must not remain."""

    def __init__(self, project: Project, private: Path) -> None:
        self.project, self.private, self.jobs = project, private, Jobs()
        self.imports: dict[str, tuple[str, str]] = {}
        """Hierarchy files that were uploaded but not yet used: their name and text, by column."""

    # --- the table

    def view(self) -> BackgroundJob:
        """Starts the job that takes the first look at the table."""
        place = self.project.place

        def look(job: BackgroundJob) -> TableView:
            job.set_step("counting the columns")
            return look_at_table(place.data, place.reading)

        return self.jobs.compute(("view", place.identity), "Looking at the table", look)

    def find_view(self) -> TableView | None:
        """Returns the first look at the table, if it is ready."""
        job = self.view()
        return job.result if job.is_done else None

    def take_upload(self, name: str, content: BinaryIO, *, keep: bool) -> Path:
        """Stores an uploaded table; in the private folder, unless it is to be kept."""
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

    def count_column(
        self, name: str, column: Raw | None = None, *, wait: float = 30.0
    ) -> ColumnCounts:
        """Returns the counts of a column, which all previews share.

        With `column`, counts it as this part of a policy would clean it.
        """
        place = self.project.place
        column = self.project.columns.get(name, {}) if column is None else column
        cleaning = json.dumps({key: column.get(key) for key in CLEANING}, sort_keys=True)
        key = ("column", place.identity, name, cleaning)
        job = self.jobs.compute(
            key, "Counting", lambda job: count_column(place.data, place.reading, name, column)
        )
        job.wait(wait)
        return self.jobs.require(job)  # type: ignore[no-any-return]

    # --- judging

    @property
    def state_key(self) -> tuple[object, ...]:
        """A key that changes when the table or the policy changes."""
        return (self.project.place.identity, json.dumps(self.project.raw, sort_keys=True))

    def audit(self) -> BackgroundJob:
        """Starts the job that audits the table with the current policy."""
        place, policy = self.project.place, self.project.policy

        def work(job: BackgroundJob) -> Audit:
            return tclose.audit(place.data, policy, reading=place.reading, progress=job.set_step)

        return self.jobs.compute(("audit", self.state_key), "Counting the classes", work)

    def attack(self, run: Run | None = None) -> BackgroundJob:
        """Starts the job that attacks the unchanged table, or the release of a run with the table's
        quasi-identifiers.
        """
        place = self.project.place if run is None else self.locate(run)
        counting = self.audit() if run is None else self.judge_run(run)

        def work(job: BackgroundJob) -> AttackReport:
            found = self.jobs.finish(counting)
            after, original = (found, None) if run is None else (found.after, found.alignment)
            people = count_population(after.bound, None, place.reading)
            return attack_release(
                after.bound, original=original, population=people, progress=job.set_step
            )

        title = "Trying attacks" + ("" if run is None else f" on run {run.number}")
        return self.jobs.compute(("attack", counting.key), title, work)

    # --- runs

    def locate(self, run: Run) -> TablePlace:
        """Returns the table of a run, where it is now.

        If it is the table that is open, that place is used: it may have the password, or be an
        upload that had to be sent again.
        """
        kept = run.place
        if self.project.table is None:
            if kept is None:
                raise UsageError("nothing says which table this run is of", hint="open the table")
            return kept
        own = self.project.place
        if kept is None:
            return own
        is_same = str(kept.table) == str(own.table)
        if is_same or (kept.name == own.name and not kept.is_there):
            return TablePlace(own.table, kept.reading)
        return kept

    def judge_run(self, run: Run) -> BackgroundJob:
        """Starts the job that counts and aligns a run's release and the table it was made from."""
        place = self.locate(run)
        key: Hashable = ("judge", run.folder, run.release.stat().st_mtime_ns, place.identity)

        def work(job: BackgroundJob) -> JudgedRun:
            policy, data = run.policy, place.data
            before = tclose.audit(data, policy, reading=place.reading, progress=job.set_step)
            after = tclose.verify(run.release, policy, progress=job.set_step)
            for audit in (before, after):
                if audit.in_parts:
                    what = "the table has too many cells to be compared with a release"
                    raise UsageError(what, where=audit.source)
            return JudgedRun(before, after, align(before.bound, after.bound))

        return self.jobs.compute(key, "Comparing the release with the table", work)

    # --- searching

    @property
    def search_job(self) -> BackgroundJob | None:
        """The search under way, or the last one."""
        return self._search

    _search: BackgroundJob | None = None

    def refuse_second_search(self) -> None:
        """Raises UsageError during a search: each uses the whole machine."""
        if self._search is not None and not self._search.is_done:
            raise UsageError("a search is going on", hint="stop it, or wait until it is done")

    def start_search(self) -> BackgroundJob:
        """Starts a search with the current policy; only one at a time."""
        self.refuse_second_search()
        place, run = self.project.place, self.project.start_run()
        command = self.release_command(run)
        name = f"release{_choose_suffix(place.data)}"

        def work(job: BackgroundJob) -> Release:
            try:
                release = tclose.anonymize(
                    place.data, run.folder / POLICY, output=run.folder / name,
                    certificate=run.folder / "certificate.json", plan=run.folder / "plan.json",
                    reading=place.reading, command=command, **job.watch,
                )  # fmt: skip
                note_classes(run, release)
                return release
            finally:
                if not (run.folder / "certificate.json").is_file():
                    shutil.rmtree(run.folder, ignore_errors=True)

        self.jobs.forget(("search", run.number))  # a run that was dropped had the same number
        self._search = self.jobs.compute(
            ("search", run.number), "Searching", work, page="/search",
            stops=("Stop and keep the best so far", "Stop and drop it"),
        )  # fmt: skip
        return self._search

    # --- the same by the command line

    def command(self, verb: str, *words: object) -> str:
        """Writes a command of the command line on the table as it is read here."""
        if self.project.table is None:
            return self._command(verb, "TABLE", self.project.reading, *words)
        place = self.project.place
        return self._command(verb, self.name_table(place), place.reading, *words)

    def name_table(self, place: TablePlace) -> str:
        """Names the table for a command; an upload that is not kept by its original name."""
        is_private = self.private in Path(str(place.table)).parents
        return place.name if is_private or not place.is_there else str(place.table)

    def _command(self, verb: str, table: str, reading: Reading, *words: object) -> str:
        arguments: list[object] = [table]
        for name in ("delimiter", "encoding", "sheet", "query"):
            if (value := getattr(reading, name)) is not None:
                arguments += [f"--{name}", "tab" if value == "\t" else value]
        for mark in reading.nulls:
            arguments += ["--null", mark] if mark else []
        parts = verb.split()
        return shlex.join(["tclose", *parts, *map(str, arguments), *map(str, words)])

    def release_command(self, run: Run | None = None) -> str:
        """Writes the command that makes a release by the policy file in the current folder.

        It is that of a run, or one with the current policy.
        """
        place = self.project.place if run is None else self.locate(run)
        written = ("--output", f"release{_choose_suffix(place.data)}")
        words = ("--policy", POLICY, *written, "--certificate", "certificate.json")
        stopped = run is not None and describe_stop(run)
        verb, more = ("apply plan.json", ()) if stopped else ("anonymize", ("--plan", "plan.json"))
        return self._command(verb, self.name_table(place), place.reading, *words, *more)


def _choose_suffix(data: Path | Address) -> str:
    """Chooses the suffix of a release: like the table's, if that format can be written."""
    suffix = data.suffix.lower() if isinstance(data, Path) else ".csv"
    return suffix if suffix in (".parquet", ".arrow", ".xlsx", ".dta", ".sav") else ".csv"
