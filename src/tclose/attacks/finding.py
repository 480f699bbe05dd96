"""What an attack found, in numbers and in words; what anybody believes before and after."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.classes import Classes, Tally
from tclose.verify.wording import rows_text

MOST_CLASSES = 10

Number = float | int | bool | None


@dataclass(frozen=True)
class Finding:
    """What one attack on one attribute (or on the rows as such) attains.

    Classes are told by their numbers, counted from 1 as in an audit, the worst first; values of an
    attribute by their place in its order. No cell value is kept.
    """

    attack: str
    attribute: str | None
    sentence: str
    affected: int
    total: int
    classes: tuple[int, ...] = ()
    numbers: Mapping[str, Number] = field(default_factory=dict)
    details: tuple[Mapping[str, Number], ...] = ()

    @property
    def found(self) -> bool:
        """Whether anybody is affected."""
        return self.affected > 0

    @property
    def share(self) -> float:
        """The share of the rows that are affected."""
        return self.affected / self.total if self.total else 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain values; what is infinite is null."""
        return {
            "attack": self.attack,
            "attribute": self.attribute,
            "sentence": self.sentence,
            "affected": self.affected,
            "total": self.total,
            "worst_classes": list(self.classes),
            "numbers": _to_plain(self.numbers),
            "details": [_to_plain(detail) for detail in self.details],
        }


@dataclass(frozen=True)
class Belief:
    """What a good guess is worth: knowing nothing, the whole table, the class (B0, B1, B2).

    `guess` is the chance that the best single guess is right, `bits` what is still unknown.
    """

    attribute: str
    values: int
    guess: tuple[float, float, float]
    bits: tuple[float, float, float]

    @property
    def sentence(self) -> str:
        """The same in words."""
        nothing, table, group = self.guess
        return (
            f"A guess at {self.attribute} is right with {nothing:.1%} if nothing is known, with "
            f"{table:.1%} once the release is public, and with {group:.1%} for whoever also knows "
            "a person's class."
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        steps = ("nothing", "table", "class")
        return {
            "attribute": self.attribute,
            "values": self.values,
            "guess": dict(zip(steps, self.guess, strict=True)),
            "bits": dict(zip(steps, self.bits, strict=True)),
            "sentence": self.sentence,
        }


@dataclass(frozen=True)
class AttackReport:
    """Every attack that could be tried on a release, and what each of them found."""

    source: str
    rows: int
    classes: int
    beliefs: tuple[Belief, ...]
    findings: tuple[Finding, ...]
    not_tried: tuple[str, ...]
    """What could not be tried, and what it would need."""

    def of(self, attack: str) -> tuple[Finding, ...]:
        """The findings of one attack."""
        return tuple(finding for finding in self.findings if finding.attack == attack)

    @property
    def found(self) -> tuple[Finding, ...]:
        """The findings that affect anybody, the most affected rows first."""
        return tuple(sorted((f for f in self.findings if f.found), key=lambda f: -f.affected))

    def to_json(self) -> dict[str, Any]:
        """The report as plain values, without any cell value of the table."""
        return {
            "source": self.source,
            "rows": self.rows,
            "classes": self.classes,
            "beliefs": [belief.to_json() for belief in self.beliefs],
            "findings": [finding.to_json() for finding in self.findings],
            "not_tried": list(self.not_tried),
        }

    def __str__(self) -> str:
        head = f"{self.source}: {rows_text(self.rows)} in {self.classes:,} classes"
        return "\n".join([head, *(f"  {finding.sentence}" for finding in self.findings)])


def rank_worst(harmed: NDArray[np.bool_], harm: NDArray[Any]) -> tuple[int, ...]:
    """The numbers of the classes that are harmed most, the first of equal ones first.

    >>> rank_worst(np.array([True, False, True]), np.array([1.0, 9.0, 2.0]))
    (3, 1)
    """
    at = np.flatnonzero(harmed)
    order = np.lexsort((at, -harm[at].astype(np.float64)))[:MOST_CLASSES]
    return tuple(int(number) + 1 for number in at[order])


def flag_classes(classes: Classes, tally: Tally, flagged: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which classes have a view (or a completion of it) that is flagged."""
    view = np.zeros(classes.views, dtype=bool)
    view[tally.view[flagged]] = True
    result = np.zeros(classes.count, dtype=bool)
    result[classes.class_of[view[classes.view_of]]] = True
    return result


def find_highest(classes: Classes, tally: Tally, value: NDArray[np.float64]) -> NDArray[np.float64]:
    """The highest value of all views of each class."""
    view = np.full(classes.views, -np.inf)
    np.maximum.at(view, tally.view, value)
    result = np.full(classes.count, -np.inf)
    np.maximum.at(result, classes.class_of, view[classes.view_of])
    return result


def _to_plain(numbers: Mapping[str, Number]) -> dict[str, Number]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in numbers.items()
    }


def measure_belief(classes: Classes, attribute: str) -> Belief:
    """The chance that a guess is right, and the bits unknown, at each of the three steps.

    B0 → B1 → B2: what the table as a whole teaches, and what a class adds (Li et al. 2007). Only
    the second step is what closeness limits: the first is the reason for publishing at all.
    """
    histogram = classes.histogram(attribute)
    table = classes.merge_histogram(attribute, np.zeros(classes.count, np.int64), 1).dense()[0]
    table, values = table.astype(np.float64), max(classes.attributes[attribute].values, 1)
    count, size = histogram.count.astype(np.float64), histogram.size.astype(np.float64)
    commonest = np.maximum.reduceat(count, histogram.start[:-1])
    share = table[table > 0] / table.sum()
    unknown = float((count * np.log2(size[histogram.owner()] / count)).sum() / count.sum())
    one_of, each_of = table.sum(), size.sum()
    if classes.persons is not None:  # who has several values counts for each of them
        one_of, each_of = classes.everyone, classes.size.sum()
    return Belief(
        attribute=attribute,
        values=values,
        guess=(1 / values, float(table.max() / one_of), float(commonest.sum() / each_of)),
        bits=(float(np.log2(values)), float(-(share @ np.log2(share))), unknown),
    )
