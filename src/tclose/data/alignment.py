"""Rows of two tables that belong to the same people: by a key that both have, or by their order.

A release that is held against its original, or against another release, is held here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tclose.data.binding import BoundTable
from tclose.data.encode.cells import locate_batches
from tclose.data.encode.classes import group_codes
from tclose.data.encode.columns import MISSING, Attribute, Dictionary
from tclose.data.encode.coverage import Covering, cover_classes
from tclose.data.source import Source
from tclose.errors import DataError, nearest

Ints = NDArray[np.int64]


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
        at = _find_keys(_read_keys(first.source, key), _read_keys(second.source, key), first.source)
        shared = np.flatnonzero(at >= 0)
        mine, theirs, each = mine[at[shared]], theirs[shared], each[shared]
    elif len(mine) != len(theirs):
        return None
    label, sample = group_codes([mine, theirs])
    weight = np.zeros(len(sample), dtype=np.int64)
    np.add.at(weight, label, each)
    return LinkedRows(mine[sample], theirs[sample], weight)


@dataclass(frozen=True)
class Alignment:
    """A release held against its original: what its classes cover, and whose row is whose."""

    original: BoundTable
    release: BoundTable
    covering: Covering
    linked: LinkedRows | None

    @property
    def central(self) -> bool:
        """Whether classes are released by a central value rather than by what they cover."""
        return self.release.policy.release.recoding != "local"


def align(original: BoundTable, release: BoundTable, key: str | None = None) -> Alignment:
    """Holds a release against its original; links their rows where that can be done.

    Without a key rows are linked by their order, if there are equally many, if all sensitive values
    agree, and if every released value covers the original one.
    """
    released, known = release.cells.n_rows, original.cells.n_rows
    if released > known:
        raise DataError(
            f"the release has {released:,} rows, the original {known:,}",
            where=release.source.name,
            hint="is it a release of this table?",
        )
    central = release.policy.release.recoding != "local"
    covering = cover_classes(
        release.classes,
        original.cells,
        original.hierarchies,
        central=central,
        nominal=_find_prefixed(original),
    )
    linked = None
    if key is not None or released == known:
        linked = link_rows(original, release, key)
    found = Alignment(original, release, covering, linked)
    if linked is None or (values_agree(original, release, linked) and _is_covered(found, linked)):
        return found
    if key is not None:
        raise DataError(
            "rows with equal keys do not belong together: a sensitive value differs, or a released "
            "value does not cover the original one",
            where=release.source.name,
            hint="is the key unique to a person, and the release made from this table?",
        )
    return replace(found, linked=None)


def _find_prefixed(bound: BoundTable) -> list[str]:
    """The quasi-identifiers that are generalized character by character, as postcodes are."""
    specs = {name: bound.policy.columns[name].hierarchy for name in bound.classes.quasi}
    return [name for name, spec in specs.items() if spec is not None and spec.kind == "prefix"]


def values_agree(first: BoundTable, second: BoundTable, linked: LinkedRows) -> bool:
    """Whether linked rows have the same sensitive values.

    Where the policy hides or generalizes those of rows that a search left out, a value may also be
    missing in the one table, or a group of the other's.
    """
    for name, mine in first.attributes.items():
        theirs = second.attributes[name]
        value = first.classes.cell_codes[name][linked.first]
        other = second.classes.cell_codes[name][linked.second]
        differ = np.flatnonzero(translate_codes(mine, theirs)[value] != other)
        _, some = group_codes([value[differ], other[differ]])
        at = differ[some]
        for a, b in zip(value[at].tolist(), other[at].tolist(), strict=True):
            if not _is_coarser(first, mine, a, theirs, b):
                return False
    return True


def _is_coarser(bound: BoundTable, mine: Attribute, a: int, theirs: Attribute, b: int) -> bool:
    """Whether one of two values can be the other, hidden or generalized."""
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
    batches = bound.source.stream().batches()
    located = locate_batches(bound.cells, bound.cell_columns, batches, bound.source.name)
    return np.concatenate([cell for _, cell in located])


def _row_counts(bound: BoundTable) -> Ints:
    """How many rows every row of a table stands for, in its own order."""
    name = next(iter(bound.policy.with_role("count")), None)
    if name is None:
        return np.ones(bound.cells.n_rows, dtype=np.int64)
    dictionary, code = encode_rows(bound.source, name)
    return np.array([int(Decimal(text)) for text in dictionary.labels], dtype=np.int64)[code]


def _read_keys(source: Source, key: str) -> pa.ChunkedArray:
    """The key of every row, as text."""
    if key not in source.columns:
        raise DataError(
            f"there is no column {key!r} to link rows by",
            where=source.name,
            hint="name a column that both tables have",
        )
    column = _read_column(source, key).cast(pa.string())
    if column.null_count or pc.count_distinct(column).as_py() < len(column):
        raise DataError(
            f"column {key!r} does not tell rows apart: some keys are missing or stand twice",
            where=source.name,
            hint="name a column with a value of its own for every row",
        )
    return column


def _find_keys(known: pa.ChunkedArray, keys: pa.ChunkedArray, source: Source) -> Ints:
    """The row of the first table with each key of the second; −1 where there is none."""
    at = pc.index_in(keys, value_set=known.combine_chunks()).fill_null(-1)
    result: Ints = at.to_numpy().astype(np.int64)
    if (result < 0).all():
        raise DataError("no key stands in both tables", where=source.name)
    return result


def encode_rows(source: Source, column: str) -> tuple[Dictionary, Ints]:
    """The values of one column, and the code of every row, in the table's order."""
    if column not in source.columns:
        raise DataError(
            f"there is no column {column!r}",
            where=source.name,
            hint=nearest(column, source.columns),
        )
    return Dictionary.encode(_read_column(source, column), column)


def _read_column(source: Source, column: str) -> pa.ChunkedArray:
    return pa.chunked_array([batch.column(column) for batch in source.stream().batches()])
