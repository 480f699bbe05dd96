"""A release held against its original: rows that belong together, by a key or by their order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.arrays import Flags, Floats, Ints
from tclose.data.binding import BoundTable
from tclose.data.encode.columns import MISSING, Dictionary
from tclose.data.encode.coverage import Covering, cover_classes
from tclose.data.source import Source
from tclose.distance.histogram import add_by_group, group_codes
from tclose.distance.registry import Attribute
from tclose.errors import DataError, UsageError, nearest

MOST_TRIED = 2_000_000_000
"""How many rows × classes are tried where rows are linked by their values."""


@dataclass(frozen=True)
class LinkedRows:
    """Pairs of cells of two tables, and how many people are in both."""

    first: Ints
    second: Ints
    rows: Ints

    @property
    def n_rows(self) -> int:
        """How many people were linked."""
        return int(self.rows.sum())


def link_rows(first: BoundTable, second: BoundTable, key: str | None = None) -> LinkedRows | None:
    """Links the rows of two tables by a key, or by their order where both have equally many.

    None where there is no key and the numbers of rows differ: nothing then says who is who. That
    rows in equal places are of equal people is the caller's claim; whoever uses it checks what can
    be checked.
    """
    mine, theirs, each = locate_rows(first), locate_rows(second), _row_counts(second)
    if key is not None:
        at = _find_keys(first.source, second.source, key)
        shared = np.flatnonzero(at >= 0)
        mine, theirs, each = mine[at[shared]], theirs[shared], each[shared]
    elif len(mine) != len(theirs):
        return None
    label, sample = group_codes([mine, theirs])
    return LinkedRows(mine[sample], theirs[sample], add_by_group(each, label, len(sample)))


def link_people(
    first: BoundTable, second: BoundTable, key: str | None = None, *, may_differ: bool = False
) -> LinkedRows:
    """Links the rows of two releases as `link_rows` does.

    Raises where nothing says who is who, and where one person's sensitive values differ, unless
    they may. Equal places say nothing where releases are shuffled, which the policy's
    `release.rows` tells: equal sensitive values at equal places may be of different people. Only
    the same rows once more are certain to be of the same people.
    """
    linked, where = link_rows(first, second, key), second.source.name
    if linked is None:
        raise UsageError(
            "the releases have different numbers of rows, so it is not known whose row is whose",
            where=where,
            hint="name a column in both that tells rows apart (key)",
        )
    if not may_differ and not values_agree(first, second, linked):
        raise DataError(
            "rows linked to the same person differ in a sensitive value",
            where=where,
            hint="releases are shuffled by default; name a column that tells rows apart (key)",
        )
    is_kept = first.policy.release.rows == "keep"
    if key is None and not is_kept and not _are_alike(first, second, linked):
        raise UsageError(
            "releases are shuffled by default, so their order does not say whose row is whose",
            where=where,
            hint="name a column in both that tells rows apart (key); if both keep the order of "
            'the table, say so in the policy: release.rows = "keep"',
        )
    return linked


def _are_alike(first: BoundTable, second: BoundTable, linked: LinkedRows) -> bool:
    """Whether linked rows have equal quasi-identifiers."""
    return all(
        np.array_equal(
            np.array([*mine.labels, None], dtype=object)[first.cells.codes[name][linked.first]],
            np.array([*theirs.labels, None], dtype=object)[second.cells.codes[name][linked.second]],
        )
        for name in first.classes.quasi
        for mine, theirs in [(first.cells.dictionaries[name], second.cells.dictionaries[name])]
    )


def find_classes_of_rows(
    first: BoundTable, second: BoundTable, key: str | None = None
) -> Ints | None:
    """The class of the second table that the person of each row of the first is in, −1: none.

    Rows are linked as `link_rows` does; None where nothing says who is who.
    """
    theirs = second.classes.cell_class[locate_rows(second)]
    if key is None:
        return theirs if len(theirs) == first.cells.n_rows else None
    at = _find_keys(first.source, second.source, key)
    found = np.full(first.cells.n_rows, -1, dtype=np.int64)
    found[at[at >= 0]] = theirs[at >= 0]
    return found


@dataclass(frozen=True)
class Alignment:
    """A release aligned with its original: what its classes cover, and which row is whose."""

    original: BoundTable
    release: BoundTable
    covering: Covering
    linked: LinkedRows | None
    in_order: bool = False
    """Whether the rows of the release stand in the original's order, as far as anybody can see."""
    key: str | None = None
    """The column by which rows are linked, if by one."""

    def find_classes(self) -> Ints | None:
        """The class that each row of the original is in, −1: none; None: not known."""
        if self.linked is None:
            return None
        if self.key is not None or self.in_order:
            return find_classes_of_rows(self.original, self.release, self.key)
        label = np.full(len(self.original.cells.rows), -1, dtype=np.int64)
        label[self.linked.first] = self.release.classes.cell_class[self.linked.second]
        return label[locate_rows(self.original)]

    @property
    def central(self) -> bool:
        """Whether classes are released by a central value rather than by a range."""
        return not self.release.policy.release.covers_values

    @property
    def original_codes(self) -> Ints:
        """[cells of the original, sensitive attributes]: the code of each value; 0 without any."""
        codes = self.original.classes.cell_codes
        columns = [codes[name] for name in self.original.attributes]
        return np.stack(columns or [np.zeros(len(self.original.cells.rows), np.int64)], axis=1)

    @property
    def release_codes(self) -> Ints:
        """The release's cells in codes of the original; negative for values that it lacks."""
        codes = self.release.classes.cell_codes
        columns = [
            translate_codes(self.release.attributes[name], attribute)[codes[name]]
            for name, attribute in self.original.attributes.items()
        ]
        return np.stack(columns or [np.zeros(len(self.release.cells.rows), np.int64)], axis=1)

    def number_combinations(self) -> tuple[Ints, Ints]:
        """One number per combination of sensitive values, in both tables; −1: only released."""
        mine, theirs = self.original_codes, self.release_codes
        label, _ = group_codes(list(np.concatenate([mine, theirs]).T))
        known = label[: len(mine)]
        number = np.full(int(label.max()) + 1, -1, dtype=np.int64)
        distinct = np.unique(known)
        number[distinct] = np.arange(len(distinct))
        return number[known], number[label[len(mine) :]]

    @cached_property
    def tuples(self) -> tuple[Ints, Ints]:
        """The number of each original cell's quasi-identifiers, and the places of each such."""
        names = self.release.classes.quasi
        number, first = group_codes([self.original.cells.codes[name] for name in names])
        return number, self.covering.places(self.original.cells)[first]

    def spread(self, drawn: Flags, density: Floats, *amounts: Floats) -> tuple[Ints, list[Floats]]:
        """The original's cells with the `drawn` tuples; and for each of some amounts per released
        cell, the amount that classes covering such a cell have with its sensitive values, times the
        density of the class.
        """
        (number, places), (mine, theirs) = self.tuples, self.number_combinations()
        order = np.argsort(number, kind="stable")
        order = order[drawn[number[order]]]
        start = np.searchsorted(number[order], np.append(np.flatnonzero(drawn), len(drawn)))
        owner = self.release.classes.cell_class
        inside = np.lexsort((theirs, owner))
        of_class = np.searchsorted(owner[inside], np.arange(self.release.classes.count + 1))
        cells = (places[drawn], start.astype(np.int64), mine[order])
        offered = (of_class.astype(np.int64), theirs[inside])
        grid = self.covering.grid
        return order, [
            grid.spread_rows(*cells, *offered, np.ascontiguousarray(each[inside]), density)
            for each in amounts
        ]


def align(
    original: BoundTable,
    release: BoundTable,
    key: str | None = None,
    *,
    is_order_kept: bool = True,
) -> Alignment:
    """Holds a release against its original; links their rows where that can be done.

    Without a key rows are linked by their order, if there are equally many, if all sensitive values
    agree, and if every released value covers the original one. Otherwise, as where they were
    shuffled, by their values, if these leave no choice. Rows that were shuffled may fit by chance
    where classes overlap: `is_order_kept=False` looks at the values alone.
    """
    released, known = release.cells.n_rows, original.cells.n_rows
    if released > known:
        what = f"the release has {released:,} rows, the original {known:,}"
        raise DataError(what, where=release.source.name, hint="is it a release of this table?")
    # What is generalized character by character, as postcodes are, is a name even where it is
    # written in digits.
    specs = {name: original.policy.columns[name].hierarchy for name in original.classes.quasi}
    names = ("prefix", "builtin")
    nominal = [name for name, spec in specs.items() if spec is not None and spec.kind in names]
    central = not release.policy.release.covers_values
    covering = cover_classes(
        release.classes, original.cells, original.hierarchies, central=central, nominal=nominal
    )
    placed = link_rows(original, release) if released == known else None
    linked = placed if key is None else link_rows(original, release, key)
    found = Alignment(original, release, covering, linked, key=key)
    if placed is not None and is_order_kept:
        found = replace(found, in_order=_belong_together(found, placed))
    if key is None:
        return found if found.in_order else replace(found, linked=_link_by_values(found))
    if linked is not None and not _belong_together(found, linked):
        raise DataError(
            "rows with equal keys do not belong together: a sensitive value differs, or a released "
            "value does not cover the original one",
            where=release.source.name,
            hint="is the key unique to a person, and the release made from this table?",
        )
    return found


def _link_by_values(found: Alignment) -> LinkedRows | None:
    """The rows that fit no class but one: one that covers them and has their sensitive values.

    None where a row fits several, or where other rows fit than there are: then nobody can tell.
    """
    if found.central or not found.covering.columns:
        return None
    places = found.tuples[1]
    if found.covering.grid.count_candidates(places).sum() > MOST_TRIED:
        return None
    cells, classes = found.release.cells.rows, found.release.classes
    everyone, once = np.ones(len(places), dtype=bool), np.ones(classes.count)
    number = np.arange(len(cells), dtype=np.float64)
    order, (fitting, which) = found.spread(everyone, once, np.ones(len(cells)), number)
    kept = fitting > 0
    first, second = order[kept], which[kept].astype(np.int64)
    rows = found.original.cells.rows[first]
    if fitting.max(initial=0) > 1 or (add_by_group(rows, second, len(cells)) != cells).any():
        return None
    return LinkedRows(first, second, rows)


def _belong_together(found: Alignment, linked: LinkedRows) -> bool:
    return values_agree(found.original, found.release, linked) and _is_covered(found, linked)


def values_agree(first: BoundTable, second: BoundTable, linked: LinkedRows) -> bool:
    """Whether linked rows have equal sensitive values, apart from hidden or grouped ones."""
    for name, mine in first.attributes.items():
        theirs = second.attributes[name]
        value = first.classes.cell_codes[name][linked.first]
        other = second.classes.cell_codes[name][linked.second]
        differ = np.flatnonzero(translate_codes(mine, theirs)[value] != other)
        _, some = group_codes([value[differ], other[differ]])
        if not all(
            _is_coarser(first, mine, int(value[at]), theirs, int(other[at])) for at in differ[some]
        ):
            return False
    return True


def _is_coarser(bound: BoundTable, mine: Attribute, a: int, theirs: Attribute, b: int) -> bool:
    """Whether one of two values can be the other, hidden or generalized."""
    if any(code < 0 and each.masks is not None for code, each in ((a, mine), (b, theirs))):
        return True  # hidden, or told as a group of which the other is one
    how = bound.policy.release.leftover
    value = MISSING if a < 0 else mine.labels[a]
    other = MISSING if b < 0 else theirs.labels[b]
    if MISSING in (value, other):
        return how == "hide"
    tree = mine.hierarchy
    if how != "generalize" or tree is None or not (tree.contains(value) and tree.contains(other)):
        return False
    return tree.lca_of_labels([value, other]) in (value, other)


def _is_covered(found: Alignment, linked: LinkedRows) -> bool:
    """Whether every released value covers its original one (a central one need not)."""
    if found.central:
        return True
    places = found.covering.places(found.original.cells)[linked.first]
    number = found.release.classes.cell_class[linked.second]
    return all(
        bool(column.covers(found.covering.key[number, at], places[:, at]).all())
        for at, column in enumerate(found.covering.columns)
    )


def translate_codes(mine: Attribute, theirs: Attribute) -> Ints:
    """The other table's code of each of an attribute's codes: −2 for none, last −1 for missing."""
    code = {label: at for at, label in enumerate(theirs.labels)}
    return np.array([*(code.get(label, -2) for label in mine.labels), -1], dtype=np.int64)


def locate_rows(bound: BoundTable) -> Ints:
    """The cell of every row of a table, in its own order."""
    return np.concatenate([cell for _, cell in bound.locate(bound.source.stream())])


def _row_counts(bound: BoundTable) -> Ints:
    """The number of rows that each row of a table counts for, in the table's order."""
    counting = bound.policy.counting
    if counting is None or counting[0] != "count":
        return np.ones(bound.cells.n_rows, dtype=np.int64)
    dictionary, code = encode_rows(bound.source, counting[1])
    return np.array([int(Decimal(text)) for text in dictionary.labels], dtype=np.int64)[code]


def _find_keys(first: Source, second: Source, key: str) -> Ints:
    """The row of the first table with each key of the second; −1 where there is none."""
    return find_keys(read_keys(first, key).combine_chunks(), read_keys(second, key), first.name)


def find_keys(known: pa.Array, keys: pa.Array | pa.ChunkedArray, name: str) -> Ints:
    """The position of each key among known ones; −1 if it is not known."""
    at = pc.index_in(keys, value_set=known).fill_null(-1)
    result: Ints = at.to_numpy().astype(np.int64)
    if (result < 0).all():
        raise DataError("no key occurs in both tables", where=name)
    return result


def read_keys(source: Source, key: str) -> pa.ChunkedArray:
    """The key of every row, as text."""
    if key not in source.columns:
        what = f"there is no column {key!r} to link rows by"
        raise DataError(what, where=source.name, hint="name a column that both tables have")
    column = _read_column(source, key).cast(pa.string())
    if column.null_count or pc.count_distinct(column).as_py() < len(column):
        what = f"column {key!r} does not tell rows apart: some keys are missing or occur twice"
        hint = "name a column with a value of its own for every row"
        raise DataError(what, where=source.name, hint=hint)
    return column


def encode_rows(source: Source, column: str) -> tuple[Dictionary, Ints]:
    """The values of one column, and the code of every row, in the table's order."""
    if column not in source.columns:
        hint = nearest(column, source.columns)
        raise DataError(f"there is no column {column!r}", where=source.name, hint=hint)
    return Dictionary.encode(_read_column(source, column), column)


def _read_column(source: Source, column: str) -> pa.ChunkedArray:
    return pa.chunked_array([batch.column(column) for batch in source.stream().batches()])
