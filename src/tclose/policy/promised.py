"""What may be promised about sensitive attributes, and about who is in the table."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from tclose.policy.part import Number, Part


class Recursive(Part):
    """Recursive (c, l)-diversity: the commonest value under c times the l-th and rarer ones."""

    c: Number
    l: int = Field(ge=1)

    @field_validator("c")
    @classmethod
    def _positive(cls, value: Fraction) -> Fraction:
        if value <= 0:
            raise ValueError("c must be positive")
        return value


class Diversity(Part):
    """The kinds of l-diversity that may be promised together."""

    distinct: int | None = Field(None, ge=1)
    entropy: Number | None = None
    recursive: Recursive | None = None
    probabilistic: Number | None = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        plain = isinstance(value, int) and not isinstance(value, bool)
        return {"distinct": value} if plain else value

    @model_validator(mode="after")
    def _some(self) -> Diversity:
        if not self.model_fields_set:
            raise ValueError("name a kind: distinct, entropy, recursive or probabilistic")
        return self

    @field_validator("entropy", "probabilistic")
    @classmethod
    def _at_least_one(cls, value: Fraction | None) -> Fraction | None:
        if value is not None and value < 1:
            raise ValueError("l must be at least 1")
        return value


class Alpha(Part):
    """(α, k)-anonymity: no value (or none of the named ones) above a share α of its class."""

    max: Number
    values: tuple[str, ...] | None = Field(None, description="protected values; all if not given")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return value if isinstance(value, dict) else {"max": value}

    @field_validator("max")
    @classmethod
    def _share(cls, value: Fraction) -> Fraction:
        if not 0 < value <= 1:
            raise ValueError("a share must lie in (0, 1]")
        return value


class Beta(Part):
    """β-likeness: belief in a value may grow by a factor of at most 1 + β."""

    basic: Number | None = None
    enhanced: Number | None = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return value if isinstance(value, dict) else {"basic": value}

    @model_validator(mode="after")
    def _some(self) -> Beta:
        if not self.model_fields_set:
            raise ValueError("name a kind: basic or enhanced")
        return self

    @field_validator("basic", "enhanced")
    @classmethod
    def _positive(cls, value: Fraction | None) -> Fraction | None:
        if value is not None and value <= 0:
            raise ValueError("β must be positive")
        return value


class Delta(Part):
    """δ-disclosure: |log(p/q)| < δ for every value of the table."""

    max: Number
    base: Literal["2", "e"] = "e"
    absent: Literal["violate", "ignore"] = "violate"

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return value if isinstance(value, dict) else {"max": value}

    @field_validator("max")
    @classmethod
    def _positive(cls, value: Fraction) -> Fraction:
        if value <= 0:
            raise ValueError("δ must be positive")
        return value


class Joint(Part):
    """Closeness of several sensitive attributes taken together."""

    columns: tuple[str, ...] = Field(min_length=2)
    t: Number
    distance: Literal["equal", "mean", "max"] = Field(
        "equal", description="equal: any difference counts 1; else the columns' distances combined"
    )

    @field_validator("t")
    @classmethod
    def _in_range(cls, value: Fraction) -> Fraction:
        if not 0 <= value <= 1:
            raise ValueError("t must lie in [0, 1]")
        return value

    @field_validator("columns")
    @classmethod
    def _distinct(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(value)) < len(value):
            raise ValueError("a column stands twice")
        return value


class Presence(Part):
    """δ-presence: how sure anyone may be that a person of the population is in the table."""

    min: Number = Fraction(0)
    max: Number = Fraction(1)

    @model_validator(mode="after")
    def _ordered(self) -> Presence:
        if not 0 <= self.min <= self.max <= 1:
            raise ValueError("needs 0 ≤ min ≤ max ≤ 1")
        return self
