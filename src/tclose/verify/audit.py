"""Every requirement of a policy (and more) measured on a table, with the classes that break it.

A table too large for one place is measured part by part. A class lies in one part and is judged by
itself against the whole table's distributions; so the worst of the parts' verdicts is the table's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from tclose.arrays import Ints
from tclose.data.binding import BoundTable, bind_within_limit
from tclose.data.encode.cells import Cells
from tclose.data.encode.labels import ANYTHING
from tclose.data.io.records import SupersetRecord
from tclose.data.recognize import describe_repeated_people
from tclose.data.source import Source
from tclose.data.summary import TableSummary, summarize_table
from tclose.notebook import Tabular
from tclose.plain import classes_text, join_lines, rows_text
from tclose.policy.model import Policy
from tclose.requirements import (
    Measurement,
    Requirement,
    evaluate,
    list_measurements,
    state_requirements,
)
from tclose.requirements.classes import Classes, find_views
from tclose.verify.caveats import find_caveats, judge_added, judge_identifiers, judge_limits
from tclose.verify.special_uniques import SpecialUniqueCounts, find_table_uniques
from tclose.verify.supersets import read_supersets
from tclose.verify.uniqueness import PopulationUniques, estimate_table
from tclose.verify.verdict import (
    MOST_REPORTED,
    ClassReport,
    Judgement,
    Key,
    Rank,
    SizeSummary,
    Verdict,
    find_worst,
    rank_classes,
    title_requirement,
)

Progress = Callable[[str], None]
VERDICTS = {
    True: "the promise holds",
    False: "THE PROMISE DOES NOT HOLD",
    None: "nothing was promised; measured only",
}
UNDECIDED = "THE PROMISE IS NOT PROVED: some of it cannot be decided"
IN_PARTS = "counted part by part: joint distributions are not listed"
STARS_AS_ANY = "stars as any value"
"""The reading of a release with stars in single cells, beside that in which a star is a value."""
MOST_LOOKS = 10_000_000
"""The most classes × sets of columns at which special uniques are counted (a second)."""
SAME = 1e-13
"""Values that are no fractions and differ by no more are taken as equal."""


@dataclass(frozen=True, repr=False)
class Audit(Tabular):
    """The result of an audit: what is promised, what the table attains, and which classes break it.

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
    population_uniques: PopulationUniques | None = None
    """Estimates, where the policy says how many people the table was drawn from."""
    special_uniques: SpecialUniqueCounts | None = None
    """Counted beside these estimates, unless the table is too large."""
    supersets: tuple[SupersetRecord, ...] | None = field(default=None, repr=False)
    """What the classes were said to be close to, where (n, t)-closeness was judged by that."""

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

    @property
    def is_undecided(self) -> bool:
        """Whether no requirement fails, but some cannot be decided, so that nothing is proved."""
        return self.holds is False and all(each.holds is not False for each in self.requirements)

    @property
    def headline(self) -> str:
        """How many rows and classes there are, and whether the promise holds."""
        return f"{rows_text(self.rows)} in {classes_text(self.classes)}; {self._verdict}"

    @property
    def _verdict(self) -> str:
        return UNDECIDED if self.is_undecided else VERDICTS[self.holds]

    def records(self) -> list[dict[str, Any]]:
        """A line for each requirement, promised ones first."""
        return [verdict.to_json() for verdict in (*self.requirements, *self.measured)]

    def to_json(self) -> dict[str, Any]:
        """The audit as plain values, without any cell value of the table."""
        uniques, special = self.population_uniques, self.special_uniques
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
            **({"population_uniques": uniques.to_json()} if uniques else {}),
            **({"special_uniques": asdict(special)} if special else {}),
        }

    def __str__(self) -> str:
        counts = f"{rows_text(self.rows)} in {classes_text(self.classes)}"
        head = f"{self.source}: {counts}; the smallest has {self.k_text}"
        lines = [head, self._verdict]
        lines += [f"  {item}" for item in self.requirements]
        return join_lines([*lines, *(f"  note: {note}" for note in self.notes)])


NameSupersets = Callable[[BoundTable], Sequence[SupersetRecord]]
"""Says which parts of a counted table its classes are close to, for (n, t)-closeness."""


def recount(
    policy: Policy,
    source: Source,
    population: Cells | None,
    name_supersets: NameSupersets = lambda bound: (),
) -> Audit:
    """A fresh count of a table, in one piece or in parts, and whether the promise holds on it."""
    bound = bind_within_limit(policy, source)
    if bound is None:
        return audit_parts(summarize_table(policy, source), source, measure_all=False)
    named = name_supersets(bound)
    return audit_bound(bound, population=population, measure_all=False, supersets=named)


def audit_bound(
    bound: BoundTable,
    *,
    population: Cells | None = None,
    measure_all: bool = True,
    progress: Progress = lambda step: None,
    supersets: Sequence[SupersetRecord] = (),
) -> Audit:
    """Measures every promise of the policy and, on request, further measures that are worth
    knowing. With `supersets` for (n, t)-closeness, classes are compared with these.
    """
    classes = bound.classes
    stated, further = list_requirements(bound, population, measure_all=measure_all)
    if supersets:
        named = read_supersets(bound, supersets)
        stated = [requirement.name_supersets(named) for requirement in stated]
    verdicts = []
    for found in evaluate(
        [*stated, *further], classes, before=lambda each: progress(f"measuring {each.name}")
    ):
        attained = Judgement.of(found, classes)
        verdicts.append(attained.verdict(found.requirement, attained.worst + 1, classes.n_rows))
    promised, beside = verdicts[: len(stated)], verdicts[len(stated) :]
    if bound.policy.release.suppresses_cells:
        promised += judge_stars(classes, stated)
    worst, counts = find_worst(classes, promised), SizeSummary.of(classes)
    k, caveats = int(min(classes.view_size)), tuple(find_caveats(bound))
    audit = _conclude(bound, counts, promised, beside, caveats, measure_all=measure_all)
    uniques = estimate_table(bound) if measure_all else None
    special = find_table_uniques(bound, MOST_LOOKS) if uniques else None
    counted = special.count() if special else None
    sentences = [found.sentence for found in (uniques, counted) if found is not None]
    return replace(
        audit,
        k=k,
        worst=worst,
        caveats=caveats,
        notes=(*audit.notes, *sentences),
        population_uniques=uniques,
        special_uniques=counted,
        supersets=tuple(supersets) or None,
    )


def audit_parts(
    summary: TableSummary,
    source: Source,
    *,
    measure_all: bool = True,
    progress: Progress = lambda step: None,
) -> Audit:
    """Measures a table part by part, where the engine keeps it."""
    split = source.split_cells(summary.kept_columns, summary.quasi, summary.n_parts)

    def run(work: Callable[..., Any], *given: object) -> list[Any]:
        return split(partial(work, summary, *given))

    progress("measuring part by part")
    parts: list[PartAudit] = run(_judge_part, measure_all)
    stated, further = list_part_requirements(summary, measure_all=measure_all)
    judged = [*stated, *further]
    worst = [_find_worst(found) for found in zip(*(found for *_, found in parts), strict=True)]
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
        attained.verdict(requirement, place[attained.key], summary.n_rows)
        for requirement, attained in zip(judged, worst, strict=True)
    ]
    counts = SizeSummary(
        sum(counts.classes for counts, *_ in parts),
        sum(counts.rows for counts, *_ in parts),
        min(counts.smallest for counts, *_ in parts),
        max(counts.largest for counts, *_ in parts),
        sum(counts.squares for counts, *_ in parts),
    )
    promised, beside = verdicts[: len(stated)], verdicts[len(stated) :]
    bound = summary.example(source)
    audit = _conclude(bound, counts, promised, beside, (IN_PARTS,), measure_all=measure_all)
    worst_classes = tuple(replace(report, number=place[key]) for _, key, report in ranked)
    least = min(k for _, k, _ in parts)
    return replace(audit, k=least, worst=worst_classes, in_parts=True)


def judge_stars(classes: Classes, stated: Sequence[Requirement]) -> Iterator[Verdict]:
    """The promises once more, with every star read as any value: a class is seen by itself, and
    together with all rows that would fit it if their stars were its values. (Who agrees in some of
    the columns is a union of classes already, which more rows that may fit only make larger.)"""
    star = [classes.dictionaries[name].labels.index(ANYTHING)
            if ANYTHING in classes.dictionaries[name].labels else -1
            for name in classes.quasi]  # fmt: skip
    view, member = find_views(classes.key, classes.key == np.array(star, dtype=np.int64))
    seen = replace(classes, view_of=view, class_of=member)
    judged = [each for each in stated if each.adversary == "knows_class" and not each.joins_classes]
    for found in evaluate(judged, seen):
        attained = Judgement.of(found, seen)
        verdict = attained.verdict(found.requirement, attained.worst + 1, classes.n_rows)
        usual = verdict.reading == "separate"
        reading = STARS_AS_ANY if usual else f"{verdict.reading}, {STARS_AS_ANY}"
        yield replace(verdict, reading=reading)


def list_requirements(
    bound: BoundTable, population: Cells | None = None, *, measure_all: bool
) -> tuple[list[Requirement], list[Requirement]]:
    """The promised requirements, followed by the others on request or if nothing is promised."""
    stated = state_requirements(bound, population)
    if stated and not measure_all:
        return stated, []
    known = {requirement.identity for requirement in stated}
    further = [each for each in list_measurements(bound) if each.identity not in known]
    return stated, further


def list_part_requirements(
    summary: TableSummary, *, measure_all: bool
) -> tuple[list[Requirement], list[Requirement]]:
    """The same list, restricted to requirements that can be judged part by part."""
    stated, further = list_requirements(summary.example(), measure_all=measure_all)
    return stated, [each for each in further if not each.capabilities.whole_table]


def _conclude(
    bound: BoundTable,
    counts: SizeSummary,
    requirements: list[Verdict],
    measured: list[Verdict],
    notes: Sequence[str],
    *,
    measure_all: bool,
) -> Audit:
    """The audit with all notes and whether it holds; of a release, with its identifiers judged."""
    source, policy = bound.source, bound.policy
    if not requirements:
        requirements, measured = measured, []
    remarks = [*source.notes, *notes]
    if measure_all:
        remarks += [
            f"column {name!r} identifies people and is still in the table"
            for name in policy.identifiers
            if name in source.columns
        ]
        remarks += describe_repeated_people(policy, source)
    else:
        requirements += judge_identifiers(policy, source, counts.rows, counts.classes)
        requirements += judge_limits(bound, counts)
    requirements += judge_added(policy, source, counts)
    promised = any(verdict.required is not None for verdict in requirements)
    if promised:
        remarks += [
            f"nothing is promised of {name!r}, which is sensitive" for name in policy.unprotected
        ]
    return Audit(
        source=source.name,
        rows=counts.rows,
        classes=counts.classes,
        k=counts.smallest,
        holds=all(verdict.holds is True for verdict in requirements) if promised else None,
        requirements=tuple(requirements),
        measured=tuple(measured),
        worst=(),
        notes=tuple(remarks),
        bound=bound,
        counts=counts,
    )


# --- parts: what is sent to wherever a part is, and what comes back


PartAudit = tuple[SizeSummary, int, list[Judgement]]
"""Sizes of a part, its smallest class, and its worst value in every requirement."""


def _judge_part(summary: TableSummary, measure_all: bool, table: pa.Table) -> PartAudit:
    classes = summary.part(table).classes
    stated, further = list_part_requirements(summary, measure_all=measure_all)
    judged = []
    for found in evaluate([*stated, *further], classes):
        attained = Judgement.of(found, classes)
        bare = replace(
            found.measured,
            value=np.array([found.measured.achieved]),
            fails=np.array([attained.failing_classes > 0]),
            worst=0,
            margin=np.array([np.nan]),
        )
        judged.append(replace(attained, measured=bare, worst=0))
    return SizeSummary.of(classes), int(min(classes.view_size)), judged


def _rank_part(
    summary: TableSummary, spreads: Sequence[float], table: pa.Table
) -> list[tuple[Rank, Key, ClassReport]]:
    """The worst classes of a part; spreads are those of the margins in the whole table."""
    classes = summary.part(table).classes
    stated = [each for each in state_requirements(summary.example()) if _judges_classes(each)]
    measured = {
        title_requirement(*found.requirement.identity): found.measured
        for found in evaluate(stated, classes)
    }
    return [
        (rank, tuple(classes.key[report.number - 1].tolist()), report)
        for rank, report in rank_classes(classes, measured, spreads)
    ]


def _count_before(summary: TableSummary, keys: Sequence[Key], table: pa.Table) -> Ints:
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
    """Whether any requirement is promised of the released classes."""
    return requirement.adversary == "knows_class" and requirement.required is not None


def _find_worst(parts: Sequence[Judgement]) -> Judgement:
    """The worst value of a requirement, and the first class that attains it."""
    found = parts[0]
    for part in parts[1:]:
        worse = _compare(found.measured, part.measured)
        if worse > 0 or (worse == 0 and part.key < found.key):
            found = part
    failing = sum(part.failing_classes for part in parts)
    decided = all(part.measured.decided for part in parts)
    return replace(
        found,
        measured=replace(found.measured, fails=np.array([failing > 0]), decided=decided),
        failing_classes=failing,
        failing_rows=sum(part.failing_rows for part in parts),
        rows_alone=sum(part.rows_alone for part in parts),
        spread=max(part.spread for part in parts),
    )


def _compare(here: Measurement, there: Measurement) -> int:
    """1 where it is worse there, −1 where it is worse here, 0 where they are equal."""
    sign = -1 if here.small_is_bad else 1
    if here.exact is not None and there.exact is not None:
        return sign * ((there.exact > here.exact) - (there.exact < here.exact))
    if math.isclose(here.achieved, there.achieved, rel_tol=SAME, abs_tol=SAME):
        return 0
    return sign * (1 if there.achieved > here.achieved else -1)
