"""Every requirement of a policy (and more) measured on a table, with the classes that break it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from tclose.data.binding import Bound
from tclose.data.encode.cells import Cells
from tclose.data.encode.classes import Classes
from tclose.data.source import WEIGHT, Source
from tclose.distance.histogram import Counts
from tclose.policy.model import Policy
from tclose.requirements import Line, Measurement, measures_of, promises_of

MOST_REPORTED = 20

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Verdict:
    """What a table attains in one requirement. `holds` is None where that cannot be decided."""

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

    @property
    def title(self) -> str:
        """The requirement and what it is about, in a few words."""
        return _title(self.requirement, self.attribute, self.distance, self.reading)

    @property
    def achieved_text(self) -> str:
        """The attained value as people read it."""
        return number_text(self.achieved)

    def to_json(self) -> dict[str, Any]:
        """The verdict as plain values; an infinite value is null, and said in `achieved_exact`."""
        finite = math.isfinite(self.achieved)
        exact = "infinity" if not finite else None
        if self.achieved_exact is not None:
            exact = str(self.achieved_exact)
        return {
            "requirement": self.requirement,
            "attribute": self.attribute,
            "distance": self.distance,
            "reading": self.reading,
            "required": self.required,
            "achieved": self.achieved if finite else None,
            "achieved_exact": exact,
            "holds": self.holds,
            "worst_class": self.worst_class,
            "failing_classes": self.failing_classes,
            "failing_rows": self.failing_rows,
            "note": self.note,
        }

    def __str__(self) -> str:
        mark = {True: "holds", False: "FAILS", None: "not decided"}[self.holds]
        asked = f"{self.required} asked, " if self.required is not None else ""
        told = f"{self.title}: {asked}{self.achieved_text} attained"
        if self.required is None:
            return f"{told} (class {self.worst_class})"
        lost = f", {self.failing_classes:,} classes with {self.failing_rows:,} rows break it"
        return f"{mark}  {told} (class {self.worst_class}){'' if self.holds else lost}"


@dataclass(frozen=True)
class ClassReport:
    """A class that breaks a promise (or comes nearest to): who is in it, and by how much."""

    number: int
    size: int
    label: dict[str, str]
    margins: dict[str, float]
    """For each requirement, how far the class is from breaking it; negative: it does."""
    breaks: tuple[str, ...]


@dataclass(frozen=True)
class ClassCounts:
    """The sizes of a table's classes, added up."""

    smallest: int
    largest: int
    squares: int
    """The sum of the squares of the sizes."""

    @classmethod
    def of(cls, size: Counts) -> ClassCounts:
        """Adds up the sizes of classes."""
        small, large = int(size.min()), int(size.max())
        if large * large * len(size) < 2**63:
            return cls(small, large, int(np.dot(size, size)))
        return cls(small, large, sum(int(one) ** 2 for one in size.tolist()))


@dataclass(frozen=True)
class Audit:
    """How private a table is: what was promised, what it attains, which classes break it.

    Class numbers count from 1 in the order of the quasi-identifiers' values.
    """

    source: str
    rows: int
    classes: int
    k: int
    holds: bool
    requirements: tuple[Verdict, ...]
    measured: tuple[Verdict, ...]
    worst: tuple[ClassReport, ...]
    notes: tuple[str, ...]
    bound: Bound = field(repr=False, compare=False)
    counts: ClassCounts = field(repr=False)
    in_parts: bool = False
    """Whether it was counted part by part, so that `bound` knows the columns only."""
    caveats: tuple[str, ...] = ()
    """Those of the notes that say what the way of counting leaves open."""

    @property
    def k_text(self) -> str:
        """The size of the smallest class in words: rows, or persons where these are counted."""
        if self.bound.policy.subject is None:
            return rows_text(self.k)
        return f"{self.k:,} person{'' if self.k == 1 else 's'}"

    @property
    def promised(self) -> bool:
        """Whether any requirement has a threshold."""
        return any(verdict.required is not None for verdict in self.requirements)

    def to_json(self) -> dict[str, Any]:
        """The audit as plain values, without any cell value of the table."""
        return {
            "source": self.source,
            "rows": self.rows,
            "classes": self.classes,
            "holds": self.holds,
            "k": self.k,
            "requirements": [verdict.to_json() for verdict in self.requirements],
            "measured": [verdict.to_json() for verdict in self.measured],
            "worst_classes": [
                {"class": report.number, "rows": report.size, "breaks": list(report.breaks)}
                for report in self.worst
            ],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        head = f"{self.source}: {self.rows:,} rows in {self.classes:,} classes, smallest {self.k}"
        verdict = "the promise holds" if self.holds else "THE PROMISE DOES NOT HOLD"
        lines = [head, verdict if self.promised else "nothing was promised; measured only"]
        lines += [f"  {item}" for item in self.requirements]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


def audit_bound(
    bound: Bound,
    *,
    population: Cells | None = None,
    measure_all: bool = True,
    progress: Progress = lambda step: None,
) -> Audit:
    """Measures every promise of the policy and, if asked, all that is worth knowing besides."""
    promised = promises_of(bound, population)
    judge = _Judge(bound.classes, progress)
    requirements = tuple(judge.verdict(line) for line in promised)
    known = {identity(line) for line in promised}
    extra = [line for line in measures_of(bound) if identity(line) not in known]
    measured: tuple[Verdict, ...] = ()
    if measure_all or not promised:
        measured = tuple(judge.verdict(line) for line in extra)
    if not promised:
        requirements, measured = measured, ()
    worst = _worst(bound.classes, requirements)
    caveats = tuple(counting_caveats(bound))
    notes = [*bound.source.notes, *caveats]
    if measure_all or bound.policy.release.identifiers == "pseudonym":
        notes += identifiers_left(bound.policy, bound.source)
    else:
        progress("looking for identifiers")
        rows, count = bound.classes.rows, bound.classes.count
        requirements += tuple(identifiers_kept(bound.policy, bound.source, rows, count))
    return Audit(
        source=bound.source.name,
        rows=bound.classes.rows,
        classes=bound.classes.count,
        k=int(min(bound.classes.view_size)),
        holds=all(verdict.holds is True for verdict in requirements),
        requirements=requirements,
        measured=measured,
        worst=worst,
        notes=tuple(notes),
        bound=bound,
        counts=ClassCounts.of(bound.classes.class_rows),
        caveats=caveats,
    )


def number_text(value: float) -> str:
    """A number as a steward reads it.

    >>> number_text(5.0), number_text(0.37500001), number_text(0.0), number_text(0.99999)
    ('5', '0.3750', '0', '0.99999')
    """
    if math.isinf(value):
        return "infinite"
    if value == int(value):
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.1f}"
    text = f"{value:.4f}"
    return text if float(text) != int(float(text)) else f"{value:.6g}"


def rows_text(rows: int) -> str:
    """A number of rows in words.

    >>> rows_text(1), rows_text(2000)
    ('1 row', '2,000 rows')
    """
    return f"{rows:,} row{'' if rows == 1 else 's'}"


def classes_text(count: int) -> str:
    """A number of classes in words.

    >>> classes_text(1), classes_text(1200)
    ('1 class', '1,200 classes')
    """
    return f"{count:,} class{'' if count == 1 else 'es'}"


class _Judge:
    """Turns requirements into verdicts; the classes of the last reading are kept for the next."""

    def __init__(self, classes: Classes, progress: Progress) -> None:
        self.classes = classes
        self.progress = progress
        self.crossed: dict[str, Classes] = {}

    def verdict(self, line: Line) -> Verdict:
        requirement = line.requirement
        self.progress(f"measuring {requirement.name}")
        seen = self.classes
        if line.reading == "cross" and requirement.attribute:
            seen = self._known_others(requirement.attribute)
        measured = requirement.measure(seen)
        return verdict_of(
            line,
            measured,
            worst_class=int(seen.origin[measured.worst]) + 1,
            failing_classes=int(np.count_nonzero(measured.fails)),
            failing_rows=int(seen.class_rows[measured.fails].sum()),
            alone=alone_in(seen) / seen.rows,
        )

    def _known_others(self, attribute: str) -> Classes:
        if attribute not in self.crossed:
            others = [name for name in self.classes.attributes if name != attribute]
            self.crossed = {attribute: self.classes.regrouped(others)}
        return self.crossed[attribute]


def alone_in(classes: Classes) -> int:
    """The rows of whoever the quasi-identifiers and the other sensitive attributes single out."""
    return int(classes.class_rows[classes.size == 1].sum())


def verdict_of(
    line: Line,
    measured: Measurement,
    *,
    worst_class: int,
    failing_classes: int,
    failing_rows: int,
    alone: float,
) -> Verdict:
    """What was measured of a requirement, as it is told.

    `alone` is the share of the rows that stand alone where other sensitive attributes are known.
    """
    requirement, seen = line.requirement, ""
    if line.reading == "cross":
        seen = f"{alone:.1%} of the rows stand alone when the other sensitive attributes are known"
    return Verdict(
        requirement=requirement.name,
        attribute=requirement.attribute,
        distance=requirement.distance,
        reading=line.reading,
        required=requirement.required,
        achieved=measured.achieved,
        achieved_exact=measured.exact,
        holds=None if failing_classes and not measured.decided else failing_classes == 0,
        worst_class=worst_class,
        failing_classes=failing_classes,
        failing_rows=failing_rows,
        note=_joined(measured.note, seen),
        measurement=measured,
    )


def counting_caveats(bound: Bound) -> Iterator[str]:
    """What to know about a release whose rows are counted by person, or have weights."""
    classes, counting = bound.classes, bound.policy.counting
    if classes.persons is not None and counting is not None and classes.everyone < classes.rows:
        yield (
            f"sizes and distributions count persons ({classes.everyone:,} in column "
            f"{counting[1]!r}), not rows; rows of one person can be told to belong together, so "
            "whoever knows several of a person's rows can look for who is in all their classes"
        )
    if counting is not None and counting[0] == "weight":
        table = bound.source.group([*classes.quasi, counting[1]])
        alone = int(np.count_nonzero(table.column(WEIGHT).to_numpy() == 1))
        if 2 * alone >= classes.rows:
            yield (
                f"the weight (column {counting[1]!r}) is released as it is, and {alone:,} of "
                f"{rows_text(classes.rows)} have one that no other row of their class has: whoever "
                "knows a person's weight finds the row"
            )


def title_of(line: Line) -> str:
    """The requirement and what it is about, in a few words."""
    return _title(*identity(line))


def _title(name: str, attribute: str | None, distance: str | None, reading: str) -> str:
    about = f" of {attribute}" if attribute else ""
    by = f", {distance}" if distance else ""
    how = f" ({reading})" if reading != "separate" else ""
    return f"{name}{about}{by}{how}"


def identity(line: Line) -> tuple[str, str | None, str | None, str]:
    """What tells a line from others: what is required, of what, by what distance, and how read."""
    requirement = line.requirement
    return (requirement.name, requirement.attribute, requirement.distance, line.reading)


def _worst(classes: Classes, verdicts: Sequence[Verdict]) -> tuple[ClassReport, ...]:
    """The classes that break the most promises, then those that break them by most."""
    plain = {
        v.title: v.measurement for v in verdicts if v.reading != "cross" and v.required is not None
    }
    spreads = [spread_of(measured.margin) for measured in plain.values()]
    return tuple(report for _, report in ranked(classes, plain, spreads))


Rank = tuple[int, float]
"""Less is worse: of how many promises are broken, negative, and of by how much."""


def ranked(
    classes: Classes, measured: Mapping[str, Measurement], spreads: Sequence[float]
) -> list[tuple[Rank, ClassReport]]:
    """The worst classes by some requirements, each with its rank.

    The spreads are those of the requirements' margins in the whole table.
    """
    if not measured:
        return []
    plain = list(measured.values())
    broken = np.sum([one.fails for one in plain], axis=0)
    scaled = [
        # Margins of one requirement on a scale that can be added to those of another: −1 is worst.
        np.clip(one.margin / (spread or 1.0), -1.0, 1.0)
        for one, spread in zip(plain, spreads, strict=True)
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
                margins={title: float(one.margin[at]) for title, one in measured.items()},
                breaks=tuple(title for title, one in measured.items() if one.fails[at]),
            ),
        )
        for at in order
    ]


def spread_of(margin: Any) -> float:
    """The largest finite margin, whatever its sign."""
    finite = margin[np.isfinite(margin)]
    return float(abs(finite).max()) if len(finite) else 0.0


def identifiers_left(policy: Policy, source: Source) -> list[str]:
    """What is to be said about identifiers that a table still has."""
    return [
        f"column {name!r} identifies people and is still in the table"
        for name in policy.identifiers
        if name in source.columns
    ]


def identifiers_kept(policy: Policy, source: Source, rows: int, classes: int) -> Iterator[Verdict]:
    """A broken promise for every identifier of a release that still tells its rows apart."""
    everyone = np.ones(classes, dtype=bool)
    for name in policy.identifiers:
        if name not in source.columns:
            continue
        different = source.different(name)
        if different > 1:
            measured = Measurement(
                value=np.full(classes, float(different)),
                fails=everyone,
                achieved=float(different),
                exact=Fraction(different),
                worst=0,
                margin=np.full(classes, -1.0),
            )
            yield Verdict(
                requirement="identifiers-removed",
                attribute=name,
                distance=None,
                reading="separate",
                required="absent",
                achieved=measured.achieved,
                achieved_exact=measured.exact,
                holds=False,
                worst_class=1,
                failing_classes=classes,
                failing_rows=rows,
                note="the column identifies people and is still in the table; attained: its values",
                measurement=measured,
            )


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)
