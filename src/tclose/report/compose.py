"""Composes a report from what was counted: which sections, in which order."""

from __future__ import annotations

from collections.abc import Sequence

from tclose.plain import rows_text
from tclose.report.document import Document, Section
from tclose.report.sections import columns, context, findings, glance, overview, spread
from tclose.report.subject import Subject

TITLES = {
    "audit": "How private is this table?",
    "release": "What this release promises",
    "verify": "Does this release keep its promise?",
}
FOR_USERS = "What was done to this table"


def compose_document(subject: Subject, further: Sequence[Section] = ()) -> Document:
    """Makes the report on a table or a release; `further` sections come before the attacks."""
    audit = subject.now.audit
    subtitle = f"{audit.source}: {rows_text(audit.rows)}"
    if subject.edition == "users":
        return Document(FOR_USERS, subtitle, subject.edition, _compose_for_users(subject))
    sections = (
        glance.make_glance_section(subject),
        overview.make_promise_section(subject),
        columns.make_columns_section(subject),
        overview.make_before_section(subject),
        overview.make_risk_section(subject),
        spread.make_spread_section(subject),
        spread.make_worst_section(subject),
        *further,
        findings.make_attacks_section(subject),
        findings.make_limits_section(subject),
        findings.make_presets_section(subject),
        overview.make_measures_section(subject),
        context.make_context_section(subject),
        findings.make_method_section(subject),
    )
    shown = tuple(section for section in sections if section is not None)
    if audit.bound.policy.context is not None:
        shown = (*shown, context.make_mapping_section(shown))
    return Document(TITLES[subject.kind], subtitle, subject.edition, shown)


def _compose_for_users(subject: Subject) -> tuple[Section, ...]:
    """Makes the sections for data users: what was done to each column, without any risk."""
    sections = (
        glance.make_glance_section(subject),
        columns.make_columns_section(subject),
        columns.make_reading_section(),
        context.make_context_section(subject),
        findings.make_method_section(subject),
    )
    return tuple(section for section in sections if section is not None)
