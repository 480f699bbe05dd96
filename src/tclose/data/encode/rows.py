"""Rows on their way, batch by batch: which cell each belongs to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tclose.data.encode.cells import Cells
from tclose.data.encode.dictionary import Dictionary

Ints = NDArray[np.int64]


class RowIndex:
    """Finds the cell of each row by looking its values up, column by column.

    Codes are folded into one number per row; where that number would not fit 64 bits, what is
    folded so far is replaced by its rank among the cells.

    >>> from tclose.data.open import open_source
    >>> from tclose.data.encode.cells import count_cells
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


def look_up_codes(
    dictionary: Dictionary, column: pa.Array | pa.ChunkedArray
) -> tuple[Ints, NDArray[np.bool_]]:
    """Dictionary codes of a column's values, and which of them are not in the dictionary."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    values = dictionary.values
    if column.type != values.type:
        column = column.cast(values.type)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        column = pc.add(column, pa.scalar(0, column.type))  # −0 is 0 in the dictionary
    code = pc.index_in(column, value_set=values).fill_null(-1)
    missing = np.asarray(column.is_null())
    result = np.where(missing, dictionary.known, np.asarray(code).astype(np.int64))
    return np.maximum(result, 0), result < 0
