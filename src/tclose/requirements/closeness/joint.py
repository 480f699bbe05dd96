"""Closeness of several sensitive attributes taken together.

Closeness of each attribute by itself never implies closeness of their combinations (the joint
distance is at least any weighted mean of the separate ones), so this is a promise of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from tclose.distance import Distance, EarthMover, MatrixMetric, Metric, equal, matrix
from tclose.distance.histogram import group_codes
from tclose.distance.numbers import Number, Part, must
from tclose.errors import UsageError
from tclose.requirements.classes import JudgedClasses, Tally
from tclose.requirements.closeness.t_closeness import ground_name
from tclose.requirements.constraint import AttributePool, Constraint, ConstraintKind
from tclose.requirements.fields import PolicyPart
from tclose.requirements.requirement import (
    Capabilities,
    Matching,
    Measurement,
    Requirement,
    Table,
    nothing_fails,
    settle,
)

MOST_PAIRS = 300


class Joint(Part):
    """Closeness of several sensitive attributes taken together."""

    columns: tuple[str, ...] = Field(min_length=2)
    t: Annotated[Number, must("t must lie in [0, 1]", lambda t: 0 <= t <= 1)]
    distance: Literal["equal", "mean", "max"] = Field(
        "equal", description="equal: any difference counts 1; else the columns' distances combined"
    )

    @field_validator("columns")
    @classmethod
    def _distinct(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(value)) < len(value):
            raise ValueError("a column stands twice")
        return value


class JointField(PolicyPart):
    """`joint` of a policy."""

    joint: tuple[Joint, ...] = ()

    @model_validator(mode="after")
    def _joint_sensitive(self) -> JointField:
        for joint in self.joint:
            wrong = [name for name in joint.columns if name not in self.sensitive]
            if wrong:
                raise ValueError(f"joint: {wrong[0]!r} is not a sensitive column of this policy")
        return self


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

    def measure(self, classes: JudgedClasses) -> Measurement:
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
    def from_policy(cls, table: Table, match_population: Matching) -> Iterator[Requirement]:
        """`joint = [{ columns = ["disease", "salary"], t = 0.3 }]`."""
        policy = table.policy
        for joint in policy.joint if isinstance(policy, JointField) else ():
            values = [table.attributes[name] for name in joint.columns]
            grounds = tuple(each.ground(ground_name(each)) for each in values)
            yield cls(joint.columns, joint.t, joint.distance, grounds)

    @classmethod
    def measured_of_table(cls, table: Table) -> Iterator[Requirement]:
        """All sensitive attributes together, where there are several."""
        if len(table.attributes) > 1:
            yield cls(tuple(table.attributes))

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


def joint_tally(
    classes: JudgedClasses, columns: tuple[str, ...]
) -> tuple[Tally, list[tuple[int, ...]]]:
    """The combined values per view, and which values each combination is made of.

    A missing value that may be any value is a value of its own here, at distance 1 from all others.
    """
    codes = []
    for name in columns:
        code = classes.cell_codes[name]
        codes.append(np.where(code < 0, classes.attributes[name].values, code))
    label, first = group_codes(codes)
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
