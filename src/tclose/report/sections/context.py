"""The context of a release (recipient, purpose, controls), and where other documents ask for it.

The table maps sections of this report to places in public documents, so that somebody who fills in
one of their forms finds the answer. It claims nothing about any of these documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tclose.policy.model import ReleaseContext
from tclose.report.document import Paragraph, Part, Section, Table
from tclose.report.subject import Subject

FRAMEWORKS = (
    "ISO/IEC 27559:2022, clause",
    "HIPAA 45 CFR 164.514(b)(1)",
    "EMA Policy 0070 (guidance EMA/90915/2016), anonymisation process",
    "ESS Handbook on SDC (2010), microdata",
    "Ontario IPC 2016 (12 other steps since 2025), step",
)
PLACES: dict[str, tuple[str, str, str, str, str]] = {
    "context": (
        "6 Context assessment; 9 De-identification governance",
        "the person who determines; (i) the anticipated recipient",
        "possible adversaries; the threshold",
        "roadmap: why and for whom",
        "1 Release model; 3 Threshold; 5 Context risk",
    ),
    "glance": (
        "8 Identifiability assessment and mitigation",
        "(i) that the risk is very small",
        "the actual risk against the threshold",
        "roadmap: the decision to release",
        "6 Overall risk",
    ),
    "promise": (
        "7.3.4 Data privacy models; 8.2.2 Quantifying identifiability",
        "(i) principles and methods applied",
        "the actual risk against the threshold",
        "risk assessment",
        "3 Threshold; 6 Overall risk",
    ),
    "columns": (
        "7.2 Data features; 8.3.3 Transforming the data",
        "(ii) the methods",
        "direct and quasi-identifiers; methodology; data utility",
        "protection methods; information loss",
        "2 Classify variables; 7 De-identify; 8 Utility",
    ),
    "before-and-after": (
        "8.3.4 Re-evaluation",
        "(ii) the results",
        "the actual risk",
        "risk assessment",
        "4 Data risk; 7 De-identify",
    ),
    "risk": (
        "7.3.2 Maximum or average risk; 8.2.2 Quantifying identifiability",
        "(i) the risk of identification",
        "the actual risk of re-identification",
        "risk assessment",
        "4 Data risk",
    ),
    "spread": (
        "8.2.2 Quantifying identifiability",
        "(ii) the results",
        "the actual risk",
        "risk assessment",
        "4 Data risk",
    ),
    "worst": (
        "8.2.2 Quantifying identifiability",
        "(ii) the results",
        "the actual risk",
        "risk assessment",
        "4 Data risk",
    ),
    "frontier": (
        "8.3 Mitigation",
        "(ii) the analysis",
        "data utility",
        "information loss",
        "8 Utility",
    ),
    "attacks": (
        "7.3 Attack modelling; 8.2.3 Adversarial testing",
        "(i) alone or with other information",
        "plausible attacks",
        "disclosure scenarios",
        "4 Data risk; 5 Context risk",
    ),
    "limits": (
        "9.3 After data are made available",
        "(ii) the analysis",
        "plausible attacks",
        "disclosure scenarios",
        "9 Document",
    ),
    "method": (
        "9.2 Before data are made available",
        "(ii) documentation of methods and results",
        "documentation of methodology and process",
        "roadmap: implementation",
        "9 Document",
    ),
}
"""The places in each document that ask for a section's content, by the section's key."""
MAPPING = (
    "Each row shows where another document asks for the content of a section of this report. The "
    "readers have to judge whether it is sufficient."
)
LABELS = {
    "recipient": "recipient",
    "purpose": "purpose",
    "controls": "controls",
    "threshold": "threshold",
    "justification": "why this threshold",
    "expert": "expert",
    "review_date": "to be reviewed by",
}
"""The labels of context keys in a report."""
FOR_USERS = ("recipient", "purpose", "controls", "review_date")
"""Threshold and expert are not for data users; they stay with the office that releases the data."""


def make_context_section(subject: Subject) -> Section | None:
    """Makes the section on recipient, purpose, controls and so on, if the policy has a context."""
    context = subject.now.audit.bound.policy.context
    if context is None:
        return None
    keys = FOR_USERS if subject.edition == "users" else tuple(LABELS)
    rows = list(_list_context(context, keys))
    if subject.edition != "users" and context.expert is not None:
        rows.append(("signature and date", "\u00a0"))
    words = "Information from the policy about this release. It was not verified."
    caption = "Recipient, purpose and controls"
    parts: tuple[Part, ...] = (
        Paragraph(words), Table(caption, ("what", "from the policy"), tuple(rows)),
    )  # fmt: skip
    return Section("context", "Who gets it, and under which conditions", parts)


def _list_context(context: ReleaseContext, keys: Sequence[str]) -> Iterator[tuple[str, str]]:
    for key in keys:
        value = getattr(context, key)
        if isinstance(value, tuple):
            yield from ((LABELS[key], control) for control in value)
        elif value is not None:
            yield LABELS[key], str(value)


def make_mapping_section(sections: Sequence[Section]) -> Section:
    """Makes the table of sections and the other documents that ask for them."""
    rows = [(each.title, *PLACES[each.key]) for each in sections if each.key in PLACES]
    table = Table("Sections of this report and what others ask", ("section", *FRAMEWORKS),
                  tuple(rows))  # fmt: skip
    return Section("mapping", "Where others ask for this", (Paragraph(MAPPING), table))
