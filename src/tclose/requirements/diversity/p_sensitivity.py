"""p-sensitivity: with k-anonymity, enough different values of a sensitive attribute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from tclose.data.binding import BoundTable
from tclose.data.encode.attribute import Attribute
from tclose.policy.model import Column
from tclose.requirements.diversity.distinct import DistinctDiversity
from tclose.requirements.requirement import Requirement


@dataclass(frozen=True)
class PSensitivity(DistinctDiversity):
    """p-sensitive k-anonymity asks the same as distinct l-diversity, next to k-anonymity."""

    name: ClassVar[str] = "p-sensitive-k-anonymity"
    key: ClassVar[str] = "p"
    against_others: ClassVar[bool] = False

    @classmethod
    def from_column(
        cls, column: Column, values: Attribute, bound: BoundTable
    ) -> Iterator[Requirement]:
        """`p = 2`."""
        if column.p is not None:
            yield cls(values.name, column.p)

    @classmethod
    def measured_of_column(cls, values: Attribute) -> Iterator[Requirement]:
        """Nothing beyond distinct l-diversity."""
        yield from ()
