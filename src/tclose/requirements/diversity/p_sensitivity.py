"""p-sensitivity: with k-anonymity, enough different values of a sensitive attribute."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from tclose.requirements.diversity.distinct import DistinctDiversity
from tclose.requirements.requirement import ColumnPart


class PField(ColumnPart):
    """`p = 2` of a column."""

    p: int | None = Field(None, ge=1, description="p-sensitive k-anonymity")


@dataclass(frozen=True)
class PSensitivity(DistinctDiversity):
    """p-sensitive k-anonymity asks the same as distinct l-diversity, next to k-anonymity."""

    name = "p-sensitive-k-anonymity"
    key = "p"
    kind = ""
    against_others = False
    suggested = False
