"""The numeric distance: how far two numbers or dates are apart."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tclose.distance.ground import Metric, TreeMetric
from tclose.distance.kinds.kind import DistanceKind, DistanceValues
from tclose.distance.kinds.line import along_line


def numeric(positions: Sequence[Fraction], *, missing: bool = False) -> TreeMetric:
    """Distance |x − y| / range between the numbers themselves, which must ascend.

    >>> numeric([Fraction(0), Fraction(1), Fraction(10)]).between(0, 1)
    Fraction(1, 10)
    """
    return along_line("numeric", positions, missing)


def _make(values: DistanceValues) -> Metric:
    return numeric(values.positions or (), missing=values.with_missing)


def _lack(values: DistanceValues) -> str:
    if values.has_declared_order:
        return "its order is given by hand, so its values have no positions"
    return "" if values.positions is not None else "its values are neither numbers nor dates"


NUMERIC = DistanceKind(
    "numeric", "counting by how far numbers are apart", ground=_make, lack=_lack, on_a_line=True
)
