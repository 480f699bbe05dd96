"""What a distance declares about itself: its word in a policy, what it needs, how it is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tclose.distance.emd import EarthMover
from tclose.distance.ground import Metric
from tclose.distance.measure import Distance
from tclose.distance.part import Part
from tclose.errors import UsageError

LARGEST_MATRIX = 2000
Made = tuple[Distance, tuple[str, ...]]
"""A distance, and notes on how it was made."""


class ValueTree(Protocol):
    """A hierarchy over values."""

    @property
    def parent(self) -> NDArray[np.int32]: ...  # noqa: D102
    @property
    def height(self) -> NDArray[np.int32]: ...  # noqa: D102
    def indices(self, labels: Sequence[str]) -> NDArray[np.int32]: ...  # noqa: D102


class DistanceValues(Protocol):
    """What distances are made of: the values of a column, in order."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def labels(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def values(self) -> int: ...  # noqa: D102
    @property
    def with_missing(self) -> bool: ...  # noqa: D102
    @property
    def has_order(self) -> bool: ...  # noqa: D102
    @property
    def has_declared_order(self) -> bool: ...  # noqa: D102
    @property
    def positions(self) -> tuple[Fraction, ...] | None: ...  # noqa: D102
    @property
    def hierarchy(self) -> ValueTree | None: ...  # noqa: D102
    @property
    def base(self) -> Path: ...  # noqa: D102
    @property
    def default_distance(self) -> str: ...  # noqa: D102
    def ground(self, name: str) -> Metric:
        """One of the ground distances over these values."""
        ...


class DistancePart(Part):
    """A distance by its name; some take options."""

    name: str


@dataclass(frozen=True)
class DistanceKind:
    """One distance, as policies, columns and reports know it."""

    name: str
    """The word by which a policy asks for it."""
    phrase: str
    """How it counts, for people."""
    ground: Callable[[DistanceValues], Metric] | None = None
    """Makes the ground distance of an earth mover's distance that needs no options."""
    other: Callable[[DistanceValues, DistancePart], Made] | None = None
    """Makes the distance, where it is no such earth mover's distance."""
    lack: Callable[[DistanceValues], str] = lambda values: ""
    """Why values cannot have it; empty where they can."""
    hint: str = ""
    """What else makes it possible."""
    bounded: bool = True
    in_bits: bool = False
    on_a_line: bool = False
    knows_groups: bool = False
    """Whether a group of the hierarchy has a place beside its values."""
    read_long: Callable[[Any], dict[str, Any] | None] = lambda detail: None
    """The options that `{ name = detail }` stands for, where it may be written so."""
    long_schema: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """The JSON Schema of that detail, from the schemas of the options."""
    needs_option: bool = False
    """Whether its name alone says too little."""

    def make(self, values: DistanceValues, spec: DistancePart) -> Made:
        """The distance over some values."""
        if self.other is not None:
            return self.other(values, spec)
        return EarthMover(values.ground(self.name)), ()


def refuse_large(values: DistanceValues, name: str) -> None:
    """Raises where there are too many values for a table of all pairs."""
    if values.values > LARGEST_MATRIX:
        raise UsageError(
            f"{values.values:,} values are too many for {name} (at most {LARGEST_MATRIX:,})",
            where=f"column {values.name!r}",
            hint="group the values, or use ordered or numeric",
        )
