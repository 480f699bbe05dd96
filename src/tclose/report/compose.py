"""From what was counted to a document: which sections, in which order."""

from __future__ import annotations

from collections.abc import Sequence

from tclose.report.document import Document, Section
from tclose.report.sections.findings import (
    make_attacks_section,
    make_limits_section,
    make_losses_section,
    make_method_section,
    make_presets_section,
)
from tclose.report.sections.overview import (
    make_before_section,
    make_measures_section,
    make_promise_section,
    make_risk_section,
)
from tclose.report.sections.spread import make_spread_section, make_worst_section
from tclose.report.subject import Subject
from tclose.verify.wording import rows_text

TITLES = {
    "audit": "How private is this table?",
    "release": "What this release promises",
    "verify": "Does this release keep its promise?",
}


def compose_document(subject: Subject, further: Sequence[Section] = ()) -> Document:
    """The report on a table or a release; `further` sections stand before the attacks."""
    audit = subject.now.audit
    sections = (
        make_promise_section(subject),
        make_before_section(subject),
        make_risk_section(subject),
        make_spread_section(subject),
        make_worst_section(subject),
        make_losses_section(subject),
        *further,
        make_attacks_section(subject),
        make_limits_section(subject),
        make_presets_section(subject),
        make_measures_section(subject),
        make_method_section(subject),
    )
    return Document(
        title=TITLES[subject.kind],
        subtitle=f"{audit.source}: {rows_text(audit.rows)}",
        edition=subject.edition,
        sections=tuple(section for section in sections if section is not None),
    )
