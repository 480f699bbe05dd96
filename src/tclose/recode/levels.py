"""Full-domain recoding: every value of a column becomes its group on one level of the hierarchy.

Level 0 is the value as it is written; the last level is the root. A column without a hierarchy has
two levels, the value and `*`. A missing value stays missing below the last level; on it, a column
with missing values is `*` throughout, since nothing else covers both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from tclose.arrays import Floats, Ints
from tclose.data.binding import BoundTable
from tclose.data.encode.labels import ANYTHING
from tclose.distance.histogram import group_codes
from tclose.errors import UsageError
from tclose.hierarchy.tree import Hierarchy
from tclose.recode.number_line import NumberLine, find_position, find_unit, interval_ends
from tclose.recode.shapes import extend_hierarchy
from tclose.recode.values import Recoding, Released, write_interval
from tclose.utility.loss import ColumnLoss, Quasi, weigh_loss

UNKNOWN = "\0"
"""In place of a word, where a value has no group."""


def recode_by_levels(
    bound: BoundTable, columns: Sequence[Released], levels: Mapping[str, int]
) -> Recoding:
    """A table's rows in classes by the groups of their values; −1 where a hierarchy lacks one."""
    made = [LevelColumn(bound, column, levels[column.column]) for column in columns]
    known = np.all([column.group >= 0 for column in made], axis=0)
    label = np.full(len(known), -1, dtype=np.int64)
    first = np.zeros(0, dtype=np.int64)
    if known.any():
        label[known], first = group_codes([column.group[known] for column in made])
    member = np.flatnonzero(known)[first]
    each = np.stack([column.loss[member] for column in made], axis=1)
    loss = weigh_loss([column.name for column in made], each, bound.cells.rows, label)
    codes = np.stack([column.code for column in made], axis=1)
    quasi = Quasi(tuple(column.column for column in made), codes)
    released = []
    for column in made:
        values = tuple(column.words[at] for at in column.group[member].tolist())
        released.append(Released(column.name, column.column.kind, values))
    return Recoding(label, tuple(released), loss, quasi, {}, label)


class LevelColumn:
    """One column at its level: the group of each cell, in words and with its loss."""

    def __init__(self, bound: BoundTable, released: Released, level: int) -> None:
        self.name = released.column
        dictionary, codes = bound.cells.dictionaries[self.name], bound.cells.codes[self.name]
        words, has_missing = dictionary.labels, dictionary.known in codes
        loss = np.zeros(len(words))
        tree = extend_hierarchy(released, bound, ()) if released.kind == "tree" else None
        levels = 2 if tree is None else max(tree.levels, 2)
        if not 0 <= level < levels:
            raise UsageError(
                f"there is no level {level} of the column",
                where=f"column {self.name!r}",
                hint=f"levels go from 0 (the value itself) to {levels - 1} (everything)",
            )
        if tree is not None:
            place, group, loss = _climb(tree, words, level)
            words, leaves = tree.labels, np.arange(tree.leaf_count)
            self.column = ColumnLoss.tree(self.name, tree, leaves, has_missing=has_missing)
        elif released.kind == "interval":
            line = NumberLine.read(released.values, words)
            self.column = ColumnLoss.interval(self.name, line.positions, has_missing=has_missing)
            words, place, group = _group_equal_numbers(line, words)
        else:
            group = place = np.arange(len(words))
            self.column = ColumnLoss.sets(self.name, place, has_missing=has_missing)
        gap, whole = len(words), len(words) + 1
        mixed = level == levels - 1 and (tree is None or has_missing or tree.levels < 2)
        if mixed:
            group, loss = np.where(group >= 0, whole, -1), np.ones(len(loss))
        self.words: tuple[str | None, ...] = (*words, None, ANYTHING)
        self.group = np.append(group, whole if mixed else gap)[codes]
        self.loss = np.append(loss, float(mixed))[codes]
        self.code = np.append(place, self.column.values - has_missing)[codes]


def _climb(tree: Hierarchy, labels: Sequence[str], level: int) -> tuple[Ints, Ints, Floats]:
    """For each value its leaf, its node on a level, and what that node loses; −1 for no leaf."""
    leaf = tree.find(labels).astype(np.int64)
    leaf = np.where(leaf < tree.leaf_count, leaf, -1)
    node = np.where(leaf < 0, -1, tree.ancestors[leaf, min(level, tree.levels - 1)])
    loss = (tree.size_below[node] - 1) / max(tree.leaf_count - 1, 1)
    return leaf, node.astype(np.int64), loss.astype(np.float64)


def list_words(bound: BoundTable, released: Released, level: int) -> list[str | None]:
    """The released value of every value of a table, the missing value last.

    On the last level a whole column is one word; where that is `*` it covers missing values, too.
    """
    labels = bound.cells.dictionaries[released.column].labels
    whole = level > 0 and set(released.values) == {ANYTHING}
    words = list(labels)
    if released.kind == "tree":
        tree = extend_hierarchy(released, bound, ())
        nodes = _climb(tree, labels, level)[1].tolist()
        words = [tree.labels[node] if node >= 0 else UNKNOWN for node in nodes]
    elif released.kind == "interval" and not whole:  # the word of the same number
        ends = {word: interval_ends(word)[0] for word in released.values if word is not None}
        unit = find_unit(list(ends.values()))
        spot = {find_position(end, unit): word for word, end in ends.items()}
        words = [spot.get(find_position(text, unit), UNKNOWN) for text in labels]
    if whole:
        return [*(word if word == UNKNOWN else ANYTHING for word in words), ANYTHING]
    return [*words, None]


def _group_equal_numbers(
    line: NumberLine, labels: Sequence[str]
) -> tuple[tuple[str, ...], Ints, Ints]:
    """Groups values that are the same number: the groups, and each value's position and group.

    What is no number is a group by itself, and has no place.
    """
    place = [line.codes.get(label, -1) for label in labels]
    pairs = zip(labels, place, strict=True)
    keys = [line.positions[at] if at >= 0 else label for label, at in pairs]
    alike: dict[Fraction | str, list[str]] = {}
    for key, label in zip(keys, labels, strict=True):
        alike.setdefault(key, []).append(label)
    words = [write_interval(alike[key][0], alike[key][-1]) for key in keys]
    number = {word: at for at, word in enumerate(dict.fromkeys(words))}
    group = np.array([number[word] for word in words], dtype=np.int64)
    return tuple(number), np.array(place, dtype=np.int64), group
