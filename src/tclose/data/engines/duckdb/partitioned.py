"""Tables that DuckDB processes in parts: cells in files, and rows joined with their translation.

Long rows are not sorted: lines are brought into their order, put aside, and read along with them.
The hash of its key goes with every line, so that no row can ever come beside another one's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tclose.arrays import Ints
from tclose.data.engines.duckdb.source import DuckSource, explain_errors, plain
from tclose.data.io.counting import Relation
from tclose.data.io.scratch import Scratch
from tclose.data.source import (
    BATCH,
    FIRST,
    FRAGMENT,
    FRAGMENTS,
    KEY,
    ORDER,
    READ,
    ROWS,
    STRATUM,
    TIE,
    CellPositions,
    CellStore,
    FragmentWork,
    PartWork,
    Spread,
    Translation,
    quote_name,
    resize_batches,
)
from tclose.errors import InternalError

GROUP = 100_000
"""Rows that are stored together, and skipped together where a part needs none of them."""
PART = "__tclose_part__"
PLACE, HASH = "__tclose_place__", "__tclose_hash__"
NUMBER = f"row_number() OVER () AS {PLACE}"


class DuckCellStore(CellStore):
    """The cells of a relation, in Parquet files of a private folder."""

    def __init__(self, source: DuckSource, columns: Sequence[str]) -> None:
        self.connection, self.columns = source.own_connection, tuple(columns)
        self.scratch = Scratch()
        self.folder = self.scratch.path
        store(source.group_relation(columns), self.folder / "cells.parquet")

    @property
    def n_cells(self) -> int:
        return int(pq.read_metadata(self.folder / "cells.parquet").num_rows)

    def sketch(self, snap: Callable[[pa.Table], pa.Table], numbers: Sequence[str]) -> pa.Table:
        found: pa.Table | None = None
        for batch in self._cells():
            part = snap(batch)
            both = part if found is None else pa.concat_tables([found, part])
            names = [name for name in both.column_names if name not in numbers]
            sums = both.group_by(names).aggregate([(name, "sum") for name in numbers])
            found = sums.rename_columns([*names, *numbers])
        assert found is not None  # a table without rows was refused before
        return found

    def cut(self, locate: Callable[[pa.Table], CellPositions], columns: Sequence[str]) -> pa.Table:
        empty = pq.read_schema(self.folder / "cells.parquet").empty_table()
        places = locate(empty)
        schema = places.append_to(empty).schema
        with pq.ParquetWriter(self.folder / "located.parquet", schema) as writer:
            for table in self._cells():
                writer.write_table(locate(table).append_to(table))
        order = ", ".join([ORDER, *(TIE.format(at) for at in range(len(places.ties)))])
        turn = f"(row_number() OVER (PARTITION BY {STRATUM} ORDER BY {order}) - 1)"
        weight = quote_name(ROWS)
        names = ", ".join([*map(quote_name, self.columns), weight])
        fragment = f"CAST({FIRST} + {turn} % {FRAGMENTS} AS BIGINT) AS {FRAGMENT}"
        cut = self._read("located.parquet").project(f"{names}, {fragment}")
        store(cut.order(FRAGMENT), self.folder / "cut.parquet")
        (self.folder / "located.parquet").unlink()
        listed = ", ".join([FRAGMENT, *map(quote_name, columns)])
        rows = f"CAST(sum({weight}) AS BIGINT) AS {weight}"
        return self._read("cut.parquet").aggregate(f"{listed}, {rows}", listed).to_arrow_table()

    def look(self, united: Ints, work: PartWork) -> list[Any]:
        return [work(cells) for cells in self._read_fragments(united)]

    def _read_fragments(self, united: Ints) -> Iterator[pa.Table]:
        cut = self._read("cut.parquet")
        for number in range(int(united.max()) + 1):
            some = np.flatnonzero(united == number)
            inside = f"{FRAGMENT} BETWEEN {some[0]} AND {some[-1]}"
            yield cut.filter(inside).to_arrow_table()

    def work(self, united: Ints, work: FragmentWork, schema: pa.Schema) -> list[Any]:
        reports = []
        with pq.ParquetWriter(self.folder / "lines.parquet", schema) as lines:
            for fragment in self._read_fragments(united):
                cells, report = work(fragment)
                lines.write_table(cells.cast(schema))
                reports.append(report)
        (self.folder / "cut.parquet").unlink()
        return reports

    @property
    def translation(self) -> Any:
        return self._read("lines.parquet")

    def _cells(self) -> Iterator[pa.Table]:
        for batch in pq.ParquetFile(self.folder / "cells.parquet").iter_batches(BATCH):
            yield pa.Table.from_batches([batch])

    def _read(self, name: str) -> Relation:
        return self.connection.read_parquet(str(self.folder / name))


def split_cells(
    source: DuckSource, columns: Sequence[str], by: Sequence[str], parts: int
) -> Spread:
    """Splits cells into parts of one file; equal values in the columns `by` share a part."""
    scratch = Scratch()
    place = scratch.path / "cells.parquet"
    part = f"CAST(hash({', '.join(map(quote_name, by))}) % {parts} AS INTEGER) AS {PART}"
    store(source.group_relation(columns).project(f"*, {part}").order(PART), place)
    connection = source.own_connection

    def work_on_parts(work: PartWork, _: Scratch = scratch) -> list[Any]:
        stored = connection.read_parquet(str(place))
        tables = (stored.filter(f"{PART} = {at}").to_arrow_table() for at in range(parts))
        return [work(table.drop_columns([PART])) for table in tables if table.num_rows]

    return work_on_parts


def store(relation: Relation, place: Path) -> None:
    """Puts a relation into a file, out of core."""
    with explain_errors("cells"):
        relation.to_parquet(str(place), row_group_size=GROUP, compression="zstd")


def join_whole(source: DuckSource, translation: Translation) -> Iterator[pa.RecordBatch]:
    """Rows and lines joined as a whole."""
    keys = [plain(f"r.{quote_name(name)}", source.types[name]) for name in translation.keys]
    wanted = [change.name for change in translation.changes if change.kind not in ("text", "mask")]
    more = [f"r.{quote_name(name)}" for name in wanted]
    both = _match_lines(source.relation.project(f"*, {NUMBER}"), keys, translation, more)
    for batch in resize_batches(both.to_arrow_reader(READ)):
        yield from _change_rows(batch, batch, translation)


def read_along(source: DuckSource, translation: Translation) -> Iterator[pa.RecordBatch]:
    """Only keys and lines joined, and these read along with the rows."""
    import pyarrow.dataset as ds  # slow to import: it looks for pandas

    keys = [plain(quote_name(name), source.types[name]) for name in translation.keys]
    hashed = f"hash({', '.join(keys)}) AS {HASH}"
    named = [f"{key} AS {KEY.format(at)}" for at, key in enumerate(keys)]
    narrow = source.relation.project(", ".join([*named, hashed, NUMBER]))
    mine = [f"r.{KEY.format(at)}" for at in range(len(keys))]
    scratch = Scratch()
    place = scratch.path / "lines.parquet"
    store(_match_lines(narrow, mine, translation, [f"r.{HASH}"]), place)
    lines, number, done = ds.dataset(str(place)), ds.field(PLACE), 0
    for batch in resize_batches(source.relation.project(f"*, {hashed}").to_arrow_reader(READ)):
        some = (number > done) & (number <= done + batch.num_rows)
        found = lines.to_table(filter=some)
        at = found.column(PLACE).to_numpy() - 1 - done
        done += batch.num_rows
        kept = batch if len(at) == batch.num_rows else batch.take(pa.array(at))
        if not np.array_equal(kept.column(HASH).to_numpy(), found.column(HASH).to_numpy()):
            raise InternalError("the rows of the table came in another order than before")
        yield from _change_rows(kept, found, translation)


def _match_lines(rows: Relation, keys: list[str], translation: Translation, more: list[str]) -> Any:
    """Lines of the translation in the order of the rows that they are for."""
    alike = " AND ".join(
        f"{key} IS NOT DISTINCT FROM l.{KEY.format(at)}" for at, key in enumerate(keys)
    )
    texts = [f"l.{change.at}" for change in translation.changes if change.kind == "text"]
    wanted = ", ".join([f"r.{PLACE}", *more, *texts])
    both = rows.set_alias("r").join(translation.cell_table.set_alias("l"), alike)
    return both.project(wanted).order(PLACE)


def _change_rows(
    rows: pa.RecordBatch, lines: pa.RecordBatch | pa.Table, translation: Translation
) -> list[pa.RecordBatch]:
    made = {}
    for change in translation.changes:
        if change.kind == "text":
            made[change.name] = lines.column(change.at)
        elif change.kind == "mask":
            made[change.name] = pa.repeat(translation.mask, rows.num_rows)
        elif change.kind == "pseudonym":
            made[change.name] = translation.pseudonyms(change.name, rows.column(change.name))
        else:
            made[change.name] = rows.column(change.name)
    return list(pa.table(made).combine_chunks().to_batches())
