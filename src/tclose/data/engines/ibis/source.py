"""Ibis tables: counted and rewritten by the backend that they are in.

DuckDB and PostgreSQL are asked in their own words, which are exact. Of other backends Ibis asks;
what it might lose on the way (long integers, decimals) is sent as text.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.engines.duckdb.relation import RelationSource, collect_cell_table
from tclose.data.engines.duckdb.source import collect_within_limit
from tclose.data.engines.files.source import Spooling
from tclose.data.engines.postgres.connection import BorrowedLink
from tclose.data.engines.postgres.source import (
    PostgresSource,
    join_query,
    open_query,
    upload,
    uploads,
)
from tclose.data.io.counting import combine_sums, sum_hashes
from tclose.data.io.paths import Address, refuse_ambiguous
from tclose.data.source import BATCH, ROWS, Change, Rows, Source, Translation
from tclose.errors import DataError, TcloseError

if TYPE_CHECKING:
    from ibis.expr.datatypes import DataType
    from ibis.expr.types import Table


MINE, MISSING = "__tclose_mine_{}", "__tclose_missing_{}"
THEIRS, GONE, HIDDEN = "__tclose_theirs_{}", "__tclose_gone_{}", "__tclose_hidden_{}"
NAMED, OLD, NEW = "__tclose_named_{}", "__tclose_old_{}", "__tclose_name_{}"
PLAIN = ("string", "boolean", "integer", "floating", "decimal", "date", "time", "timestamp")
ARROW = ("polars", "datafusion")
"""Backends whose answers are Arrow from the start."""
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

    rewrites = True

    table: Table = field(repr=False, kw_only=True)

    def can_store(self, output: str | Path | Address) -> bool:
        """Whatever is written elsewhere is streamed."""
        return False

    def recode(self, translation: Translation) -> Any:
        """The release as an Ibis table of the same backend, evaluated when it is asked for."""
        with explain_errors(self.name):
            return release_table(self, self.table, translation)


@dataclass(frozen=True)
class IbisDuckSource(IbisSource, RelationSource):
    """A table of DuckDB, asked in its own words."""


@dataclass(frozen=True)
class IbisPostgresSource(IbisSource, PostgresSource):
    """A table of PostgreSQL, asked in its own words."""


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
        """The types and the rows of a table; what may be lost on the way is sent as text."""
        kinds = {name: _arrow(kind) for name, kind in table.schema().items()}
        schema = pa.schema(list(kinds.items()))
        sent = table
        if self._backend not in (*ARROW, "sqlite"):
            fragile = [name for name, kind in kinds.items() if _is_fragile(kind)]
            texts = {name: table[name].cast("string") for name in fragile}
            sent = table.select(**{name: texts.get(name, table[name]) for name in kinds})

        def parts() -> Parts:
            with explain_errors(self.name):
                if self._backend == "sqlite":
                    yield from _fetch(sent, schema)
                    return
                with sent.to_pyarrow_batches(chunk_size=BATCH) as batches:
                    for batch in batches:
                        columns = [
                            batch.column(at).cast(field.type) for at, field in enumerate(schema)
                        ]
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


def _arrow(kind: DataType) -> pa.DataType:
    if kind.is_decimal() and (kind.precision is None or kind.precision > MOST_DIGITS):
        return pa.string()
    return kind.to_pyarrow()


def _is_fragile(kind: pa.DataType) -> bool:
    """Whether values of a type may pass through floats on their way."""
    return bool(pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_string(kind))


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


def release_table(source: Source, table: Table, translation: Translation) -> Any:
    """The released rows; raises where the backend does not find all of them again."""
    translation = replace(translation, cell_table=collect_cell_table(translation))
    if isinstance(source, PostgresSource):
        made = _in_postgres(source, table, translation)
    else:
        made = _IbisRelease(source, table, translation).build()
    if int(made.count().to_pyarrow().as_py()) != translation.rows:
        raise DataError(
            "the backend does not find the rows again that it has counted",
            where=source.name,
            hint="has the table changed? Otherwise write it to a file and release that",
        )
    return made


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


def _in_postgres(source: PostgresSource, table: Table, translation: Translation) -> Any:
    """A view for this session, in PostgreSQL's own words."""
    suffix, tables = f"_{secrets.token_hex(8)}", uploads(source, translation)
    name, link = f"tclose_release{suffix}", source.link
    with link.explain_errors(), link.connection.transaction(), link.connection.cursor() as cursor:
        upload(cursor, tables, suffix)
        cursor.execute(f"CREATE TEMPORARY VIEW {name} AS {join_query(source, translation, suffix)}")
    return table.get_backend().table(name)


class _IbisRelease:
    """A release in the words of Ibis."""

    def __init__(self, source: Source, table: Table, translation: Translation) -> None:
        import ibis

        self.ibis, self.source, self.table, self.translation = ibis, source, table, translation

    def build(self) -> Any:
        """The released rows."""
        mine, theirs, equal = self._keys()
        names = [
            at for at, change in enumerate(self.translation.changes) if change.kind == "pseudonym"
        ]
        for at in names:
            mine[NAMED.format(at)] = plain_column(self.table, self.translation.changes[at].name)
        left, right = self.table.mutate(**mine), self.ibis.memtable(pa.table(theirs))
        made = left.join(right, [left[a] == right[b] for a, b in equal])
        for at in names:
            other = self._names(at)
            same = made[NAMED.format(at)] == other[OLD.format(at)]
            made = made.left_join(other, [same])
        if self.translation.shuffle:
            made = made.order_by(self._chance())
        wanted = {
            change.name: self._change_column(made, change, at)
            for at, change in enumerate(self.translation.changes)
        }
        return made.select(**wanted)

    def _chance(self) -> Any:
        """A number that nobody foretells, for every row another one."""
        if not self._knows("RandomScalar"):
            raise DataError(
                "this backend cannot shuffle rows",
                where=self.source.name,
                hint='write the release to a file, or say rows = "keep" in the policy',
            )
        return self.ibis.random()

    def _knows(self, operation: str) -> bool:
        kind = getattr(self.ibis.expr.operations, operation)
        return bool(self.table.get_backend().has_operation(kind))

    def _keys(self) -> tuple[dict[str, Any], dict[str, pa.Array], list[tuple[str, str]]]:
        """What both sides are compared by: missing values equal each other, and only those."""
        mine: dict[str, Any] = {}
        theirs: dict[str, pa.Array] = {}
        equal = []
        for at, name in enumerate(self.translation.keys):
            key = self.translation.cell_table.column(at).combine_chunks()
            values = self._number(name)
            here, there = MINE.format(at), THEIRS.format(at)
            equal.append((here, there))
            if key.null_count:
                zero = _zero(key.type)
                none, gone = MISSING.format(at), GONE.format(at)
                mine[none] = values.isnull().cast("int8")
                theirs[gone] = key.is_null().cast(pa.int8())
                equal.append((none, gone))
                values = values.fill_null(self.ibis.literal(zero, type=values.type()))
                key = pc.fill_null(key, pa.scalar(zero, key.type))
            mine[here], theirs[there] = values, key
        for change in self.translation.changes:
            if change.kind == "text":
                theirs[change.at] = self.translation.cell_table.column(change.at)
            elif change.kind == "hidden":
                theirs[change.at] = self.translation.cell_table.column(change.at).cast(pa.int8())
        return mine, theirs, equal

    def _number(self, name: str) -> Any:
        """A column to be compared: NaN is missing, and −0 is 0."""
        values = plain_column(self.table, name)
        if not values.type().is_floating():
            return values
        if self._knows("IsNan"):
            values = values.isnan().ifelse(self.ibis.null(values.type()), values)
        return values + self.ibis.literal(0.0, type=values.type())

    def _names(self, at: int) -> Any:
        """A column's values beside their pseudonyms."""
        name = self.translation.changes[at].name
        values = self.source.group([name]).column(name).combine_chunks().drop_null()
        made = self.translation.pseudonyms(values)
        return self.ibis.memtable(pa.table({OLD.format(at): values, NEW.format(at): made}))

    def _change_column(self, made: Table, change: Change, at: int) -> Any:
        if change.kind == "text":
            return made[change.at]
        if change.kind == "mask":
            return self.ibis.literal(self.translation.mask)
        if change.kind == "pseudonym":
            return made[NEW.format(at)]
        kept = made[change.name]
        if change.kind == "hidden":
            return (made[change.at] == 1).ifelse(self.ibis.null(kept.type()), kept)
        return kept


def _zero(kind: pa.DataType) -> Any:
    """Some value of a type, to stand where a missing one could not be compared."""
    if pa.types.is_decimal(kind):
        return Decimal(0)
    narrow = pa.types.is_date32(kind) or pa.types.is_time32(kind)
    return pa.scalar(0, pa.int32() if narrow else pa.int64()).cast(kind).as_py()
