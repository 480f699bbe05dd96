"""A sensitive column with the order of its values and the distances between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.dictionary import Dictionary, Kind
from tclose.distance import Distance, Metric
from tclose.distance.registry import DISTANCES, GROUNDS, DistanceSpec, make_distance
from tclose.errors import HierarchyError, UsageError
from tclose.hierarchy import Hierarchy
from tclose.policy.model import Column

MISSING = "(missing)"


@dataclass(frozen=True)
class Attribute:
    """The values of a sensitive column in order, with what their distances are made of.

    `recode` turns dictionary codes into positions in `labels`; −1 stands for a missing value that
    may be any value (`missing = "any"`).
    """

    name: str
    column: Column
    labels: tuple[str, ...]
    recode: NDArray[np.int64]
    kind: Kind
    hierarchy: Hierarchy | None
    positions: tuple[Fraction, ...] | None
    with_missing: bool
    base: Path

    @property
    def values(self) -> int:
        """How many values there are, a missing one included where it counts as a value."""
        return len(self.labels)

    @property
    def has_order(self) -> bool:
        """Whether the values have a natural or a declared order."""
        return self.positions is not None or self.column.order is not None

    @property
    def default_distance(self) -> str:
        """The ground distance that suits the column where the policy names none."""
        if self.hierarchy is not None:
            return "hierarchical"
        return "ordered" if self.has_order else "equal"

    @property
    def has_declared_order(self) -> bool:
        """Whether the policy gives the order of the values by hand."""
        return self.column.order is not None

    @property
    def suitable(self) -> tuple[str, ...]:
        """Every earth mover's distance that the column can have without options."""
        return tuple(kind.name for kind in GROUNDS if not kind.lack(self))

    def distance(self, spec: DistanceSpec | None = None) -> tuple[Distance, tuple[str, ...]]:
        """The distance a policy asks for (or the default), and notes on how it was made."""
        asked = spec or DistanceSpec(name=self.default_distance)
        return make_distance(self, asked)

    def ground(self, name: str) -> Metric:
        """One of the tree metrics over this column's values."""
        kind = DISTANCES[name]
        lack = kind.lack(self)
        if kind.ground is None or lack:
            raise UsageError(
                f"the column cannot have the {name} distance: {lack}",
                where=f"column {self.name!r}",
                hint=f"use {' or '.join(self.suitable)}{kind.hint}",
            )
        if name not in self._grounds:
            self._grounds[name] = kind.ground(self)
        return self._grounds[name]

    @cached_property
    def _grounds(self) -> dict[str, Metric]:
        return {}


def make_attribute(
    name: str, column: Column, dictionary: Dictionary, hierarchy: Hierarchy | None, base: Path
) -> Attribute:
    """Puts the values of a sensitive column in order.

    Raises UsageError where the order or the hierarchy does not know a value.
    """
    known = _ordering(name, column, dictionary, hierarchy)
    if column.missing != "any":  # else they may be any value, at least of those below them
        known = (*known, *_find_groups(column, dictionary, hierarchy))
    place = {label: at for at, label in enumerate(known)}
    counted = dictionary.has_missing and column.missing != "any"
    missing_code = len(known) if counted else -1
    recode = [place.get(label, -1) for label in dictionary.labels] + [missing_code]
    positions = None
    if column.order is None and dictionary.positions is not None and len(known) == dictionary.known:
        ranked = dict(zip(dictionary.labels, dictionary.positions, strict=True))
        positions = tuple(ranked[label] for label in known)
        positions = positions if list(positions) == sorted(set(positions)) else None
    return Attribute(
        name=name,
        column=column,
        labels=(*known, MISSING) if counted else known,
        recode=np.array(recode, dtype=np.int64),
        kind=dictionary.kind,
        hierarchy=hierarchy,
        positions=positions,
        with_missing=counted,
        base=base,
    )


def _ordering(
    name: str, column: Column, dictionary: Dictionary, hierarchy: Hierarchy | None
) -> tuple[str, ...]:
    """The column's values from first to last: as declared, along the hierarchy, or as they are."""
    labels = dictionary.labels
    declared: Sequence[str] | None = column.order
    if declared is None and hierarchy is not None:
        lost = sum(not hierarchy.contains(label) for label in labels)
        if lost:
            raise HierarchyError(
                f"not in the hierarchy: {lost} distinct values",
                where=f"column {name!r}",
                hint="add them to the hierarchy",
            )
        plain = not _find_groups(column, dictionary, hierarchy)
        natural = dictionary.kind != "text" and column.domain == "observed" and plain
        declared = None if natural else hierarchy.leaves
    if declared is None:
        return labels
    lost = len(set(labels) - set(declared))
    if lost and column.order is not None:
        raise UsageError(
            f"not in the declared order: {lost} distinct values",
            where=f"column {name!r}",
            hint="list every value in `order`, lowest first",
        )
    seen = set(labels)
    return tuple(value for value in declared if column.domain == "declared" or value in seen)


def _find_groups(
    column: Column, dictionary: Dictionary, hierarchy: Hierarchy | None
) -> tuple[str, ...]:
    """Values that are groups of the hierarchy and not its leaves, in the order of its nodes."""
    if hierarchy is None or column.order is not None:
        return ()
    seen = set(dictionary.labels)
    return tuple(label for label in hierarchy.labels[hierarchy.leaf_count :] if label in seen)
