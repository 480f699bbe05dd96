"""tclose hierarchy: preview or export a generalization hierarchy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tclose.cli import console, options
from tclose.data.io.paths import Reading
from tclose.errors import HierarchyError, PolicyError, UsageError, nearest

if TYPE_CHECKING:
    from tclose.hierarchy.tree import Hierarchy

app = typer.Typer(help="Preview or export a generalization hierarchy.", no_args_is_help=True)


def _build(
    intervals: str | None = None,
    cuts: str | None = None,
    prefix: str | None = None,
    dates: str | None = None,
    builtin: str | None = None,
) -> dict[str, Any] | None:
    """The builder that the options ask for, as a policy would write it.

    --intervals 5,10,20: Build from widths of intervals, narrow to wide.
    --cuts 18,40,65/40: Build from cut points; / separates levels.
    --prefix 4,3,2,0: Build from the number of first characters that each level keeps.
    --dates month,year: Build from units of the calendar.
    --builtin NAME: Use a built-in hierarchy; `tclose hierarchy builtin` lists them.
    """
    given: dict[str, Any] = {}
    if intervals is not None:
        given["intervals"] = intervals.split(",")
    if cuts is not None:
        given["cuts"] = [level.split(",") for level in cuts.split("/")]
    if prefix is not None:
        given["prefix"] = prefix.split(",")
    if dates is not None:
        given["dates"] = [level.strip() for level in dates.split(",")]
    if builtin is not None:
        given["builtin"] = builtin
    return given or None


Builder = Annotated[dict[str, Any] | None, options.Group(_build)]


@app.command("preview")
@console.guard
def preview_command(
    file: options.Place,
    policy: Path | None = None,
    column: str | None = None,
    *,
    builder: Builder,
    reading: options.ReadingOptions,
) -> None:
    """Show the tree of a hierarchy file, of a column in a policy, or of generated groups.

    FILE: A table (with --column), or a hierarchy file (leaf first, root last).
    --column, -c COLUMN: The column of the table.
    """
    from tclose.hierarchy.preview import preview

    console.echo(preview(_hierarchy(file, policy, column, builder, reading)))


@app.command("export")
@console.guard
def export_command(
    file: options.Place,
    output: Path,
    policy: Path | None = None,
    column: str | None = None,
    *,
    builder: Builder,
    reading: options.ReadingOptions,
    force: bool = False,
) -> None:
    """Write a hierarchy as CSV: no header, leaf first, root last, separated by `;`.

    FILE: A table (with --column), or a hierarchy file (leaf first, root last).
    --output, -o CSV: The file to write.
    --column, -c COLUMN: The column of the table.
    """
    options.refuse_taken((output,), force=force, inputs=(file, policy))
    _write(_hierarchy(file, policy, column, builder, reading), output)


@app.command("builtin")
@console.guard
def builtin_command(
    name: str | None = None, output: Path | None = None, force: bool = False
) -> None:
    """List the built-in hierarchies, print one, or write it as CSV.

    A policy names one by `hierarchy = { builtin = "icd10" }`.

    NAME: Name of the hierarchy. Default: list all.
    --output, -o CSV: A file for the whole hierarchy.
    """
    from tclose.hierarchy.builtin import describe_builtin, list_builtins
    from tclose.hierarchy.preview import preview

    if name is None:
        if output is not None:
            raise UsageError("no hierarchy is named", hint="name one before --output")
        rows = [(known, *describe_builtin(known)[:2]) for known in list_builtins()]
        console.print_table("Built-in hierarchies", ("name", "what it groups", "version"), rows)
        return
    if name not in list_builtins():
        hint = nearest(name, list_builtins()) or f"there are {', '.join(list_builtins())}"
        raise UsageError("there is no such built-in hierarchy", where=name, hint=hint)
    tree = _build_listed(name)
    if output is None:
        for word, text in zip(("", "version: ", "source: "), describe_builtin(name), strict=True):
            console.echo(f"# {word}{text}")
        console.echo(preview(tree))
        return
    options.refuse_taken((output,), force=force)
    _write(tree, output)


def _write(tree: Hierarchy, output: Path) -> None:
    from tclose.data.io.files import write_atomically
    from tclose.hierarchy import arx

    write_atomically(output, lambda part: arx.write(tree, part))
    console.say(f"{output}: {len(tree.leaves):,} leaves, {tree.levels} levels")


def _build_listed(name: str) -> Hierarchy:
    """The tree of everything that a built-in hierarchy lists: of bands, of a century."""
    from tclose.data.binding import make_hierarchy
    from tclose.hierarchy.builtin import AS_BUILDER, find_builtin
    from tclose.policy.columns import HierarchySpec

    if name not in AS_BUILDER:
        values = list(find_builtin(name).listed)
    elif name == "ages":
        values = [str(age) for age in range(121)]
    else:
        values = [f"{year}-01-01" for year in range(1920, 2030)]
    return make_hierarchy(HierarchySpec(builtin=name), name, values, Path())


def _hierarchy(
    file: options.Place,
    policy: Path | None,
    column: str | None,
    built: dict[str, Any] | None,
    reading: Reading,
) -> Hierarchy:
    if column is None:
        if policy is not None or built is not None:
            raise UsageError("no column is named", hint="name one with --column")
        return _from_file(file, reading)
    from tclose.data.binding import make_hierarchy
    from tclose.data.cleaning import apply_cleanings
    from tclose.data.encode.cells import count_cells
    from tclose.data.opening import open_source
    from tclose.policy.load import parse_policy, read_raw

    base = Path() if policy is None else policy.parent
    reading.refuse_idle_query(file)
    source = open_source(file, reading)
    if column not in source.columns:
        hint = nearest(column, source.columns)
        raise UsageError(f"the table has no column {column!r}", where=source.name, hint=hint)
    if built is not None:
        raw: Any = {"columns": {column: {"role": "quasi", "hierarchy": built}}}
    elif policy is not None:
        raw = read_raw(policy)
    else:
        hint = "give --policy, or a builder such as --intervals 5,10,20"
        raise UsageError("no hierarchy is given", hint=hint)
    checked, problems = parse_policy(raw)
    declared = None if checked is None else checked.columns.get(column)
    if declared is None and problems:
        raise PolicyError(problems)
    if declared is None or declared.hierarchy is None:
        raise UsageError(
            f"the policy gives column {column!r} no hierarchy",
            where=str(policy),
            hint="add one there, or try a builder such as --intervals 5,10,20",
        )
    if checked is not None:
        source = apply_cleanings(source, checked)
    labels = count_cells(source, [column]).dictionaries[column].labels
    return make_hierarchy(declared.hierarchy, column, labels, base)


def _from_file(file: options.Place, reading: Reading) -> Hierarchy:
    if not isinstance(file, Path):
        raise UsageError("no column is named", where=file.name, hint="name one with --column")
    if reading != Reading(delimiter=reading.delimiter):
        raise UsageError(
            "of a hierarchy file only the delimiter can be given; it is UTF-8 text without gaps",
            where=str(file),
            hint="if this is a table, name a column of it with --column",
        )
    from tclose.hierarchy import arx

    try:
        return arx.read(file, file.name, reading.delimiter)
    except HierarchyError as error:
        hint = f"{error.hint}; if this is a table, name a column of it with --column"
        where = error.where.replace(f"hierarchy of column {file.name!r}", str(file))
        raise HierarchyError(error.what, where=where, hint=hint) from None
