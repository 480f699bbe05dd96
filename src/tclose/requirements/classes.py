"""What requirements see of a table: the sizes and histograms of its classes, and its columns.

The tables themselves are in `tclose.data`, which is above: it counts what is described here, and
says there what each property is.
"""
# ruff: noqa: D102

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Distance, Histogram
from tclose.distance.ground import DistanceValues
from tclose.distance.histogram import Counts
from tclose.distance.registry import DistanceSpec
from tclose.hierarchy import Hierarchy

if TYPE_CHECKING:
    from tclose.requirements.requirement import ColumnPart, PolicyPart

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Tally:
    """The distributions to be judged for one attribute: histogram row i belongs to view[i]."""

    histogram: Histogram
    view: Ints
    table: Counts
    """The counts of the whole table: the distribution that everybody may know."""
    persons: Counts | None = None
    """The persons of each row of the histogram. Somebody with two values counts for both of them,
    so that these are fewer than the counts add up to."""
    everyone: int = 0
    """The persons of the whole table, where persons are counted."""

    @property
    def size(self) -> Counts:
        """Of how many (rows, mass or persons) a count in each row of the histogram is a share."""
        return self.histogram.size if self.persons is None else self.persons

    @property
    def total(self) -> int:
        """Of how many a count in the table is a share."""
        return int(self.table.sum()) if self.persons is None else self.everyone


class SensitiveValues(DistanceValues, Protocol):
    """The values of a sensitive column in order, and the distances that they can have."""

    @property
    def column(self) -> ColumnPart: ...
    @property
    def suitable(self) -> tuple[str, ...]: ...
    def distance(self, spec: DistanceSpec | None = None) -> tuple[Distance, tuple[str, ...]]: ...


class Labelled(Protocol):
    """The values of a quasi-identifier."""

    @property
    def labels(self) -> tuple[str, ...]: ...


class JudgedClasses(Protocol):
    """The classes of a table; a view is a set of classes that may be one to an adversary.

    `view_of` and `class_of` list the pairs (view, class in it); `origin` is the class of the
    released table that each class lies in.
    """

    @property
    def quasi(self) -> tuple[str, ...]: ...
    @property
    def dictionaries(self) -> Mapping[str, Labelled]: ...
    @property
    def attributes(self) -> Mapping[str, SensitiveValues]: ...
    @property
    def key(self) -> Ints: ...
    @property
    def cell_codes(self) -> Mapping[str, Ints]: ...
    @property
    def view_of(self) -> Ints: ...
    @property
    def class_of(self) -> Ints: ...
    @property
    def origin(self) -> Ints: ...
    @property
    def whole(self) -> Mapping[str, Counts] | None: ...
    @property
    def count(self) -> int: ...
    @property
    def views(self) -> int: ...
    @property
    def size(self) -> Counts: ...
    @property
    def view_size(self) -> Counts: ...
    @property
    def everyone(self) -> int: ...
    def sizes(self, label: Ints, groups: int) -> Counts: ...
    def histogram(self, attribute: str) -> Histogram: ...
    def merge_histogram(self, attribute: str, label: Ints, groups: int) -> Histogram: ...
    def tally(self, attribute: str) -> Tally: ...
    def tally_of(self, code: Ints, values: int) -> Tally: ...
    def regroup(self, extra: Sequence[str]) -> Self: ...


P = TypeVar("P", contravariant=True)


class StatedTable(Protocol[P]):
    """A table with the policy that is stated about it; P is a table of the population."""

    @property
    def policy(self) -> PolicyPart: ...
    @property
    def attributes(self) -> Mapping[str, SensitiveValues]: ...
    @property
    def hierarchies(self) -> Mapping[str, Hierarchy]: ...
    def match_population(self, population: P) -> Ints:
        """How many people of the population fit each class."""
        ...
