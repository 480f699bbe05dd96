"""The rows of a table, recoded batch by batch: only what must change is changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.errors import InternalError
from tclose.recode.identifiers import Pseudonyms, masked
from tclose.recode.values import Released
from tclose.table.check import Bound
from tclose.table.stream import RowIndex, batches


@dataclass(frozen=True)
class Rewriter:
    """Turns the rows of a table into those of a release.

    `label` is the class of each cell (−1: left out); quasi-identifiers take their class's released
    value, identifiers go as the policy says, every other column and the row order stay as they are.
    """

    bound: Bound
    label: NDArray[np.int64]
    released: tuple[Released, ...]
    identifiers: Literal["drop", "mask", "pseudonym"]
    pseudonyms: Pseudonyms

    def columns(self) -> list[str]:
        """The names of the columns that the release has, in the table's order."""
        gone = self.bound.policy.identifiers if self.identifiers == "drop" else ()
        return [name for name in self.bound.source.columns if name not in gone]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The released rows, in the table's order."""
        keys = [*self.bound.classes.quasi, *self.bound.attributes]
        index = RowIndex(self.bound.cells, keys)
        texts = {one.column: pa.array(one.values, pa.string()) for one in self.released}
        for batch in batches(self.bound.source):
            cell = index.locate(batch)
            if (cell < 0).any():
                raise InternalError("a row of the table has no cell", where=self.bound.source.name)
            yield self._recoded(batch, self.label[cell], texts)

    def kept_rows(self) -> NDArray[np.int64]:
        """The numbers of the table's rows that are released, in order."""
        keys = [*self.bound.classes.quasi, *self.bound.attributes]
        index = RowIndex(self.bound.cells, keys)
        cells = [index.locate(batch) for batch in batches(self.bound.source)]
        return np.flatnonzero(self.label[np.concatenate(cells)] >= 0)

    def schema(self) -> pa.Schema:
        """The schema of the release."""
        schema = self.bound.source.reader(1).schema
        empty = pa.RecordBatch.from_arrays(
            [pa.array([], one.type) for one in schema], schema=schema
        )
        texts = {one.column: pa.array(one.values, pa.string()) for one in self.released}
        return self._recoded(empty, np.zeros(0, dtype=np.int64), texts).schema

    def _recoded(
        self, batch: pa.RecordBatch, label: NDArray[np.int64], texts: dict[str, pa.Array]
    ) -> pa.RecordBatch:
        kept = label >= 0
        if not kept.all():
            batch, label = batch.filter(pa.array(kept)), label[kept]
        at = pa.array(label)
        arrays = [self._column(name, batch, at, texts) for name in self.columns()]
        return pa.RecordBatch.from_arrays(arrays, names=self.columns())

    def _column(
        self, name: str, batch: pa.RecordBatch, at: pa.Array, texts: dict[str, pa.Array]
    ) -> pa.Array:
        if name in texts:
            return texts[name].take(at)
        if name in self.bound.policy.identifiers:
            if self.identifiers == "mask":
                return masked(batch.num_rows)
            return self.pseudonyms.column(batch.column(name))
        return batch.column(name)
