"""Every requirement of a policy (and more) measured on a table, with the classes that break it.

A table whose cells are too many for one place is measured part by part, where its engine keeps it.
A class lies in one part, and every requirement that is judged there judges a class by itself
against the whole table's distributions; so the worst of the parts' verdicts is the table's.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.binding import BoundTable, bind_within_limit
from tclose.data.encode.cells import Cells
from tclose.data.source import ROWS, Source
from tclose.data.summary import TableSummary, summarize_table
from tclose.distance.histogram import Counts
from tclose.policy.model import Policy
from tclose.requirements import (
    Measurement,
    Requirement,
    evaluate,
    list_measurements,
    state_requirements,
)
from tclose.verify.verdict import (
    MOST_REPORTED,
    ClassReport,
    Judgement,
    Rank,
    Verdict,
    find_worst,
    largest_margin,
    rank_classes,
    title_requirement,
)
from tclose.verify.wording import rows_text

Progress = Callable[[str], None]
Key = tuple[int, ...]
"""The codes of a class's quasi-identifiers: classes are numbered in the order of their keys."""
PART_ROWS = 1_000_000
"""Rows of a part, more or less."""
VERDICTS = {
    True: "the promise holds",
    False: "THE PROMISE DOES NOT HOLD",
    None: "nothing was promised; measured only",
}
IN_PARTS = "counted part by part: joint distributions are not listed"
SAME = 1e-13
"""Values that are no fractions and differ by no more are taken as equal."""


@dataclass(frozen=True)
class SizeSummary:
    """The sizes of a table's classes, added up."""

    smallest: int
    largest: int
    squares: int
    """The sum of the squares of the sizes."""

    @classmethod
    def of(cls, size: Counts) -> SizeSummary:
        """Adds up the sizes of classes."""
        small, large = int(size.min()), int(size.max())
        if large * large * len(size) < 2**63:
            return cls(small, large, int(np.dot(size, size)))
        return cls(small, large, sum(number**2 for number in size.tolist()))


@dataclass(frozen=True)
class Audit:
    """How private a table is: what was promised, what it attains, which classes break it.

    Class numbers count from 1 in the order of the quasi-identifiers' values.
    """

    source: str
    rows: int
    classes: int
    k: int
    holds: bool | None
    """None where nothing is promised."""
    requirements: tuple[Verdict, ...]
    measured: tuple[Verdict, ...]
    worst: tuple[ClassReport, ...]
    notes: tuple[str, ...]
    bound: BoundTable = field(repr=False, compare=False)
    counts: SizeSummary = field(repr=False)
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
        return self.holds is not None

    @property
    def broken(self) -> str:
        """The requirements that do not hold, in a few words each."""
        return ", ".join(verdict.title for verdict in self.requirements if not verdict.holds)

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
        lines = [head, VERDICTS[self.holds]]
        lines += [f"  {item}" for item in self.requirements]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


def recount(policy: Policy, source: Source, population: Cells | None) -> Audit:
    """A fresh count of a table, in one piece or in parts, and whether the promise holds on it."""
    bound = bind_within_limit(policy, source)
    if bound is None:
        return audit_parts(summarize_table(policy, source), source, measure_all=False)
    return audit_bound(bound, population=population, measure_all=False)


def audit_bound(
    bound: BoundTable,
    *,
    population: Cells | None = None,
    measure_all: bool = True,
    progress: Progress = lambda step: None,
) -> Audit:
    """Measures every promise of the policy and, if asked, all that is worth knowing besides."""
    classes = bound.classes
    stated, further = list_requirements(bound, population, measure_all=measure_all)

    def announce(requirement: Requirement) -> None:
        progress(f"measuring {requirement.name}")

    judged = [
        (found.requirement, Judgement.of(found))
        for found in evaluate([*stated, *further], classes, before=announce)
    ]
    verdicts = [
        attained.verdict(requirement, attained.worst + 1, classes.n_rows)
        for requirement, attained in judged
    ]
    audit = Audit(
        source=bound.source.name,
        rows=classes.n_rows,
        classes=classes.count,
        k=int(min(classes.view_size)),
        holds=None,
        requirements=tuple(verdicts[: len(stated)]),
        measured=tuple(verdicts[len(stated) :]),
        worst=find_worst(classes, verdicts[: len(stated)]),
        notes=(),
        bound=bound,
        counts=SizeSummary.of(classes.class_rows),
        caveats=tuple(find_caveats(bound)),
    )
    return _conclude(audit, audit.caveats, measure_all=measure_all)


def audit_parts(
    summary: TableSummary,
    source: Source,
    *,
    measure_all: bool = True,
    progress: Progress = lambda step: None,
) -> Audit:
    """Measures a table part by part, where the engine keeps it."""
    number = max(1, math.ceil(summary.n_rows / PART_ROWS))
    split = source.split_cells(summary.cell_columns, summary.quasi, number)

    def run(work: Callable[..., Any], *given: object) -> list[Any]:
        return [pickle.loads(result) for result in split(partial(_send, work, summary, *given))]

    progress("measuring part by part")
    parts: list[PartAudit] = run(_judge_part, measure_all)
    stated, further = list_part_requirements(summary, measure_all=measure_all)
    judged = [*stated, *further]
    worst = [_find_worst([part.judged[at] for part in parts]) for at in range(len(judged))]
    spreads = [
        attained.spread
        for requirement, attained in zip(judged, worst, strict=True)
        if _judges_classes(requirement)
    ]
    ranked: list[tuple[Rank, Key, ClassReport]] = []
    if spreads and measure_all:
        found = [report for part in run(_rank_part, spreads) for report in part]
        ranked = sorted(found, key=lambda report: report[:2])[:MOST_REPORTED]
    progress("numbering the classes")
    keys = list(dict.fromkeys([attained.key for attained in worst] + [key for _, key, _ in ranked]))
    before = np.sum(run(_count_before, keys), axis=0)
    place = {key: 1 + int(before[at]) for at, key in enumerate(keys)}
    verdicts = [
        attained.judgement.verdict(requirement, place[attained.key], summary.n_rows)
        for requirement, attained in zip(judged, worst, strict=True)
    ]
    counts = SizeSummary(
        min(part.counts.smallest for part in parts),
        max(part.counts.largest for part in parts),
        sum(part.counts.squares for part in parts),
    )
    audit = Audit(
        source=source.name,
        rows=sum(part.rows for part in parts),
        classes=sum(part.classes for part in parts),
        k=counts.smallest,
        holds=None,
        requirements=tuple(verdicts[: len(stated)]),
        measured=tuple(verdicts[len(stated) :]),
        worst=tuple(replace(report, number=place[key]) for _, key, report in ranked),
        notes=(),
        bound=replace(summary.example(), source=source),
        counts=counts,
        in_parts=True,
    )
    return _conclude(audit, (IN_PARTS,), measure_all=measure_all)


def list_requirements(
    bound: BoundTable, population: Cells | None = None, *, measure_all: bool
) -> tuple[list[Requirement], list[Requirement]]:
    """What is promised and, if asked or nothing is, what else is worth knowing."""
    stated = state_requirements(bound, population)
    if stated and not measure_all:
        return stated, []
    known = {requirement.identity for requirement in stated}
    further = [each for each in list_measurements(bound) if each.identity not in known]
    return stated, further


def list_part_requirements(
    summary: TableSummary, *, measure_all: bool
) -> tuple[list[Requirement], list[Requirement]]:
    """The same of what can be judged in each part."""
    stated, further = list_requirements(summary.example(), measure_all=measure_all)
    return stated, [each for each in further if not each.capabilities.whole_table]


def _conclude(audit: Audit, notes: Sequence[str], *, measure_all: bool) -> Audit:
    """The audit with its notes and whether it holds; of a release, with its identifiers judged."""
    source, policy = audit.bound.source, audit.bound.policy
    requirements, measured = audit.requirements, audit.measured
    if not requirements:
        requirements, measured = measured, ()
    told = [*source.notes, *notes]
    if measure_all or policy.release.identifiers == "pseudonym":
        told += [
            f"column {name!r} identifies people and is still in the table"
            for name in policy.identifiers
            if name in source.columns
        ]
    else:
        requirements += tuple(judge_identifiers(policy, source, audit.rows, audit.classes))
    promised = any(verdict.required is not None for verdict in requirements)
    return replace(
        audit,
        holds=all(verdict.holds is True for verdict in requirements) if promised else None,
        requirements=requirements,
        measured=measured,
        notes=tuple(told),
    )


# --- what is to be said besides the requirements: identifiers, persons, weights


def find_caveats(bound: BoundTable) -> Iterator[str]:
    """What to know about prefixes, about rows that are counted by person, or have weights."""
    classes, counting = bound.classes, bound.policy.counting
    for name in classes.quasi:
        spec = bound.policy.columns[name].hierarchy
        lengths = {
            len(value) for value in bound.cells.dictionaries[name].labels if "*" not in value
        }
        if spec is not None and spec.prefix is not None and len(lengths) > 1:
            yield (
                f"values of {name!r} have different lengths: what is cut off is written as one "
                "star, whatever its length"
            )
    if classes.persons is not None and counting is not None and classes.everyone < classes.n_rows:
        yield (
            f"sizes and distributions count persons ({classes.everyone:,} in column "
            f"{counting[1]!r}), not rows; rows of one person can be told to belong together, so "
            "whoever knows several of a person's rows can look for who is in all their classes"
        )
    if counting is not None and counting[0] == "weight":
        table = bound.source.group([*classes.quasi, counting[1]])
        alone = int(np.count_nonzero(table.column(ROWS).to_numpy() == 1))
        if 2 * alone >= classes.n_rows:
            yield (
                f"the weight (column {counting[1]!r}) is released as it is, and {alone:,} of "
                f"{rows_text(classes.n_rows)} have one that no other row of their class has: "
                "whoever knows a person's weight finds the row"
            )


def judge_identifiers(policy: Policy, source: Source, rows: int, classes: int) -> Iterator[Verdict]:
    """A broken promise for every identifier of a release that still tells its rows apart."""
    for name in policy.identifiers:
        different = source.count_distinct(name) if name in source.columns else 0
        if different > 1:
            measured = Measurement(
                value=np.full(classes, float(different)),
                fails=np.ones(classes, dtype=bool),
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


# --- parts: what is sent to wherever a part is, and what comes back


@dataclass(frozen=True)
class PartJudgement:
    """What one part attains in one requirement."""

    judgement: Judgement
    """Without the values of the part's classes: these stay where they are."""
    key: Key
    """Of the worst class."""
    spread: float
    """The largest finite margin."""


@dataclass(frozen=True)
class PartAudit:
    """What one part attains: its classes and rows, their sizes, and every requirement."""

    classes: int
    rows: int
    counts: SizeSummary
    judged: tuple[PartJudgement, ...]


def _send(work: Callable[..., Any], summary: TableSummary, *given: object) -> bytes:
    """What some work on the cells of a part gives, as it is sent back; the part comes last."""
    return pickle.dumps(work(summary, *given))


def _judge_part(summary: TableSummary, measure_all: bool, table: pa.Table) -> PartAudit:
    classes = summary.part(table).classes
    stated, further = list_part_requirements(summary, measure_all=measure_all)
    judged = []
    for found in evaluate([*stated, *further], classes):
        attained = Judgement.of(found)
        bare = replace(
            found.measured,
            value=np.array([found.measured.achieved]),
            fails=np.array([attained.failing_classes > 0]),
            worst=0,
            margin=np.array([np.nan]),
        )
        key = tuple(classes.key[attained.worst].tolist())
        spread = largest_margin(found.measured.margin)
        judged.append(PartJudgement(replace(attained, measured=bare, worst=0), key, spread))
    sizes = SizeSummary.of(classes.size)
    return PartAudit(classes.count, classes.n_rows, sizes, tuple(judged))


def _rank_part(
    summary: TableSummary, spreads: Sequence[float], table: pa.Table
) -> list[tuple[Rank, Key, ClassReport]]:
    """The worst classes of a part; the spreads are those of the whole table's margins."""
    classes = summary.part(table).classes
    stated = [each for each in state_requirements(summary.example()) if _judges_classes(each)]
    measured = {
        title_requirement(found.requirement): found.measured for found in evaluate(stated, classes)
    }
    return [
        (rank, tuple(classes.key[report.number - 1].tolist()), report)
        for rank, report in rank_classes(classes, measured, spreads)
    ]


def _count_before(summary: TableSummary, keys: Sequence[Key], table: pa.Table) -> NDArray[np.int64]:
    """How many classes of a part come before each key, column by column."""
    mine = summary.part(table).classes.key
    counts = np.zeros(len(keys), dtype=np.int64)
    for number, key in enumerate(keys):
        equal = np.ones(len(mine), dtype=bool)
        for at, code in enumerate(key):
            counts[number] += np.count_nonzero(equal & (mine[:, at] < code))
            equal &= mine[:, at] == code
    return counts


def _judges_classes(requirement: Requirement) -> bool:
    """Whether something is promised of the classes as they are released."""
    return requirement.adversary == "knows_class" and requirement.required is not None


def _find_worst(parts: Sequence[PartJudgement]) -> PartJudgement:
    """What the table attains: the worst value, of the first class that attains it."""
    found = parts[0]
    for part in parts[1:]:
        worse = _compare(found.judgement.measured, part.judgement.measured)
        if worse > 0 or (worse == 0 and part.key < found.key):
            found = part
    each = [part.judgement for part in parts]
    failing = sum(part.failing_classes for part in each)
    judgement = replace(
        found.judgement,
        measured=replace(
            found.judgement.measured,
            fails=np.array([failing > 0]),
            decided=all(part.measured.decided for part in each),
        ),
        failing_classes=failing,
        failing_rows=sum(part.failing_rows for part in each),
        rows_alone=sum(part.rows_alone for part in each),
    )
    return PartJudgement(judgement, found.key, max(part.spread for part in parts))


def _compare(here: Measurement, there: Measurement) -> int:
    """1 where it is worse there, −1 where it is worse here, 0 where they are equal."""
    sign = -1 if here.small_is_bad else 1
    if here.exact is not None and there.exact is not None:
        return sign * ((there.exact > here.exact) - (there.exact < here.exact))
    if math.isclose(here.achieved, there.achieved, rel_tol=SAME, abs_tol=SAME):
        return 0
    return sign * (1 if there.achieved > here.achieved else -1)
