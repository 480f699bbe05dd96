"""Classes merged until the promise holds, after something about their rows has changed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.data.binding import BoundTable
from tclose.data.encode.cells import Cells
from tclose.search import problem_of
from tclose.search.curve import rank_along_curve
from tclose.search.merging import merge_failing
from tclose.search.outcome import number_classes

Ints = NDArray[np.int64]


def merged(bound: BoundTable, population: Cells | None, label: Ints) -> Ints | None:
    """The same classes, each that breaks the promise united with the one that mends it cheapest.

    None where merging cannot help: where the promise is not one that merging keeps, or cannot be
    judged by the compiled rules. Whoever calls this judges the result by the requirements.
    """
    problem = problem_of(bound, population)
    constraints = problem.constraints
    if constraints.uncompiled or constraints.supersets or not constraints.monotone:
        return None
    named = number_classes(label)
    table = problem.make_coded_table(ordered=False)
    problem.refer_to_released(table, named)
    found = merge_failing(named, rank_along_curve(problem.codes, problem.rows), table)
    return found.label if found.all_keep else None
