"""The certificate: what is promised and attained, and hashes of the files. It holds no raw value.

No hash is among them of a table, or of anything built from its values, as few values can be guessed
from their hash: those stay in the plan. Nothing in a certificate is believed: it is held against a
fresh count, line by line (`recheck`).
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from tclose.data.io.counting import file_hash
from tclose.data.io.records import JsonObject, Layout, Record, SupersetRecord, VersionedRecord
from tclose.plain import join_lines, json_hash, rows_text
from tclose.policy.model import Policy
from tclose.verify.audit import Audit
from tclose.verify.verdict import RequirementRecord

CountsByPart = dict[str, dict[str, int]]
EARLIER = "only in certificates of earlier versions: now in the plan, which stays with the steward"


class Hashes(Record):
    """SHA-256 hashes of the promise and of the written release."""

    policy: str
    promise_files: dict[str, str] | None = Field(
        None, description="of the files that the policy names for sensitive columns, by name"
    )
    input: str | None = Field(None, description=EARLIER)
    hierarchies: dict[str, str] | None = Field(None, description=EARLIER)
    plan: str | None = Field(None, description=EARLIER)
    output: str | None = Field(None, description="of the file, or of rows that are in no file")
    files: dict[str, str] | None = Field(None, description="by name, of a release in several files")

    @classmethod
    def of(
        cls, policy: Policy, output: str | None = None, files: dict[str, str] | None = None
    ) -> Hashes:
        """Of the policy, the files about sensitive columns that are here, and what was written."""
        places = {name: policy.base / name for name in policy.promise_files}
        found = {name: file_hash(place) for name, place in places.items() if place.is_file()}
        return cls(
            policy=json_hash(policy.to_json()),
            promise_files=found or None,
            output=output,
            files=files,
        )


class SizesRecord(Record):
    """The sizes of the classes."""

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
            classes=counts.classes,
            smallest=counts.smallest,
            mean=counts.rows / counts.classes,
            largest=counts.largest,
            discernibility=counts.squares + input_rows * (input_rows - counts.rows),
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
    """The loss of the release, overall and by column: 0 nothing lost, 1 everything lost."""

    measure: str
    overall: float
    columns: dict[str, float]


class CleanedRecord(Record):
    """What cleaning a column before counting did, in counts: the policy says how."""

    changed_rows: int
    values_before: int
    values_after: int


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


class MaskedRecord(Record):
    """Sensitive values that the search hid or generalized to divide classes further."""

    how: Literal["generalize", "hide"]
    rows: dict[str, int] = Field(description="by attribute, the rows with a masked value")
    cost: float = Field(description="what that costs, as a share of losing every row")


class TargetRecord(Record):
    """A column that is to be learned from the release, and what that made of the loss."""

    column: str
    information: dict[str, float] = Field(
        description="by quasi-identifier, the bits that it tells about the target, of its bits"
    )
    weights: dict[str, str] = Field(description="by quasi-identifier, what it counted in the loss")


class ProjectionRecord(Record):
    """One of several projections of a table, which was searched by itself."""

    file: str
    loss: float
    classes: int
    method: str
    stopped: str | None = None


class AttackRecord(Record):
    """What an attacker could learn from the tables of a release together."""

    attack: str
    attribute: str | None
    sentence: str
    affected: int
    total: int
    worst_classes: tuple[int, ...]
    numbers: dict[str, bool | int | float | None]
    details: tuple[dict[str, bool | int | float | None], ...]


class GivenRecord(Record):
    """Earlier releases about the same people, with which the promise holds jointly."""

    releases: tuple[str, ...] = Field(description="their hashes, as their own certificates say")
    groups: int = Field(description="groups of people who are in the same classes of all releases")
    smallest: int = Field(description="people in the smallest of them")
    left_out: int = Field(description="rows of groups that could not be released")

    @property
    def sentence(self) -> str:
        """This record as a sentence."""
        many = len(self.releases)
        held = f"; {rows_text(self.left_out)} of other groups left out" if self.left_out else ""
        return (
            f"the promise holds together with {many} earlier release{'s' if many > 1 else ''}, "
            f"too: {self.groups:,} groups of people who are in the same classes of all, the "
            f"smallest of {self.smallest:,}{held}"
        )


class Origin(Record):
    """How a release came about: what cannot be recounted from it."""

    method: str
    seed: int
    input_rows: int = Field(description="rows read")
    versions: dict[str, str] = Field(description="of everything that counted and wrote")
    command: str | None = None

    fallback: str | None = Field(
        None, description="what was searched in place of what was asked for, where that is allowed"
    )
    why: str | None = Field(None, description="why this method, where there was a choice")
    stopped: str | None = Field(None, description="how the search ended")
    tried: tuple[TrialRecord, ...] | None = None
    seconds: float | None = Field(None, description="the limit by the clock")
    effort: float | None = Field(None, description="the limit by work")
    polish: bool | None = Field(
        None, description="false: the steps that the method's paper describes, and nothing after"
    )
    suppression: str | None = Field(None, description="the share of rows that may be left out")
    levels: dict[str, int] | None = Field(None, description="full-domain: the level of each column")
    optimality: OptimalityRecord | None = None
    fragments: int | None = Field(None, description="in parts: how many were searched")
    cells: int | None = Field(None, description="in parts: distinct combinations of values")

    cleaned: dict[str, CleanedRecord] | None = Field(
        None, description="by column that the policy has cleaned before counting"
    )
    loss: LossRecord | None = None
    row_order: Literal["keep", "shuffle"] | None = Field(
        None,
        description="whether rows are in the order of the table, or in one that follows from the "
        "released values alone",
    )
    warnings: tuple[str, ...] | None = Field(
        None, description="what the release shows of columns that nothing protects"
    )
    left_out: LeftOutRecord | None = None
    leftover: LeftoverRecord | None = None
    given: GivenRecord | None = None
    masked: MaskedRecord | None = None
    target: TargetRecord | None = None

    way: Literal["levels", "cuts", "classes"] | None = Field(
        None, description="of `apply`: how new rows found their classes"
    )
    outside: int | None = Field(None, description="rows beyond everything that the plan covers")
    held_back: int | None = Field(None, description="rows that would break the promise")
    widened: int | None = Field(None, description="classes that cover more than the plan says")
    changed_hierarchies: tuple[str, ...] | None = None

    projections: tuple[ProjectionRecord, ...] | None = None
    attacks: tuple[AttackRecord, ...] | None = None


class SignatureRecord(Record):
    """The Ed25519 signature of all other lines of the certificate, and who signed."""

    algorithm: Literal["ed25519"] = "ed25519"
    public_key: str = Field(description="32 bytes, in base 64")
    value: str = Field(description="64 bytes, in base 64")


class CertifiedCounts(VersionedRecord):
    """The counts of the written release."""

    tclose_certificate: Literal[2] = 2
    holds: bool
    rows: int
    classes: int
    k: int = Field(description="the size of the smallest class")
    requirements: tuple[RequirementRecord, ...]
    policy: JsonObject = Field(description="the policy itself: see `tclose schema policy`")
    hashes: Hashes
    sizes: SizesRecord | None = None
    supersets: tuple[SupersetRecord, ...] | None = Field(
        None, description="(n, t)-closeness: what each class, counted from 1, is close to"
    )
    notes: tuple[str, ...] | None = None
    form: Layout | None = Field(None, description="of a release in several files")
    context: JsonObject | None = Field(
        None, description="recipient, purpose, controls, threshold, expert, review date"
    )
    signature: SignatureRecord | None = None


class Certificate(Origin, CertifiedCounts):
    """The certificate of a release."""

    kind: ClassVar[str] = "certificate"
    format: ClassVar[int] = 2

    def of_file(self, output_hash: str) -> Certificate:
        """A copy of the certificate for a file with this hash."""
        hashes = self.hashes.model_copy(update={"output": output_hash})
        return self.model_copy(update={"hashes": hashes})

    def __str__(self) -> str:
        lines = [f"certificate: {self.rows:,} rows in {self.classes:,} classes"]
        if self.levels is not None:
            levels = ", ".join(f"{name} {level}" for name, level in self.levels.items())
            lines.append(f"  levels: {levels}")
        for each in self.requirements:
            about = (
                f"{each.requirement} of {each.attribute}" if each.attribute else each.requirement
            )
            lines.append(f"  {about}: {each.required} required, {each.achieved} attained")
        return join_lines(lines)


def certify(
    audit: Audit, policy: Policy, origin: Origin, output: str | None = None, *, sizes: bool = True
) -> Certificate:
    """The certificate of a counted release, of its origin and the hash of its `output`."""
    stated = policy.to_json()
    return Certificate(
        holds=audit.holds is True,
        rows=audit.rows,
        classes=audit.classes,
        k=audit.k,
        requirements=tuple(verdict.record() for verdict in audit.requirements),
        policy=stated,
        hashes=Hashes.of(policy, output),
        sizes=SizesRecord.of(audit, origin.input_rows) if sizes else None,
        supersets=audit.supersets,
        notes=audit.caveats or None,
        context=read_context(stated),
        **dict(origin),
    )


def read_context(policy: JsonObject) -> JsonObject | None:
    """The recipient, purpose and controls that the policy states, for the certificate."""
    context = policy.get("context")
    return context if isinstance(context, dict) else None
