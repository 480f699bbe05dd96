"""A table audited part by part, where its cells are too many for one place.

A class lies in one part, and every requirement here judges a class by itself against the whole
table's distributions; so the worst of the parts' verdicts is the table's, exactly.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.encode.classes import Classes
from tclose.data.source import Source, Spread
from tclose.data.summary import TableSummary
from tclose.requirements import (
    Evaluation,
    Measurement,
    Requirement,
    evaluate,
    list_measurements,
    state_requirements,
)
from tclose.verify.audit import Audit, ClassCounts, Progress, count_alone, without_stated
from tclose.verify.caveats import describe_identifiers, judge_identifiers
from tclose.verify.verdict import make_verdict, title_requirement
from tclose.verify.worst_classes import MOST_REPORTED, ClassReport, largest_margin, rank_classes

Ints = NDArray[np.int64]
Key = tuple[int, ...]
"""The codes of a class's quasi-identifiers: classes are numbered in the order of their keys."""
ROWS = 1_000_000
"""Rows of a part, more or less."""
NOTE = "counted part by part: joint distributions are not listed"
SAME = 1e-13
"""Values that are no fractions and differ by no more are taken as equal."""


@dataclass(frozen=True)
class PartVerdict:
    """What one part attains in one requirement."""

    achieved: float
    exact: Fraction | None
    worst: Key
    failing_classes: int
    failing_rows: int
    decided: bool
    note: str
    small_is_bad: bool
    alone: int
    """Rows that stand alone where the other sensitive attributes are known."""
    spread: float
    """The largest finite margin."""


@dataclass(frozen=True)
class PartAudit:
    """What one part attains: its classes and rows, their sizes, and every requirement."""

    classes: int
    rows: int
    counts: ClassCounts
    verdicts: tuple[PartVerdict, ...]


@dataclass(frozen=True)
class JudgeParts:
    """Judges the classes of a part; can be sent to wherever the part is."""

    outline: TableSummary
    measure_all: bool

    def __call__(self, table: pa.Table) -> bytes:
        """What the classes that some cells make up attain."""
        classes = self.outline.part(table).classes
        requirements = list_requirements(self.outline, measure_all=self.measure_all)
        judged = tuple(_judge_part(found, classes) for found in evaluate(requirements, classes))
        return pickle.dumps(
            PartAudit(classes.count, classes.n_rows, ClassCounts.of(classes.size), judged)
        )


@dataclass(frozen=True)
class WorstParts:
    """Finds the worst classes of a part; can be sent to wherever the part is."""

    outline: TableSummary
    spreads: tuple[float, ...]
    """Of the promises that are read separately."""

    def __call__(self, table: pa.Table) -> bytes:
        """The worst classes, each with its rank and its key."""
        classes = self.outline.part(table).classes
        stated = list_requirements(self.outline, measure_all=False)
        judging = [requirement for requirement in stated if _judges_classes(requirement)]
        measured = {
            title_requirement(found.requirement): found.measured
            for found in evaluate(judging, classes)
        }
        found = [
            (rank, tuple(classes.key[report.number - 1].tolist()), report)
            for rank, report in rank_classes(classes, measured, self.spreads)
        ]
        return pickle.dumps(found)


@dataclass(frozen=True)
class RankParts:
    """Counts the classes of a part that come before some classes; can be sent to the part."""

    outline: TableSummary
    keys: tuple[Key, ...]

    def __call__(self, table: pa.Table) -> bytes:
        """For each key the number of classes with a smaller one."""
        mine = self.outline.part(table).classes.key
        return pickle.dumps([_before(mine, key) for key in self.keys])


def audit_parts(
    outline: TableSummary,
    source: Source,
    *,
    measure_all: bool = True,
    progress: Progress = lambda step: None,
) -> Audit:
    """Measures a table part by part, where the engine keeps it."""
    number = max(1, math.ceil(outline.n_rows / ROWS))
    spread = source.split_cells(outline.cell_columns, outline.quasi, number)
    progress("measuring part by part")
    parts = [pickle.loads(one) for one in spread(JudgeParts(outline, measure_all))]
    judged = list_requirements(outline, measure_all=measure_all)
    worst = [_worst([part.verdicts[at] for part in parts]) for at in range(len(judged))]
    farthest = _farthest(outline, judged, worst, spread) if measure_all else []
    progress("numbering the classes")
    keys = tuple(dict.fromkeys([one.worst for one in worst] + [key for key, _ in farthest]))
    ranks = [pickle.loads(one) for one in spread(RankParts(outline, keys))]
    place = {key: 1 + sum(one[at] for one in ranks) for at, key in enumerate(keys)}
    verdicts = [
        make_verdict(
            requirement,
            _measured(attained),
            worst_class=place[attained.worst],
            failing_classes=attained.failing_classes,
            failing_rows=attained.failing_rows,
            alone=attained.alone / outline.n_rows,
        )
        for requirement, attained in zip(judged, worst, strict=True)
    ]
    stated = len(state_requirements(outline.example()))
    requirements, measured = tuple(verdicts[:stated]), tuple(verdicts[stated:])
    if not stated:
        requirements, measured = measured, ()
    classes = sum(part.classes for part in parts)
    notes = [*source.notes, NOTE]
    policy = outline.policy
    if measure_all or policy.release.identifiers == "pseudonym":
        notes += describe_identifiers(policy, source)
    else:
        requirements += tuple(judge_identifiers(policy, source, outline.n_rows, classes))
    each = [part.counts for part in parts]
    counts = ClassCounts(
        min(one.smallest for one in each),
        max(one.largest for one in each),
        sum(one.squares for one in each),
    )
    return Audit(
        source=source.name,
        rows=sum(part.rows for part in parts),
        classes=classes,
        k=counts.smallest,
        holds=all(verdict.holds is True for verdict in requirements),
        requirements=requirements,
        measured=measured,
        worst=tuple(replace(report, number=place[key]) for key, report in farthest),
        notes=tuple(notes),
        bound=replace(outline.example(), source=source),
        counts=counts,
        in_parts=True,
    )


def _farthest(
    outline: TableSummary,
    requirements: Sequence[Requirement],
    worst: Sequence[PartVerdict],
    spread: Spread,
) -> list[tuple[Key, ClassReport]]:
    """The classes that break the most promises, then those that break them by most."""
    spreads = tuple(
        attained.spread
        for requirement, attained in zip(requirements, worst, strict=True)
        if _judges_classes(requirement)
    )
    if not spreads:
        return []
    parts = [pickle.loads(one) for one in spread(WorstParts(outline, spreads))]
    found = sorted((one for part in parts for one in part), key=lambda one: one[:2])
    return [(key, report) for _, key, report in found[:MOST_REPORTED]]


def _judges_classes(requirement: Requirement) -> bool:
    """Whether something is promised of the classes as they are released."""
    return requirement.adversary == "knows_class" and requirement.required is not None


def list_requirements(outline: TableSummary, *, measure_all: bool) -> list[Requirement]:
    """What is judged in each part: what is promised, and if asked what is worth knowing."""
    bound = outline.example()
    promised = state_requirements(bound)
    if promised and not measure_all:
        return promised
    extra = without_stated(list_measurements(bound), promised)
    return [*promised, *(each for each in extra if not each.capabilities.whole_table)]


def _judge_part(found: Evaluation[Classes], classes: Classes) -> PartVerdict:
    measured, seen = found.measured, found.seen
    alone = count_alone(seen) if found.requirement.adversary == "knows_others" else 0
    key = classes.key[int(seen.origin[measured.worst])]
    return PartVerdict(
        measured.achieved,
        measured.exact,
        tuple(int(code) for code in key),
        int(np.count_nonzero(measured.fails)),
        int(seen.class_rows[measured.fails].sum()),
        measured.decided,
        measured.note,
        measured.small_is_bad,
        alone,
        largest_margin(measured.margin),
    )


def _worst(parts: Sequence[PartVerdict]) -> PartVerdict:
    """The verdict on the table: the worst value, of the first class that attains it."""
    found = parts[0]
    for one in parts[1:]:
        worse = _worse(found, one)
        if worse > 0 or (worse == 0 and one.worst < found.worst):
            found = one
    return replace(
        found,
        failing_classes=sum(one.failing_classes for one in parts),
        failing_rows=sum(one.failing_rows for one in parts),
        decided=all(one.decided for one in parts),
        alone=sum(one.alone for one in parts),
        spread=max(one.spread for one in parts),
    )


def _worse(one: PartVerdict, other: PartVerdict) -> int:
    """1 where the other is worse, −1 where this one is, 0 where they are equal."""
    sign = -1 if one.small_is_bad else 1
    if one.exact is not None and other.exact is not None:
        return sign * ((other.exact > one.exact) - (other.exact < one.exact))
    if math.isclose(one.achieved, other.achieved, rel_tol=SAME, abs_tol=SAME):
        return 0
    return sign * (1 if other.achieved > one.achieved else -1)


def _before(keys: Ints, key: Key) -> int:
    """How many keys come before one, column by column."""
    equal = np.ones(len(keys), dtype=bool)
    count = 0
    for at, code in enumerate(key):
        count += int(np.count_nonzero(equal & (keys[:, at] < code)))
        equal &= keys[:, at] == code
    return count


def _measured(found: PartVerdict) -> Measurement:
    """What the table attains, without its classes: these are where the engine keeps them."""
    return Measurement(
        value=np.array([found.achieved]),
        fails=np.array([found.failing_classes > 0]),
        achieved=found.achieved,
        exact=found.exact,
        worst=0,
        margin=np.array([np.nan]),
        decided=found.decided,
        note=found.note,
        small_is_bad=found.small_is_bad,
    )
