"""Every requirement of a policy (and more) measured on a table, with the classes that break it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tclose.data.binding import BoundTable
from tclose.data.encode.cells import Cells
from tclose.data.encode.classes import Classes
from tclose.distance.histogram import Counts
from tclose.requirements import Requirement, evaluate, list_measurements, state_requirements
from tclose.verify.caveats import describe_identifiers, find_caveats, judge_identifiers
from tclose.verify.verdict import Verdict, make_verdict
from tclose.verify.wording import rows_text
from tclose.verify.worst_classes import ClassReport, find_worst

Progress = Callable[[str], None]


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
    bound: BoundTable = field(repr=False, compare=False)
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
    bound: BoundTable,
    *,
    population: Cells | None = None,
    measure_all: bool = True,
    progress: Progress = lambda step: None,
) -> Audit:
    """Measures every promise of the policy and, if asked, all that is worth knowing besides."""
    promised = state_requirements(bound, population)
    requirements = tuple(_judge(promised, bound.classes, progress))
    measured: tuple[Verdict, ...] = ()
    if measure_all or not promised:
        extra = without_stated(list_measurements(bound), promised)
        measured = tuple(_judge(extra, bound.classes, progress))
    if not promised:
        requirements, measured = measured, ()
    worst = find_worst(bound.classes, requirements)
    caveats = tuple(find_caveats(bound))
    notes = [*bound.source.notes, *caveats]
    if measure_all or bound.policy.release.identifiers == "pseudonym":
        notes += describe_identifiers(bound.policy, bound.source)
    else:
        progress("looking for identifiers")
        rows, count = bound.classes.n_rows, bound.classes.count
        requirements += tuple(judge_identifiers(bound.policy, bound.source, rows, count))
    return Audit(
        source=bound.source.name,
        rows=bound.classes.n_rows,
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


def without_stated(
    requirements: Sequence[Requirement], stated: Sequence[Requirement]
) -> list[Requirement]:
    """Those that are not stated anyway."""
    known = {requirement.identity for requirement in stated}
    return [requirement for requirement in requirements if requirement.identity not in known]


def _judge(
    requirements: Sequence[Requirement], classes: Classes, progress: Progress
) -> Iterator[Verdict]:
    """The verdict on the classes in every requirement."""

    def announce(requirement: Requirement) -> None:
        progress(f"measuring {requirement.name}")

    for found in evaluate(requirements, classes, before=announce):
        measured, seen = found.measured, found.seen
        yield make_verdict(
            found.requirement,
            measured,
            worst_class=int(seen.origin[measured.worst]) + 1,
            failing_classes=int(np.count_nonzero(measured.fails)),
            failing_rows=int(seen.class_rows[measured.fails].sum()),
            alone=count_alone(seen) / seen.n_rows,
        )


def count_alone(classes: Classes) -> int:
    """The rows of whoever the quasi-identifiers and the other sensitive attributes single out."""
    return int(classes.class_rows[classes.size == 1].sum())
