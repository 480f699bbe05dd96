"""From what was counted to a document: which sections, in which order."""

from __future__ import annotations

from collections.abc import Sequence

from tclose.report.document import Document, Section
from tclose.report.sections.findings import (
    attacks_section,
    limits_section,
    losses_section,
    method_section,
    presets_section,
)
from tclose.report.sections.overview import (
    before_section,
    measures_section,
    promise_section,
    risk_section,
)
from tclose.report.sections.spread import spread_section
from tclose.report.sections.worst import worst_section
from tclose.report.subject import Subject
from tclose.verify.wording import rows_text

TITLES = {
    "audit": "How private is this table?",
    "release": "What this release promises",
    "verify": "Does this release keep its promise?",
}


def document_of(subject: Subject, further: Sequence[Section] = ()) -> Document:
    """The report on a table or a release; `further` sections stand before the attacks."""
    audit = subject.now.audit
    sections = (
        promise_section(subject),
        before_section(subject),
        risk_section(subject),
        spread_section(subject),
        worst_section(subject),
        losses_section(subject),
        *further,
        attacks_section(subject),
        limits_section(subject),
        presets_section(subject),
        measures_section(subject),
        method_section(subject),
    )
    return Document(
        title=TITLES[subject.kind],
        subtitle=f"{audit.source}: {rows_text(audit.rows)}",
        edition=subject.edition,
        sections=tuple(one for one in sections if one is not None),
    )
