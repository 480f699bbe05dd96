"""What a search's proposal would lose, by any measure of the house."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from tclose.data import BoundTable, bind, open_source
from tclose.errors import UsageError, nearest
from tclose.recode import Pseudonyms, Rewriter, recoded
from tclose.search import Outcome
from tclose.utility import Measure, Pair, Sizes, class_sizes, pair_of
from tclose.utility.measures import MEASURES
from tclose.utility.queries import measure_query_error

BESIDE: dict[str, Callable[[Pair], Measure]] = {
    **MEASURES,
    "query-error": measure_query_error,
}
"""Every measure, of a release beside its original."""
SIZED: dict[str, Callable[[Sizes], float]] = {
    "discernibility": lambda sizes: float(sizes.discernibility),
    "average-class-size": lambda sizes: sizes.mean,
}
"""Those that the sizes of classes are enough for."""


def value_of(name: str, bound: BoundTable) -> Callable[[Outcome], float]:
    """What a proposal loses by a measure; the less the better.

    Sizes and the house's own loss follow from the proposal itself. For any other measure the rows
    are recoded in memory and held against the original.
    """
    if name == "loss":
        return lambda outcome: outcome.loss
    if name in SIZED:
        return lambda outcome: SIZED[name](_sizes(bound, outcome))
    if name not in BESIDE:
        raise UsageError(
            "there is no such measure of loss",
            where="--loss",
            hint=nearest(name, BESIDE) or f"one of {', '.join(BESIDE)}",
        )
    return lambda outcome: _measured(name, bound, outcome)


def _sizes(bound: BoundTable, outcome: Outcome) -> Sizes:
    kept = outcome.label >= 0
    size = np.zeros(outcome.classes, dtype=np.int64)
    np.add.at(size, outcome.label[kept], bound.cells.rows[kept])
    return class_sizes(size, bound.classes.n_rows)


def _measured(name: str, bound: BoundTable, outcome: Outcome) -> float:
    rewriter = Rewriter(bound, bound.source.stream(), recoded(bound, outcome), Pseudonyms())
    released = pa.Table.from_batches(list(rewriter.batches()), rewriter.schema())
    theirs = bind(bound.policy, open_source(released))
    measure = BESIDE[name](pair_of(bound, theirs))
    if measure.overall is None:
        raise UsageError(f"the measure cannot be taken: {measure.note}", where="--loss")
    return measure.overall
