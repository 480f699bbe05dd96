"""Sensitive values that are not told, or told less precisely, and the table as it then is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.binding import BoundTable, narrow
from tclose.data.encode.columns import Attribute, Dictionary
from tclose.recode.recoding import Sensitive

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Veil:
    """A table in which some cells' sensitive values are hidden, or stand on a level of their own.

    `bound` is the table as it then is; `code` and `texts` are what its sensitive columns hold.
    """

    bound: BoundTable
    raw: BoundTable
    code: dict[str, Ints]
    texts: dict[str, tuple[str, ...] | None]

    @classmethod
    def over(cls, bound: BoundTable, level: Ints, *, hide: bool) -> Veil:
        """Hides every cell whose level is not 0, or generalizes it to that level."""
        code: dict[str, Ints] = {}
        texts: dict[str, tuple[str, ...] | None] = {}
        for name, attribute in bound.attributes.items():
            if hide:
                code[name], texts[name] = np.where(level > 0, -1, bound.cells.codes[name]), None
            elif attribute.hierarchy is not None:
                code[name], texts[name] = _climbed(bound, attribute, level)
        return cls(_table(bound, code, texts), bound, code, texts)

    def columns(self, placed: Flags) -> dict[str, Sensitive]:
        """The sensitive columns as they are written, if only some cells need the veil."""
        made = {}
        for name, code in self.code.items():
            texts, raw = self.texts[name], self.raw.cells.codes[name]
            if texts is None:
                made[name] = Sensitive(np.where(placed, code, 0))
            else:
                known = self.raw.cells.dictionaries[name].known
                plain = np.where(raw < known, raw, -1)
                made[name] = Sensitive(np.where(placed, code, plain), texts)
        return made


def level_count(bound: BoundTable) -> int:
    """How many levels up the sensitive values can go."""
    trees = (attribute.hierarchy for attribute in bound.attributes.values())
    return max((tree.levels - 1 for tree in trees if tree is not None), default=0)


def _climbed(bound: BoundTable, attribute: Attribute, level: Ints) -> tuple[Ints, tuple[str, ...]]:
    """The value of each cell on its level, among the column's values and then its groups."""
    tree, raw = attribute.hierarchy, bound.cells.codes[attribute.name]
    assert tree is not None
    labels = bound.cells.dictionaries[attribute.name].labels
    known = len(labels)
    leaf = np.append(tree.indices(labels), 0).astype(np.int64)[raw]
    moves = (level > 0) & (raw < known) & (leaf < tree.leaf_count)
    node = leaf.copy()
    node[moves] = tree.ancestors[leaf[moves], np.minimum(level[moves], tree.levels - 1)]
    groups = np.unique(node[node != leaf])
    code = np.where(raw < known, raw, -1)
    rises = node != leaf
    code[rises] = known + np.searchsorted(groups, node[rises])
    return code, (*labels, *(tree.labels[int(group)] for group in groups))


def _table(
    bound: BoundTable, code: dict[str, Ints], texts: dict[str, tuple[str, ...] | None]
) -> BoundTable:
    """The table with other sensitive values; its attributes are made anew."""
    dictionaries, codes = dict(bound.cells.dictionaries), dict(bound.cells.codes)
    for name, mine in code.items():
        words = texts[name]
        if words is not None:
            dictionaries[name] = Dictionary(pa.array(words, pa.string()), False)
        codes[name] = np.where(mine < 0, dictionaries[name].known, mine)
    cells = replace(bound.cells, dictionaries=dictionaries, codes=codes)
    return narrow(replace(bound, cells=cells), np.ones(len(cells.rows), dtype=bool))
