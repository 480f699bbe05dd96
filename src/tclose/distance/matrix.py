"""The matrix distance: as far as an expert says."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tclose.distance.emd import Distance, EarthMover
from tclose.distance.ground import DistanceKind, MatrixMetric, refuse_large
from tclose.distance.histogram import whole
from tclose.distance.numbers import to_integers
from tclose.errors import DataError
from tclose.plain import exact
from tclose.small_files import read_small_file

if TYPE_CHECKING:
    from tclose.distance.registry import Attribute, DistanceSpec


def matrix(distances: Sequence[Sequence[Fraction]]) -> tuple[MatrixMetric, tuple[str, ...]]:
    """An arbitrary ground distance, made a metric of diameter 1; says what had to be changed.

    Moving mass may pass through other values (Li 2007, constraint c2), so only shortest paths
    matter: where the triangle inequality fails, the matrix is replaced by its closure.

    >>> metric, notes = matrix([[Fraction(0), Fraction(2)], [Fraction(2), Fraction(0)]])
    >>> metric.between(0, 1), notes
    (Fraction(1, 1), ('distances divided by their largest, 2',))
    """
    size = len(distances)
    flat, scale = to_integers([entry for row in distances for entry in row])
    given = np.array(flat, dtype=object).reshape(size, size)
    if (given < 0).any() or any(given[i, i] != 0 for i in range(size)):
        raise ValueError("distances must be 0 on the diagonal and nowhere negative")
    if (given != given.T).any():
        raise ValueError("distances must be the same in both directions")
    cost = given.copy()
    for middle in range(size):
        cost = np.minimum(cost, cost[:, middle, None] + cost[None, middle, :])
    if any(cost[i, j] == 0 for i in range(size) for j in range(i)):
        raise ValueError("two different values are at distance 0; give them one name")
    largest = int(cost.max()) if size else 0
    notes = []
    if (changed := int((cost != given).sum()) // 2) > 0:
        notes.append(f"{changed} distances shortened to a cheaper way through other values")
    if largest not in (0, scale):
        notes.append(f"distances divided by their largest, {Fraction(largest, scale)}")
    return MatrixMetric("matrix", whole(cost), max(largest, 1)), tuple(notes)


def _make(values: Attribute, spec: DistanceSpec) -> tuple[Distance, tuple[str, ...]]:
    refuse_large(values, "a distance matrix")
    names, rows = read_matrix(values.base / (spec.matrix or ""), values.name)
    place = {name: at for at, name in enumerate(names)}
    lacking = [label for label in values.labels if label not in place]
    if lacking:
        raise DataError(
            f"{len(lacking)} of the column's values have no row in the distance matrix",
            where=f"column {values.name!r}",
            hint="add them (a missing value is called (missing))",
        )
    at = [place[label] for label in values.labels]
    try:
        metric, notes = matrix([[rows[i][j] for j in at] for i in at])
    except ValueError as error:
        raise DataError(str(error), where=f"column {values.name!r}, distance matrix") from None
    return EarthMover(metric), notes


def read_matrix(path: Path, column: str) -> tuple[list[str], list[list[Fraction]]]:
    """A square table of distances: value names in the first row and the first column."""
    where = f"column {column!r}, distance matrix"
    try:
        text = read_small_file(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        what, hint = f"the file cannot be read ({reason})", "check its path"
        raise DataError(what, where=where, hint=hint) from None
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


MATRIX = DistanceKind(
    "matrix",
    "counting by distances that an expert has given",
    "values whose distances an expert knows",
    other=_make,
    options=frozenset({"matrix"}),
    main_option="matrix",
    misuse='a matrix is given as distance = { matrix = "file.csv" }',
)
