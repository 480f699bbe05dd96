"""What every distance of the house answers: how far is each class from its reference?"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tclose.distance.histogram import Counts, Histogram


class Distances(Protocol):
    """The distance of every class, as floats to show and as exact answers to decide by."""

    @property
    def value(self) -> NDArray[np.float64]:
        """The distance of each class; for showing and ranking."""
        ...

    def within(self, limit: Fraction) -> NDArray[np.bool_]:
        """Whether each class's distance is at most the limit, decided exactly."""
        ...

    def exact(self, index: int) -> Fraction | None:
        """One class's distance as a fraction, where it is one."""
        ...

    def largest(self) -> int:
        """The first of the classes that are farthest, compared exactly."""
        ...


class Distance(Protocol):
    """A way of comparing the distribution of a class with that of a reference."""

    @property
    def name(self) -> str:
        """The word by which a policy asks for it."""
        ...

    @property
    def bounded(self) -> bool:
        """Whether it lies in [0, 1]."""
        ...

    def of(self, classes: Histogram, reference: Counts) -> Distances:
        """The distance of every class from one reference distribution (counts per value)."""
        ...

    def against(self, classes: Histogram, reference: Reference) -> Distances:
        """The distance of every class from a reference of its own."""
        ...


@dataclass(frozen=True)
class Reference:
    """Which reference each class is compared with: counts per reference, index per class."""

    counts: Counts
    of_class: NDArray[np.int64]

    @classmethod
    def shared(cls, counts: Counts, classes: int) -> Reference:
        """One reference for all classes."""
        return cls(counts[None, :], np.zeros(classes, dtype=np.int64))
