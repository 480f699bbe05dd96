"""What was promised and attained, with the hashes of everything it was made from; no raw value.

A certificate is held against a fresh count of the file, line by line (`recheck`): nothing in it is
believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from tclose.data.io.records import JsonObject, Layout, Record, VersionedRecord, json_hash
from tclose.verify.audit import Audit
from tclose.verify.verdict import RequirementRecord

CountsByPart = dict[str, dict[str, int]]
NOT_HERE = "needs the original"


class Hashes(Record):
    """The SHA-256 of what a release was made from, and of what was written."""

    policy: str
    input: str | None = None
    hierarchies: dict[str, str] | None = Field(None, description="by column")
    plan: str | None = None
    output: str | None = Field(None, description="of the file, or of rows that are in no file")
    files: dict[str, str] | None = Field(None, description="by name, of a release in several files")


class SizesRecord(Record):
    """What the sizes of the classes say."""

    classes: int
    smallest: int
    mean: float
    largest: int
    discernibility: int = Field(
        description="the sum of the squared sizes, plus the whole table for every row left out"
    )

    @classmethod
    def of(cls, audit: Audit, input_rows: int) -> SizesRecord:
        """Of a release that was made from a table of so many rows."""
        counts = audit.counts
        return cls(
            classes=audit.classes,
            smallest=counts.smallest,
            mean=audit.rows / audit.classes,
            largest=counts.largest,
            discernibility=counts.squares + input_rows * (input_rows - audit.rows),
        )


class TrialRecord(Record):
    """One thing that a search tried."""

    step: str
    seconds: float
    loss: float | None = None


class OptimalityRecord(Record):
    """How good a full-domain release is known to be."""

    measure: str
    loss: float
    no_less_than: float = Field(description="no choice of levels loses less")
    optimal: bool


class LossRecord(Record):
    """What was lost, on the whole and by column: 0 nothing, 1 everything."""

    measure: str
    overall: float
    columns: dict[str, float]


class LeftOutRecord(Record):
    """Rows that are not in the release, by coarse parts of each quasi-identifier."""

    rows: int
    parts: CountsByPart = Field(alias="from")


class LeftoverRecord(Record):
    """What became of the rows that a search left out, where the policy says more than drop."""

    asked: Literal["drop", "root", "hide", "generalize"]
    rooted: int
    hidden: int
    generalized: int
    dropped: int
    merged_classes: int
    reason: str = Field(description="why rows were dropped that should not have been")
    parts: CountsByPart = Field(alias="from")


class ProjectionRecord(Record):
    """One of several projections of a table, which was searched by itself."""

    file: str
    loss: float
    classes: int
    method: str
    stopped: str | None = None


class AttackRecord(Record):
    """What somebody could learn from the tables of a release together."""

    attack: str
    attribute: str | None
    sentence: str
    affected: int
    total: int
    worst_classes: tuple[int, ...]
    numbers: dict[str, bool | int | float | None]
    details: tuple[dict[str, bool | int | float | None], ...]


class Origin(Record):
    """How a release came about: what cannot be recounted from it."""

    method: str
    seed: int
    input_rows: int = Field(description="rows read")
    versions: dict[str, str] = Field(description="of everything that counted and wrote")
    command: str | None = None

    why: str | None = Field(None, description="why this method, where there was a choice")
    stopped: str | None = Field(None, description="how the search ended")
    tried: tuple[TrialRecord, ...] | None = None
    seconds: float | None = Field(None, description="the limit by the clock")
    effort: float | None = Field(None, description="the limit by work")
    suppression: str | None = Field(None, description="the share of rows that may be left out")
    levels: dict[str, int] | None = Field(None, description="full-domain: the level of each column")
    optimality: OptimalityRecord | None = None
    fragments: int | None = Field(None, description="in parts: how many were searched")
    cells: int | None = Field(None, description="in parts: distinct combinations of values")

    loss: LossRecord | None = None
    warnings: tuple[str, ...] | None = Field(
        None, description="what the release shows of columns that nothing protects"
    )
    left_out: LeftOutRecord | None = None
    leftover: LeftoverRecord | None = None

    way: Literal["levels", "cuts", "classes"] | None = Field(
        None, description="of `apply`: how new rows found their classes"
    )
    outside: int | None = Field(None, description="rows beyond everything that the plan covers")
    held_back: int | None = Field(None, description="rows that would break the promise")
    widened: int | None = Field(None, description="classes that cover more than the plan says")
    changed_hierarchies: tuple[str, ...] | None = None

    projections: tuple[ProjectionRecord, ...] | None = None
    attacks: tuple[AttackRecord, ...] | None = None


class CertifiedCounts(VersionedRecord):
    """What was counted on the written release."""

    tclose_certificate: Literal[2] = 2
    holds: bool
    rows: int
    classes: int
    k: int = Field(description="the size of the smallest class")
    requirements: tuple[RequirementRecord, ...]
    policy: JsonObject = Field(description="the policy itself: see `tclose schema policy`")
    hashes: Hashes
    sizes: SizesRecord | None = None
    notes: tuple[str, ...] | None = None
    form: Layout | None = Field(None, description="of a release in several files")


class Certificate(Origin, CertifiedCounts):
    """The certificate of a release."""

    kind: ClassVar[str] = "certificate"
    format: ClassVar[int] = 2

    def of_file(self, output_hash: str) -> Certificate:
        """The same certificate for a file with this hash."""
        hashes = self.hashes.model_copy(update={"output": output_hash})
        return self.model_copy(update={"hashes": hashes})

    def __str__(self) -> str:
        lines = [f"certificate: {self.rows:,} rows in {self.classes:,} classes"]
        if self.levels is not None:
            levels = ", ".join(f"{name} {level}" for name, level in self.levels.items())
            lines.append(f"  levels: {levels}")
        for verdict in self.requirements:
            about = f" of {verdict.attribute}" if verdict.attribute else ""
            lines.append(
                f"  {verdict.requirement}{about}: {verdict.required} asked, "
                f"{verdict.achieved} attained"
            )
        return "\n".join(lines)


def certify(
    audit: Audit, policy: JsonObject, origin: Origin, hashes: Hashes, *, sizes: bool = True
) -> Certificate:
    """The certificate of a release that was counted; `origin` says how it came about."""
    return Certificate(
        holds=audit.holds is True,
        rows=audit.rows,
        classes=audit.classes,
        k=audit.k,
        requirements=tuple(verdict.record() for verdict in audit.requirements),
        policy=policy,
        hashes=hashes,
        sizes=SizesRecord.of(audit, origin.input_rows) if sizes else None,
        notes=audit.caveats or None,
        **dict(origin),
    )


@dataclass(frozen=True)
class Check:
    """One line of a certificate, held against what was counted. None: cannot be recounted."""

    line: str
    stated: str
    counted: str
    confirmed: bool | None


def recheck(certificate: Certificate, audit: Audit, output_hash: str | None) -> tuple[Check, ...]:
    """Every line of a certificate against a fresh count of the file."""
    stated = certificate
    return (
        compare("sha256 of the file", stated.hashes.output, output_hash),
        compare("sha256 of the policy", stated.hashes.policy, json_hash(stated.policy)),
        compare("rows", stated.rows, audit.rows),
        compare("classes", stated.classes, audit.classes),
        compare("smallest class", stated.k, audit.k),
        compare("the promise holds", stated.holds, audit.holds),
        *compare_requirements(
            stated.requirements, [verdict.record() for verdict in audit.requirements]
        ),
        *_compare_sizes(stated, audit),
        *(Check(line, str(value), NOT_HERE, None) for line, value in _of_the_original(stated)),
    )


def compare(line: str, stated: JsonValue, counted: JsonValue) -> Check:
    """A line that can be recounted; nothing counted confirms nothing."""
    return Check(line, str(stated), str(counted), counted is not None and _same(stated, counted))


def compare_requirements(
    stated: Sequence[RequirementRecord], counted: Iterable[RequirementRecord]
) -> Iterator[Check]:
    """One line per requirement: asked, attained, the verdict, and the classes that fail."""
    mine = {record.name: record for record in counted}
    for record in stated:
        other = mine.pop(record.name, None)
        same = other is not None and all(_same(value, dict(other)[key]) for key, value in record)
        yield Check(record.name, str(record), "not promised" if other is None else str(other), same)
    for name, record in mine.items():
        yield Check(name, "not in the certificate", str(record), False)


def _compare_sizes(stated: Certificate, audit: Audit) -> Iterator[Check]:
    """What follows from the sizes of the classes, and from the number of rows that were read."""
    if stated.sizes is not None:
        counted = dict(SizesRecord.of(audit, stated.input_rows))
        for key, value in stated.sizes:
            yield compare(f"sizes: {key}", value, counted[key])
    if stated.left_out is not None:
        yield compare("rows left out", stated.left_out.rows, stated.input_rows - audit.rows)


def _of_the_original(stated: Certificate) -> Iterator[tuple[str, JsonValue]]:
    """What cannot be recounted from the release alone."""
    if stated.loss is not None:
        yield "loss", stated.loss.overall
    if stated.warnings is not None:
        yield "warnings", len(stated.warnings)
    yield "rows read", stated.input_rows
    for line, rows in (
        ("outside", stated.outside),
        ("held back", stated.held_back),
        ("widened", stated.widened),
    ):
        if rows is not None:
            yield line, rows
    if stated.leftover is not None:
        for key in ("rooted", "hidden", "generalized", "dropped"):
            yield f"rows left over: {key}", getattr(stated.leftover, key)
    for name, level in (stated.levels or {}).items():
        yield f"level of {name}", level
    for name, value in (("input", stated.hashes.input), ("plan", stated.hashes.plan)):
        if value is not None:
            yield f"sha256 of the {name}", value
    for name, value in (stated.hashes.hierarchies or {}).items():
        yield f"sha256 of the hierarchy of {name}", value


def _same(stated: JsonValue, counted: JsonValue) -> bool:
    if isinstance(stated, float) and isinstance(counted, float):
        return abs(stated - counted) <= 1e-12 * max(1.0, abs(stated))
    return type(stated) is type(counted) and stated == counted
