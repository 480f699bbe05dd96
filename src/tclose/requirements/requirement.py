"""What a requirement declares about itself, what it answers about classes, and how it is stated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol, TypeVar

import numpy as np
from pydantic import Field, model_validator

from tclose.arrays import Flags, Floats, Ints
from tclose.distance import Distances
from tclose.distance.histogram import Counts
from tclose.distance.numbers import Part
from tclose.distance.registry import DISTANCES, Attribute, DistanceSpec
from tclose.hierarchy import Hierarchy
from tclose.requirements.classes import Classes, Tally
from tclose.requirements.closeness.supersets import Supersets
from tclose.requirements.constraint import AttributePool, Compiled

Adversary = Literal["knows_class", "knows_others"]
"""Whoever knows a person's class, or the person's other sensitive values as well: to them a class
is only those of its rows that have these values."""
ADVERSARIES: dict[str, Adversary] = {"separate": "knows_class", "cross": "knows_others"}
"""The adversaries by the words of a policy."""

Statement = Part | Fraction | int | tuple[Part, ...]
"""What a policy says at the key of a requirement."""


class StatingPart(Part):
    """What states requirements, a policy or one of its columns: each adds its own key."""

    requirements: ClassVar[tuple[type[Requirement], ...]] = ()
    """What can be stated."""

    @property
    def stated(self) -> list[type[Requirement]]:
        """What is stated."""
        return [kind for kind in self.requirements if kind.find_statement(self) is not None]

    @model_validator(mode="after")
    def _refuse_misuse(self) -> StatingPart:
        for kind in self.stated:
            kind.refuse_misuse(self, kind.find_statement(self))
        return self


class ColumnPart(StatingPart):
    """What every requirement may know of a column that states it."""

    role: str
    missing: Literal["value", "forbid", "any"] = "value"
    distance: DistanceSpec | None = None

    @model_validator(mode="after")
    def _refuse_others(self) -> ColumnPart:
        keys = list(dict.fromkeys(kind.key for kind in self.stated))
        keys += ["distance"] if self.distance is not None else []
        if keys and self.role != "sensitive":
            raise ValueError(f"{', '.join(keys)}: only a sensitive column takes a promise")
        return self


class PolicyPart(StatingPart):
    """What every requirement may know of the policy that states it."""

    columns: Mapping[str, ColumnPart] = Field(description="every column of the table and its role")
    readings: tuple[Literal["separate", "cross"], ...] = Field(
        ("separate",),
        min_length=1,
        description="cross: the other sensitive attributes are known to the attacker",
    )

    @property
    def adversaries(self) -> tuple[Adversary, ...]:
        """Against whom the requirements on columns must hold."""
        return tuple(ADVERSARIES[reading] for reading in self.readings)

    def with_role(self, role: str) -> tuple[str, ...]:
        """The columns of one role, in the policy's order."""
        return tuple(name for name, column in self.columns.items() if column.role == role)

    @property
    def quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers."""
        return self.with_role("quasi")

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive attributes."""
        return self.with_role("sensitive")


P = TypeVar("P", contravariant=True)


class StatedTable(Protocol[P]):
    """A table with the policy that is stated about it; P is a table of the population."""

    @property
    def policy(self) -> PolicyPart: ...  # noqa: D102
    @property
    def attributes(self) -> Mapping[str, Attribute]: ...  # noqa: D102
    @property
    def hierarchies(self) -> Mapping[str, Hierarchy]: ...  # noqa: D102
    def match_population(self, population: P) -> Ints:
        """How many people of the population fit each class."""
        ...


Table = StatedTable[Any]
"""A table whose policy states requirements."""


class SeveralKinds(Part):
    """A key with several kinds below it, of which at least one is stated."""

    @model_validator(mode="after")
    def _refuse_none(self) -> SeveralKinds:
        if not self.model_fields_set:
            kinds = list(type(self).model_fields)
            raise ValueError(f"name a kind: {', '.join(kinds[:-1])} or {kinds[-1]}")
        return self


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
    whole_table: bool = False
    """It cannot be judged part by part."""
    whole_columns: bool = False
    """Only a search that recodes whole columns can foresee it; for others it is not monotone."""
    least_size: int = 1
    """How many rows a class must have, as far as this requirement says so."""
    least_table: int = 0
    """How many rows a table must have for any class to keep it, beyond what it measures."""


@dataclass(frozen=True)
class Scores:
    """A number for each judged distribution, and which of them break the requirement."""

    value: Floats
    fails: Flags
    worst: int
    exact: Fraction | None = None
    """What the worst of them attains, where that is a fraction."""
    note: str = ""

    @classmethod
    def at_most(cls, found: Distances, limit: Fraction | int | None, note: str = "") -> Scores:
        """Nothing may be above the limit."""
        value, worst = found.value, found.largest()
        fails = np.zeros(len(value), bool) if limit is None else ~found.within(Fraction(limit))
        return cls(value, fails, worst, found.exact(worst), note)

    @classmethod
    def at_least(cls, counts: Counts, limit: Fraction | int | None) -> Scores:
        """Nothing may be below the limit."""
        worst = int(np.argmin(counts))
        fails = np.asarray(counts < (limit or 0), dtype=bool)
        return cls(counts.astype(float), fails, worst, Fraction(int(counts[worst])))


@dataclass(frozen=True)
class Measurement:
    """What a table attains: the tightest value, the class that attains it, and all others.

    `value` and `fails` have an entry for each class; `decided` is False where a failure might be
    one of our knowledge only (the requirement says why in `note`).
    """

    value: Floats
    fails: Flags
    achieved: float
    exact: Fraction | None
    worst: int
    margin: Floats
    decided: bool = True
    note: str = ""
    small_is_bad: bool = False
    """Whether less is worse, as of a size or a number of values."""


@dataclass(frozen=True)
class ProposedCells:
    """What is known of classes that a search proposes, beyond their sizes and histograms."""

    raw_class: Ints
    """The class of the raw table that each proposed cell lies in."""
    owner: Ints
    """The proposed class of each of these cells."""
    climbs: list[list[Ints]] | None = None
    """The codes of every proposed class at each level of each column, where supersets count."""
    supersets: Mapping[str, Supersets] | None = None
    """By attribute the superset that each proposed class is close to, where a search names them."""


@dataclass(frozen=True)
class Requirement:
    """What must hold of every class, as an adversary sees it."""

    name: ClassVar[str]
    """What the field calls it."""
    key: ClassVar[str]
    """The policy's word for it."""
    kind: ClassVar[str] = ""
    """The word below that, where the key has several kinds."""
    limit_key: ClassVar[str] = "max"
    """The word for the threshold, where further ones below the key give other fields of this."""
    topic: ClassVar[str] = "Variety of {about}"
    """What it is about, in a few words, for people."""
    sentence: ClassVar[str]
    """What it asks of every class, without mathematics. `{about}` is the attribute, `{required}`
    the threshold, `{quasi}` the quasi-identifiers, `{scale}` and `{by}` describe the distance."""
    against_others: ClassVar[bool] = True
    """Whether it can be stated against whoever knows the other sensitive attributes."""
    axis: ClassVar[Literal["", "k", "t"]] = ""
    """What a sweep over thresholds varies, if it can vary this one."""
    small_is_bad: ClassVar[bool] = False
    """Whether the threshold is a least value."""
    joins_classes: ClassVar[bool] = False
    """Whether it is about unions of classes, not about each by itself."""
    in_several_tables: ClassVar[str] = ""
    """Why it cannot be judged where attributes stand in tables of their own; empty where it can."""
    suggested: ClassVar[bool] = True
    """Whether it is worth measuring of every column, whatever was required."""

    attribute: str | None = field(default=None, kw_only=True)
    """The sensitive attribute that it is about, if it is about one."""
    adversary: Adversary = field(default="knows_class", kw_only=True)
    limit: Fraction | int | None = field(default=None, kw_only=True)
    """The threshold; None where it is only measured."""

    @property
    def distance(self) -> str | None:
        """The distance that it uses, if it uses one."""
        return None

    @property
    def reference(self) -> str | None:
        """The declared distribution that classes are compared with; None: the table's own."""
        return None

    @property
    def required(self) -> str | None:
        """The threshold as text; None where it is only measured."""
        return write_number(self.limit)

    @property
    def reading(self) -> str:
        """The policy's word for the adversary."""
        return next(word for word, other in ADVERSARIES.items() if other == self.adversary)

    @property
    def identity(self) -> tuple[str, str | None, str | None, str]:
        """What tells it from others: what is required, of what, by what distance, how read."""
        return (self.name, self.attribute, self.distance, self.reading)

    @property
    def capabilities(self) -> Capabilities:
        """What it promises to a search."""
        return Capabilities()

    @property
    def bounded(self) -> bool:
        """Whether no class attains more than 1."""
        return self.distance not in DISTANCES or DISTANCES[self.distance].bounded

    def measure(self, classes: Classes) -> Measurement:
        """What the table attains."""
        raise NotImplementedError

    def measure_proposed(self, classes: Classes, cells: ProposedCells) -> Measurement | None:
        """What classes attain that a search proposes; None where that cannot be told from them."""
        return self.measure(classes)

    def name_supersets(self, supersets: Mapping[str, Supersets]) -> Requirement:
        """The same judged by what a release names for each attribute, if it is about supersets."""
        return self

    def choose_supersets(
        self, classes: Classes, natural: Sequence[Ints], climbs: list[list[Ints]] | None
    ) -> Supersets | None:
        """A superset for every class that has one among some, or along levels; None where it is
        not about supersets."""
        return None

    def summarize(self, classes: Classes, view: Ints, scores: Scores) -> Measurement:
        """From judged distributions to classes: the worst of a class's views counts.

        `view` is the view that each of the scores belongs to.
        """
        attained = self.sign * classes.find_largest(view, self.sign * scores.value)
        failing = classes.find_largest(view, scores.fails) > 0
        worst = int(classes.class_of[np.searchsorted(classes.view_of, view[scores.worst])])
        achieved = float(scores.value[scores.worst])
        return self.conclude(attained, failing, worst, achieved, scores.exact, scores.note)

    @property
    def sign(self) -> float:
        """1 where more is worse, −1 where less is."""
        return -1.0 if self.small_is_bad else 1.0

    def conclude(
        self, value: Floats, fails: Flags, worst: int, achieved: float, exact: Fraction | None,
        note: str,
    ) -> Measurement:  # fmt: skip
        """What every class attains, with its margin, and the worst of them."""
        margin = np.broadcast_to(np.inf, len(value))
        if self.limit is not None:
            margin = self.sign * (float(self.limit) - value)
        return Measurement(
            value, fails, achieved, exact, worst, margin, note=note, small_is_bad=self.small_is_bad
        )

    def compile(self, attributes: AttributePool, limit: Fraction) -> Compiled:
        """The constraints that together are this requirement; None where kernels cannot judge."""
        return None

    def refuse_uncompiled(self) -> None:
        """Raises UsageError where no search can do without a constraint."""

    def against_table(self) -> Requirement | None:
        """The distance of classes from the table that it is about, as a requirement; if any."""
        return self if self.axis == "t" else None

    @classmethod
    def find_statement(cls, part: Part) -> Statement | None:
        """What a policy, or one of its columns, says at the key; None where it says nothing."""
        stated: Statement | None = getattr(part, cls.key)
        if stated is not None and cls.kind:
            stated = getattr(stated, cls.kind)
        return None if stated == () else stated

    @classmethod
    def refuse_misuse(cls, part: Any, stated: Any) -> None:
        """Raises ValueError where what a policy, or a column of it, states makes no sense."""

    @classmethod
    def read_statement(cls, stated: Statement) -> dict[str, Any]:
        """The fields of the requirement that a statement gives."""
        if not isinstance(stated, Part):
            return {"limit": stated}
        given = {key: getattr(stated, key) for key in type(stated).model_fields}
        return {"limit": given.pop(cls.limit_key), **given}

    @classmethod
    def from_policy(cls, stated: Any, table: Table) -> Iterable[Requirement]:
        """What the policy states of the whole table."""
        return (cls(**cls.read_statement(stated)),)

    def count_matches(self, match_population: Callable[[], Ints]) -> Requirement:
        """The same with the people of the population who fit each class, where it is about them."""
        return self

    @classmethod
    def suggest_for_table(cls, table: Table) -> Iterable[Requirement]:
        """What is worth measuring of a table whatever was required."""
        return ()


@dataclass(frozen=True)
class AttributeRequirement(Requirement):
    """A requirement about the distribution of one sensitive attribute."""

    attribute: str = field()

    def measure(self, classes: Classes) -> Measurement:
        """What the table attains."""
        tally = classes.tally(self.attribute)
        return self.summarize(classes, tally.view, self.score(tally))

    def score(self, tally: Tally) -> Scores:
        """What each of the distributions attains."""
        raise NotImplementedError

    @classmethod
    def from_column(cls, stated: Any, values: Attribute, table: Table) -> Iterable[Requirement]:
        """What the policy states of a sensitive column."""
        return (cls(values.name, **cls.read_statement(stated)),)

    @classmethod
    def suggest_for_column(cls, values: Attribute) -> Iterable[Requirement]:
        """What is worth measuring of a sensitive column whatever was required."""
        return (cls(values.name),) if cls.suggested else ()


def write_number(number: Fraction | int | None) -> str | None:
    """A threshold as a report writes it: a decimal where it ends, else a fraction.

    >>> write_number(Fraction(1, 5)), write_number(Fraction(1, 3)), write_number(None)
    ('0.2', '1/3', None)
    """
    if number is None:
        return None
    whole = Fraction(number)
    decimal = f"{float(whole):.12g}"
    return decimal if Fraction(decimal) == whole else str(whole)
