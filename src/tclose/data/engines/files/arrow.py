"""Arrow files, one or many, in the file or the stream format (also called Feather)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow.fs import LocalFileSystem

from tclose.data.engines.duckdb.source import DuckSource
from tclose.data.engines.files.dataset import open_dataset
from tclose.data.engines.files.folder_columns import Partitions, read_partitions
from tclose.data.engines.files.union import unite_schemas
from tclose.data.io.counting import hash_files
from tclose.data.io.files import ArrowWriter, Scratch
from tclose.data.io.paths import Files
from tclose.errors import DataError

if TYPE_CHECKING:
    import duckdb


FILE_FORMAT = b"ARROW1"


def open_arrow(files: Files, connection: duckdb.DuckDBPyConnection) -> DuckSource:
    """The table in one or several Arrow files, columns united by name."""
    scratch: list[Scratch] = []
    try:
        paths = [_as_file(path, scratch) for path in files.paths]
        schemas = [_schema(path) for path in paths]
    except pa.ArrowException:
        raise DataError(
            "not an Arrow file, or damaged", where=files.name, hint="write or fetch it again"
        ) from None
    own, notes = unite_schemas(schemas, files.paths)
    folders = read_partitions(files, typed=True).without(list(own.names))
    dataset = ds.FileSystemDataset.from_paths(
        [str(path) for path in paths],
        schema=pa.schema([*own, *folders.values.schema]),
        format=ds.IpcFileFormat(),
        filesystem=LocalFileSystem(use_mmap=True),
        partitions=[_folder_values(folders, at) for at in range(len(paths))],
    )

    return open_dataset(
        dataset, files.name, connection=connection, hashed=partial(hash_files, files),
        scratch=tuple(scratch), notes=tuple(notes), files=files.paths,
    )  # fmt: skip


def _folder_values(folders: Partitions, file: int) -> ds.Expression:
    """What the folders of a file say about all of its rows."""
    told = ds.scalar(True)
    for name in folders.names:
        value = folders.values.column(name)[file]
        told = told & (ds.field(name) == value if value.is_valid else ds.field(name).is_null())
    return told


def _as_file(path: Path, scratch: list[Scratch]) -> Path:
    """The file as it is, or a copy that can be read from anywhere where it is a stream."""
    with path.open("rb") as file:
        if file.read(len(FILE_FORMAT)) == FILE_FORMAT:
            return path
    scratch.append(Scratch())
    target = Path(scratch[-1].name) / "table.arrow"
    with (
        pa.ipc.open_stream(pa.memory_map(str(path))) as stream,
        ArrowWriter(target, stream.schema, "") as copy,
    ):
        for batch in stream:
            copy.write(batch)
    return target


def _schema(path: Path) -> pa.Schema:
    with pa.memory_map(str(path)) as file:
        return pa.ipc.open_file(file).schema
