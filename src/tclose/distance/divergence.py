"""What divergences in bits have in common: logarithms, compared exactly.

Their values are logarithms, so they have no fraction. Decisions are exact all the same: next to the
threshold the value is recomputed with as many digits as it takes (`numbers.compare`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, getcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tclose.distance.histogram import Counts, Histogram
from tclose.distance.measure import Reference
from tclose.distance.numbers import compare, decimal_of


@dataclass(frozen=True)
class LogDistances:
    """Distances that are sums of logarithms, with a way to compute any one to many digits."""

    value: NDArray[np.float64]
    precisely: Callable[[int], Decimal]

    def exact(self, index: int) -> Fraction | None:
        """There is no fraction, except for the distance of equal distributions."""
        finite = np.isfinite(self.value[index])
        return Fraction(0) if finite and self.precisely(index) == 0 else None

    def within(self, limit: Fraction) -> NDArray[np.bool_]:
        """Whether each class's distance is at most the limit."""
        result = self.value <= float(limit)
        close = abs(self.value - float(limit)) <= 1e-8 * (1 + self.value)
        for index in np.flatnonzero(close & np.isfinite(self.value)):
            guess, at = float(self.value[index]), int(index)
            result[index] = compare(lambda at=at: self.precisely(at), guess, limit) <= 0  # type: ignore[misc]
        return result

    def largest(self) -> int:
        """The first of the classes that are farthest."""
        near = np.flatnonzero(self.value >= self.value.max() - 1e-13)
        return int(near[0])


def shares(
    classes: Histogram, reference: Reference
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """p and q of every entry: its share of its class and of the class's reference."""
    owner = classes.owner()
    p = classes.count.astype(float) / classes.size.astype(float)[owner]
    whole = reference.counts.astype(float)
    q = (whole / whole.sum(axis=1, keepdims=True))[reference.of_class[owner], classes.code]
    return p, q


def sum_terms(terms: NDArray[np.float64], classes: Histogram) -> NDArray[np.float64]:
    """The sum of each class's terms."""
    return np.bincount(classes.owner(), terms, minlength=classes.classes).astype(np.float64)


def xlog2(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """x · log₂ y, and 0 where x is 0."""
    result = np.zeros(np.broadcast_shapes(x.shape, y.shape))
    np.log2(y, out=result, where=np.broadcast_to(x > 0, result.shape))
    return result * x


def make_precise(
    classes: Histogram,
    reference: Reference,
    divergence: Callable[[Sequence[Fraction], Sequence[Fraction]], Decimal],
    *,
    over_metric: bool = False,
) -> Callable[[int], Decimal]:
    """One class's divergence in the precision of the current decimal context.

    Many digits take long, and where one class lies on the threshold many often do, being alike;
    so each pair of distributions is computed once, whichever values they are over unless their
    places matter (`over_metric`).
    """

    @lru_cache(maxsize=4096)
    def computed(pairs: tuple[tuple[int, int], ...], digits: int) -> Decimal:
        sizes = [sum(counts) for counts in zip(*pairs, strict=True)]
        p, q = ([Fraction(pair[side], sizes[side]) for pair in pairs] for side in (0, 1))
        return divergence(p, q)

    def precisely(index: int) -> Decimal:
        mine = _lowest(classes.take(np.array([index])).dense()[0])
        theirs = _lowest(reference.counts[reference.of_class[index]])
        pairs = list(zip(mine, theirs, strict=True))
        return computed(tuple(pairs if over_metric else sorted(pairs)), getcontext().prec)

    return precisely


def _lowest(counts: Counts) -> list[int]:
    """The same distribution in the smallest whole numbers."""
    whole = [int(count) for count in counts]
    common = math.gcd(*whole) or 1
    return [count // common for count in whole]


def kl_digits(p: Sequence[Fraction], q: Sequence[Fraction]) -> Decimal:
    """KL of P from Q, to the digits of the current decimal context."""
    terms = (decimal_of(x) * decimal_of(x / y).ln() for x, y in zip(p, q, strict=True) if x)
    return sum(terms, Decimal(0)) / Decimal(2).ln()


def js_digits(p: Sequence[Fraction], q: Sequence[Fraction]) -> Decimal:
    """JS of P and Q, to the digits of the current decimal context."""
    mean = [(x + y) / 2 for x, y in zip(p, q, strict=True)]
    return (kl_digits(p, mean) + kl_digits(q, mean)) / 2
