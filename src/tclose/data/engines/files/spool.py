"""Tables of engines that cannot work on parts: put into a file first where their cells are many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tclose.data.cell_store import CellStore
from tclose.data.engines.duckdb.source import DuckSource
from tclose.data.engines.files.source import open_path
from tclose.data.io.files import Scratch
from tclose.data.source import Source, Spread
from tclose.data.translation import Translation


@dataclass(frozen=True)
class Spooling(Source):
    """A source whose rows go to a private file once they are to be worked on part by part."""

    def keep_cells(self, columns: Sequence[str]) -> CellStore:
        """The cells of some columns, kept in files."""
        return self._file.keep_cells(columns)

    def join(self, translation: Translation) -> Iterator[pa.RecordBatch]:
        """The released rows in the table's order, by a cell store's translation."""
        return self._file.join(translation)

    def split_cells(self, columns: Sequence[str], by: Sequence[str], parts: int) -> Spread:
        """Works on the cells of some columns in parts, one after the other."""
        return self._file.split_cells(columns, by, parts)

    @cached_property
    def _file(self) -> DuckSource:
        """The same table in a file, for as long as this one is kept."""
        scratch, rows = Scratch(), self.stream()
        path = Path(scratch.name) / "table.parquet"
        with pq.ParquetWriter(path, rows.schema) as writer:
            for batch in rows.batches():
                writer.write_batch(batch)
        opened = open_path(path)
        return replace(opened, name=self.name, scratch=scratch, max_cells=self.max_cells)
