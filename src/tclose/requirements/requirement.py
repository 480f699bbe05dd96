"""What a requirement answers about every class, and what it declares about itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tclose.requirements.classes import JudgedClasses, SensitiveValues, StatedTable, Tally
from tclose.requirements.constraint import AttributePool, Constraint

Ints = NDArray[np.int64]
Adversary = Literal["knows_class", "knows_others"]
"""Whoever knows a person's class, or the person's other sensitive values as well: to them a class
is only those of its rows that have these values."""
ADVERSARIES: dict[str, Adversary] = {"separate": "knows_class", "cross": "knows_others"}
"""The adversaries by the words of a policy."""


Table = StatedTable[Any]
"""A table whose policy states requirements."""
Matching = Callable[[], Ints]
"""Counts the people of the population who fit each class; raises where there is no population."""


@dataclass(frozen=True)
class Capabilities:
    """What a search may rely on; it reads these flags, never the names."""

    monotone: bool = True
    """Merging two classes never gives a value worse than the worse of theirs."""
    overlapping: bool = False
    """It is monotone also where classes have persons in common. A share of persons is not: of
    persons 1 and 2, and of 2 and 3, half have what 1 and 3 have, and two thirds of all three."""
    self_contained: bool = True
    """It needs nothing beyond the classes: no hierarchies, no table of the population."""
    whole_table: str = ""
    """What to call it where it cannot be judged part by part; empty where it can be."""


@dataclass(frozen=True)
class Measurement:
    """What a table attains: the tightest value, the class that attains it, and all others.

    `value` and `fails` have an entry for each class; `decided` is False where a failure might be
    one of our knowledge only (the requirement says why in `note`).
    """

    value: NDArray[np.float64]
    fails: NDArray[np.bool_]
    achieved: float
    exact: Fraction | None
    worst: int
    margin: NDArray[np.float64]
    decided: bool = True
    note: str = ""
    small_is_bad: bool = False
    """Whether less is worse, as of a size or a number of values."""


@dataclass(frozen=True)
class Proposal:
    """What is known of classes that a search proposes, beyond their sizes and histograms."""

    raw_class: Ints
    """The class of the raw table that each proposed cell lies in."""
    owner: Ints
    """The proposed class of each of these cells."""
    climbs: list[list[Ints]] | None = None
    """The codes of every proposed class at each level of each column, where supersets count."""

    def match(self, people: Ints, classes: int) -> Ints:
        """How many people match each proposed class, at least, from those who match a raw one.

        People match one raw class each, so their numbers add up; whoever matches a released class
        without matching a raw one only makes the class safer, unless a least share is promised.
        """
        inside = np.unique(self.owner * len(people) + self.raw_class)
        matches = np.zeros(classes, dtype=np.int64)
        np.add.at(matches, inside // len(people), people[inside % len(people)])
        return matches


@dataclass(frozen=True)
class Requirement:
    """What must hold of every class, as an adversary sees it."""

    name: ClassVar[str]
    """What the field calls it."""
    key: ClassVar[str]
    """The policy's word for it."""
    topic: ClassVar[str] = "Variety of {about}"
    """What it is about, in a few words, for people."""
    sentence: ClassVar[str]
    """What it asks of every class, without mathematics. `{about}` is the attribute, `{required}`
    the threshold, `{quasi}` the quasi-identifiers, `{scale}` and `{by}` describe the distance."""
    against_others: ClassVar[bool] = True
    """Whether it can be stated against whoever knows the other sensitive attributes."""
    axis: ClassVar[Literal["", "k", "t"]] = ""
    """What a sweep over thresholds varies, if it can vary this one."""

    attribute: str | None = field(default=None, kw_only=True)
    """The sensitive attribute that it is about, if it is about one."""
    adversary: Adversary = field(default="knows_class", kw_only=True)

    @property
    def distance(self) -> str | None:
        """The distance that it uses, if it uses one."""
        return None

    @property
    def limit(self) -> Fraction | int | None:
        """The threshold; None where it is only measured."""
        raise NotImplementedError

    @property
    def required(self) -> str | None:
        """The threshold as text; None where it is only measured."""
        return shown(self.limit)

    @property
    def reading(self) -> str:
        """The policy's word for the adversary."""
        return "cross" if self.adversary == "knows_others" else "separate"

    @property
    def identity(self) -> tuple[str, str | None, str | None, str]:
        """What tells it from others: what is required, of what, by what distance, how read."""
        return (self.name, self.attribute, self.distance, self.reading)

    @property
    def capabilities(self) -> Capabilities:
        """What it promises to a search."""
        return Capabilities()

    def measure(self, classes: JudgedClasses) -> Measurement:
        """What the table attains."""
        raise NotImplementedError

    def measure_proposed(self, classes: JudgedClasses, proposal: Proposal) -> Measurement | None:
        """What classes attain that a search proposes; None where that cannot be told from them."""
        return self.measure(classes)

    def compile(self, attributes: AttributePool) -> Sequence[Constraint] | None:
        """The constraints that together are this requirement; None where kernels cannot judge."""
        return None

    def refuse_uncompiled(self) -> None:
        """Raises UsageError where no search can do without a constraint."""

    @property
    def least_size(self) -> int:
        """How many rows a class must have, as far as this requirement says so."""
        return 1

    @property
    def least_table(self) -> int:
        """How many rows a table must have for any class to keep it, beyond what it measures."""
        return 0

    @property
    def bounded(self) -> bool:
        """Whether no class attains more than 1."""
        return True

    def at_limit(self, limit: Fraction | int) -> Requirement:
        """The same with another threshold on its axis."""
        changed: dict[str, Any] = {self.axis: limit}
        return replace(self, **changed)

    def against_table(self) -> Requirement | None:
        """The distance of classes from the table that it is about, as a requirement; if any."""
        return self if self.axis == "t" else None

    @classmethod
    def from_policy(cls, table: Table, match_population: Matching) -> Iterator[Requirement]:
        """What the policy requires of the whole table."""
        yield from ()

    @classmethod
    def measured_of_table(cls, table: Table) -> Iterator[Requirement]:
        """What is worth knowing about a table whatever was required."""
        yield from ()


@dataclass(frozen=True)
class AttributeRequirement(Requirement):
    """A requirement about the distribution of one sensitive attribute."""

    attribute: str = field()

    @classmethod
    def from_column(cls, values: SensitiveValues, table: Table) -> Iterator[Requirement]:
        """What the policy requires of a sensitive column."""
        raise NotImplementedError

    @classmethod
    def measured_of_column(cls, values: SensitiveValues) -> Iterator[Requirement]:
        """What is worth knowing about a sensitive column whatever was required."""
        yield cls(values.name)


def settle(
    classes: JudgedClasses,
    tally: Tally | None,
    value: NDArray[np.float64],
    fails: NDArray[np.bool_],
    worst: int,
    *,
    limit: Fraction | float | None,
    exact: Fraction | None,
    small_is_bad: bool = False,
    note: str = "",
) -> Measurement:
    """From judged distributions to classes: the worst of a class's views counts.

    `value`, `fails` and `worst` speak of the rows of the tally (of the views, where it is None).
    """
    view = np.arange(classes.views) if tally is None else tally.view
    sign = -1.0 if small_is_bad else 1.0
    per_view = np.full(classes.views, -np.inf)
    np.maximum.at(per_view, view, sign * value)
    broken = np.zeros(classes.views, dtype=bool)
    broken[view[fails]] = True
    per_class = np.full(classes.count, -np.inf)
    np.maximum.at(per_class, classes.class_of, per_view[classes.view_of])
    failing = np.zeros(classes.count, dtype=bool)
    failing[classes.class_of[broken[classes.view_of]]] = True
    attained = sign * per_class
    margin = np.broadcast_to(np.inf, classes.count)
    if limit is not None:
        margin = sign * (float(limit) - attained)
    first = int(np.searchsorted(classes.view_of, view[worst]))
    return Measurement(
        value=attained,
        fails=failing,
        achieved=float(value[worst]),
        exact=exact,
        worst=int(classes.class_of[first]),
        margin=margin,
        note=note,
        small_is_bad=small_is_bad,
    )


def nothing_fails(value: NDArray[np.float64]) -> NDArray[np.bool_]:
    """The verdict on distributions that nothing is required of."""
    return np.zeros(len(value), dtype=bool)


def shown(number: Fraction | int | None) -> str | None:
    """A threshold as a report writes it: a decimal where it ends, else a fraction.

    >>> shown(Fraction(1, 5)), shown(Fraction(1, 3)), shown(None)
    ('0.2', '1/3', None)
    """
    if number is None:
        return None
    whole = Fraction(number)
    decimal = f"{float(whole):.12g}"
    return decimal if Fraction(decimal) == whole else str(whole)
