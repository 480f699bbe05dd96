"""One card per column: role, treatment, a typical released value, loss, and its distribution.

In external reports typical values are made up: they have the form of a released value, and do not
occur in the table or the release.
"""

from __future__ import annotations

from collections.abc import Iterator

from tclose.data.encode.columns import MISSING
from tclose.data.encode.labels import ANYTHING
from tclose.dictionary import ReleasedValues, describe_treatment
from tclose.plain import share_text
from tclose.report.distributions import chart_distribution
from tclose.report.document import Card, Cards, Fact, Paragraph, Part, Section, Table, Tone
from tclose.report.made_up import make_up
from tclose.report.sections.findings import describe_left_out
from tclose.report.sections.glance import make_remaining_fact
from tclose.report.subject import Subject

ROLES = {
    "identifier": "identifier",
    "quasi": "quasi-identifier",
    "sensitive": "sensitive",
    "insensitive": "not sensitive",
    "count": "how many rows a row stands for",
    "weight": "survey weight",
    "subject": "whose row it is",
}
HOW_TO_READ = (
    ("[20, 30]", "an interval: both ends belong to it",
     "use its middle or a random value in it; never one of its ends"),
    ("[20, 30)", "an interval without its upper end", "as above"),
    ("{A, B}", "one of the values named", "divide the row among them"),
    ("12***", "values that begin so", "a region, a chapter, a group of codes"),
    ("the name of a group", "any value of the group in the hierarchy", "use it as a category"),
    (ANYTHING, "any value: nothing is left here", "treat it as missing"),
)  # fmt: skip


def make_columns_section(subject: Subject) -> Section:
    """Makes the section on what was done to each column, and what is left of it."""
    policy = subject.now.audit.bound.policy
    made = [_describe_column(subject, name) for name in policy.columns]
    cards = tuple(sorted(made, key=lambda card: card.chart is None))  # those with most to say first
    words = (
        "0% lost means that a column is unchanged, 100% that all its information is lost. The loss "
        "is the share of the column's range that a released value covers on average."
    )
    title = "What was done to each column"
    if subject.kind == "audit":
        words, title = "The role of each column and the distribution of its values.", "Each column"
    if not subject.internal:
        words += " Typical values are made up: they show the format, not the content."
        if subject.before is not None:
            words += " Distributions before the release are not drawn if they could reveal values"
            words += " of few rows."
    parts: list[Part] = [Paragraph(words), *_describe_target(subject), Cards(cards)]
    parts += describe_left_out(subject)
    return Section("columns", title, tuple(parts))


def _describe_target(subject: Subject) -> Iterator[Part]:
    """Describes what columns were weighted for, if a column is to be learned from the release."""
    target = None if subject.certificate is None else subject.certificate.target
    if target is not None:
        ranked = sorted(target.information.items(), key=lambda each: -each[1])
        shares = ", ".join(f"{subject.show(name)} {share:.1%}" for name, share in ranked)
        yield Paragraph(
            f"This release was made for predicting {subject.show(target.column)}: columns with "
            "more information about it were generalized less. Share of its entropy that each "
            f"column explains by itself in the whole table: {shares}.",
            "note",
        )


def make_reading_section() -> Section:
    """Makes the section for data users on how to read released values."""
    headings = ("a value such as", "means", "in an analysis")
    table = Table("Forms of released values", headings, HOW_TO_READ)
    lead = Paragraph(
        "Values were generalized only as far as needed, so the same column may contain values of "
        "different forms. Differences between rows of one group were removed on purpose. Do not "
        "try to restore them, and inform the provider of the data if a person seems recognizable."
    )
    return Section("reading", "How to read the values", (lead, table))


def _describe_column(subject: Subject, name: str) -> Card:
    bound, before = subject.now.audit.bound, subject.before
    column = bound.policy.columns[name]
    facts = [Fact("role", ROLES[column.role])]
    values, more, chart = None, [], None
    if name in bound.cells.codes:
        known = () if before is None else before.audit.bound.cells.dictionaries[name].labels
        values = ReleasedValues.of(bound, name, known)
        more.append(Fact("typical value", _choose_typical(subject, name, values)))
        if (loss := subject.lost.get(name)) is not None:
            tone = make_remaining_fact("left", loss).tone
            more.append(Fact("lost", share_text(loss), "plain" if tone == "good" else tone, loss))
        if column.role == "quasi" and subject.kind != "audit":
            stars = values.share_of("hidden")
            all_hidden: Tone = "bad" if stars == 1 else "plain"
            more.append(Fact("share of *", share_text(stars), all_hidden, stars))
        chart = chart_distribution(subject, name)
    treatment = "as it was read"
    if subject.kind != "audit":
        levels = None if subject.certificate is None else subject.certificate.levels
        treatment = describe_treatment(bound, name, values, levels, with_cleaning=False)
        if values is not None and column.cleaning_keys:
            facts.append(Fact("cleaned before", column.describe_cleaning()))
    empty = any(fact.tone == "bad" for fact in more)
    headline = f"{treatment}: nothing left" if empty else treatment
    return Card(subject.show(name), headline, "bad" if empty else "plain",
                (*facts, *more), _name_plainly(subject, name), chart)  # fmt: skip


def _name_plainly(subject: Subject, name: str) -> str:
    """Returns the column's own name, if people call it by a label."""
    return f"column {name}" if subject.show(name) != name else ""


def _choose_typical(subject: Subject, name: str, values: ReleasedValues) -> str:
    """Chooses the most frequent value; in an external report a made-up one of the same form."""
    typical, form = values.labels[values.typical], values.forms[values.typical]
    if subject.internal or typical in (ANYTHING, MISSING):
        return typical
    table = subject.now if subject.before is None else subject.before
    tree = table.audit.bound.hierarchies.get(name)
    return make_up(typical, form, {*values.labels, *values.raw}, tree)
