"""A proposal becomes a release: written (or framed), counted again, certified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tclose.data.binding import BoundTable
from tclose.data.encode.cells import Cells
from tclose.data.io.reading import Reading
from tclose.data.source import Source
from tclose.errors import UnprovenError
from tclose.policy.model import Policy
from tclose.recode import Leftover, Plan, Pseudonyms, Recoding, Rewriter
from tclose.release import Release, broken_promises, recount
from tclose.report.document import Document
from tclose.search.frontier.curves import Frontier
from tclose.search.outcome import Outcome
from tclose.utility import LossReport
from tclose.verify.audit import Audit
from tclose.verify.certificate import Certificate, Hashes, Origin, certify
from tclose.workflows.release.delivery import Delivery, ReleasedRows, Unproven
from tclose.workflows.release.origin import hash_inputs
from tclose.workflows.release.targets import Targets
from tclose.workflows.report import Original, release_report


@dataclass(frozen=True)
class Job:
    """What a release is made from and where it goes."""

    data: Any
    reading: Reading
    source: Source
    policy: Policy
    input_rows: int
    targets: Targets
    command: str = ""
    people: Cells | None = None
    """The population that the promise is about, if there is one."""


@dataclass(frozen=True)
class Proposal:
    """What is to be released, in one piece or in parts, and what a certificate says about it."""

    rows: ReleasedRows
    released_rows: int
    loss: LossReport
    origin: Origin
    hashes: Hashes
    plan: Plan | None = None
    outcome: Outcome | None = None
    leftover: Leftover | None = None
    original: BoundTable | None = None
    """The table itself, where it is in one place: reports show it beside the release."""


def recode_proposal(
    bound: BoundTable,
    recoding: Recoding,
    plan: Plan,
    pseudonyms: Pseudonyms,
    origin: Origin,
) -> Proposal:
    """A recoding of a table that is in one place, ready to be published."""
    return Proposal(
        rows=Rewriter(bound, bound.source.stream(), recoding, pseudonyms),
        released_rows=int(bound.cells.rows[recoding.label >= 0].sum()),
        loss=recoding.loss,
        origin=origin,
        hashes=hash_inputs(bound, bound.source, plan),
        plan=plan,
        original=bound,
    )


def publish(
    job: Job, proposal: Proposal, stopped: Callable[[], bool] = lambda: False
) -> Release | Unproven:
    """Writes (or frames) the release, counts it again, and certifies what was counted."""
    delivery = Delivery(
        job.data,
        job.source,
        job.reading,
        job.targets.output,
        job.policy.release.rows == "shuffle",
        partial(_recount, job, proposal),
        partial(_certify, job, proposal),
        stopped,
    )
    delivered = delivery.put(proposal.rows)
    if isinstance(delivered, Unproven):
        return delivered
    release = Release(
        data=delivered.data,
        path=job.targets.output,
        certificate=delivered.certificate,
        audit=delivered.audit,
        loss=proposal.loss,
        plan=proposal.plan,
        outcome=proposal.outcome,
        left_out=proposal.loss.left_out,
        leftover=proposal.leftover,
        notes=job.source.notes,
        people=job.people,
    )
    if proposal.original is None:
        return release
    return replace(release, reporter=partial(_report, Original(job.reading, proposal.original)))


def confirm(published: Release | Unproven) -> Release:
    """The release; raises where it was not proved, which is a bug."""
    if isinstance(published, Unproven):
        raise UnprovenError(published.reason)
    return published


def make_pseudonyms(key: bytes | None) -> Pseudonyms:
    """Pseudonyms under a key, or under one that is drawn and forgotten."""
    return Pseudonyms() if key is None else Pseudonyms(key)


def _recount(job: Job, proposal: Proposal, written: Source) -> Audit | Unproven:
    audit = recount(written, job.policy, job.people)
    if not audit.holds:
        return Unproven(broken_promises(audit))
    rows = audit.rows if audit.in_parts else audit.bound.cells.n_rows
    if rows != proposal.released_rows:
        return Unproven("the written release has not the rows that were released")
    return audit


def _certify(job: Job, proposal: Proposal, audit: Audit, output_hash: str) -> Certificate:
    origin = proposal.origin.model_copy(update={"command": job.command})
    certificate = certify(audit, job.policy.to_json(), origin, proposal.hashes)
    certificate = certificate.of_file(output_hash)
    certificate.save(job.targets.certificate)
    if proposal.plan is not None:
        proposal.plan.save(job.targets.plan)
    return certificate


def _report(
    original: Original,
    release: Release,
    path: str | Path | None,
    edition: str,
    frontier: Frontier | None,
) -> Document:
    return release_report(release, original, path, edition=edition, frontier=frontier)
