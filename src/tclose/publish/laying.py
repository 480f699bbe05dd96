"""Where the cells of a table lie on the curve, and to which stratum they belong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.search.strata import coordinates, curve, strata
from tclose.table.bench import Laid
from tclose.table.outline import Outline

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Laying:
    """Tells the order and the stratum of cells; can be sent to wherever they are."""

    outline: Outline
    places: dict[str, Ints]
    """For each quasi-identifier, the coordinate of each of its values; a missing one last."""
    parts: dict[str, Ints]
    """For each sensitive attribute, the part that each of its values is in."""

    @classmethod
    def of(cls, outline: Outline, fragments: int) -> Laying:
        """The laying of a table that is to be cut into so many fragments."""
        places, rows = {}, []
        for name in outline.quasi:
            along = _along(outline, name)
            rows.append(outline.weight[name][np.argsort(along, kind="stable")])
            places[name] = along
        for (name, along), place in zip(places.items(), coordinates(rows, len(rows)), strict=True):
            places[name] = place[along]
        names = list(outline.attributes)
        parts = strata([_with_missing(outline, name) for name in names], fragments)
        return cls(outline, places, dict(zip(names, parts, strict=True)))

    @property
    def ties(self) -> int:
        """How many numbers it takes to tell any two cells apart."""
        return len(_folds(self.outline))

    def __call__(self, table: pa.Table) -> Laid:
        """Where each cell lies."""
        codes = self.outline.codes(table)
        order = curve([self.places[name][codes[name]] for name in self.places])
        stratum = np.zeros(len(order), dtype=np.int64)
        for name, part in self.parts.items():
            attribute = self.outline.attributes[name]
            code = attribute.recode[codes[name]]
            stratum = stratum * (int(part.max(initial=0)) + 1) + part[code]
        ties = []
        for names in _folds(self.outline):
            tie = np.zeros(len(order), dtype=np.int64)
            for name in names:
                tie = tie * (self.outline.dictionaries[name].known + 1) + codes[name]
            ties.append(tie)
        return Laid(order, stratum, tuple(ties))


def _folds(outline: Outline) -> list[list[str]]:
    """The columns in groups, such that the codes of a group fit one number."""
    groups: list[list[str]] = [[]]
    room = 1
    for name in outline.counted:
        wide = outline.dictionaries[name].known + 1
        if room * wide >= 2**62:
            groups.append([])
            room = 1
        groups[-1].append(name)
        room *= wide
    return groups


def _with_missing(outline: Outline, name: str) -> Ints:
    """The rows with each value of an attribute; last those whose value may be any."""
    count = np.asarray(outline.whole[name], dtype=np.int64)
    return np.append(count, outline.rows - int(count.sum()))


def _along(outline: Outline, name: str) -> Ints:
    """The rank of every value of a column along what it is released as; a missing one last."""
    dictionary, tree = outline.dictionaries[name], outline.hierarchies.get(name)
    if tree is None:
        return np.arange(dictionary.known + 1)
    rank = np.empty(dictionary.known + 1, dtype=np.int64)
    rank[np.argsort(tree.indices(dictionary.labels), kind="stable")] = np.arange(dictionary.known)
    rank[-1] = dictionary.known
    return rank
