"""The earth mover's distance of all classes at once, as exact fractions.

`EMD = work / (diameter · n · r)` with whole numbers throughout. 64-bit kernels serve every class
whose numbers fit (`4 · span · n · r < 2⁶³`, with r the class's own size); Python integers serve the
few others. Nothing is ever decided by comparing rounded numbers: a float computed from the exact
fraction settles what is far from the threshold, the fraction itself settles the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.distance import kernel
from tclose.distance.ground import Chains, MatrixMetric, Metric, TreeMetric
from tclose.distance.histogram import Counts, Histogram, lexicographic
from tclose.distance.measure import Reference
from tclose.distance.ratios import Ratios

FITS = 2**63


@dataclass(frozen=True)
class EarthMover:
    """Earth mover's distance over a ground metric.

    >>> from fractions import Fraction
    >>> from tclose.distance.ground import ordered
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
    def bounded(self) -> bool:
        """It lies in [0, 1], as the ground distance does."""
        return True

    def of(self, classes: Histogram, reference: Counts) -> Ratios:
        """The distance of every class from one reference."""
        return self.against(classes, Reference.shared(reference, classes.classes))

    def against(self, classes: Histogram, reference: Reference) -> Ratios:
        """The distance of every class from the reference it names."""
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
    small = _fitting(classes, int(max(total, default=0)), metric.span)
    if small.all():
        return _tree_kernel(metric, classes, reference, total, compiled=True)
    result = np.empty(classes.classes, dtype=object)
    for part, compiled in ((np.flatnonzero(small), True), (np.flatnonzero(~small), False)):
        if len(part):
            some = Reference(reference.counts, reference.of_class[part])
            result[part] = _tree_kernel(metric, classes.take(part), some, total, compiled=compiled)
    return result


def _fitting(classes: Histogram, total: int, span: int) -> NDArray[np.bool_]:
    """Which classes' work, partial sums included, stays below 2⁶³."""
    largest = FITS // (4 * max(span, 1) * max(total, 1))
    result: NDArray[np.bool_] = np.asarray(classes.size <= largest, dtype=bool)
    return result


def _tree_kernel(
    metric: TreeMetric, classes: Histogram, reference: Reference, total: Counts, *, compiled: bool
) -> Counts:
    kind: Any = np.int64 if compiled else object
    counts = reference.counts.astype(kind)
    below = metric.below(counts)
    length = metric.length.astype(kind)
    idle = (below * length).sum(axis=1)
    work = np.empty(classes.classes, dtype=kind)
    common = (classes.size.astype(kind), reference.of_class)
    known = (total.astype(kind), idle, work)
    if metric.chains is not None:
        _chain_kernel(metric.chains, classes, common, below, length, known, compiled)
        return work
    function = kernel.tree_work if compiled else kernel.tree_work.py_func  # type: ignore[attr-defined]
    nodes = len(metric.parent)
    scratch = (np.zeros(nodes, dtype=kind), np.empty(nodes, dtype=np.int64))
    function(
        classes.start, classes.code, classes.count.astype(kind), *common,
        metric.leaf, metric.parent, length, below, known[0], idle, *scratch, work,
    )  # fmt: skip
    return work


def _chain_kernel(
    chains: Chains,
    classes: Histogram,
    common: tuple[Counts, NDArray[np.int64]],
    below: Counts,
    length: Counts,
    known: tuple[Counts, Counts, Counts],
    compiled: bool,
) -> None:
    function = kernel.chain_work if compiled else kernel.chain_work.py_func  # type: ignore[attr-defined]
    slot = chains.slot[classes.code]
    count = classes.count.astype(length.dtype)
    if (np.diff(chains.slot) < 0).any():
        order = lexicographic(classes.owner(), slot - slot.min(initial=0))
        slot, count = slot[order], count[order]
    along = below[:, chains.node]
    step = length[chains.node]
    reach = np.concatenate((step[:0].sum(keepdims=True), np.cumsum(step)))
    start = np.zeros((len(along), 1), dtype=length.dtype)
    moment = np.concatenate((start, np.cumsum(along * step, axis=1)), axis=1)
    total, idle, work = known
    function(
        classes.start, slot, count, *common, chains.end, reach, along, moment, total, idle, work
    )


def _flows(metric: MatrixMetric, classes: Histogram, reference: Reference) -> Counts:
    """Numerators for an arbitrary ground distance: one transportation problem per class."""
    result = np.empty(classes.classes, dtype=object)
    for index in range(classes.classes):
        ref = reference.of_class[index]
        one = classes.take(np.array([index])).dense()[0]
        surplus = excess(one, reference.counts[ref])
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
    amount = int(surplus[source].sum())
    fits = 4 * amount * metric.diameter < FITS
    kind: Any = np.int64 if fits else object
    function = kernel.flow_work if fits else kernel.flow_work.py_func  # type: ignore[attr-defined]
    nodes = len(source) + len(sink)
    flow = np.zeros((len(source), len(sink)), dtype=kind)
    work = function(
        surplus[source].astype(kind),
        (-surplus[sink]).astype(kind),
        metric.cost[np.ix_(source, sink)].astype(kind),
        flow,
        np.zeros(nodes, dtype=kind),
        np.zeros(nodes, dtype=kind),
        np.zeros(nodes, dtype=np.int64),
        np.zeros(nodes, dtype=np.bool_),
    )
    whole_flow[np.ix_(source, sink)] = flow
    return int(work), whole_flow
