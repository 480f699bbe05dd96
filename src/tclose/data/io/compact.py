"""Columns that hold the values of their own rows and nothing else.

A column in memory may carry more than its rows: categories that no row has, the rest of a longer
column that it is a slice of, notes in its schema. None of that may be passed on with a release.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}


def compact_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A copy of the rows alone, without metadata.

    >>> words = pa.DictionaryArray.from_arrays([1, 1], ["never", "used"])
    >>> compact_batch(pa.record_batch({"a": words})).column(0).dictionary.to_pylist()
    ['used']
    """
    columns = [compact_array(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=compact_schema(batch.schema))


def compact_table(table: pa.Table) -> pa.Table:
    """The same for a table, in one dictionary per column."""
    batches = [compact_batch(batch) for batch in table.to_batches()]
    return pa.Table.from_batches(batches, compact_schema(table.schema)).unify_dictionaries()


def compact_schema(schema: pa.Schema) -> pa.Schema:
    """Names and types, without what is noted beside them."""
    return pa.schema([field.remove_metadata() for field in schema])


def compact_array(column: pa.Array) -> pa.Array:
    """A copy of the values alone; of a dictionary the values that occur, in their order."""
    if pa.types.is_dictionary(column.type):
        code = column.indices.cast(pa.int64()).fill_null(-1).to_numpy()
        used = np.unique(code[code >= 0])
        index = pa.array(np.searchsorted(used, code), column.type.index_type, mask=code < 0)
        values = compact_array(column.dictionary.take(pa.array(used)))
        return pa.DictionaryArray.from_arrays(index, values, ordered=column.type.ordered)
    if column.type in VIEWS:
        return compact_array(column.cast(VIEWS[column.type])).cast(column.type)
    return column.take(pa.array(np.arange(len(column))))
