"""A sensitive column with the order of its values and the distances between them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.dictionary import Dictionary, Kind
from tclose.distance import (
    Distance,
    EarthMover,
    JensenShannon,
    KullbackLeibler,
    Metric,
    SmoothedJensenShannon,
    equal,
    hierarchical,
    matrix,
    numeric,
    ordered,
)
from tclose.distance.numbers import exact
from tclose.errors import DataError, HierarchyError, UsageError
from tclose.hierarchy import Hierarchy
from tclose.policy.model import Column, DistanceSpec

MISSING = "(missing)"
LARGEST_MATRIX = 2000


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
    def suitable(self) -> tuple[str, ...]:
        """Every earth mover's distance that the column can have."""
        fits = {
            "equal": True,
            "ordered": self.has_order,
            "numeric": self.positions is not None and self.column.order is None,
            "hierarchical": self.hierarchy is not None,
        }
        return tuple(name for name, possible in fits.items() if possible)

    def distance(self, spec: DistanceSpec | None = None) -> tuple[Distance, tuple[str, ...]]:
        """The distance a policy asks for (or the default), and notes on how it was made."""
        asked = spec or DistanceSpec(name=self.default_distance)
        if asked.name == "kl":
            return KullbackLeibler(), ()
        if asked.name == "js":
            return JensenShannon(), ()
        if asked.name == "smoothed-js":
            self._refuse_large("smoothed-js")
            over = self.ground(asked.over or self.default_distance)
            return SmoothedJensenShannon(over, asked.bandwidth), ()
        if asked.name == "matrix":
            metric, notes = self._matrix(self.base / (asked.matrix or ""))
            return EarthMover(metric), notes
        return EarthMover(self.ground(asked.name)), ()

    def ground(self, name: str) -> Metric:
        """One of the tree metrics over this column's values."""
        if name not in self.suitable:
            raise UsageError(
                f"the column cannot have the {name} distance: {self._lack(name)}",
                where=f"column {self.name!r}",
                hint=f"use {' or '.join(self.suitable)}" + self._order_hint(name),
            )
        return self._grounds[name]

    @cached_property
    def _grounds(self) -> dict[str, Metric]:
        made: dict[str, Metric] = {"equal": equal(self.values)}
        if self.has_order:
            made["ordered"] = ordered(self.values, missing=self.with_missing)
        if self.positions is not None:
            made["numeric"] = numeric(self.positions, missing=self.with_missing)
        if self.hierarchy is not None:
            known = self.labels[: self.values - self.with_missing]
            leaf = [int(node) for node in self.hierarchy.indices(known)]
            made["hierarchical"] = hierarchical(
                self.hierarchy.parent.tolist(),
                self.hierarchy.height.tolist(),
                leaf,
                missing=self.with_missing,
            )
        return made

    def _lack(self, name: str) -> str:
        if name == "hierarchical":
            return "it has no hierarchy"
        if name == "numeric" and self.column.order is not None:
            return "its order is given by hand, so its values have no positions"
        return "its values are neither numbers nor dates" + (
            " and have no declared order" if name == "ordered" else ""
        )

    def _order_hint(self, name: str) -> str:
        return ", or declare order = [lowest, …, highest]" if name == "ordered" else ""

    def _refuse_large(self, name: str) -> None:
        if self.values > LARGEST_MATRIX:
            raise UsageError(
                f"{self.values:,} values are too many for {name} (at most {LARGEST_MATRIX:,})",
                where=f"column {self.name!r}",
                hint="group the values, or use ordered or numeric",
            )

    def _matrix(self, path: Path) -> tuple[Metric, tuple[str, ...]]:
        self._refuse_large("a distance matrix")
        names, rows = read_matrix(path, self.name)
        place = {name: at for at, name in enumerate(names)}
        lacking = [label for label in self.labels if label not in place]
        if lacking:
            raise DataError(
                f"{len(lacking)} of the column's values have no row in the distance matrix",
                where=f"column {self.name!r}",
                hint=f"add them (a missing value is called {MISSING})",
            )
        at = [place[label] for label in self.labels]
        try:
            return matrix([[rows[i][j] for j in at] for i in at])
        except ValueError as error:
            raise DataError(str(error), where=f"column {self.name!r}, distance matrix") from None


def make_attribute(
    name: str, column: Column, dictionary: Dictionary, hierarchy: Hierarchy | None, base: Path
) -> Attribute:
    """Puts the values of a sensitive column in order.

    Raises UsageError where the order or the hierarchy does not know a value.
    """
    known = _ordering(name, column, dictionary, hierarchy)
    if column.missing != "any":  # else they may be any value, at least of those below them
        known = (*known, *_generalized(column, dictionary, hierarchy))
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


def read_matrix(path: Path, column: str) -> tuple[list[str], list[list[Fraction]]]:
    """A square table of distances: value names in the first row and the first column."""
    where = f"column {column!r}, distance matrix"
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise DataError("the file cannot be read", where=where, hint="check its path") from None
    mark = ";" if text.partition("\n")[0].count(";") else ","
    rows = [row for row in csv.reader(text.splitlines(), delimiter=mark) if row]
    names = [name.strip() for name in rows[0][1:]] if rows else []
    if [row[0].strip() for row in rows[1:]] != names or any(
        len(row) != len(names) + 1 for row in rows
    ):
        raise DataError(
            "not a square table",
            where=where,
            hint="first row and first column name the values, in the same order",
        )
    try:
        return names, [[exact(entry) for entry in row[1:]] for row in rows[1:]]
    except ValueError:
        raise DataError("an entry is not a number", where=where) from None


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
        plain = not _generalized(column, dictionary, hierarchy)
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


def _generalized(
    column: Column, dictionary: Dictionary, hierarchy: Hierarchy | None
) -> tuple[str, ...]:
    """Values that are groups of the hierarchy and not its leaves, in the order of its nodes."""
    if hierarchy is None or column.order is not None:
        return ()
    seen = set(dictionary.labels)
    return tuple(label for label in hierarchy.labels[hierarchy.leaf_count :] if label in seen)
