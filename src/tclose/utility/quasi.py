"""The quasi-identifiers of a table as coded columns with their losses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.data.binding import BoundTable
from tclose.data.encode.dictionary import Dictionary
from tclose.errors import PolicyError, Problem
from tclose.utility.loss import ColumnLoss

HUGE = 10**300


@dataclass(frozen=True)
class Quasi:
    """The quasi-identifiers of every cell, in codes that run along what they are released as."""

    columns: tuple[ColumnLoss, ...]
    codes: NDArray[np.int64]

    def name_levels(self, levels: Sequence[int]) -> dict[str, int]:
        """Levels of full-domain recoding, by the name of the column."""
        return {column.name: int(level) for column, level in zip(self.columns, levels, strict=True)}


def code_quasi(bound: BoundTable) -> Quasi:
    """Codes each quasi-identifier along the number line, its hierarchy, or its values.

    A value that is not a leaf of its hierarchy cannot be generalized, and is a problem of the
    policy here (an audit may still read such a label).
    """
    columns, codes, problems = [], [], []
    for name in bound.classes.quasi:
        made = _code_column(bound, name)
        if isinstance(made, Problem):
            problems.append(made)
        else:
            columns.append(made[0])
            codes.append(made[1][bound.cells.codes[name]])
    if problems:
        raise PolicyError(problems)
    return Quasi(tuple(columns), np.stack(codes, axis=1))


def _code_column(bound: BoundTable, name: str) -> tuple[ColumnLoss, NDArray[np.int64]] | Problem:
    """The column's loss, and the new code of each of its dictionary codes (a missing one last)."""
    dictionary, tree = bound.cells.dictionaries[name], bound.hierarchies.get(name)
    gap = dictionary.has_missing
    if tree is not None:
        lost = sum(not tree.contains(label) for label in dictionary.labels)
        nodes = np.array(
            [tree.index(label) for label in dictionary.labels if tree.contains(label)], np.int64
        )
        lost += int(np.count_nonzero(nodes >= tree.leaf_count))
        if lost:
            what = f"{lost} distinct values are not leaves of the hierarchy"
            return Problem(f"columns.{name}", what, "only raw values can be generalized; add them")
        order = np.argsort(nodes)
        column = ColumnLoss.tree(name, tree, nodes[order], has_missing=gap)
        return column, _invert_order(order)
    if dictionary.positions is not None and _has_widths(dictionary):
        place, rank = dictionary.places
        return ColumnLoss.interval(name, place, has_missing=gap), np.append(rank, len(place))
    order = _order_by_rows(bound, name)
    return ColumnLoss.sets(name, order, has_missing=gap), _invert_order(order)


def _order_by_rows(bound: BoundTable, name: str) -> NDArray[np.int64]:
    """The values by how many rows have them: cutting off rare ones then makes small sets."""
    known = bound.cells.dictionaries[name].known
    rows = np.zeros(known + 1, dtype=np.int64)
    np.add.at(rows, bound.cells.codes[name], bound.cells.rows)
    return np.argsort(-rows[:known], kind="stable")


def _has_widths(dictionary: Dictionary) -> bool:
    """Whether widths of intervals can be told: no number is infinite, or as good as that."""
    return not dictionary.has_infinity and all(abs(p) < HUGE for p in dictionary.positions or ())


def _invert_order(order: NDArray[np.int64]) -> NDArray[np.int64]:
    rank = np.empty(len(order) + 1, dtype=np.int64)
    rank[order] = np.arange(len(order))
    rank[-1] = len(order)
    return rank
