"""Compares all distances by the properties that the (n, t)-closeness paper asks of a measure.

Li, Li and Venkatasubramanian name five properties of a measure of closeness: equal distributions
are at distance 0, no distance is negative, a rise from 1 % to 11 % counts more than one from 40 %
to 50 % (*probability scaling*), it is defined where a share is 0, and values with nearly the same
meaning count as near (*semantic awareness*). The distributions compared are those of the papers
(Li 2007, sections 4, 5, 8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from tclose.distance.emd import Distance, EarthMover
from tclose.distance.ground import DistanceKind
from tclose.distance.histogram import Histogram
from tclose.distance.matrix import matrix
from tclose.distance.registry import DISTANCES, Attribute
from tclose.hierarchy.build import build_tree, groups
from tclose.hierarchy.tree import Hierarchy
from tclose.notebook import Tabular
from tclose.plain import to_plain

WISHES = {
    "identity": "equal distributions are at distance 0",
    "non-negativity": "no distance is negative",
    "probability scaling": "from 1 % to 11 % is farther than from 40 % to 50 %",
    "zero probabilities": "defined where the table lacks a value of the class",
    "semantic awareness": "values with similar meanings are close",
}
Counts = Sequence[int]
Pair = tuple[Counts, Counts]
RARE: Pair = ([11, 89], [1, 99])
COMMON: Pair = ([50, 50], [40, 60])
LACKING: Pair = ([1, 1, 0], [0, 1, 1])
"""The class and the table, in each pair."""
SALARIES = ((1, 1, 1, 0, 0, 0, 0, 0, 0), (0, 0, 0, 1, 0, 1, 0, 0, 1), (1,) * 9)
"""Nine people earn 3K to 11K: the three who earn least; 6K, 8K and 11K; all."""
DISEASES = {
    "respiratory": {
        "respiratory infection": ["flu", "pneumonia", "bronchitis"],
        "vascular lung": ["pulmonary edema", "pulmonary embolism"],
    },
    "digestive": {
        "stomach": ["gastric ulcer", "stomach cancer", "gastritis"],
        "colon": ["colitis", "colon cancer"],
    },
}
"""The hierarchy of figure 1 of Li 2007."""
ILLNESSES = ("gastric ulcer", "gastritis", "stomach cancer", "flu", "bronchitis", "pneumonia")
PATIENTS = ((1, 1, 1, 0, 0, 0), (1, 0, 1, 0, 0, 1), (1, 2, 2, 1, 2, 1))
"""The first classes of Tables 4 (only stomach diseases) and 5, and the table."""


@dataclass(frozen=True)
class DistanceProperties:
    """The values of one distance on the papers' examples, and the properties that it has."""

    distance: str
    suits: str
    rare: float
    """The distance of (0.11, 0.89) from (0.01, 0.99)."""
    common: float
    """The distance of (0.5, 0.5) from (0.4, 0.6)."""
    lacking: float
    """The distance of a class with a value that the table lacks; infinite if undefined."""
    alike: float
    """The distance of a class whose values have nearly the same meaning."""
    spread: float
    """The distance of a class whose values have different meanings."""
    meets: tuple[str, ...]
    """The names of the properties that it has."""


@dataclass(frozen=True, repr=False)
class DistanceComparison(Tabular):
    """Every distance on the papers' examples."""

    distances: tuple[DistanceProperties, ...]

    @property
    def headline(self) -> str:
        """Says which distances have all properties."""
        best = [each.distance for each in self.distances if len(each.meets) == len(WISHES)]
        return f"{len(self.distances)} distances; with all properties: {', '.join(best)}"

    def records(self) -> list[dict[str, Any]]:
        """Returns one record per distance, with a column for each property."""
        return [
            {**vars(each), "meets": None, **{wish: wish in each.meets for wish in WISHES}}
            for each in self.distances
        ]

    def to_json(self) -> dict[str, Any]:
        """Returns plain values for JSON; infinite ones are null."""
        return {"wishes": WISHES, "distances": to_plain([vars(each) for each in self.distances])}


def compare_distances() -> DistanceComparison:
    """Computes the value of every distance on the papers' examples, and which properties it has.

    >>> found = {each.distance: each for each in compare_distances().distances}
    >>> found["ordered"].alike, round(found["ordered"].spread, 4), found["kl"].lacking
    (0.375, 0.1667, inf)
    >>> [name for name, each in found.items() if "semantic awareness" not in each.meets]
    ['equal', 'kl', 'js']
    """
    return DistanceComparison(tuple(_compare(kind) for kind in DISTANCES.values()))


def _compare(kind: DistanceKind) -> DistanceProperties:
    two, three = (_number_values(kind, many) for many in (2, 3))
    near, apart, whole = PATIENTS if kind.name == "hierarchical" else SALARIES
    many = _number_values(kind, len(whole))
    if kind.name == "hierarchical":
        many = _make(kind, _make_attribute(ILLNESSES, groups(DISEASES, "disease"), None))
    rare, common = (_measure(two, pair) for pair in (RARE, COMMON))
    lacking, back = (_measure(three, pair) for pair in (LACKING, LACKING[::-1]))
    alike, spread = (_measure(many, (part, whole)) for part in (near, apart))
    equal = [_measure(two, (RARE[0],) * 2), _measure(many, (whole, whole))]
    measured = (rare, common, lacking, back, alike, spread)
    met = {
        "identity": all(found == 0 for found in equal),
        "non-negativity": all(found >= 0 for found in measured),
        "probability scaling": rare > common,
        "zero probabilities": isfinite(lacking) and isfinite(back),
        "semantic awareness": alike > spread,
    }
    return DistanceProperties(
        kind.name, kind.suits, rare, common, lacking, alike, spread,
        tuple(wish for wish in WISHES if met[wish]),
    )  # fmt: skip


def _measure(distance: Distance, pair: Pair) -> float:
    """Returns the distance of a class from a table as a float, equal for equal exact distances."""
    found = distance.of(Histogram.from_dense([pair[0]]), np.array(pair[1]))
    exact = found.exact(0)
    return float(found.value[0]) if exact is None else float(exact)


def _make(kind: DistanceKind, values: Attribute) -> Distance:
    if kind.main_option:  # a matrix of the differences of ranks
        ranks = range(values.values)
        return EarthMover(matrix([[Fraction(abs(a - b)) for b in ranks] for a in ranks])[0])
    return values.distance(kind.name)[0]


def _number_values(kind: DistanceKind, many: int) -> Distance:
    """Returns the distance over the numbers 3, 4, …; in a hierarchy, all right below its root."""
    labels = tuple(str(number) for number in range(3, 3 + many))
    numbers = tuple(Fraction(label) for label in labels)
    tree = None
    if kind.name == "hierarchical":
        tree = build_tree([(label, "*") for label in labels], "number")
    return _make(kind, _make_attribute(labels, tree, numbers))


def _make_attribute(
    labels: tuple[str, ...], tree: Hierarchy | None, positions: tuple[Fraction, ...] | None
) -> Attribute:
    return Attribute(
        name="value", labels=labels, recode=np.arange(len(labels)), hierarchy=tree,
        positions=positions, with_missing=False, base=Path(), has_declared_order=False,
        specified=None,
    )  # fmt: skip
