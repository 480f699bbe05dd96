"""What every distance answers, and the earth mover's distance of all classes as exact fractions.

`EMD = work / (diameter · n · r)` with whole numbers throughout. 64-bit kernels serve every class
whose numbers fit (`4 · span · n · r < 2⁶³`, with r the class's own size); Python integers serve the
few others. Nothing is ever decided by comparing rounded numbers: a float computed from the exact
fraction settles what is far from the threshold, the fraction itself settles the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tclose.distance import python_integers
from tclose.distance.ground import MatrixMetric, Metric, TreeMetric
from tclose.distance.histogram import Counts, Histogram, lexicographic
from tclose.distance.numbers import Ratios
from tclose.kernels.distance.work import ChainReferences, ClassCounts, Transport, TreeReferences

FITS = 2**63


@dataclass(frozen=True)
class Reference:
    """Which reference each class is compared with: counts per reference, index per class."""

    counts: Counts
    of_class: NDArray[np.int64]

    @classmethod
    def for_all(cls, counts: Counts, classes: int) -> Reference:
        """One reference for all classes."""
        return cls(counts[None, :], np.zeros(classes, dtype=np.int64))


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


class Distance:
    """A way of comparing the distribution of a class with that of a reference."""

    @property
    def name(self) -> str:
        """The word by which a policy asks for it."""
        raise NotImplementedError

    @property
    def bounded(self) -> bool:
        """Whether it lies in [0, 1]."""
        return True

    @property
    def kernel(self) -> str:
        """What the compiled kernels call it; empty where they do not know it."""
        return ""

    @property
    def tree(self) -> TreeMetric | None:
        """The tree that mass moves along, if it is an earth mover's distance along one."""
        return None

    def of(self, classes: Histogram, reference: Counts) -> Distances:
        """The distance of every class from one reference distribution (counts per value)."""
        return self.against(classes, Reference.for_all(reference, classes.classes))

    def against(self, classes: Histogram, reference: Reference) -> Distances:
        """The distance of every class from the reference that it names."""
        raise NotImplementedError


@dataclass(frozen=True)
class EarthMover(Distance):
    """Earth mover's distance over a ground metric.

    >>> from fractions import Fraction
    >>> from tclose.distance import ordered
    >>> salaries = Histogram.from_dense([[1, 1, 1, 0, 0, 0, 0, 0, 0]])
    >>> distance = EarthMover(ordered(9)).of(salaries, np.ones(9, dtype=np.int64))
    >>> distance.exact(0), distance.within(Fraction(3, 8)), distance.within(Fraction(374, 1000))
    (Fraction(3, 8), array([ True]), array([False]))
    """

    metric: Metric

    @property
    def name(self) -> str:
        """The ground distance's name."""
        return self.metric.name

    @property
    def kernel(self) -> str:
        """Kernels walk trees."""
        return "" if self.tree is None else "EMD"

    @property
    def tree(self) -> TreeMetric | None:
        """The ground distance, where it is one."""
        return self.metric if isinstance(self.metric, TreeMetric) else None

    def against(self, classes: Histogram, reference: Reference) -> Ratios:
        """The distance of every class from the reference that it names."""
        total = reference.counts.sum(axis=1)
        if isinstance(self.metric, MatrixMetric):
            work = _flows(self.metric, classes, reference)
        else:
            work = _along_tree(self.metric, classes, reference, total)
        scale = np.full(classes.classes, self.metric.diameter)
        return Ratios((work,), (scale, total[reference.of_class], classes.size))


def _along_tree(
    metric: TreeMetric, classes: Histogram, reference: Reference, total: Counts
) -> Counts:
    """Numerators for a tree metric: compiled where they fit, Python integers beyond."""
    small = _fits(classes, int(max(total, default=0)), metric.span)
    if small.all():
        return work_by_kernels(metric, classes, reference, total)
    result = np.empty(classes.classes, dtype=object)
    for part, work in (
        (np.flatnonzero(small), work_by_kernels),
        (np.flatnonzero(~small), work_by_python),
    ):
        if len(part):
            some = Reference(reference.counts, reference.of_class[part])
            result[part] = work(metric, classes.take(part), some, total)
    return result


def _fits(classes: Histogram, total: int, span: int) -> NDArray[np.bool_]:
    """Which classes' work, partial sums included, stays below 2⁶³."""
    largest = FITS // (4 * max(span, 1) * max(total, 1))
    result: NDArray[np.bool_] = np.asarray(classes.size <= largest, dtype=bool)
    return result


def work_by_kernels(
    metric: TreeMetric, classes: Histogram, reference: Reference, total: Counts
) -> Counts:
    """Numerators by the compiled kernels; the caller knows that they fit 64 bits."""
    laid = _lay_out(metric, classes, reference, np.dtype(np.int64))
    counts = ClassCounts(
        classes.start, laid.place, laid.count, classes.size.astype(np.int64), reference.of_class
    )
    n = total.astype(np.int64)
    if metric.chains is None:
        tree = TreeReferences(metric.leaf, metric.parent, laid.length, laid.below, n, laid.idle)
        return np.asarray(tree.work(counts))
    chains = ChainReferences(
        metric.chains.end, laid.reach, laid.below, laid.moment, n, laid.idle
    )  # fmt: skip
    return np.asarray(chains.work(counts))


def work_by_python(
    metric: TreeMetric, classes: Histogram, reference: Reference, total: Counts
) -> Counts:
    """The same numerators in Python integers, whatever their size."""
    laid = _lay_out(metric, classes, reference, np.dtype(object))
    place, count, reach = laid.place.tolist(), laid.count.tolist(), laid.reach.tolist()
    below, moment = laid.below.tolist(), laid.moment.tolist()
    result = np.empty(classes.classes, dtype=object)
    for c, ref in enumerate(reference.of_class.tolist()):
        part = slice(int(classes.start[c]), int(classes.start[c + 1]))
        entries = list(zip(place[part], count[part], strict=True))
        sizes = (int(classes.size[c]), int(total[ref]))
        if metric.chains is None:
            result[c] = python_integers.tree_work(
                entries, *sizes, metric.leaf, metric.parent, laid.length, below[ref],
                laid.idle[ref],
            )  # fmt: skip
        else:
            result[c] = python_integers.chain_work(
                entries, *sizes, metric.chains.end, reach, below[ref], moment[ref], laid.idle[ref]
            )
    return result


@dataclass(frozen=True)
class _Layout:
    """Classes and references along the edges of a tree."""

    place: NDArray[np.int64]
    """By entry of the classes: its value; of chains, the edge above it."""
    count: Counts
    length: Counts
    below: Counts
    """[references, nodes]; of chains, [references, edges]."""
    idle: Counts
    """By reference: Σ length · below."""
    reach: Counts
    """Of chains: the lengths of all edges before each."""
    moment: Counts
    """Of chains: [references, edges + 1], Σ length · below of all edges before."""


def _lay_out(
    metric: TreeMetric, classes: Histogram, reference: Reference, kind: np.dtype[Any]
) -> _Layout:
    below = metric.below(reference.counts.astype(kind))
    length, count = metric.length.astype(kind), classes.count.astype(kind)
    idle, none = (below * length).sum(axis=1), np.zeros(0, dtype=kind)
    chains = metric.chains
    if chains is None:
        return _Layout(classes.code, count, length, below, idle, none, none)
    edge = chains.slot[classes.code]
    if (np.diff(chains.slot) < 0).any():
        order = lexicographic(classes.owner(), edge - edge.min(initial=0))
        edge, count = edge[order], count[order]
    along, step = below[:, chains.node], length[chains.node]
    reach = np.concatenate((step[:0].sum(keepdims=True), np.cumsum(step)))
    start = np.zeros((len(along), 1), dtype=kind)
    moment = np.concatenate((start, np.cumsum(along * step, axis=1)), axis=1)
    return _Layout(edge, count, length, along, idle, reach, moment)


def _flows(metric: MatrixMetric, classes: Histogram, reference: Reference) -> Counts:
    """Numerators for an arbitrary ground distance: one transportation problem per class."""
    result = np.empty(classes.classes, dtype=object)
    for index in range(classes.classes):
        ref = reference.of_class[index]
        counts = classes.take(np.array([index])).dense()[0]
        surplus = excess(counts, reference.counts[ref])
        result[index] = least_flow(metric, surplus)[0]
    return result


def excess(counts: Counts, reference: Counts) -> Counts:
    """n·c_v − r·N_v for every value: what a class has too much (or too little) of, scaled."""
    mine, theirs = counts.astype(object), reference.astype(object)
    result: Counts = mine * theirs.sum() - theirs * mine.sum()
    return result


def least_flow(metric: MatrixMetric, surplus: Counts) -> tuple[int, Counts]:
    """The least work that levels a surplus vector, and the flow [from value, to value] doing it."""
    source, sink = np.flatnonzero(surplus > 0), np.flatnonzero(surplus < 0)
    whole_flow = np.zeros((metric.values, metric.values), dtype=object)
    if not len(source):
        return 0, whole_flow
    supply, demand = surplus[source], -surplus[sink]
    cost = metric.cost[np.ix_(source, sink)]
    if 4 * int(supply.sum()) * metric.diameter < FITS:
        found = Transport(*(part.astype(np.int64) for part in (supply, demand, cost)))
        work, flow = found.work, found.flow
    else:
        work, flow = python_integers.cheapest_flow(supply, demand, cost.astype(object))
    whole_flow[np.ix_(source, sink)] = flow
    return int(work), whole_flow
