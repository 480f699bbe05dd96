"""Opens tables of any kind, and writes new ones, which are read back as their originals were."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from tclose.data.engines.duckdb.relation import open_relation
from tclose.data.engines.files.csv import open_text
from tclose.data.engines.files.excel import open_excel
from tclose.data.engines.files.source import open_arrow, open_dataset, open_parquet
from tclose.data.formulas import is_text_file
from tclose.data.io.counting import connect, connect_for
from tclose.data.io.files import delimiter_for, write_atomically, write_checked_table
from tclose.data.io.paths import AS_FOUND, Address, Reading, find_files
from tclose.data.io.scratch import FULL
from tclose.data.source import Source, Translation
from tclose.errors import DataError, UsageError

OURS = "__tclose_"
T = TypeVar("T")


def open_source(
    data: Any, reading: Reading = AS_FOUND, columns: Collection[str] | None = None
) -> Source:
    """Opens a path, any frame, a DuckDB relation, an Ibis table, or a table in PostgreSQL.

    `columns` are those that a policy names: of a frame's index, only they are columns of the table.

    >>> import pyarrow as pa
    >>> source = open_source(pa.table({"zip": ["1", "1", None]}))
    >>> source.n_rows, source.group(["zip"]).num_rows
    (3, 2)
    """
    if isinstance(data, Source):
        return data
    source, most = _open(data, reading, columns), reading.cell_limit
    ours = [name for name in source.columns if name.lower().startswith(OURS)]
    if ours:
        what = f"the name of a column begins with {OURS}, as those that counting adds"
        raise DataError(what, where=f"column {ours[0]!r}", hint="rename it")
    return source if most is None else replace(source, max_cells=most)


def _open(data: Any, reading: Reading, columns: Collection[str] | None) -> Source:
    if (address := Address.of(data)) is not None:
        from tclose.data.engines.postgres.source import open_address

        return open_address(address, None if address.table else reading.query)
    by_spark = reading.chosen_engine == "spark"
    if isinstance(data, str | Path):
        return _open_by_spark(data, reading) if by_spark else _open_path(data, reading)
    if isinstance(data, duckdb.DuckDBPyRelation):
        return open_relation(data)
    if type(data).__module__.startswith("ibis."):
        from tclose.data.engines.ibis.source import is_ibis, open_ibis

        if is_ibis(data):
            return open_ibis(data)
    if type(data).__module__.startswith("polars.lazyframe"):
        from tclose.data.engines.frames.lazy import open_lazy

        return open_lazy(data)
    if type(data).__module__ == "pyarrow._dataset":
        return open_dataset(data, connect(reading.memory))
    if type(data).__module__.startswith("pyspark."):
        from tclose.data.engines.spark.source import open_spark

        return open_spark(data)
    from tclose.data.engines.frames.source import open_frame

    return open_frame(data, columns)


def _open_path(path: str | Path, reading: Reading) -> Source:
    """The table in a file, in the files of a folder, or in files that match a pattern."""
    try:
        files = find_files(Path(path))
        connection = connect_for(files, reading.memory)
        if files.kind == "parquet":
            return open_parquet(files, connection)
        if files.kind == "arrow":
            return open_arrow(files, connection)
        if files.kind == "excel":
            return open_excel(files, reading.sheet, connection)
        if files.kind == "statistics":
            from tclose.data.engines.files.statistics import open_statistics

            return open_statistics(files, reading.encoding, connection)
        return open_text(files, reading, connection)
    except OSError as error:
        if error.errno in FULL:
            what = f"no room for a copy of it in the temporary folder ({error.strerror})"
            hint = "make room there, or name a larger folder in TMPDIR"
            raise DataError(what, where=Path(path).name, hint=hint) from None
        what = f"cannot be read ({error.strerror or 'damaged'})"
        hint = "check who may read it, and whether it is whole"
        raise DataError(what, where=Path(path).name, hint=hint) from None


def _open_by_spark(path: str | Path, reading: Reading) -> Source:
    """Files that Spark reads."""
    try:
        from tclose.data.engines.spark.files import open_spark_path
    except ModuleNotFoundError as error:
        what = f"Spark is not installed ({error.name} is missing)"
        raise UsageError(what, where="engine", hint="pip install 'tclose[spark]'") from None
    return open_spark_path(path, reading)


def write_rows(
    output: Path | Address,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    check: Callable[[Source], T],
    delimiter: str = ",",
    reading: Reading = AS_FOUND,
) -> T:
    """Writes a new table or file, as a whole or not at all, and returns the result of `check`.

    It is read back as the table that it was made from was read; where `check` raises, nothing is
    left.
    """
    if isinstance(output, Address):
        from tclose.data.engines.postgres.source import fill_new_table

        return fill_new_table(output, schema, batches, check)
    mark = delimiter_for(output, delimiter)
    return write_checked_table(
        output, schema, batches, lambda part: check(_reopen(part, reading, mark)), delimiter=mark
    )


def describe_encoding(source: Source, output: object) -> tuple[str, ...]:
    """The note that a CSV file is written in another encoding than the table was read in, if so."""
    if not source.encoding or not is_text_file(output):
        return ()
    return (f"the table was read as {source.encoding}; the release is written as UTF-8",)


def write_by_engine(
    source: Source,
    translation: Translation,
    output: Path,
    check: Callable[[Source], T],
    reading: Reading = AS_FOUND,
) -> T:
    """Like `write_rows`, for a Parquet file that the table's engine writes itself (`can_write`)."""

    def write(part: Path) -> T:
        source.write(translation, part)
        return check(_reopen(part, reading))

    return write_atomically(output, write)


def _reopen(part: Path, reading: Reading, delimiter: str = ",") -> Source:
    """Opens the written file with the reading options of its original."""
    opened = Reading(delimiter=delimiter, memory=reading.memory, max_cells=reading.max_cells)
    return open_source(part, opened)
