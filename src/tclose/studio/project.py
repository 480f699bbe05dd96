"""A project: a folder with the policy, its hierarchies and the runs; never the data.

Everything is a file that the command line reads as well: `policy.toml`, `hierarchies/`, and for
each run a folder with its own policy, release, certificate and plan.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from tclose.data.io.files import write_text
from tclose.data.io.paths import Address, Reading, find_files
from tclose.errors import DataError, PolicyError, Problem, UsageError
from tclose.policy.load import parse_policy, read_raw, write_toml
from tclose.policy.model import Policy
from tclose.verify.certificate import Certificate

STATE, POLICY, TABLE = "studio.json", "policy.toml", "table.json"
MOST_UNDONE = 100
READS = ("delimiter", "encoding", "nulls", "sheet", "query")
"""The settings of reading a table that a page has."""
STALE = (
    "this was changed meanwhile, perhaps in another tab: the page now shows the current state; "
    "look at it and send your change again"
)

Raw = dict[str, Any]


@dataclass(frozen=True)
class TablePlace:
    """A table, and how it is read."""

    table: str | Address
    reading: Reading

    @classmethod
    def load(cls, path: Path) -> TablePlace | None:
        """Loads a saved place; None if it says that no table is open."""
        try:
            state = json.loads(path.read_text(encoding="utf-8"))
            table, read = state["table"], state["reading"]
            reading = Reading(**{**read, "nulls": tuple(read.get("nulls", ("",)))})
            if not isinstance(table, str | None):
                raise TypeError
        except (ValueError, KeyError, TypeError, AttributeError):
            what, hint = "this is not the state of a studio", "remove it, or choose another folder"
            raise UsageError(what, where=str(path), hint=hint) from None
        return None if table is None else cls(Address.of(table) or table, reading)

    def save(self, path: Path) -> None:
        """Saves the place; an address of a database without its password."""
        reading = {key: getattr(self.reading, key) for key in READS}
        state = {"table": str(self.table), "reading": reading}
        write_text(path, json.dumps(state, indent=2) + "\n")

    @property
    def data(self) -> Path | Address:
        """The path or address for the workflows."""
        return self.table if isinstance(self.table, Address) else Path(self.table)

    @property
    def name(self) -> str:
        """The name of the table without its folder."""
        return str(self.table) if isinstance(self.table, Address) else Path(self.table).name

    @property
    def is_there(self) -> bool:
        """Whether its files exist; for a database always true."""
        try:
            return isinstance(self.data, Address) or bool(find_files(self.data).paths)
        except DataError:
            return False

    @property
    def identity(self) -> tuple[object, ...]:
        """A key that changes when the table changes."""
        if isinstance(data := self.data, Address):
            return (data, self.reading)
        try:
            states = [(path, path.stat()) for path in find_files(data).paths]
        except (DataError, OSError):
            raise DataError(
                "the table is not there any more",
                where=str(data),
                hint="open it again; an upload that was not kept goes when the studio ends",
            ) from None
        return (data, self.reading, *((at, st.st_mtime_ns, st.st_size) for at, st in states))


@dataclass(frozen=True)
class Run:
    """A search whose result was kept: the files of its folder."""

    number: int
    folder: Path

    @property
    def policy(self) -> Policy:
        """The policy that it used."""
        return Policy.load(self.folder / POLICY)

    @property
    def certificate(self) -> Certificate:
        """The certificate of the release."""
        return Certificate.load(self.folder / "certificate.json")

    @property
    def release(self) -> Path:
        """The released table."""
        return next(path for path in sorted(self.folder.iterdir()) if path.stem == "release")

    @property
    def place(self) -> TablePlace | None:
        """The table that it was made from, as it was when the search began."""
        return TablePlace.load(self.folder / TABLE) if (self.folder / TABLE).is_file() else None


class Project:
    """The state of a studio, saved with every change; several tabs may change it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.table: str | Address | None = None
        self.reading = Reading()
        self.raw: Raw = {}
        self.revision = 0
        self._undo: list[Raw] = []
        self._lock = threading.RLock()
        if (folder / STATE).is_file():
            self._load()

    def _load(self) -> None:
        place = TablePlace.load(self.folder / STATE)
        if place is not None:
            self.table, self.reading = place.table, place.reading
        if (self.folder / POLICY).is_file():
            self.raw = to_plain_values(read_raw(self.folder / POLICY))
            for file in filter(None, map(_name_file, self.columns.values())):
                if not (self.folder / file).resolve().is_relative_to(self.folder.resolve()):
                    what, hint = "a hierarchy is outside of the project", "open it with --policy"
                    raise UsageError(what, where=str(self.folder / POLICY), hint=hint)

    def save(self) -> None:
        """Writes the state."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.table is None:
            write_text(self.folder / STATE, json.dumps({"table": None, "reading": {}}) + "\n")
        else:
            self.place.save(self.folder / STATE)
        if self.raw:
            write_text(self.folder / POLICY, write_toml(self.raw))

    # --- the table

    @property
    def place(self) -> TablePlace:
        """The open table; raises UsageError if there is none."""
        if self.table is None:
            raise UsageError("no table is open yet", where="table", hint="open one first")
        return TablePlace(self.table, self.reading)

    @property
    def mark(self) -> str:
        """A short key of the open table, by which a page notices that another was opened."""
        return hashlib.sha256(f"{self.table} {self.reading}".encode()).hexdigest()[:12]

    def open(
        self, table: str | Address, reading: Reading, raw: Raw | None = None, *,
        columns: Iterable[str] | None = None,
    ) -> None:  # fmt: skip
        """Opens a table, with its own policy.

        The policy is kept if it is the same table, or has the same columns: for example a file that
        is uploaded again, or next month's.
        """
        with self._lock:
            is_alike = columns is not None and set(columns) == set(self.columns)
            if raw is not None or not (str(table) == str(self.table) or is_alike):
                self._remember()
                self.raw = raw or {}
            self.table, self.reading = table, reading
            self.revision += 1
            self.save()

    # --- the policy

    @property
    def policy(self) -> Policy:
        """The current policy; raises PolicyError with everything that prevents its use."""
        policy, _ = parse_policy(self.raw)
        if policy is None or self.problems:
            raise PolicyError(self.problems)
        return policy.at(self.folder)

    @property
    def suggested(self) -> list[str]:
        """The columns whose role is not confirmed."""
        roles = {name: str(column.get("role", "")) for name, column in self.columns.items()}
        return [name for name, role in roles.items() if role.endswith("?")]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything that prevents the use of the policy; unconfirmed roles as one problem."""
        found = tuple(parse_policy(self.raw)[1]) if self.raw else ()
        count = len(self.suggested)
        if not count:
            return found
        own = {f"columns.{name}.role" for name in self.suggested}
        what = f"{count} role{' is' if count == 1 else 's are'} only suggested"
        first = Problem("columns", what, "confirm them on the page Columns")
        return (first, *(problem for problem in found if problem.where not in own))

    @property
    def unprotected(self) -> tuple[str, ...]:
        """The sensitive attributes that need a requirement before a search."""
        policy = parse_policy(self.raw)[0] if self.raw else None
        return () if policy is None else policy.unprotected

    @property
    def columns(self) -> dict[str, Raw]:
        """The policy's part for each column, in the long form."""
        return {name: expand(column) for name, column in self.raw.get("columns", {}).items()}

    @property
    def toml(self) -> str:
        """The policy as the text of a file."""
        return write_toml(self.raw) if self.raw else ""

    def change(self, edit: Callable[[Raw], None], revision: str | None = None) -> None:
        """Applies `edit` to a copy of the policy and saves it; refuses outdated pages."""
        with self._lock:
            if revision is not None and revision != str(self.revision):
                raise UsageError(STALE, where="policy")
            changed = deepcopy(self.raw)
            changed["columns"] = {
                name: expand(column) for name, column in changed.get("columns", {}).items()
            }
            edit(changed)
            changed = to_plain_values(changed)
            if changed != self.raw:
                self._remember()
                self.raw = changed
                self.revision += 1
                self.save()

    def _remember(self) -> None:
        if self.raw:
            self._undo = [*self._undo[-MOST_UNDONE:], self.raw]

    @property
    def can_undo(self) -> bool:
        """Whether there is a change to undo."""
        return bool(self._undo)

    def undo(self) -> None:
        """Undoes the last change of the policy."""
        with self._lock:
            if self._undo:
                self.raw = self._undo.pop()
                self.revision += 1
                self.save()

    def adopt_policy(self, path: Path) -> Raw:
        """Reads a policy file, and copies its hierarchies into the project."""
        raw: Raw = to_plain_values(read_raw(path))
        if isinstance(people := raw.get("population"), str):
            raw["population"] = str((path.parent / people).absolute())
        columns: Any = raw.get("columns")
        for name, column in columns.items() if isinstance(columns, dict) else ():
            file = _name_file(expand(column))
            if file and (path.parent / file).is_file():
                text = (path.parent / file).read_text(encoding="utf-8")
                stored = {"file": self.store_hierarchy(name, text)}
                columns[name] = expand(column) | {"hierarchy": stored}
        return raw

    def store_hierarchy(self, column: str, text: str) -> str:
        """Writes a hierarchy under a name made from its content; returns the name."""
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        plain = re.sub(r"[^a-z0-9]+", "-", column.lower()).strip("-") or "column"
        name = f"hierarchies/{plain[:40]}-{digest}.csv"
        write_text(self.folder / name, text)
        return name

    # --- runs

    @property
    def runs(self) -> list[Run]:
        """The runs that were kept, in their order."""
        found = [path for path in (self.folder / "runs").glob("*") if path.name.isdigit()]
        kept = [path for path in found if _is_whole(path)]
        return [Run(int(path.name), path) for path in sorted(kept, key=lambda p: int(p.name))]

    def find_run(self, number: str | None) -> Run | None:
        """Returns a run by its number, the last one if none is given; None if it does not exist."""
        if number:
            return next((run for run in self.runs if str(run.number) == number), None)
        return self.runs[-1] if self.runs else None

    def start_run(self) -> Run:
        """Makes a folder with the current policy and the hierarchies that it names."""
        with self._lock:
            _ = self.policy  # raises unless it can run
            places = (self.folder / "runs").glob("*")
            number = 1 + max((int(path.name) for path in places if path.name.isdigit()), default=0)
            run = Run(number, self.folder / "runs" / str(number))
            run.folder.mkdir(parents=True)
            write_text(run.folder / POLICY, write_toml(self.raw))
            self.place.save(run.folder / TABLE)
        for name in filter(None, map(_name_file, self.columns.values())):
            write_text(run.folder / name, (self.folder / name).read_text(encoding="utf-8"))
        return run


def _is_whole(run: Path) -> bool:
    """Whether a run is complete and has no symbolic link that leads out of its folder."""
    kept = (run / "certificate.json").is_file()
    return kept and not any(path.is_symlink() for path in (run, *run.rglob("*")))


def expand(column: object) -> Raw:
    """Returns a column's part of a policy in the long form."""
    return dict(column) if isinstance(column, Mapping) else {"role": column}


def _name_file(column: Raw) -> str:
    """Returns the file of a column's hierarchy; empty if there is none."""
    spec = column.get("hierarchy")
    file = spec.get("file") if isinstance(spec, Mapping) else spec
    return file if isinstance(file, str) else ""


def to_plain_values(value: object) -> Any:
    """Converts values to those of JSON and TOML; exact numbers become text."""
    if isinstance(value, Mapping):
        return {str(key): to_plain_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain_values(item) for item in value]
    if isinstance(value, Decimal | Fraction):
        return str(value)
    return value if isinstance(value, str | int | bool | float) or value is None else str(value)
