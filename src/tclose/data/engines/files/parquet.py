"""Parquet files, one or many: counted by DuckDB, handed out row by row as they are stored."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tclose.data.engines.duckdb.source import DuckSource, columns_of, explain_error
from tclose.data.engines.files.folder_columns import FILE, Partitions, read_partitions, scan_files
from tclose.data.engines.files.union import fit_batch, unite_schemas
from tclose.data.io.counting import hash_files
from tclose.data.io.paths import Files
from tclose.data.source import READ, Rows
from tclose.errors import DataError


def open_parquet(files: Files, connection: duckdb.DuckDBPyConnection) -> DuckSource:
    """The table in one or several Parquet files, columns united by name."""
    own, notes = unite_schemas([_schema(path) for path in files.paths], files.paths)
    folders = read_partitions(files, typed=True).without(list(own.names))
    schema = pa.schema([*own, *folders.values.schema])
    try:
        relation = _scan(files, own, folders, connection)
    except duckdb.Error as error:
        raise explain_error(error, files.name) from None

    def rows() -> Rows:
        return Rows(schema, lambda: _batches(files, schema, folders))

    return DuckSource(
        files.name, tuple(schema.names), relation, connection, rows, partial(hash_files, files),
        notes=tuple(notes), files=files.paths, steady=not folders,
    )  # fmt: skip


def _schema(path: Path) -> pa.Schema:
    try:
        return _file(path).schema_arrow
    except pa.ArrowException:
        raise DataError(
            "not a Parquet file, or damaged", where=path.name, hint="write or fetch it again"
        ) from None


def _file(path: Path) -> pq.ParquetFile:
    """Old moments of 96 bits are read to the microsecond: as nanoseconds they end in 2262."""
    return pq.ParquetFile(path, coerce_int96_timestamp_unit="us")


def _scan(
    files: Files, own: pa.Schema, folders: Partitions, connection: duckdb.DuckDBPyConnection
) -> Any:
    """What DuckDB counts; columns that it has no type for are there, and hold nothing."""
    paths = [os.path.abspath(path) for path in files.paths]
    several = "" if files.single else ", union_by_name = true"
    if folders:
        told = f", filename = '{FILE}'"
        scan = scan_files("read_parquet", paths, several + told)
        both = folders.join_folders(connection, scan, list(own.names), paths)
    else:
        both = connection.sql(f"SELECT * FROM {scan_files('read_parquet', paths, several)}")
    return both.project(columns_of(pa.schema([*own, *folders.values.schema])))


def _batches(files: Files, schema: pa.Schema, folders: Partitions) -> Iterator[pa.RecordBatch]:
    """The rows of one file after the other, as they are stored."""
    for at, path in enumerate(files.paths):
        with _file(path) as file:
            for batch in file.iter_batches(READ):
                yield fit_batch(batch, schema, folders.of_rows(at, batch.num_rows))
