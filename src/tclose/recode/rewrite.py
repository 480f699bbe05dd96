"""The rows of a table, recoded batch by batch: only what must change is changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.errors import InternalError
from tclose.recode.identifiers import Pseudonyms, masked
from tclose.recode.values import Released
from tclose.table.check import Bound
from tclose.table.stream import RowIndex, Rows


@dataclass(frozen=True)
class Rewriter:
    """Turns the rows of a table into those of a release.

    `label` is the class of each cell (−1: left out); quasi-identifiers take their class's released
    value, identifiers go as the policy says, every other column and the row order stay as they are.
    """

    bound: Bound
    rows: Rows
    label: NDArray[np.int64]
    released: tuple[Released, ...]
    pseudonyms: Pseudonyms

    def columns(self) -> list[str]:
        """The names of the columns that the release has, in the table's order."""
        return released_columns(self.bound)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The released rows, in the table's order."""
        texts = {one.column: pa.array(one.values, pa.string()) for one in self.released}
        for batch, cell in self._located():
            yield self._recoded(batch, self.label[cell], texts)

    def kept_rows(self) -> NDArray[np.int64]:
        """The numbers of the table's rows that are released, in order."""
        cells = [cell for _, cell in self._located()]
        return np.flatnonzero(self.label[np.concatenate(cells)] >= 0)

    def schema(self) -> pa.Schema:
        """The schema of the release: its own where a column changes, the table's elsewhere."""
        return released_schema(self.bound, self.rows)

    def _located(self) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
        """The table's rows, each with its cell."""
        index = RowIndex(self.bound.cells, [*self.bound.classes.quasi, *self.bound.attributes])
        for batch in self.rows.batches():
            cell = index.locate(batch)
            if (cell < 0).any():
                raise InternalError("a row of the table has no cell", where=self.bound.source.name)
            yield batch, cell

    def _recoded(
        self, batch: pa.RecordBatch, label: NDArray[np.int64], texts: dict[str, pa.Array]
    ) -> pa.RecordBatch:
        kept = label >= 0
        if not kept.all():
            batch, label = batch.filter(pa.array(kept)), label[kept]
        at = pa.array(label)
        arrays = [self._column(name, batch, at, texts) for name in self.columns()]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema())

    def _column(
        self, name: str, batch: pa.RecordBatch, at: pa.Array, texts: dict[str, pa.Array]
    ) -> pa.Array:
        if name in texts:
            return texts[name].take(at)
        if name in self.bound.policy.identifiers:
            if self.bound.policy.release.identifiers == "mask":
                return masked(batch.num_rows)
            return self.pseudonyms.column(batch.column(name))
        return batch.column(name)


def released_columns(bound: Bound) -> list[str]:
    """The names of the columns that a release of the table has, in the table's order."""
    policy = bound.policy
    gone = policy.identifiers if policy.release.identifiers == "drop" else ()
    return [name for name in bound.source.columns if name not in gone]


def released_schema(bound: Bound, rows: Rows) -> pa.Schema:
    """The columns of a release with their types: text where values are recoded."""
    changed = {*bound.classes.quasi, *bound.policy.identifiers}
    fields = [
        pa.field(name, pa.string()) if name in changed else rows.schema.field(name)
        for name in released_columns(bound)
    ]
    return pa.schema(fields)
