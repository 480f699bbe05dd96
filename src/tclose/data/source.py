"""The interface of every engine to a table: its columns, counts and rows, and rewriting them.

The engine counts and rewrites, the core thinks on cells; nothing above this room knows which engine
it is. The engines themselves are in `engines`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from tclose.arrays import Ints
from tclose.data.io.counting import fingerprint
from tclose.data.io.paths import Address
from tclose.errors import DataError, InternalError, TooManyCells

KEY, NEW = "__tclose_key_{}", "__tclose_new_{}"
Kind = Literal["same", "text", "hidden", "mask", "pseudonym"]


@dataclass(frozen=True)
class Change:
    """The recoding of one column.

    same: nothing. text: the cell's text in column `at` of the translation. hidden: no value where
    that column is true. mask: one text for all. pseudonym: see `Translation.pseudonyms`.
    """

    name: str
    kind: Kind
    at: str = ""


@dataclass(frozen=True)
class Translation:
    """A release as joined by an engine: rows whose key is in `cell_table`, with some columns
    changed.

    `cell_table` has one row for each key: columns `KEY` (a missing value is null and equals itself;
    NaN is missing; −0 is 0), in the order of `keys`, and the columns that `changes` name.
    """

    keys: tuple[str, ...]
    cell_table: Any
    """An Arrow table, or the engine's own kind of table where it made the cells itself."""
    changes: tuple[Change, ...]
    """The released columns, in order; columns of the table that are not named are dropped."""
    pseudonyms: Callable[[str, pa.Array], pa.Array]
    """From an identifier's name and values to what is released in their place."""
    mask: str
    is_shuffled: bool
    """Whether rows come in an order of their released values alone; otherwise in their own."""
    rows: int
    """How many rows the release has."""

    @cached_property
    def cells(self) -> pa.Table:
        """The lines of `cell_table`, also where DuckDB has made them on its own connection."""
        made = self.cell_table
        return made if isinstance(made, pa.Table) else made.to_arrow_table()


ORDER = "__tclose_order__"
STRATUM = "__tclose_stratum__"
FIRST = "__tclose_first__"
FRAGMENTS = "__tclose_fragments__"
FRAGMENT = "__tclose_fragment__"
TIE = "__tclose_tie_{}"


class CellPositions(NamedTuple):
    """The positions of cells: on the curve, their stratum, and what breaks ties."""

    order: Ints
    stratum: Ints
    first: Ints
    fragments: Ints
    """The cells of a stratum go to so many fragments in turn, from the first on."""
    ties: tuple[Ints, ...]
    """One cell and no other has all of these numbers."""

    def columns(self) -> dict[str, Ints]:
        """The positions as columns of a table."""
        mine = {ORDER: self.order, STRATUM: self.stratum, FIRST: self.first}
        mine |= {FRAGMENTS: self.fragments}
        return mine | {TIE.format(at): tie for at, tie in enumerate(self.ties)}

    def append_to(self, table: pa.Table) -> pa.Table:
        """The cells with their positions as further columns."""
        for name, numbers in self.columns().items():
            table = table.append_column(name, pa.array(numbers, pa.int64()))
        return table


class PartResult(NamedTuple):
    """The result of the work on a fragment: rows of a translation, and a report on it."""

    cell_table: pa.Table
    report: Any


PartWork = Callable[[pa.Table], Any]
"""Some work on the cells of a part, which is sent there and whose result is sent back."""
FragmentWork = Callable[[pa.Table], PartResult]


class CellStore(ABC):
    """The cells of a table where the engine keeps them.

    Nothing may depend on how many workers an engine has: cells are cut in an order that their
    values alone determine, and reports come in the order of the fragments.
    """

    @property
    @abstractmethod
    def n_cells(self) -> int:
        """How many cells there are."""

    @abstractmethod
    def sketch(self, snap: Callable[[pa.Table], pa.Table], numbers: Sequence[str]) -> pa.Table:
        """Cells as `snap` makes them, equal ones united: their `numbers` add up."""

    @abstractmethod
    def cut(self, locate: Callable[[pa.Table], CellPositions], columns: Sequence[str]) -> pa.Table:
        """Assigns the cells of every stratum to its fragments, in turn along the order.

        Returns the rows (`WEIGHT`) of every fragment (`FRAGMENT`) with each tuple of some columns.
        """

    @abstractmethod
    def look(self, united: Ints, work: PartWork) -> list[Any]:
        """Runs some work on each fragment, united as given; stores nothing."""

    @abstractmethod
    def work(self, united: Ints, work: FragmentWork, schema: pa.Schema) -> list[Any]:
        """Works on fragments, some of them united (`united[fragment]` is the number of the union).

        The lines of all fragments together (of this schema) are kept as a translation.
        """

    @property
    @abstractmethod
    def translation(self) -> Any:
        """The lines of all fragments, as the engine's own kind of table."""


T = TypeVar("T")
Output = str | Path | Address
ROWS = "__tclose_rows__"
BATCH = 131_072
"""Rows that are looked at together at most."""
READ = 8_192
"""Rows that an engine is asked for at a time."""
PIECE = 16 << 20
"""Bytes that are looked at together at most, more or less: of long rows there are fewer."""
NO_LIMIT = 2**62
VALUES = 2_000_000
"""Different values of a column that are taken into one place, however few cells are."""
Spread = Callable[[PartWork], list[Any]]
"""Works on every part of what was counted once, in the order of the parts."""


@dataclass(frozen=True)
class Rows:
    """All rows and columns of a table in its own order, with the types that it has.

    >>> table = pa.table({"a": [1, 2, 3]})
    >>> sum(part.num_rows for part in Rows(table.schema, table.to_batches).batches())
    3
    """

    schema: pa.Schema
    opened: Callable[[], Iterable[pa.RecordBatch]]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in bounded memory, from the first again at every call."""
        return resize_batches(self.opened())

    def read_table(self) -> pa.Table:
        """All rows at once."""
        return pa.Table.from_batches(list(self.batches()), self.schema)


def resize_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of a reasonable size.

    >>> many = [pa.record_batch({"a": [number]}) for number in range(5)]
    >>> [piece.num_rows for piece in resize_batches(many)]
    [5]
    """
    waiting: list[pa.RecordBatch] = []
    rows, size = 0, 0
    for batch in batches:
        for part in _slices(batch):
            if waiting and (rows + part.num_rows > BATCH or size + _bytes(part) > PIECE):
                yield from _concatenate(waiting)
                waiting, rows, size = [], 0, 0
            waiting.append(part)
            rows, size = rows + part.num_rows, size + _bytes(part)
    if waiting:
        yield from _concatenate(waiting)


def _slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    rows = max(1, min(BATCH, batch.num_rows * PIECE // max(_bytes(batch), 1)))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def _bytes(batch: pa.RecordBatch) -> int:
    """The size of the rows in bytes, or an upper bound where some versions cannot measure it."""
    try:
        return int(batch.nbytes)
    except pa.ArrowException:
        return int(batch.get_total_buffer_size())


def _concatenate(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """The batches as one; unchanged if their dictionaries cannot be merged."""
    if len(batches) == 1:
        return batches
    try:
        return list(pa.Table.from_batches(batches).combine_chunks().to_batches())
    except pa.ArrowException:
        return batches


def decode_column(column: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    """Plain values without dictionary encoding, with NaN as missing. Adding 0 turns −0 into 0."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        column = pc.add(column, pa.scalar(0, column.type))
    return column


def plain_values(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Plain values in one chunk, with one type for all texts, so that they can be looked up."""
    values = decode_column(values)
    if pa.types.is_string_view(values.type) or pa.types.is_large_string(values.type):
        values = values.cast(pa.string())
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def write_out(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """A column's texts as long strings, however they are stored; another column as it is."""
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    is_text = kind in (pa.string(), pa.large_string(), pa.string_view())
    return values.cast(kind).cast(pa.large_string()) if is_text else values


@dataclass(frozen=True)
class CleanedColumn:
    """The distinct values of a column, their cleaned values, and the number of rows that change."""

    raw: pa.Array
    clean: pa.Array
    changed_rows: int

    def look_up(self, values: pa.Array | pa.ChunkedArray) -> pa.Array:
        """The cleaned values of some values; raises for a value that was not there before."""
        values = plain_values(values).cast(self.raw.type)
        found = pc.index_in(values, value_set=self.raw)
        if found.null_count > values.null_count:
            what = "the table gave other values when it was read again"
            raise DataError(what, hint="has it changed meanwhile?")
        return self.clean.take(found)

    def pair(self, raw: str, clean: str) -> pa.Table:
        """Values and cleaned values as two columns of these names; a missing one stays missing."""
        pairs = pa.table([self.raw, self.clean], [raw, clean])
        gap = pa.table([pa.nulls(1, column.type) for column in pairs.columns], pairs.schema)
        return pa.concat_tables([pairs, gap])

    def describe(self) -> dict[str, int]:
        """The counts of the cleaning for a certificate, without any value."""
        after = pc.count_distinct(self.clean, mode="only_valid").as_py()
        return {
            "changed_rows": self.changed_rows,
            "values_before": len(self.raw),
            "values_after": after,
        }


Cleaned = Mapping[str, CleanedColumn]


def replace_in_rows(rows: Rows, cleaned: Cleaned) -> Rows:
    """The rows with values replaced."""
    schema = rows.schema
    for name, column in cleaned.items():
        at = schema.get_field_index(name)
        own = schema.field(at).with_type(column.clean.type).with_nullable(True)
        schema = schema.set(at, own)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in rows.batches():
            arrays = [
                cleaned[name].look_up(values) if name in cleaned else values
                for name, values in zip(schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return Rows(schema, batches)


FileState = tuple[int, ...] | None


def _look_at(path: Path) -> FileState:
    try:
        now = path.stat()
    except OSError:
        return None
    return now.st_size, now.st_mtime_ns, now.st_ino


@dataclass(frozen=True)
class Source(ABC):
    """A table that can be counted; `name` is used in messages."""

    rewrites: ClassVar[bool] = False
    """Whether the engine makes the release itself (`recode`); otherwise rows are streamed."""

    name: str
    columns: tuple[str, ...]
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    delimiter: str = field(default=",", kw_only=True)
    """How a CSV file separates its fields."""
    encoding: str = field(default="", kw_only=True)
    """How a CSV file encodes its characters, where that is not UTF-8."""
    files: tuple[Path, ...] = field(default=(), kw_only=True)
    """The files it is read from, as far as they are known: none of them is ever overwritten."""
    max_cells: int = field(default=NO_LIMIT, kw_only=True)
    """How many distinct tuples are taken into one place at most."""
    cleaned: Cleaned = field(default_factory=dict, repr=False, kw_only=True)
    """The columns whose values were replaced (`replace_values`)."""
    original: Source | None = field(default=None, repr=False, kw_only=True)
    """The table as it was before that."""
    states: tuple[FileState, ...] | None = field(default=None, kw_only=True, repr=False)
    """The size and the age of each file when the table was opened."""

    def __post_init__(self) -> None:
        if self.states is None:
            object.__setattr__(self, "states", tuple(map(_look_at, self.files)))

    def refuse_edited(self) -> None:
        """Raises where a file is another than when the table was opened."""
        if self.original is not None:
            self.original.refuse_edited()
        for path, before in zip(self.files, self.states or (), strict=False):
            if _look_at(path) != before:
                what = "the file was changed while it was read; nothing was written"
                raise DataError(what, where=path.name, hint="try again once nobody writes to it")

    @abstractmethod
    def group_within_limit(self, columns: Sequence[str]) -> pa.Table | None:
        """The distinct tuples of some columns with their number of rows; None over `max_cells`."""

    @abstractmethod
    def stream(self) -> Rows:
        """All rows, in their own order where the engine knows one."""

    @abstractmethod
    def is_scalar(self, column: str) -> bool:
        """Whether the column holds plain values, not lists, structures or bytes."""

    def read_first(self, columns: Sequence[str], limit: int) -> pa.Table:
        """The first so many rows of some columns."""
        rows = self.stream()
        parts: list[pa.RecordBatch] = []
        for batch in rows.batches():
            parts.append(batch.slice(0, limit))
            limit -= parts[-1].num_rows
            if limit <= 0:
                break
        return pa.Table.from_batches(parts, rows.schema).select(columns)

    def group(self, columns: Sequence[str]) -> pa.Table:
        """Like `group_within_limit`, but raises if there are too many tuples."""
        table = self.group_within_limit(columns)
        if table is None:
            raise TooManyCells(self.max_cells, self.name)
        return table

    def replace_values(self, cleaned: Cleaned) -> Source:
        """The table with other values in some columns; missing values stay missing."""
        raise InternalError("this engine replaces no values", where=self.name)

    @cached_property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(sum(self.group(self.columns[:1]).column(ROWS).to_pylist()))

    def with_room(self) -> Self:
        """The same table, with room for all values of a column."""
        return replace(self, max_cells=max(self.max_cells, VALUES))

    def count_distinct(self, column: str) -> int:
        """How many different values a column has; a missing one is a value here."""
        return int(self.group([column]).num_rows)

    def digest(self) -> str:
        """A fingerprint of the table: of its rows as text, whatever their order and the engine."""
        rows = self.stream()
        return fingerprint(rows.schema, rows.batches())

    def recode(self, translation: Translation) -> Any:
        """The release as the caller's own kind of table."""
        raise InternalError("this engine does not rewrite", where=self.name)

    def can_store(self, output: Output) -> bool:
        """Whether the engine can write to this output itself (`store`)."""
        return False

    def refuse_taken(self, output: Output) -> None:  # noqa: B027 - most write nothing
        """Raises where `store` could not write there, before any work is done for it."""

    def store(self, translation: Translation, output: Output, check: Callable[[Source], T]) -> T:
        """Writes the release, unless `check` raises, and returns the result of `check`."""
        raise InternalError("this engine does not write", where=self.name)

    def can_write(self, translation: Translation) -> bool:
        """Whether the engine can write this release to a Parquet file itself, which is faster."""
        return False

    def write(self, translation: Translation, place: Path) -> None:
        """Writes the release to a file."""
        raise InternalError("this engine does not write", where=self.name)

    def save(self, output: Output, check: Callable[[Source], T]) -> T:
        """Puts the table there as it is, likewise."""
        raise InternalError("this engine does not write", where=self.name)

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Releases resources that are held elsewhere; later reads start anew."""

    def keep_cells(self, columns: Sequence[str]) -> CellStore:
        """The cells of some columns, kept by the engine to be worked on there."""
        raise InternalError("this engine keeps no cells", where=self.name)

    def join(self, translation: Translation) -> Iterator[pa.RecordBatch]:
        """The released rows in the table's order, by a cell store's translation."""
        raise InternalError("this engine keeps no cells", where=self.name)

    def split_cells(self, columns: Sequence[str], by: Sequence[str], parts: int) -> Spread:
        """The cells of some columns in parts, to be worked on where the engine keeps them.

        Cells with equal values in the columns `by` are in one part; parts without cells have no
        result.
        """
        raise InternalError("this engine keeps no cells", where=self.name)


def quote_name(name: str) -> str:
    """A column name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'
