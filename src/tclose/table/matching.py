"""Which classes cover which raw rows: released values held against a table's dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.distance.kernel import compiled
from tclose.hierarchy import Hierarchy
from tclose.table.hierarchies import covered
from tclose.table.labels import covers_missing

Ints = NDArray[np.int64]
Covers = NDArray[np.bool_]


def covers_of(text: str | None, values: Sequence[str], tree: Hierarchy | None) -> Covers:
    """Which values (and, last, whether a missing one) a released value covers; None: missing only.

    >>> covers_of("[20, 30]", ["20", "40"], None).tolist(), covers_of(None, ["20"], None).tolist()
    ([True, False, False], [False, True])
    """
    if text is None:
        return np.array([False] * len(values) + [True])
    return np.append(covered(text, values, tree), covers_missing(text))


def covering_classes(covers: Sequence[Covers], key: Ints, cells: Ints) -> tuple[Ints, Ints]:
    """For each cell the classes that cover it, in their order: compressed by cell.

    `covers[q]` says which released values (rows) cover which raw codes (columns) of column q,
    `key[c, q]` is the released value of class c there, `cells[i, q]` the raw code of cell i.

    >>> one = np.array([[True, False], [True, True]])
    >>> covering_classes([one], np.array([[0], [1]]), np.array([[0], [1]]))
    (array([0, 2, 3]), array([0, 1, 1]))
    """
    begin = np.cumsum([0, *(table.size for table in covers)])
    wide = np.array([table.shape[1] for table in covers], dtype=np.int64)
    flat = np.concatenate([table.ravel() for table in covers])
    count = np.zeros(len(cells) + 1, dtype=np.int64)
    _match(key, cells, flat, begin, wide, count, np.zeros(0, dtype=np.int64))
    start = np.cumsum(count)
    choice = np.empty(int(start[-1]), dtype=np.int64)
    if len(choice):
        _match(key, cells, flat, begin, wide, start.copy(), choice)
    return start, choice


@compiled
def _match(
    key: Any, cells: Any, covers: Any, begin: Any, wide: Any, start: Any, choice: Any
) -> None:
    """Counts the classes of each cell into `start[1:]`, or (with room in `choice`) lists them."""
    for cell in range(len(cells)):
        for c in range(len(key)):
            fits = True
            for q in range(key.shape[1]):
                if not covers[begin[q] + key[c, q] * wide[q] + cells[cell, q]]:
                    fits = False
                    break
            if fits and len(choice) > 0:
                choice[start[cell]] = c
                start[cell] += 1
            elif fits:
                start[cell + 1] += 1
