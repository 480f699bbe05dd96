"""What every part of a policy is built from: immutable objects, and numbers read exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Annotated, Any, ClassVar, get_args

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

    short_form: ClassVar[dict[str, Any] | None] = None
    """The JSON Schema of what may be written in place of all keys, if anything may."""


def list_parts(model: type[Part]) -> dict[str, type[Part]]:
    """The parts that a part is made of, however deeply, by the keys that hold them."""
    found: dict[str, type[Part]] = {}
    for key, field in model.model_fields.items():
        for part in _parts_in(field.annotation):
            found |= {key: part} | list_parts(part)
    return found


def _parts_in(annotation: Any) -> Iterator[type[Part]]:
    if isinstance(annotation, type) and issubclass(annotation, Part):
        yield annotation
    for argument in get_args(annotation):
        yield from _parts_in(argument)
