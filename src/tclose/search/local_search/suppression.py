"""Suppression of rows where that lowers the loss, within what the policy allows.

Suppressed rows change the released distribution, by which every class is judged, and no requirement
is monotone under that (`docs/mathematics.md` 2.3). So cells are suppressed in a batch, the
reference is counted anew, and every class that no longer keeps the constraints is merged with a
neighbour until all do; that ends at the latest with one class.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.base.random import RandomStream
from tclose.kernels.base.table import CodedTable
from tclose.kernels.partition.state import PartitionState
from tclose.kernels.partition.suppression import CellSuppression
from tclose.search.merging import merge_failing
from tclose.search.problem import Problem
from tclose.search.space_filling_curve import rank_along_curve

Ints = NDArray[np.int64]
TRIES = 200
"""Classes that a suppressed cell is tried in, to return."""


def suppress_rows(
    problem: Problem, table: CodedTable, label: Ints, room: int, seed: int
) -> Ints | None:
    """One batch of returns and suppressions, with at most `room` rows suppressed in all.

    None where the rows that are left cannot keep the constraints.
    """
    problem.refer_to_released(table, label)
    state = PartitionState(table, label, histograms=True, code_cells=True)
    suppression = CellSuppression(state, room)
    order = np.random.default_rng(seed).permutation(len(label))
    suppression.reinstate(order, TRIES, RandomStream(seed, 3))
    suppression.trim(*_group_by_class(state.label, state.capacity))
    suppression.suppress(order)
    found = state.label.copy()
    problem.refer_to_released(table, found)
    merged = merge_failing(found, rank_along_curve(problem.codes, problem.weight), table)
    return merged.label if merged.all_keep else None


def _group_by_class(label: Ints, classes: int) -> tuple[Ints, Ints]:
    """The released cells, those of a class side by side, and where each class ends."""
    members = np.argsort(label, kind="stable")
    members = members[label[members] >= 0]
    return members, np.searchsorted(label[members], np.arange(classes), side="right")
