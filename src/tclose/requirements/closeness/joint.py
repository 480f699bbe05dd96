"""Closeness of several sensitive attributes taken together.

Closeness of each attribute by itself never implies closeness of their combinations (the joint
distance is at least any weighted mean of the separate ones), so this is a separate requirement.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, field_validator

from tclose.arrays import Ints
from tclose.distance.emd import Distance, EarthMover
from tclose.distance.ground import Metric, equal
from tclose.distance.histogram import group_codes
from tclose.distance.matrix import matrix
from tclose.distance.numbers import Misuse, Number, Part, must
from tclose.errors import UsageError
from tclose.requirements.classes import Classes
from tclose.requirements.closeness.t_closeness import choose_ground
from tclose.requirements.constraint import (
    AttributePool,
    Compiled,
    Constraint,
    ConstraintKind,
    JudgedAttribute,
)
from tclose.requirements.requirement import (
    Capabilities,
    Measurement,
    PolicyPart,
    Requirement,
    Scores,
    Table,
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
    def _refuse_repeated(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(value)) < len(value):
            raise ValueError("a column is named twice")
        return value


@dataclass(frozen=True)
class JointCloseness(Requirement):
    """t-closeness of the combined values of several attributes.

    `by` is "equal" (any difference counts 1: the variational distance of the joint distribution),
    or "mean" or "max" of the attributes' own distances. The joint distribution of the table is
    known only from all of its cells, so parts of a table cannot be judged by themselves.
    """

    name = "joint-t-closeness"
    key = "joint"
    topic = "Closeness of {about} together"
    sentence = (
        "In no class does the spread of the combinations of {about} differ from that of the whole "
        "table by more than {required}{scale}."
    )
    axis = "t"
    capabilities = Capabilities(whole_table=True)

    attribute: str = field(init=False)
    columns: tuple[str, ...]
    by: str = "equal"
    grounds: tuple[Metric, ...] = ()

    def __post_init__(self) -> None:
        """Sets the name of the attribute to the names of all columns."""
        object.__setattr__(self, "attribute", " × ".join(self.columns))

    @property
    def reading(self) -> str:
        """The word in place of an adversary: all attributes are learned at once."""
        return "joint"

    @property
    def distance(self) -> str:
        """The name of the distance between combined values."""
        return self.by

    def measure(self, classes: Classes) -> Measurement:
        """Measures the distance of every class's joint distribution from the table's."""
        label, tuples = self._combine_codes(classes)
        tally = classes.tally_of(label, len(tuples))
        found = self._choose_distance(tuples).of(tally.histogram, tally.table)
        return self.summarize(classes, tally.view, Scores.at_most(found, self.limit))

    def compile(self, attributes: AttributePool, limit: Fraction) -> Compiled:
        """Bounds the variational distance of combined values; other distances have no kernel."""
        if self.by != "equal":
            return None
        label, tuples = self._combine_codes(attributes.classes)
        at = attributes.add(JudgedAttribute(self.attribute, label, len(tuples)))
        return (Constraint(ConstraintKind.EMD, at, limit, equal(len(tuples))),)

    @classmethod
    def find_misuses(cls, part: PolicyPart, stated: tuple[Joint, ...]) -> Iterator[Misuse]:
        """Yields columns that are not sensitive."""
        for name in (name for joint in stated for name in joint.columns):
            if name not in part.sensitive:
                yield f"joint: {name!r} is not a sensitive column of this policy", ""

    @classmethod
    def from_policy(cls, stated: tuple[Joint, ...], table: Table) -> Iterator[Requirement]:
        """Yields one requirement per group of columns, with their ground distances."""
        for joint in stated:
            values = [table.attributes[name] for name in joint.columns]
            grounds = tuple(each.ground(choose_ground(each)) for each in values)
            yield cls(joint.columns, joint.distance, grounds, limit=joint.t)

    @classmethod
    def suggest_for_table(cls, table: Table) -> Iterator[Requirement]:
        """Yields all sensitive attributes together, if there are several."""
        if len(table.attributes) > 1:
            yield cls(tuple(table.attributes))

    def _combine_codes(self, classes: Classes) -> tuple[Ints, list[tuple[int, ...]]]:
        """Returns the combined value of each cell, and the codes that each combination is made of.

        A missing value that may be any is a value of its own here, at distance 1 from all others.
        """
        codes = []
        for name in self.columns:
            code = classes.cell_codes[name]
            codes.append(np.where(code < 0, classes.attributes[name].values, code))
        label, first = group_codes(codes)
        return label, [tuple(int(code[at]) for code in codes) for at in first]

    def _choose_distance(self, tuples: list[tuple[int, ...]]) -> Distance:
        if self.by == "equal":
            return EarthMover(equal(len(tuples)))
        if len(tuples) > MOST_PAIRS:
            raise UsageError(
                f"{len(tuples):,} combinations are too many for the {self.by} distance "
                f"(at most {MOST_PAIRS})",
                where=f"joint closeness of {self.attribute}",
                hint='use distance = "equal"',
            )

        def measure(some: tuple[int, ...], others: tuple[int, ...]) -> Fraction:
            pairs = zip(self.grounds, some, others, strict=True)
            each = [_measure_values(ground, a, b) for ground, a, b in pairs]
            return max(each) if self.by == "max" else sum(each, Fraction(0)) / len(each)

        distances = [[measure(some, others) for others in tuples] for some in tuples]
        metric, _ = matrix(distances)
        # The diameter is that of the whole domain, not of what was observed.
        largest = max(max(row) for row in distances) or Fraction(1)
        return EarthMover(replace(metric, diameter=int(metric.diameter / largest)))


def _measure_values(ground: Metric, value: int, other: int) -> Fraction:
    """Returns the distance of two values; codes past the last value stand for a missing one."""
    if max(value, other) >= ground.values:
        return Fraction(value != other)
    return ground.between(value, other)
