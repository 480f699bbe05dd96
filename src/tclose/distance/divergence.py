"""Divergences of a class from the table, in bits: Kullback-Leibler, Jensen-Shannon, smoothed JS.

Their values are logarithms, not fractions. Decisions are exact all the same: close to the threshold
the value is computed again with as many digits as it takes (`numbers.compare_each`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tclose.arrays import Floats
from tclose.distance.emd import Distance, Reference
from tclose.distance.ground import DistanceKind, Metric, refuse_large
from tclose.distance.histogram import Counts, Histogram
from tclose.distance.numbers import LogDistances, decimal_of
from tclose.distance.transport import FITS

if TYPE_CHECKING:
    from tclose.distance.registry import Attribute, DistanceSpec

CHUNK = 4096
Shares = Sequence[Fraction]
Pairs = tuple[tuple[int, int], ...]
"""For every value, its counts in a class and in the reference, each without common factors."""


class Divergence(Distance):
    """A distance that is a sum of logarithms: rounded for all classes, to any precision for one."""

    keeps_order: ClassVar[bool] = False
    """Whether the order of values matters; if not, classes with equal counts are computed once."""

    def estimate(self, classes: Histogram, reference: Reference) -> Floats:
        """Returns the distance of every class, rounded."""
        raise NotImplementedError

    def compute(self, p: Shares, q: Shares) -> Decimal:
        """Returns the distance of two distributions, to the digits of the decimal context."""
        raise NotImplementedError

    def against(self, classes: Histogram, reference: Reference) -> LogDistances:
        """Returns the divergence of every class from its reference."""

        def find_counts(index: int) -> Pairs:
            mine = classes.take(np.array([index])).dense()[0].tolist()
            theirs = reference.counts[reference.of_class[index]].tolist()
            factors = (math.gcd(*row) or 1 for row in (mine, theirs))
            reduced = [
                [count // factor for count in row]
                for row, factor in zip((mine, theirs), factors, strict=True)
            ]
            pairs = zip(*reduced, strict=True)
            return tuple(pairs if self.keeps_order else sorted(pairs))

        def is_zero(index: int) -> bool:
            mine = classes.take(np.array([index])).dense()[0]
            return self.finds_equal(mine, reference.counts[reference.of_class[index]])

        def compute(pairs: Pairs) -> Decimal:
            rows = [(row, sum(row)) for row in zip(*pairs, strict=True)]
            p, q = ([Fraction(count, size) for count in row] for row, size in rows)
            return self.compute(p, q)

        value = np.maximum(self.estimate(classes, reference), 0.0)
        return LogDistances(value, find_counts, compute, is_zero)

    def finds_equal(self, mine: Counts, theirs: Counts) -> bool:
        """Whether two distributions, given by their counts, are at distance 0.

        Only equal distributions are (Gibbs' inequality).
        """
        size, total = int(mine.sum()), int(theirs.sum())
        factor = math.gcd(size, total) or 1
        kind = np.int64 if size * total < factor * FITS else object
        left, right = (counts.astype(kind) for counts in (mine, theirs))
        return np.array_equal(left * (total // factor), right * (size // factor))


@dataclass(frozen=True)
class KullbackLeibler(Divergence):
    """KL(class ‖ table) = Σ p log₂(p/q); finite where the table has all values of the class.

    It is infinite for a class with a value that the reference lacks. It can exceed 1: for a class
    that consists of one rare value.


    >>> d = KullbackLeibler().of(Histogram.from_dense([[1, 0]]), np.array([1, 1]))
    >>> d.value.tolist(), d.within(Fraction(1)).tolist()
    ([1.0], [True])
    """

    name = "kl"

    def estimate(self, classes: Histogram, reference: Reference) -> Floats:
        """Sums over the values of each class."""
        p, q = _find_shares(classes, reference)
        gain = np.full(len(p), np.inf)
        np.divide(p, q, out=gain, where=q > 0)
        return _sum_terms(p * np.log2(gain), classes)

    def compute(self, p: Shares, q: Shares) -> Decimal:
        """Computes the sum to the digits of the current decimal context."""
        terms = (decimal_of(x) * decimal_of(x / y).ln() for x, y in zip(p, q, strict=True) if x)
        return sum(terms, Decimal(0)) / Decimal(2).ln()


@dataclass(frozen=True)
class JensenShannon(KullbackLeibler):
    """JS = ½ KL(P ‖ A) + ½ KL(Q ‖ A) with A the mean of P and Q; lies in [0, 1] bits.

    >>> d = JensenShannon().of(Histogram.from_dense([[1, 0]]), np.array([0, 1]))
    >>> d.value.tolist(), d.within(Fraction(1)).tolist()
    ([1.0], [True])
    """

    name = "js"

    def estimate(self, classes: Histogram, reference: Reference) -> Floats:
        """Sums over the values of each class; values of the table only add ½ of their share."""
        p, q = _find_shares(classes, reference)
        seen = p * np.log2(2 * p / (p + q)) + _xlog2(q, 2 * q / (p + q)) - q
        return (_sum_terms(seen, classes) + 1.0) / 2

    def compute(self, p: Shares, q: Shares) -> Decimal:
        """Returns the mean of the two divergences from the mean distribution."""
        mean = [(x + y) / 2 for x, y in zip(p, q, strict=True)]
        return (super().compute(p, mean) + super().compute(q, mean)) / 2


@dataclass(frozen=True)
class SmoothedJensenShannon(JensenShannon):
    """JS between distributions that are smoothed over the ground metric: near values count as near.

    Nadaraya-Watson smoothing with the Epanechnikov kernel K(x) = 1 − (x/B)² for x < B, row by row,
    then renormalised (row-wise smoothing does not conserve mass). It stays monotone under merging:
    smoothing is linear and renormalising linear-fractional, and the preimages of the convex
    sublevel sets of JS under these are convex. With a bandwidth up to the least ground distance it
    is plain JS.
    """

    metric: Metric
    bandwidth: Fraction

    name = "smoothed-js"
    keeps_order = True

    @cached_property
    def weights(self) -> list[list[Fraction]]:
        """The row-normalised kernel: [i][j] is the weight of value j in the smoothed value i."""
        rows = []
        for i in range(self.metric.values):
            near = [self.metric.between(i, j) / self.bandwidth for j in range(self.metric.values)]
            row = [max(Fraction(0), 1 - x * x) for x in near]
            rows.append([weight / sum(row) for weight in row])
        return rows

    def estimate(self, classes: Histogram, reference: Reference) -> Floats:
        """Sums over all values, CHUNK classes at a time."""
        kernel = np.array(self.weights, dtype=float)
        whole = _smooth(reference.counts.astype(float), kernel)
        value = np.empty(classes.classes)
        for low in range(0, classes.classes, CHUNK):
            some = np.arange(low, min(low + CHUNK, classes.classes))
            p = _smooth(classes.take(some).dense().astype(float), kernel)
            q = whole[reference.of_class[some]]
            mean = (p + q) / 2
            mean[mean == 0] = 1  # absent from both: its term is 0
            value[some] = (_xlog2(p, p / mean) + _xlog2(q, q / mean)).sum(axis=1) / 2
        return value

    def finds_equal(self, mine: Counts, theirs: Counts) -> bool:
        """Whether the smoothed distributions are equal; those of different ones may be."""
        shares = ([Fraction(int(count), int(row.sum())) for count in row] for row in (mine, theirs))
        p, q = (_smooth_exactly(row, self.weights) for row in shares)
        return p == q

    def compute(self, p: Shares, q: Shares) -> Decimal:
        """Returns JS of the smoothed distributions."""
        return super().compute(*(_smooth_exactly(shares, self.weights) for shares in (p, q)))


def _make_smoothed(values: Attribute, spec: DistanceSpec) -> tuple[Distance, tuple[str, ...]]:
    refuse_large(values, "smoothed-js")
    over = values.ground(spec.over or values.default_distance)
    return SmoothedJensenShannon(over, spec.bandwidth), ()


KULLBACK_LEIBLER = DistanceKind(
    "kl",
    "counted in bits",
    "how much more likely a value becomes, above all a rare one; has no upper end",
    other=lambda values, spec: (KullbackLeibler(), ()),
    kernel="KL",
    bounded=False,
    in_bits=True,
    knows_groups=True,
)
JENSEN_SHANNON = DistanceKind(
    "js",
    "counted in bits",
    "the same, between 0 and 1 bit, and defined everywhere",
    other=lambda values, spec: (JensenShannon(), ()),
    kernel="JS",
    in_bits=True,
    knows_groups=True,
)
SMOOTHED = DistanceKind(
    "smoothed-js",
    "counted in bits",
    "how much more likely values become, near ones taken together",
    other=_make_smoothed,
    in_bits=True,
    options=frozenset({"over", "bandwidth"}),
    misuse="`over` and `bandwidth` are options of smoothed-js only",
)


def _find_shares(classes: Histogram, reference: Reference) -> tuple[Floats, Floats]:
    """Returns p and q of every entry: its share in its class and in the class's reference."""
    owner = classes.owner()
    p = classes.count.astype(float) / classes.size.astype(float)[owner]
    whole = reference.counts.astype(float)
    q = (whole / whole.sum(axis=1, keepdims=True))[reference.of_class[owner], classes.code]
    return p, q


def _sum_terms(terms: Floats, classes: Histogram) -> Floats:
    """Sums the terms of each class."""
    return np.bincount(classes.owner(), terms, minlength=classes.classes).astype(np.float64)


def _xlog2(x: Floats, y: Floats) -> Floats:
    """Returns x · log₂ y, and 0 where x is 0."""
    result = np.zeros(np.broadcast_shapes(x.shape, y.shape))
    np.log2(y, out=result, where=np.broadcast_to(x > 0, result.shape))
    return result * x


def _smooth(counts: Floats, kernel: Floats) -> Floats:
    blurred = (counts / counts.sum(axis=1, keepdims=True)) @ kernel.T
    result: Floats = blurred / blurred.sum(axis=1, keepdims=True)
    return result


def _smooth_exactly(p: Shares, weights: list[list[Fraction]]) -> list[Fraction]:
    blurred = [sum((w * x for w, x in zip(row, p, strict=True)), Fraction(0)) for row in weights]
    return [x / sum(blurred) for x in blurred]
