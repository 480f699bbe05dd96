"""The supersets that a release names, read from its released values alone (`promise.md`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from tclose.arrays import Flags, Ints
from tclose.data.binding import BoundTable
from tclose.data.encode.labels import (
    ANYTHING,
    Interval,
    covers_missing,
    read_interval,
    read_position,
    read_set,
    unit_of,
)
from tclose.data.io.records import SupersetRecord
from tclose.hierarchy.tree import Hierarchy
from tclose.requirements.closeness.supersets import NOTHING, ClassExtents, ColumnExtent, Supersets

Labels = Sequence[str | None]
End = tuple[Fraction, int]
"""A place on the number line, and whether just before (−1), on or just after (1) it."""


def read_supersets(bound: BoundTable, records: Sequence[SupersetRecord]) -> Mapping[str, Supersets]:
    """What records name for each attribute, as classes of a table; they count these from 1."""
    extents, count = read_extents(bound), bound.classes.count
    found = {}
    for attribute in dict.fromkeys(record.attribute for record in records):
        of_class = np.full(count, -1, dtype=np.int64)
        members: list[Ints | None] = []
        for record in records:
            if record.attribute != attribute:
                continue
            spans, mine = (_find_places(each, count) for each in (record.spans, record.classes))
            if mine is not None:
                of_class[mine] = len(members)
            members.append(None if spans is None else extents.find_members(spans))
        found[attribute] = Supersets(of_class, tuple(members))
    return found


def _find_places(numbers: Sequence[int], count: int) -> Ints | None:
    """Classes by their numbers, which begin with 1; None where there is no such class."""
    places = np.array(numbers, dtype=np.int64) - 1
    return places if ((places >= 0) & (places < count)).all() else None


def number_supersets(
    bound: BoundTable, columns: Mapping[str, Labels], records: Sequence[SupersetRecord]
) -> tuple[SupersetRecord, ...]:
    """Translates supersets of a plan to the class numbers of a written table, which begin with 1.
    Classes are found by their released values (`columns`); empty if one is not found.
    """
    classes = bound.classes
    shown: dict[tuple[str | None, ...], int] = {}
    labels = [(*classes.dictionaries[name].labels, None) for name in classes.quasi]
    for number, key in enumerate(classes.key.tolist(), start=1):
        shown[tuple(label[code] for label, code in zip(labels, key, strict=True))] = number
    place = [shown.get(row) for row in zip(*(columns[name] for name in classes.quasi), strict=True)]
    made = []
    for record in records:
        spans, mine = ([place[at] for at in some] for some in (record.spans, record.classes))
        known = [sorted(at for at in some if at is not None) for some in (spans, mine)]
        if len(known[0]) < len(spans) or len(known[1]) < len(mine):
            return ()
        changes = {"spans": tuple(known[0]), "classes": tuple(known[1])}
        made.append(record.model_copy(update=changes))
    return tuple(made)


def read_extents(bound: BoundTable) -> ClassExtents:
    """What every class shows of each quasi-identifier, by its released values.

    A value that cannot be read is taken to show anything, so that it is never outside of a box.
    """
    classes = bound.classes
    columns = []
    for at, name in enumerate(classes.quasi):
        labels: Labels = [*classes.dictionaries[name].labels, None]
        columns.append(_read_extent(labels, bound.hierarchies.get(name), classes.key[:, at]))
    return ClassExtents(tuple(columns))


def _read_extent(labels: Labels, tree: Hierarchy | None, key: Ints) -> ColumnExtent:
    missing = np.array([label is None or covers_missing(label) for label in labels])
    words = [label for label in labels if label is not None and label != ANYTHING]
    if tree is not None and all(tree.contains(label) for label in words):
        low, high = _read_nodes(labels, tree)
        return ColumnExtent(low[key], high[key], missing[key], tree=tree)
    ends = [_read_ends(label) for label in words]
    if words and all(end is not None for end in ends):
        low, high = _rank_ends(labels, dict(zip(words, ends, strict=True)))
        return ColumnExtent(low[key], high[key], missing[key])
    none = np.zeros(len(key), dtype=np.int64)
    return ColumnExtent(none, none, missing[key], _read_members(labels)[key])


def _read_nodes(labels: Labels, tree: Hierarchy) -> tuple[Ints, Ints]:
    """The first and the last leaf below each value."""
    low, high = np.full(len(labels), NOTHING), np.full(len(labels), -1)
    for at, label in enumerate(labels):
        if label is not None:
            node = tree.root if not tree.contains(label) else tree.index(label)
            low[at] = tree.first_below[node]
            high[at] = low[at] + tree.size_below[node] - 1
    return low, high


def _read_ends(label: str) -> tuple[End | None, End | None] | None:
    """Where a range of numbers or dates begins and ends (None: nowhere); None where it is none."""
    found = read_interval(label)
    if found is None:
        at = read_position(label, unit_of(label))
        if at is None and (at := read_position(label)) is None:
            return None
        found = Interval(at, at, True, True)
    low = None if found.low is None else (found.low, 0 if found.with_low else 1)
    high = None if found.high is None else (found.high, 0 if found.with_high else -1)
    return low, high


def _rank_ends(
    labels: Labels, ends: Mapping[str, tuple[End | None, End | None] | None]
) -> tuple[Ints, Ints]:
    """The ends of each value as ranks among all ends."""
    places = sorted({end for pair in ends.values() if pair for end in pair if end is not None})
    rank = {end: at for at, end in enumerate(places, start=1)}
    low, high = np.full(len(labels), NOTHING), np.full(len(labels), -1)
    for at, label in enumerate(labels):
        if label is not None:
            first, last = ends.get(label) or (None, None)
            low[at] = 0 if first is None else rank[first]
            high[at] = len(places) + 1 if last is None else rank[last]
    return low, high


def _read_members(labels: Labels) -> Flags:
    """[values, members]: the members of each set; a value that is no set is its only member."""
    named: list[list[str] | None] = []
    for label in labels:
        if label is None:
            named.append([])
        elif found := read_set(label):
            named.append(found.members)
        else:
            named.append(None if "*" in label or read_interval(label) is not None else [label])
    different = dict.fromkeys(name for names in named for name in names or ())
    code = {name: at for at, name in enumerate(different)}
    members = np.zeros((len(labels), len(code)), dtype=bool)
    for at, names in enumerate(named):
        members[at, [code[name] for name in names] if names is not None else slice(None)] = True
    return members
