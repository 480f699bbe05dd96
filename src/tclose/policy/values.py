"""What the values of a column mean: how they generalize."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from tclose.distance.part import Number, Part

HIERARCHIES = ("file", "prefix", "intervals", "cuts", "dates", "groups")


class HierarchySpec(Part):
    """Where a column's hierarchy comes from: a file, or a builder with its levels."""

    short_form: ClassVar[dict[str, Any] | None] = {
        "type": "string", "description": "path of a hierarchy file"
    }  # fmt: skip

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
