"""Values of PostgreSQL and of Arrow: the types of both, and rows on their way by COPY.

What Arrow has no type for (numbers of any length, uuid, enums, json, arrays, …) is read as the text
that PostgreSQL writes for it, and read from that text again; rows travel as text, too.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as csv

from tclose.data.engines.duckdb.source import quote_text
from tclose.data.engines.postgres.connection import PostgresLink
from tclose.data.io.files import SQL_TYPE
from tclose.data.source import BATCH, quote_name
from tclose.errors import DataError

if TYPE_CHECKING:
    from psycopg import Cursor

BLOCK = 16 << 20
"""So many bytes of text are read at once, and at least one row."""
MOST_DIGITS = 38
LONGEST_NAME = 63
FIRST_OWN = 16_384
"""From this number on, types are not known in every database."""
UUID, NUMERIC, MONEY, OID, BYTEA = 2950, 1700, 790, 26, 17
PLAIN = {
    16: pa.bool_(), 20: pa.int64(), 21: pa.int16(), 23: pa.int32(), 1082: pa.date32(),
    1083: pa.time64("us"), 1114: pa.timestamp("us"), 1184: pa.timestamp("us", "UTC"),
}  # fmt: skip
FLOATS = {700: pa.float32(), 701: pa.float64()}
SCALAR = "BDEINSV"
"""Categories of plain types: truth, dates, enums, addresses, numbers, text, bits."""
WRITTEN: tuple[tuple[Any, str], ...] = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_uint64, "numeric(20,0)"),
    (lambda kind: pa.types.is_int64(kind) or pa.types.is_uint32(kind), "bigint"),
    (lambda kind: pa.types.is_int32(kind) or pa.types.is_uint16(kind), "integer"),
    (pa.types.is_integer, "smallint"),
    (pa.types.is_float64, "double precision"),
    (pa.types.is_floating, "real"),
    (pa.types.is_date, "date"),
    (pa.types.is_time, "time"),
    (lambda kind: kind in (pa.string(), pa.large_string(), pa.string_view(), pa.null()), "text"),
)
MODIFIER = re.compile(r"\(\d+(,-?\d+)?\)")
ZERO = {
    "boolean": "false",
    "date": "'2000-01-01'::date",
    "time": "'00:00'::time",
    "timestamp": "'2000-01-01'::timestamp",
    "timestamptz": "'2000-01-01'::timestamptz",
    "text": "''",
}


@dataclass(frozen=True)
class PostgresColumn:
    """A column of a table in the database."""

    name: str
    expression: str
    """The SQL that tells its value in a table t: NaN as missing, as text where it must be."""
    kind: pa.DataType
    """What that is in Arrow."""
    declared: str
    """Its type in the database."""
    is_scalar: bool
    is_enum: bool
    """Whether its type tells values, also those that do not occur."""
    lists_enums: bool
    """Whether its values are arrays of such."""
    known_everywhere: bool
    """Whether every database has that type and reads what another writes."""

    @property
    def field(self) -> pa.Field:
        """The column in an Arrow schema, which remembers its type in the database."""
        kept = {SQL_TYPE: self.declared.encode()} if self.known_everywhere else None
        return pa.field(self.name, self.kind, metadata=kept)


def describe_columns(link: PostgresLink, query: str) -> list[PostgresColumn]:
    """The columns that a query has, from its description alone."""
    with link.read() as cursor:
        result = describe_query(link, query)
        found = [
            (result.fname(at).decode(), result.ftype(at), result.fmod(at))
            for at in range(result.nfields)
        ]
        cursor.execute(
            "SELECT format_type(o, m), p.typcategory, coalesce(e.typcategory = 'E', false) "
            "FROM unnest(%s::oid[], %s::int4[]) WITH ORDINALITY AS u (o, m, n) "
            "JOIN pg_type p ON p.oid = o LEFT JOIN pg_type e ON e.oid = p.typelem ORDER BY n",
            ([oid for _, oid, _ in found], [modifier for _, _, modifier in found]),
        )
        types = cursor.fetchall()
    columns = []
    for (name, oid, modifier), (declared, category, lists) in zip(found, types, strict=True):
        expression, kind = _express(f"t.{quote_name(name)}", oid, modifier)
        scalar, everywhere = category in SCALAR or oid == UUID, oid < FIRST_OWN and oid != MONEY
        columns.append(
            PostgresColumn(
                name, expression, kind, str(declared), scalar, category == "E", lists, everywhere
            )
        )
    return columns


def write_array(values: pa.Array) -> str:
    """Values as an array that stands in a query itself."""
    listed = ("NULL" if value is None else quote_text(str(value)) for value in values.to_pylist())
    return f"CAST(ARRAY[{', '.join(listed)}] AS {sql_type(values.type)}[])"


def describe_query(link: PostgresLink, query: str) -> Any:
    """The server's description of one statement, without running it; refuses several."""
    from psycopg import pq
    from psycopg.errors import error_from_result

    connection = link.connection.pgconn
    answers = connection.prepare(b"", query.encode()), connection.describe_prepared(b"")
    for answer in answers:
        if answer.status != pq.ExecStatus.COMMAND_OK:
            raise error_from_result(answer)
    return answers[-1]


def _express(name: str, oid: int, modifier: int) -> tuple[str, pa.DataType]:
    if oid in PLAIN:
        return name, PLAIN[oid]
    if oid == OID:
        return f"{name}::bigint", pa.int64()
    if oid in FLOATS:
        return f"NULLIF({name}, 'NaN')", FLOATS[oid]
    if oid == NUMERIC:
        digits = _digits(modifier)
        if digits is not None:
            return f"NULLIF({name}, 'NaN')", pa.decimal128(*digits)
        return f"""trim_scale(NULLIF({name}, 'NaN'))::text COLLATE "C\"""", pa.string()
    if oid == BYTEA:
        return f"'\\x' || encode({name}, 'hex')", pa.string()
    if oid == MONEY:
        return f"""trim_scale({name}::numeric)::text COLLATE "C\"""", pa.string()
    return f"""{name}::text COLLATE "C\"""", pa.string()


def _digits(modifier: int) -> tuple[int, int] | None:
    """Precision and scale of a number, where it has both and Arrow has room.

    >>> _digits((10 << 16 | 2) + 4), _digits(-1)
    ((10, 2), None)
    """
    if modifier < 0:
        return None
    precision, scale = (modifier - 4) >> 16 & 0xFFFF, (modifier - 4) & 0x7FF
    return (precision, scale) if scale <= precision <= MOST_DIGITS else None


def sql_type(kind: pa.DataType) -> str | None:
    """The type of the database that holds every value of an Arrow type; None: there is none.

    >>> sql_type(pa.decimal128(10, 2)), sql_type(pa.list_(pa.int8()))
    ('numeric(10,2)', None)
    """
    if pa.types.is_dictionary(kind):
        return sql_type(kind.value_type)
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision},{kind.scale})" if kind.scale >= 0 else "numeric"
    if pa.types.is_timestamp(kind):
        return "timestamptz" if kind.tz else "timestamp"
    return next((name for fits, name in WRITTEN if fits(kind)), None)


def declare_columns(schema: pa.Schema, known: Collection[str] = ()) -> list[str]:
    """The columns of a new table; raises where one has no type or name in the database.

    A column keeps the type that it had in a database, if that is one of the `known`.
    """
    made = []
    for field in schema:
        kept = (field.metadata or {}).get(SQL_TYPE, b"").decode()
        kind = kept if MODIFIER.sub("", kept, count=1) in known else sql_type(field.type)
        if kind is None:
            what = "a table in PostgreSQL cannot be given lists, structures, bytes or durations"
            hint = "write a .parquet file"
            raise DataError(what, where=f"column {field.name!r}", hint=hint)
        refuse_long([field.name], f"column {field.name!r}")
        made.append(f"{quote_name(field.name)} {kind}")
    return made


def refuse_long(names: Iterable[str], where: str) -> None:
    """Raises where the database would cut a name short."""
    if any(len(name.encode()) > LONGEST_NAME or "\0" in name for name in names):
        what = f"PostgreSQL allows no names of more than {LONGEST_NAME} bytes"
        hint = "choose another"
        raise DataError(what, where=where, hint=hint)


def fetch_known_types(cursor: Cursor[Any]) -> set[str]:
    """The names of the types that every database has."""
    cursor.execute("SELECT format_type(oid, NULL) FROM pg_type WHERE oid < %s", (FIRST_OWN,))
    return {str(name) for (name,) in cursor.fetchall()}


def zero_of(kind: pa.DataType) -> str:
    """Some value of a type, to stand where a missing one could not be compared."""
    return ZERO.get(str(sql_type(kind)), "0")


def _make_storable(name: str, values: pa.Array) -> pa.Array:
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _make_storable(name, values.cast(kind.value_type))
    wanted = kind
    if pa.types.is_string_view(kind):
        wanted = pa.string()
    elif pa.types.is_float16(kind):
        wanted = pa.float32()
    elif pa.types.is_timestamp(kind):
        wanted = pa.timestamp("us", "UTC" if kind.tz else None)
    elif pa.types.is_time64(kind):
        wanted = pa.time64("us")
    try:
        return values if kind == wanted else values.cast(wanted)
    except pa.ArrowInvalid:
        what = "PostgreSQL stores times to the microsecond, and some here are finer or too far off"
        hint = "round them, or write a .parquet file"
        raise DataError(what, where=f"column {name!r}", hint=hint) from None


def copy_out(
    link: PostgresLink, query: str, schema: pa.Schema, **settings: str
) -> Generator[pa.RecordBatch, None, None]:
    """The rows of a query as the server sends them; callers that stop early must close it."""
    # The server sends row by row, so a block is never cut within one, however long it is.
    copying = f"COPY ({query}) TO STDOUT (FORMAT csv)"
    with link.read(**settings) as cursor, cursor.copy(copying) as copy:
        for block in _blocks(copy):
            yield from _parse(block, schema, link.where)


def _blocks(rows: Iterable[bytes]) -> Iterator[bytes]:
    waiting: list[bytes] = []
    size = 0
    for row in rows:
        waiting.append(row)
        size += len(row)
        if size >= BLOCK or len(waiting) >= BATCH:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


def _parse(block: bytes, schema: pa.Schema, where: str) -> list[pa.RecordBatch]:
    try:
        table = csv.read_csv(
            io.BytesIO(block),
            csv.ReadOptions(column_names=schema.names, block_size=len(block) + 1),
            csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            csv.ConvertOptions(
                column_types=schema,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                true_values=["t"],
                false_values=["f"],
            ),
        )
    except pa.ArrowException as error:
        raise _unreadable(str(error), schema, where) from None
    parts: list[pa.RecordBatch] = table.cast(schema).combine_chunks().to_batches()
    return parts


def _unreadable(message: str, schema: pa.Schema, where: str) -> DataError:
    """The parser's complaint without the value that it quotes."""
    at = re.match(r"In CSV column #(\d+)", message)
    if at is None:
        return DataError("a row cannot be read", where=where, hint="is its text UTF-8?")
    field = schema.field(int(at[1]))
    if "UTF8" in message:
        return DataError("not UTF-8 text", where=f"{where}, column {field.name!r}")
    return DataError(
        "a value is beyond what can be counted: an infinite date, one before the year 1 or after "
        "9999, or 24 o'clock",
        where=f"{where}, column {field.name!r}",
        hint="leave such rows out, or give the column as text (--query)",
    )


def copy_in(cursor: Cursor[Any], table: str, batches: Iterable[pa.RecordBatch]) -> int:
    """Puts rows into a table of the database; how many there were."""
    rows = 0
    with cursor.copy(f"COPY {table} FROM STDIN (FORMAT csv)") as copy:
        for batch in batches:
            rows += batch.num_rows
            sink, names = pa.BufferOutputStream(), batch.schema.names
            columns = [_make_storable(*pair) for pair in zip(names, batch.columns, strict=True)]
            plain = pa.RecordBatch.from_arrays(columns, names)
            csv.write_csv(plain, sink, csv.WriteOptions(include_header=False))
            copy.write(sink.getvalue().to_pybytes())
    return rows
