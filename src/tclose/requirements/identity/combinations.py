"""k and t of combinations of a few quasi-identifiers, as μ-Argus checks its keys.

The rows of a class share all quasi-identifiers. Somebody who knows only some of them sees the union
of all classes that agree in these. Such a union has no fewer rows than each of its classes, and by
convexity no larger distance than the farthest of them. So a requirement on combinations adds
something only where it is stricter than the one on classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Annotated

import numpy as np
from pydantic import Field

from tclose.arrays import Ints
from tclose.distance.emd import Distance
from tclose.distance.histogram import group_codes, whole
from tclose.distance.numbers import Misuse, Number, Part, must
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
    """Combinations of quasi-identifiers that an attacker may know, and what each must satisfy."""

    size: int | None = Field(None, ge=1, description="every set of this many quasi-identifiers")
    columns: tuple[str, ...] | None = Field(None, min_length=1, description="this combination")
    k: int | None = Field(None, ge=1, description="least rows with the same values of them")
    t: Annotated[Number, must("t must lie in [0, 1]", lambda t: 0 <= t <= 1)] | None = Field(
        None, description="largest distance from the table of rows that agree in these columns"
    )

    def find_misuses(self) -> Iterator[Misuse]:
        """Combinations that are not said, or require nothing."""
        if (self.size is None) == (self.columns is None):
            yield "say which combinations", "either `size = 2` or `columns = [ … ]`"
        if self.k is None and self.t is None:
            yield "the combination requires nothing", "give k, t or both"
        if self.columns is not None and len(set(self.columns)) < len(self.columns):
            yield "a column is named twice", ""

    @property
    def words(self) -> str:
        """A description of the combinations, for people."""
        if self.columns is not None:
            return f"by {' × '.join(self.columns)}"
        return f"by any {self.size} quasi-identifier{'' if self.size == 1 else 's'}"

    def list_columns(self, quasi: Sequence[str]) -> tuple[Columns, ...]:
        """Lists every combination, in the order of the policy."""
        if self.columns is not None:
            return (self.columns,)
        assert self.size is not None
        return tuple(combinations(quasi, self.size))


@dataclass(frozen=True)
class CombinationRequirement(Requirement):
    """A requirement on all rows that agree in some of the quasi-identifiers.

    Only a search that recodes whole columns can tell which rows will agree: there a coarser level
    only merges groups, and what holds stays true.
    """

    key = "combinations"
    joins_classes = True
    in_several_tables = (
        "quasi-identifiers stand as they are in several tables, so nothing can be required of "
        "their combinations"
    )

    every: tuple[Columns, ...]
    words: str
    implied: bool = False
    """Whether the requirement on classes already implies it."""

    @property
    def capabilities(self) -> Capabilities:
        """Not judged part by part: it needs all released values together."""
        return Capabilities(
            overlapping=self.small_is_bad,
            self_contained=False,
            whole_table=True,
            whole_columns=not self.implied,
        )

    @property
    def reading(self) -> str:
        """The word in place of an adversary: which columns the attacker knows."""
        return self.words

    def score_groups(self, classes: Classes, label: Ints, groups: int) -> Scores:
        """Measures groups of classes: `label[class]` is the group of a class."""
        raise NotImplementedError

    def measure(self, classes: Classes) -> Measurement:
        """Measures all combinations; every class gets the worst value of the groups it is in."""
        return self._measure(classes, dict(zip(classes.quasi, classes.key.T, strict=True)))

    def measure_proposed(self, classes: Classes, cells: ProposedCells) -> Measurement | None:
        """Measures by the levels of whole columns; None without them, unless there is one class."""
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
        """Returns no constraint if it is implied, and None (kernels cannot judge it) otherwise."""
        return () if self.implied else None

    @classmethod
    def find_misuses(cls, part: PolicyPart, stated: tuple[Combination, ...]) -> Iterator[Misuse]:
        """Yields columns that are not quasi-identifiers, and combinations that are too many."""
        known = len(part.quasi)
        for each in stated:
            for name in each.columns or ():
                if name not in part.quasi:
                    yield f"combinations: {name!r} is not a quasi-identifier", ""
            if each.size is not None and each.size > known:
                yield f"combinations: there are {known} quasi-identifiers, not {each.size}", ""
            if each.size is not None and comb(known, each.size) > MOST_COMBINATIONS:
                yield f"combinations: more than {MOST_COMBINATIONS:,} of that size", ""
            if each.t is not None and not part.sensitive:
                yield "combinations: t is about sensitive columns, and there is none", ""
        for name, column in part.columns.items():
            if column.missing == "any":
                what = f"combinations: not defined where a missing value of {name!r} may be any"
                yield what, 'say missing = "value"'
        said = [each.words for each in stated]
        if len(set(said)) < len(said):
            yield "combinations: the same combinations are named twice", ""


@dataclass(frozen=True)
class CombinationAnonymity(CombinationRequirement):
    """At least k rows have the same values in every combination of a few quasi-identifiers."""

    name = "k-anonymity of combinations"
    topic = "Being one of many, {reading}"
    sentence = "Someone who looks a person up {reading} finds at least {required} {rows} that fit."
    small_is_bad = True
    suggested = False

    def score_groups(self, classes: Classes, label: Ints, groups: int) -> Scores:
        """Counts the rows, or persons, of every group."""
        return Scores.at_least(classes.sizes(label, groups), self.limit)

    @classmethod
    def from_policy(cls, stated: tuple[Combination, ...], table: Table) -> Iterator[Requirement]:
        """Yields one requirement per entry that states a k."""
        least = getattr(table.policy, "k", None)
        for each in stated:
            if each.k is not None:
                every = each.list_columns(table.policy.quasi)
                implied = least is not None and each.k <= least
                yield cls(every, each.words, implied, limit=each.k)


@dataclass(frozen=True)
class CombinationCloseness(CombinationRequirement):
    """Among rows that agree in a few quasi-identifiers, values are distributed as in the table."""

    name = "t-closeness of combinations"
    topic = "Closeness of {about}, {reading}"
    sentence = (
        "Among all people who look the same {reading}, the distribution of {about} differs from "
        "that of {whole} by at most {required}{scale}, {by}."
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
        """A description of the declared distribution; None for the table's."""
        return None if self.declared is None else self.declared.words

    def score_groups(self, classes: Classes, label: Ints, groups: int) -> Scores:
        """Measures the distance of every group from the table, or from the declared reference."""
        table = classes.tally(self.attribute).table
        if self.declared is not None:
            table = whole(self.declared.counts)
        merged = classes.merge_histogram(self.attribute, label, groups)
        return Scores.at_most(self.measure_by.of(merged, table), self.limit)

    @classmethod
    def from_policy(cls, stated: tuple[Combination, ...], table: Table) -> Iterator[Requirement]:
        """Yields one requirement per entry that states a t and sensitive column."""
        for each in stated:
            for name, values in table.attributes.items() if each.t is not None else ():
                column = table.policy.columns[name]
                required_t, n = getattr(column, "t", None), getattr(column, "n", None)
                # With persons in several classes, a union can be farther away than its classes.
                convex = n is None and not table.policy.with_role("subject")
                yield cls(
                    each.list_columns(table.policy.quasi),
                    each.words,
                    required_t is not None and convex and each.t >= required_t,
                    attribute=name,
                    measure_by=values.distance()[0],
                    declared=values.reference,
                    limit=each.t,
                )
