"""Columns that stand in the names of folders: `year=2024/month=1/part.parquet`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa

from tclose.data.engines.duckdb.source import quote_text
from tclose.data.io.paths import Files
from tclose.data.source import quote_name
from tclose.errors import DataError

if TYPE_CHECKING:
    import duckdb


NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""How a folder is called whose rows have no value there."""
WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
FILE = "__tclose_file__"


@dataclass(frozen=True)
class Partitions:
    """The columns that folders name, and their values in each file."""

    values: pa.Table
    """One row for each file, in order."""

    def __bool__(self) -> bool:
        return bool(self.values.num_columns)

    @property
    def names(self) -> list[str]:
        """What the columns are called."""
        return list(self.values.column_names)

    def without(self, names: list[str]) -> Partitions:
        """Those that the files have no column of their own for."""
        return Partitions(self.values.select([name for name in self.names if name not in names]))

    def of_rows(self, file: int, rows: int) -> list[pa.Array]:
        """The columns for so many rows of a file."""
        return [pa.repeat(self.values.column(name)[file], rows) for name in self.names]

    def join_folders(
        self, connection: duckdb.DuckDBPyConnection, scan: str, names: list[str], paths: list[str]
    ) -> duckdb.DuckDBPyRelation:
        """A scan of all files, which tells each row's file as `FILE`, with these columns too."""
        listed = self.values.add_column(0, FILE, pa.array(paths))
        folders = connection.from_arrow(listed).set_alias("folders")
        rows = connection.sql(f"SELECT * FROM {scan}").set_alias("rows")
        both = rows.join(folders, f"rows.{quote_name(FILE)} = folders.{quote_name(FILE)}")
        own = [f"rows.{quote_name(name)}" for name in names]
        return both.project(", ".join([*own, *(f"folders.{quote_name(n)}" for n in self.names)]))


def read_partitions(files: Files, *, typed: bool) -> Partitions:
    """The columns that the folders of a table name, as whole numbers, days or text.

    Numbers are numbers only where nothing is lost by that: 007 is text, and so is everything beside
    it. Raises where files disagree about which columns there are.

    >>> paths = tuple(Path(f"t/day=2024-01-0{n}/zip=0{n}/a.pq") for n in (1, 2))
    >>> found = read_partitions(Files("t", Path("t"), paths, "parquet", single=False), typed=True)
    >>> [str(kind) for kind in found.values.schema.types]
    ['date32[day]', 'string']
    """
    if files.single:
        return Partitions(pa.table({}))
    told = [_pairs(path.relative_to(files.root)) for path in files.paths]
    names = list(told[0])
    for path, pairs in zip(files.paths, told, strict=True):
        if list(pairs) != names:
            raise DataError(
                "its folders do not name the same columns as those of the first file",
                where=str(path),
                hint="all files of a table lie in folders such as year=2024, or none",
            )
    return Partitions(pa.table({name: _column([column[name] for column in told], typed=typed)
                                for name in names}))  # fmt: skip


def scan_files(reader: str, paths: list[str], options: str) -> str:
    """A table function over files whose names are taken as they are, not as patterns."""
    listed = ", ".join(quote_text(re.sub(r"([*?\[])", r"[\1]", path)) for path in paths)
    return f"{reader}([{listed}], hive_partitioning = false{options})"


def _pairs(path: Path) -> dict[str, str | None]:
    pairs: dict[str, str | None] = {}
    for part in path.parts[:-1]:
        name, equals, value = part.partition("=")
        if equals and name:
            pairs[unquote(name)] = None if value == NOTHING else unquote(value)
    return pairs


def _column(values: list[str | None], *, typed: bool) -> pa.Array:
    known = [value for value in values if value is not None]
    if typed and known and all(WHOLE.fullmatch(value) for value in known):
        return pa.array([None if value is None else int(value) for value in values], pa.int64())
    if typed and known and all(_is_day(value) for value in known):
        return pa.array([None if value is None else date.fromisoformat(value) for value in values])
    return pa.array(values, pa.string())


def _is_day(value: str) -> bool:
    try:
        return bool(DAY.fullmatch(value) and date.fromisoformat(value))
    except ValueError:
        return False
