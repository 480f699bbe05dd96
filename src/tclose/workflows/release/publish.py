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
from tclose.describe import hashes_of, policy_json, rows_from, versions
from tclose.errors import UnprovenError
from tclose.policy.model import Policy
from tclose.recode import Leftover, Plan, Pseudonyms, Recoding, Rewriter
from tclose.release import Release, broken_promises, recount, save_json, sizes_of
from tclose.report.document import Document
from tclose.search.frontier.curves import Frontier
from tclose.search.outcome import Outcome
from tclose.utility import LossReport
from tclose.verify.audit import Audit
from tclose.verify.certificate import Certificate, certify
from tclose.workflows.release.delivery import Delivery, ReleasedRows, Unproven
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
    details: dict[str, Any]
    hashes: dict[str, Any]
    left_out: dict[str, Any]
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
    details: dict[str, Any],
) -> Proposal:
    """A recoding of a table that is in one place, ready to be published."""
    return Proposal(
        rows=Rewriter(bound, bound.source.stream(), recoding, pseudonyms),
        released_rows=int(bound.cells.rows[recoding.label >= 0].sum()),
        loss=recoding.loss,
        details=details,
        hashes=hashes_of(bound, plan),
        left_out=rows_from(bound, recoding.quasi, recoding.label < 0),
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
        sizes=sizes_of(delivered.audit, job.input_rows),
        plan=proposal.plan,
        outcome=proposal.outcome,
        left_out=proposal.loss.left_out,
        leftover=proposal.leftover,
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
    loss = proposal.loss
    content = {
        **proposal.details,
        "command": job.command,
        "input_rows": job.input_rows,
        "left_out": proposal.left_out,
        "loss": {"measure": "iyengar", "overall": loss.overall, "columns": loss.columns},
        "versions": versions(),
        "hashes": proposal.hashes | {"output": output_hash},
        "sizes": vars(sizes_of(audit, job.input_rows)),
    }
    certificate = certify(audit, policy_json(job.policy), content)
    save_json(job.targets.certificate, certificate.to_json())
    if proposal.plan is not None:
        save_json(job.targets.plan, proposal.plan.to_json())
    return certificate


def _report(
    original: Original,
    release: Release,
    path: str | Path | None,
    edition: str,
    frontier: Frontier | None,
) -> Document:
    return release_report(release, original, path, edition=edition, frontier=frontier)
