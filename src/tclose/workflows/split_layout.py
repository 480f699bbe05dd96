"""Which columns of a release in several tables go together, and which file holds what."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tclose.data import BoundTable
from tclose.data.io.records import Form, Layout, LayoutFile
from tclose.errors import UsageError, nearest
from tclose.search.anatomy import Sets, find_associated, join_columns


def choose_sets(bound: BoundTable, form: Form, given: Sequence[Sequence[str]] | None) -> Sets:
    """The columns that are published together: as given, or those that go together."""
    quasi, sensitive = bound.classes.quasi, tuple(bound.attributes)
    names = (*quasi, *sensitive) if form == "slicing" else sensitive
    joint = [promise.columns for promise in bound.policy.joint]
    if given is not None:
        _refuse_sets(bound, names, given)
        made = join_columns(names, given)
        for columns in joint:
            if not any(set(columns) <= set(part) for part in made):
                raise UsageError(
                    f"a joint promise is about {', '.join(columns)}, which are in different sets",
                    where="sets",
                    hint="name them in one set",
                )
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
            raise UsageError(
                f"{name!r} is no column that can be put into a set",
                where="sets",
                hint=nearest(name, names),
            )
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
    lower = {column.lower() for column in taken}
    while name in lower:
        name += "_"
    return name


def _plain(name: str) -> str:
    """A name that any file system takes.

    >>> _plain("the illness, in short")
    'the-illness-in-short'
    """
    return re.sub(r"[^\w-]+", "-", name, flags=re.ASCII).strip("-").lower() or "attribute"


def _number_alike(names: Sequence[str]) -> list[str]:
    """The names, numbered where two are alike.

    >>> _number_alike(["a", "b", "a"])
    ['a', 'b', 'a-2']
    """
    made: list[str] = []
    for name in names:
        number, unique = 2, name
        while unique in made:
            unique, number = f"{name}-{number}", number + 1
        made.append(unique)
    return made
