"""Releases that DuckDB writes itself: rows joined with a translation, in the order of releases."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa

from tclose.data.engines.duckdb.source import ROW, DuckSource, plain, quote_text
from tclose.data.io.counting import Relation
from tclose.data.io.order import write_hashes
from tclose.data.source import KEY, Change, Translation, quote_name

NAME = "__tclose_name_{}"
MOST_MEMBERS = 2_000
"""Different texts of a column, up to which they become members of an enumeration."""
KEPT = {
    pa.string(), pa.large_string(), pa.bool_(), pa.date32(), pa.timestamp("us"), pa.float32(),
    pa.float64(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(),
    pa.uint32(), pa.uint64(),
}  # fmt: skip
"""Types whose values come out of DuckDB's Parquet files as they went in."""


def can_write(source: DuckSource, translation: Translation) -> bool:
    """Whether DuckDB can write this release: its types, without keys, in a fixed order."""
    schema = source.stream().schema
    own = [
        schema.field(change.name).type
        for change in translation.changes
        if change.kind in ("same", "hidden")
    ]
    return (
        source.steady
        and source.connection is not None
        and not source.cleaned
        and all(change.kind != "pseudonym" for change in translation.changes)
        and all(kind in KEPT or pa.types.is_decimal128(kind) for kind in own)
    )


def write_parquet(source: DuckSource, translation: Translation, place: Path) -> None:
    """Writes the release to Parquet, out of core, in a total order: equal bytes always."""
    assert source.connection is not None
    source.connection.execute("SET preserve_insertion_order = true")
    with source.explain_errors():
        lines = translation.cell_table
        if isinstance(lines, pa.Table):
            lines = source.bring_table(lines)
        lines = enumerate_texts(lines, translation)
        rows = source.relation
        if not translation.is_shuffled:
            rows = rows.project(f"*, row_number() OVER () AS {ROW}")
        rows = join_lines(rows, source.types, lines, translation)
        if not translation.is_shuffled:
            rows = rows.order(ROW)
        changes = enumerate(translation.changes)
        released = rows.project(", ".join(change_column(*pair, translation) for pair in changes))
        if translation.is_shuffled:
            released = shuffle(released)
        # Columns that are seen to have no gaps would be written as such that can have none.
        source.connection.execute("SET disabled_optimizers = 'statistics_propagation'")
        try:
            with name_refusal():
                released.to_parquet(str(place), compression="snappy")
        finally:
            source.connection.execute("RESET disabled_optimizers")


def enumerate_texts(lines: Relation, translation: Translation) -> Relation:
    """The lines, with texts as members of an enumeration in the columns that have few different.

    Rows of small numbers are sorted and written faster than rows of texts. In a Parquet file they
    are texts again, in dictionaries of all members: each of them is in some released row.
    """
    found, columns = {change.at for change in translation.changes if change.kind == "text"}, []
    for name in map(str, lines.columns):
        quoted = quote_name(name)
        members: list[tuple[str]] = []
        if name in found:
            known = lines.project(quoted).filter(f"{quoted} IS NOT NULL").distinct()
            members = known.order(quoted).limit(MOST_MEMBERS + 1).fetchall()
        if 0 < len(members) <= MOST_MEMBERS:
            texts = ", ".join(quote_text(text) for (text,) in members)
            quoted = f"CAST({quoted} AS ENUM({texts})) AS {quoted}"
        columns.append(quoted)
    return lines.project(", ".join(columns))


@contextmanager
def name_refusal() -> Iterator[None]:
    """Raises DuckDB's error as the system's own, so that a full disk is not called damage."""
    try:
        yield
    except duckdb.IOException as error:
        message = str(error)
        if "Could not write" in message:
            for number in sorted(errno.errorcode):
                if f": {os.strerror(number)}" in message:
                    raise OSError(number, os.strerror(number)) from None
        raise


def shuffle(released: Relation) -> Relation:
    """Released rows in the order of their hashes.

    Of the second hash one half is enough, with which a row's key has fewer than 16 bytes: no two
    rows of 10⁸ that differ have the same by a chance of 10⁻¹³.
    """
    texts = []
    for name, kind in zip(released.columns, released.types, strict=True):
        text = f"CAST({quote_name(name)} AS VARCHAR)"
        if str(kind) == "TIMESTAMP WITH TIME ZONE":  # whatever the connection's zone is
            text = f"coalesce(CAST(epoch_us({quote_name(name)}) AS VARCHAR), {text})"
        texts.append(text)
    first, second = write_hashes(texts)
    return released.order(f"{first}, CAST({second} >> 32 AS UINTEGER)")


def join_lines(
    rows: Relation, types: dict[str, str], lines: Relation, translation: Translation
) -> Relation:
    """Rows joined with their lines of a translation."""
    kinds, match = dict(zip(lines.columns, lines.types, strict=True)), []
    for at, name in enumerate(translation.keys):
        key = f"CAST({plain(quote_name(name), types[name])} AS {kinds[KEY.format(at)]})"
        match.append(f"{key} IS NOT DISTINCT FROM {KEY.format(at)}")
    return join(rows, lines, " AND ".join(match))


def join(rows: Relation, table: Relation, match: str) -> Relation:
    """Rows of two relations side by side."""
    return rows.set_alias("__tclose_rows__").join(table.set_alias("__tclose_beside__"), match)


def change_column(at: int, change: Change, translation: Translation) -> str:
    """The SQL expression of a released column, over rows joined with their lines."""
    name, new = quote_name(change.name), quote_name(change.at)
    match change.kind:
        case "same":
            return name
        case "text":
            return f"{new} AS {name}"
        case "hidden":
            return f"CASE WHEN {new} THEN NULL ELSE {name} END AS {name}"
        case "mask":
            return f"{quote_text(translation.mask)} AS {name}"
    return f"{quote_name(NAME.format(at))} AS {name}"
