"""The release of an Ibis table, as another one: its rows joined with what every cell becomes."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.engines.duckdb.relation import collect_cell_table
from tclose.data.engines.postgres.release import join_query, upload, uploads
from tclose.data.engines.postgres.source import PostgresSource
from tclose.data.source import Change, Translation
from tclose.errors import DataError

if TYPE_CHECKING:
    from ibis.expr.types import Table

    from tclose.data.engines.ibis.source import IbisSource

MINE, MISSING = "__tclose_mine_{}", "__tclose_missing_{}"
THEIRS, GONE, HIDDEN = "__tclose_theirs_{}", "__tclose_gone_{}", "__tclose_hidden_{}"
NAMED, OLD, NEW = "__tclose_named_{}", "__tclose_old_{}", "__tclose_name_{}"


def release_table(source: IbisSource, translation: Translation) -> Any:
    """The released rows; raises where the backend does not find all of them again."""
    translation = replace(translation, cell_table=collect_cell_table(translation))
    if isinstance(source.backend, PostgresSource):
        made = _in_postgres(source, source.backend, translation)
    else:
        made = _IbisRelease(source, translation).table()
    if int(made.count().to_pyarrow().as_py()) != translation.rows:
        raise DataError(
            "the backend does not find the rows again that it has counted",
            where=source.name,
            hint="has the table changed? Otherwise write it to a file and release that",
        )
    return made


def _in_postgres(source: IbisSource, asked: PostgresSource, translation: Translation) -> Any:
    """A view for this session, in PostgreSQL's own words."""
    suffix, tables = f"_{secrets.token_hex(8)}", uploads(asked, translation)
    name, link = f"tclose_release{suffix}", asked.link
    with link.explain_errors(), link.connection.transaction(), link.connection.cursor() as cursor:
        upload(cursor, tables, suffix)
        cursor.execute(f"CREATE TEMPORARY VIEW {name} AS {join_query(asked, translation, suffix)}")
    return source.table.get_backend().table(name)


class _IbisRelease:
    """A release in the words of Ibis."""

    def __init__(self, source: IbisSource, translation: Translation) -> None:
        import ibis

        from tclose.data.engines.ibis.source import BackendSource

        self.ibis, self.source, self.translation = ibis, source, translation
        self.backend = BackendSource(source.name, source.columns, source.table)

    def table(self) -> Any:
        """The released rows."""
        mine, theirs, equal = self._keys()
        names = [
            at for at, change in enumerate(self.translation.changes) if change.kind == "pseudonym"
        ]
        for at in names:
            mine[NAMED.format(at)] = self.backend.plain(self.translation.changes[at].name)
        left, right = self.source.table.mutate(**mine), self.ibis.memtable(pa.table(theirs))
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
        return bool(self.source.table.get_backend().has_operation(kind))

    def _keys(self) -> tuple[dict[str, Any], dict[str, pa.Array], list[tuple[str, str]]]:
        """What both sides are compared by: missing values equal each other, and only those."""
        mine: dict[str, Any] = {}
        theirs: dict[str, pa.Array] = {}
        equal = []
        for at, name in enumerate(self.translation.keys):
            key, values = (
                self.translation.cell_table.column(at).combine_chunks(),
                self._number(name),
            )
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
        values = self.backend.plain(name)
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
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return ""
    if pa.types.is_boolean(kind):
        return False
    if pa.types.is_date(kind):
        return date(2000, 1, 1)
    if pa.types.is_timestamp(kind):
        return datetime(2000, 1, 1, tzinfo=UTC if kind.tz else None)
    if pa.types.is_time(kind):
        return time(0)
    if pa.types.is_decimal(kind):
        return Decimal(0)
    return 0.0 if pa.types.is_floating(kind) else 0
