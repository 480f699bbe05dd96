"""Reads an ARX project (`.deid`): roles, hierarchies, privacy models, the suppression limit.

Such a file is an archive. Its parts in XML and CSV are read here; parts that are serialized Java
objects (the state of the search, risk thresholds, costs) are not. Projects cannot be written,
because ARX does not open one without these objects. `notes` lists what is not carried over.
"""

from __future__ import annotations

import math
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tclose.errors import DataError
from tclose.plain import escape_controls
from tclose.policy.load import write_toml
from tclose.small_files import MOST_BYTES

TABLE = "data/input.csv"
MOST_TIMES, MOST_TABLE = 200, 4 << 30
"""How many times its compressed size a project's table may have, and its largest size in bytes."""

DAMAGED = zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error
"""How the library says that an archive is none, or has a part that it cannot unpack."""

ROLES = {
    "IDENTIFYING_ATTRIBUTE": "identifier",
    "QUASI_IDENTIFYING_ATTRIBUTE": "quasi",
    "SENSITIVE_ATTRIBUTE": "sensitive",
    "INSENSITIVE_ATTRIBUTE": "insensitive",
}
DISTANCES = {
    "equal ground-": "equal",
    "ordered ": "ordered",
    "hierarchical ground-": "hierarchical",
}
NUMBER = r"(\d+(?:\.\d+)?(?:E-?\d+)?)"
ANONYMITY = re.compile(r"(\d+)-anonymity")
BY_COLUMN: dict[str, Callable[..., dict[str, Any]]] = {
    rf"{NUMBER}-closeness with ({'|'.join(DISTANCES)})distance": lambda t, distance: {
        "t": _shorten(t),
        "distance": DISTANCES[distance],
    },
    r"distinct-(\d+)-diversity": lambda l: {"l": {"distinct": int(l)}},
    rf"shannon-entropy-{NUMBER}-diversity": lambda l: {"l": {"entropy": _shorten(l)}},
    rf"recursive-\({NUMBER},(\d+)\)-diversity": lambda c, l: {
        "l": {"recursive": {"c": _shorten(c), "l": int(l)}}
    },
    rf"basic-{NUMBER}-likeness": lambda beta: {"beta": {"basic": _shorten(beta)}},
    rf"enhanced-{NUMBER}-likeness": lambda beta: {"beta": {"enhanced": _shorten(beta)}},
    # ARX takes logarithms to base 2, and looks at the values that a class has.
    rf"{NUMBER}-disclosure privacy": lambda delta: {
        "delta": {"max": _shorten(delta), "base": "2", "absent": "ignore"}
    },
}
"""ARX's texts for privacy models on a column, and the equivalent keys of a policy column."""
IGNORED = ("Inclusion",)
"""Entries in ARX's list of models that have no meaning of their own."""


@dataclass
class ArxProject:
    """The declarations of an ARX project."""

    name: str
    policy: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    """What is not carried over, one sentence each."""
    hierarchies: dict[str, bytes] = field(default_factory=dict)
    """The content of each hierarchy file, by the name in the policy."""
    table: bytes | None = None
    """The project's own table, as CSV: raw data."""
    delimiter: str = ";"

    def to_toml(self) -> str:
        """Returns the policy as TOML, with what is not carried over as comments."""
        head = [f"# From the ARX project {escape_controls(self.name, lines=False)}."]
        lost = (escape_controls(note, lines=False) for note in self.notes)
        head += [f"# Not carried over: {note}" for note in lost]
        return "\n".join(head) + "\n\n" + write_toml(self.policy)


def read_arx_project(path: Path, *, table: bool = False) -> ArxProject:
    """Reads roles, hierarchies and privacy models of a project file; with `table`, also its table.

    Models that tclose does not have, or defines differently, are left out and listed in `notes`.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            project = _read(archive, path.name)
            if table and TABLE in archive.namelist():
                project.table = _load_table(archive, path.name)
            return project
    except (*DAMAGED, OSError) as error:
        # What cannot be opened has a name; a place in the archive that does not exist has none.
        if isinstance(error, OSError) and error.filename is not None:
            raise
        what = "not an ARX project, damaged, or protected by a password"
        raise DataError(what, where=path.name, hint="save it again in ARX") from None
    except (ValueError, OverflowError):
        what = "a number in it has too many digits"
        raise DataError(what, where=path.name, hint="save it again in ARX") from None


def _read(archive: zipfile.ZipFile, name: str) -> ArxProject:
    definition, config = (
        _parse(archive, f"input/{part}.xml", name) for part in ("definition", "config")
    )
    project = ArxProject(name, {"columns": {}})
    columns: dict[str, dict[str, Any]] = project.policy["columns"]
    for column in definition.iter("assigment"):  # ARX spells it so
        fields = {child.tag: child.text or "" for child in column}
        found = _read_column(fields, archive, project)
        if found is not None:
            columns[fields["name"]] = found
    _read_models(config, columns, project)
    share = config.findtext("relativeMaxOutliers") or "0"
    if re.fullmatch(NUMBER, share) and float(share) > 0:
        project.policy["search"] = {"suppression": _shorten(share)}
    if TABLE in archive.namelist():
        project.delimiter = _find_delimiter(archive, name)
    return project


def _read_column(
    fields: dict[str, str], archive: zipfile.ZipFile, project: ArxProject
) -> dict[str, Any] | None:
    """Returns what a policy says of a column; None if ARX gives it no role."""
    name, role = fields.get("name", ""), ROLES.get(fields.get("type", ""))
    if not name:
        hint = "save it again in ARX"
        raise DataError("the project has a column without a name", where=project.name, hint=hint)
    if name in project.policy["columns"]:
        hint = "give every column a name of its own"
        raise DataError("the project has a column twice", where=project.name, hint=hint)
    if role is None:
        project.notes.append(f"column {name!r} has no role in the project: give it one")
        return None
    found: dict[str, Any] = {"role": role}
    if role in ("identifier", "insensitive") or "ref" not in fields:
        return found
    file = _name_file(name, len(project.policy["columns"]))
    left = MOST_BYTES - sum(map(len, project.hierarchies.values()))
    project.hierarchies[file] = _load(archive, f"input/{fields['ref']}", project.name, left)
    found["hierarchy"] = file
    if role == "quasi" and fields.get("max", "All").isdecimal():
        found["max_level"] = int(fields["max"])
    if fields.get("min", "All") not in ("All", "0"):
        project.notes.append(
            f"column {name!r} is to be generalized at least to level {fields['min']}"
        )
    if "microaggregationFunction" in fields:
        project.notes.append(f"column {name!r} may be released as a mean or the like")
    return found


def _name_file(column: str, position: int) -> str:
    """Names a column's hierarchy file; never two alike, since only those with a position begin with
    a digit.
    """
    if re.fullmatch(r"[^\W\d][\w.-]{,49}", column):
        return f"hierarchy-{column}.csv"
    safe = re.sub(r"[^\w.-]+", "_", column)[:50]
    return f"hierarchy-{position}-{safe}.csv"


def _read_models(
    config: ElementTree.Element, columns: dict[str, dict[str, Any]], project: ArxProject
) -> None:
    """Puts the privacy models where a policy has them."""
    for text in (each.text or "" for each in config.iter("criterion")):
        if text in IGNORED:
            continue
        if found := ANONYMITY.fullmatch(text):
            project.policy = {"k": int(found[1]), **project.policy}
            continue
        name, required = _translate(text)
        if columns.get(name, {}).get("role") != "sensitive":
            project.notes.append(f"the privacy model {text!r}")
            continue
        for key, value in required.items():
            known = columns[name].get(key)
            if isinstance(known, dict) and isinstance(value, dict):
                value = {**known, **value}
            columns[name][key] = value
        if required.get("distance") == "ordered":
            project.notes.append(f"how ARX orders {name!r}: state its order, unless it has numbers")
    for column in columns.values():
        if column["role"] == "sensitive" and column.get("distance") != "hierarchical":
            file = column.pop("hierarchy", None)
            project.hierarchies.pop(str(file), None)


def _translate(text: str) -> tuple[str, dict[str, Any]]:
    """Returns the column that a privacy model is about, and the policy keys for it, if any."""
    for pattern, build in BY_COLUMN.items():
        if found := re.fullmatch(f"{pattern} for attribute '(.*)'", text, re.DOTALL):
            *numbers, name = found.groups()
            return name, build(*numbers)
    return "", {}


def _shorten(text: str) -> float | int:
    """Parses a number as ARX writes it; a whole one becomes an int."""
    number = float(text)
    if not math.isfinite(number):
        raise OverflowError
    return int(number) if number.is_integer() else number


def _find_delimiter(archive: zipfile.ZipFile, name: str) -> str:
    """Returns the delimiter of the project's table."""
    if "project.xml" not in archive.namelist():
        return ";"
    delimiter = _parse(archive, "project.xml", name).findtext("separator") or ";"
    return delimiter if len(delimiter) == 1 else ";"


def _parse(archive: zipfile.ZipFile, part: str, name: str) -> ElementTree.Element:
    """Parses a part as XML; refuses entities, which could expand without end.

    Also refuses encodings with several bytes per character, where entities could go unnoticed.
    """
    content = _load(archive, part, name)
    try:
        if b"<!" in content or b"\0" in content:
            raise ValueError
        return ElementTree.fromstring(content)
    except (ElementTree.ParseError, ValueError):
        what = f"its part {part} cannot be read"
        raise DataError(what, where=name, hint="save it again in ARX") from None


def _load_table(archive: zipfile.ZipFile, name: str) -> bytes:
    """Loads the project's own table; raises DataError if it would expand to fill the memory."""
    entry = archive.getinfo(TABLE)
    if entry.file_size > max(MOST_BYTES, MOST_TIMES * entry.compress_size):
        what = f"its table is more than {MOST_TIMES} times larger than it is packed"
        raise DataError(what, where=name, hint="save the table by itself in ARX")
    return _load(archive, TABLE, name, MOST_TABLE)


def _load(archive: zipfile.ZipFile, part: str, name: str, most: int = MOST_BYTES) -> bytes:
    """Loads the bytes of a part; raises DataError if it is missing or too large."""
    try:
        size = archive.getinfo(part).file_size
    except KeyError:
        what = f"the archive has no part {part}"
        raise DataError(what, where=name, hint="is it an ARX project (.deid)?") from None
    if size > most:
        what = f"its part {part} is too large: there may be {max(most >> 20, 0):,} MiB of it"
        raise DataError(what, where=name)
    with archive.open(part) as file:
        return file.read(size)
