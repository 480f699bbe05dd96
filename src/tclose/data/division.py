"""Cells that a column beyond the table tells apart, so that rows with equal values can part.

A search gives every cell a class. Where a table has few quasi-identifiers, its cells have many rows
each, and no class is as small or as well mixed as it could be. So rows with equal values are
divided into several cells of at most so many rows.

Which of them is in which cell depends on a hash of what else is released of them, and so neither on
the order of the table nor on a column that is dropped. Rows with equal hashes are alike in the
release, whichever of them is taken.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from tclose.arrays import Ints
from tclose.data.alignment import locate_rows
from tclose.data.binding import BoundTable, FurtherColumn
from tclose.data.encode.columns import Dictionary
from tclose.data.io.counting import connect_to_shared
from tclose.data.io.order import hash_rows

COLUMN = "part of rows with equal values"
LEAST = 10
"""Rows with equal values of which no fewer are divided."""
FEW_CELLS, MANY_CELLS = 20_000, 2_000_000
"""Cells up to which any table may grow, and beyond which none does; between, it may double."""


def choose_most_equal(rows: Ints) -> int | None:
    """How many rows a cell has at most once cells are divided; None if they stay as they are.

    >>> choose_most_equal(np.array([3, 10])), choose_most_equal(np.array([1, 45]))
    (None, 10)
    """
    limit = max(min(2 * len(rows), MANY_CELLS), FEW_CELLS, len(rows))
    most = LEAST
    while int((-(-rows // most)).sum()) > limit:
        most *= 2
    return most if int(rows.max(initial=0)) > most else None


def divide_equal_rows(plain: BoundTable, most: int) -> BoundTable:
    """The table with cells of at most so many rows."""
    cells = plain.cells
    parts = -(-cells.rows // most)
    cell = np.repeat(np.arange(len(parts)), parts)
    part = np.arange(len(cell)) - np.repeat(np.cumsum(parts) - parts, parts)
    dictionary, code = Dictionary.encode(pa.chunked_array([pa.array(part)]))
    divided = replace(
        cells,
        dictionaries={**cells.dictionaries, COLUMN: dictionary},
        codes={**{name: codes[cell] for name, codes in cells.codes.items()}, COLUMN: code},
        rows=np.minimum(cells.rows[cell] - most * part, most),
    )
    number_rows = partial(_number_rows, plain, most)
    further = FurtherColumn(COLUMN, plain, number_rows, most)
    return replace(plain.with_cells(divided, plain.attributes), further=further)


def _number_rows(plain: BoundTable, most: int) -> Ints:
    """The part of each row, in the table's order."""
    cell = locate_rows(plain)
    keys = [cell]
    others = [name for name in plain.released_columns if name not in plain.cell_columns]
    if others:
        connection = connect_to_shared()
        batches = plain.source.stream().batches()
        hashes = [hash_rows(batch.select(others), connection) for batch in batches]
        first, second = (np.concatenate(each) for each in zip(*hashes, strict=True))
        keys = [second, first, cell]
    order = np.lexsort(keys)
    start = np.cumsum(plain.cells.rows) - plain.cells.rows
    part = np.empty(len(cell), dtype=np.int64)
    part[order] = (np.arange(len(cell)) - start[cell[order]]) // most
    return part
