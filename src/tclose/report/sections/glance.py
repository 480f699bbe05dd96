"""The top of a report: the promise, what is left of each column, and what attacks still find."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tclose.attacks.finding import Finding
from tclose.plain import rows_text, share_text
from tclose.report.document import (
    Card,
    Cards,
    Fact,
    Figure,
    Figures,
    Paragraph,
    Part,
    Section,
    Tone,
)
from tclose.report.sections.findings import (
    RISKS,
    SEVERITY_TONES,
    name_attack,
    rank_findings,
    rate_severity,
)
from tclose.report.sections.overview import (
    join_names,
    measure_nearness,
    name_requirement,
    name_whole,
    write_required,
)
from tclose.report.subject import Subject
from tclose.report.summaries import warn_of_refuted
from tclose.requirements.closeness.nt_closeness import NTCloseness
from tclose.verify.verdict import Verdict

MOST_FACTS = 6
CLOSENESS = ("t-closeness", "joint-t-closeness", NTCloseness.name)
NOTHING = 0.9995
"""The loss from which nothing is left of a column, to the displayed decimal."""
LITTLE = 0.2
"""Below this share, little is left of a column."""


def make_glance_section(subject: Subject) -> Section:
    """Makes the first section: warnings, three verdicts side by side, and main numbers."""
    cards = [judge_usefulness(subject)]
    if subject.edition != "users":
        cards = [_judge_promise(subject), *cards, _judge_attacks(subject)]
    notices = list(_list_notices(subject))
    first = [notice for notice in notices if notice.tone == "bad"]
    others = [notice for notice in notices if notice.tone != "bad"]
    parts: list[Part] = [*first, Cards(tuple(cards)), *others, _show_figures(subject)]
    return Section("glance", "At a glance", tuple(parts))


def _judge_promise(subject: Subject) -> Card:
    """Makes the card on whether the promise is kept, and how near each limit is."""
    audit = subject.now.audit
    if not audit.promised:
        note = f"Nothing was promised about this {subject.thing}; the report says what it attains."
        return Card("The promise", "nothing promised", "note", note=note)
    near = sorted(
        ((measure_nearness(verdict), verdict) for verdict in audit.requirements),
        key=lambda pair: (pair[1].holds is True, -(pair[0] or 0.0)),
    )
    facts = tuple(
        _make_nearness_fact(share, verdict, subject) for share, verdict in near[:MOST_FACTS]
    )
    if audit.holds:
        note = f"Counted on the {subject.thing} itself: {_condense_promise(subject)}"
        return Card("The promise", "kept", "good", facts, note)
    if audit.is_undecided:
        note = "No requirement fails, but some cannot be decided; the notes say why."
        return Card("The promise", "not proved", "bad", facts, note)
    broken = sum(verdict.holds is not True for verdict in audit.requirements)
    note = f"{broken} of {len(audit.requirements)} requirements are not kept."
    return Card("The promise", "does not hold", "bad", facts, note)


def _make_nearness_fact(share: float | None, verdict: Verdict, subject: Subject) -> Fact:
    name = name_requirement(verdict, subject)
    if verdict.holds is not True:
        words = "cannot be decided" if verdict.holds is None else "broken"
        return Fact(name, words, "bad" if verdict.holds is False else "note")
    if share is None:
        return Fact(name, "kept", "good")
    return Fact(name, f"{verdict.achieved_text}, {write_required(verdict)}", "good", share)


def _condense_promise(subject: Subject) -> str:
    """Writes the promise in one sentence: the size of classes, then closeness."""
    verdicts = subject.now.audit.requirements
    crowds = [verdict.required for verdict in verdicts if verdict.requirement == "k-anonymity"]
    close: dict[str, list[str]] = {}
    for verdict in verdicts:
        if verdict.requirement in CLOSENESS:
            close.setdefault(name_whole(verdict), []).append(verdict.attribute or "")
    parts = []
    if crowds and crowds[0]:
        parts.append(f"every person is one of at least {crowds[0]} who look alike")
    for whole, attributes in close.items():
        names = join_names([subject.show(name) for name in dict.fromkeys(attributes)])
        parts.append(
            f"in every group that looks alike the spread of {names} is as close to that of {whole} "
            "as promised"
        )
    return f"{', and '.join(parts) or 'every requirement below is kept'}."


def judge_usefulness(subject: Subject) -> Card:
    """Makes the card on what is left of each column that was generalized."""
    title = "Usefulness"
    if subject.kind == "audit":
        note = "Nothing was done to this table: every column is as it was read."
        return Card(title, "as it was", note=note)
    lost = subject.lost
    if not lost:
        note = "A certificate says what each column lost; none was given."
        return Card(title, "not known", "aside", note=note)
    facts = tuple(
        make_remaining_fact(subject.show(name), loss)
        for name, loss in sorted(lost.items(), key=lambda named: -named[1])
    )
    empty = [subject.show(name) for name, loss in lost.items() if loss >= NOTHING]
    left = 1 - sum(lost.values()) / len(lost)
    note = "Columns that are not listed were not generalized; see what was done to each column."
    if subject.kind == "verify":
        note += " This is stated by the certificate; it cannot be recounted without the original."
    if empty:
        return Card(title, f"nothing left of {join_names(empty)}", "bad", facts, note)
    tone: Tone = "good" if left >= 0.5 else "note"
    return Card(title, f"{share_text(left)} of the detail left", tone, facts, note)


def make_remaining_fact(name: str, loss: float) -> Fact:
    """Makes a fact on what is left of a column: `birth_date: nothing left` is bad news."""
    if loss >= NOTHING:
        return Fact(name, "nothing left", "bad", 0.0)
    left = 1 - loss
    return Fact(name, f"{share_text(left)} left", "note" if left < LITTLE else "good", left)


def _judge_attacks(subject: Subject) -> Card:
    """Makes the card on what attacks still find, the most severe first."""
    report = subject.now.attacks
    found = rank_findings(report.found)
    tried = len(report.findings)
    if not found and all(finding.attack in RISKS for finding in report.findings):
        note = "Only the risks of being recognized were computed."
        return Card("Attacks", "not tried", "note", note=note)
    if not found:
        note = f"{tried} attacks were tried. Attacks that could not be tried are listed below."
        return Card("Attacks", "nothing found", "good", note=note)
    worst = SEVERITY_TONES[rate_severity(found[0])]
    facts = tuple(_make_finding_fact(finding, subject) for finding in found[:MOST_FACTS])
    note = "Attacks go beyond the promise and are not judged against it."
    headline = f"{len(found)} of {tried} find something"
    return Card("Attacks", headline, "note" if worst == "plain" else worst, facts, note)


def _make_finding_fact(finding: Finding, subject: Subject) -> Fact:
    severity = rate_severity(finding)
    words = f"{share_text(finding.share)} of rows, {severity}"
    return Fact(name_attack(finding, subject), words, SEVERITY_TONES[severity], finding.share)


def _list_notices(subject: Subject) -> Iterator[Paragraph]:
    """Yields a fallback, warnings, and whether the certificate agrees with the count."""
    certificate, checks = subject.certificate, subject.checks
    if certificate is not None and (instead := certificate.fallback) is not None:
        yield Paragraph(f"{instead[0].upper()}{instead[1:]}.", "bad")
    yield from (refuted := warn_of_refuted(checks))
    if certificate is not None and subject.edition != "users":
        yield from (Paragraph(f"Warning: {text}", "bad") for text in certificate.warnings or ())
        if certificate.stopped == "clock":
            words = "The time limit ended the search: another run may find another release."
            yield Paragraph(words, "note")
    if checks and not refuted:
        yield Paragraph(
            "The certificate was compared with a fresh count: every line that can be recounted is "
            "confirmed.",
            "good",
        )


def _show_figures(subject: Subject) -> Figures:
    audit = subject.now.audit
    whose = "each is taken to be one person"
    if audit.bound.policy.subject is not None:
        whose = f"of {audit.bound.classes.everyone:,} persons"
    entries = [Figure(f"rows in the {subject.thing}", f"{audit.rows:,}", whose)]
    if subject.edition != "users":
        entries += [
            Figure("classes", f"{audit.classes:,}", "groups of rows that look alike"),
            Figure("smallest class", audit.k_text, tone=_judge_crowd(audit.requirements)),
        ]
    if subject.left_out:
        note = f"of {rows_text(audit.rows + subject.left_out)} read"
        entries.append(Figure("rows left out", f"{subject.left_out:,}", note, "note"))
    return Figures(tuple(entries))


def _judge_crowd(verdicts: Sequence[Verdict]) -> Tone:
    crowds = [v for v in verdicts if v.requirement == "k-anonymity" and v.required]
    return "plain" if not crowds else "good" if crowds[0].holds else "bad"
