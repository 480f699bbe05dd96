"""Divergences of a class from the table, in bits: Kullback-Leibler, Jensen-Shannon, smoothed JS.

Their values are logarithms, so they have no fraction. Decisions are exact all the same: next to the
threshold the value is recomputed with as many digits as it takes (`numbers.compare_each`).
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
"""Of every value: its count in a class and in the reference, either without a common factor."""


class Divergence(Distance):
    """A distance that is a sum of logarithms: estimated for all classes, exact for any one."""

    keeps_order: ClassVar[bool] = False
    """Whether values have places. Where they have none, many classes are alike but for these."""

    def estimate(self, classes: Histogram, reference: Reference) -> Floats:
        """The distance of every class, rounded."""
        raise NotImplementedError

    def compute(self, p: Shares, q: Shares) -> Decimal:
        """The distance of two distributions, to the digits of the current decimal context."""
        raise NotImplementedError

    def against(self, classes: Histogram, reference: Reference) -> LogDistances:
        """The divergence of every class from the reference that it names."""

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
        """Whether two distributions, given by their counts, are at distance 0: none but equal ones
        are (Gibbs' inequality)."""
        size, total = int(mine.sum()), int(theirs.sum())
        factor = math.gcd(size, total) or 1
        kind = np.int64 if size * total < factor * FITS else object
        left, right = (counts.astype(kind) for counts in (mine, theirs))
        return np.array_equal(left * (total // factor), right * (size // factor))


@dataclass(frozen=True)
class KullbackLeibler(Divergence):
    """KL(class ‖ table) = Σ p log₂(p/q); finite where a class lies inside its table.

    A value of the class that the reference lacks altogether makes it infinite. It can exceed 1: a
    class that is certain of a rare value.

    >>> d = KullbackLeibler().of(Histogram.from_dense([[1, 0]]), np.array([1, 1]))
    >>> d.value.tolist(), d.within(Fraction(1)).tolist()
    ([1.0], [True])
    """

    name = "kl"

    def estimate(self, classes: Histogram, reference: Reference) -> Floats:
        """The sum over the values of each class."""
        p, q = _find_shares(classes, reference)
        gain = np.full(len(p), np.inf)
        np.divide(p, q, out=gain, where=q > 0)
        return _sum_terms(p * np.log2(gain), classes)

    def compute(self, p: Shares, q: Shares) -> Decimal:
        """The same sum."""
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
        """The sum over the values of each class; the table's others add ½ of their shares."""
        p, q = _find_shares(classes, reference)
        seen = p * np.log2(2 * p / (p + q)) + _xlog2(q, 2 * q / (p + q)) - q
        return (_sum_terms(seen, classes) + 1.0) / 2

    def compute(self, p: Shares, q: Shares) -> Decimal:
        """The mean of both divergences from the mean."""
        mean = [(x + y) / 2 for x, y in zip(p, q, strict=True)]
        return (super().compute(p, mean) + super().compute(q, mean)) / 2


@dataclass(frozen=True)
class SmoothedJensenShannon(JensenShannon):
    """JS between distributions smoothed over the ground metric, so that near values count as near.

    Nadaraya-Watson smoothing with the Epanechnikov kernel K(x) = 1 − (x/B)² for x < B, row by row,
    then renormalised (row-wise smoothing does not conserve mass). It stays monotone under merging:
    smoothing is linear and renormalising linear-fractional, which pulls the convex sublevel sets
    of JS back to convex sets. A bandwidth up to the least ground distance leaves plain JS.
    """

    metric: Metric
    bandwidth: Fraction

    name = "smoothed-js"
    keeps_order = True

    @cached_property
    def weights(self) -> list[list[Fraction]]:
        """The row-normalised kernel: share of value j in the smoothed value i."""
        rows = []
        for i in range(self.metric.values):
            near = [self.metric.between(i, j) / self.bandwidth for j in range(self.metric.values)]
            row = [max(Fraction(0), 1 - x * x) for x in near]
            rows.append([weight / sum(row) for weight in row])
        return rows

    def estimate(self, classes: Histogram, reference: Reference) -> Floats:
        """The sum over all values, some classes at a time."""
        kernel = np.array(self.weights, dtype=float)
        whole = _smooth(reference.counts.astype(float), kernel)
        value = np.empty(classes.classes)
        for low in range(0, classes.classes, CHUNK):
            some = np.arange(low, min(low + CHUNK, classes.classes))
            p = _smooth(classes.take(some).dense().astype(float), kernel)
            q = whole[reference.of_class[some]]
            mean = (p + q) / 2
            mean[mean == 0] = 1  # neither has it: its share is 0 and its logarithm is not taken
            value[some] = (_xlog2(p, p / mean) + _xlog2(q, q / mean)).sum(axis=1) / 2
        return value

    def finds_equal(self, mine: Counts, theirs: Counts) -> bool:
        """Smoothing may make different distributions equal."""
        shares = ([Fraction(int(count), int(row.sum())) for count in row] for row in (mine, theirs))
        p, q = (_smooth_exactly(row, self.weights) for row in shares)
        return p == q

    def compute(self, p: Shares, q: Shares) -> Decimal:
        """JS of the smoothed distributions."""
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
    misuse="only smoothed-js takes `over` and `bandwidth`",
)


def _find_shares(classes: Histogram, reference: Reference) -> tuple[Floats, Floats]:
    """p and q of every entry: its share of its class and of the class's reference."""
    owner = classes.owner()
    p = classes.count.astype(float) / classes.size.astype(float)[owner]
    whole = reference.counts.astype(float)
    q = (whole / whole.sum(axis=1, keepdims=True))[reference.of_class[owner], classes.code]
    return p, q


def _sum_terms(terms: Floats, classes: Histogram) -> Floats:
    """The sum of each class's terms."""
    return np.bincount(classes.owner(), terms, minlength=classes.classes).astype(np.float64)


def _xlog2(x: Floats, y: Floats) -> Floats:
    """x · log₂ y, and 0 where x is 0."""
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
