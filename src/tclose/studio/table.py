"""What pages show of the table: first rows, profiles of columns, counts of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tclose.arrays import Floats
from tclose.data.binding import make_hierarchy
from tclose.data.cleaning import apply_cleanings
from tclose.data.encode.cells import Cells, count_cells
from tclose.data.encode.columns import Dictionary, as_text
from tclose.data.io.paths import Address, Reading, find_files
from tclose.data.opening import open_source
from tclose.data.profile import profile_columns
from tclose.data.source import Source
from tclose.errors import DataError
from tclose.hierarchy.tree import Hierarchy
from tclose.policy.cleaning import ColumnCleaning
from tclose.policy.columns import HierarchySpec
from tclose.policy.draft import draft
from tclose.policy.load import parse_toml, policy_from
from tclose.policy.model import Policy
from tclose.policy.suggest import Profile
from tclose.report.distributions import Spread, chart_spread, count_values
from tclose.report.document import HistogramChart
from tclose.studio.project import Raw, to_plain_values

FIRST_ROWS = 20
LONGEST = 60
"""The most letters of a value on a page."""
MANY_VALUES = 20_000
"""Charts of columns with more distinct values than this use only the first rows."""
SAMPLE = 10_000
CLEANING = (*ColumnCleaning.model_fields, "missing")
"""The keys of a column that change how its values are counted."""
MOST_UNPACKED = 8 << 30
CHUNK = 1 << 20


@dataclass(frozen=True)
class TableView:
    """A table after the first look at it."""

    name: str
    rows: int
    columns: tuple[str, ...]
    first: tuple[tuple[str, ...], ...]
    delimiter: str
    notes: tuple[str, ...]
    profiles: dict[str, Profile]
    charts: dict[str, HistogramChart | None]

    is_text: bool = False
    """Whether it is read from text, with delimiters between cells."""

    def draft(self) -> Raw:
        """Drafts a policy; every role has a question mark."""
        raw: Raw = to_plain_values(parse_toml(draft(self.name, list(self.profiles.values()))))
        return raw


@dataclass(frozen=True)
class ColumnCounts:
    """The values of one column and their rows, counted with the policy's cleaning."""

    name: str
    rows: Floats
    """[labels + 1]: the number of rows; those without a value last."""
    dictionary: Dictionary

    @property
    def labels(self) -> tuple[str, ...]:
        """The values."""
        return tuple(self.dictionary.labels)

    @property
    def ranked(self) -> list[tuple[str, int]]:
        """The values and their rows, the most frequent first."""
        order = np.argsort(-self.rows[:-1], kind="stable")
        return [(self.labels[at], int(self.rows[at])) for at in order]

    def chart(self, *, nominal: bool) -> HistogramChart | None:
        """Charts how often each value occurs: if nominal, the most frequent first."""
        spread = Spread.of(self.dictionary, {"table": self.rows}, nominal=nominal)
        return chart_spread(spread, f"{self.name}: how its values are spread")


def show_value(value: object) -> str:
    """Writes a cell for a page, shortened."""
    text = "" if value is None else as_text(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def read_rows(source: Source, limit: int) -> list[tuple[str, ...]]:
    """Returns the first rows of a table as text."""
    table = source.read_first(source.columns, limit)
    shown = [[show_value(value) for value in column.to_pylist()] for column in table.columns]
    return list(zip(*shown, strict=True))


def take_rows(source: Source, numbers: Sequence[int]) -> list[tuple[str, ...]]:
    """Returns rows of a table by their numbers (from 0), as text, in the order of the numbers."""
    found: dict[int, tuple[str, ...]] = {}
    wanted, start = np.unique(np.array(numbers, dtype=np.int64)), 0
    for batch in source.stream().batches():
        here = wanted[(wanted >= start) & (wanted < start + batch.num_rows)]
        rows = batch.take(pa.array(here - start)).select(list(source.columns))
        shown = [[show_value(value) for value in column.to_pylist()] for column in rows.columns]
        found.update(zip(here.tolist(), zip(*shown, strict=True), strict=True))
        start += batch.num_rows
        if len(wanted) == 0 or start > wanted[-1]:
            break
    return [found[number] for number in numbers]


def look_at_table(data: Path | Address, reading: Reading) -> TableView:
    """Opens a table and counts what the first pages show."""
    source = open_source(data, reading)
    first = tuple(read_rows(source, FIRST_ROWS))
    profiles = {profile.name: profile for profile in profile_columns(source)}
    view = TableView(
        source.name, source.n_rows, source.columns, first, source.delimiter, source.notes,
        profiles, {}, isinstance(data, Path) and find_files(data).kind == "text",
    )  # fmt: skip
    # Charted as they will be counted: with amounts and dates of any form in their order.
    cleaned = apply_cleanings(source, read_cleaning(view.draft()["columns"]))
    view.charts.update({name: _chart(cleaned, profile) for name, profile in profiles.items()})
    source.close()
    return view


def read_cleaning(columns: Mapping[str, Any]) -> Policy:
    """Makes a policy that only has the cleaning of columns."""
    parts = {name: dict(part) for name, part in columns.items() if isinstance(part, Mapping)}
    cleaned = {
        name: {"role": "quasi", **{key: part[key] for key in CLEANING if key in part}}
        for name, part in parts.items()
    }
    others = {name: "quasi" for name in columns if name not in parts}
    return policy_from({"columns": {**others, **cleaned}}, ".")


def _chart(source: Source, profile: Profile) -> HistogramChart | None:
    """Charts the distribution of a column; None if each row has a value of its own."""
    if profile.kind == "nested" or (
        profile.is_nearly_unique and profile.kind not in ("number", "date")
    ):
        return None
    if profile.distinct <= MANY_VALUES:
        cells = count_cells(source, [profile.name])
    else:
        cells = count_cells(open_source(source.read_first([profile.name], SAMPLE)), [profile.name])
    return _count(profile.name, cells).chart(nominal=profile.kind not in ("number", "date"))


def _count(name: str, cells: Cells) -> ColumnCounts:
    return ColumnCounts(name, count_values(cells, name), cells.dictionaries[name])


def count_column(data: Path | Address, reading: Reading, name: str, column: Raw) -> ColumnCounts:
    """Counts the rows of a column's values, cleaned by the policy."""
    source = apply_cleanings(open_source(data, reading), read_cleaning({name: column}))
    if name not in source.columns:
        raise DataError(f"the table has no column {name!r}", where=source.name)
    counts = _count(name, count_cells(source, [name]))
    source.close()
    return counts


def build_hierarchy(spec: object, counts: ColumnCounts, base: Path) -> Hierarchy:
    """Builds the tree that a part of a policy describes, for the values that occur."""
    rules = policy_from({"columns": {counts.name: {"role": "quasi", "hierarchy": spec}}}, base)
    found = rules.columns[counts.name].hierarchy
    assert isinstance(found, HierarchySpec)
    return make_hierarchy(found, counts.name, counts.labels, base)


def refuse_bomb(path: Path) -> None:
    """Raises DataError if an upload would expand to fill the machine when it is read."""
    import zipfile

    import pyarrow.parquet as pq

    size = 0
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as packed:
                size = sum(entry.file_size for entry in packed.infolist())
        elif path.suffix in (".gz", ".zst"):
            with pa.input_stream(str(path), compression="detect") as stream:
                while size <= MOST_UNPACKED and (piece := stream.read(CHUNK)):
                    size += len(piece)
        elif path.suffix in (".parquet", ".pq"):
            parts = pq.ParquetFile(path).metadata
            groups = range(parts.num_row_groups)
            size = sum(parts.row_group(at).total_byte_size for at in groups)
            size = max(size, parts.num_rows * parts.num_columns)
    except (OSError, ValueError, zipfile.BadZipFile, pa.ArrowException):
        what = "the file cannot be unpacked"
        raise DataError(what, where=path.name, hint="is it complete?") from None
    if size > MOST_UNPACKED:
        what = f"unpacked, it would be larger than {MOST_UNPACKED >> 30} GiB"
        raise DataError(what, where=path.name, hint="open it by its path if you trust it")
