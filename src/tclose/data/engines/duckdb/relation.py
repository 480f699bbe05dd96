"""DuckDB relations: counted by their own connection, and released as relations of it."""

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

from tclose.data.engines.duckdb.release import NAME, change_column, join, join_lines, shuffle
from tclose.data.engines.duckdb.source import ROW, DuckSource, quote_text
from tclose.data.io.counting import Relation, fingerprint
from tclose.data.io.paths import KINDS, refuse_ambiguous, suffix_of
from tclose.data.source import BATCH, Change, Translation, quote_name
from tclose.errors import DataError

VALUE = "__tclose_value_{}"
VIEW, TABLE = "__tclose_nothing__", "SELECT * FROM __tclose_table__"
QUOTED = re.compile(r"""'((?:[^']|'')+)'|"((?:[^"]|"")+)\"""")
"""A text, and a name: older engines write a file that is read by its name alone as a name."""
CATEGORIES = re.compile(r"ENUM\('(?:[^']|'')*'(?:, ?'(?:[^']|'')*')*\)")
UNTOLD = ("UHUGEINT", "BIT", "BIGNUM", "VARINT", "TIME WITH TIME ZONE", "VARIANT", "UNION")
"""Types whose values change, or cannot be told, on the way to a file."""


@dataclass(frozen=True)
class RelationSource(DuckSource):
    """A relation of the caller's own connection."""

    rewrites = True

    def is_scalar(self, column: str) -> bool:
        return not self.types[column].startswith(UNTOLD) and super().is_scalar(column)

    def digest(self) -> str:
        casts = [
            f"CAST({quote_name(name)} AS VARCHAR)" if kind.startswith(UNTOLD) else quote_name(name)
            for name, kind in self.types.items()
        ]
        rows = self.relation.project(", ".join(casts))
        with self.explain_errors():
            kinds = rows.limit(0).to_arrow_table().schema.types
            named = pa.schema(zip(self.columns, kinds, strict=True))
            return fingerprint(named, rows.to_arrow_reader(BATCH))

    def recode(self, translation: Translation) -> Any:
        """The release as a relation, computed when it is read.

        The relation holds on to the translation, an Arrow table; the database gets no table.
        """
        with self.explain_errors():
            try:
                return self._join_cells(translation)
            except duckdb.CatalogException:
                what = "the connection does not find tables of Python"
                hint = "SET python_enable_replacements = true"
                raise DataError(what, where=self.name, hint=hint) from None

    def bring_table(self, table: pa.Table) -> Relation:
        return self._query(TABLE, table)

    def join(self, translation: Translation) -> Iterator[pa.RecordBatch]:
        with self.explain_errors():
            yield from self.recode(replace(translation, is_shuffled=False)).to_arrow_reader(BATCH)

    def _batches(self) -> Any:
        for name, kind in self.types.items():
            if kind.startswith(UNTOLD):
                what = f"values of type {kind} cannot be read outside the database"
                hint = "cast it to VARCHAR first"
                raise DataError(what, where=f"column {name!r}", hint=hint)
        return super()._batches()

    def _join_cells(self, translation: Translation) -> Relation:
        rows, names = self.relation, ", ".join(map(quote_name, self.columns))
        order = ""
        # Rows have an order where the connection keeps one, which is its default.
        kept = "SELECT current_setting('preserve_insertion_order')"
        if not translation.is_shuffled and self._query(kept).fetchall()[0][0]:
            order = quote_name(ROW)
            rows = rows.project(f"row_number() OVER () AS {order}, {names}")
        cells = self._query(TABLE, translation.cells)
        rows = join_lines(rows, self.types, cells, translation)
        for at, change in enumerate(translation.changes):
            if change.kind == "pseudonym":
                rows = self._add_pseudonyms(rows, change.name, at, translation)
        rows = rows.order(order) if order else rows
        changes = enumerate(translation.changes)
        rows = rows.project(", ".join(change_column(*pair, translation) for pair in changes))
        if translation.is_shuffled:
            rows = shuffle(rows)
        return rows.project(", ".join(map(self._narrow_column, translation.changes)))

    def _narrow_column(self, change: Change) -> str:
        """A column; an enum keeps only the categories that occur.

        Categories within lists and structures become texts.
        """
        name, kind = quote_name(change.name), self.types[change.name]
        if change.kind not in ("same", "hidden") or not CATEGORIES.search(kind):
            return name
        if not CATEGORIES.fullmatch(kind):
            return f"CAST({name} AS {CATEGORIES.sub('VARCHAR', kind)}) AS {name}"
        found = self.relation.project(name).filter(f"{name} IS NOT NULL").distinct().order(name)
        used = ", ".join(quote_text(value) for (value,) in found.fetchall())
        kind = f"ENUM({used})" if used else "VARCHAR"
        return f"CAST(CAST({name} AS VARCHAR) AS {kind}) AS {name}"

    def _add_pseudonyms(self, rows: Relation, name: str, at: int, translation: Translation) -> Any:
        value = quote_name(VALUE.format(at))
        different = self.relation.project(f"{quote_name(name)} AS {value}").distinct()
        values = different.to_arrow_table().column(0).combine_chunks()
        both = {VALUE.format(at): values, NAME.format(at): translation.pseudonyms(name, values)}
        match = f"{quote_name(name)} IS NOT DISTINCT FROM {value}"
        return join(rows, self._query(TABLE, pa.table(both)), match)

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
    """The files that the relation's query reads, as far as they can be recognized in its text."""
    for text, name in QUOTED.findall(relation.sql_query()):
        path = text.replace("''", "'") or name.replace('""', '"')
        if os.path.isfile(path) or (has_magic(path) and suffix_of(path) in KINDS):
            yield Path(path)


def open_relation(data: Relation) -> RelationSource:
    """A relation of the caller's own connection."""
    refuse_ambiguous(list(data.columns), "relation")
    return RelationSource("relation", tuple(data.columns), data, files=tuple(_files(data)))
