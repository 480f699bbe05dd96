"""What the files of a release in several tables hold: which columns are in which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from tclose.errors import UsageError

Form = Literal["anatomy", "slicing", "projections"]
Role = Literal["quasi", "sensitive", "sliced", "projection"]
FORMS: tuple[Form, ...] = get_args(Form)


@dataclass(frozen=True)
class LayoutFile:
    """One file: what it is for, and the sensitive columns that it tells about."""

    file: str
    role: Role
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Layout:
    """The files of a release, and the columns that were added to tie them together.

    >>> files = (LayoutFile("sliced.csv", "sliced", ("ill",)),)
    >>> made = Layout("slicing", "group", "", files, (("ill",),))
    >>> Layout.from_json(made.to_json()) == made
    True
    """

    form: Form
    group: str
    """The column with the number of each row's group; none in projections."""
    count: str
    """The column that says how many rows a value stands for; in Anatomy only."""
    parts: tuple[LayoutFile, ...]
    sets: tuple[tuple[str, ...], ...]
    """The columns that are published together, each column in one set."""

    def to_json(self) -> dict[str, Any]:
        """The layout as plain values."""
        return {
            "name": self.form,
            "group": self.group,
            "count": self.count,
            "files": [
                {"file": part.file, "role": part.role, "columns": list(part.columns)}
                for part in self.parts
            ],
            "sets": [list(names) for names in self.sets],
        }

    @classmethod
    def from_json(cls, value: Any) -> Layout:
        """A layout from plain values; raises UsageError where they are none."""
        try:
            parts = tuple(_read_file(entry) for entry in value["files"])
            sets = tuple(tuple(str(name) for name in names) for names in value["sets"])
            if value["name"] not in FORMS or not parts:
                raise ValueError
            return cls(value["name"], str(value["group"]), str(value["count"]), parts, sets)
        except (KeyError, TypeError, ValueError):
            raise UsageError(
                "the certificate does not say which files the release is made of",
                where="certificate",
                hint="was it made by `tclose split`?",
            ) from None


def _read_file(value: Mapping[str, Any]) -> LayoutFile:
    file, role = str(value["file"]), value["role"]
    if role not in get_args(Role) or "/" in file or "\\" in file or file.startswith("."):
        raise ValueError
    return LayoutFile(file, role, tuple(str(name) for name in value["columns"]))
