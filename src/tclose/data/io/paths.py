"""Which files a path stands for: one, those of a folder, or those that a pattern matches.

What kind a file is, its name says. Names that begin with a dot or an underscore are marks of those
who write folders, no tables.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from tclose.errors import DataError

Kind = Literal["text", "parquet", "arrow", "excel"]
PACKED = (".gz", ".zst")
KINDS: dict[str, Kind] = {
    ".csv": "text", ".tsv": "text", ".txt": "text", ".dat": "text", "": "text",
    ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".arrows": "arrow", ".feather": "arrow", ".ipc": "arrow",
    ".xlsx": "excel", ".xlsm": "excel",
}  # fmt: skip
PARQUET = {suffix for suffix, kind in KINDS.items() if kind == "parquet"}
ARROW = {suffix for suffix, kind in KINDS.items() if kind == "arrow"}
SHEETS = "open it in a spreadsheet program and save it as .xlsx or .csv"
EXPORT = "export it as .csv or .parquet"
UNPACK = "unpack it first; text files may be .csv.gz or .csv.zst"
NO_TABLE = "name a table: .csv, .parquet, .arrow or .xlsx"
FOREIGN = {
    **dict.fromkeys((".xls", ".xlsb", ".ods", ".numbers"), SHEETS),
    **dict.fromkeys(
        (".sas7bdat", ".xpt", ".sav", ".zsav", ".por", ".dta", ".rds", ".rdata"), EXPORT
    ),
    **dict.fromkeys((".json", ".jsonl", ".ndjson", ".xml", ".html", ".orc", ".avro"), EXPORT),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3", ".duckdb", ".mdb", ".accdb"), EXPORT),
    **dict.fromkeys((".pkl", ".pickle", ".npy", ".npz", ".h5", ".hdf5"), EXPORT),
    **dict.fromkeys((".zip", ".7z", ".rar", ".tar", ".tgz", ".bz2", ".xz"), UNPACK),
    **dict.fromkeys((".pdf", ".doc", ".docx", ".md", ".toml", ".yaml", ".yml", ".py"), NO_TABLE),
}
"""Kinds that are often meant and cannot be read, and what to do about each."""


@dataclass(frozen=True)
class Files:
    """The files of one table, in the order of their paths; all are of one kind."""

    name: str
    """What messages call the table."""
    root: Path
    """Where their own names begin."""
    paths: tuple[Path, ...]
    kind: Kind
    single: bool
    """Whether one file was named, not a folder or a pattern."""


def find_files(path: Path) -> Files:
    """The files that a path stands for; raises where there are none, or of several kinds.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("b.csv", "a.csv", "_SUCCESS", ".a.csv.crc"):
    ...     _ = (folder / name).write_text("x")
    >>> [path.name for path in find_files(folder).paths], find_files(folder / "*.csv").kind
    (['a.csv', 'b.csv'], 'text')
    """
    if path.is_dir():
        return _check_several(path.name or str(path), path, _below(path))
    if path.exists():
        return Files(path.name, path.parent, (path,), kind_of(path), single=True)
    if not glob.has_magic(str(path)):
        raise DataError("there is no such file", where=str(path), hint="check the path")
    found = sorted({Path(match) for match in glob.glob(str(path), recursive=True)})
    marked = path.name.startswith("_")
    found = [match for match in found if marked or not match.name.startswith("_")]
    if not found:
        raise DataError("no file matches this pattern", where=str(path), hint="check the path")
    root = _split_pattern(path)[0]
    return _check_several(
        str(path), root, [file for match in found for file in _at_or_below(match)]
    )


def kind_of(path: Path) -> Kind:
    """The kind of a file, by its name; raises for kinds that cannot be read.

    >>> kind_of(Path("a.csv.gz")), kind_of(Path("a.PQ")), kind_of(Path("adult.data"))
    ('text', 'parquet', 'text')
    """
    suffix = suffix_of(path)
    inner, packed = (suffix[: -len(end)] for end in PACKED if suffix.endswith(end)), suffix
    bare = next(inner, packed)
    kind = KINDS.get(bare, "text")
    hint = FOREIGN.get(bare) or (UNPACK if bare != suffix and kind != "text" else "")
    if hint:
        raise DataError(f"{suffix} files cannot be read", where=str(path), hint=hint)
    return kind


def suffix_of(path: str | Path) -> str:
    """The end of a file's name that says its kind, in small letters, with how it is packed.

    >>> suffix_of("a.b.CSV.gz"), suffix_of("a.parquet"), suffix_of("a"), suffix_of("a.gz")
    ('.csv.gz', '.parquet', '', '.gz')
    """
    ends = [end.lower() for end in Path(path).suffixes]
    return "".join(ends[-2:] if ends and ends[-1] in PACKED else ends[-1:])


def is_read_from(path: Path, target: Path) -> bool:
    """Whether a file is, or would be once it is written, among those that a path stands for."""
    there = Path(os.path.realpath(target))
    if path.is_dir():
        return there.is_relative_to(os.path.realpath(path))
    if path.exists():
        return target.exists() and target.samefile(path)
    if not glob.has_magic(str(path)):
        return False
    root, pattern = _split_pattern(path)
    if not there.is_relative_to(os.path.realpath(root)):
        return False
    parts = there.relative_to(os.path.realpath(root)).parts
    return any(_fits(parts[:end], pattern) for end in range(1, len(parts) + 1))


def _check_several(name: str, root: Path, paths: Sequence[Path]) -> Files:
    if not paths:
        raise DataError(
            "there is no file in this folder",
            where=str(root),
            hint="names that begin with a dot or an underscore do not count",
        )
    kinds = {kind_of(path): suffix_of(path) for path in reversed(paths)}
    if len(kinds) > 1 or ("excel" in kinds and len(paths) > 1):
        told = " and ".join(sorted(suffix or "no suffix" for suffix in kinds.values()))
        what = f"files of several kinds ({told})" if len(kinds) > 1 else "several spreadsheets"
        raise DataError(
            f"{what} are not one table",
            where=str(root),
            hint=f"name some of them, such as '{root / '*.parquet'}', or one",
        )
    return Files(name, root, tuple(paths), next(iter(kinds)), single=False)


def _at_or_below(path: Path) -> list[Path]:
    return _below(path) if path.is_dir() else [path]


def _below(folder: Path) -> list[Path]:
    """All files in a folder and its folders, hidden ones and marks left out."""
    return sorted(_walk(folder))


def _walk(folder: Path) -> Iterator[Path]:
    """The files of a folder, also behind links; raises where a folder may not be looked into."""

    def refuse(error: OSError) -> None:
        raise error

    seen: set[str] = set()
    for place, folders, names in os.walk(folder, onerror=refuse, followlinks=True):
        real = os.path.realpath(place)
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        if real in seen:  # a link that leads back
            folders[:], names = [], []
        seen.add(real)
        for name in names:
            if not name.startswith((".", "_")):
                yield Path(place) / name


def _split_pattern(pattern: Path) -> tuple[Path, tuple[str, ...]]:
    """The folder where a pattern begins, and the parts of the pattern below it."""
    parts = pattern.parts
    first = next(at for at, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:first]), parts[first:]


def _fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_fits(parts[at:], pattern[1:]) for at in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:])
