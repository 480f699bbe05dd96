"""What every distance answers, and the earth mover's distance of all classes as exact fractions.

`EMD = work / (diameter · n · r)` with whole numbers throughout. 64-bit kernels serve every class
whose numbers fit (`4 · span · n · r < 2⁶³`, with r the class's own size); Python integers serve the
few others. Nothing is ever decided by comparing rounded numbers.
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
    """Which reference each class is compared with: counts per reference, index per class."""

    counts: Counts
    of_class: Ints


class Distance:
    """A way of comparing the distribution of a class with that of a reference."""

    @property
    def name(self) -> str:
        """The word by which a policy asks for it."""
        raise NotImplementedError

    @property
    def tree(self) -> TreeMetric | None:
        """The tree that mass moves along, if it is an earth mover's distance along one."""
        return None

    def of(self, classes: Histogram, reference: Counts) -> Distances:
        """The distance of every class from one reference distribution (counts per value)."""
        only = np.zeros(classes.classes, dtype=np.int64)
        return self.against(classes, Reference(reference[None, :], only))

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
    def tree(self) -> TreeMetric | None:
        """The ground distance, where it is one."""
        return self.metric if isinstance(self.metric, TreeMetric) else None

    def against(self, classes: Histogram, reference: Reference) -> Ratios:
        """The distance of every class from the reference that it names."""
        total = reference.counts.sum(axis=1)
        if isinstance(self.metric, TreeMetric):
            work = self._move_along_tree(self.metric, classes, reference, total)
        else:
            work = self._move_anyhow(self.metric, classes, reference)
        scale = np.full(classes.classes, self.metric.diameter)
        return Ratios((work,), (scale, total[reference.of_class], classes.size))

    def _move_along_tree(
        self, metric: TreeMetric, classes: Histogram, reference: Reference, total: Counts
    ) -> Counts:
        """The work of each class: compiled where all partial sums fit, Python integers beyond."""
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

    def _move_anyhow(
        self, metric: MatrixMetric, classes: Histogram, reference: Reference
    ) -> Counts:
        """The work of each class over any ground distance: a transportation problem."""
        result = np.empty(classes.classes, dtype=object)
        for index, ref in enumerate(reference.of_class):
            counts = classes.take(np.array([index])).dense()[0]
            result[index] = least_flow(metric, excess(counts, reference.counts[ref]))[0]
        return result


class TreeWork:
    """Classes and references along the edges of a tree: the numerators of their distances.

    The formula and the names are those of `kernels.classes.histograms`, which tests hold to the
    same in Python integers. Numbers are of `kind`: 64 bits, if the caller knows that they fit.
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
        """The work of each class, compiled."""
        metric, reference = self.metric, self.reference.of_class
        work = ClassWork(
            self.classes.start, self.place, self.count, self.size,
            reference, self.below, self.total, self.idle,
        )  # fmt: skip
        if metric.chains is None:
            return work.along_tree(metric.leaf, metric.parent, self.length)
        return work.along_chains(metric.chains.end, self.reach, self.moment)

    def by_python(self) -> Counts:
        """The work of each class in Python integers, whatever their size."""
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
        """Of chains: reach, below and moment as lists, whose items are quicker to get."""
        return self.reach.tolist(), self.below.tolist(), self.moment.tolist()

    def _walk_up(self, entries: list[tuple[int, int]], size: int, ref: int) -> int:
        """What the touched edges of one class, given by its (value, count), add to idle ones."""
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
        """The same of one class given by its (edge, count), where chains meet at the root."""
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
