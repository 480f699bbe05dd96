"""DuckDB relations: counted where they are, and released as relations of the same connection."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from glob import has_magic
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tclose.data.engines.duckdb.source import DuckSource, explain_error, plain, quote_text
from tclose.data.io.counting import Relation, fingerprint
from tclose.data.io.paths import KINDS, refuse_ambiguous, suffix_of
from tclose.data.source import BATCH, KEY, Change, Rows, Translation, quote_name
from tclose.errors import DataError

ROW, NAME, VALUE = "__tclose_row__", "__tclose_name_{}", "__tclose_value_{}"
VIEW = "__tclose_nothing__"
LITERAL = re.compile(r"'((?:[^']|'')+)'")
UNTOLD = ("UHUGEINT", "BIT", "BIGNUM", "VARINT", "TIME WITH TIME ZONE", "VARIANT", "UNION")
"""Types whose values change, or cannot be told, on the way to a file."""


@dataclass(frozen=True)
class RelationSource(DuckSource):
    """A relation of the caller's own connection."""

    rewrites = True

    def is_scalar(self, column: str) -> bool:
        return not self.types[column].startswith(UNTOLD) and super().is_scalar(column)

    def stream(self) -> Rows:
        """All rows, in the order that the relation has."""
        nothing = self._run(lambda: self.relation.limit(0).to_arrow_table())
        return Rows(nothing.schema, self._batches)

    def digest(self) -> str:
        casts = [
            f"CAST({quote_name(name)} AS VARCHAR)" if kind.startswith(UNTOLD) else quote_name(name)
            for name, kind in self.types.items()
        ]
        rows = self.relation.project(", ".join(casts))
        schema = self._run(lambda: rows.limit(0).to_arrow_table()).schema
        named = pa.schema(zip(self.columns, schema.types, strict=True))
        return str(self._run(lambda: fingerprint(named, rows.to_arrow_reader(BATCH))))

    def recode(self, translation: Translation) -> Any:
        """The release as a relation: nothing is computed before it is asked for.

        The translation comes onto the caller's connection as an Arrow table that the relation
        holds on to; nothing is created in the database. Rows keep their order, unless they are to
        be shuffled or the connection does not preserve one.
        """
        return self.release_relation(translation)

    def release_relation(self, translation: Translation) -> Relation:
        """The release as a relation of the caller's connection."""
        try:
            return self._join_cells(translation)
        except duckdb.CatalogException:
            raise DataError(
                "the connection does not find tables of Python",
                where=self.name,
                hint="SET python_enable_replacements = true",
            ) from None
        except duckdb.Error as error:
            raise explain_error(error, self.name) from None

    def join(self, translation: Translation) -> Iterator[pa.RecordBatch]:
        rows = self.release_relation(replace(translation, shuffle=False))
        yield from self._run(lambda: rows.to_arrow_reader(BATCH))

    def _batches(self) -> Any:
        for name, kind in self.types.items():
            if kind.startswith(UNTOLD):
                raise DataError(
                    f"values of type {kind} cannot be told outside the database",
                    where=f"column {name!r}",
                    hint="cast it to VARCHAR first",
                )
        return self._run(lambda: self.relation.to_arrow_reader(BATCH))

    def _join_cells(self, translation: Translation) -> Relation:
        rows, names = self.relation, ", ".join(map(quote_name, self.columns))
        ordered = not translation.shuffle and self._has_order()
        if ordered:
            rows = rows.project(f"row_number() OVER () AS {quote_name(ROW)}, {names}")
        cells = self._scan_table(collect_cell_table(translation))
        kinds = dict(zip(cells.columns, cells.types, strict=True))
        match = []
        for at, name in enumerate(translation.keys):
            key = f"CAST({plain(quote_name(name), self.types[name])} AS {kinds[KEY.format(at)]})"
            match.append(f"{key} IS NOT DISTINCT FROM {KEY.format(at)}")
        rows = _join(rows, cells, " AND ".join(match))
        for at, change in enumerate(translation.changes):
            if change.kind == "pseudonym":
                rows = self._add_pseudonyms(rows, change.name, at, translation)
        if ordered or translation.shuffle:
            rows = rows.order(quote_name(ROW) if ordered else "random()")
        changes = enumerate(translation.changes)
        rows = rows.project(", ".join(_change_column(*pair, translation) for pair in changes))
        return rows.project(
            ", ".join(self._narrow_column(change) for change in translation.changes)
        )

    def _narrow_column(self, change: Change) -> str:
        """A column; of categories, which the type tells, with those that occur only."""
        name = quote_name(change.name)
        if change.kind not in ("same", "hidden") or not self.types[change.name].startswith("ENUM"):
            return name
        found = self.relation.project(name).filter(f"{name} IS NOT NULL").distinct().order(name)
        used = ", ".join(quote_text(value) for (value,) in self._run(found.fetchall))
        kind = f"ENUM({used})" if used else "VARCHAR"
        return f"CAST(CAST({name} AS VARCHAR) AS {kind}) AS {name}"

    def _add_pseudonyms(self, rows: Relation, name: str, at: int, translation: Translation) -> Any:
        """The rows with a pseudonym for each value of a column, from a table of all of them."""
        value = quote_name(VALUE.format(at))
        parts = []
        different = self.relation.project(f"{quote_name(name)} AS {value}").distinct()
        for batch in different.to_arrow_reader(BATCH):
            columns = [batch.column(0), translation.pseudonyms(batch.column(0))]
            parts.append(pa.record_batch(columns, [VALUE.format(at), NAME.format(at)]))
        names = self._scan_table(pa.Table.from_batches(parts))
        return _join(rows, names, f"{quote_name(name)} IS NOT DISTINCT FROM {value}")

    def _has_order(self) -> bool:
        """Whether the connection keeps the order of rows, which is its default."""
        setting = self._query("SELECT current_setting('preserve_insertion_order')")
        return bool(setting.fetchall()[0][0])

    def _scan_table(self, table: pa.Table) -> Relation:
        """An Arrow table as a relation of the caller's connection."""
        return self._query("SELECT * FROM __tclose_table__", table)

    def _query(self, sql: str, __tclose_table__: pa.Table | None = None) -> Relation:
        """A query on the caller's connection, which finds the table by the argument's name.

        Older engines leave the view behind that stands for the relation; it is not used here.
        """
        nothing = self.relation.limit(0)
        found = nothing.query(VIEW, sql)
        nothing.query(VIEW, f"DROP VIEW IF EXISTS {VIEW}")
        assert found is not None  # a query has rows
        return found


def _files(relation: Relation) -> Iterator[Path]:
    """The files that the relation's query names, as far as they can be told from other texts."""
    for text in LITERAL.findall(relation.sql_query()):
        path = text.replace("''", "'")
        if os.path.isfile(path) or (has_magic(path) and suffix_of(path) in KINDS):
            yield Path(path)


def collect_cell_table(translation: Translation) -> pa.Table:
    """The lines of a translation, also where a cell store has made them on its own connection."""
    table = translation.cell_table
    return table if isinstance(table, pa.Table) else table.to_arrow_table()


def _join(rows: Relation, table: Relation, match: str) -> Relation:
    return rows.set_alias("__tclose_rows__").join(table.set_alias("__tclose_beside__"), match)


def _change_column(at: int, change: Change, translation: Translation) -> str:
    """What becomes of a column."""
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


def open_relation(data: Relation) -> RelationSource:
    """A relation of the caller's own connection."""
    refuse_ambiguous(list(data.columns), "relation")
    return RelationSource("relation", tuple(data.columns), data, files=tuple(_files(data)))
