"""Rows in groups as tables: Anatomy, slicing, and rows in no order.

**Order tells nothing.** Rows are put into the order of their published values and then shuffled by
the seed, and groups are numbered by their rows: neither depends on the order of the original table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.arrays import Ints
from tclose.data.binding import BoundTable
from tclose.data.io.files import take_rows
from tclose.data.source import Rows
from tclose.distance.histogram import group_codes
from tclose.recode.rewrite import Pseudonyms, mask_values


@dataclass(frozen=True)
class GroupedRows:
    """A table in memory whose rows are in groups."""

    bound: BoundTable
    table: pa.Table
    """The columns that are released, identifiers as the policy says, in the table's own order."""
    cell: Ints
    """[rows]: the cell of each row."""
    group: Ints
    """[rows]: the number of its group, from 1."""
    seed: int

    def quasi_table(self, group: str) -> pa.Table:
        """Anatomy's QIT: everything but the sensitive attributes, and each row's group."""
        kept = [name for name in self.table.column_names if name not in self.bound.attributes]
        table = self.table.select(kept)
        order = shuffle_within_groups(table, self.group, [self.seed, 0])
        return take_rows(table, order).add_column(0, group, pa.array(self.group[order]))

    def sensitive_table(self, names: Sequence[str], group: str, count: str) -> pa.Table:
        """Anatomy's ST of one set of sensitive attributes: group, values, how many rows."""
        cells = self.bound.cells
        codes = [self.group, *(cells.codes[name][self.cell] for name in names)]
        label, first = group_codes(codes)
        columns = {group: pa.array(self.group[first])}
        for name, code in zip(names, codes[1:], strict=True):
            columns[name] = cells.dictionaries[name].decode(code[first])
        columns[count] = pa.array(np.bincount(label, minlength=len(first)).astype(np.int64))
        return pa.table(columns)

    def slice_table(self, sets: Sequence[Sequence[str]], group: str) -> pa.Table:
        """All columns, the tuples of each set in an order of their own within every group."""
        alone = [(name,) for name in self.table.column_names if not any(name in s for s in sets)]
        columns: dict[str, pa.ChunkedArray] = {}
        for at, names in enumerate([*sets, *alone]):
            held = self.table.select(list(names))
            order = shuffle_within_groups(held, self.group, [self.seed, at + 1])
            held = take_rows(held, order)
            columns |= {name: held.column(name) for name in names}
        table = pa.table({name: columns[name] for name in self.table.column_names})
        return table.add_column(0, group, pa.array(np.sort(self.group, kind="stable")))

    @cached_property
    def groups(self) -> int:
        """How many groups there are."""
        return int(self.group.max())


def group_rows(
    bound: BoundTable, rows: Rows, by_cell: Ints, pseudonyms: Pseudonyms, seed: int
) -> GroupedRows:
    """The rows of a table with their groups, given in the order of cells, whose rows are alike."""
    located = list(bound.locate(rows))
    cell = np.concatenate([cells for _, cells in located])
    label = np.empty(len(cell), dtype=np.int64)
    label[np.argsort(cell, kind="stable")] = by_cell
    table = pa.Table.from_batches([batch for batch, _ in located], rows.schema)
    columns = {name: table.column(name) for name in bound.released_columns}
    masks = bound.policy.release.identifiers == "mask"
    for name in set(bound.policy.identifiers) & set(columns):
        values = columns[name].combine_chunks()
        columns[name] = mask_values(values) if masks else pseudonyms.column(name, values)
    return GroupedRows(bound, pa.table(columns), cell, _number_groups(bound, cell, label), seed)


def shuffle_within_groups(table: pa.Table, group: Ints, seed: Sequence[int]) -> Ints:
    """The rows group by group, in each as a seed shuffles their values, whatever order they had.

    >>> table = pa.table({"a": [1, 2, 3, 4]})
    >>> shuffled = table.take(pa.array(shuffle_within_groups(table, np.zeros(4, int), [7])))
    >>> back = table.take(pa.array([3, 1, 0, 2]))
    >>> shuffled.equals(back.take(pa.array(shuffle_within_groups(back, np.zeros(4, int), [7]))))
    True
    """
    keys = {f"c{at}": _sortable(column) for at, column in enumerate(table.columns)}
    rank = np.arange(table.num_rows)
    if keys:
        order = [(name, "ascending") for name in keys]
        rank = pc.sort_indices(pa.table(keys), sort_keys=order).to_numpy().astype(np.int64)
    chance = np.random.default_rng(list(seed)).random(len(rank))
    # Chance is dealt along groups and values, never along the table's own order.
    rank = rank[np.argsort(group[rank], kind="stable")]
    return rank[np.lexsort((chance, group[rank]))]


def _sortable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column that can be sorted; what Arrow cannot sort, as Python writes it."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        pc.sort_indices(column.slice(0, 1))
    except pa.ArrowException:
        return pa.chunked_array([pa.array([str(value) for value in column.to_pylist()])])
    return column


def _number_groups(bound: BoundTable, cell: Ints, label: Ints) -> Ints:
    """Groups numbered from 1 by the quasi-identifiers of their rows, which are published anyway."""
    place, _ = group_codes([bound.cells.codes[name] for name in bound.classes.quasi])
    rank = place[cell]
    low = np.full(int(label.max()) + 1, len(cell), dtype=np.int64)
    high, total = np.zeros_like(low), np.zeros_like(low)
    np.minimum.at(low, label, rank)
    np.maximum.at(high, label, rank)
    np.add.at(total, label, rank)
    order = np.lexsort((total, high, np.bincount(label), low))
    number = np.empty(len(low), dtype=np.int64)
    number[order] = np.arange(1, len(low) + 1)
    result: Ints = number[label]
    return result
