"""A column: its role, what its values mean, and what is promised about it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from tclose.policy.part import Number, Part
from tclose.policy.promised import Alpha, Beta, Delta, Diversity
from tclose.policy.values import DistanceSpec, HierarchySpec
from tclose.policy.words import Role, role_of

PROMISES = ("t", "l", "alpha", "p", "beta", "delta")


class Column(Part):
    """One column: its role, what its values mean, and what is promised about it."""

    role: Annotated[Role, BeforeValidator(role_of)]
    hierarchy: HierarchySpec | None = None
    missing: Literal["value", "forbid", "any"] = "value"
    distance: DistanceSpec | None = None
    order: tuple[str, ...] | None = Field(None, description="values from lowest to highest")
    domain: Literal["observed", "declared"] = Field(
        "observed", description="count only values that occur, or all of `order` or the hierarchy"
    )
    t: Number | None = Field(None, description="t-closeness: largest distance from the table")
    n: int | None = Field(None, ge=1, description="with t: (n, t)-closeness")
    l: Diversity | None = None
    alpha: Alpha | None = None
    p: int | None = Field(None, ge=1, description="p-sensitive k-anonymity")
    beta: Beta | None = None
    delta: Delta | None = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"role": value} if isinstance(value, str) else value

    @field_validator("order", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        return [str(item).lower() if isinstance(item, bool) else str(item) for item in value]

    @field_validator("order")
    @classmethod
    def _distinct(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value is not None and len(set(value)) < len(value):
            raise ValueError("a value stands twice in the order")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Column:
        promised = [key for key in (*PROMISES, "n", "distance") if getattr(self, key) is not None]
        if promised and self.role != "sensitive":
            raise ValueError(f"{', '.join(promised)}: only a sensitive column takes a promise")
        if self.n is not None and self.t is None:
            raise ValueError("n needs t: (n, t)-closeness is t-closeness to a group of n rows")
        name = self.distance.name if self.distance else None
        if name == "hierarchical" and self.hierarchy is None:
            raise ValueError("the hierarchical distance needs a hierarchy")
        if self.t is not None and (self.t < 0 or (self.t > 1 and name != "kl")):
            raise ValueError("t must lie in [0, 1]")
        if self.missing == "any" and self.delta is not None and self.delta.absent == "ignore":
            raise ValueError('delta with absent = "ignore" is not defined where missing = "any"')
        if self.domain == "declared" and self.order is None and self.hierarchy is None:
            raise ValueError("a declared domain needs an order or a hierarchy")
        return self
