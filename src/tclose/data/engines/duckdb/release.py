"""The released rows of a table that was worked on in parts: every row beside its line.

Long rows are not sorted. Where a table can be read twice in the same order, the lines are brought
into the order of the rows, put aside, and read along with the rows. The hash of its key goes with
every line, so that no row can ever come beside another one's.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tclose.data.engines.duckdb.partitioned import plain, store
from tclose.data.io.counting import connect, note_failure
from tclose.data.io.files import Scratch
from tclose.data.source import KEY, READ, Translation, quote_name, resize_batches
from tclose.errors import InternalError

PLACE, HASH = "__tclose_place__", "__tclose_hash__"
NUMBER = f"row_number() OVER () AS {PLACE}"


def join_rows(
    relation: duckdb.DuckDBPyRelation,
    translation: Translation,
    types: dict[str, str],
    *,
    steady: bool,
) -> Iterator[pa.RecordBatch]:
    """The released rows in their order. `steady`: the relation is read in the same one again."""
    return (
        _read_along(relation, translation, types)
        if steady
        else _join_whole(relation, translation, types)
    )


def _join_whole(
    relation: duckdb.DuckDBPyRelation, translation: Translation, types: dict[str, str]
) -> Iterator[pa.RecordBatch]:
    """Rows and lines joined as a whole."""
    keys = [plain(f"r.{quote_name(name)}", types[name]) for name in translation.keys]
    wanted = [change.name for change in translation.changes if change.kind not in ("text", "mask")]
    both = _match_lines(
        relation.project(f"*, {NUMBER}"),
        keys,
        translation,
        [f"r.{quote_name(name)}" for name in wanted],
    )
    for batch in resize_batches(both.to_arrow_reader(READ)):
        yield _change_batch(batch, batch, translation)


def _read_along(
    relation: duckdb.DuckDBPyRelation, translation: Translation, types: dict[str, str]
) -> Iterator[pa.RecordBatch]:
    """Only keys and lines joined, and these read along with the rows."""
    keys = [plain(quote_name(name), types[name]) for name in translation.keys]
    hashed = f"hash({', '.join(keys)}) AS {HASH}"
    told = [f"{key} AS {KEY.format(at)}" for at, key in enumerate(keys)]
    narrow = relation.project(", ".join([*told, hashed, NUMBER]))
    mine = [f"r.{KEY.format(at)}" for at in range(len(keys))]
    scratch = Scratch()
    place = Path(scratch.name) / "lines.parquet"
    store(_match_lines(narrow, mine, translation, [f"r.{HASH}"]), place)
    lines = _Lines(pq.ParquetFile(place).iter_batches(READ))
    done = 0
    for batch in resize_batches(relation.project(f"*, {hashed}").to_arrow_reader(READ)):
        found = lines.upto(done + batch.num_rows)
        at = found.column(PLACE).to_numpy() - 1 - done
        done += batch.num_rows
        kept = batch if len(at) == batch.num_rows else batch.take(pa.array(at))
        if not np.array_equal(kept.column(HASH).to_numpy(), found.column(HASH).to_numpy()):
            raise InternalError("the rows of the table came in another order than before")
        yield _change_batch(kept, found, translation)


def _match_lines(
    rows: duckdb.DuckDBPyRelation, keys: list[str], translation: Translation, more: list[str]
) -> Any:
    """Lines of the translation in the order of the rows that they are for."""
    alike = " AND ".join(
        f"{key} IS NOT DISTINCT FROM l.{KEY.format(at)}" for at, key in enumerate(keys)
    )
    texts = [f"l.{change.at}" for change in translation.changes if change.kind == "text"]
    wanted = ", ".join([f"r.{PLACE}", *more, *texts])
    both = rows.set_alias("r").join(translation.cell_table.set_alias("l"), alike)
    return both.project(wanted).order(PLACE)


class _Lines:
    """Lines in the order of their rows, taken as the rows come."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self.batches = iter(batches)
        self.waiting: pa.Table | None = None

    def upto(self, place: int) -> pa.Table:
        """The lines for the rows up to this one."""
        while self.waiting is None or not self.waiting.num_rows or self._last() < place:
            batch = next(self.batches, None)
            if batch is None:
                break
            more = pa.Table.from_batches([batch])
            self.waiting = more if self.waiting is None else pa.concat_tables([self.waiting, more])
        if self.waiting is None:
            raise InternalError("a table in parts has no lines")
        cut = int(np.searchsorted(self.waiting.column(PLACE).to_numpy(), place, side="right"))
        found, self.waiting = self.waiting.slice(0, cut), self.waiting.slice(cut)
        return found.combine_chunks()

    def _last(self) -> int:
        assert self.waiting is not None
        return int(self.waiting.column(PLACE)[-1].as_py())


def _change_batch(
    rows: pa.RecordBatch, lines: pa.RecordBatch, translation: Translation
) -> pa.RecordBatch:
    """The rows as they are released."""
    made = {}
    for change in translation.changes:
        if change.kind == "text":
            made[change.name] = _plain_array(lines.column(change.at))
        elif change.kind == "mask":
            made[change.name] = pa.array([translation.mask] * rows.num_rows, pa.string())
        elif change.kind == "pseudonym":
            made[change.name] = translation.pseudonyms(_plain_array(rows.column(change.name)))
        else:
            made[change.name] = _plain_array(rows.column(change.name))
    return pa.RecordBatch.from_arrays(list(made.values()), list(made))


def _plain_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def shuffle_rows(
    parts: Iterator[pa.RecordBatch], schema: pa.Schema, memory: str | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows in an order that nobody can foretell; out of core."""
    connection = connect(memory)
    seed = secrets.randbelow(2**31) / 2**31
    connection.execute(f"SELECT setseed({seed})").fetchall()
    failed: list[BaseException] = []
    reader = pa.RecordBatchReader.from_batches(schema, note_failure(parts, failed))
    try:
        for batch in connection.from_arrow(reader).order("random()").to_arrow_reader(READ):
            yield batch.cast(schema)
    except duckdb.Error:
        raise failed[0] if failed else InternalError("rows cannot be shuffled") from None
