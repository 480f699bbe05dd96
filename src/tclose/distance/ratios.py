"""Many exact fractions at once: floats to rank by, whole numbers to decide by.

A float made of exact whole numbers is off by less than 10⁻¹⁵ of its size, so it settles every
comparison that is not close; the close ones are settled by the fraction itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.distance.histogram import Counts

NEAR = 1e-12


@dataclass(frozen=True)
class Ratios:
    """`Π above[i] / Π below[i]` for each index i; a zero below stands for infinity.

    >>> r = Ratios((np.array([1, 2]),), (np.array([3, 6]),))
    >>> r.exact(1), r.within(Fraction(1, 3)), r.under(Fraction(1, 3)), r.largest()
    (Fraction(1, 3), array([ True,  True]), array([False, False]), 0)
    """

    above: tuple[Counts, ...]
    below: tuple[Counts, ...]

    @cached_property
    def value(self) -> NDArray[np.float64]:
        """Each ratio, rounded to a float."""
        try:
            over, under = _product(self.above), _product(self.below)
        except OverflowError:
            return np.array([self._rounded(index) for index in range(len(self.above[0]))])
        result = np.full(len(over), np.inf)
        np.divide(over, under, out=result, where=under != 0)
        return result

    def exact(self, index: int) -> Fraction | None:
        """One ratio as a fraction; None where it is infinite."""
        under = math.prod(int(part[index]) for part in self.below)
        return (
            Fraction(math.prod(int(part[index]) for part in self.above), under) if under else None
        )

    def _rounded(self, index: int) -> float:
        """One ratio of numbers too large for a float."""
        exact = self.exact(index)
        return np.inf if exact is None else exact.numerator / exact.denominator

    def within(self, limit: Fraction) -> NDArray[np.bool_]:
        """Whether each is at most the limit."""
        return self._decided(limit, self.value <= float(limit), lambda exact: exact <= limit)

    def under(self, limit: Fraction) -> NDArray[np.bool_]:
        """Whether each is less than the limit."""
        return self._decided(limit, self.value < float(limit), lambda exact: exact < limit)

    def largest(self) -> int:
        """The first index of the largest."""
        top = self.value.max()
        if np.isinf(top):
            return int(np.argmax(self.value))
        rest = np.flatnonzero(self.value >= top - NEAR * max(1.0, top))
        best, found = None, 0
        while len(rest):
            first = int(rest[0])
            exact = self.exact(first)
            if exact is not None and (best is None or exact > best):
                best, found = exact, first
            rest = rest[self._differing(rest, first)]
        return found

    def _differing(self, some: NDArray[Any], one: int) -> NDArray[np.bool_]:
        """Which of some ratios are not written with the same numbers as one of them."""
        result = np.zeros(len(some), dtype=bool)
        for part in (*self.above, *self.below):
            result |= np.asarray(part[some] != part[one], dtype=bool)
        return result

    def take(self, index: NDArray[Any]) -> Ratios:
        """Some of the ratios."""
        return Ratios(
            tuple(part[index] for part in self.above), tuple(part[index] for part in self.below)
        )

    def _decided(
        self, limit: Fraction, guess: NDArray[np.bool_], holds: Callable[[Fraction], bool]
    ) -> NDArray[np.bool_]:
        close = abs(self.value - float(limit)) <= NEAR * max(1.0, float(limit))
        for index in np.flatnonzero(close):
            exact = self.exact(int(index))
            guess[index] = exact is not None and holds(exact)
        return guess


def _product(parts: tuple[Counts, ...]) -> NDArray[np.float64]:
    result = parts[0].astype(float)
    for part in parts[1:]:
        result = result * part.astype(float)
    return result
