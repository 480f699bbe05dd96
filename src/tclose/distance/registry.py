"""Every distance, registered once; how a policy specifies one, and which ones a column can have.

A new distance has its own file and is registered here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from tclose.arrays import Ints
from tclose.distance.divergence import JENSEN_SHANNON, KULLBACK_LEIBLER, SMOOTHED
from tclose.distance.emd import Distance, EarthMover
from tclose.distance.ground import EQUAL, HIERARCHICAL, NUMERIC, ORDERED, Metric
from tclose.distance.matrix import MATRIX
from tclose.distance.numbers import Misuse, Number, Part, must
from tclose.errors import UsageError, nearest
from tclose.hierarchy.tree import Hierarchy

DISTANCES = {
    kind.name: kind
    for kind in (
        EQUAL, ORDERED, NUMERIC, HIERARCHICAL, MATRIX, KULLBACK_LEIBLER, JENSEN_SHANNON, SMOOTHED,
    )
}  # fmt: skip
GROUNDS = [kind for kind in DISTANCES.values() if kind.ground is not None]
"""The earth mover's distances that need no options."""
DIVERGENCES = [kind.name for kind in DISTANCES.values() if kind.in_bits and kind.knows_groups]
"""The divergences that every column can have."""


class DistanceSpec(Part):
    """The distance between values of a sensitive attribute, as a policy specifies it."""

    name: str
    matrix: str | None = Field(None, description="CSV of distances; relative to the policy")
    over: Literal["equal", "ordered", "numeric", "hierarchical"] | None = Field(
        None, description="smoothed-js: the ground distance to smooth over"
    )
    bandwidth: Annotated[
        Number, must("the bandwidth must be positive", lambda bandwidth: bandwidth > 0)
    ] = Field(Fraction(1, 2), description="smoothed-js: largest distance that is smoothed over")

    @model_validator(mode="before")
    @classmethod
    def expand(cls, value: object) -> Any:
        """Expands a name alone, or `{ name = options }`."""
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

    def find_misuses(self) -> Iterator[Misuse]:
        """An unknown distance, the options of another, or none where one is needed."""
        if self.name not in DISTANCES:
            yield "unknown distance", nearest(self.name, tuple(DISTANCES))
        given = {key for key in self.model_fields_set if getattr(self, key) is not None}
        for kind in DISTANCES.values():
            needed = {kind.main_option} - given - {""}
            if needed if kind.name == self.name else given & kind.options:
                yield kind.misuse, ""


@dataclass(frozen=True)
class DeclaredReference:
    """A distribution that classes are compared with instead of the table's own."""

    counts: tuple[int, ...]
    """The count of every value, in whole numbers with the exact ratios of the shares."""
    words: str
    """A description for people."""


@dataclass(frozen=True)
class Attribute:
    """The values of a sensitive column in order, and the distances that they can have.

    `recode` turns dictionary codes into positions in `labels`; −1 stands for a missing value that
    may be any value (`missing = "any"`).
    """

    name: str
    labels: tuple[str, ...]
    recode: Ints
    hierarchy: Hierarchy | None
    positions: tuple[Fraction, ...] | None
    with_missing: bool
    """Whether the last value is a missing one that counts as a value."""
    base: Path
    """The folder that relative paths of distance files start from."""
    has_declared_order: bool
    """Whether the policy declares the order of the values."""
    specified: DistanceSpec | None
    """The distance that the policy specifies."""
    reference: DeclaredReference | None = None
    """The distribution to compare classes with, if the policy declares one."""
    repeats: bool = False
    """Whether some values are one number or date that is written in several ways."""
    masks: tuple[Ints, tuple[Ints, ...]] | None = None
    """By dictionary code the number of its mask (−1: none), and the candidates of each mask."""

    @property
    def values(self) -> int:
        """The number of values, including a missing one that counts as a value."""
        return len(self.labels)

    @property
    def has_order(self) -> bool:
        """Whether the values have a natural or a declared order."""
        return self.positions is not None or self.has_declared_order

    @property
    def default_distance(self) -> str:
        """The ground distance for the column if the policy specifies none."""
        if self.hierarchy is not None:
            return "hierarchical"
        return "ordered" if self.has_order else "equal"

    @property
    def suitable(self) -> tuple[str, ...]:
        """The earth mover's distances that the column can have without options."""
        return tuple(kind.name for kind in GROUNDS if not kind.lack(self))

    def distance(self, name: str | None = None) -> tuple[Distance, tuple[str, ...]]:
        """Returns the named distance, else the policy's or the default, with notes on making it."""
        spec = None if name else self.specified
        spec = spec or DistanceSpec(name=name or self.default_distance)
        kind = DISTANCES[spec.name]
        if kind.other is not None:
            return kind.other(self, spec)
        return EarthMover(self.ground(kind.name)), ()

    def ground(self, name: str) -> Metric:
        """Returns one of the tree metrics over this column's values."""
        kind = DISTANCES[name]
        lack = kind.lack(self)
        if kind.ground is None or lack:
            alike = "clean = { round = … } writes numbers in one way; or " if self.repeats else ""
            raise UsageError(
                f"the column cannot have the {name} distance: {lack}",
                where=f"column {self.name!r}",
                hint=f"{alike}use {' or '.join(self.suitable)}{kind.hint}",
            )
        if name not in self._grounds:
            self._grounds[name] = kind.ground(self)
        return self._grounds[name]

    @cached_property
    def _grounds(self) -> dict[str, Metric]:
        return {}
