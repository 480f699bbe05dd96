"""Divergences of a class from the table, in bits: Kullback-Leibler, Jensen-Shannon, smoothed JS.

Their values are logarithms, so they have no fraction. Decisions are exact all the same: next to the
threshold the value is recomputed with as many digits as it takes (`numbers.compare_each`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, getcontext
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tclose.distance.emd import Distance, Reference
from tclose.distance.ground import DistanceKind, DistancePart, DistanceValues, Metric, refuse_large
from tclose.distance.histogram import Counts, Histogram
from tclose.distance.numbers import Number, compare_each, decimal_of, must

CHUNK = 4096
Shares = Sequence[Fraction]


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
        difference = self.value - float(limit)

        def find_excess(index: int) -> Decimal:
            return self.precisely(index) - decimal_of(limit)

        return compare_each(difference, int, find_excess) <= 0

    def largest(self) -> int:
        """The first of the classes that are farthest."""
        near = np.flatnonzero(self.value >= self.value.max() - 1e-13)
        return int(near[0])


@dataclass(frozen=True)
class KullbackLeibler(Distance):
    """KL(class ‖ table) = Σ p log₂(p/q); finite where a class lies inside its table.

    A value of the class that the reference lacks altogether makes it infinite. It can exceed 1: a
    class that is certain of a rare value.

    >>> d = KullbackLeibler().of(Histogram.from_dense([[1, 0]]), np.array([1, 1]))
    >>> d.value.tolist(), d.within(Fraction(1)).tolist()
    ([1.0], [True])
    """

    name = "kl"
    bounded = False
    kernel = "KL"

    def against(self, classes: Histogram, reference: Reference) -> LogDistances:
        """The divergence of every class from the reference that it names."""
        p, q = _find_shares(classes, reference)
        gain = np.full(len(p), np.inf)
        np.divide(p, q, out=gain, where=q > 0)
        value = np.maximum(_sum_terms(p * np.log2(gain), classes), 0.0)
        return LogDistances(value, _compute_precisely(classes, reference, kl_digits))


@dataclass(frozen=True)
class JensenShannon(Distance):
    """JS = ½ KL(P ‖ A) + ½ KL(Q ‖ A) with A the mean of P and Q; lies in [0, 1] bits.

    >>> d = JensenShannon().of(Histogram.from_dense([[1, 0]]), np.array([0, 1]))
    >>> d.value.tolist(), d.within(Fraction(1)).tolist()
    ([1.0], [True])
    """

    name = "js"
    kernel = "JS"

    def against(self, classes: Histogram, reference: Reference) -> LogDistances:
        """The divergence of every class from the reference that it names."""
        p, q = _find_shares(classes, reference)
        seen = p * np.log2(2 * p / (p + q)) + _xlog2(q, 2 * q / (p + q)) - q
        value = np.maximum((_sum_terms(seen, classes) + 1.0) / 2, 0.0)
        return LogDistances(value, _compute_precisely(classes, reference, js_digits))


@dataclass(frozen=True)
class SmoothedJensenShannon(Distance):
    """JS between distributions smoothed over the ground metric, so that near values count as near.

    Nadaraya-Watson smoothing with the Epanechnikov kernel K(x) = 1 − (x/B)² for x < B, row by row,
    then renormalised (row-wise smoothing does not conserve mass). It stays monotone under merging:
    smoothing is linear and renormalising linear-fractional, which pulls the convex sublevel sets
    of JS back to convex sets. A bandwidth up to the least ground distance leaves plain JS.
    """

    metric: Metric
    bandwidth: Fraction

    name = "smoothed-js"

    def weights(self) -> list[list[Fraction]]:
        """The row-normalised kernel: share of value j in the smoothed value i."""
        rows = []
        for i in range(self.metric.values):
            near = [self.metric.between(i, j) / self.bandwidth for j in range(self.metric.values)]
            row = [max(Fraction(0), 1 - x * x) for x in near]
            rows.append([weight / sum(row) for weight in row])
        return rows

    def against(self, classes: Histogram, reference: Reference) -> LogDistances:
        """The divergence of every class from the reference that it names."""
        weights = self.weights()
        kernel = np.array(weights, dtype=float)
        whole = reference.counts.astype(float)
        blurred = _smooth(whole / whole.sum(axis=1, keepdims=True), kernel)
        value = np.empty(classes.classes)
        for low in range(0, classes.classes, CHUNK):
            some = np.arange(low, min(low + CHUNK, classes.classes))
            part = classes.take(some)
            p = _smooth(np.asarray(part.dense() / part.size[:, None], dtype=float), kernel)
            q = blurred[reference.of_class[some]]
            mean = (p + q) / 2
            mean[mean == 0] = 1  # neither has it: its share is 0 and its logarithm is not taken
            value[some] = (_xlog2(p, p / mean) + _xlog2(q, q / mean)).sum(axis=1) / 2

        def js(p: Shares, q: Shares) -> Decimal:
            return js_digits(_smooth_exactly(p, weights), _smooth_exactly(q, weights))

        precisely = _compute_precisely(classes, reference, js, over_metric=True)
        return LogDistances(np.maximum(value, 0.0), precisely)


class SmoothingOptions(DistancePart):
    """Over what distance a smoothing reaches, and how far."""

    over: Literal["equal", "ordered", "numeric", "hierarchical"] | None = Field(
        None, description="smoothed-js: the ground distance to smooth over"
    )
    bandwidth: Annotated[
        Number, must("the bandwidth must be positive", lambda bandwidth: bandwidth > 0)
    ] = Field(Fraction(1, 2), description="smoothed-js: reach of the smoothing")


def _make_smoothed(values: DistanceValues, spec: DistancePart) -> tuple[Distance, tuple[str, ...]]:
    refuse_large(values, "smoothed-js")
    assert isinstance(spec, SmoothingOptions)
    over = values.ground(spec.over or values.default_distance)
    return SmoothedJensenShannon(over, spec.bandwidth), ()


KULLBACK_LEIBLER = DistanceKind(
    "kl",
    "counted in bits",
    other=lambda values, spec: (KullbackLeibler(), ()),
    bounded=False,
    in_bits=True,
    knows_groups=True,
)
JENSEN_SHANNON = DistanceKind(
    "js",
    "counted in bits",
    other=lambda values, spec: (JensenShannon(), ()),
    in_bits=True,
    knows_groups=True,
)
SMOOTHED = DistanceKind(
    "smoothed-js",
    "counted in bits",
    other=_make_smoothed,
    in_bits=True,
    options=frozenset({"over", "bandwidth"}),
    misuse="only smoothed-js takes `over` and `bandwidth`",
)


def kl_digits(p: Shares, q: Shares) -> Decimal:
    """KL of P from Q, to the digits of the current decimal context."""
    terms = (decimal_of(x) * decimal_of(x / y).ln() for x, y in zip(p, q, strict=True) if x)
    return sum(terms, Decimal(0)) / Decimal(2).ln()


def js_digits(p: Shares, q: Shares) -> Decimal:
    """JS of P and Q, to the digits of the current decimal context."""
    mean = [(x + y) / 2 for x, y in zip(p, q, strict=True)]
    return (kl_digits(p, mean) + kl_digits(q, mean)) / 2


def _find_shares(
    classes: Histogram, reference: Reference
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """p and q of every entry: its share of its class and of the class's reference."""
    owner = classes.owner()
    p = classes.count.astype(float) / classes.size.astype(float)[owner]
    whole = reference.counts.astype(float)
    q = (whole / whole.sum(axis=1, keepdims=True))[reference.of_class[owner], classes.code]
    return p, q


def _sum_terms(terms: NDArray[np.float64], classes: Histogram) -> NDArray[np.float64]:
    """The sum of each class's terms."""
    return np.bincount(classes.owner(), terms, minlength=classes.classes).astype(np.float64)


def _xlog2(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """x · log₂ y, and 0 where x is 0."""
    result = np.zeros(np.broadcast_shapes(x.shape, y.shape))
    np.log2(y, out=result, where=np.broadcast_to(x > 0, result.shape))
    return result * x


def _smooth(p: NDArray[np.float64], kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    blurred = p @ kernel.T
    result: NDArray[np.float64] = blurred / blurred.sum(axis=1, keepdims=True)
    return result


def _smooth_exactly(p: Shares, weights: list[list[Fraction]]) -> list[Fraction]:
    blurred = [sum((w * x for w, x in zip(row, p, strict=True)), Fraction(0)) for row in weights]
    return [x / sum(blurred) for x in blurred]


def _compute_precisely(
    classes: Histogram,
    reference: Reference,
    divergence: Callable[[Shares, Shares], Decimal],
    *,
    over_metric: bool = False,
) -> Callable[[int], Decimal]:
    """One class's divergence in the precision of the current decimal context.

    Many digits take long, and where one class lies on the threshold many often do, being alike;
    so each pair of distributions is computed once, whichever values they are over unless their
    places matter (`over_metric`).
    """

    @lru_cache(maxsize=4096)
    def compute(pairs: tuple[tuple[int, int], ...], digits: int) -> Decimal:
        sizes = [sum(counts) for counts in zip(*pairs, strict=True)]
        p, q = ([Fraction(pair[side], sizes[side]) for pair in pairs] for side in (0, 1))
        return divergence(p, q)

    def precisely(index: int) -> Decimal:
        mine = _reduce(classes.take(np.array([index])).dense()[0])
        theirs = _reduce(reference.counts[reference.of_class[index]])
        pairs = list(zip(mine, theirs, strict=True))
        return compute(tuple(pairs if over_metric else sorted(pairs)), getcontext().prec)

    return precisely


def _reduce(counts: Counts) -> list[int]:
    """The same distribution in the smallest whole numbers."""
    whole = [int(count) for count in counts]
    common = math.gcd(*whole) or 1
    return [count // common for count in whole]
