"""Ibis tables: counted and rewritten by the backend that they are in.

DuckDB and PostgreSQL are asked in their own words, which are exact. Of other backends Ibis asks;
what it might lose on the way (long integers, decimals) is sent as text.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tclose.data.engines.duckdb.relation import open_relation
from tclose.data.engines.files.source import Spooling
from tclose.data.engines.postgres.connection import BorrowedLink
from tclose.data.engines.postgres.copy import collect_within_limit
from tclose.data.engines.postgres.source import open_query
from tclose.data.io.counting import combine_sums, sum_hashes
from tclose.data.io.reading import refuse_ambiguous
from tclose.data.source import BATCH, ROWS, CellStore, Rows, Source, Spread, Translation
from tclose.errors import DataError, TcloseError

if TYPE_CHECKING:
    from ibis.expr.datatypes import DataType
    from ibis.expr.types import Table


ARROW = ("polars", "datafusion")
"""Backends whose answers are Arrow from the start."""
PLAIN = ("string", "boolean", "integer", "floating", "decimal", "date", "time", "timestamp")
TEXTS = ("uuid", "inet", "macaddr")
"""Types of plain values that are told as text."""
MOST_DIGITS = 38
Parts = Generator[pa.RecordBatch, None, None]


def is_ibis(data: object) -> bool:
    """Whether this is a table of Ibis; Ibis itself is not needed to tell."""
    return any(
        kind.__name__ == "Table" and kind.__module__ == "ibis.expr.types.relations"
        for kind in type(data).__mro__
    )


@dataclass(frozen=True)
class IbisSource(Source):
    """An Ibis table: its backend counts it, and a release is an Ibis table of the same backend.

    The rows are those that the backend finds each time, in the order that it finds them.
    """

    table: Table = field(repr=False)
    backend: Source = field(repr=False)
    """The same table as its backend shows it."""

    @cached_property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.backend.n_rows

    def count_distinct(self, column: str) -> int:
        """How many different values a column has; a missing one is a value here."""
        return self.backend.count_distinct(column)

    def is_scalar(self, column: str) -> bool:
        """Whether the column holds plain values, not lists, structures or bytes."""
        return self.backend.is_scalar(column)

    def group_within_limit(self, columns: Sequence[str]) -> pa.Table | None:
        """The distinct tuples of some columns with their number of rows: one GROUP BY."""
        return replace(self.backend, max_cells=self.max_cells).group_within_limit(columns)

    def stream(self) -> Rows:
        """All rows."""
        return self.backend.stream()

    def digest(self) -> str:
        """What identifies the table: of its rows as text, whatever their order and the engine."""
        return self.backend.digest()

    def keep_cells(self, columns: Sequence[str]) -> CellStore:
        """The cells of some columns, kept by the engine to be worked on there."""
        return self.backend.keep_cells(columns)

    def join(self, translation: Translation) -> Iterator[pa.RecordBatch]:
        """The released rows, by a cell store's translation."""
        return self.backend.join(translation)

    def split_cells(self, columns: Sequence[str], by: Sequence[str], parts: int) -> Spread:
        """Works on the cells of some columns in parts, where the engine is."""
        return self.backend.split_cells(columns, by, parts)

    @property
    def rewrites(self) -> bool:
        """Whether the engine makes the release itself."""
        return True

    def recode(self, translation: Translation) -> Any:
        """The release as an Ibis table of the same backend, evaluated when it is asked for."""
        from tclose.data.engines.ibis.release import release_table

        with explain_errors(self.name):
            return release_table(self, translation)


@dataclass(frozen=True)
class BackendSource(Spooling):
    """A table of any backend, as far as Ibis knows it."""

    table: Table = field(repr=False)

    @cached_property
    def n_rows(self) -> int:
        """How many rows there are."""
        with explain_errors(self.name):
            return int(self.table.count().to_pyarrow().as_py())

    def is_scalar(self, column: str) -> bool:
        """Whether the column holds plain values, not lists, structures or bytes."""
        return _is(self.table[column].type(), *PLAIN, *TEXTS)

    def plain(self, column: str) -> Any:
        """A column's values as the backend can compare them."""
        values = self.table[column]
        kind = values.type()
        if self._backend == "sqlite":
            # Text is joined with nothing, so that no collation takes different words for one.
            loose = _is(kind, "boolean", "integer", "floating", "binary")
            return values if loose else values.cast("string").concat("")
        return values if _is(kind, *PLAIN) or kind.is_nested() else values.cast("string")

    def group_within_limit(self, columns: Sequence[str]) -> pa.Table | None:
        """The distinct tuples of some columns with their number of rows: one GROUP BY."""
        with explain_errors(self.name):
            keys = self.table.select(**{name: self.plain(name) for name in columns})
            counted = keys.group_by(list(columns)).aggregate(**{ROWS: keys.count()})
            schema, parts = self._read(counted)
            with closing(parts()) as batches:
                return collect_within_limit(batches, schema, self.max_cells)

    def stream(self) -> Rows:
        """All rows."""
        with explain_errors(self.name):
            schema, parts = self._read(
                self.table.select(**{name: self.plain(name) for name in self.columns})
            )
        return Rows(schema, parts)

    def digest(self) -> str:
        """What identifies the table: of its rows as text, whatever their order and the engine."""
        rows = self.stream()
        # Batch by batch, in this thread: SQLite answers no other.
        return combine_sums(
            rows.schema.names, (sum_hashes(rows.schema, [batch]) for batch in rows.batches())
        )

    @property
    def _backend(self) -> str:
        return str(self.table.get_backend().name)

    def _read(self, table: Table) -> tuple[pa.Schema, Callable[[], Parts]]:
        """The types and the rows of a table; what may be lost on the way is sent as text."""
        kinds = {name: _arrow(kind) for name, kind in table.schema().items()}
        schema = pa.schema(list(kinds.items()))
        sent = table
        if self._backend not in (*ARROW, "sqlite"):
            sent = table.select(
                **{
                    name: table[name].cast("string") if _fragile(kind) else table[name]
                    for name, kind in kinds.items()
                }
            )

        def parts() -> Parts:
            with explain_errors(self.name):
                batches = _fetch(sent, schema) if self._backend == "sqlite" else _send(sent)
                for batch in batches:
                    columns = [batch.column(at).cast(field.type) for at, field in enumerate(schema)]
                    yield pa.RecordBatch.from_arrays(columns, schema=schema)

        return schema, parts


def open_ibis(table: Table) -> IbisSource:
    """An Ibis table of any backend."""
    name = "Ibis table"
    with explain_errors(name):
        backend = table.get_backend()
        name = _name_table(table, str(backend.name))
        refuse_ambiguous(list(table.columns), name)
        # Tables in memory that it is made from are with the backend after that.
        table.limit(0).count().to_pyarrow()
        columns = tuple(table.columns)
        if backend.name == "duckdb":
            relation = backend.con.sql(str(backend.compile(table)))
            asked: Source = replace(open_relation(relation), name=name)
        elif backend.name == "postgres":
            asked = open_query(BorrowedLink(backend.con, name), str(backend.compile(table)), name)
        else:
            asked = BackendSource(name, columns, table)
    return IbisSource(name, columns, table, asked)


@contextmanager
def explain_errors(name: str) -> Iterator[None]:
    """Turns what a backend complains about into an error that shows no value and no password."""
    try:
        yield
    except (TcloseError, GeneratorExit):
        raise
    except Exception as error:
        raise DataError(
            f"the backend refuses ({type(error).__name__})",
            where=name,
            hint="does `table.head().execute()` work, and does each column hold one kind of value?",
        ) from None


def _name_table(table: Table, backend: str) -> str:
    try:
        return f"table {table.get_name()} in {backend}"
    except Exception:
        return f"Ibis table in {backend}"


def _is(kind: DataType, *words: str) -> bool:
    return any(bool(getattr(kind, f"is_{word}")()) for word in words)


def _arrow(kind: DataType) -> pa.DataType:
    if kind.is_decimal() and (kind.precision is None or kind.precision > MOST_DIGITS):
        return pa.string()
    return kind.to_pyarrow()


def _fragile(kind: pa.DataType) -> bool:
    """Whether values of a type may pass through floats on their way."""
    fragile = (pa.types.is_integer, pa.types.is_decimal, pa.types.is_string)
    return any(is_kind(kind) for is_kind in fragile)


def _send(table: Table) -> Iterator[pa.RecordBatch]:
    with table.to_pyarrow_batches(chunk_size=BATCH) as batches:
        yield from batches


def _fetch(table: Table, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rows of SQLite, which Ibis would read all at once."""
    backend = table.get_backend()
    cursor = backend.con.cursor()
    try:
        cursor.execute(str(backend.compile(table)))
        while rows := cursor.fetchmany(BATCH):
            columns = [
                pa.array(values, pa.int64()).cast(field.type)
                if pa.types.is_boolean(field.type)
                else pa.array(values, field.type)
                for values, field in zip(zip(*rows, strict=True), schema, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)
    finally:
        cursor.close()
