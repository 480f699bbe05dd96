"""The rows of a table, recoded batch by batch: only what must change is changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.binding import BoundTable
from tclose.data.encode.cells import RowIndex
from tclose.data.engines.frames.release import make_frame
from tclose.data.source import Rows, Translation
from tclose.errors import DataError
from tclose.recode.identifiers import Pseudonyms, masked
from tclose.recode.recoding import Recoding, Sensitive
from tclose.recode.translate import translation_of


@dataclass(frozen=True)
class Rewriter:
    """Turns the rows of a table into those of a release.

    Quasi-identifiers take their class's released value, identifiers go as the policy says, the
    column that names the person of each row becomes pseudonyms, and a sensitive value is hidden or
    generalized where the recoding says so; every other column and the row order stay as they are.
    """

    bound: BoundTable
    rows: Rows
    recoding: Recoding
    pseudonyms: Pseudonyms

    @property
    def label(self) -> NDArray[np.int64]:
        """The class of each cell (−1: left out)."""
        return self.recoding.label

    def columns(self) -> list[str]:
        """The names of the columns that the release has, in the table's order."""
        return released_columns(self.bound)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The released rows, in the table's order."""
        texts = {one.column: pa.array(one.values, pa.string()) for one in self.recoding.released}
        for batch, cell in self._located():
            kept = self.label[cell] >= 0
            if not kept.all():
                batch, cell = batch.filter(pa.array(kept)), cell[kept]
            arrays = [self._column(name, batch, cell, texts) for name in self.columns()]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.schema())

    def translation(self) -> Translation:
        """The same for an engine that rewrites its rows by itself."""
        return translation_of(self.bound, self.recoding, self.pseudonyms, self.columns())

    def to_frame(self, data: Any) -> Any:
        """The release in the caller's own kind of frame; an Arrow table where that is none."""
        table = pa.Table.from_batches(list(self.batches()), self.schema())
        shuffle = self.bound.policy.release.rows == "shuffle"
        hidden = [name for name in self.recoding.sensitive if name not in self.written()]
        return make_frame(data, table, self.kept_rows, self.written(), hidden, shuffle=shuffle)

    def kept_rows(self) -> NDArray[np.int64]:
        """The numbers of the table's rows that are released, in order."""
        cells = [cell for _, cell in self._located()]
        return np.flatnonzero(self.label[np.concatenate(cells)] >= 0)

    def written(self) -> list[str]:
        """The columns that are text in the release, whatever they were."""
        told = [name for name, one in self.recoding.sensitive.items() if one.texts is not None]
        return [*renamed_columns(self.bound), *told]

    def schema(self) -> pa.Schema:
        """The schema of the release: its own where a column changes, the table's elsewhere."""
        schema = released_schema(self.bound, self.rows, self.written())
        for name in self.recoding.sensitive:
            at = schema.get_field_index(name)
            schema = schema.set(at, schema.field(at).with_nullable(True))
        return schema

    def _located(self) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
        """The table's rows, each with its cell."""
        index = RowIndex(self.bound.cells, [*self.bound.classes.quasi, *self.bound.attributes])
        for batch in self.rows.batches():
            cell = index.locate(batch)
            if (cell < 0).any():
                raise DataError(
                    "the table gave other rows when it was read again",
                    where=self.bound.source.name,
                    hint="has it changed meanwhile?",
                )
            yield batch, cell

    def _column(
        self,
        name: str,
        batch: pa.RecordBatch,
        cell: NDArray[np.int64],
        texts: dict[str, pa.Array],
    ) -> pa.Array:
        if name in texts:
            return texts[name].take(pa.array(self.label[cell]))
        if name in self.recoding.sensitive:
            return _altered(self.recoding.sensitive[name], batch.column(name), cell)
        if name == self.bound.policy.subject:
            return self.pseudonyms.column(batch.column(name))
        if name in self.bound.policy.identifiers:
            if self.bound.policy.release.identifiers == "mask":
                return masked(batch.num_rows)
            return self.pseudonyms.column(batch.column(name))
        return batch.column(name)


def _altered(how: Sensitive, values: pa.Array, cell: NDArray[np.int64]) -> pa.Array:
    """A sensitive column's values, some of them hidden or generalized."""
    code = how.code[cell]
    if how.texts is not None:
        return pa.array(how.texts, pa.string()).take(pa.array(code, mask=code < 0))
    return values.take(pa.array(np.arange(len(code)), mask=code < 0))


def released_columns(bound: BoundTable) -> list[str]:
    """The names of the columns that a release of the table has, in the table's order."""
    policy = bound.policy
    gone = policy.identifiers if policy.release.identifiers == "drop" else ()
    return [name for name in bound.source.columns if name not in gone]


def renamed_columns(bound: BoundTable) -> list[str]:
    """The columns of the table that are text in every release of it: recoded, or other names."""
    named = (*bound.policy.identifiers, *bound.policy.with_role("subject"))
    return [*bound.classes.quasi, *named]


def released_schema(bound: BoundTable, rows: Rows, written: Sequence[str]) -> pa.Schema:
    """The columns of a release with their types: text where values are recoded."""
    fields = [
        pa.field(name, pa.string()) if name in written else rows.schema.field(name)
        for name in released_columns(bound)
    ]
    return pa.schema(fields)
