"""report: reports on audits, on verified tables and on releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tclose.attacks.suite import EFFORT, Progress, attack_release
from tclose.data.alignment import align
from tclose.data.binding import BoundTable, bind
from tclose.data.encode.cells import Cells
from tclose.data.io.files import delimiter_for
from tclose.data.io.paths import Address, Reading
from tclose.data.io.transaction import find_part
from tclose.data.opening import open_source
from tclose.errors import UsageError
from tclose.policy.model import Policy
from tclose.report.compose import compose_document
from tclose.report.document import Document, Edition, Section
from tclose.report.frontier import make_frontier_section
from tclose.report.render.saving import parse_edition, save_document
from tclose.report.subject import CountedTable, Kind, Subject
from tclose.search.frontier.curves import Frontier
from tclose.verify.audit import Audit, audit_bound
from tclose.verify.certificate import Certificate
from tclose.verify.recheck import Check

REPORTING = "composing the report"
SHARE = 4
"""Attacks take as much work, at most, as a search that had one over this of the effort."""


def audit_report(
    audit: Audit,
    path: str | Path | None = None,
    *,
    edition: str = "external",
    kind: Kind = "audit",
    certificate: Certificate | None = None,
    checks: Sequence[Check] = (),
    hashes: Mapping[str, str] | None = None,
    population: Cells | None = None,
    further: Sequence[Section] = (),
    attacks: bool = True,
    progress: Progress = lambda step: None,
) -> Document:
    """Returns the report on an audited or verified table, and writes it if a path is given.

    The suffix of the path decides the format: a page (.html; .pdf needs Chromium), plain values
    (.json) or plain text (.txt).

    >>> import pyarrow as pa, tclose
    >>> table = pa.table({"zip": ["476", "476", "479", "479"], "illness": list("abab")})
    >>> page = audit_report(tclose.audit(table, quasi="zip", sensitive="illness"))
    >>> page.edition, page.sections[0].title
    ('external', 'At a glance')
    """
    if audit.in_parts:
        raise UsageError(
            "there is no report on a table that was counted part by part",
            where=audit.source,
            hint="leave the report out, or allow more cells in one place (--cells)",
        )
    chosen = parse_edition(edition, kind)
    asked: dict[str, Any] = {
        "population": population,
        "only_risks": not attacks,
        "progress": progress,
    }
    tried = _attack(audit, chosen, **asked)
    progress(REPORTING)
    subject = Subject(
        kind=kind,
        now=tried,
        edition=chosen,
        certificate=certificate,
        checks=tuple(checks),
        hashes=hashes or {},
    )
    return _save(compose_document(subject, further), path)


def release_report(
    original: BoundTable,
    reading: Reading,
    released: Any,
    certificate: Certificate,
    path: str | Path | None,
    edition: str,
    *,
    policy: Policy,
    people: Cells | None = None,
    frontier: Frontier | None = None,
    attacks: bool = True,
    progress: Progress = lambda step: None,
) -> Document:
    """The report on a release beside its original table, with a frontier if one is given.

    A release that is a file is read again as it is now: it was counted under another name while
    written.
    """
    mark = None
    if isinstance(released, Path | Address):
        mark = delimiter_for(str(released), original.source.delimiter)
        released = find_part(released) or released
    bound = bind(policy, open_source(released, Reading(delimiter=mark, memory=reading.memory)))
    named = certificate.supersets or ()
    now = audit_bound(bound, population=people, measure_all=False, supersets=named)
    before = audit_bound(original, population=people, measure_all=False)
    held = align(original, bound)
    chosen = parse_edition(edition)
    asked: dict[str, Any] = {
        "population": people,
        "seed": certificate.seed,
        "only_risks": not attacks,
        "progress": progress,
    }
    work = certificate.effort
    budget = EFFORT if work is None else work / SHARE
    subject = Subject(
        kind="release",
        now=_attack(now, chosen, original=held, effort=budget, **asked),
        edition=chosen,
        before=_attack(before, chosen, **asked),
        certificate=certificate,
        alignment=held,
    )
    progress(REPORTING)
    further = () if frontier is None else (make_frontier_section(frontier),)
    return _save(compose_document(subject, further), path)


def _attack(audit: Audit, edition: Edition, **asked: Any) -> CountedTable:
    """A table with the findings of all attacks; none are tried for the edition for users."""
    if edition == "users":
        return CountedTable(audit)
    return CountedTable(audit, attack_release(audit.bound, **asked))


def _save(document: Document, path: str | Path | None) -> Document:
    if path is not None:
        save_document(document, path)
    return document
