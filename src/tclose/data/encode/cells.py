"""Distinct quasi-identifier × sensitive tuples with their number of rows: the table as integers.

What a row counts, the policy may say:

- a *count* column: the row stands for that many rows;
- a *weight* column: distributions are weighted, exactly: decimal weights become whole numbers over
  a common denominator. Rows are still counted one by one;
- a *subject* column: it names the person, and several rows of one person are one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tclose.arrays import Flags, Ints
from tclose.data.encode.columns import NUMBER, Dictionary
from tclose.data.source import ROWS, Source, decode_column
from tclose.distance.histogram import Counts, add_by_group, group_codes
from tclose.distance.numbers import to_integers
from tclose.distance.registry import Attribute
from tclose.errors import DataError, TooManyCells
from tclose.requirements.classes import Classes, MaskedValues, find_views
from tclose.requirements.persons import Persons

LARGEST = 2**62
"""What all rows together may count for."""


@dataclass(frozen=True)
class Cells:
    """The distinct tuples of some columns, in the order of their codes, and the rows of each."""

    dictionaries: dict[str, Dictionary]
    codes: dict[str, Ints]
    rows: Ints
    weight: Counts | None = None
    """The survey weight of the rows of each cell, where they have weights; whole numbers."""
    persons: Persons | None = None
    """Whose the rows are, where several may be of one person."""
    records: Ints | None = None
    """The records that the table has of each cell, where each of them stands for several rows."""

    @property
    def n_rows(self) -> int:
        """The number of rows in all cells."""
        return int(self.rows.sum())

    @property
    def table_rows(self) -> Ints:
        """How many rows the table itself has of each cell."""
        return self.rows if self.records is None else self.records

    def missing(self, column: str) -> int:
        """How many rows miss a value in a column."""
        at = self.codes[column] == self.dictionaries[column].known
        return int(self.rows[at].sum())

    def only(self, kept: Flags) -> Cells:
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

    >>> from tclose.data.opening import open_source
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
    """Like `count_cells`; None if there are more cells than the source can hold in one place."""
    table = source.group_within_limit(columns)
    if table is None:
        return None
    if table.num_rows == 0:
        raise DataError(
            "the table has no rows", where=source.name, hint="check that it is the right file"
        )
    dictionaries, codes, rows = _encode_table(table, columns)
    del table
    return merge_equal(dictionaries, codes, rows)[0]


def _encode_table(
    table: pa.Table, columns: Sequence[str]
) -> tuple[dict[str, Dictionary], dict[str, Ints], Ints]:
    """The dictionaries and the codes of a counted table, and the rows of each tuple."""
    dictionaries, codes = {}, {}
    for name in columns:
        dictionaries[name], codes[name] = Dictionary.encode(table.column(name), name)
    return dictionaries, codes, table.column(ROWS).to_numpy().astype(np.int64)


def merge_equal(
    dictionaries: dict[str, Dictionary],
    codes: dict[str, Ints],
    rows: Ints,
    weight: Counts | None = None,
) -> tuple[Cells, Ints]:
    """Cells from tuples in any order, equal ones as one, and the cell of each of the tuples.

    NaN and null are both missing, so that tuples may be equal which an engine counted apart.
    """
    cell, first = group_codes(list(codes.values()))
    merged = {name: code[first] for name, code in codes.items()}
    weights = None if weight is None else _add_up(weight, cell, first)
    return Cells(dictionaries, merged, _add_up(rows, cell, first), weights), cell


def _add_up(amount: Counts, cell: Ints, first: Ints) -> Counts:
    """The amounts of each cell's tuples together."""
    return amount[first] if len(first) == len(amount) else add_by_group(amount, cell, len(first))


# --- rows that stand for several, weigh, or belong to persons


def count_weighted_cells(
    source: Source, columns: Sequence[str], counting: tuple[str, str]
) -> Cells | None:
    """Counts the distinct tuples of some columns; `counting` is a role and the column that has it.
    None where they are more than the source takes into one place.

    >>> from tclose.data.opening import open_source
    >>> table = open_source(pa.table({"a": ["x", "x", "y"], "w": ["0.5", "0.5", "1"]}))
    >>> cells = count_weighted_cells(table, ["a"], ("weight", "w"))
    >>> cells.rows.tolist(), cells.weight.tolist()
    ([2, 1], [1, 1])
    """
    role, name = counting
    where = f"column {name!r}"
    if not source.is_scalar(name):
        what = f"a {role} column must hold plain values, not lists, bytes or durations"
        raise DataError(what, where=where)
    table = source.group_within_limit([*columns, name])
    if table is None:
        return None
    if table.num_rows == 0:
        return count_cells(source, columns)
    dictionaries, codes, rows = _encode_table(table, [name, *columns])
    del table
    own, code = dictionaries.pop(name), codes.pop(name)
    refuse_uncounted(role, name, _count_wrong(role, own, code, rows))
    if role == "subject":
        cells, cell = merge_equal(dictionaries, codes, rows)
        once = group_codes([cell, code])[1]
        return replace(cells, persons=Persons(cell[once], code[once]))
    whole, _ = to_integers([number for number in _read_exactly(own) if number is not None])
    small = max(whole, default=0) * int(rows.sum()) < LARGEST
    counts = np.array([*whole, 0], dtype=np.int64 if small else object)[code] * rows
    if role == "count":
        if counts.dtype == object and sum(counts.tolist()) >= LARGEST:
            what = "the counts add up to more rows than can be counted"
            raise DataError(what, where=where, hint="is it the right column?")
        cells, cell = merge_equal(dictionaries, codes, counts.astype(np.int64))
        return replace(cells, records=add_by_group(rows, cell, len(cells.rows)))
    cells = merge_equal(dictionaries, codes, rows, counts)[0]
    return replace(cells, weight=_reduce_weight(cells))


def refuse_uncounted(role: str, name: str, rows: int) -> None:
    """Raises if some rows have no valid count, weight or person."""
    where = f"column {name!r}"
    if rows and role == "subject":
        what = f"{rows:,} row{' has' if rows == 1 else 's have'} no person in the subject column"
        hint = "give each row its person, or leave these rows out"
        raise DataError(what, where=where, hint=hint)
    if rows:
        wanted = "whole number from 1 on" if role == "count" else "positive number"
        what = f"{rows:,} row{' has' if rows == 1 else 's have'} no {wanted} in the {role} column"
        hint = (
            "correct these rows or leave them out; a missing value is not a number; numbers with a "
            "decimal comma need decimal = ',' at the column"
        )
        raise DataError(what, where=where, hint=hint)


def read_weights(source: Source, name: str) -> tuple[Dictionary, Counts]:
    """The different weights of a table, and whole numbers in their ratios (a missing one: 0).

    >>> from tclose.data.opening import open_source
    >>> read_weights(open_source(pa.table({"w": ["0.5", "1", "0.5"]})), "w")[1].tolist()
    [1, 2, 0]
    """
    dictionaries, codes, rows = _encode_table(source.group([name]), [name])
    own, code = dictionaries[name], codes[name]
    refuse_uncounted("weight", name, _count_wrong("weight", own, code, rows))
    whole, _ = to_integers([number for number in _read_exactly(own) if number is not None])
    small = max(whole, default=0) * int(rows.sum()) < LARGEST
    return own, np.array([*whole, 0], dtype=np.int64 if small else object)


def count_invalid(source: Source, role: str, name: str) -> int:
    """The number of rows without a valid count, weight or person."""
    dictionaries, codes, rows = _encode_table(source.group([name]), [name])
    return _count_wrong(role, dictionaries[name], codes[name], rows)


def _count_wrong(role: str, own: Dictionary, code: Ints, rows: Ints) -> int:
    """The number of rows without a valid count, weight or person."""
    if role == "subject":
        return int(rows[code >= own.known].sum())
    good = [
        number is not None
        and (number >= 1 and number.denominator == 1 if role == "count" else number > 0)
        for number in _read_exactly(own)
    ]
    return int(rows[~np.array([*good, False])[code]].sum())


def _read_exactly(own: Dictionary) -> list[Fraction | None]:
    """The numbers exactly as written; 32-bit floats by their shortest decimal form."""
    texts: Sequence[str] = own.labels
    if pa.types.is_float32(own.values.type) or pa.types.is_float16(own.values.type):
        texts = [str(value) for value in own.values.to_numpy(zero_copy_only=False)]
    return [Fraction(Decimal(text)) if NUMBER.match(text) else None for text in texts]


def _reduce_weight(cells: Cells) -> Counts | None:
    """The weights without a common factor; none where they are the numbers of rows."""
    assert cells.weight is not None
    weight = cells.weight // np.gcd.reduce(cells.weight)
    if weight.dtype == object and sum(weight.tolist()) < LARGEST:
        weight = weight.astype(np.int64)
    return None if np.array_equal(weight, cells.rows) else weight


# --- the cell of every row


class RowIndex:
    """Finds the cell of each row by looking its values up, column by column.

    Codes are folded into one number per row; where that number would not fit 64 bits, what is
    folded so far is replaced by its rank among the cells.

    >>> from tclose.data.opening import open_source
    >>> table = pa.table({"a": ["x", None, "x"], "b": [1, 2, 1]})
    >>> cells = count_cells(open_source(table), ["a", "b"])
    >>> at = RowIndex(cells, ["a", "b"]).locate(table.to_batches()[0])
    >>> bool(at[0] == at[2] != at[1])
    True
    """

    def __init__(self, cells: Cells, columns: Sequence[str]) -> None:
        self.cells = cells
        self.columns = list(columns)
        self.ranks: list[Ints | None] = []
        key = np.zeros(len(cells.rows), dtype=np.int64)
        span = 1
        for name in self.columns:
            wide = cells.dictionaries[name].known + 1
            known: Ints | None = None
            if span * wide >= 2**62:
                known, key = np.unique(key, return_inverse=True)
                span = len(known)
            self.ranks.append(known)
            key, span = key * wide + cells.codes[name], span * wide
        self.order = np.argsort(key, kind="stable")
        self.key = key[self.order]

    def locate(self, batch: pa.RecordBatch) -> Ints:
        """The cell of each row of a batch; −1 where there is none."""
        key = np.zeros(batch.num_rows, dtype=np.int64)
        lost = np.zeros(batch.num_rows, dtype=bool)
        for name, known in zip(self.columns, self.ranks, strict=True):
            if known is not None:
                at = np.searchsorted(known, key).clip(max=len(known) - 1)
                lost |= known[at] != key
                key = at
            code, unknown = look_up_codes(self.cells.dictionaries[name], batch.column(name))
            lost |= unknown
            key = key * (self.cells.dictionaries[name].known + 1) + code
        at = np.searchsorted(self.key, key).clip(max=len(self.key) - 1)
        lost |= self.key[at] != key
        return np.where(lost, -1, self.order[at])


def locate_batches(
    cells: Cells, columns: Sequence[str], batches: Iterable[pa.RecordBatch], name: str
) -> Iterator[tuple[pa.RecordBatch, Ints]]:
    """A table's rows once more, each with its cell; raises where they are others than before."""
    index = RowIndex(cells, columns)
    for batch in batches:
        cell = index.locate(batch)
        if (cell < 0).any():
            what = "the table gave other rows when it was read again"
            raise DataError(what, where=name, hint="has it changed meanwhile?")
        yield batch, cell


def look_up_codes(dictionary: Dictionary, column: pa.Array | pa.ChunkedArray) -> tuple[Ints, Flags]:
    """Dictionary codes of a column's values, and which of them are not in the dictionary."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    values = dictionary.values
    column = decode_column(column if column.type == values.type else column.cast(values.type))
    code = pc.index_in(column, value_set=values).fill_null(-1)
    missing = np.asarray(column.is_null())
    result = np.where(missing, dictionary.known, np.asarray(code).astype(np.int64))
    return np.maximum(result, 0), result < 0


# --- classes


def form_classes(
    cells: Cells,
    quasi: Sequence[str],
    attributes: Mapping[str, Attribute],
    wild: Sequence[str] = (),
) -> Classes:
    """Groups cells by their quasi-identifiers; `wild` columns' missing values match everything."""
    label, first = group_codes([cells.codes[name] for name in quasi])
    key = np.stack([cells.codes[name][first] for name in quasi], axis=1)
    missing = np.array([cells.dictionaries[name].known for name in quasi])
    unknown = (key == missing) & np.array([name in wild for name in quasi])
    view_of, class_of = find_views(key, unknown)
    codes = {name: attribute.recode[cells.codes[name]] for name, attribute in attributes.items()}
    masked = {}
    for name, attribute in attributes.items():
        if attribute.masks is not None and (codes[name] < 0).any():
            of_code, members = attribute.masks
            masked[name] = MaskedValues(of_code[cells.codes[name]], members)
    return Classes(
        tuple(quasi), cells.dictionaries, attributes, key, label, codes, cells.rows,
        view_of, class_of, np.arange(len(first)), cells.weight, cells.persons, masked,
    )  # fmt: skip


# --- codes in few parts


def split_evenly(rows: NDArray[np.number], parts: int) -> Ints:
    """The part of each value, from the rows with each value in order.

    >>> split_evenly(np.array([2, 1, 1, 4]), 2).tolist()
    [0, 0, 0, 1]
    """
    before = np.cumsum(rows) - rows
    part: Ints = np.minimum(parts * before / max(rows.sum(), 1), parts - 1).astype(np.int64)
    return part


def bin_codes(codes: Ints, most: int, weight: NDArray[np.number] | None = None) -> Ints:
    """Codes (−1: missing), or so many parts of them where there are more values than that.

    >>> bin_codes(np.array([5, 6, 9, 9]), 2).tolist(), bin_codes(np.array([7, -1, 7]), 2).tolist()
    ([0, 0, 1, 1], [7, -1, 7])
    """
    low = int(codes.min(initial=0))
    count = np.bincount(codes - low, weight)
    if np.count_nonzero(count) <= most:
        return codes
    return split_evenly(count, most)[codes - low]
