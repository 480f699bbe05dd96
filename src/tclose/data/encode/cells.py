"""Distinct quasi-identifier × sensitive tuples with their number of rows: the table as integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.encode.dictionary import Dictionary
from tclose.data.encode.persons import Persons
from tclose.data.source import ROWS, Source
from tclose.distance.histogram import Counts, lexicographic
from tclose.errors import DataError, TooManyCells

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Cells:
    """The distinct tuples of some columns, in order: a code per column, and how many rows have it.

    Whatever order the engine counts in, the order of the cells is that of their codes.
    """

    dictionaries: dict[str, Dictionary]
    codes: dict[str, NDArray[np.int64]]
    rows: NDArray[np.int64]
    weight: Counts | None = None
    """The survey weight of the rows of each cell, where they have weights; whole numbers."""
    persons: Persons | None = None
    """Whose the rows are, where several may be of one person."""
    records: NDArray[np.int64] | None = None
    """The records that the table has of each cell, where each of them stands for several rows."""

    @property
    def n_rows(self) -> int:
        """How many rows all cells stand for."""
        return int(self.rows.sum())

    @property
    def table_rows(self) -> NDArray[np.int64]:
        """How many rows the table itself has of each cell."""
        return self.rows if self.records is None else self.records

    def missing(self, column: str) -> int:
        """How many rows miss a value in a column."""
        at = self.codes[column] == self.dictionaries[column].known
        return int(self.rows[at].sum())

    def only(self, kept: NDArray[np.bool_]) -> Cells:
        """Some of the cells."""
        cells, persons = np.flatnonzero(kept), self.persons
        return Cells(
            self.dictionaries,
            {name: code[cells] for name, code in self.codes.items()},
            self.rows[cells],
            None if self.weight is None else self.weight[cells],
            None if persons is None else persons.of_cells(cells, len(self.rows)),
            None if self.records is None else self.records[cells],
        )


def count_cells(source: Source, columns: Sequence[str]) -> Cells:
    """Counts the distinct tuples of some columns: one pass over the rows, in the engine.

    >>> from tclose.data.open import open_source
    >>> import pyarrow as pa
    >>> cells = count_cells(open_source(pa.table({"a": [1, 1, None]})), ["a"])
    >>> cells.n_rows, cells.missing("a"), len(cells.rows)
    (3, 1, 2)
    """
    cells = count_cells_within_limit(source, columns)
    if cells is None:
        raise TooManyCells(source.max_cells, source.name)
    return cells


def count_cells_within_limit(source: Source, columns: Sequence[str]) -> Cells | None:
    """The same; None where they are more than the source takes into one place."""
    table = source.group_within_limit(columns)
    if table is None:
        return None
    if table.num_rows == 0:
        raise DataError("the table has no rows", where=source.name, hint="is the right file named?")
    dictionaries, codes = encode_columns(table, columns)
    rows = table.column(ROWS).to_numpy().astype(np.int64)
    del table
    order = lexicographic(*codes.values())
    for name in columns:
        codes[name] = codes[name][order]
    return merge_equal(dictionaries, codes, rows[order])[0]


def encode_columns(
    table: pa.Table, columns: Sequence[str]
) -> tuple[dict[str, Dictionary], dict[str, NDArray[np.int64]]]:
    """Some columns of a table as dictionaries and codes."""
    dictionaries: dict[str, Dictionary] = {}
    codes: dict[str, NDArray[np.int64]] = {}
    for name in columns:
        dictionaries[name], codes[name] = Dictionary.encode(table.column(name), name)
    return dictionaries, codes


def merge_equal(
    dictionaries: dict[str, Dictionary],
    codes: dict[str, NDArray[np.int64]],
    rows: NDArray[np.int64],
    weight: Counts | None = None,
) -> tuple[Cells, Ints]:
    """Cells from tuples in order, equal ones as one, and the cell of each of the tuples.

    NaN and null are both missing, so that tuples may be equal which an engine counted apart.
    """
    fresh = np.zeros(len(rows), dtype=bool)
    fresh[:1] = True
    for column in codes.values():
        fresh[1:] |= column[1:] != column[:-1]
    if not fresh.all():
        first = np.flatnonzero(fresh)
        codes = {name: column[first] for name, column in codes.items()}
        rows = np.add.reduceat(rows, first)
        weight = None if weight is None else np.add.reduceat(weight, first)
    return Cells(dictionaries, codes, rows, weight), np.cumsum(fresh) - 1


def split_evenly(rows: NDArray[np.number], parts: int) -> Ints:
    """The part of each value, from the rows with each value in order.

    >>> split_evenly(np.array([2, 1, 1, 4]), 2).tolist()
    [0, 0, 0, 1]
    """
    before = np.cumsum(rows) - rows
    part: Ints = np.minimum(parts * before / max(rows.sum(), 1), parts - 1).astype(np.int64)
    return part


def bin_codes(codes: Ints, most: int, weight: Ints | None = None) -> Ints:
    """Codes (−1: missing), or so many parts of them where there are more values than that.

    >>> bin_codes(np.array([5, 6, 9, 9]), 2).tolist(), bin_codes(np.array([7, -1, 7]), 2).tolist()
    ([0, 0, 1, 1], [7, -1, 7])
    """
    low = int(codes.min(initial=0))
    count = np.bincount(codes - low, weight)
    if np.count_nonzero(count) <= most:
        return codes
    return split_evenly(count, most)[codes - low]
