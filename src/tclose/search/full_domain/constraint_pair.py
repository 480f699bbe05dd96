"""Constraints twice: as they are, and more lenient by what rounding may have cost.

What the strict ones accept is kept, and what the lenient ones refuse is broken. In between are
classes so near a threshold that logarithms or large numbers, rounded, do not decide; the
requirements do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.base.constraints import ConstraintSet
from tclose.requirements.constraint import ConstraintKind, Constraints
from tclose.search.compile.constraint_arrays import CLEARANCE, MARGIN, make_constraint_set

Ints = NDArray[np.int64]

_IN_WHOLE_NUMBERS = (ConstraintKind.EMD, ConstraintKind.SHARE, ConstraintKind.GAIN)
_BY_LOGARITHMS = (
    ConstraintKind.ENTROPY,
    ConstraintKind.BAND,
    ConstraintKind.KL,
    ConstraintKind.JS,
)


class ConstraintPair:
    """`strict` and `lenient` constraints; the lenient set is empty where the strict one is exact.

    Closeness to a superset is in neither: it is for the requirements to judge.
    """

    def __init__(self, constraints: Constraints, rows: Ints, *, lenient: bool) -> None:
        compiled = tuple(each for each in constraints.compiled if not each.need)
        total = constraints.rows(rows)
        self.strict: ConstraintSet = make_constraint_set(constraints, compiled, total)
        needed = lenient and self._rounds(total)
        self.lenient: ConstraintSet = make_constraint_set(
            constraints, compiled if needed else (), total
        )

    def _rounds(self, total: int) -> bool:
        """Whether a constraint is decided by rounded numbers."""
        kinds = self.strict.arrays.rows["kind"]
        beyond = self.strict.arrays.rows["largest_exact"] < total
        in_whole_numbers = np.isin(kinds, _IN_WHOLE_NUMBERS)
        return bool(np.isin(kinds, _BY_LOGARITHMS).any() or (in_whole_numbers & beyond).any())

    def refer_to(self, slot_rows: Ints) -> None:
        """Makes released rows (by slot) what classes are compared with."""
        strict, lenient = self.strict.arrays, self.lenient.arrays
        strict.refer_to(slot_rows)
        if not len(lenient.rows):
            return
        lenient.refer_to(slot_rows)
        lenient.share_lower[:] = strict.share_lower * (1 - 3 * CLEARANCE)
        lenient.share_upper[:] = strict.share_upper * (1 + 3 * CLEARANCE)
        for row, exact in zip(lenient.rows, strict.rows, strict=True):
            row["threshold"] = _relax(int(exact["kind"]), float(exact["threshold"]))


def _relax(kind: int, threshold: float) -> float:
    if kind == ConstraintKind.ENTROPY:
        return threshold - 3 * MARGIN
    if kind in (ConstraintKind.KL, ConstraintKind.JS):
        return threshold + 3 * MARGIN
    return threshold * (1 + 3 * CLEARANCE) + 3 * CLEARANCE
