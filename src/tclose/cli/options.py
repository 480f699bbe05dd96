"""Options that several commands share, and how they are read.

Some come in groups: the parameters of a function that puts them together (`Group`).
"""

from __future__ import annotations

import csv
import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from tclose.data.io.paths import Address, Reading, refuse_address
from tclose.errors import UsageError
from tclose.small_files import read_small_file

if TYPE_CHECKING:
    Place = Path | Address
else:
    Place = Path  # typer knows no unions: `place` says what it is


def option(metavar: str | None, words: str, *names: str, **more: Any) -> Any:
    """An option: how its value is written, its help, and its names if not the parameter's."""
    return typer.Option(*names, metavar=metavar, help=words, **more)


of_search = partial(option, rich_help_panel="The search")
of_person = partial(option, rich_help_panel="One person")
of_files = partial(option, rich_help_panel="How files are read")

F = TypeVar("F", bound=Callable[..., Any])


def place(text: str) -> Place:
    """A file, or the address of a table in a database."""
    return Address.of(text) or Path(text)


table_argument = partial(typer.Argument, show_default=False, parser=place)
table_option = partial(typer.Option, metavar="FILE", parser=place)
of_original = table_option(help="The table that the release was made from.")

Table = Annotated[
    Place,
    table_argument(
        metavar="FILE",
        help="The table: a CSV, Parquet, Arrow, Excel, Stata or SPSS file, a folder or a quoted "
        "pattern of files, or postgresql://host/database#table.",
    ),
]
of_policy = option("POLICY", "The policy (TOML or JSON).", "--policy", "-p")
Policy = Annotated[Path, of_policy]
PolicyFile = Annotated[Path | None, of_policy]
Output = Annotated[
    Place,
    option(
        "OUT",
        "The release: .csv, .csv.gz, .parquet, .arrow, .xlsx, .dta or .sav, or a new table, "
        "postgresql://…#table.",
        "--output",
        "-o",
        parser=place,
    ),
]
CertificateFile = Annotated[
    Path | None, option("C", "Also write a certificate (JSON) with the verified results.")
]
Dictionary = Annotated[
    Path | None,
    option("FILE", "Also write a data dictionary (.md or .json): what was done to each column."),
]
KeyFile = Annotated[
    Path | None,
    option(
        "FILE", "File with the secret key for pseudonyms (16 bytes or more). Default: a random key."
    ),
]
StartFrom = Annotated[
    Path | None,
    of_search(
        "PLAN",
        "The plan of an earlier release of this table: where its classes keep the promise, the "
        "result loses no more than they do.",
        "--start-from",
    ),
]
Population = Annotated[
    Place | None, table_option(help="A table of the population, for k-map and δ-presence.")
]
Key = Annotated[
    str | None,
    option(
        "COLUMN",
        "The column that links the rows of the tables. Default: order or values, if they tell.",
    ),
]
Report = Annotated[
    Path | None,
    option("FILE", "Also write a report: .html, .pdf, .json or .txt; - prints it."),
]
Edition = Annotated[
    str,
    option(
        "NAME",
        "Readers of the report: external (counts only), internal (also values of classes) or "
        "users of the data (what was done to each column).",
    ),
]
Force = Annotated[bool, option("", "Overwrite existing files, create missing folders.", "--force")]
Attacks = Annotated[
    bool,
    option("", "Whether the report includes attacks, which take time.", "--attacks/--no-attacks"),
]
AsJson = Annotated[bool, option("", "Print the result as one JSON object.", "--json")]

Method = Annotated[
    str | None, of_search("NAME", "The search method; `tclose methods` lists them. Default: auto.")
]
Seconds = Annotated[
    float | None,
    of_search("SECONDS", "Time limit of the search in seconds, instead of an effort.", min=0),
]
Effort = Annotated[
    float | None,
    of_search(
        "SECONDS",
        "Amount of work for the search, in seconds of an ordinary processor core. Default: grows "
        "with the table.",
        min=0,
    ),
]
Seed = Annotated[
    int | None, of_search("N", "Seed of the search: equal seeds give equal releases.", min=0)
]
Suppression = Annotated[
    str | None, of_search("SHARE", "Largest share of the rows that may be left out, such as 0.05.")
]
Target = Annotated[
    str | None,
    of_search("COLUMN", "A column to be predicted from the release; keeps related columns finer."),
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
    policy: PolicyFile = None,
    quasi: Annotated[str, option("A,B", "Without a policy: the quasi-identifiers.")] = "",
    sensitive: Annotated[str, option("C,D", "Without a policy: the sensitive attributes.")] = "",
) -> dict[str, Any]:
    """Reads the roles of columns from options; raises if none are given."""
    if policy is None and not quasi:
        raise UsageError(
            "neither a policy nor columns are given",
            hint="give --policy POLICY (draft one with `tclose init FILE`), "
            "or --quasi age,zip --sensitive disease",
        )
    return {"policy": policy, "quasi": quasi, "sensitive": sensitive}


def set_up_search(
    seconds: Seconds = None,
    effort: Effort = None,
    seed: Seed = None,
    suppression: Suppression = None,
    target: Target = None,
) -> dict[str, Any]:
    """How a release is searched for, whatever the method."""
    return {
        "seconds": seconds, "effort": effort, "seed": seed, "suppression": suppression,
        "target": target,
    }  # fmt: skip


def read_files(
    delimiter: Annotated[
        str | None,
        of_files("CHAR", "Delimiter of CSV files, such as ; or tab, if it is not detected."),
    ] = None,
    encoding: Annotated[
        str | None,
        of_files("NAME", "Encoding of CSV files, such as latin-1, if it is not detected."),
    ] = None,
    null: Annotated[
        list[str] | None,
        of_files("TEXT", "Text of CSV files that means a missing value, such as NA (repeatable)."),
    ] = None,
    memory: Annotated[
        str | None,
        of_files("SIZE", "Most memory for the table, such as 4GB; the rest goes to disk."),
    ] = None,
    cells: Annotated[
        int | None,
        of_files(
            "N",
            "Most distinct rows held in memory; a table with more is processed in parts.",
            min=1,
        ),
    ] = None,
    engine: Annotated[
        str | None, of_files("NAME", "Engine that reads and counts files: duckdb (default), spark.")
    ] = None,
    query: Annotated[
        str | None,
        of_files("SQL", "Use the result of this SELECT in the database at FILE as the table."),
    ] = None,
    sheet: Annotated[
        str | None, of_files("NAME", "Sheet of an Excel file, if not the first.")
    ] = None,
) -> Reading:
    """How the tables of a command are read."""
    mark = {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)
    return Reading(mark, encoding, ("", *(null or ())), memory, cells, engine, query, sheet)


DeclaredColumns = Annotated[dict[str, Any], Group(declare_columns)]
SearchOptions = Annotated[dict[str, Any], Group(set_up_search)]
ReadingOptions = Annotated[Reading, Group(read_files)]


def refuse_taken(paths: Iterable[object], *, force: bool, inputs: Iterable[object] = ()) -> None:
    """Raises where an output is an input; unless forced, where it exists or its folder does not."""
    from tclose.data.io.files import refuse_overwriting

    read = tuple(inputs)
    for path in paths:
        refuse_overwriting(path, read)
        if isinstance(path, Path):
            refuse_address(path)  # a password must not be shown
        if force or not isinstance(path, Path) or path == Path("-"):
            continue
        if path.is_file():
            hint = "choose another name, or overwrite it with --force"
            raise UsageError("the file exists already", where=str(path), hint=hint)
        if not path.absolute().parent.exists():
            hint = "create it first, or let --force create it"
            raise UsageError("there is no such folder", where=str(path.parent), hint=hint)


def refuse_picture(svg: Path, inputs: Iterable[object], *, force: bool) -> None:
    """Raises where a picture could not be drawn to a file, before any work is done for it."""
    from tclose.data.io.files import refuse_overwriting, refuse_unwritable

    refuse_unwritable(svg)
    refuse_overwriting(svg, inputs, "the picture")
    if svg.is_file() and not force:
        hint = "name another with --svg, or overwrite it with --force"
        raise UsageError("this picture exists already", where=str(svg), hint=hint)
    refuse_taken((svg,), force=force)


def read_pairs(
    texts: Iterable[str],
    where: str,
    example: str = "age=27",
    cut: Callable[[str, str], tuple[str, str, str]] = str.partition,
) -> dict[str, str]:
    """Names and values written as `a=1,b=2`; a pair with a comma in it stands in double quotes.

    >>> read_pairs(["age=27,zip=47678", '"city=Paris, Texas"'], "--person")
    {'age': '27', 'zip': '47678', 'city': 'Paris, Texas'}
    >>> read_pairs(["BMI >= 30=0.2"], "--prior", "flu=0.3", str.rpartition)
    {'BMI >= 30': '0.2'}
    """
    pairs: dict[str, str] = {}
    try:
        fields = [field for row in csv.reader(texts, skipinitialspace=True) for field in row]
    except csv.Error:
        hint = f"if it has a comma or a line end, in double quotes: '\"{example}\"'"
        raise UsageError("not written as NAME=VALUE", where=where, hint=hint) from None
    for field in fields:
        name, mark, value = (part.strip() for part in cut(field, "="))
        if not mark or not name:
            hint = f"such as {example}; if it has a comma, in double quotes: '\"{example}\"'"
            raise UsageError("not written as NAME=VALUE", where=where, hint=hint)
        if name in pairs:
            raise UsageError("a name is given twice", where=where)
        pairs[name] = value
    return pairs


def read_key(path: Path | None) -> bytes | None:
    """The secret key of the pseudonyms."""
    if path is None:
        return None
    try:
        key = read_small_file(path, may_be_pipe=True).strip()
    except OSError as error:
        raise UsageError(f"cannot be read ({error.strerror})", where=str(path)) from None
    if len(key) < 16:
        raise UsageError("a key needs at least 16 bytes", where=str(path))
    return key
