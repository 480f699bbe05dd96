"""The options of commands: what the help says of each, those that several commands share, groups.

A command names and types its options as any function does. What the help says of one stands in the
command's docstring, else in that of a group (`Group`) it belongs to, else in `SHARED`: a line
`--name, -n METAVAR: words`, with the parameter's own name before it where that differs, and `≥` and
a number after the metavar where there is a least. A line that ends in a colon begins a panel.
"""

from __future__ import annotations

import ast
import csv
import functools
import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_type_hints

import typer

from tclose.data.io.paths import Address, Reading, refuse_address
from tclose.errors import UsageError
from tclose.small_files import read_small_file

if TYPE_CHECKING:
    Place = Path | Address
else:
    # Typer knows no unions, and makes a Path of whatever is to be one: `place` says what it is.
    Place = Annotated[str, "place"]

F = TypeVar("F", bound=Callable[..., Any])

SHARED = """
FILE: The table: a CSV, Parquet, Arrow, Excel, Stata or SPSS file, a folder or a quoted pattern of
    files, or postgresql://host/database#table.
--policy, -p POLICY: The policy (TOML or JSON).
--output, -o OUT: The release: .csv, .csv.gz, .parquet, .arrow, .xlsx, .dta or .sav, or a new table,
    postgresql://…#table.
--original FILE: The table that the release was made from.
--certificate C: Also write a certificate (JSON) with the verified results.
--dictionary FILE: Also write a data dictionary (.md or .json): what was done to each column.
--key-file FILE: File with the secret key for pseudonyms (16 bytes or more). Default: a random key.
--population FILE: A table of the population, for k-map and δ-presence.
--key COLUMN: The column that links the rows of the tables. Default: order or values, if they tell.
--report FILE: Also write a report: .html, .pdf, .json or .txt; - prints it.
--edition NAME: Readers of the report: external (counts only), internal (also values of classes) or
    users of the data (what was done to each column).
--force: Overwrite existing files, create missing folders.
--attacks/--no-attacks: Whether the report includes attacks, which take time.
as_json --json: Print the result as one JSON object.
The search:
--method NAME: The search method; `tclose methods` lists them. Default: auto.
--seconds SECONDS≥0: Time limit of the search in seconds, instead of an effort.
--effort SECONDS≥0: Amount of work for the search, in seconds of an ordinary processor core.
    Default: grows with the table.
--seed N≥0: Seed of the search: equal seeds give equal releases.
--suppression SHARE: Largest share of the rows that may be left out, such as 0.05.
--target COLUMN: A column to be predicted from the release; keeps related columns finer.
--start-from PLAN: The plan of an earlier release of this table: where its classes keep the promise,
    the result loses no more than they do.
"""
PANEL = re.compile(r"([A-Z][\w ]+):")
ENTRY = re.compile(
    r"(?:(?:(?P<name>[a-z_]+) )?(?P<options>--[^ ,:]+(?:, -[^ ,:]+)*)"
    r"(?: (?P<metavar>[^ ≥]+)(?:≥(?P<least>\d+))?)?|(?P<argument>[A-Z]+)): (?P<words>.+)"
)


def place(text: str) -> Place:
    """A file, or the address of a table in a database."""
    return Address.of(text) or Path(text)


def read_entries(text: str) -> tuple[str, dict[str, dict[str, Any]]]:
    """The text before the first entry, and what each entry says of its parameter.

    >>> read_entries("Greets.\\n\\n--by NAME: Who does.\\nHow loud:\\n--as-if, -a N≥1: Louder.")[1]
    {'by': {'names': ['--by'], 'metavar': 'NAME', 'help': 'Who does.'}, \
'as_if': {'names': ['--as-if', '-a'], 'metavar': 'N', 'help': 'Louder.', 'min': 1, \
'rich_help_panel': 'How loud'}}
    """
    prose: list[str] = []
    entries: dict[str, dict[str, Any]] = {}
    panel, last = "", ""
    for line in inspect.cleandoc(text).splitlines():
        if found := ENTRY.fullmatch(line):
            names = (found["options"] or "").split(", ")
            last = found["name"] or names[0].split("/")[0].lstrip("-").replace("-", "_")
            entry: dict[str, Any] = {"names": names, "metavar": found["metavar"] or ""}
            if found["argument"]:
                last, entry = found["argument"].lower(), {"metavar": found["argument"]}
            entries[last] = entry | {"help": found["words"]}
            if found["least"]:
                entries[last]["min"] = int(found["least"])
            if panel:
                entries[last]["rich_help_panel"] = panel
        elif begun := PANEL.fullmatch(line):
            panel = begun[1]
        elif line and entries:
            entries[last]["help"] += f" {line.strip()}"
        else:
            prose.append(line)
    return "\n".join(prose).strip(), entries


SHARED_ENTRIES = read_entries(SHARED)[1]


@dataclass(frozen=True)
class Group:
    """Marks a parameter of a command that `make` puts together from options, its own parameters."""

    make: Callable[..., Any]


def read_docstring(function: Callable[..., Any]) -> str:
    """The docstring of a function, which `python -OO` leaves in the source only."""
    if function.__doc__ is not None:
        return function.__doc__
    (found,) = ast.parse(inspect.getsource(function)).body
    assert isinstance(found, ast.FunctionDef)
    return ast.get_docstring(found) or ""


def describe(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a command or a group as typer reads them, with what the help says of each.

    Those that say so themselves, and those that are groups, stay as they are.
    """
    entries, types = read_entries(read_docstring(function))[1], get_type_hints(function)
    described = []
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        kind = parameter.annotation
        if not hasattr(kind, "__metadata__") or kind == Place:
            entry = dict(entries.get(name) or SHARED_ENTRIES[name])
            if _names_place(kind):
                entry["parser"] = place
            if (names := entry.pop("names", None)) is None:
                parameter_info = typer.Argument(show_default=False, **entry)
            else:
                parameter_info = typer.Option(*names, **entry)
            kind = Annotated[types[name], parameter_info]
        described.append(parameter.replace(annotation=kind))
    return described


def _names_place(kind: Any) -> bool:
    return kind == Place or any(map(_names_place, get_args(kind)))


def ungroup(command: F) -> F:
    """The command as typer is to read it: the options of each group in the place of the group.

    >>> def area(wide: int = 1, high: int = 1) -> int:
    ...     "Multiplies.\\n\\n--wide N: Width.\\n--high N: Height."
    ...     return wide * high
    >>> @ungroup
    ... def tell(name: str, *, size: Annotated[int, Group(area)]) -> str:
    ...     "Tells.\\n\\nNAME: Of what."
    ...     return f"{name}: {size}"
    >>> list(inspect.signature(tell).parameters)
    ['name', 'wide', 'high']
    >>> tell(name="a room", wide=4, high=3)
    'a room: 12'
    """
    groups: dict[str, Group] = {}
    options: list[inspect.Parameter] = []
    parts: dict[str, list[str]] = {}
    for parameter in describe(command):
        marks = getattr(parameter.annotation, "__metadata__", ())
        if group := next((mark for mark in marks if isinstance(mark, Group)), None):
            groups[parameter.name], inner = group, describe(group.make)
            parts[parameter.name] = [option.name for option in inner]
        else:
            inner = [parameter]
        options += (option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in inner)

    @functools.wraps(command)
    def run(**given: Any) -> Any:
        made = {
            name: group.make(**{option: given.pop(option) for option in parts[name]})
            for name, group in groups.items()
        }
        return command(**given, **made)

    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return run  # type: ignore[return-value]


def declare_columns(
    policy: Path | None = None, quasi: str = "", sensitive: str = ""
) -> dict[str, Any]:
    """Reads the roles of columns from options; raises if none are given.

    --quasi A,B: Without a policy: the quasi-identifiers.
    --sensitive C,D: Without a policy: the sensitive attributes.
    """
    if policy is None and not quasi:
        raise UsageError(
            "neither a policy nor columns are given",
            hint="give --policy POLICY (draft one with `tclose init FILE`), "
            "or --quasi age,zip --sensitive disease",
        )
    return {"policy": policy, "quasi": quasi, "sensitive": sensitive}


def set_up_search(
    seconds: float | None = None,
    effort: float | None = None,
    seed: int | None = None,
    suppression: str | None = None,
    target: str | None = None,
) -> dict[str, Any]:
    """How a release is searched for, whatever the method."""
    return {
        "seconds": seconds, "effort": effort, "seed": seed, "suppression": suppression,
        "target": target,
    }  # fmt: skip


def read_files(
    delimiter: str | None = None,
    encoding: str | None = None,
    null: list[str] | None = None,
    memory: str | None = None,
    cells: int | None = None,
    engine: str | None = None,
    query: str | None = None,
    sheet: str | None = None,
) -> Reading:
    """How the tables of a command are read.

    How files are read:
    --delimiter CHAR: Delimiter of CSV files, such as ; or tab, if it is not detected.
    --encoding NAME: Encoding of CSV files, such as latin-1, if it is not detected.
    --null TEXT: Text of CSV files that means a missing value, such as NA (repeatable).
    --memory SIZE: Most memory for the table, such as 4GB; the rest goes to disk.
    --cells N≥1: Most distinct rows held in memory; a table with more is processed in parts.
    --engine NAME: Engine that reads and counts files: duckdb (default), spark.
    --query SQL: Use the result of this SELECT in the database at FILE as the table.
    --sheet NAME: Sheet of an Excel file, if not the first.
    """
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
