"""Ibis tables: counted and rewritten by the backend that they are in.

DuckDB and PostgreSQL are asked in their own words, which are exact. Of other backends Ibis asks;
what it might lose on the way (long integers, decimals) is sent as text.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.engines.duckdb.relation import RelationSource
from tclose.data.engines.duckdb.source import collect_within_limit
from tclose.data.engines.files.source import Spooling
from tclose.data.engines.postgres.connection import BorrowedLink
from tclose.data.engines.postgres.source import PostgresSource, open_query
from tclose.data.io.counting import combine_sums, sum_hashes
from tclose.data.io.paths import refuse_ambiguous
from tclose.data.source import BATCH, ROWS, Change, Cleaned, Output, Rows, Source, Translation
from tclose.errors import DataError, TcloseError

if TYPE_CHECKING:
    from ibis.expr.datatypes import DataType
    from ibis.expr.types import Table

MINE, MISSING = "__tclose_mine_{}", "__tclose_missing_{}"
THEIRS, GONE = "__tclose_theirs_{}", "__tclose_gone_{}"
NAMED, OLD, NEW = "__tclose_named_{}", "__tclose_old_{}", "__tclose_name_{}"
PLAIN = ("string", "boolean", "integer", "floating", "decimal", "date", "time", "timestamp")
ARROW = ("polars", "datafusion")
"""Backends whose answers are Arrow from the start."""
TEXTS = ("uuid", "inet", "macaddr")
"""Types of plain values that are read as text."""
MOST_DIGITS = 38
FRAGILE = (pa.types.is_integer, pa.types.is_decimal, pa.types.is_string)
"""Types whose values may pass through floats on their way."""
Parts = Generator[pa.RecordBatch, None, None]


def is_ibis(data: object) -> bool:
    """Whether this is an Ibis table, without importing Ibis."""
    return any(
        kind.__name__ == "Table" and kind.__module__ == "ibis.expr.types.relations"
        for kind in type(data).__mro__
    )


@dataclass(frozen=True)
class IbisSource(Source):
    """An Ibis table: its backend counts it, and releases are Ibis tables of that backend."""

    rewrites = True

    table: Table = field(repr=False, kw_only=True)

    def can_store(self, output: Output) -> bool:
        return False  # what is written elsewhere is streamed

    def replace_values(self, cleaned: Cleaned) -> Source:
        """The backend's table joined with the new values, opened anew."""
        import ibis

        table, columns = self.table, {}
        for at, (name, column) in enumerate(cleaned.items()):
            mine, old, new = NAMED.format(at), OLD.format(at), NEW.format(at)
            table = table.mutate(**{mine: self._comparable(name)})
            pairs = ibis.memtable(pa.table([column.raw, column.clean], [old, new]))
            table = table.left_join(pairs, [table[mine] == pairs[old]])
            columns[name] = new
        chosen = {name: table[columns.get(name, name)] for name in self.columns}
        return open_ibis(table.select(**chosen))

    def recode(self, translation: Translation) -> Any:
        """The release as an Ibis table of the same backend, evaluated when it is read."""
        with explain_errors(self.name):
            made = self._release(translation)
            if int(made.count().to_pyarrow().as_py()) != translation.rows:
                what = "the backend no longer finds the rows that it counted"
                hint = "has the table changed? Otherwise write it to a file and release that"
                raise DataError(what, where=self.name, hint=hint)
        return made

    def _release(self, translation: Translation) -> Any:
        import ibis

        changes = list(enumerate(translation.changes))
        mine, theirs, equal = self._keys(translation)
        names = [(at, change.name) for at, change in changes if change.kind == "pseudonym"]
        mine |= {NAMED.format(at): plain_column(self.table, name) for at, name in names}
        left, right = self.table.mutate(**mine), ibis.memtable(pa.table(theirs))
        made = left.join(right, [left[a] == right[b] for a, b in equal])
        for at, name in names:
            values = self.group([name]).column(name).combine_chunks().drop_null()
            made_up = translation.pseudonyms(name, values)
            other = ibis.memtable(pa.table({OLD.format(at): values, NEW.format(at): made_up}))
            made = made.left_join(other, [made[NAMED.format(at)] == other[OLD.format(at)]])
        mask = ibis.literal(translation.mask)
        released = made.select(
            **{change.name: _change_column(made, change, at, mask) for at, change in changes}
        )
        if not translation.is_shuffled:
            return released
        # Not every backend has a hash, all can sort: this, too, tells nothing but the values.
        columns = [released[name] for name in released.columns]
        nested = [each.cast("string") if each.type().is_nested() else each for each in columns]
        return released.order_by(nested)

    def _keys(
        self, translation: Translation
    ) -> tuple[dict[str, Any], dict[str, pa.Array], list[tuple[str, str]]]:
        """The columns to join by; missing values equal each other and nothing else."""
        mine: dict[str, Any] = {}
        theirs: dict[str, pa.Array] = {}
        equal = []
        for at, name in enumerate(translation.keys):
            key, values = translation.cells.column(at).combine_chunks(), self._comparable(name)
            here, there = MINE.format(at), THEIRS.format(at)
            equal.append((here, there))
            if key.null_count:
                zero = _zero(key.type)
                none, gone = MISSING.format(at), GONE.format(at)
                mine[none] = values.isnull().cast("int8")
                theirs[gone] = key.is_null().cast(pa.int8())
                equal.append((none, gone))
                values = values.fill_null(_literal(zero, values.type()))
                key = pc.fill_null(key, pa.scalar(zero, key.type))
            mine[here], theirs[there] = values, key
        for change in translation.changes:
            if change.kind in ("text", "hidden"):
                column = translation.cells.column(change.at)
                theirs[change.at] = column if change.kind == "text" else column.cast(pa.int8())
        return mine, theirs, equal

    def _comparable(self, name: str) -> Any:
        """A column to be compared: NaN is missing, and −0 is 0."""
        values = plain_column(self.table, name)
        if not values.type().is_floating():
            return values
        if self._knows("IsNan"):
            values = values.isnan().ifelse(_literal(None, values.type()), values)
        return values + _literal(0.0, values.type())

    def _knows(self, operation: str) -> bool:
        import ibis.expr.operations as operations

        return bool(self.table.get_backend().has_operation(getattr(operations, operation)))


@dataclass(frozen=True)
class IbisDuckSource(IbisSource, RelationSource):
    """An Ibis table of DuckDB, handled by our DuckDB engine."""


@dataclass(frozen=True)
class IbisPostgresSource(IbisSource, PostgresSource):
    """An Ibis table of PostgreSQL, handled by our PostgreSQL engine."""

    def _release(self, translation: Translation) -> Any:
        suffix, theirs = f"_{secrets.token_hex(8)}", self.link.connection
        name, tables = f"tclose_release{suffix}", self.pair_pseudonyms(translation)
        with self.link.explain_errors(), theirs.transaction(), theirs.cursor() as cursor:
            query = self.upload_join(cursor, translation, tables, suffix)
            cursor.execute(f"CREATE TEMPORARY VIEW {name} AS {query}")
        return self.table.get_backend().table(name)


@dataclass(frozen=True)
class IbisBackendSource(IbisSource, Spooling):
    """A table of any other backend, as far as Ibis knows it."""

    @cached_property
    def n_rows(self) -> int:
        with explain_errors(self.name):
            return int(self.table.count().to_pyarrow().as_py())

    def is_scalar(self, column: str) -> bool:
        return is_of_type(self.table[column].type(), *PLAIN, *TEXTS)

    def group_within_limit(self, columns: Sequence[str]) -> pa.Table | None:
        with explain_errors(self.name):
            keys = self._select(columns)
            counted = keys.group_by(list(columns)).aggregate(**{ROWS: keys.count()})
            schema, parts = self._read(counted)
            with closing(parts()) as batches:
                return collect_within_limit(batches, schema, self.max_cells)

    def stream(self) -> Rows:
        with explain_errors(self.name):
            schema, parts = self._read(self._select(self.columns))
        return Rows(schema, parts)

    def digest(self) -> str:
        rows = self.stream()
        # Batch by batch, in this thread: SQLite answers no other.
        return combine_sums(
            rows.schema.names, (sum_hashes(rows.schema, [batch]) for batch in rows.batches())
        )

    def _select(self, columns: Sequence[str]) -> Table:
        return self.table.select(**{name: plain_column(self.table, name) for name in columns})

    @property
    def _backend(self) -> str:
        return str(self.table.get_backend().name)

    def _read(self, table: Table) -> tuple[pa.Schema, Callable[[], Parts]]:
        """The types and rows of a table; values that the transfer could change are sent as text."""
        kinds = {name: _arrow(kind) for name, kind in table.schema().items()}
        schema = pa.schema(list(kinds.items()))
        sent = table
        if self._backend not in (*ARROW, "sqlite"):
            columns = {name: table[name] for name in kinds}
            for name, kind in kinds.items():
                if any(may_pass_floats(kind) for may_pass_floats in FRAGILE):
                    columns[name] = table[name].cast("string")
            sent = table.select(**columns)

        def parts() -> Parts:
            with explain_errors(self.name):
                if self._backend == "sqlite":
                    yield from _fetch(sent, schema)
                    return
                with sent.to_pyarrow_batches(chunk_size=BATCH) as batches:
                    yield from (batch.cast(schema) for batch in batches)

        return schema, parts


def open_ibis(table: Table) -> IbisSource:
    """An Ibis table of any backend."""
    name = "Ibis table"
    with explain_errors(name):
        backend = table.get_backend()
        name = f"Ibis table in {backend.name}"
        with suppress(Exception):  # not every table has a name
            name = f"table {table.get_name()} in {backend.name}"
        refuse_ambiguous(list(table.columns), name)
        # Tables in memory that it is made from are with the backend after that.
        table.limit(0).count().to_pyarrow()
        if backend.name == "duckdb":
            relation = backend.con.sql(str(backend.compile(table)))
            return IbisDuckSource(name, tuple(relation.columns), relation, table=table)
        if backend.name == "postgres":
            link, query = BorrowedLink(backend.con, name), str(backend.compile(table))
            columns = open_query(link, query, name).types
            return IbisPostgresSource(name, tuple(columns), link, query, columns, table=table)
        return IbisBackendSource(name, tuple(table.columns), table=table)


@contextmanager
def explain_errors(name: str) -> Iterator[None]:
    """Turns errors of a backend into errors that show no value and no password."""
    try:
        yield
    except (TcloseError, GeneratorExit):
        raise
    except Exception as error:
        what = f"the backend refuses ({type(error).__name__})"
        hint = "does `table.head().execute()` work, and does each column hold one kind of value?"
        raise DataError(what, where=name, hint=hint) from None


def _arrow(kind: DataType) -> pa.DataType:
    if kind.is_decimal() and (kind.precision is None or kind.precision > MOST_DIGITS):
        return pa.string()
    return kind.to_pyarrow()


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


def is_of_type(kind: DataType, *words: str) -> bool:
    """Whether a type of Ibis is one of these."""
    return any(bool(getattr(kind, f"is_{word}")()) for word in words)


def plain_column(table: Table, column: str) -> Any:
    """A column's values as its backend can compare them."""
    values = table[column]
    kind = values.type()
    if table.get_backend().name == "sqlite":
        # Text is joined with nothing, so that no collation takes different words for one.
        loose = is_of_type(kind, "boolean", "integer", "floating", "binary")
        return values if loose else values.cast("string").concat("")
    return values if is_of_type(kind, *PLAIN) or kind.is_nested() else values.cast("string")


def _change_column(made: Table, change: Change, at: int, mask: Any) -> Any:
    if change.kind == "text":
        return made[change.at]
    if change.kind == "mask":
        return mask
    if change.kind == "pseudonym":
        return made[NEW.format(at)]
    kept = made[change.name]
    if change.kind == "hidden":
        return (made[change.at] == 1).ifelse(_literal(None, kept.type()), kept)
    return kept


def _literal(value: object, kind: DataType) -> Any:
    import ibis

    return ibis.literal(value, type=kind)


def _zero(kind: pa.DataType) -> Any:
    """Some value of a type, to stand where a missing one could not be compared."""
    if pa.types.is_decimal(kind):
        return Decimal(0)
    narrow = pa.types.is_date32(kind) or pa.types.is_time32(kind)
    return pa.scalar(0, pa.int32() if narrow else pa.int64()).cast(kind).as_py()
