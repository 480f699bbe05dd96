"""What the values of a column mean: how they generalize, and how far apart they count."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

from pydantic import Field, model_validator

from tclose.errors import nearest
from tclose.policy.part import Number, Part

DISTANCES = ("equal", "ordered", "numeric", "hierarchical", "matrix", "kl", "js", "smoothed-js")
HIERARCHIES = ("file", "prefix", "intervals", "cuts", "dates", "groups")
GENERALIZABLE = ("equal", "hierarchical", "kl", "js")
"""The distances in which a group of the hierarchy has a place beside its values."""


class HierarchySpec(Part):
    """Where a column's hierarchy comes from: a file, or a builder with its levels."""

    file: str | None = Field(None, description="CSV, leaf first, root last; relative to the policy")
    prefix: tuple[int, ...] | None = Field(None, description="characters kept at each level")
    intervals: tuple[Number, ...] | None = Field(None, description="interval widths, finest first")
    origin: Number = Field(Fraction(0), description="where intervals start counting")
    cuts: tuple[tuple[Number, ...], ...] | None = Field(None, description="cut points per level")
    dates: tuple[Literal["day", "month", "quarter", "year", "decade"], ...] | None = Field(
        None, description="calendar levels, finest first"
    )
    groups: dict[str, Any] | None = Field(None, description="group = [values] or nested groups")

    @property
    def kind(self) -> str:
        """The one source that is given."""
        return next(kind for kind in HIERARCHIES if getattr(self, kind) is not None)

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"file": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one(self) -> HierarchySpec:
        given = [kind for kind in HIERARCHIES if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ValueError(f"give exactly one of {', '.join(HIERARCHIES)}")
        return self


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
