"""The ordered distance: how many values lie between two."""

from __future__ import annotations

from fractions import Fraction

from tclose.distance.ground import TreeMetric
from tclose.distance.kinds.kind import DistanceKind
from tclose.distance.kinds.line import along_line


def ordered(values: int, *, missing: bool = False) -> TreeMetric:
    """Rank distance |i − j| / (m − 1) (Li 2007, section 5.1).

    >>> ordered(3, missing=True).between(0, 2)
    Fraction(1, 1)
    """
    known = values - missing
    return along_line("ordered", [Fraction(rank) for rank in range(known)], missing)


ORDERED = DistanceKind(
    "ordered",
    "counting neighbouring values as near",
    ground=lambda values: ordered(values.values, missing=values.with_missing),
    lack=lambda values: (
        ""
        if values.has_order
        else "its values are neither numbers nor dates and have no declared order"
    ),
    hint=", or declare order = [lowest, …, highest]",
    on_a_line=True,
)
