"""Closeness of several sensitive attributes taken together.

Closeness of each attribute by itself never implies closeness of their combinations (the joint
distance is at least any weighted mean of the separate ones), so this is a promise of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tclose.data.encode.classes import Classes, Tally, grouped
from tclose.distance import Distance, EarthMover, Metric, equal, matrix
from tclose.errors import UsageError
from tclose.requirements.requirement import Capabilities, Measurement, settle, shown

MOST_PAIRS = 300


@dataclass(frozen=True)
class JointCloseness:
    """t-closeness of the combined values of several attributes.

    `by` is "equal" (any difference counts 1: the variational distance of the joint distribution),
    or "mean" or "max" of the attributes' own distances.
    """

    columns: tuple[str, ...]
    t: Fraction | None = None
    by: str = "equal"
    grounds: tuple[Metric, ...] = ()
    name: str = "joint-t-closeness"
    capabilities: ClassVar[Capabilities] = Capabilities(monotone=True, follows_table=True)

    @property
    def attribute(self) -> str:
        """All of them."""
        return " × ".join(self.columns)

    @property
    def distance(self) -> str:
        """How combined values are compared."""
        return self.by

    @property
    def required(self) -> str | None:
        """The largest distance allowed."""
        return shown(self.t)

    def measure(self, classes: Classes) -> Measurement:
        """The distance of the farthest class."""
        tally, tuples = joint_tally(classes, self.columns)
        distances = self._distance(tuples).of(tally.histogram, tally.table)
        worst = distances.largest()
        value = distances.value
        fails = np.zeros(len(value), dtype=bool) if self.t is None else ~distances.within(self.t)
        return settle(
            classes, tally, value, fails, worst,
            limit=None if self.t is None else float(self.t), exact=distances.exact(worst),
        )  # fmt: skip

    def _distance(self, tuples: list[tuple[int, ...]]) -> Distance:
        if self.by == "equal":
            return EarthMover(equal(len(tuples)))
        if len(tuples) > MOST_PAIRS:
            raise UsageError(
                f"{len(tuples):,} combinations are too many for the {self.by} distance "
                f"(at most {MOST_PAIRS})",
                where=f"joint closeness of {self.attribute}",
                hint='use distance = "equal"',
            )

        def apart(one: tuple[int, ...], other: tuple[int, ...]) -> Fraction:
            each = [
                _between(ground, a, b)
                for ground, a, b in zip(self.grounds, one, other, strict=True)
            ]
            return max(each) if self.by == "max" else sum(each, Fraction(0)) / len(each)

        return EarthMover(_unscaled([[apart(one, other) for other in tuples] for one in tuples]))


def joint_tally(classes: Classes, columns: tuple[str, ...]) -> tuple[Tally, list[tuple[int, ...]]]:
    """The combined values per view, and which values each combination is made of.

    A missing value that may be any value is a value of its own here, at distance 1 from all others.
    """
    codes = []
    for name in columns:
        code = classes.cell_codes[name]
        codes.append(np.where(code < 0, classes.attributes[name].values, code))
    label, first = grouped(codes)
    tuples = [tuple(int(code[at]) for code in codes) for at in first]
    return classes.tally_of(label, len(first)), tuples


def _between(ground: Metric, one: int, other: int) -> Fraction:
    """The distance of two values, where the code after the last is a missing one."""
    if max(one, other) >= ground.values:
        return Fraction(one != other)
    return ground.between(one, other)


def _unscaled(distances: list[list[Fraction]]) -> Metric:
    """The matrix as it is: its diameter is that of the whole domain, not of what was observed."""
    from tclose.distance.ground import MatrixMetric

    metric, _ = matrix(distances)
    largest = max(entry for row in distances for entry in row)
    if not largest:
        return metric
    return MatrixMetric("matrix", metric.cost, int(metric.diameter / largest))
