"""What every engine shows of a table: its columns, its counts, its rows, and how it rewrites them.

The engine counts and rewrites, the core thinks on cells; nothing above this room knows which engine
it is. The engines themselves are in `engines`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from tclose.data.cell_store import CellStore
from tclose.data.io.counting import fingerprint
from tclose.data.io.paths import Address
from tclose.data.translation import Translation
from tclose.errors import DataError, InternalError, TooManyCells

T = TypeVar("T")

ROWS = "__tclose_rows__"
BATCH = 131_072
"""Rows that are looked at together at most."""
READ = 8_192
"""Rows that an engine is asked for at a time."""
PIECE = 16 << 20
"""Bytes that are looked at together at most, more or less: of long rows there are fewer."""
NO_LIMIT = 2**62

Spread = Callable[[Callable[[pa.Table], bytes]], list[bytes]]
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


def resize_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows, as many at a time as are worth it: neither few short ones nor many long ones.

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
    """A batch in parts that are small enough; none where it has no rows."""
    rows = max(1, min(BATCH, batch.num_rows * PIECE // max(_bytes(batch), 1)))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def _bytes(batch: pa.RecordBatch) -> int:
    """What the rows take; of texts seen as views, which some versions cannot tell, at most."""
    try:
        return int(batch.nbytes)
    except pa.ArrowException:
        return int(batch.get_total_buffer_size())


def _concatenate(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """The batches as one; as they are where their dictionaries do not fit into one."""
    if len(batches) == 1:
        return batches
    try:
        return list(pa.Table.from_batches(batches).combine_chunks().to_batches())
    except pa.ArrowException:
        return batches


@dataclass(frozen=True)
class Source(ABC):
    """A table that can be counted; `name` is what messages call it."""

    name: str
    columns: tuple[str, ...]
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    delimiter: str = field(default=",", kw_only=True)
    """How a CSV file separates its fields."""
    files: tuple[Path, ...] = field(default=(), kw_only=True)
    """The files it is read from, as far as they are known: none of them is ever overwritten."""
    max_cells: int = field(default=NO_LIMIT, kw_only=True)
    """How many distinct tuples are taken into one place at most."""

    @abstractmethod
    def group_within_limit(self, columns: Sequence[str]) -> pa.Table | None:
        """The distinct tuples of some columns with their number of rows: one GROUP BY.

        None where they are more than `max_cells`.
        """

    @abstractmethod
    def stream(self) -> Rows:
        """All rows, in their own order where the engine knows one."""

    @abstractmethod
    def is_scalar(self, column: str) -> bool:
        """Whether the column holds plain values, not lists, structures or bytes."""

    def group(self, columns: Sequence[str]) -> pa.Table:
        """The same for whoever needs them in one place; raises where they are too many."""
        table = self.group_within_limit(columns)
        if table is None:
            raise TooManyCells(self.max_cells, self.name)
        return table

    @cached_property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(sum(self.group(self.columns[:1]).column(ROWS).to_pylist()))

    def count_distinct(self, column: str) -> int:
        """How many different values a column has; a missing one is a value here."""
        return int(self.group([column]).num_rows)

    def digest(self) -> str:
        """What identifies the table: of its rows as text, whatever their order and the engine."""
        rows = self.stream()
        return fingerprint(rows.schema, rows.batches())

    @property
    def rewrites(self) -> bool:
        """Whether the engine makes the release itself (`recoded`); otherwise rows are streamed."""
        return False

    def recode(self, translation: Translation) -> Any:
        """The release as the caller's own kind of table."""
        raise InternalError("this engine does not rewrite", where=self.name)

    def can_store(self, output: str | Path | Address) -> bool:
        """Whether the engine writes there by itself (`store`)."""
        return False

    def refuse_taken(self, output: str | Path | Address) -> None:
        """Raises where `store` could not write there, before any work is done for it."""
        return None

    def store(
        self, translation: Translation, output: str | Path | Address, check: Callable[[Source], T]
    ) -> T:
        """Puts the release there, whole or not at all, and returns what `check` found in it.

        Where `check` raises, nothing is left.
        """
        raise InternalError("this engine does not write", where=self.name)

    def save(self, output: str | Path | Address, check: Callable[[Source], T]) -> T:
        """Puts the table there as it is, likewise."""
        raise InternalError("this engine does not write", where=self.name)

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Lets go of what is held open elsewhere; whatever is read after this is read anew."""

    def keep_cells(self, columns: Sequence[str]) -> CellStore:
        """The cells of some columns, kept by the engine to be worked on there."""
        raise self._whole_only()

    def join(self, translation: Translation) -> Iterator[pa.RecordBatch]:
        """The released rows in the table's order, by a cell store's translation."""
        raise self._whole_only()

    def split_cells(self, columns: Sequence[str], by: Sequence[str], parts: int) -> Spread:
        """The cells of some columns in parts, to be worked on where the engine keeps them.

        Cells with equal values in the columns `by` are in one part; parts without cells have no
        result.
        """
        raise self._whole_only()

    def _whole_only(self) -> DataError:
        return DataError(
            "the table has too many cells for one place, and its engine cannot work on parts of it",
            where=self.name,
            hint="allow more cells, or write it to Parquet and read that",
        )


def quote_name(name: str) -> str:
    """A column name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'
