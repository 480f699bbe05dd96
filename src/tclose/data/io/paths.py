"""Where a table is and how it is read: paths and patterns, URLs of databases, and reading options.

Names that begin with a dot or an underscore are marks of those who write folders, no tables.
"""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from tclose.errors import DataError, UsageError, nearest

Kind = Literal["text", "parquet", "arrow", "excel", "statistics"]
PACKED = (".gz", ".zst")
KINDS: dict[str, Kind] = {
    ".csv": "text", ".tsv": "text", ".txt": "text", ".dat": "text", "": "text",
    ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".arrows": "arrow", ".feather": "arrow", ".ipc": "arrow",
    ".xlsx": "excel", ".xlsm": "excel",
    ".dta": "statistics", ".sav": "statistics", ".zsav": "statistics", ".por": "statistics",
}  # fmt: skip
UNPACK = "unpack it first; text files may be .csv.gz or .csv.zst"
HINTS = {
    ".xls .xlsb .ods .numbers": "open it in a spreadsheet program and save it as .xlsx or .csv",
    ".sas7bdat .xpt .rds .rdata .json .jsonl .ndjson .xml .html .orc .avro "
    ".mdb .accdb .pkl .pickle .npy .npz .h5 .hdf5":
        "export it as .csv or .parquet",
    ".db .sqlite .sqlite3 .duckdb":
        "export the table as .csv or .parquet, or open the database with Ibis in Python",
    ".zip .7z .rar .tar .tgz .bz2 .xz": UNPACK,
    ".pdf .doc .docx .md .toml .yaml .yml .py": "name a table: .csv, .parquet, .arrow or .xlsx",
}  # fmt: skip
FOREIGN = {suffix: hint for suffixes, hint in HINTS.items() for suffix in suffixes.split()}
"""Kinds that are often meant and cannot be read, and what to do about each."""


@dataclass(frozen=True)
class Files:
    """The files of one table, in the order of their paths; all are of one kind."""

    name: str
    """What messages call the table."""
    root: Path
    """Where their own names begin."""
    paths: tuple[Path, ...]
    kind: Kind
    single: bool
    """Whether one file was named, not a folder or a pattern."""


def find_files(path: Path) -> Files:
    """The files that a path or pattern names; raises if there are none, or of several kinds."""
    if path.is_dir():
        return _check_several(path.name or str(path), path, _list_files(path))
    if path.exists():
        if not path.is_file():
            what, hint = "a device or a pipe, not a file", "a table is read more than once: save it"
            raise DataError(what, where=str(path), hint=hint)
        return Files(path.name, path.parent, (path,), kind_of(path), single=True)
    if not glob.has_magic(str(path)):
        raise DataError("there is no such file", where=str(path), hint="check the path")
    try:
        found = sorted({Path(match) for match in glob.glob(str(path), recursive=True)})
    except ValueError:  # a character that no system takes
        found = []
    marked = path.name.startswith("_")
    found = [match for match in found if marked or not match.name.startswith("_")]
    if not found:
        raise DataError("no file matches this pattern", where=str(path), hint="check the path")
    files = [file for match in found for file in _list_files(match)]
    return _check_several(str(path), _split_pattern(path)[0], files)


def kind_of(path: Path) -> Kind:
    """The kind of a file, by its name; raises for kinds that cannot be read.

    >>> kind_of(Path("a.csv.gz")), kind_of(Path("a.PQ")), kind_of(Path("adult.data"))
    ('text', 'parquet', 'text')
    """
    suffix = suffix_of(path)
    bare = suffix.removesuffix(".gz").removesuffix(".zst")
    kind = KINDS.get(bare, "text")
    hint = FOREIGN.get(bare) or (UNPACK if bare != suffix and kind != "text" else "")
    if hint:
        raise DataError(f"{suffix} files cannot be read", where=str(path), hint=hint)
    return kind


def suffix_of(path: str | Path) -> str:
    """The end of a file's name that says its kind, in small letters, with how it is packed.

    >>> suffix_of("a.b.CSV.gz"), suffix_of("a.parquet"), suffix_of("a"), suffix_of("a.gz")
    ('.csv.gz', '.parquet', '', '.gz')
    """
    ends = [end.lower() for end in Path(path).suffixes]
    return "".join(ends[-2:] if ends and ends[-1] in PACKED else ends[-1:])


def is_read_from(path: Path, target: Path) -> bool:
    """Whether a file is, or would be once it is written, among the files that a path names."""
    there = Path(os.path.realpath(target))
    if path.is_dir():
        return there.is_relative_to(os.path.realpath(path))
    if path.exists():
        return target.exists() and target.samefile(path)
    if not glob.has_magic(str(path)):
        return False
    root, pattern = _split_pattern(path)
    if not there.is_relative_to(os.path.realpath(root)):
        return False
    parts = there.relative_to(os.path.realpath(root)).parts
    return any(_fits(parts[:end], pattern) for end in range(1, len(parts) + 1))


def _check_several(name: str, root: Path, paths: Sequence[Path]) -> Files:
    if not paths:
        hint = "names that begin with a dot or an underscore do not count"
        raise DataError("there is no file in this folder", where=str(root), hint=hint)
    kinds = {kind_of(path): suffix_of(path) for path in reversed(paths)}
    single = {"excel": "several spreadsheets", "statistics": "several Stata or SPSS files"}
    found = next(iter(kinds))
    if len(kinds) > 1 or (found in single and len(paths) > 1):
        suffixes = " and ".join(sorted(suffix or "no suffix" for suffix in kinds.values()))
        what = f"files of several kinds ({suffixes})" if len(kinds) > 1 else single[found]
        hint = f"name some of them, such as '{root / '*.parquet'}', or one"
        raise DataError(f"{what} are not one table", where=str(root), hint=hint)
    return Files(name, root, tuple(paths), found, single=False)


def _list_files(path: Path) -> list[Path]:
    """A file itself, or all of a folder; raises where a folder may not be looked into."""

    def refuse(error: OSError) -> None:
        raise error

    if not path.is_dir():
        return [path]
    found: list[Path] = []
    seen: set[str] = set()
    for place, folders, names in os.walk(path, onerror=refuse, followlinks=True):
        real = os.path.realpath(place)
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        if real in seen:  # a link that leads back
            folders[:], names = [], []
        seen.add(real)
        found += [Path(place) / name for name in names if not name.startswith((".", "_"))]
    return sorted(found)


def _split_pattern(pattern: Path) -> tuple[Path, tuple[str, ...]]:
    """The folder where a pattern begins, and the parts of the pattern below it."""
    parts = pattern.parts
    first = next(at for at, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:first]), parts[first:]


def _fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_fits(parts[at:], pattern[1:]) for at in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:])


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
OTHER_ADDRESS = re.compile(
    r"\s+postgres|jdbc:|(?:https?|s?ftps?|mysql|mariadb|mssql|oracle|sqlserver|snowflake"
    r"|postgres(?:ql)?\+\w+)(?:\+\w+)?:/",
    re.IGNORECASE,
)
"""Addresses that tclose neither reads nor writes."""
CREDENTIALS = re.compile(
    r"((?:(?::|%3a|\bpostgres(?:ql)?)/+|//)[^:@/\s]*):.*@", re.IGNORECASE | re.DOTALL
)
"""A user and, up to the last @, a password in any address, also one that is mistyped."""
OPTION = r"(?:--[\w-]+=|-[a-z])?"
MACHINE = r"[\w.\[\]-]+"
BARE = re.compile(
    rf"^({OPTION}[^\s:@/=]+)(?::[^\s@/]+@(?={MACHINE}/)|[:/][^\s@/]+@(?={MACHINE}:\d+(?:/|$)))"
)
"""The same without a scheme: ann:password@host:5432/database."""
PAIR = r"(?:host|hostaddr|port|dbname|user|service|sslmode|password)\s*=\s*(?:'[^']*'|\S+)"
CONNECTION = re.compile(rf"({OPTION})(?=.*password){PAIR}(?:\s+{PAIR})+\s*", re.IGNORECASE)
"""What PostgreSQL's own programs take in place of an address: host=db user=ann password=…"""
SETTINGS = re.compile(
    rf"({OPTION})(?:[^=;/]+=[^;]*;\s*)*(?:pg)?(?:password|passwd|pwd)\s*=.*",
    re.IGNORECASE | re.DOTALL,
)
"""The same as other libraries take it: Server=db;Password=…; or a password alone."""
JDBC = re.compile(rf"^({OPTION}jdbc:\w*).*", re.IGNORECASE | re.DOTALL)
SECRET_OPTION = re.compile(
    r"([?&;](?:[\w.-]*(?:pass|pwd|secret|token|key|credential|signature)[\w.-]*|sig|sas)=)[^&;\s]*",
    re.IGNORECASE,
)

VALUED = ("--person", "--prior")
"""The options that give values of columns."""

_concealed: dict[str, str] = {}
"""The URLs of the command line, with their passwords, by what stands there in their place."""


@dataclass(frozen=True, repr=False)
class Address:
    """A table in a database, as a URL that shows no password, however it is printed.

    Everything before # is for the database's own library.

    >>> place = Address("postgresql://ann:secret@db.example/clinic?sslmode=require#public.patients")
    >>> print(place, place.table, place.database)
    postgresql://ann@db.example/clinic?sslmode=require#public.patients ('public', 'patients') clinic
    """

    url: str = field(repr=False)

    @classmethod
    def of(cls, data: object) -> Address | None:
        """The address that something is, if it is one."""
        if isinstance(data, Address):
            return data
        if isinstance(data, Path) and SCHEME.match(str(data)):
            hint = "give it as text, as an argument"
            raise UsageError("an address of a database is no path", hint=hint)
        if isinstance(data, str) and SCHEME.match(data):
            return cls(_concealed.get(data, data))
        if isinstance(data, str | Path):
            refuse_foreign(data)
        return None

    @property
    def table(self) -> tuple[str, ...]:
        """The table and, before it, its schema if one is named; nothing where none is."""
        parts: list[str] = re.findall(NAME, unquote(self._parts["table"] or ""))
        return tuple(
            part[1:-1].replace('""', '"') if part.startswith('"') else part for part in parts
        )

    @property
    def database(self) -> str:
        """The database, as far as the URL says."""
        return unquote(self._parts["database"] or "")

    @property
    def name(self) -> str:
        """The name of the table in messages."""
        table, place = ".".join(self.table), self.database or "the database"
        return f"table {table} in {place}" if table else place

    @property
    def link(self) -> str:
        """The URL for the database's library, password included."""
        return self.url.removesuffix(f"#{self._parts['table'] or ''}")

    @property
    def secrets(self) -> tuple[str, ...]:
        """The texts that must never be shown, in every way they may be written."""
        if self._match is None:
            return (self.url,)
        options = [option.partition("=") for option in (self._match["options"] or "").split("&")]
        hidden = [value for key, _, value in options if key not in SHOWN]
        given = [self._match["password"], *hidden]
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
        options = (parts["options"] or "").split("&")
        shown = "&".join(option for option in options if option.partition("=")[0] in SHOWN)
        rest = {"/": parts["database"], "?": shown, "#": parts["table"]}
        more = "".join(mark + text for mark, text in rest.items() if text)
        return f"postgresql://{user}{parts['hosts']}{more}"

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"


def refuse_foreign(path: str | Path) -> None:
    """Raises where a path is an address that tclose cannot use, without showing it."""
    text = str(path)
    known = (OTHER_ADDRESS.match, CREDENTIALS.search, BARE.match, SECRET_OPTION.search)
    if any(find(text) for find in (*known, CONNECTION.fullmatch, SETTINGS.fullmatch)):
        raise UsageError(
            "this is an address, and neither a file nor a table that tclose can use",
            hint="name a file, or a table as postgresql://host/database#table; passwords of other "
            "places belong into the settings of their engine",
        )


def refuse_address(path: str | Path) -> None:
    """Raises where a file is wanted: the password would be a part of its name."""
    refuse_foreign(path)
    if SCHEME.match(str(path)):
        raise UsageError("this must be a file, not a table in a database", hint="name a file")


def hide_passwords(arguments: Sequence[str]) -> list[str]:
    """A command's arguments without passwords."""
    return [shown for shown, _ in map(_split_url, arguments)]


def conceal(arguments: Sequence[str]) -> list[str]:
    """Replaces URLs in some arguments by placeholders; `Address.of` then knows the URL of each."""
    _concealed.clear()
    before = ("", *arguments)
    parts = [
        # What a database is asked is not shown anywhere, and must stay what it is, as must values.
        (argument, "")
        if is_query(argument, before[at]) or _is_value(argument, before[at])
        else _split_url(argument)
        for at, argument in enumerate(arguments)
    ]
    _concealed.update((str(Address(url)), url) for _, url in parts if url)
    return [shown for shown, _ in parts]


def is_query(argument: str, before: str) -> bool:
    """Whether a command-line argument is a database query, judged by the argument before it."""
    return before == "--query" or argument.startswith("--query=")


def _is_value(argument: str, before: str) -> bool:
    """Whether a command-line argument gives values of columns."""
    return before in VALUED or argument.startswith(tuple(f"{option}=" for option in VALUED))


def _split_url(argument: str) -> tuple[str, str]:
    """An argument as it may be shown, and the URL in it, if there is one."""
    start = ARGUMENT.match(argument)
    if start is None:
        if found := CONNECTION.fullmatch(argument) or SETTINGS.fullmatch(argument):
            return f"{found[1]}host=… password=…", ""  # still known for what it is, and refused
        shown = JDBC.sub(r"\1:…", argument)
        shown = BARE.sub(r"\1:…@", CREDENTIALS.sub(r"\1:…@", shown), count=1)
        is_address = "/" in argument or ":" in argument
        return SECRET_OPTION.sub(r"\1…", shown) if is_address else shown, ""
    url = argument[start.end() :]
    return f"{start[0]}{Address(url)}", url


ENGINES = ("duckdb", "spark")
"""What can read files; the first does unless another is asked for."""
CELL_BYTES = 512
"""What a cell takes while it is searched, more or less."""
AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt])(i?)b?\s*$", re.IGNORECASE)


@dataclass(frozen=True)
class Reading:
    """How files are read; options that are not set are detected from the file.

    >>> Reading(memory="400MB").cell_limit, Reading(cells=50) == Reading(max_cells=50)
    (781250, True)
    """

    delimiter: str | None = None
    encoding: str | None = None
    nulls: tuple[str, ...] = ("",)
    memory: str | None = None
    max_cells: int | None = None
    """The most distinct tuples in one place; tables with more are worked on in parts."""
    engine: str | None = None
    """What reads and counts files: `duckdb` (the usual) or `spark`."""
    query: str | None = None
    """What is asked of a database whose address names no table: one SELECT."""
    sheet: str | None = None
    """Which sheet of an Excel file is read; the first, if unsaid."""
    cells: InitVar[int | None] = None
    """The same as `max_cells`, as it was called at first."""

    def __post_init__(self, cells: int | None) -> None:
        if cells is not None:
            object.__setattr__(self, "max_cells", cells)

    @property
    def cell_limit(self) -> int | None:
        """How many cells may be held in one place: as given, or as many as fit the memory."""
        amount = bytes_of(self.memory)
        if self.max_cells is not None or amount is None:
            return self.max_cells
        return amount // CELL_BYTES

    @property
    def chosen_engine(self) -> str:
        """The engine that reads files; raises where there is no such."""
        if self.engine is not None and self.engine not in ENGINES:
            hint = nearest(self.engine, ENGINES)
            raise UsageError("there is no such engine", where="engine", hint=hint)
        return self.engine or ENGINES[0]

    def refuse_idle_query(self, *tables: object) -> None:
        """Raises if a query is given but none of the tables is in a database."""
        addresses = [Address.of(table) for table in tables]
        if self.query is not None and all(place is None or place.table for place in addresses):
            hint = "give the address postgresql://host/database, without #table"
            raise UsageError("there is no database to ask this query of", where="query", hint=hint)


AS_FOUND = Reading()
"""Everything is found out from the file itself."""


def bytes_of(memory: str | None) -> int | None:
    """Parses an amount of memory; None if none is given, or it is not an amount with a unit.

    >>> bytes_of("400MB"), bytes_of("1 GiB"), bytes_of(None)
    (400000000, 1073741824, None)
    """
    amount = AMOUNT.match(memory or "")
    if amount is None:
        return None
    unit = 1024 if amount[3] else 1000
    return int(float(amount[1]) * unit ** (1 + "kmgt".index(amount[2].lower())))


def refuse_ambiguous(names: list[str], where: str) -> None:
    """Raises where column names are empty, or equal but for capitals (SQL takes them for one).

    Neither does an engine hold a null character in a name.
    """
    if "" in names:
        what = f"column {names.index('') + 1} has no name"
        hint = "name every column in the header"
        if names[0].lower().startswith("sep="):
            hint = "delete the first line, which only names the delimiter"
        raise DataError(what, where=where, hint=hint)
    for at, name in enumerate(names, 1):
        if "\0" in name:
            what = f"the name of column {at} holds a null character"
            raise DataError(what, where=where, hint="rename it")
    often = Counter(name.lower() for name in names)
    twice = [name for name in dict.fromkeys(names) if often[name.lower()] > 1]
    if twice:
        shown = ", ".join(repr(name) for name in twice[:6])
        hint = "rename them until no two are equal; capitals alone do not tell them apart"
        raise DataError(f"duplicate column names: {shown}", where=where, hint=hint)
