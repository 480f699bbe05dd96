"""The matrix distance: an expert gives the distance of every two values."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from tclose.arrays import Ints
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
    """Makes a metric of diameter 1 from any distances, and notes on what had to be changed.

    Moving mass may pass through other values (Li 2007, constraint c2), so only shortest paths
    matter: where the triangle inequality fails, the matrix is replaced by its closure.

    >>> metric, notes = matrix([[Fraction(0), Fraction(2)], [Fraction(2), Fraction(0)]])
    >>> metric.between(0, 1), notes
    (Fraction(1, 1), ('distances divided by their largest, 2',))
    """
    place: dict[Fraction, int] = {}
    index = [[place.setdefault(entry, len(place)) for entry in row] for row in distances]
    return _close(list(place), np.array(index, dtype=np.int64).reshape(len(index), len(index)))


def _close(numbers: Sequence[Fraction], index: Ints) -> tuple[MatrixMetric, tuple[str, ...]]:
    """Makes a metric from the different distances and, per pair of values, the place of theirs.

    Uses 64 bits if every sum of two distances fits, a hundred times faster than Python's integers.
    """
    size = len(index)
    flat, scale = to_integers(numbers)
    fits = max(map(abs, flat), default=0) < 2**60
    given = np.array(flat, dtype=np.int64 if fits else object)[index]
    if (given < 0).any() or np.diagonal(given).any():
        raise ValueError("distances must be 0 on the diagonal and nowhere negative")
    if (given != given.T).any():
        raise ValueError("distances must be the same in both directions")
    cost, through = given.copy(), np.empty_like(given)
    for middle in range(size):
        np.add(cost[:, middle, None], cost[None, middle, :], out=through)
        np.minimum(cost, through, out=cost)
    if np.count_nonzero(cost == 0) > size:
        raise ValueError("two different values have distance 0; give them the same name")
    largest = int(cost.max()) if size else 0
    notes = []
    if (changed := int((cost != given).sum()) // 2) > 0:
        notes.append(f"{changed} distances shortened to a cheaper path through other values")
    if largest not in (0, scale):
        notes.append(f"distances divided by their largest, {Fraction(largest, scale)}")
    counts = cost if fits and largest * size * size < 2**62 else whole(cost)
    return MatrixMetric("matrix", counts, max(largest, 1)), tuple(notes)


def _make(values: Attribute, spec: DistanceSpec) -> tuple[Distance, tuple[str, ...]]:
    refuse_large(values, "a distance matrix")
    place = values.base / (spec.matrix or "")
    try:
        content = read_small_file(place)
    except OSError as error:
        what, hint = f"the file cannot be read ({error.strerror})", "check its path"
        where = f"column {values.name!r}, distance matrix"
        raise DataError(what, where=where, hint=hint) from None
    return _measure(content, values.name, values.labels)


@lru_cache(maxsize=4)
def _measure(
    content: bytes, column: str, labels: tuple[str, ...]
) -> tuple[Distance, tuple[str, ...]]:
    """Returns the distance in a file; cached, as one table needs it several times."""
    names, numbers, index = parse_matrix(content, column)
    place = {name: at for at, name in enumerate(names)}
    lacking = [label for label in labels if label not in place]
    if lacking:
        raise DataError(
            f"{len(lacking)} of the column's values have no row in the distance matrix",
            where=f"column {column!r}",
            hint="add them (a missing value is called (missing))",
        )
    at = [place[label] for label in labels]
    try:
        metric, notes = _close(numbers, index[np.ix_(at, at)])
    except ValueError as error:
        raise DataError(str(error), where=f"column {column!r}, distance matrix") from None
    return EarthMover(metric), notes


def parse_matrix(content: bytes, column: str) -> tuple[list[str], list[Fraction], Ints]:
    """Parses a square table of distances with value names in its first row and first column.

    Returns the names, the different distances, and per entry the place of its distance among these.
    """
    where = f"column {column!r}, distance matrix"
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        what, hint = "the file cannot be read (not UTF-8 text)", "check its path"
        raise DataError(what, where=where, hint=hint) from None
    mark = ";" if text.partition("\n")[0].count(";") else ","
    try:
        rows = [row for row in csv.reader(text.splitlines(), delimiter=mark) if row]
    except csv.Error:
        rows = []
    names = [name.strip() for name in rows[0][1:]] if rows else []
    if (
        not rows
        or [row[0].strip() for row in rows[1:]] != names
        or any(len(row) != len(names) + 1 for row in rows)
    ):
        raise DataError(
            "not a square table",
            where=where,
            hint="first row and first column name the values, in the same order",
        )
    seen: dict[str, int] = {}
    index = [[seen.setdefault(entry, len(seen)) for entry in row[1:]] for row in rows[1:]]
    try:
        numbers = [exact(entry) for entry in seen]
    except ValueError:
        raise DataError("an entry is not a number", where=where) from None
    return names, numbers, np.array(index, dtype=np.int64).reshape(len(names), len(names))


MATRIX = DistanceKind(
    "matrix",
    "counting by distances that an expert has given",
    "values whose distances an expert knows",
    other=_make,
    options=frozenset({"matrix"}),
    main_option="matrix",
    misuse='give a matrix as distance = { matrix = "file.csv" }',
)
