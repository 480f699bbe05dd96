"""The parts of a policy that requirements extend: each adds its key to a column or to all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from tclose.distance.numbers import Part
from tclose.distance.registry import DistanceSpec


class ColumnPart(Part):
    """What every requirement may know of a column that states it."""

    not_required: ClassVar[frozenset[str]] = frozenset({"role", "missing"})
    """The keys that say what a column is; all others are for sensitive columns only."""

    role: str
    missing: Literal["value", "forbid", "any"] = "value"
    distance: DistanceSpec | None = None

    @property
    def stated_keys(self) -> list[str]:
        """The keys that say something about a sensitive column, the distance last."""
        keys = [key for key in type(self).model_fields if key not in self.not_required]
        keys.sort(key=lambda key: key == "distance")
        return [key for key in keys if getattr(self, key) is not None]

    @property
    def states_something(self) -> bool:
        """Whether a requirement is stated of it."""
        return any(key != "distance" for key in self.stated_keys)

    @model_validator(mode="after")
    def _sensitive_only(self) -> ColumnPart:
        if self.stated_keys and self.role != "sensitive":
            stated = ", ".join(self.stated_keys)
            raise ValueError(f"{stated}: only a sensitive column takes a promise")
        return self


class PolicyPart(Part):
    """What every requirement may know of the policy that states it."""

    columns: Mapping[str, ColumnPart] = Field(description="every column of the table and its role")
    readings: tuple[Literal["separate", "cross"], ...] = Field(
        ("separate",),
        min_length=1,
        description="cross: the other sensitive attributes are known to the attacker",
    )

    def with_role(self, role: str) -> tuple[str, ...]:
        """The columns of one role, in the policy's order."""
        return tuple(name for name, column in self.columns.items() if column.role == role)

    @property
    def quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers."""
        return self.with_role("quasi")

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive attributes."""
        return self.with_role("sensitive")
