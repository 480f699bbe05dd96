"""Recursive (c, l)-diversity: the commonest value is not too common beside the rarer ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tclose.data.binding import BoundTable
from tclose.data.encode.attribute import Attribute
from tclose.data.encode.classes import Classes
from tclose.distance import Histogram, Ratios
from tclose.policy.model import Column
from tclose.requirements.constraint import AttributePool, Constraint, ConstraintKind
from tclose.requirements.requirement import (
    AttributeRequirement,
    Measurement,
    Requirement,
    nothing_fails,
    settle,
    shown,
)


@dataclass(frozen=True)
class RecursiveDiversity(AttributeRequirement):
    """r₁ < c · (r_l + … + r_m), counts from the largest down, strictly."""

    name: ClassVar[str] = "recursive-(c,l)-diversity"
    key: ClassVar[str] = "l"
    sentence: ClassVar[str] = (
        "In no class is one value of {about} overwhelming, even if some others can be ruled out "
        "({required})."
    )

    l: int = 2
    c: Fraction | None = None

    @property
    def limit(self) -> Fraction | None:
        """c."""
        return self.c

    @property
    def required(self) -> str | None:
        """c and l."""
        return None if self.c is None else f"c={shown(self.c)}, l={self.l}"

    def measure(self, classes: Classes) -> Measurement:
        """The largest r₁ / (r_l + … + r_m): the table has (c, l)-diversity for every c above it."""
        tally = classes.tally(self.attribute)
        ratio = heads_to_tails(tally.histogram, self.l)
        worst = ratio.largest()
        fails = nothing_fails(ratio.value) if self.c is None else ~ratio.under(self.c)
        return settle(
            classes, tally, ratio.value, fails, worst,
            limit=self.c, exact=ratio.exact(worst), note=f"l={self.l}",
        )  # fmt: skip

    def compile(self, attributes: AttributePool) -> tuple[Constraint, ...] | None:
        """The commonest value beside the l-th and all rarer ones."""
        if self.c is None:
            return None
        at = attributes.add(self.attribute)
        return (Constraint(ConstraintKind.RECURSIVE, at, self.c, l=self.l),)

    @classmethod
    def from_column(
        cls, column: Column, values: Attribute, bound: BoundTable
    ) -> Iterator[Requirement]:
        """`l = { recursive = { c = 3, l = 2 } }`."""
        if column.l is not None and (recursive := column.l.recursive) is not None:
            yield cls(values.name, recursive.l, recursive.c)


def heads_to_tails(histogram: Histogram, l: int) -> Ratios:
    """The largest count over the sum of the l-th largest and all smaller ones, per class."""
    owner = histogram.owner()
    order = np.lexsort((-histogram.count, owner))
    rank = np.arange(len(owner)) - histogram.start[owner]
    count = histogram.count[order]
    head = np.zeros(histogram.classes, dtype=count.dtype)
    tail = np.zeros(histogram.classes, dtype=count.dtype)
    head[owner[rank == 0]] = count[rank == 0]
    np.add.at(tail, owner[rank >= l - 1], count[rank >= l - 1])
    return Ratios((head,), (tail,))
