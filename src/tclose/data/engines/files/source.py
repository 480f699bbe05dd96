"""Files of every kind, one or many, as one table."""

from __future__ import annotations

from pathlib import Path

from tclose.data.engines.duckdb.source import DuckSource
from tclose.data.engines.files.arrow import open_arrow
from tclose.data.engines.files.csv import open_text
from tclose.data.engines.files.excel import open_excel
from tclose.data.engines.files.parquet import open_parquet
from tclose.data.io.counting import connect
from tclose.data.io.paths import find_files
from tclose.data.io.reading import AS_FOUND, Reading
from tclose.errors import DataError


def open_path(path: str | Path, reading: Reading = AS_FOUND) -> DuckSource:
    """The table in a file, in the files of a folder, or in those that a pattern matches.

    A delimiter, an encoding and words for missing values are for CSV files, a sheet is for Excel's.
    """
    try:
        files = find_files(Path(path))
        connection = connect(reading.memory)
        if files.kind == "parquet":
            return open_parquet(files, connection)
        if files.kind == "arrow":
            return open_arrow(files, connection)
        if files.kind == "excel":
            return open_excel(files, reading.sheet, connection)
        return open_text(files, reading, connection)
    except OSError as error:
        raise DataError(
            f"cannot be read ({error.strerror or 'damaged'})",
            where=Path(path).name,
            hint="check who may read it, and whether it is whole",
        ) from None
