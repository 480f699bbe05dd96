"""p-sensitivity: with k-anonymity, enough different values of a sensitive attribute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from tclose.requirements.classes import SensitiveValues
from tclose.requirements.diversity.distinct import DistinctDiversity
from tclose.requirements.fields import ColumnPart
from tclose.requirements.requirement import Requirement, Table


class PField(ColumnPart):
    """`p` of a column."""

    p: int | None = Field(None, ge=1, description="p-sensitive k-anonymity")


@dataclass(frozen=True)
class PSensitivity(DistinctDiversity):
    """p-sensitive k-anonymity asks the same as distinct l-diversity, next to k-anonymity."""

    name: ClassVar[str] = "p-sensitive-k-anonymity"
    key: ClassVar[str] = "p"
    against_others: ClassVar[bool] = False

    @classmethod
    def from_column(cls, values: SensitiveValues, table: Table) -> Iterator[Requirement]:
        """`p = 2`."""
        column = values.column
        if isinstance(column, PField) and column.p is not None:
            yield cls(values.name, column.p)

    @classmethod
    def measured_of_column(cls, values: SensitiveValues) -> Iterator[Requirement]:
        """Nothing beyond distinct l-diversity."""
        yield from ()
