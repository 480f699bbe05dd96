"""What class sizes alone say about a release."""

from __future__ import annotations

from dataclasses import dataclass

from tclose.distance.histogram import Counts


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
    each = [int(one) for one in size]
    released = sum(each)
    return Sizes(
        classes=len(each),
        smallest=min(each, default=0),
        mean=released / len(each) if each else 0.0,
        largest=max(each, default=0),
        discernibility=sum(one * one for one in each) + rows * (rows - released),
    )
