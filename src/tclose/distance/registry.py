"""Every distance, registered once, and how a policy asks for one.

A new distance is a file of its own, and is registered here.
"""

from __future__ import annotations

from typing import Any

from pydantic import model_validator

from tclose.distance.divergence import JENSEN_SHANNON, KULLBACK_LEIBLER, SMOOTHED, SmoothingOptions
from tclose.distance.emd import Distance, EarthMover
from tclose.distance.ground import EQUAL, HIERARCHICAL, NUMERIC, ORDERED, DistanceValues
from tclose.distance.matrix import MATRIX, MatrixOption
from tclose.distance.numbers import MisuseError
from tclose.errors import nearest

DISTANCES = {
    kind.name: kind
    for kind in (
        EQUAL, ORDERED, NUMERIC, HIERARCHICAL, MATRIX, KULLBACK_LEIBLER, JENSEN_SHANNON, SMOOTHED,
    )
}  # fmt: skip
GROUNDS = [kind for kind in DISTANCES.values() if kind.ground is not None]
"""The earth mover's distances that a column has without options."""
DIVERGENCES = [kind.name for kind in DISTANCES.values() if kind.in_bits and kind.knows_groups]
"""The divergences that every column can have."""


class DistanceSpec(SmoothingOptions, MatrixOption):
    """How far apart two values of a sensitive attribute count."""

    @model_validator(mode="before")
    @classmethod
    def expand(cls, value: Any) -> Any:
        """A name alone, or `{ name = options }`, in full."""
        if isinstance(value, str):
            return {"name": value}
        if not isinstance(value, dict) or "name" in value or len(value) != 1:
            return value
        ((name, detail),) = value.items()
        if name in DISTANCES and (main := DISTANCES[name].main_option):
            return {"name": name, main: detail}
        if name in DISTANCES and isinstance(detail, dict) and "name" not in detail:
            return {"name": name, **detail} if DISTANCES[name].options else value
        return value

    @model_validator(mode="after")
    def _refuse_misuse(self) -> DistanceSpec:
        if self.name not in DISTANCES:
            raise MisuseError("unknown distance", nearest(self.name, tuple(DISTANCES)))
        given = {key for key in self.model_fields_set if getattr(self, key) is not None}
        for kind in DISTANCES.values():
            if kind.name == self.name:
                wrong = {kind.main_option} - given - {""}
            else:
                wrong = given & kind.options
            if wrong:
                raise ValueError(kind.misuse)
        return self


def make_distance(values: DistanceValues, spec: DistanceSpec) -> tuple[Distance, tuple[str, ...]]:
    """The distance over some values, and notes on how it was made."""
    kind = DISTANCES[spec.name]
    if kind.other is not None:
        return kind.other(values, spec)
    return EarthMover(values.ground(kind.name)), ()
