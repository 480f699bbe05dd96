"""The interface of all distances, and the earth mover's distance of all classes, exactly.

`EMD = work / (diameter · n · r)`, all whole numbers. Compiled 64-bit kernels compute every class
whose numbers fit (`4 · span · n · r < 2⁶³`, with r the class's own size), Python integers the few
others. No decision compares rounded numbers.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tclose.arrays import Ints
from tclose.distance.ground import MatrixMetric, Metric, TreeMetric
from tclose.distance.histogram import Counts, Histogram, lexicographic
from tclose.distance.numbers import Distances, Ratios
from tclose.distance.transport import FITS, excess, least_flow
from tclose.kernels.classes.histograms import ClassWork


@dataclass(frozen=True)
class Reference:
    """The reference of each class: counts per reference, and the reference's index per class."""

    counts: Counts
    of_class: Ints


class Distance:
    """A way to compare the distribution of a class with a reference distribution."""

    @property
    def name(self) -> str:
        """The name in a policy."""
        raise NotImplementedError

    @property
    def tree(self) -> TreeMetric | None:
        """The tree along which mass moves, if this is an earth mover's distance along one."""
        return None

    def of(self, classes: Histogram, reference: Counts) -> Distances:
        """Returns the distance of every class from one reference (counts per value)."""
        only = np.zeros(classes.classes, dtype=np.int64)
        return self.against(classes, Reference(reference[None, :], only))

    def against(self, classes: Histogram, reference: Reference) -> Distances:
        """Returns the distance of every class from its own reference."""
        raise NotImplementedError


@dataclass(frozen=True)
class EarthMover(Distance):
    """Earth mover's distance over a ground metric.

    >>> from fractions import Fraction
    >>> from tclose.distance.ground import ordinal
    >>> salaries = Histogram.from_dense([[1, 1, 1, 0, 0, 0, 0, 0, 0]])
    >>> distance = EarthMover(ordinal(9)).of(salaries, np.ones(9, dtype=np.int64))
    >>> distance.exact(0), distance.within(Fraction(3, 8)), distance.within(Fraction(374, 1000))
    (Fraction(3, 8), array([ True]), array([False]))
    """

    metric: Metric

    @property
    def name(self) -> str:
        """The name of the ground distance."""
        return self.metric.name

    @property
    def tree(self) -> TreeMetric | None:
        """The ground distance, if it is a tree metric."""
        return self.metric if isinstance(self.metric, TreeMetric) else None

    def against(self, classes: Histogram, reference: Reference) -> Ratios:
        """Returns the distance of every class from its own reference."""
        total = reference.counts.sum(axis=1)
        if isinstance(self.metric, TreeMetric):
            work = self._move_along_tree(self.metric, classes, reference, total)
        else:
            work = self._move_by_matrix(self.metric, classes, reference)
        scale = np.full(classes.classes, self.metric.diameter)
        return Ratios((work,), (scale, total[reference.of_class], classes.size))

    def _move_along_tree(
        self, metric: TreeMetric, classes: Histogram, reference: Reference, total: Counts
    ) -> Counts:
        """Computes the work of each class: compiled if all partial sums fit, else in Python."""
        largest = FITS // (4 * max(metric.span, 1) * max(int(max(total, default=0)), 1))
        small = np.asarray(classes.size <= largest, dtype=bool)
        if small.all():
            return TreeWork(metric, classes, reference, np.dtype(np.int64)).by_kernels()
        result = np.empty(classes.classes, dtype=object)
        for fits in (True, False):
            if len(part := np.flatnonzero(small == fits)):
                some = Reference(reference.counts, reference.of_class[part])
                kind: np.dtype[Any] = np.dtype(np.int64 if fits else object)
                work = TreeWork(metric, classes.take(part), some, kind)
                result[part] = work.by_kernels() if fits else work.by_python()
        return result

    def _move_by_matrix(
        self, metric: MatrixMetric, classes: Histogram, reference: Reference
    ) -> Counts:
        """Computes the work of each class over any ground distance, as a transportation problem."""
        result = np.empty(classes.classes, dtype=object)
        for index, ref in enumerate(reference.of_class):
            counts = classes.take(np.array([index])).dense()[0]
            result[index] = least_flow(metric, excess(counts, reference.counts[ref]))[0]
        return result


class TreeWork:
    """The numerators of distances along a tree, for classes and their references.

    Formula and names are those of `kernels.classes.histograms`, which tests compare with the same
    in Python integers. Numbers have the type `kind`: 64 bits only if the caller knows that they
    fit.
    """

    def __init__(
        self, metric: TreeMetric, classes: Histogram, reference: Reference, kind: np.dtype[Any]
    ) -> None:
        self.metric, self.classes, self.reference = metric, classes, reference
        self.total, self.size = reference.counts.sum(axis=1).astype(kind), classes.size.astype(kind)
        self.count, self.length = classes.count.astype(kind), metric.length.astype(kind)
        self.below = metric.below(reference.counts.astype(kind))
        self.idle = (self.below * self.length).sum(axis=1)
        self.place = classes.code
        if (chains := metric.chains) is None:
            return
        self.place = chains.slot[classes.code]
        if (np.diff(chains.slot) < 0).any():
            order = lexicographic(classes.owner(), self.place - self.place.min(initial=0))
            self.place, self.count = self.place[order], self.count[order]
        self.below, step = self.below[:, chains.node], self.length[chains.node]
        start = np.zeros((len(self.below), 1), dtype=kind)
        self.reach = np.concatenate((start[0], np.cumsum(step)))
        moment = np.cumsum(self.below * step, axis=1)
        self.moment = np.concatenate((start, moment), axis=1)

    def by_kernels(self) -> Counts:
        """Computes the work of each class with compiled kernels."""
        metric, reference = self.metric, self.reference.of_class
        work = ClassWork(
            self.classes.start, self.place, self.count, self.size,
            reference, self.below, self.total, self.idle,
        )  # fmt: skip
        if metric.chains is None:
            return work.along_tree(metric.leaf, metric.parent, self.length)
        return work.along_chains(metric.chains.end, self.reach, self.moment)

    def by_python(self) -> Counts:
        """Computes the work of each class in Python integers, whatever their size."""
        result = np.empty(self.classes.classes, dtype=object)
        place, count, start = self.place.tolist(), self.count.tolist(), self.classes.start
        for c, ref in enumerate(self.reference.of_class.tolist()):
            part = slice(int(start[c]), int(start[c + 1]))
            entries = list(zip(place[part], count[part], strict=True))
            walk = self._walk_up if self.metric.chains is None else self._walk_chains
            result[c] = self.size[c] * self.idle[ref] + walk(entries, self.size[c], ref)
        return result

    @cached_property
    def _rows(self) -> tuple[list[int], list[list[int]], list[list[int]]]:
        """For chains: reach, below and moment as lists, which Python indexes faster than arrays."""
        return self.reach.tolist(), self.below.tolist(), self.moment.tolist()

    def _walk_up(self, entries: list[tuple[int, int]], size: int, ref: int) -> int:
        """Returns what a class, given by its (value, count), adds to `idle` on its edges."""
        leaf, parent, work = self.metric.leaf, self.metric.parent, 0
        mass: dict[int, int] = {}
        for value, count in entries:
            node = int(leaf[value])
            while parent[node] >= 0:
                mass[node] = mass.get(node, 0) + count
                node = int(parent[node])
        for node, held in mass.items():
            base = size * self.below[ref, node]
            work += self.length[node] * (abs(self.total[ref] * held - base) - base)
        return work

    def _walk_chains(self, entries: list[tuple[int, int]], size: int, ref: int) -> int:
        """Returns the same on a tree of chains, for a class given by its (edge, count)."""
        assert self.metric.chains is not None
        reach, below, moment = self._rows[0], self._rows[1][ref], self._rows[2][ref]
        total, work = self.total[ref], 0
        chains: dict[int, list[tuple[int, int]]] = {}
        for edge, count in entries:
            if edge >= 0:
                chains.setdefault(int(self.metric.chains.end[edge]), []).append((edge, count))
        for stop, chain in chains.items():
            work -= size * (moment[stop] - moment[chain[0][0]])
            held, following = 0, [*(edge for edge, _ in chain[1:]), stop]
            for (at, count), end in zip(chain, following, strict=True):
                held += count
                turn = bisect_right(below, total * held // max(size, 1), at, end)
                work += total * held * (2 * reach[turn] - reach[at] - reach[end])
                work += size * (moment[end] - 2 * moment[turn] + moment[at])
        return work
