"""Reports on audits, verified tables and releases: wires what was counted to what people read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tclose.attacks.suite import attack_release
from tclose.data import BoundTable, Cells, Reading, Source, bind, open_source
from tclose.data.alignment import align
from tclose.data.io.files import delimiter_for
from tclose.data.io.paths import Address
from tclose.errors import UsageError
from tclose.release import Release
from tclose.report.compose import compose_document
from tclose.report.document import Document, Section
from tclose.report.frontier import make_frontier_section
from tclose.report.render.saving import parse_edition, save_document
from tclose.report.subject import CountedTable, Kind, Subject
from tclose.search.frontier.curves import Frontier
from tclose.verify import Audit, Certificate, Check, audit_bound


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
) -> Document:
    """The report on a table that was audited or verified, also written where a path is given.

    The suffix says what is written: a page (.html), plain values (.json) or plain text (.txt).

    >>> import pyarrow as pa, tclose
    >>> table = pa.table({"zip": ["476", "476", "479", "479"], "illness": list("abab")})
    >>> page = audit_report(tclose.audit(table, quasi="zip", sensitive="illness"))
    >>> page.edition, page.sections[0].title
    ('external', 'What was measured')
    """
    if audit.in_parts:
        raise UsageError(
            "there is no report on a table that was counted part by part",
            where=audit.source,
            hint="leave the report out, or allow more cells in one place (--cells)",
        )
    attacks = attack_release(audit.bound, population=population)
    subject = Subject(
        kind=kind,
        now=CountedTable(audit, attacks),
        edition=parse_edition(edition),
        certificate=certificate,
        checks=tuple(checks),
        hashes=hashes or {},
    )
    return _save(compose_document(subject, further), path)


def release_report(
    release: Release,
    original: BoundTable,
    reading: Reading,
    path: str | Path | None = None,
    *,
    edition: str = "external",
    frontier: Frontier | None = None,
) -> Document:
    """The report on a release beside the table that it was made from, with a frontier if given.

    The release is read again as it is now: it was counted under another name while written.
    """
    people, policy = release.people, release.audit.bound.policy
    bound = bind(policy, _open_again(release, original.source.delimiter, reading.memory))
    now = audit_bound(bound, population=people, measure_all=False)
    held = align(original, bound)
    before = audit_bound(original, population=people, measure_all=False)
    subject = Subject(
        kind="release",
        now=CountedTable(now, attack_release(bound, original=held, population=people)),
        edition=parse_edition(edition),
        before=CountedTable(before, attack_release(original, population=people)),
        certificate=release.certificate,
    )
    further = () if frontier is None else (make_frontier_section(frontier),)
    return _save(compose_document(subject, further), path)


def _save(document: Document, path: str | Path | None) -> Document:
    if path is not None:
        save_document(document, path)
    return document


def _open_again(release: Release, delimiter: str, memory: str | None) -> Source:
    path = release.path
    if release.data is not None or path is None:
        return open_source(release.data)
    if isinstance(path, Address):
        return open_source(path)
    return open_source(path, Reading(delimiter=delimiter_for(path, delimiter), memory=memory))
