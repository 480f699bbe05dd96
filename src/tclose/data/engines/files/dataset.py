"""Arrow datasets: scanned by DuckDB out of core, handed out in their own order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow.dataset as ds

from tclose.data.engines.duckdb.source import DuckSource, explain_error, scan_arrow
from tclose.data.io.counting import connect
from tclose.data.io.reading import refuse_ambiguous
from tclose.data.source import READ, Rows

if TYPE_CHECKING:
    from tclose.data.io.files import Scratch


def open_dataset(
    dataset: ds.Dataset,
    name: str = "dataset",
    *,
    connection: duckdb.DuckDBPyConnection | None = None,
    memory: str | None = None,
    hashed: Callable[[], str] | None = None,
    scratch: Scratch | tuple[Scratch, ...] | None = None,
    notes: tuple[str, ...] = (),
    files: tuple[Path, ...] | None = None,
) -> DuckSource:
    """A dataset of any kind, in files or in memory."""
    names = list(dataset.schema.names)
    refuse_ambiguous(names, name)
    own = connect(memory) if connection is None else connection
    try:
        relation = scan_arrow(own, dataset)
    except duckdb.Error as error:
        raise explain_error(error, name) from None
    read = tuple(map(Path, getattr(dataset, "files", ()))) if files is None else files
    return DuckSource(
        name, tuple(names), relation, own, lambda: _rows(dataset, scratch), hashed, scratch,
        notes=notes, files=read,
    )  # fmt: skip


def _rows(dataset: ds.Dataset, scratch: Any) -> Rows:
    """The rows, of which little is read ahead; their private folder lives as long as they."""

    def batches(_: Any = scratch) -> Any:
        scanner = dataset.scanner(batch_size=READ, batch_readahead=4, fragment_readahead=1)
        return scanner.to_batches()

    return Rows(dataset.schema, batches)
