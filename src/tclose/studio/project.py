"""A project: the folder that holds the policy, its hierarchies and the runs; never the data.

Everything is a file that the command line reads, too: `policy.toml`, `hierarchies/`, and for each
run a folder with its own policy, release, certificate and plan.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from tclose.data.io.files import write_text
from tclose.data.io.paths import Address, Reading
from tclose.errors import DataError, PolicyError, Problem, UsageError
from tclose.policy.load import parse_policy, read_raw, write_toml
from tclose.policy.model import Policy
from tclose.verify.certificate import Certificate

STATE, POLICY = "studio.json", "policy.toml"
MOST_UNDONE = 100
READS = ("delimiter", "encoding", "nulls", "sheet", "query")
"""What a page can say about how a table is read."""
STALE = (
    "this was changed meanwhile, perhaps in another tab: the page now shows how it stands; look "
    "at it and send again what you want changed"
)

Raw = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """A search that was kept: the files of its folder."""

    number: int
    folder: Path

    @property
    def policy(self) -> Policy:
        """The policy that it was made by."""
        return Policy.load(self.folder / POLICY)

    @property
    def certificate(self) -> Certificate:
        """What was counted on the release."""
        return Certificate.load(self.folder / "certificate.json")

    @property
    def release(self) -> Path:
        """The released table."""
        return next(path for path in sorted(self.folder.iterdir()) if path.stem == "release")


class Project:
    """The state of a studio, saved with every change; safe to be changed from several tabs."""

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
        try:
            state = json.loads((self.folder / STATE).read_text(encoding="utf-8"))
            table, read = state["table"], state["reading"]
            self.reading = Reading(**{**read, "nulls": tuple(read.get("nulls", ("",)))})
        except (ValueError, KeyError, TypeError, AttributeError):
            what, hint = "this is not the state of a studio", "remove it, or choose another folder"
            raise UsageError(what, where=str(self.folder / STATE), hint=hint) from None
        self.table = Address.of(table) or table
        if (self.folder / POLICY).is_file():
            self.raw = to_plain_values(read_raw(self.folder / POLICY))
            for file in filter(None, map(_name_file, self.columns.values())):
                if not (self.folder / file).resolve().is_relative_to(self.folder.resolve()):
                    what, hint = "a hierarchy lies outside of the project", "open it with --policy"
                    raise UsageError(what, where=str(self.folder / POLICY), hint=hint)

    def save(self) -> None:
        """Writes the state; an address of a database without its password."""
        self.folder.mkdir(parents=True, exist_ok=True)
        reading = {key: getattr(self.reading, key) for key in READS}
        state = {"table": None if self.table is None else str(self.table), "reading": reading}
        write_text(self.folder / STATE, json.dumps(state, indent=2) + "\n")
        if self.raw:
            write_text(self.folder / POLICY, write_toml(self.raw))

    # --- the table

    @property
    def data(self) -> str | Path | Address:
        """What the workflows are given; raises where no table is open."""
        if self.table is None:
            raise UsageError("no table is open yet", where="table", hint="open one first")
        return self.table if isinstance(self.table, Address) else Path(self.table)

    @property
    def identity(self) -> tuple[object, ...]:
        """What tells the table as it is now from any other."""
        if not isinstance(data := self.data, Path):
            return (data, self.reading)
        try:
            state = data.stat()
        except OSError:
            raise DataError(
                "the table is not there any more",
                where=str(data),
                hint="open it again; an upload that was not kept goes when the studio ends",
            ) from None
        return (data, state.st_mtime_ns, state.st_size, self.reading)

    def open(self, table: str | Address, reading: Reading, raw: Raw | None = None) -> None:
        """Takes another table, with a policy of its own; the same table again keeps its policy."""
        with self._lock:
            if raw is not None or str(table) != str(self.table):
                self._remember()
                self.raw = raw or {}
            self.table, self.reading = table, reading
            self.revision += 1
            self.save()

    # --- the policy

    @property
    def policy(self) -> Policy:
        """The policy as it stands; raises with everything that keeps it from running."""
        policy, problems = parse_policy(self.raw)
        if policy is None or problems:
            raise PolicyError(problems)
        return policy.at(self.folder)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What keeps the policy from running."""
        return tuple(parse_policy(self.raw)[1]) if self.raw else ()

    @property
    def columns(self) -> dict[str, Raw]:
        """What is said of each column, in the long form."""
        return {name: expand(column) for name, column in self.raw.get("columns", {}).items()}

    @property
    def toml(self) -> str:
        """The policy as the text of a file."""
        return write_toml(self.raw) if self.raw else ""

    def change(self, edit: Callable[[Raw], None], revision: str | None = None) -> None:
        """Changes the policy as `edit` does to a copy, unless the page that asks is out of date."""
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
        """Whether there is a change to take back."""
        return bool(self._undo)

    def undo(self) -> None:
        """Takes the last change of the policy back."""
        with self._lock:
            if self._undo:
                self.raw = self._undo.pop()
                self.revision += 1
                self.save()

    def adopt_policy(self, path: Path) -> Raw:
        """The policy of a file, its hierarchies copied into the project."""
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
        """Writes a hierarchy under a name that no other content has; the name for the policy."""
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        plain = re.sub(r"[^a-z0-9]+", "-", column.lower()).strip("-") or "column"
        name = f"hierarchies/{plain[:40]}-{digest}.csv"
        write_text(self.folder / name, text)
        return name

    # --- runs

    @property
    def runs(self) -> list[Run]:
        """The runs that were kept, the first one first."""
        found = [path for path in (self.folder / "runs").glob("*") if path.name.isdigit()]
        kept = [path for path in found if (path / "certificate.json").is_file()]
        return [Run(int(path.name), path) for path in sorted(kept, key=lambda p: int(p.name))]

    def find_run(self, number: str | None) -> Run | None:
        """A run by its number, the last one if none is given; None where there is no such."""
        if number:
            return next((run for run in self.runs if str(run.number) == number), None)
        return self.runs[-1] if self.runs else None

    def start_run(self) -> Run:
        """A new folder with the policy as it stands and the hierarchies that it names."""
        with self._lock:
            _ = self.policy  # raises unless it can run
            places = (self.folder / "runs").glob("*")
            number = 1 + max((int(path.name) for path in places if path.name.isdigit()), default=0)
            run = Run(number, self.folder / "runs" / str(number))
            run.folder.mkdir(parents=True)
            write_text(run.folder / POLICY, write_toml(self.raw))
        for name in filter(None, map(_name_file, self.columns.values())):
            write_text(run.folder / name, (self.folder / name).read_text(encoding="utf-8"))
        return run


def expand(column: Any) -> Raw:
    """A column's part of a policy in the long form."""
    return dict(column) if isinstance(column, Mapping) else {"role": column}


def _name_file(column: Raw) -> str:
    """The file that holds a column's hierarchy, if one does."""
    spec = column.get("hierarchy")
    file = spec.get("file") if isinstance(spec, Mapping) else spec
    return file if isinstance(file, str) else ""


def to_plain_values(value: Any) -> Any:
    """Values that JSON and TOML hold: exact numbers as text."""
    if isinstance(value, Mapping):
        return {str(key): to_plain_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain_values(item) for item in value]
    if isinstance(value, Decimal | Fraction):
        return str(value)
    return value if isinstance(value, str | int | bool | float) or value is None else str(value)
