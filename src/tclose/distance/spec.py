"""How a policy asks for a distance."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

from pydantic import Field, model_validator

from tclose.distance.part import Number, Part
from tclose.errors import nearest

DISTANCES = ("equal", "ordered", "numeric", "hierarchical", "matrix", "kl", "js", "smoothed-js")
GENERALIZABLE = ("equal", "hierarchical", "kl", "js")
"""The distances in which a group of the hierarchy has a place beside its values."""


class DistanceSpec(Part):
    """How far apart two values of a sensitive attribute count."""

    name: str
    matrix: str | None = Field(None, description="CSV of distances; relative to the policy")
    over: Literal["equal", "ordered", "numeric", "hierarchical"] | None = Field(
        None, description="smoothed-js: the ground distance to smooth over"
    )
    bandwidth: Number = Field(Fraction(1, 2), description="smoothed-js: reach of the smoothing")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"name": value}
        if isinstance(value, dict) and "name" not in value and len(value) == 1:
            ((name, detail),) = value.items()
            if name == "matrix":
                return {"name": "matrix", "matrix": detail}
            if name == "smoothed-js" and isinstance(detail, dict) and "name" not in detail:
                return {"name": "smoothed-js", **detail}
        return value

    @model_validator(mode="after")
    def _known(self) -> DistanceSpec:
        if self.name not in DISTANCES:
            raise ValueError(f"unknown distance; {nearest(self.name, DISTANCES)}")
        if (self.name == "matrix") != (self.matrix is not None):
            raise ValueError('a matrix is given as distance = { matrix = "file.csv" }')
        if self.name != "smoothed-js" and self.model_fields_set & {"over", "bandwidth"}:
            raise ValueError("only smoothed-js takes `over` and `bandwidth`")
        if self.bandwidth <= 0:
            raise ValueError("the bandwidth must be positive")
        return self
