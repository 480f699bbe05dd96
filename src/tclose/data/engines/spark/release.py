"""Folders of files that Spark writes: whole or not at all, and judged before they appear."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from tclose.data.engines.spark.frames import schema_of
from tclose.data.engines.spark.paths import SparkPath
from tclose.data.engines.spark.rows import map_batches, write_lines
from tclose.data.source import T
from tclose.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


FOLDERS = (".parquet", ".csv")


def store_frame(
    frame: DataFrame, target: SparkPath, judge: Callable[[SparkPath], T], delimiter: str = ","
) -> T:
    """Writes a frame as a folder of Parquet or CSV files, by the suffix of the target.

    It is written to a hidden folder beside it, which `judge` may refuse by raising, and then
    renamed. Whatever fails, nothing is left.
    """
    refuse_there(target)
    name = PurePosixPath(target.name)
    part = target.sibling(f".{name.stem}.{secrets.token_hex(4)}.part{name.suffix}")
    try:
        if name.suffix.lower() == ".csv":
            _write_csv(frame, part, delimiter)
        else:
            frame.write.parquet(part.text)
        found = judge(part)
        if not part.move(target):
            refuse_there(target)
            raise DataError("cannot be written", where=target.text, hint="who may write there?")
    except BaseException:
        part.remove()
        raise
    return found


def refuse_there(target: SparkPath) -> None:
    """Raises where there is something already."""
    if target.exists():
        raise DataError(
            "there is something already, and Spark replaces nothing",
            where=target.text,
            hint="name another folder, or remove this one",
        )


def _write_csv(frame: DataFrame, part: SparkPath, delimiter: str) -> None:
    """CSV files of the house's own writing, each with the header."""
    schema = schema_of(frame, "release")
    map_batches(frame, write_lines(schema, delimiter), "value string").write.text(part.text)
    for file in part.files():
        file.rename(file.name.removesuffix(".txt") + ".csv")
