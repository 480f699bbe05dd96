"""The matrix of two sensitive attributes with its fragments, as the thesis draws it.

Element (i, j) is the number of rows with the i-th value of one attribute and the j-th of the other.
A fragment is a rectangle of it. A class that takes its rows from the fragments in proportion is, in
each attribute, no farther from the table than the sum of what each fragment could add at worst:
with each distance as a share of the fragment's own width (as published, X̂ and Ŷ), or of the whole
range (corrected, `mathematics.md` 3.5). In exact proportion there are q = gcd(rows of the
fragments) classes of r = rows / q.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from tclose.arrays import Ints
from tclose.distance.registry import Attribute
from tclose.notebook import Drawable, Tabular
from tclose.requirements.classes import Classes
from tclose.requirements.constraint import Constraints
from tclose.search.by_construction.emd_bounds import (
    EmdConstraints,
    find_emd_constraints,
    lie_on_lines,
)
from tclose.search.by_construction.fragments import (
    Fragmentation,
    cut_into_fragments,
    plan_fragments,
)
from tclose.search.kernel_arrays import ConstraintArrays
from tclose.search.problem import SearchProblem

MOST_ELEMENTS = 20_000
"""Of a matrix that is also cut by the published bounds, which takes nearly all of them."""
Places = Sequence[Fraction]
Run = tuple[int, int]
"""The first and the last of some neighbouring values, by their places in the order."""


@dataclass(frozen=True)
class Fragment:
    """A rectangle of the matrix, and how many rows are in it."""

    across: Run
    along: Run
    rows: int


@dataclass(frozen=True)
class MatrixBounds:
    """Bounds on the distance of classes in proportion to the fragments, for both attributes."""

    published: tuple[Fraction, Fraction]
    corrected: tuple[Fraction, Fraction]


@dataclass(frozen=True, repr=False)
class FragmentMatrix(Tabular, Drawable):
    """Two sensitive attributes, the fragments that keep their t, and the classes that follow."""

    names: tuple[str, str]
    labels: tuple[tuple[str, ...], tuple[str, ...]] = field(repr=False)
    counts: Ints = field(repr=False)
    """[values of the one, values of the other]: rows."""
    t: tuple[Fraction, Fraction]
    fragments: tuple[Fragment, ...]
    bounds: MatrixBounds
    assigned: int
    """How many classes rows can be assigned to so that all are close, whichever rows they take."""
    published_fragments: int | None
    """How many fragments the published bounds need for the same t."""

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.counts.sum())

    @property
    def q(self) -> int:
        """How many classes there are in exact proportion."""
        return math.gcd(*(fragment.rows for fragment in self.fragments))

    @property
    def r(self) -> int:
        """How many rows each of these has."""
        return self.rows // self.q

    @property
    def headline(self) -> str:
        """How many fragments, and which classes."""
        names = " × ".join(self.names)
        return f"{names}: {len(self.fragments):,} fragments, q = {self.q:,}, r = {self.r:,}"

    def records(self) -> list[dict[str, Any]]:
        """A line for each fragment."""
        return [
            {
                **{
                    name: _name_run(labels, run)
                    for name, labels, run in zip(
                        self.names, self.labels, (each.across, each.along), strict=True
                    )
                },
                "rows": each.rows,
            }
            for each in self.fragments
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "attributes": list(self.names),
            "t": [str(t) for t in self.t],
            "rows": self.rows,
            "fragments": self.records(),
            "published_bounds": [str(bound) for bound in self.bounds.published],
            "corrected_bounds": [str(bound) for bound in self.bounds.corrected],
            "q": self.q,
            "r": self.r,
            "assigned_classes": self.assigned,
            "published_fragments": self.published_fragments,
        }


def _name_run(labels: Sequence[str], run: Run) -> str:
    low, high = labels[run[0]], labels[run[1]]
    return low if low == high else f"{low} – {high}"


def bound_fragments(
    counts: Ints, fragments: Sequence[Fragment], places: tuple[Places, Places]
) -> MatrixBounds:
    """The bounds of both attributes for some fragments, exactly.

    `places` are those of the values on their lines. Of one value nothing can be far.

    >>> counts = np.array([[2, 3], [1, 4]])
    >>> halves = [Fragment((0, 1), (0, 0), 3), Fragment((0, 1), (1, 1), 7)]
    >>> line = [Fraction(0), Fraction(1)]
    >>> [str(bound) for bound in bound_fragments(counts, halves, (line, line)).published]
    ['3/5', '0']
    """
    total = int(counts.sum())
    published, corrected = [], []
    for axis, line in enumerate(places):
        own, common = Fraction(0), Fraction(0)
        range_ = line[-1] - line[0]
        for each in fragments:
            block = counts[each.across[0] : each.across[1] + 1, each.along[0] : each.along[1] + 1]
            held = block.sum(axis=1 - axis).tolist()
            run = (each.across, each.along)[axis]
            spots = line[run[0] : run[1] + 1]
            width = spots[-1] - spots[0]
            if width:
                own += _reach(held, spots, spots[0], spots[-1]) / width
            seen = [spot for spot, rows in zip(spots, held, strict=True) if rows]
            if seen and range_:
                common += _reach(held, spots, seen[0], seen[-1]) / range_
        published.append(own / total)
        corrected.append(common / total)
    return MatrixBounds((published[0], published[1]), (corrected[0], corrected[1]))


def _reach(held: Sequence[int], spots: Places, low: Fraction, high: Fraction) -> Fraction:
    """Σ rows · distance to the farther of two ends (Theorem A: no other value is worse)."""
    pairs = list(zip(held, spots, strict=True))
    return max(
        sum((rows * (spot - low) for rows, spot in pairs), Fraction(0)),
        sum((rows * (high - spot) for rows, spot in pairs), Fraction(0)),
    )


def make_matrix(
    classes: Classes, constraints: Constraints, attributes: Mapping[str, Attribute]
) -> FragmentMatrix | None:
    """The matrix of a table that promises closeness of two attributes by ordered or numeric
    distances, cut until both bounds are kept; None where it promises another thing."""
    chosen = list(constraints.closeness.values())
    fields = [constraints.fields[each.field] for each in chosen]
    names = [each.name for each in fields]
    if len(chosen) != 2 or len(set(names)) < 2 or not set(names) <= set(attributes):
        return None
    if not lie_on_lines(constraints) or any(each.mass is not None for each in fields):
        return None
    rows = classes.cell_rows.astype(np.int64)
    problem = SearchProblem(
        np.zeros((len(rows), 0), dtype=np.int64), rows, (), constraints, classes
    )
    arrays = ConstraintArrays(constraints, constraints.compiled, constraints.rows(rows))
    closeness = find_emd_constraints(problem, arrays)
    found = cut_into_fragments(closeness, [each.t for each in closeness.attributes])
    used = [np.unique(each.codes) for each in fields]
    counts = np.zeros((len(used[0]), len(used[1])), dtype=np.int64)
    first, second = (
        np.searchsorted(codes, each.codes) for codes, each in zip(used, fields, strict=True)
    )
    np.add.at(counts, (first, second), rows)
    places = tuple(
        [
            attributes[name].ground(attributes[name].distance()[0].name).between(0, int(code))
            for code in codes
        ]
        for name, codes in zip(names, used, strict=True)
    )
    fragments = tuple(_list_fragments(found))
    return FragmentMatrix(
        (names[0], names[1]),
        tuple(
            tuple(attributes[name].labels[code] for code in codes)
            for name, codes in zip(names, used, strict=True)
        ),  # type: ignore[arg-type]
        counts,
        (chosen[0].threshold, chosen[1].threshold),
        fragments,
        bound_fragments(counts, fragments, (places[0], places[1])),
        count_assigned(closeness, constraints.k),
        _count_published(closeness, counts),
    )


def count_assigned(closeness: EmdConstraints, k: int) -> int:
    """The most classes of at least k rows for which any rows from the fragments are close enough
    (Theorem B), over fragmentations that use up several shares of t."""
    return max(quotas.classes for _, quotas in plan_fragments(closeness, max(k, 1)))


def _count_published(closeness: EmdConstraints, counts: Ints) -> int | None:
    if counts.size > MOST_ELEMENTS:
        return None
    limits = [each.t for each in closeness.attributes]
    return cut_into_fragments(closeness, limits, own_width=True).count


def _list_fragments(found: Fragmentation) -> list[Fragment]:
    return [
        Fragment((int(ends[0][0]), int(ends[0][1])), (int(ends[1][0]), int(ends[1][1])), int(rows))
        for ends, rows in zip(found.ends, found.rows, strict=True)
    ]
