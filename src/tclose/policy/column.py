"""A column: its role, what its values mean, and what is promised about it."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from tclose.policy.values import HierarchySpec
from tclose.policy.words import ROLES, SYNONYMS, Role, role_of
from tclose.requirements.fields import ColumnPart
from tclose.requirements.registry import ColumnRequirements


class Column(ColumnRequirements):
    """One column: its role, what its values mean, and what is promised about it."""

    short_form: ClassVar[dict[str, Any] | None] = {"type": "string", "enum": [*ROLES, *SYNONYMS]}
    not_required: ClassVar[frozenset[str]] = ColumnPart.not_required | {
        "hierarchy", "order", "domain"
    }  # fmt: skip

    role: Annotated[Role, BeforeValidator(role_of)]
    hierarchy: HierarchySpec | None = None
    order: tuple[str, ...] | None = Field(None, description="values from lowest to highest")
    domain: Literal["observed", "declared"] = Field(
        "observed", description="count only values that occur, or all of `order` or the hierarchy"
    )

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
        name = self.distance.name if self.distance else None
        if name == "hierarchical" and self.hierarchy is None:
            raise ValueError("the hierarchical distance needs a hierarchy")
        if self.domain == "declared" and self.order is None and self.hierarchy is None:
            raise ValueError("a declared domain needs an order or a hierarchy")
        return self
