"""What may be promised about sensitive attributes, and about who is in the table."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from tclose.policy.part import Number, Part, must

Values = Annotated[Number, must("l must be at least 1", lambda l: l >= 1)]
Gain = Annotated[Number, must("β must be positive", lambda beta: beta > 0)]


class Recursive(Part):
    """Recursive (c, l)-diversity: the commonest value under c times the l-th and rarer ones."""

    c: Annotated[Number, must("c must be positive", lambda c: c > 0)]
    l: int = Field(ge=1)


class Diversity(Part):
    """The kinds of l-diversity that may be promised together."""

    distinct: int | None = Field(None, ge=1)
    entropy: Values | None = None
    recursive: Recursive | None = None
    probabilistic: Values | None = None

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


class Alpha(Part):
    """(α, k)-anonymity: no value (or none of the named ones) above a share α of its class."""

    max: Annotated[Number, must("a share must lie in (0, 1]", lambda share: 0 < share <= 1)]
    values: tuple[str, ...] | None = Field(None, description="protected values; all if not given")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return value if isinstance(value, dict) else {"max": value}


class Beta(Part):
    """β-likeness: belief in a value may grow by a factor of at most 1 + β."""

    basic: Gain | None = None
    enhanced: Gain | None = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return value if isinstance(value, dict) else {"basic": value}

    @model_validator(mode="after")
    def _some(self) -> Beta:
        if not self.model_fields_set:
            raise ValueError("name a kind: basic or enhanced")
        return self


class Delta(Part):
    """δ-disclosure: |log(p/q)| < δ for every value of the table."""

    max: Annotated[Number, must("δ must be positive", lambda delta: delta > 0)]
    base: Literal["2", "e"] = "e"
    absent: Literal["violate", "ignore"] = "violate"

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return value if isinstance(value, dict) else {"max": value}


class Joint(Part):
    """Closeness of several sensitive attributes taken together."""

    columns: tuple[str, ...] = Field(min_length=2)
    t: Annotated[Number, must("t must lie in [0, 1]", lambda t: 0 <= t <= 1)]
    distance: Literal["equal", "mean", "max"] = Field(
        "equal", description="equal: any difference counts 1; else the columns' distances combined"
    )

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
