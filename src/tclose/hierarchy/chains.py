"""From rows of labels (value first, root last) to one tree of parent links, or a clear refusal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, pairwise
from typing import NoReturn

from tclose.errors import HierarchyError
from tclose.hierarchy.place import place

_ROOT_HINT = "end every row with the same label, for example a last column `*`"


@dataclass(frozen=True)
class Links:
    """The label above each label, in order of first appearance, and the one above all."""

    parent: Mapping[str, str]
    root: str


@dataclass(frozen=True)
class _Rows:
    """All rows: as they were given, without their padding, and the line of each."""

    given: Sequence[Sequence[str]]
    paths: Sequence[Sequence[str]]
    lines: Sequence[int]
    column: str

    def place(self, row: int, level: int) -> str:
        return place(self.column, line=self.lines[row], level=level)


def link(chains: Iterable[Sequence[str]], column: str, lines: Iterable[int] | None = None) -> Links:
    """Join rows of labels into one tree.

    Equal neighbours in a row are padding and count once. Every row ends in the same root and every
    other label has exactly one label above it, so walking up from any label follows a row to the
    root: there can be no cycle.

    >>> link([["cat", "animal", "*"], ["oak", "oak", "*"]], "kind").parent
    {'cat': 'animal', 'animal': '*', 'oak': '*'}
    """
    rows = _rows(list(chains), column, lines)
    root = _root(rows.paths)
    parent: dict[str, str] = {}
    first: dict[str, int] = {}
    for row, path in enumerate(rows.paths):
        if path[-1] != root:
            _refuse_root(row, root, rows)
        earlier = first.setdefault(path[0], row)
        if earlier != row:
            _refuse_duplicate(earlier, row, rows)
        for child, above in pairwise(path):
            if parent.setdefault(child, above) != above:
                _refuse_second_parent(child, above, row, rows, parent)
    return Links(parent, root)


def _rows(given: Sequence[Sequence[str]], column: str, lines: Iterable[int] | None) -> _Rows:
    if not given:
        raise HierarchyError("the hierarchy is empty", where=place(column), hint=_ROOT_HINT)
    numbers = range(1, len(given) + 1) if lines is None else list(lines)
    if len(numbers) != len(given):
        raise HierarchyError("there must be one line number per row", where=place(column))
    for line, row in zip(numbers, given, strict=True):
        if not row or isinstance(row, str):
            what = "the row is one text, not a list" if row else "the row holds no labels"
            raise HierarchyError(what, where=place(column, line=line))
    _check_labels(given, column, numbers)
    paths = [_path(row, line, column) for row, line in zip(given, numbers, strict=True)]
    return _Rows(given, paths, numbers, column)


def _check_labels(given: Sequence[Sequence[str]], column: str, lines: Sequence[int]) -> None:
    """Refuse labels that are no readable text. Each is looked at once, a bad one then found."""
    faults = {label: _fault(label) for label in set(chain.from_iterable(given))}
    if not any(faults.values()):
        return
    for line, row in zip(lines, given, strict=True):
        for level, label in enumerate(row):
            if faults[label]:
                raise HierarchyError(
                    f"the label {faults[label]}",
                    where=place(column, line=line, level=level),
                    hint="labels are text; give numbers and dates in their text form",
                )


def _fault(label: object) -> str:
    if not isinstance(label, str):
        return "is not text"
    if not label.strip():
        return "is blank"
    return "holds a NUL character" if "\0" in label else ""


def _path(row: Sequence[str], line: int, column: str) -> Sequence[str]:
    """The row without its padding; no label may return after another one."""
    distinct = len(set(row))
    if distinct == len(row):
        return row
    path = [label for label, _ in groupby(row)]
    if len(path) != distinct:
        raise HierarchyError(
            "a cycle: the label stands above itself in this row",
            where=place(column, line=line, level=_returning(row)),
            hint="use a label on neighbouring levels only",
        )
    return path


def _returning(row: Sequence[str]) -> int:
    """The level on which a label returns after another one has stood between."""
    return next(
        level
        for level in range(2, len(row))
        if row[level] != row[level - 1] and row[level] in row[:level]
    )


def _root(paths: Sequence[Sequence[str]]) -> str:
    """The end of the first row that has something above its value; else the only label there is."""
    return next((path[-1] for path in paths if len(path) > 1), paths[0][-1])


def _refuse_root(row: int, root: str, rows: _Rows) -> NoReturn:
    if len(rows.paths[row]) == 1:
        what = "the row holds a value and nothing above it"
    else:
        other = next(i for i, path in enumerate(rows.paths) if path[-1] == root)
        what = f"there is more than one root: the row does not end like line {rows.lines[other]}"
    where = rows.place(row, len(rows.given[row]) - 1)
    raise HierarchyError(what, where=where, hint=_ROOT_HINT)


def _refuse_duplicate(earlier: int, row: int, rows: _Rows) -> NoReturn:
    same = list(rows.paths[earlier]) == list(rows.paths[row])
    raise HierarchyError(
        f"the value has a row on line {rows.lines[earlier]} already"
        + (", an identical one" if same else ", and the two disagree"),
        where=rows.place(row, 0),
        hint="keep one row per value",
    )


def _refuse_second_parent(
    child: str, above: str, row: int, rows: _Rows, parent: Mapping[str, str]
) -> NoReturn:
    earlier = next(i for i, path in enumerate(rows.paths) if child in path[:-1])
    seen = f"line {rows.lines[earlier]}, level {rows.given[earlier].index(child)}"
    if _stands_above(child, above, parent):
        what = f"a cycle: the label is below another here, and above it elsewhere (see {seen})"
    else:
        what = f"the label has two different labels above it, here and on {seen}"
    raise HierarchyError(
        what,
        where=rows.place(row, rows.given[row].index(child)),
        hint="every label has one label above it; give two different groups different names",
    )


def _stands_above(upper: str, lower: str, parent: Mapping[str, str]) -> bool:
    """Whether walking up from `lower` meets `upper`; the links so far are a forest, so it ends."""
    label: str | None = lower
    while label is not None and label != upper:
        label = parent.get(label)
    return label is not None
