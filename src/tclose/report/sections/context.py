"""The context of a release (recipient, purpose, controls), and where other documents ask for it.

The table maps sections of this report to places in public documents, so that somebody who fills in
one of their forms finds the answer. It claims nothing about any of these documents.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from tclose.policy.model import ReleaseContext
from tclose.report.document import Paragraph, Part, Section, Table
from tclose.report.subject import Subject

(_, *FRAMEWORKS), *_LINES = csv.reader(
    Path(__file__).with_name("frameworks.csv").read_text(encoding="utf-8").splitlines()
)
PLACES = {key: tuple(places) for key, *places in _LINES}
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
