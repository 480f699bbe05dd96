"""What every part of a policy is built from: immutable objects, and numbers read exactly."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    WithJsonSchema,
)

from tclose.distance.numbers import exact

Number = Annotated[
    Fraction,
    BeforeValidator(exact),
    PlainSerializer(str, return_type=str),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number"},
                {"type": "string", "pattern": r"^\s*-?[0-9.]+(\s*/\s*[0-9.]+)?\s*$"},
            ],
            "description": "a number, read exactly as written, or a fraction such as '1/8'",
        }
    ),
]


def must(words: str, allows: Callable[[Fraction], bool]) -> AfterValidator:
    """Refuses every number but those that a key allows, in these words."""

    def checked(number: Fraction) -> Fraction:
        if not allows(number):
            raise ValueError(words)
        return number

    return AfterValidator(checked)


class Part(BaseModel):
    """The base of every part of a policy: immutable, and no unknown key passes."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)
