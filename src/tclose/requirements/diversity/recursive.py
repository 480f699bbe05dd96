"""Recursive (c, l)-diversity: the commonest value is not too common beside the rarer ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tclose.distance import Histogram, Ratios
from tclose.distance.numbers import Number, Part, must
from tclose.requirements.classes import JudgedClasses, SensitiveValues
from tclose.requirements.constraint import AttributePool, Constraint, ConstraintKind
from tclose.requirements.requirement import (
    AttributeRequirement,
    Measurement,
    Requirement,
    Table,
    nothing_fails,
    settle,
    shown,
)


class Recursive(Part):
    """Recursive (c, l)-diversity: the commonest value under c times the l-th and rarer ones."""

    c: Annotated[Number, must("c must be positive", lambda c: c > 0)]
    l: int = Field(ge=1)


class RecursiveKey(Part):
    """`recursive` among the kinds of l-diversity."""

    recursive: Recursive | None = None


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

    def measure(self, classes: JudgedClasses) -> Measurement:
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
    def from_column(cls, values: SensitiveValues, table: Table) -> Iterator[Requirement]:
        """`l = { recursive = { c = 3, l = 2 } }`."""
        kinds = getattr(values.column, cls.key)
        if isinstance(kinds, RecursiveKey) and kinds.recursive is not None:
            yield cls(values.name, kinds.recursive.l, kinds.recursive.c)


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
