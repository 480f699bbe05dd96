"""Every distance, registered once, and how a policy asks for one.

A new distance is a file of its own in `kinds`, and is registered here.
"""

from __future__ import annotations

from typing import Any

from pydantic import model_validator

from tclose.distance.kinds.equal import EQUAL
from tclose.distance.kinds.hierarchical import HIERARCHICAL
from tclose.distance.kinds.jensen_shannon import JENSEN_SHANNON
from tclose.distance.kinds.kullback_leibler import KULLBACK_LEIBLER
from tclose.distance.kinds.matrix import MATRIX, MatrixOption
from tclose.distance.kinds.numeric import NUMERIC
from tclose.distance.kinds.ordered import ORDERED
from tclose.distance.kinds.smoothed import SMOOTHED, SmoothingOptions
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
    def _short(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"name": value}
        if isinstance(value, dict) and "name" not in value and len(value) == 1:
            ((name, detail),) = value.items()
            if name in DISTANCES and (options := DISTANCES[name].read_long(detail)) is not None:
                return {"name": name, **options}
        return value

    @model_validator(mode="after")
    def _known(self) -> DistanceSpec:
        if self.name not in DISTANCES:
            raise ValueError(f"unknown distance; {nearest(self.name, tuple(DISTANCES))}")
        return self
