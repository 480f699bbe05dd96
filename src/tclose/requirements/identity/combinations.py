"""k and t of combinations of few quasi-identifiers, as μ-Argus checks its keys.

A class shares all quasi-identifiers; who knows only some of a person's sees the union of all
classes that agree in these. Such a union has no fewer rows than its classes, and by convexity no
larger distance than the farthest of them, so what is asked of combinations says something new only
where it is stricter than what is asked of classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from tclose.arrays import Ints
from tclose.distance import Distance
from tclose.distance.histogram import group_codes, whole
from tclose.distance.numbers import MisuseError, Number, Part, must
from tclose.distance.registry import DeclaredReference
from tclose.requirements.classes import Classes
from tclose.requirements.constraint import AttributePool, Compiled
from tclose.requirements.requirement import (
    Capabilities,
    Measurement,
    PolicyPart,
    ProposedCells,
    Requirement,
    Scores,
    Table,
)

MOST_COMBINATIONS = 10_000
Columns = tuple[str, ...]


class Combination(Part):
    """Which combinations of quasi-identifiers somebody may know, and what must hold of each."""

    size: int | None = Field(None, ge=1, description="every set of so many quasi-identifiers")
    columns: tuple[str, ...] | None = Field(None, min_length=1, description="these together")
    k: int | None = Field(None, ge=1, description="least rows with the same values of them")
    t: Annotated[Number, must("t must lie in [0, 1]", lambda t: 0 <= t <= 1)] | None = Field(
        None, description="largest distance of every sensitive column from the table among these"
    )

    @model_validator(mode="after")
    def _refuse_unclear(self) -> Combination:
        if (self.size is None) == (self.columns is None):
            raise MisuseError("say which combinations", "either `size = 2` or `columns = [ … ]`")
        if self.k is None and self.t is None:
            raise MisuseError("nothing is asked of them", "say k, t or both")
        if self.columns is not None and len(set(self.columns)) < len(self.columns):
            raise ValueError("a column stands twice")
        return self

    @property
    def words(self) -> str:
        """Which they are, for people."""
        if self.columns is not None:
            return f"by {' × '.join(self.columns)}"
        return f"by any {self.size} quasi-identifier{'' if self.size == 1 else 's'}"

    def list_columns(self, quasi: Sequence[str]) -> tuple[Columns, ...]:
        """Every combination, in the order of the policy."""
        if self.columns is not None:
            return (self.columns,)
        assert self.size is not None
        return tuple(combinations(quasi, self.size))


@dataclass(frozen=True)
class CombinationRequirement(Requirement):
    """Something that must hold of all rows that agree in some of the quasi-identifiers.

    Only what whole columns are recoded to tells a search which rows that will be: then combining
    groups is all that a coarser level does, and nothing that holds is lost.
    """

    key = "combinations"
    joins_classes = True
    in_several_tables = (
        "quasi-identifiers stand as they are in several tables, so nothing can be promised of "
        "their combinations"
    )

    every: tuple[Columns, ...]
    words: str
    implied: bool = False
    """Whether what is asked of classes is as much."""

    @property
    def capabilities(self) -> Capabilities:
        """It is judged by released values, all of them together."""
        return Capabilities(
            overlapping=self.small_is_bad,
            self_contained=False,
            whole_table=True,
            whole_columns=not self.implied,
        )

    @property
    def reading(self) -> str:
        """Which columns are known."""
        return self.words

    def score_groups(self, classes: Classes, label: Ints, groups: int) -> Scores:
        """What groups of classes attain."""
        raise NotImplementedError

    def measure(self, classes: Classes) -> Measurement:
        """The worst of all combinations, for every class that of the groups that it is in."""
        return self._measure(classes, dict(zip(classes.quasi, classes.key.T, strict=True)))

    def measure_proposed(self, classes: Classes, cells: ProposedCells) -> Measurement | None:
        """Judged by the levels of whole columns; a table of one class needs none."""
        if cells.climbs is not None:
            codes = [climb[0] for climb in cells.climbs]
            return self._measure(classes, dict(zip(classes.quasi, codes, strict=True)))
        return self.measure(classes) if classes.count == 1 else None

    def _measure(self, classes: Classes, codes: Mapping[str, Ints]) -> Measurement:
        sign, worst, exact, broken, where = self.sign, 0, None, 0, self.every[0]
        value, achieved = np.full(classes.count, -sign * np.inf), -sign * np.inf
        fails = np.zeros(classes.count, dtype=bool)
        for columns in self.every:
            label, first = group_codes([codes[name] for name in columns])
            scores = self.score_groups(classes, label, len(first))
            value = sign * np.maximum(sign * value, sign * scores.value[label])
            fails |= scores.fails[label]
            broken += bool(scores.fails.any())
            if sign * scores.value[scores.worst] > sign * achieved:
                achieved, exact = float(scores.value[scores.worst]), scores.exact
                worst, where = int(np.argmax(label == scores.worst)), columns
        note = f"worst by {' × '.join(where)}" if len(self.every) > 1 else ""
        if broken and note:
            note += f"; {broken:,} of {len(self.every):,} combinations break it"
        return self.conclude(value, fails, worst, achieved, exact, note)

    def compile(self, attributes: AttributePool, limit: Fraction) -> Compiled:
        """Nothing is left to judge where it is implied."""
        return () if self.implied else None

    @classmethod
    def refuse_misuse(cls, part: PolicyPart, stated: tuple[Combination, ...]) -> None:
        """There are so many quasi-identifiers, and not too many combinations of them."""
        for each in stated:
            wrong = [name for name in each.columns or () if name not in part.quasi]
            if wrong:
                raise ValueError(f"combinations: {wrong[0]!r} is no quasi-identifier")
            if each.size is not None and each.size > len(part.quasi):
                raise ValueError(
                    f"combinations: there are {len(part.quasi)} quasi-identifiers, not {each.size}"
                )
            if each.size is not None and comb(len(part.quasi), each.size) > MOST_COMBINATIONS:
                raise ValueError(f"combinations: more than {MOST_COMBINATIONS:,} of that size")
            if each.t is not None and not part.sensitive:
                raise ValueError("combinations: t is about sensitive columns, and there is none")
        wild = [name for name, column in part.columns.items() if column.missing == "any"]
        if wild:
            what = f"combinations: not defined where a missing value of {wild[0]!r} may be any"
            raise MisuseError(what, 'say missing = "value"')
        said = [each.words for each in stated]
        if len(set(said)) < len(said):
            raise ValueError("combinations: the same ones stand twice")


@dataclass(frozen=True)
class CombinationAnonymity(CombinationRequirement):
    """At least k rows have the same values of every combination of few quasi-identifiers."""

    name = "k-anonymity of combinations"
    topic = "Being one of many, {reading}"
    sentence = "Whoever finds a person {reading} finds at least {required} rows that fit."
    small_is_bad = True
    suggested = False

    def score_groups(self, classes: Classes, label: Ints, groups: int) -> Scores:
        """The rows, or persons, of every group."""
        return Scores.at_least(classes.sizes(label, groups), self.limit)

    @classmethod
    def from_policy(cls, stated: tuple[Combination, ...], table: Table) -> Iterator[Requirement]:
        """Every entry that states a k."""
        least = getattr(table.policy, "k", None)
        for each in stated:
            if each.k is not None:
                every = each.list_columns(table.policy.quasi)
                implied = least is not None and each.k <= least
                yield cls(every, each.words, implied, limit=each.k)


@dataclass(frozen=True)
class CombinationCloseness(CombinationRequirement):
    """Among rows that agree in few quasi-identifiers, an attribute is spread as in the table."""

    name = "t-closeness of combinations"
    topic = "Closeness of {about}, {reading}"
    sentence = (
        "Among all who agree with a person {reading}, the spread of {about} differs from that of "
        "{whole} by no more than {required}{scale}, {by}."
    )

    attribute: str = field(kw_only=True)
    measure_by: Distance = field(kw_only=True)
    declared: DeclaredReference | None = field(default=None, kw_only=True)

    @property
    def distance(self) -> str:
        """The name of the distance."""
        return self.measure_by.name

    @property
    def reference(self) -> str | None:
        """Which distribution was declared."""
        return None if self.declared is None else self.declared.words

    def score_groups(self, classes: Classes, label: Ints, groups: int) -> Scores:
        """The distance of every group from the table, or from what was declared in its place."""
        table = classes.tally(self.attribute).table
        if self.declared is not None:
            table = whole(self.declared.counts)
        merged = classes.merge_histogram(self.attribute, label, groups)
        return Scores.at_most(self.measure_by.of(merged, table), self.limit)

    @classmethod
    def from_policy(cls, stated: tuple[Combination, ...], table: Table) -> Iterator[Requirement]:
        """Every entry that states a t, of every sensitive column by its own distance."""
        for each in stated:
            for name, values in table.attributes.items() if each.t is not None else ():
                column = table.policy.columns[name]
                asked, n = getattr(column, "t", None), getattr(column, "n", None)
                # Of persons who are in several classes, a union may have a larger share.
                convex = n is None and not table.policy.with_role("subject")
                yield cls(
                    each.list_columns(table.policy.quasi),
                    each.words,
                    asked is not None and convex and each.t >= asked,
                    attribute=name,
                    measure_by=values.distance()[0],
                    declared=values.reference,
                    limit=each.t,
                )
