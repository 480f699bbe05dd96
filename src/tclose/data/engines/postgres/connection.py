"""A connection to PostgreSQL: one look at the tables, and errors that show no password or value."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tclose.data.io.paths import Address
from tclose.errors import DataError, InternalError, TcloseError

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

WAIT = 15
"""Seconds until a server that does not answer is given up."""
PLAIN = {
    "client_encoding": "UTF8",
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "IntervalStyle": "iso_8601",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "synchronize_seqscans": "off",
}
"""How values are written: the same for every server, user and place."""
IN_ORDER = {"max_parallel_workers_per_gather": "0"}
PATIENT = {"idle_in_transaction_session_timeout": "0"}

REFUSED = {
    "password authentication failed": ("the password is wrong", "check user and password"),
    "no password supplied": (
        "the server wants a password",
        "give it in PGPASSWORD or a password file",
    ),
    **dict.fromkeys(
        ("could not translate host name", "failed to resolve", "not known", "could not resolve"),
        ("there is no such host", "check the address"),
    ),
    **dict.fromkeys(
        ("Connection refused", "No such file or directory"),
        ("no server answers there", "check host and port; is it running?"),
    ),
    "timeout expired": ("the server does not answer", "check host and port, and the network"),
    "no pg_hba.conf entry": ("the server lets nobody in from here", "ask who runs it"),
    "SSL": ("no safe connection to the server", "check sslmode and the certificates"),
    "too many": ("the server has no connection left", "try again later"),
    "does not exist": ("the server knows no such database or user", "check the address"),
}
"""What the library says when it cannot connect, what that means, and what to do."""
OF_WORDS = ("42", "3D", "3F")
"""Codes of errors in the words of a query, or in names: told in the server's own words."""
LOST = ("the connection was lost", "try again")
FAILED = {
    "53100": ("the server's disk is full", ""),
    "53200": ("the server has no memory left", ""),
    "57014": ("the server stopped the query", "does it have a statement_timeout?"),
    "25006": ("this server or user only reads", "write to another database"),
    **dict.fromkeys(("08", "57P", "25P03", "25P04"), LOST),
    "22": (
        "the server cannot write or compute a value ({})",
        "PostgreSQL knows no character NUL, and not every number and date",
    ),
}
"""The beginning of the server's code, what it means, and what to do."""


def driver() -> Any:
    """The library that speaks with PostgreSQL."""
    try:
        import psycopg
    except ImportError:
        hint = "pip install 'tclose[postgres]'"
        raise DataError("PostgreSQL needs a library that is not installed", hint=hint) from None
    return psycopg


class PostgresLink:
    """A connection that is opened when it is needed, and one transaction in it.

    What is read in it is read from one snapshot: rows that others commit meanwhile are not seen. It
    only reads, unless it `writes`; `like` is another link whose snapshot it shares.
    """

    def __init__(
        self, address: Address, *, writes: bool = False, like: PostgresLink | None = None
    ) -> None:
        self.address, self.where = address, address.name
        self.writes, self.like = writes, like
        self._open: Any = None
        self._end: Any = None
        self._busy = False

    @property
    def connection(self) -> Any:
        if self._open is None or self._open.closed:
            self._open = self._connect()
            self._end = weakref.finalize(self, self._open.close)
        return self._open

    def close(self) -> None:
        """Ends the transaction, undoing what was written; later reads start anew."""
        if self._end is not None:
            self._end()
        self._open = self._end = None

    def commit(self) -> None:
        """Makes what was written visible to others."""
        with self.explain_errors():
            self.connection.commit()
        self.close()
        self.writes, self.like = False, None

    @contextmanager
    def read(self, **settings: str) -> Iterator[Any]:
        """A cursor under which values are written plainly; nothing that it does is kept."""
        if self._busy:
            raise InternalError("two readings of one connection at once", where=self.where)
        with self.explain_errors(), self.connection.transaction(force_rollback=True):
            self._busy = True
            try:
                with self.connection.cursor() as cursor:
                    configure(cursor, {**PLAIN, **settings})
                    yield cursor
            finally:
                self._busy = False

    @contextmanager
    def explain_errors(self) -> Iterator[None]:
        """Turns the library's errors into ours, which show neither password nor value."""
        try:
            yield
        except driver().Error as error:
            raise explain_error(error, self.address, self.where) from None

    def _connect(self) -> Any:
        psycopg, given = driver(), {}
        try:
            options = psycopg.conninfo.conninfo_to_dict(self.address.link)
            if "connect_timeout" not in options and "PGCONNECT_TIMEOUT" not in os.environ:
                given["connect_timeout"] = WAIT
            connection = psycopg.connect(
                self.address.link, fallback_application_name="tclose", **given
            )
        except psycopg.Error as error:
            known = (meaning for sign, meaning in REFUSED.items() if sign in str(error))
            unknown = f"cannot connect ({type(error).__name__})", "does `psql` connect there?"
            what, hint = next(known, unknown)
            raise DataError(what, where=self.where, hint=hint) from None
        try:
            self._begin(connection, psycopg)
        except BaseException as error:
            connection.close()
            if isinstance(error, psycopg.Error):
                raise explain_error(error, self.address, self.where) from None
            raise
        return connection

    def _begin(self, connection: Connection[Any], psycopg: Any) -> None:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = None if self.writes else True
        with connection.cursor() as cursor:
            if self.like is not None:
                with self.like.connection.cursor() as other:
                    (name,) = other.execute("SELECT pg_export_snapshot()").fetchone()
                cursor.execute(f"SET TRANSACTION SNAPSHOT '{name}'")
            configure(cursor, PATIENT)


class BorrowedLink(PostgresLink):
    """The caller's connection, whose settings and transactions are left unchanged."""

    def __init__(self, connection: Connection[Any], where: str) -> None:
        super().__init__(Address("postgresql://"))
        self._theirs, self.where = connection, where

    @property
    def connection(self) -> Any:
        return self._theirs

    def close(self) -> None:
        """Leaves the connection alone."""


def configure(cursor: Cursor[Any], settings: dict[str, str]) -> None:
    """Settings for the rest of a transaction."""
    calls = ", ".join("set_config(%s, %s, true)" for _ in settings)
    cursor.execute(f"SELECT {calls}", [word for pair in settings.items() for word in pair])


def explain_error(error: Any, address: Address, where: str) -> TcloseError:
    """The server's complaint without passwords and without the values that it may quote."""
    code = error.sqlstate or ""
    if code.startswith(OF_WORDS):
        what = str(error.diag.message_primary)
        for secret in address.secrets:
            what = what.replace(secret, "…")
        hint = "ask for that permission" if code == "42501" else ""
        return DataError(what, where=where, hint=hint)
    kind = type(error).__name__
    known = (found for start, found in FAILED.items() if code.startswith(start))
    refusal = LOST if not code and kind == "OperationalError" else ("the server refuses ({})", "")
    what, hint = next(known, refusal)
    return DataError(what.format(kind), where=where, hint=hint)
