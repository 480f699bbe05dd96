"""Files of every kind, one or many, as one table: which they are, `table.places` knows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tclose.data.engines.duckdb.connection import connected
from tclose.data.engines.duckdb.source import DuckSource
from tclose.data.engines.files.arrow import open_arrow
from tclose.data.engines.files.csv import open_text
from tclose.data.engines.files.excel import open_excel
from tclose.data.engines.files.parquet import open_parquet
from tclose.data.io.paths import files_at
from tclose.errors import DataError


def open_path(
    path: Path,
    delimiter: str | None,
    encoding: str | None,
    nulls: Sequence[str],
    memory: str | None,
    sheet: str | None = None,
) -> DuckSource:
    """The table in a file, in the files of a folder, or in those that a pattern matches.

    A delimiter, an encoding and words for missing values are for CSV files, a sheet is for Excel's.
    """
    try:
        files = files_at(path)
        connection = connected(memory)
        if files.kind == "parquet":
            return open_parquet(files, connection)
        if files.kind == "arrow":
            return open_arrow(files, connection)
        if files.kind == "excel":
            return open_excel(files, sheet, connection)
        return open_text(files, delimiter, encoding, nulls, connection)
    except OSError as error:
        raise DataError(
            f"cannot be read ({error.strerror or 'damaged'})",
            where=path.name,
            hint="check who may read it, and whether it is whole",
        ) from None
