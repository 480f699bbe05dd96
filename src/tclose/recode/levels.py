"""Full-domain recoding: every value of a column becomes its group on one level of the hierarchy.

Level 0 is the value as it is written; the last level is the root. A column without a hierarchy has
two levels, the value and `*`. A missing value stays missing below the last level; on it, a column
with missing values is `*` throughout, since nothing else covers both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.data.binding import BoundTable
from tclose.data.encode.classes import group_codes
from tclose.data.encode.labels import ANYTHING
from tclose.errors import UsageError
from tclose.hierarchy import Hierarchy
from tclose.recode.shapes import NumberLine, extend_hierarchy
from tclose.recode.values import Recoding, Released
from tclose.utility.loss import ColumnLoss, Quasi, weigh_loss

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def recode_by_levels(
    bound: BoundTable, columns: Sequence[Released], levels: Mapping[str, int]
) -> Recoding:
    """A table's rows in classes by the groups of their values.

    A cell with a value that the hierarchy does not know has no class.
    """
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
    return Recoding(label, tuple(column.write(member) for column in made), loss, quasi, {}, label)


class LevelColumn:
    """One column at its level: the group of each cell, in words and with its loss."""

    def __init__(self, bound: BoundTable, released: Released, level: int) -> None:
        self.name = released.column
        dictionary, codes = bound.cells.dictionaries[self.name], bound.cells.codes[self.name]
        has_missing = dictionary.known in codes
        tree = extend_hierarchy(released, bound, ()) if released.kind == "tree" else None
        levels = 2 if tree is None else max(tree.levels, 2)
        _refuse_level(self.name, level, levels)
        if tree is not None:
            words, place, group, loss = _climb(tree, dictionary.labels, level)
            self.column = ColumnLoss.tree(
                self.name, tree, np.arange(tree.leaf_count), has_missing=has_missing
            )
        elif released.kind == "interval":
            line = NumberLine.read(released.values, dictionary.labels)
            words, place, group = _group_equal_numbers(line, dictionary.labels)
            self.column = ColumnLoss.interval(self.name, line.positions, has_missing=has_missing)
            loss = np.zeros(len(group))
        else:
            words = dictionary.labels
            group = place = np.arange(len(words))
            self.column = ColumnLoss.sets(self.name, place, has_missing=has_missing)
            loss = np.zeros(len(group))
        gap, whole = len(words), len(words) + 1
        mixed = level == levels - 1 and (tree is None or has_missing or tree.levels < 2)
        if mixed:
            group, loss = np.where(group >= 0, whole, -1), np.ones(len(loss))
        self.words: tuple[str | None, ...] = (*words, None, ANYTHING)
        self.group = np.append(group, whole if mixed else gap)[codes]
        self.loss = np.append(loss, float(mixed))[codes]
        self.code = np.append(place, self.column.values - has_missing)[codes]

    def write(self, member: Ints) -> Released:
        """What each class is released as, given a cell of each."""
        values = tuple(self.words[int(at)] for at in self.group[member])
        return Released(self.name, self.column.kind, values)


def _climb(
    tree: Hierarchy, labels: Sequence[str], level: int
) -> tuple[tuple[str, ...], Ints, Ints, Floats]:
    """The nodes' labels; for each value its leaf, its node on a level, and what that node loses.

    A value that is no leaf has neither: −1.
    """
    leaf = tree.find(labels).astype(np.int64)
    leaf = np.where(leaf < tree.leaf_count, leaf, -1)
    node = np.where(leaf < 0, -1, tree.ancestors[leaf, min(level, tree.levels - 1)])
    loss = (tree.size_below[node] - 1) / max(tree.leaf_count - 1, 1)
    return tree.labels, leaf, node.astype(np.int64), loss.astype(np.float64)


def _group_equal_numbers(
    line: NumberLine, labels: Sequence[str]
) -> tuple[tuple[str, ...], Ints, Ints]:
    """Values that are the same number as one group: groups in words, each value's place and group.

    What is no number is a group by itself, and has no place.
    """
    place = np.array([line.code(label) for label in labels], dtype=np.int64)
    alike: dict[Fraction | str, list[str]] = {}
    pairs = zip(labels, place.tolist(), strict=True)
    keys = [line.positions[at] if at >= 0 else label for label, at in pairs]
    for key, label in zip(keys, labels, strict=True):
        alike.setdefault(key, []).append(label)
    words: dict[str, int] = {}
    group = np.zeros(len(labels), dtype=np.int64)
    for at, key in enumerate(keys):
        same = alike[key]
        word = same[0] if len(same) == 1 else f"[{same[0]}, {same[-1]}]"
        group[at] = words.setdefault(word, len(words))
    return tuple(words), place, group


def _refuse_level(name: str, level: int, levels: int) -> None:
    if not 0 <= level < levels:
        raise UsageError(
            f"there is no level {level} of the column",
            where=f"column {name!r}",
            hint=f"levels go from 0 (the value itself) to {levels - 1} (everything)",
        )
