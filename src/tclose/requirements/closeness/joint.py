"""Closeness of several sensitive attributes taken together.

Closeness of each attribute by itself never implies closeness of their combinations (the joint
distance is at least any weighted mean of the separate ones), so this is a promise of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from tclose.data.binding import BoundTable
from tclose.data.encode.classes import Classes, Tally, grouped
from tclose.distance import Distance, EarthMover, MatrixMetric, Metric, equal, matrix
from tclose.errors import UsageError
from tclose.requirements.closeness.t_closeness import ground_name
from tclose.requirements.constraint import AttributePool, Constraint, ConstraintKind
from tclose.requirements.requirement import (
    Capabilities,
    Matching,
    Measurement,
    Requirement,
    nothing_fails,
    settle,
)

MOST_PAIRS = 300


@dataclass(frozen=True)
class JointCloseness(Requirement):
    """t-closeness of the combined values of several attributes.

    `by` is "equal" (any difference counts 1: the variational distance of the joint distribution),
    or "mean" or "max" of the attributes' own distances.
    """

    name: ClassVar[str] = "joint-t-closeness"
    key: ClassVar[str] = "joint"
    topic: ClassVar[str] = "Closeness of {about} together"
    sentence: ClassVar[str] = (
        "In no class does the spread of the combinations of {about} differ from that of the whole "
        "table by more than {required}{scale}."
    )
    axis: ClassVar[Literal["", "k", "t"]] = "t"

    attribute: str = field(init=False)
    columns: tuple[str, ...]
    t: Fraction | None = None
    by: str = "equal"
    grounds: tuple[Metric, ...] = ()

    def __post_init__(self) -> None:
        """Names all of the attributes."""
        object.__setattr__(self, "attribute", " × ".join(self.columns))

    @property
    def capabilities(self) -> Capabilities:
        """How combinations are distributed in the table takes all of its cells to tell."""
        return Capabilities(whole_table="joint closeness")

    @property
    def reading(self) -> str:
        """All of its attributes are learned at once."""
        return "joint"

    @property
    def distance(self) -> str:
        """How combined values are compared."""
        return self.by

    @property
    def limit(self) -> Fraction | None:
        """The largest distance allowed."""
        return self.t

    def measure(self, classes: Classes) -> Measurement:
        """The distance of the farthest class."""
        tally, tuples = joint_tally(classes, self.columns)
        distances = self._distance(tuples).of(tally.histogram, tally.table)
        worst = distances.largest()
        value = distances.value
        fails = nothing_fails(value) if self.t is None else ~distances.within(self.t)
        return settle(
            classes, tally, value, fails, worst, limit=self.t, exact=distances.exact(worst)
        )

    def compile(self, attributes: AttributePool) -> tuple[Constraint, ...] | None:
        """The variational distance of the combined values."""
        if self.by != "equal" or self.t is None:
            return None
        at = attributes.add_joint(self.columns)
        metric = equal(attributes.fields[at].values)
        return (Constraint(ConstraintKind.EMD, at, self.t, metric),)

    @classmethod
    def from_policy(cls, bound: BoundTable, match_population: Matching) -> Iterator[Requirement]:
        """`joint = [{ columns = ["disease", "salary"], t = 0.3 }]`."""
        for joint in bound.policy.joint:
            values = [bound.attributes[name] for name in joint.columns]
            grounds = tuple(each.ground(ground_name(each)) for each in values)
            yield cls(joint.columns, joint.t, joint.distance, grounds)

    @classmethod
    def measured_of_table(cls, bound: BoundTable) -> Iterator[Requirement]:
        """All sensitive attributes together, where there are several."""
        if len(bound.attributes) > 1:
            yield cls(tuple(bound.attributes))

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
    metric, _ = matrix(distances)
    largest = max(entry for row in distances for entry in row)
    if not largest:
        return metric
    return MatrixMetric("matrix", metric.cost, int(metric.diameter / largest))
