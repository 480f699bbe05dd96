"""What class sizes alone say about a release: discernibility, and the average class size."""

from __future__ import annotations

from dataclasses import dataclass

from tclose.distance.histogram import Counts
from tclose.utility.pair import Pair
from tclose.utility.result import Measure


@dataclass(frozen=True)
class Sizes:
    """Discernibility (Bayardo and Agrawal 2005) and average class size."""

    classes: int
    smallest: int
    mean: float
    largest: int
    discernibility: int
    """Σ |class|², plus the whole table for every row left out."""


def class_sizes(size: Counts, rows: int) -> Sizes:
    """Counts over the classes of a release made from a table of so many rows.

    >>> import numpy as np
    >>> class_sizes(np.array([2, 3]), 6).discernibility
    19
    """
    each = [int(count) for count in size]
    released = sum(each)
    return Sizes(
        classes=len(each),
        smallest=min(each, default=0),
        mean=released / len(each) if each else 0.0,
        largest=max(each, default=0),
        discernibility=sum(count * count for count in each) + rows * (rows - released),
    )


def measure_discernibility(pair: Pair) -> Measure:
    """Σ |class|², plus the whole table for every row left out (Bayardo and Agrawal 2005).

    Between n (everybody stands alone) and n² (nobody can be told apart); `share` is the part of n².
    """
    sizes = class_sizes(pair.size, pair.rows)
    return Measure(
        "discernibility",
        float(sizes.discernibility),
        "rows that each row cannot be told from, added up",
        numbers={"share": sizes.discernibility / pair.rows**2},
    )


def measure_class_size(pair: Pair) -> Measure:
    """Rows per class, and that divided by the promised k: C_avg (LeFevre et al. 2006)."""
    sizes = class_sizes(pair.size, pair.rows)
    k = pair.release.policy.k
    numbers = {
        "classes": float(sizes.classes),
        "smallest": float(sizes.smallest),
        "largest": float(sizes.largest),
    }
    if k is not None:
        numbers["c_avg"] = sizes.mean / k
    return Measure("average-class-size", sizes.mean, "rows per class", numbers=numbers)
