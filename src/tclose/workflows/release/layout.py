"""Which columns of a split release go together, and which file holds what."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tclose.data.binding import BoundTable
from tclose.data.io.paths import find_files
from tclose.data.io.records import Form, Layout, LayoutFile
from tclose.errors import UsageError, nearest
from tclose.search.anatomy import Sets, find_associated, join_columns

KINDS = ("csv", "parquet", "arrow")


def choose_suffix(kind: str | None, data: Any) -> str:
    """The suffix of the files: the one asked for, else that of the input file."""
    if kind is None:
        found = find_files(Path(data)).kind if isinstance(data, str | Path) else "text"
        kind = found if found in KINDS else "csv"
    if kind not in KINDS:
        raise UsageError(f"tables are written as {', '.join(KINDS)}", where="--kind")
    return f".{kind}"


def choose_sets(bound: BoundTable, form: Form, given: Sequence[Sequence[str]] | None) -> Sets:
    """The sets of columns that are published together: those given, else associated columns."""
    quasi, sensitive = bound.classes.quasi, tuple(bound.attributes)
    names = (*quasi, *sensitive) if form == "slicing" else sensitive
    joint = [promise.columns for promise in bound.policy.joint]
    if given is not None:
        _refuse_sets(bound, names, given)
        made = join_columns(names, given)
        for columns in joint:
            if not any(set(columns) <= set(part) for part in made):
                what = f"a joint promise is about {', '.join(columns)}, which are in different sets"
                raise UsageError(what, where="sets", hint="name them in one set")
        return made
    if form == "anatomy":
        return join_columns(names, joint)
    parted = find_associated(bound.cells, sensitive, joint)
    return (*find_associated(bound.cells, quasi), *parted) if form == "slicing" else parted


def lay_out(bound: BoundTable, form: Form, sets: Sets, suffix: str) -> Layout:
    """The files of a form, their columns, and the columns that are added."""
    taken = set(bound.source.columns)
    group, count = _find_free("group", taken), _find_free("count", taken)
    sensitive = [names for names in sets if set(names) <= set(bound.attributes)]
    if form == "slicing":
        sliced = LayoutFile(file=f"sliced{suffix}", role="sliced", columns=tuple(bound.attributes))
        return Layout(form=form, group=group, parts=(sliced,), sets=sets)
    if form == "projections":
        projections = tuple(
            LayoutFile(file=f"projection-{at}{suffix}", role="projection", columns=names)
            for at, names in enumerate(sensitive, 1)
        )
        return Layout(form=form, parts=projections, sets=sets)
    files = _number_alike([f"sensitive-{_plain('-'.join(names))}" for names in sensitive])
    parts = [LayoutFile(file=f"quasi{suffix}", role="quasi", columns=())]
    parts += [
        LayoutFile(file=f"{file}{suffix}", role="sensitive", columns=names)
        for file, names in zip(files, sensitive, strict=True)
    ]
    return Layout(form=form, group=group, count=count, parts=tuple(parts), sets=sets)


def _refuse_sets(bound: BoundTable, names: Sequence[str], given: Sequence[Sequence[str]]) -> None:
    listed = [name for group in given for name in group]
    for name in listed:
        if name not in names:
            what = f"{name!r} is no column that can be put into a set"
            raise UsageError(what, where="sets", hint=nearest(name, names))
    if len(set(listed)) < len(listed):
        raise UsageError("a column is named twice", where="sets", hint="sets must be disjoint")
    for group in given:
        inside = [name in bound.attributes for name in group]
        if any(inside) and not all(inside):
            raise UsageError(
                "a set has both quasi-identifiers and sensitive attributes, whose links are to be "
                "broken",
                where="sets",
                hint="name them in different sets",
            )


def _find_free(name: str, taken: set[str]) -> str:
    """A column's name that the table does not have."""
    while name in {column.lower() for column in taken}:
        name += "_"
    return name


def _plain(name: str) -> str:
    """A name that any file system takes: "the illness, in short" is the-illness-in-short."""
    return re.sub(r"[^\w-]+", "-", name, flags=re.ASCII).strip("-").lower() or "attribute"


def _number_alike(names: Sequence[str]) -> list[str]:
    """The names, numbered where two are alike: a, b, a-2."""
    made: list[str] = []
    for name in names:
        number, unique = 2, name
        while unique in made:
            unique, number = f"{name}-{number}", number + 1
        made.append(unique)
    return made
