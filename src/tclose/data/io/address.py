"""Where a table in a database is: a URL, whose password is never shown.

`postgresql://user:password@host/database#schema.table`. Everything but the part after # is for the
database's own library, which also knows PGPASSWORD, password files and service files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote

from tclose.errors import UsageError

SCHEME = re.compile(r"postgres(ql)?:/", re.IGNORECASE)
"""Also as a Path writes it, which eats a slash."""
HOST = r"(?:\[[0-9A-Fa-f:.%]*\]|[^:/@?#,\[\]]*)(?::\d*)?"
NAME = r'(?:"(?:[^"]|"")+"|[^".@/:#]+)'
URL = re.compile(
    rf"""postgres(?:ql)?://
    (?:(?P<user>[^:@/?\#]*)(?::(?P<password>[^@/]*))?@)?
    (?P<hosts>{HOST}(?:,{HOST})*)
    (?:/(?P<database>[^?\#@]*))?
    (?:\?(?P<options>[^\#@]*))?
    (?:\#(?P<table>{NAME}(?:\.{NAME})?)?)?""",
    re.IGNORECASE | re.VERBOSE,
)
SHOWN = ("host", "hostaddr", "port", "dbname", "user", "service", "sslmode", "connect_timeout")
"""The options that may be seen; any other may be a secret, or a secret's name mistyped."""
ARGUMENT = re.compile(r"(--?[\w-]+=|-[a-z])?(?=postgres(?:ql)?://)", re.IGNORECASE)
UNKNOWN = "postgresql://…"

_concealed: dict[str, str] = {}
"""The URLs of the command line, with their passwords, by what stands there in their place."""


@dataclass(frozen=True, repr=False)
class Address:
    """A URL that shows no password, however it is printed.

    >>> place = Address("postgresql://ann:secret@db.example/clinic?sslmode=require#public.patients")
    >>> print(place, place.table, place.database)
    postgresql://ann@db.example/clinic?sslmode=require#public.patients ('public', 'patients') clinic
    """

    url: str = field(repr=False)

    @classmethod
    def of(cls, data: object) -> Address | None:
        """The address that something is, if it is one.

        >>> Address.of("patients.csv"), Address.of("postgresql://host/clinic#patients")
        (None, Address('postgresql://host/clinic#patients'))
        """
        if isinstance(data, Address):
            return data
        if isinstance(data, Path) and SCHEME.match(str(data)):
            raise UsageError(
                "an address of a database is no path", hint="give it as text, as an argument"
            )
        if isinstance(data, str) and SCHEME.match(data):
            return cls(_concealed.get(data, data))
        return None

    @property
    def table(self) -> tuple[str, ...]:
        """The table and, before it, its schema if one is named; nothing where none is."""
        named = self._parts["table"]
        if not named:
            return ()
        parts: list[str] = re.findall(NAME, unquote(named))
        return tuple(
            part[1:-1].replace('""', '"') if part.startswith('"') else part for part in parts
        )

    @property
    def database(self) -> str:
        """The database, as far as the URL says."""
        return unquote(self._parts["database"] or "")

    @property
    def name(self) -> str:
        """What messages call the table."""
        table = ".".join(self.table)
        place = self.database or "the database"
        return f"table {table} in {place}" if table else place

    @property
    def link(self) -> str:
        """What the database's library is to connect with: the URL, its password included."""
        return self.url.removesuffix(f"#{self._parts['table'] or ''}")

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be shown, however it is written."""
        parts = self._match
        if parts is None:
            return (self.url,)
        options = [option.partition("=") for option in (parts["options"] or "").split("&")]
        given = [parts["password"], *(value for key, _, value in options if key not in SHOWN)]
        return tuple({text for secret in given if secret for text in (secret, unquote(secret))})

    @cached_property
    def _match(self) -> re.Match[str] | None:
        return URL.fullmatch(self.url)

    @property
    def _parts(self) -> re.Match[str]:
        if self._match is None:
            raise UsageError(
                "this address of a database cannot be understood",
                hint="such as postgresql://user@host/database#schema.table; in a password, write @ "
                "as %40, / as %2F and % as %25, or leave it to PGPASSWORD or a password file",
            )
        return self._match

    def __str__(self) -> str:
        parts = self._match
        if parts is None:
            return UNKNOWN
        user = f"{parts['user']}@" if parts["user"] else ""
        shown = [
            option
            for option in (parts["options"] or "").split("&")
            if option.partition("=")[0] in SHOWN
        ]
        return "".join(
            [
                f"postgresql://{user}{parts['hosts']}",
                f"/{parts['database']}" if parts["database"] else "",
                f"?{'&'.join(shown)}" if shown else "",
                f"#{parts['table']}" if parts["table"] else "",
            ]
        )

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"


def refuse_address(path: str | Path) -> None:
    """Raises where a file is wanted: the password would be a part of its name."""
    if SCHEME.match(str(path)):
        raise UsageError("a file is wanted here, not a table in a database", hint="name a file")


def hide_passwords(arguments: Sequence[str]) -> list[str]:
    """A command's arguments without passwords.

    >>> hide_passwords(["audit", "postgresql://ann:secret@host/clinic#patients"])
    ['audit', 'postgresql://ann@host/clinic#patients']
    """
    return [shown for shown, _ in map(_split_url, arguments)]


def conceal(arguments: Sequence[str]) -> list[str]:
    """The same; from now on `Address.of` knows which URL stood in the place of each."""
    _concealed.clear()
    parts = [_split_url(argument) for argument in arguments]
    _concealed.update((str(Address(url)), url) for _, url in parts if url)
    return [shown for shown, _ in parts]


def _split_url(argument: str) -> tuple[str, str]:
    """An argument as it may be shown, and the URL in it, if there is one."""
    start = ARGUMENT.match(argument)
    if start is None:
        return argument, ""
    url = argument[start.end() :]
    return f"{start[0]}{Address(url)}", url
