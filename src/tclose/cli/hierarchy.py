"""tclose hierarchy: preview or export a generalization hierarchy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tclose.cli import options
from tclose.cli.console import guarded, say
from tclose.errors import HierarchyError, PolicyError, UsageError, nearest
from tclose.hierarchy import Hierarchy, arx, preview

app = typer.Typer(help="Preview or export a generalization hierarchy.", no_args_is_help=True)

FileArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="A table (with --column), or a hierarchy file (leaf first, root last).",
        show_default=False,
    ),
]
ColumnName = Annotated[str | None, typer.Option("--column", "-c", help="The table's column.")]
Widths = Annotated[str | None, typer.Option(metavar="5,10,20", help="Build from interval widths.")]
Cuts = Annotated[
    str | None, typer.Option(metavar="18,40,65/40", help="Build from cut points, levels by /.")
]
Prefix = Annotated[str | None, typer.Option(metavar="4,3,2,0", help="Build from kept characters.")]
Dates = Annotated[str | None, typer.Option(metavar="month,year", help="Build from the calendar.")]


@app.command("preview")
@guarded
def preview_command(
    file: FileArgument,
    policy: options.PolicyFile = None,
    column: ColumnName = None,
    intervals: Widths = None,
    cuts: Cuts = None,
    prefix: Prefix = None,
    dates: Dates = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
) -> None:
    """Draw the tree of a hierarchy file, of a policy's column, or of a builder."""
    built = _built(intervals, cuts, prefix, dates)
    typer.echo(preview(_hierarchy(file, policy, column, built, delimiter, encoding)))


@app.command("export")
@guarded
def export_command(
    file: FileArgument,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="CSV", help="Where to write.")],
    policy: options.PolicyFile = None,
    column: ColumnName = None,
    intervals: Widths = None,
    cuts: Cuts = None,
    prefix: Prefix = None,
    dates: Dates = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
) -> None:
    """Write the hierarchy as CSV: no header, leaf first, root last, `;` between."""
    from tclose.table.write import refuse_overwriting, write_atomically

    refuse_overwriting(output, (file, policy))
    built = _built(intervals, cuts, prefix, dates)
    tree = _hierarchy(file, policy, column, built, delimiter, encoding)
    write_atomically(output, lambda part: arx.write(tree, part))
    say(f"{output}: {len(tree.leaves):,} leaves, {tree.levels} levels")


def _built(
    intervals: str | None, cuts: str | None, prefix: str | None, dates: str | None
) -> dict[str, Any] | None:
    """The builder that the options ask for, as a policy would write it."""
    given: dict[str, Any] = {}
    if intervals is not None:
        given["intervals"] = intervals.split(",")
    if cuts is not None:
        given["cuts"] = [level.split(",") for level in cuts.split("/")]
    if prefix is not None:
        given["prefix"] = prefix.split(",")
    if dates is not None:
        given["dates"] = [level.strip() for level in dates.split(",")]
    return given or None


def _hierarchy(
    file: Path,
    policy: Path | None,
    column: str | None,
    built: dict[str, Any] | None,
    delimiter: str | None,
    encoding: str | None,
) -> Hierarchy:
    if column is None:
        if policy is not None or built is not None:
            raise UsageError("which column?", hint="name it with --column")
        return _from_file(file, delimiter)
    from tclose.policy.load import parse_policy, read_raw
    from tclose.table.cells import count_cells
    from tclose.table.hierarchies import resolve

    base = Path() if policy is None else policy.parent
    source = options.reading(delimiter, encoding, None, None).open(file)
    if column not in source.columns:
        raise UsageError(
            f"the table has no column {column!r}",
            where=source.name,
            hint=nearest(column, source.columns),
        )
    if built is not None:
        raw: Any = {"columns": {column: {"role": "quasi", "hierarchy": built}}}
    elif policy is not None:
        raw = read_raw(policy)
    else:
        raise UsageError(
            "which hierarchy?", hint="give --policy, or a builder such as --intervals 5,10,20"
        )
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
    labels = count_cells(source, [column]).dictionaries[column].labels
    return resolve(declared.hierarchy, column, labels, base)


def _from_file(file: Path, delimiter: str | None) -> Hierarchy:
    try:
        return arx.read(file, file.name, delimiter)
    except HierarchyError as error:
        hint = f"{error.hint}; if this is a table, name a column of it with --column"
        where = error.where.replace(f"hierarchy of column {file.name!r}", str(file))
        raise HierarchyError(error.what, where=where, hint=hint) from None
