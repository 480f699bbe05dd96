"""The verdict on one requirement, how it is written down, and the worst classes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from pydantic import Field

from tclose.arrays import Floats
from tclose.data.io.records import JsonObject, Record
from tclose.plain import classes_text, number_text, rows_text
from tclose.requirements import Evaluation, Measurement, Requirement
from tclose.requirements.classes import Classes
from tclose.requirements.requirement import ADVERSARIES, Adversary

MOST_REPORTED = 20
"""Classes that an audit names."""
Key = tuple[int, ...]
"""The codes of a class's quasi-identifiers: classes are numbered in the order of their keys."""


class RequirementRecord(Record):
    """A requirement as a certificate states it."""

    requirement: str
    attribute: str | None
    distance: str | None
    reading: str
    required: str | None
    achieved: float | None = Field(description="null where it is infinite")
    achieved_exact: str | None = Field(description="a fraction, where there is one")
    holds: bool | None = Field(description="null where it could not be decided")
    worst_class: int
    failing_classes: int
    failing_rows: int
    note: str
    table: str | None = Field(None, description="the file that it was judged on, of several")
    reference: str | None = Field(
        None, description="the declared distribution that classes are close to; null: the table's"
    )

    @property
    def name(self) -> str:
        """A name that is unique among the requirements of a certificate."""
        parts = (self.table, self.requirement, self.attribute, self.distance, self.reading)
        return " ".join(part for part in parts if part)

    def __str__(self) -> str:
        attained = self.achieved if self.achieved_exact is None else self.achieved_exact
        holds = {True: "holds", False: "fails", None: "not decided"}[self.holds]
        count = self.failing_classes
        failing = f", {classes_text(count)} {'fails' if count == 1 else 'fail'}" if count else ""
        against = f" against {self.reference}" if self.reference else ""
        return f"{self.required} required, {attained} attained{against}: {holds}{failing}"


@dataclass(frozen=True)
class SizeSummary:
    """The rows of a table's classes, added up."""

    classes: int
    rows: int
    smallest: int
    largest: int
    squares: int
    """The sum of the squares of the sizes."""

    @classmethod
    def of(cls, classes: Classes) -> SizeSummary:
        """Adds up the rows of classes."""
        size, times = np.unique(classes.class_rows, return_counts=True)
        squares = sum(n * n * of for n, of in zip(size.tolist(), times.tolist(), strict=True))
        smallest, largest = int(size[0]), int(size[-1])
        return cls(int(times.sum()), classes.n_rows, smallest, largest, squares)


@dataclass(frozen=True)
class Verdict:
    """What a table attains in one requirement. `holds` is None if that cannot be decided."""

    requirement: str
    attribute: str | None
    distance: str | None
    reading: str
    required: str | None
    achieved: float
    achieved_exact: Fraction | None
    holds: bool | None
    worst_class: int
    failing_classes: int
    failing_rows: int
    note: str
    measurement: Measurement = field(repr=False, compare=False)
    reference: str | None = None
    """The declared distribution that classes are compared with; None: the table's own."""

    @property
    def adversary(self) -> Adversary:
        """The adversary against whom the requirement is judged."""
        return ADVERSARIES.get(self.reading, "knows_class")

    @property
    def title(self) -> str:
        """The requirement and what it is about, in a few words."""
        title = title_requirement(self.requirement, self.attribute, self.distance, self.reading)
        return f"{title}, against {self.reference}" if self.reference else title

    @property
    def achieved_text(self) -> str:
        """The attained value as people read it."""
        return number_text(self.achieved)

    def record(self, table: str | None = None) -> RequirementRecord:
        """The verdict as it is written down, on a table of several if named."""
        said = {
            name: getattr(self, name) for name in RequirementRecord.model_fields.keys() - {"table"}
        }
        finite = math.isfinite(self.achieved)
        exact = None if finite else "infinity"
        if self.achieved_exact is not None:
            exact = str(self.achieved_exact)
        said |= {"achieved": self.achieved if finite else None, "achieved_exact": exact}
        return RequirementRecord(**said, table=table)

    def to_json(self) -> JsonObject:
        """The verdict as plain values."""
        return self.record().to_json()

    def __str__(self) -> str:
        mark = {True: "holds", False: "FAILS", None: "not decided"}[self.holds]
        required = f"{self.required} required, " if self.required is not None else ""
        attained = (
            f"{self.title}: {required}{self.achieved_text} attained (class {self.worst_class})"
        )
        if self.required is None:
            return attained
        lost = (
            f"; broken by {classes_text(self.failing_classes)} with {rows_text(self.failing_rows)}"
        )
        return f"{mark}  {attained}{'' if self.holds else lost}"


@dataclass(frozen=True)
class Judgement:
    """What the classes of a table, or of one of its parts, attain in one requirement."""

    measured: Measurement
    worst: int
    """The worst class, by its place among the classes."""
    failing_classes: int
    failing_rows: int
    rows_alone: int
    """Rows that stand alone where the other sensitive attributes are known."""
    key: Key
    """Of the worst class."""
    spread: float
    """The largest finite margin."""

    @classmethod
    def of(cls, found: Evaluation, classes: Classes) -> Judgement:
        """Adds up the measurements of all classes."""
        measured, seen = found.measured, found.seen
        worst = int(seen.origin[measured.worst])
        return cls(
            measured,
            worst,
            failing_classes=int(np.count_nonzero(measured.fails)),
            failing_rows=int(seen.class_rows[measured.fails].sum()),
            rows_alone=int(seen.class_rows[seen.size == 1].sum()),
            key=tuple(classes.key[worst].tolist()),
            spread=largest_margin(measured.margin),
        )

    def verdict(self, requirement: Requirement, worst_class: int, n_rows: int) -> Verdict:
        """The verdict on a table of so many rows, whose worst class has this number."""
        measured, notes = self.measured, [self.measured.note]
        undecided = self.failing_classes and not measured.decided
        if requirement.adversary == "knows_others":
            notes.append(
                f"{self.rows_alone / n_rows:.1%} of the rows stand alone when the other sensitive "
                "attributes are known"
            )
        return Verdict(
            *requirement.identity,
            required=requirement.required,
            achieved=measured.achieved,
            achieved_exact=measured.exact,
            holds=None if undecided else self.failing_classes == 0,
            worst_class=worst_class,
            failing_classes=self.failing_classes,
            failing_rows=self.failing_rows,
            note="; ".join(note for note in notes if note),
            measurement=measured,
            reference=requirement.reference,
        )


def title_requirement(name: str, attribute: str | None, distance: str | None, reading: str) -> str:
    """The requirement and what it is about, in a few words."""
    about = f" of {attribute}" if attribute else ""
    by = f", {distance}" if distance else ""
    how = f" ({reading})" if reading != "separate" else ""
    return f"{name}{about}{by}{how}"


@dataclass(frozen=True)
class ClassReport:
    """A class that breaks a promise (or comes nearest to): who is in it, and by how much."""

    number: int
    size: int
    label: dict[str, str]
    margins: dict[str, float]
    """For each requirement, how far the class is from breaking it; negative: it does."""
    breaks: tuple[str, ...]


def find_worst(classes: Classes, verdicts: Sequence[Verdict]) -> tuple[ClassReport, ...]:
    """The worst classes: those that break most promises, then those that miss them by most."""
    promised = [verdict for verdict in verdicts if verdict.required is not None]
    plain = {v.title: v.measurement for v in promised if v.adversary == "knows_class"}
    spreads = [largest_margin(measured.margin) for measured in plain.values()]
    return tuple(report for _, report in rank_classes(classes, plain, spreads))


Rank = tuple[int, float]
"""Less is worse: of how many promises are broken, negative, and of by how much."""


def rank_classes(
    classes: Classes, measured: Mapping[str, Measurement], spreads: Sequence[float]
) -> list[tuple[Rank, ClassReport]]:
    """The worst classes by some requirements, each with its rank.

    The spreads are those of the requirements' margins in the whole table.
    """
    if not measured:
        return []
    plain = list(measured.values())
    broken = np.sum([each.fails for each in plain], axis=0)
    scaled = [
        # Margins of one requirement on a scale that can be added to those of another: −1 is worst.
        np.clip(each.margin / (spread or 1.0), -1.0, 1.0)
        for each, spread in zip(plain, spreads, strict=True)
    ]
    slack = np.sum(scaled, axis=0)
    order = np.lexsort((np.arange(classes.count), slack, -broken))[:MOST_REPORTED]
    return [
        (
            (-int(broken[at]), float(slack[at])),
            ClassReport(
                number=int(at) + 1,
                size=int(classes.class_rows[at]),
                label=classes.label(int(at)),
                margins={title: float(each.margin[at]) for title, each in measured.items()},
                breaks=tuple(title for title, each in measured.items() if each.fails[at]),
            ),
        )
        for at in order
    ]


def largest_margin(margin: Floats) -> float:
    """The largest finite margin, whatever its sign."""
    finite = margin[np.isfinite(margin)]
    return float(abs(finite).max()) if len(finite) else 0.0
