"""The base class of requirements: how they are stated, what they can do, and what they measure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol, TypeVar

import numpy as np
from pydantic import Field

from tclose.arrays import Flags, Floats, Ints
from tclose.distance.histogram import Counts
from tclose.distance.numbers import Distances, Misuse, Part
from tclose.distance.registry import DISTANCES, Attribute, DistanceSpec
from tclose.hierarchy.tree import Hierarchy
from tclose.requirements.classes import Classes, Tally
from tclose.requirements.closeness.supersets import Supersets
from tclose.requirements.constraint import AttributePool, Compiled

Adversary = Literal["knows_class", "knows_others"]
"""Who knows a person's class, or also the person's other sensitive values: then only those rows
of the class that have these values count."""
ADVERSARIES: dict[str, Adversary] = {"separate": "knows_class", "cross": "knows_others"}
"""The adversaries by the policy's words for them."""

Statement = Part | Fraction | int | tuple[Part, ...]
"""What a policy gives at the key of a requirement."""


class StatingPart(Part):
    """A part of a policy that states requirements: the policy itself, or one of its columns."""

    requirements: ClassVar[tuple[type[Requirement], ...]] = ()
    """The requirements that can be stated here."""

    @property
    def stated(self) -> list[type[Requirement]]:
        """The requirements that are stated here."""
        return [kind for kind in self.requirements if kind.find_statement(self) is not None]

    def find_misuses(self) -> Iterator[Misuse]:
        """What the requirements that are stated here find wrong with their statements."""
        yield from super().find_misuses()
        for kind in self.stated:
            yield from kind.find_misuses(self, kind.find_statement(self))


class ColumnPart(StatingPart):
    """The keys of a column that every requirement may read."""

    role: str
    missing: Literal["value", "forbid", "any"] = "value"
    distance: DistanceSpec | None = None

    def find_misuses(self) -> Iterator[Misuse]:
        """Requirements on a column that is not sensitive."""
        yield from super().find_misuses()
        keys = list(dict.fromkeys(kind.key for kind in self.stated))
        keys += ["distance"] if self.distance is not None else []
        if keys and self.role != "sensitive":
            yield f"{', '.join(keys)}: only a sensitive column can have these keys", ""


class PolicyPart(StatingPart):
    """The keys of a policy that every requirement may read."""

    columns: Mapping[str, ColumnPart] = Field(description="every column of the table and its role")
    readings: tuple[Literal["separate", "cross"], ...] = Field(
        ("separate",),
        min_length=1,
        description="cross: the attacker knows the other sensitive attributes",
    )

    @property
    def adversaries(self) -> tuple[Adversary, ...]:
        """The adversaries against whom requirements on columns must hold."""
        return tuple(ADVERSARIES[reading] for reading in self.readings)

    def with_role(self, role: str) -> tuple[str, ...]:
        """Returns the columns of one role, in the policy's order."""
        return tuple(name for name, column in self.columns.items() if column.role == role)

    @property
    def quasi(self) -> tuple[str, ...]:
        """The names of the quasi-identifiers."""
        return self.with_role("quasi")

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The names of the sensitive attributes."""
        return self.with_role("sensitive")


P = TypeVar("P", contravariant=True)


class StatedTable(Protocol[P]):
    """A table with its policy; P is the type of a table of the population."""

    @property
    def policy(self) -> PolicyPart: ...  # noqa: D102
    @property
    def attributes(self) -> Mapping[str, Attribute]: ...  # noqa: D102
    @property
    def hierarchies(self) -> Mapping[str, Hierarchy]: ...  # noqa: D102
    def match_population(self, population: P) -> Ints:
        """Counts how many people of the population match each class."""
        ...


Table = StatedTable[Any]
"""A table whose policy states requirements."""


class SeveralKinds(Part):
    """A key with several kinds below it, at least one of which must be given."""

    def find_misuses(self) -> Iterator[Misuse]:
        """No kind at all."""
        if not self.model_fields_set:
            kinds = list(type(self).model_fields)
            yield f"name a kind: {', '.join(kinds[:-1])} or {kinds[-1]}", ""


@dataclass(frozen=True)
class Capabilities:
    """Properties that a search may rely on; it reads these flags, never names of requirements."""

    monotone: bool = True
    """The union of two classes never has a worse value than the worse of the two."""
    overlapping: bool = False
    """Also monotone where classes have persons in common, as shares of persons are not."""
    self_contained: bool = True
    """Needs nothing beyond the classes: no hierarchies, no table of the population."""
    whole_table: bool = False
    """Cannot be judged part by part."""
    whole_columns: bool = False
    """Only a search that recodes whole columns can foresee it; for others it is not monotone."""
    least_size: int = 1
    """The least number of rows of a class, as far as this requirement implies one."""
    least_table: int = 0
    """The least number of rows of a table in which any class can satisfy it."""


@dataclass(frozen=True)
class Scores:
    """The value of each judged distribution, and which of them break the requirement."""

    value: Floats
    fails: Flags
    worst: int
    exact: Fraction | None = None
    """The worst value as a fraction, if it is one."""
    note: str = ""

    @classmethod
    def at_most(cls, found: Distances, limit: Fraction | int | None, note: str = "") -> Scores:
        """Scores distances that must not exceed the limit."""
        value, worst = found.value, found.largest()
        fails = np.zeros(len(value), bool) if limit is None else ~found.within(Fraction(limit))
        return cls(value, fails, worst, found.exact(worst), note)

    @classmethod
    def at_least(cls, counts: Counts, limit: Fraction | int | None) -> Scores:
        """Scores counts that must not be below the limit."""
        worst = int(np.argmin(counts))
        fails = np.asarray(counts < (limit or 0), dtype=bool)
        return cls(counts.astype(float), fails, worst, Fraction(int(counts[worst])))


@dataclass(frozen=True)
class Measurement:
    """The result of a measurement: the worst value, the class that has it, and all values.

    `value` and `fails` have an entry for each class. `decided` is False where a failing class may
    still satisfy the requirement, but not enough is known to say so (`note` says why).
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
    """Whether small values are the bad ones, as for a size or a number of values."""


@dataclass(frozen=True)
class ProposedCells:
    """Facts about classes that a search proposes, beyond their sizes and histograms."""

    raw_class: Ints
    """[cells]: the class of the raw table that each cell is part of."""
    owner: Ints
    """[cells]: the proposed class of each cell."""
    climbs: list[list[Ints]] | None = None
    """The codes of every proposed class at each level of each column, where supersets matter."""
    supersets: Mapping[str, Supersets] | None = None
    """By attribute, the superset of each proposed class, where a search names them."""


@dataclass(frozen=True)
class Requirement:
    """Something that must hold of every class, against an adversary."""

    name: ClassVar[str]
    """The name in the literature."""
    key: ClassVar[str]
    """The key in a policy."""
    kind: ClassVar[str] = ""
    """The key below `key`, where that has several kinds."""
    limit_key: ClassVar[str] = "max"
    """The key of the threshold, where other keys beside it give further fields."""
    topic: ClassVar[str] = "Variety of {about}"
    """The topic in a few words, for people."""
    sentence: ClassVar[str]
    """What every class must satisfy, without mathematics. `{about}` is the attribute, `{required}`
    the threshold, `{quasi}` the quasi-identifiers, `{scale}` and `{by}` describe the distance."""
    against_others: ClassVar[bool] = True
    """Whether it can be stated against somebody who knows the other sensitive attributes."""
    axis: ClassVar[Literal["", "k", "t"]] = ""
    """The threshold that a sweep can vary in this requirement; empty if none."""
    small_is_bad: ClassVar[bool] = False
    """Whether the threshold is a least value."""
    joins_classes: ClassVar[bool] = False
    """Whether it is about unions of classes instead of each class by itself."""
    in_several_tables: ClassVar[str] = ""
    """Why it cannot be judged if a release has several tables (anatomy); empty if it can."""
    suggested: ClassVar[bool] = True
    """Whether it is worth measuring of every column, whatever the policy requires."""

    attribute: str | None = field(default=None, kw_only=True)
    """The sensitive attribute that it is about, if it is about a single one."""
    adversary: Adversary = field(default="knows_class", kw_only=True)
    limit: Fraction | int | None = field(default=None, kw_only=True)
    """The threshold; None where it is only measured."""

    @property
    def distance(self) -> str | None:
        """The name of the distance, if it uses one."""
        return None

    @property
    def reference(self) -> str | None:
        """A description of the declared distribution to compare with; None for the table's own."""
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
        """A key that differs between requirements: name, attribute, distance and adversary."""
        return (self.name, self.attribute, self.distance, self.reading)

    @property
    def capabilities(self) -> Capabilities:
        """The properties that a search may rely on."""
        return Capabilities()

    @property
    def bounded(self) -> bool:
        """Whether no class can attain more than 1."""
        return self.distance not in DISTANCES or DISTANCES[self.distance].bounded

    def measure(self, classes: Classes) -> Measurement:
        """Measures every class and finds the worst."""
        raise NotImplementedError

    def measure_proposed(self, classes: Classes, cells: ProposedCells) -> Measurement | None:
        """Measures classes that a search proposes; None if too little is known of them."""
        return self.measure(classes)

    def name_supersets(self, supersets: Mapping[str, Supersets]) -> Requirement:
        """Returns the requirement judged by the supersets that a release names."""
        return self

    def choose_supersets(
        self, classes: Classes, natural: Sequence[Ints], climbs: list[list[Ints]] | None
    ) -> Supersets | None:
        """Chooses a superset for every class among natural ones, or along levels.

        Returns None if the requirement is not about supersets.
        """
        return None

    def summarize(self, classes: Classes, view: Ints, scores: Scores) -> Measurement:
        """Combines judged distributions to classes: a class has the value of its worst view.

        `view` is the view that each of the scores belongs to.
        """
        attained = self.sign * classes.find_largest(view, self.sign * scores.value)
        failing = classes.find_largest(view, scores.fails) > 0
        worst = int(classes.class_of[np.searchsorted(classes.view_of, view[scores.worst])])
        achieved = float(scores.value[scores.worst])
        return self.conclude(attained, failing, worst, achieved, scores.exact, scores.note)

    @property
    def sign(self) -> float:
        """1 if large values are bad, −1 if small ones are."""
        return -1.0 if self.small_is_bad else 1.0

    def conclude(
        self, value: Floats, fails: Flags, worst: int, achieved: float, exact: Fraction | None,
        note: str,
    ) -> Measurement:  # fmt: skip
        """Returns the measurement of these values, with the margin of every class."""
        margin = np.broadcast_to(np.inf, len(value))
        if self.limit is not None:
            margin = self.sign * (float(self.limit) - value)
        return Measurement(
            value, fails, achieved, exact, worst, margin, note=note, small_is_bad=self.small_is_bad
        )

    def compile(self, attributes: AttributePool, limit: Fraction) -> Compiled:
        """Returns constraints equivalent to this requirement; None if kernels cannot judge it."""
        return None

    def refuse_uncompiled(self) -> None:
        """Raises UsageError if searches cannot handle the requirement without a constraint."""

    def against_table(self) -> Requirement | None:
        """Returns the distance from the whole table as a requirement; None if there is none."""
        return self if self.axis == "t" else None

    @classmethod
    def find_statement(cls, part: Part) -> Statement | None:
        """Returns what a policy, or one of its columns, states at the key; None if nothing."""
        stated: Statement | None = getattr(part, cls.key)
        if stated is not None and cls.kind:
            stated = getattr(stated, cls.kind)
        return None if stated == () else stated

    @classmethod
    def find_misuses(cls, part: Any, stated: Any) -> Iterator[Misuse]:
        """Yields what makes no sense in what a policy, or a column of it, states."""
        yield from ()

    @classmethod
    def read_statement(cls, stated: Statement) -> dict[str, Any]:
        """Returns the fields of the requirement that a statement gives."""
        if not isinstance(stated, Part):
            return {"limit": stated}
        given = {key: getattr(stated, key) for key in type(stated).model_fields}
        return {"limit": given.pop(cls.limit_key), **given}

    @classmethod
    def from_policy(cls, stated: Any, table: Table) -> Iterable[Requirement]:
        """Returns the requirements that the policy states of the whole table."""
        return (cls(**cls.read_statement(stated)),)

    def count_matches(self, match_population: Callable[[], Ints]) -> Requirement:
        """Returns the requirement with the number of people who match each class."""
        return self

    @classmethod
    def suggest_for_table(cls, table: Table) -> Iterable[Requirement]:
        """Returns what is worth measuring of a table, whatever the policy requires."""
        return ()


@dataclass(frozen=True)
class AttributeRequirement(Requirement):
    """A requirement on the distribution of one sensitive attribute."""

    attribute: str = field()

    def measure(self, classes: Classes) -> Measurement:
        """Measures every class and finds the worst."""
        tally = classes.tally(self.attribute)
        return self.summarize(classes, tally.view, self.score(tally))

    def score(self, tally: Tally) -> Scores:
        """Returns the value of each distribution."""
        raise NotImplementedError

    @classmethod
    def from_column(cls, stated: Any, values: Attribute, table: Table) -> Iterable[Requirement]:
        """Returns the requirements that the policy states of a sensitive column."""
        return (cls(values.name, **cls.read_statement(stated)),)

    @classmethod
    def suggest_for_column(cls, values: Attribute) -> Iterable[Requirement]:
        """Returns what is worth measuring of a sensitive column, whatever the policy requires."""
        return (cls(values.name),) if cls.suggested else ()


def write_number(number: Fraction | int | None) -> str | None:
    """Writes a threshold for a report: as a decimal where that is exact, else as a fraction.

    >>> write_number(Fraction(1, 5)), write_number(Fraction(1, 3)), write_number(None)
    ('0.2', '1/3', None)
    """
    if number is None:
        return None
    whole = Fraction(number)
    decimal = f"{float(whole):.12g}"
    return decimal if Fraction(decimal) == whole else str(whole)
