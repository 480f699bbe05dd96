"""k-anonymity: every class has at least k rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from tclose.requirements.classes import JudgedClasses
from tclose.requirements.constraint import AttributePool, Constraint
from tclose.requirements.fields import PolicyPart
from tclose.requirements.requirement import (
    Capabilities,
    Matching,
    Measurement,
    Requirement,
    Table,
    settle,
)


class KField(PolicyPart):
    """`k` of a policy."""

    k: int | None = Field(None, ge=1, description="k-anonymity: least size of a class")


@dataclass(frozen=True)
class KAnonymity(Requirement):
    """No one can be narrowed down to fewer than k rows by the quasi-identifiers."""

    name: ClassVar[str] = "k-anonymity"
    key: ClassVar[str] = "k"
    topic: ClassVar[str] = "Being one of many"
    sentence: ClassVar[str] = (
        "Whoever knows a person's {quasi} finds at least {required} rows that fit, and cannot tell "
        "which of them is the person's."
    )
    axis: ClassVar[Literal["", "k", "t"]] = "k"

    k: int | None = None

    @property
    def limit(self) -> int | None:
        """The least size."""
        return self.k

    @property
    def capabilities(self) -> Capabilities:
        """Larger classes are never worse."""
        return Capabilities(overlapping=True)

    @property
    def least_size(self) -> int:
        """k itself."""
        return self.k or 1

    def measure(self, classes: JudgedClasses) -> Measurement:
        """The size of the smallest class."""
        size = classes.view_size
        worst = int(np.argmin(size))
        fails = np.asarray(size < (self.k or 0), dtype=bool)
        return settle(
            classes, None, size.astype(float), fails, worst,
            limit=self.k, exact=Fraction(int(size[worst])), small_is_bad=True,
        )  # fmt: skip

    def compile(self, attributes: AttributePool) -> tuple[Constraint, ...]:
        """Nothing about attributes: kernels know the least size of a class."""
        return ()

    @classmethod
    def from_policy(cls, table: Table, match_population: Matching) -> Iterator[Requirement]:
        """`k = 5`."""
        policy = table.policy
        if isinstance(policy, KField) and policy.k is not None:
            yield cls(policy.k)

    @classmethod
    def measured_of_table(cls, table: Table) -> Iterator[Requirement]:
        """The size of the smallest class."""
        yield cls()
