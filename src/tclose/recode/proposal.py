"""From what a search proposed to what is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tclose.data.binding import BoundTable
from tclose.data.encode.cells import Cells
from tclose.data.encode.classes import group_codes
from tclose.errors import InternalError
from tclose.recode.judging import failing_cells
from tclose.recode.levels import levelled
from tclose.recode.recoding import Recoding
from tclose.recode.values import Released, merge_equal, released_values
from tclose.search import Outcome, SearchProblem
from tclose.search.judge import merge_refused
from tclose.search.outcome import number_classes
from tclose.utility.loss import Quasi, code_quasi, partition_loss, weigh_loss

Ints = NDArray[np.int64]


def recoded(bound: BoundTable, outcome: Outcome) -> Recoding:
    """What the classes of an outcome are released as, and what is lost by that."""
    quasi, how = code_quasi(bound), bound.policy.release.recoding
    if outcome.levels is not None and how == "local":
        return _by_levels(bound, quasi, outcome.label, quasi.name_levels(outcome.levels))
    return Recoding(
        outcome.label,
        released_values(bound, quasi, outcome.label, recoding=how),
        partition_loss(quasi.columns, quasi.codes, bound.cells.rows, outcome.label),
        quasi,
    )


def recoded_as_read(
    bound: BoundTable, population: Cells | None, problem: SearchProblem, outcome: Outcome
) -> tuple[Outcome, Recoding]:
    """The same where classes that are released alike, one class to every reader, keep the promise.

    Their union does so by itself, unless classes have persons in common. Then such classes become
    one before all are judged, and mended where they fail. Every round leaves fewer classes.
    """
    recoding = recoded(bound, outcome)
    while problem.overlaps and outcome.levels is None:
        label = recoding.label
        if not failing_cells(bound, population, label, recoding.released).any():
            break
        name = np.append(merge_equal(recoding.released)[1], -1)
        merged = merge_refused(problem, number_classes(name[label]))
        if np.array_equal(merged, number_classes(label)):
            break
        loss = problem.loss(merged).overall
        outcome = replace(outcome, label=merged, loss=loss, cuts=None)
        recoding = recoded(bound, outcome)
    return outcome, recoding


def _by_levels(bound: BoundTable, quasi: Quasi, label: Ints, levels: Mapping[str, int]) -> Recoding:
    """A full-domain recoding; rows that are left out have a class too, which is not released."""
    columns = [Released(one.name, one.kind, ()) for one in quasi.columns]
    words, group, _, each = levelled(bound, columns, levels)
    kept = label >= 0
    pairs, classes = (
        len(group_codes(some)[1]) for some in ([label[kept], group[kept]], [label[kept]])
    )
    if not pairs == classes == len(np.unique(group[kept])):
        raise InternalError("the classes of a full-domain outcome are not those of its levels")
    names, released = [one.column for one in words], np.where(kept, group, -1)
    loss = weigh_loss(names, each, bound.cells.rows, released)
    return Recoding(released, words, loss, quasi, groups=group)
