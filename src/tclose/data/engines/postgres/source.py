"""Tables and queries in PostgreSQL: counted there, read by COPY, all from one snapshot."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tclose.data.engines.files.source import Spooling
from tclose.data.engines.postgres.connection import IN_ORDER, PostgresLink
from tclose.data.engines.postgres.copy import collect_within_limit, copy_out
from tclose.data.engines.postgres.types import PostgresColumn, describe_columns, describe_query
from tclose.data.io.paths import Address
from tclose.data.io.reading import refuse_ambiguous
from tclose.data.source import ROWS, Rows, Source, T, quote_name
from tclose.errors import DataError, UsageError, nearest

if TYPE_CHECKING:
    from tclose.data.source import Translation

ASKS = re.compile(
    r"\s*(--[^\n]*\n\s*|/\*.*?\*/\s*)*\(*\s*(select|with|values|table)\b", re.I | re.S
)
TABLES = (
    "SELECT DISTINCT unnest(array[table_name, table_schema || '.' || table_name])::text "
    "FROM information_schema.tables "
    "WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
)


@dataclass(frozen=True)
class PostgresSource(Spooling):
    """What a query finds in PostgreSQL, always from the same snapshot.

    Its rows come in the order that the query asks for; those of a table as they are stored, the
    same each time as long as nobody changes them.
    """

    link: PostgresLink = field(repr=False)
    query: str = field(repr=False)
    types: dict[str, PostgresColumn] = field(repr=False)

    @cached_property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self._number("count(*)")

    def count_distinct(self, column: str) -> int:
        """How many different values a column has; a missing one is a value here."""
        told = self.types[column].expression
        return self._number(f"count(DISTINCT {told}) + (count(*) > count({told}))::int")

    def is_scalar(self, column: str) -> bool:
        """Whether the column holds plain values, not lists, structures or bytes."""
        return self.types[column].is_scalar

    def group_within_limit(self, columns: Sequence[str]) -> pa.Table | None:
        """The distinct tuples of some columns with their number of rows: one GROUP BY."""
        told = [self.types[name] for name in columns]
        places = ", ".join(str(at) for at in range(1, len(told) + 1))
        listed = ", ".join([*(column.expression for column in told), "count(*)"])
        query = f"SELECT {listed} FROM {self.subquery} GROUP BY {places}"
        schema = pa.schema([*(column.field for column in told), pa.field(ROWS, pa.int64())])
        with closing(copy_out(self.link, query, schema)) as parts:
            return collect_within_limit(parts, schema, self.max_cells)

    def stream(self) -> Rows:
        """All rows."""
        listed = ", ".join(column.expression for column in self.types.values())
        query = f"SELECT {listed} FROM {self.subquery}"
        schema = pa.schema([column.field for column in self.types.values()])
        return Rows(schema, lambda: copy_out(self.link, query, schema, **IN_ORDER))

    def can_store(self, output: Address | str | Path) -> bool:
        """Whether the release can be made by the server: in the same database, by one who may."""
        from tclose.data.engines.postgres.release import can_reach

        return isinstance(output, Address) and can_reach(self, output)

    def refuse_taken(self, output: Address | str | Path) -> None:
        """Raises where no such new table can be made."""
        from tclose.data.engines.postgres.release import refuse_taken

        assert isinstance(output, Address)
        refuse_taken(output)

    def store(
        self,
        translation: Translation,
        output: Address | str | Path,
        check: Callable[[Source], T],
    ) -> T:
        """Has the server make the release, in one transaction that ends after `check`."""
        from tclose.data.engines.postgres.release import release_table

        assert isinstance(output, Address)
        return release_table(self, translation, output, check)

    def close(self) -> None:
        """Ends the transaction: the server need not keep this snapshot any longer."""
        self.link.close()

    @property
    def subquery(self) -> str:
        """The query as it stands after FROM."""
        return f"(\n{self.query}\n) AS t"

    def _number(self, told: str) -> int:
        with self.link.read() as cursor:
            (number,) = cursor.execute(f"SELECT {told} FROM {self.subquery}").fetchone()
        return int(number)


def open_address(address: Address, query: str | None = None) -> PostgresSource:
    """The table that an address names, or what a query finds in its database."""
    link = PostgresLink(address)
    if query is None:
        return open_table(link, address.table)
    return open_query(link, _one_query(link, query), f"a query in {_database(link)}")


def open_table(link: PostgresLink, table: tuple[str, ...]) -> PostgresSource:
    """A table, as a link sees it."""
    if not table:
        raise UsageError(
            "which table?", where=link.where, hint="add #schema.table to the address, or --query"
        )
    name = ".".join(quote_name(part) for part in table)
    with link.read() as cursor:
        (there,) = cursor.execute("SELECT to_regclass(%s) IS NOT NULL", (name,)).fetchone()
        if not there:
            cursor.execute(TABLES)
            others = sorted(str(other) for (other,) in cursor.fetchall())
            raise DataError(
                "there is no such table, or none that this user may see",
                where=link.where,
                hint=nearest(".".join(table), others),
            )
    place = f"table {'.'.join(table)} in {_database(link)}"
    return open_query(link, f"SELECT * FROM {name}", place)


def open_query(link: PostgresLink, query: str, name: str) -> PostgresSource:
    """What a query finds, under a name for messages."""
    with link.explain_errors():
        columns = describe_columns(link, f"SELECT * FROM (\n{query}\n) AS t")
    names = [column.name for column in columns]
    refuse_ambiguous(names, name)
    if not names:
        raise DataError("the table has no columns", where=name)
    return PostgresSource(name, tuple(names), link, query, dict(zip(names, columns, strict=True)))


def _one_query(link: PostgresLink, query: str) -> str:
    """A query that can stand in parentheses: one SELECT, nothing before or behind it."""
    text = query.strip().rstrip(";").rstrip()
    if ASKS.match(text) is None:
        raise UsageError(
            "a query must be one SELECT", where=link.where, hint='such as --query "SELECT …"'
        )
    with link.read():
        describe_query(link, text)
    return text


def _database(link: PostgresLink) -> str:
    with link.explain_errors():
        return str(link.connection.info.dbname)
