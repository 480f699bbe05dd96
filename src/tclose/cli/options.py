"""The options that several commands share, stated once, and what they become.

Some come in groups: the parameters of a function that puts them together (`Group`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from tclose.data.io.paths import Address, Reading
from tclose.errors import UsageError

if TYPE_CHECKING:
    Place = Path | Address
else:
    Place = Path  # typer knows no unions: `place` says what it is

of_search = partial(typer.Option, rich_help_panel="The search")
of_files = partial(typer.Option, rich_help_panel="How files are read")


F = TypeVar("F", bound=Callable[..., Any])


def place(text: str) -> Place:
    """A file, or the address of a table in a database."""
    return Address.of(text) or Path(text)


table_argument = partial(typer.Argument, show_default=False, parser=place)
table_option = partial(typer.Option, metavar="FILE", parser=place)
of_original = table_option(help="The table that it was made from.")

Table = Annotated[
    Place,
    table_argument(
        metavar="FILE",
        help="The table: a CSV, Parquet, Arrow or Excel file, a folder or a quoted pattern of "
        "them, or postgresql://host/database#table.",
    ),
]
Quasi = Annotated[str, typer.Option(metavar="A,B", help="Without a policy: the quasi-identifiers.")]
Sensitive = Annotated[
    str, typer.Option(metavar="C,D", help="Without a policy: the sensitive attributes.")
]
PolicyFile = Annotated[
    Path | None, typer.Option("--policy", "-p", metavar="POLICY", help="The policy (TOML or JSON).")
]
Policy = Annotated[
    Path, typer.Option("--policy", "-p", metavar="POLICY", help="The policy (TOML or JSON).")
]
Output = Annotated[
    Place,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT",
        help="The release: .csv, .csv.gz, .parquet, .arrow or .xlsx, or a new table, "
        "postgresql://…#table.",
        parser=place,
    ),
]
CertificateFile = Annotated[
    Path | None,
    typer.Option("--certificate", metavar="C", help="Where to write the certificate (JSON)."),
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", metavar="FILE", help="Secret key of the pseudonyms, if any."),
]
Population = Annotated[
    Place | None, table_option(help="A table of the population (k-map, presence).")
]
Key = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Link rows of two tables by this column, not by order."),
]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report", metavar="FILE", help="Also write a report: .html, .json, .txt; - shows it here."
    ),
]
Edition = Annotated[
    str,
    typer.Option(
        "--edition", metavar="NAME", help="external: counts only; internal: values of classes too."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]

Method = Annotated[
    str | None, of_search("--method", metavar="NAME", help="The search; see `tclose methods`.")
]
Seconds = Annotated[
    float | None, of_search("--seconds", min=0, help="How long to search, by the clock.")
]
Effort = Annotated[
    float | None,
    of_search("--effort", min=0, help="How much work, in seconds of an ordinary core."),
]
Seed = Annotated[int | None, of_search("--seed", min=0, help="Equal seeds search alike.")]
Suppression = Annotated[
    str | None,
    of_search(
        "--suppression", metavar="SHARE", help="Share of rows that may be left out, such as 0.05."
    ),
]
Delimiter = Annotated[
    str | None, of_files(metavar="CHAR", help="CSV delimiter, if it is guessed wrong (or: tab).")
]
Encoding = Annotated[
    str | None, of_files(metavar="NAME", help="CSV encoding, if it is guessed wrong.")
]
Null = Annotated[
    list[str] | None,
    of_files(metavar="TEXT", help="CSV text that means a missing value (repeatable)."),
]
Sheet = Annotated[str | None, of_files(metavar="NAME", help="Excel sheet, if not the first.")]
Memory = Annotated[
    str | None,
    of_files(metavar="SIZE", help="Most memory for the table, such as 4GB; the rest goes to disk."),
]

Cells = Annotated[
    int | None,
    of_files(
        metavar="N", min=1, help="Most distinct combinations in one place; more go part by part."
    ),
]
Engine = Annotated[
    str | None, of_files(metavar="NAME", help="What reads and counts files: duckdb or spark.")
]
Query = Annotated[
    str | None,
    of_files(metavar="SQL", help="One SELECT, for the address of a database without #table."),
]


@dataclass(frozen=True)
class Group:
    """Marks a parameter of a command that `make` puts together from options, its own parameters."""

    make: Callable[..., Any]

    @property
    def options(self) -> list[inspect.Parameter]:
        """The options of the group."""
        return list(inspect.signature(self.make, eval_str=True).parameters.values())


def ungroup(command: F) -> F:
    """The command as typer is to read it: the options of each group in the place of the group.

    >>> from typing import Annotated
    >>> def area(wide: int = 1, high: int = 1) -> int:
    ...     return wide * high
    >>> @ungroup
    ... def describe(name: str, *, size: Annotated[int, Group(area)]) -> str:
    ...     return f"{name}: {size}"
    >>> inspect.signature(describe)
    <Signature (*, name: str, wide: int = 1, high: int = 1) -> str>
    >>> describe(name="a room", wide=4, high=3)
    'a room: 12'
    """
    signature = inspect.signature(command, eval_str=True)
    groups = {
        name: group
        for name, parameter in signature.parameters.items()
        for group in getattr(parameter.annotation, "__metadata__", ())
        if isinstance(group, Group)
    }
    if not groups:
        return command
    options = [
        option.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in signature.parameters.items()
        for option in (groups[name].options if name in groups else [parameter])
    ]

    @functools.wraps(command)
    def run(**given: Any) -> Any:
        made = {
            name: group.make(**{option.name: given.pop(option.name) for option in group.options})
            for name, group in groups.items()
        }
        return command(**given, **made)

    run.__signature__ = signature.replace(parameters=options)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in options}
    return run  # type: ignore[return-value]


def declare_columns(
    policy: PolicyFile = None, quasi: Quasi = "", sensitive: Sensitive = ""
) -> dict[str, Any]:
    """What the columns are; raises unless the command was told."""
    if policy is None and not quasi:
        raise UsageError(
            "what are the columns?",
            hint="give --policy POLICY (draft one with `tclose init FILE`), "
            "or --quasi age,zip --sensitive disease",
        )
    return {"policy": policy, "quasi": quasi, "sensitive": sensitive}


def limit_search(seconds: Seconds = None, effort: Effort = None) -> dict[str, Any]:
    """How far a search may go."""
    return {"seconds": seconds, "effort": effort}


def set_up_search(
    seconds: Seconds = None,
    effort: Effort = None,
    seed: Seed = None,
    suppression: Suppression = None,
) -> dict[str, Any]:
    """How a release is searched for, whatever the method."""
    return {"seconds": seconds, "effort": effort, "seed": seed, "suppression": suppression}


def read_files(
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    null: Null = None,
    memory: Memory = None,
    cells: Cells = None,
    engine: Engine = None,
    query: Query = None,
    sheet: Sheet = None,
) -> Reading:
    """How the tables of a command are read."""
    mark = {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)
    return Reading(mark, encoding, ("", *(null or ())), memory, cells, engine, query, sheet)


DeclaredColumns = Annotated[dict[str, Any], Group(declare_columns)]
SearchLimits = Annotated[dict[str, Any], Group(limit_search)]
SearchOptions = Annotated[dict[str, Any], Group(set_up_search)]
ReadingOptions = Annotated[Reading, Group(read_files)]


def read_key(path: Path | None) -> bytes | None:
    """The secret key of the pseudonyms."""
    if path is None:
        return None
    try:
        key = path.read_bytes().strip()
    except OSError as error:
        raise UsageError(f"cannot be read ({error.strerror})", where=str(path)) from None
    if len(key) < 16:
        raise UsageError("a key needs at least 16 bytes", where=str(path))
    return key
