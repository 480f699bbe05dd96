"""The first pages of a report: the promise, before and after, and whether anybody is recognized."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tclose.report.document import Figure, Figures, Paragraph, Part, Points, Section, Table, Tone
from tclose.report.sections.words import listed, outcome, sentence, short_name
from tclose.report.subject import CountedTable, Subject
from tclose.verify.audit import Audit
from tclose.verify.verdict import Verdict


def make_promise_section(subject: Subject) -> Section:
    """What is promised, in sentences, and whether it is kept."""
    audit = subject.now.audit
    parts: list[Part] = [_verdict(subject), *_checked(subject), _at_a_glance(subject)]
    parts.append(_classes_explained(subject))
    if audit.promised:
        entries = tuple(
            (f"{short_name(one)} ({outcome(one)}).", _asked(one, subject.quasi))
            for one in audit.requirements
        )
        parts.append(Points(entries))
    parts.append(_asked_and_attained(audit.requirements, promised=audit.promised))
    parts += [Paragraph(f"{note[:1].upper()}{note[1:]}.", "note") for note in audit.notes]
    noted = [one for one in audit.requirements if one.note]
    parts += [Paragraph(f"{short_name(one)}: {one.note}.", "note") for one in noted]
    title = "The promise" if audit.promised else "What was measured"
    return Section("promise", title, tuple(parts))


def _asked(verdict: Verdict, quasi: Sequence[str]) -> str:
    """What a requirement says, as a fact only where it is one."""
    told = sentence(verdict, quasi)
    return told if verdict.holds else f"What was asked: {told[:1].lower()}{told[1:]}"


def _verdict(subject: Subject) -> Paragraph:
    audit = subject.now.audit
    if not audit.promised:
        return Paragraph(
            f"Nothing was promised about this {subject.thing}; this report says what it attains.",
            "note",
        )
    if not audit.holds:
        broken = [one for one in audit.requirements if one.holds is not True]
        return Paragraph(
            f"The promise does not hold: {len(broken)} of {len(audit.requirements)} requirements "
            f"are not kept by this {subject.thing}.",
            "bad",
        )
    told = _in_a_sentence(subject)
    return Paragraph(f"The promise holds, counted on the {subject.thing} itself: {told}", "good")


def _checked(subject: Subject) -> Iterator[Paragraph]:
    """Whether the certificate says the same as the count."""
    if not subject.checks:
        return
    refuted = sum(1 for check in subject.checks if check.confirmed is False)
    if refuted:
        yield Paragraph(
            f"The certificate is not true of this file: {refuted} of {len(subject.checks)} lines "
            "are refuted by the count. Each is listed at the end.",
            "bad",
        )
    else:
        yield Paragraph(
            "The certificate was held against a fresh count: every line that can be recounted is "
            "confirmed.",
            "good",
        )


def _in_a_sentence(subject: Subject) -> str:
    """The promise in one sentence: the crowd first, then what its members must not give away."""
    verdicts = subject.now.audit.requirements
    crowd = next((one.required for one in verdicts if one.requirement == "k-anonymity"), None)
    closeness = ("t-closeness", "joint-t-closeness")  # not (n, t): that is to a part of the table
    close = [one.attribute or "" for one in verdicts if one.requirement in closeness]
    names = list(dict.fromkeys(close))
    hidden = f"every person is one of at least {crowd} who look alike" if crowd else ""
    spread = (
        f"in every group that looks alike the spread of {listed(names)} is as close to that of the "
        "whole table as promised"
        if names
        else ""
    )
    told = ", and ".join(part for part in (hidden, spread) if part)
    return f"{told or 'every requirement below is kept'}."


def _at_a_glance(subject: Subject) -> Figures:
    audit = subject.now.audit
    entries = [
        Figure(f"rows in the {subject.thing}", f"{audit.rows:,}", _whose(audit)),
        Figure("classes", f"{audit.classes:,}", "groups of rows that look alike"),
        Figure("smallest class", audit.k_text, tone=_tone(audit.requirements)),
    ]
    if subject.left_out:
        read = audit.rows + subject.left_out
        told = f"of {read:,} rows read"
        entries.append(Figure("rows left out", f"{subject.left_out:,}", told, "note"))
    if lost := subject.lost:
        mean = sum(lost.values()) / len(lost)
        entries.append(Figure("detail lost", f"{mean:.0%}", "0% as it was, 100% nothing left"))
    return Figures(tuple(entries))


def _whose(audit: Audit) -> str:
    """Whose the rows are."""
    if audit.bound.policy.subject is None:
        return "each is taken to be one person"
    return f"of {audit.bound.classes.everyone:,} persons"


def _tone(verdicts: tuple[Verdict, ...]) -> Tone:
    crowd = [one for one in verdicts if one.requirement == "k-anonymity" and one.required]
    if not crowd:
        return "plain"
    return "good" if crowd[0].holds else "bad"


def _classes_explained(subject: Subject) -> Paragraph:
    return Paragraph(
        f"A class is a group of rows that look alike in {listed(subject.quasi)}: what others may "
        "know about a person. Whoever looks a person up finds the class, not the row."
    )


def _asked_and_attained(verdicts: tuple[Verdict, ...], *, promised: bool) -> Table:
    if promised:
        rows = tuple(
            (one.title, one.required or "", one.achieved_text, outcome(one)) for one in verdicts
        )
        return Table(
            "What was asked and what was attained",
            ("requirement", "asked", "attained", "outcome"),
            rows,
            (1, 2),
        )
    measured = tuple((one.title, one.achieved_text) for one in verdicts)
    return Table("What was attained", ("measure", "attained"), measured, (1,))


def make_measures_section(subject: Subject) -> Section | None:
    """What was measured without a promise, for those who know the field."""
    audit = subject.now.audit
    if not audit.measured:
        return None
    lead = Paragraph("What the field measures, too, for those who know it; without a promise.")
    table = _asked_and_attained(audit.measured, promised=False)
    return Section("measures", "Further measures", (lead, table))


def make_before_section(subject: Subject) -> Section | None:
    """The table that was read beside the release."""
    if subject.before is None:
        return None
    before, now = subject.before.audit, subject.now.audit
    rows: list[tuple[str, ...]] = [
        ("rows", f"{before.rows:,}", f"{now.rows:,}"),
        ("classes", f"{before.classes:,}", f"{now.classes:,}"),
        ("rows that look like no other", *(f"{_alone(one):,}" for one in (before, now))),
    ]
    rows += [
        (f"{one.title} (asked: {one.required})", _told(subject.was(one)), _told(one))
        for one in now.requirements
    ]
    known = {one.title for one in now.requirements}
    rows += [
        (f"identifier {one.attribute}", "in the table", "removed or masked")
        for one in before.requirements
        if one.requirement == "identifiers-removed" and one.title not in known
    ]
    caption = "The table that was read, and the release made from it"
    table = Table(caption, ("", "before", "after"), tuple(rows), (1, 2))
    told = "is broken by" if not before.holds else "is kept even by"
    lead = Paragraph(f"The promise {told} the table as it was read; the release keeps it.")
    return Section("before-and-after", "Before and after", (lead, table))


def _alone(audit: Audit) -> int:
    return int((audit.bound.classes.size == 1).sum())


def _told(verdict: Verdict | None) -> str:
    return "–" if verdict is None else f"{verdict.achieved_text} ({outcome(verdict)})"


def make_risk_section(subject: Subject) -> Section:
    """How likely it is that a row is recognized as a person's, now and before."""
    lead = Paragraph(
        "Two questions about re-identification. A prosecutor looks for one person who is known to "
        "be in the table: how sure can the guess be which row it is? A marketer matches everybody: "
        "how many rows would be assigned rightly? Both are taken to know every column that "
        "others may know."
    )
    parts: list[Part] = [lead, Figures(tuple(_risk_figures(subject)))]
    if subject.now.attacks.beliefs:
        parts += [*_beliefs(subject)]
    return Section("risk", "Could somebody be recognized?", tuple(parts))


def _risk_figures(subject: Subject) -> Iterator[Figure]:
    asked = (
        ("prosecutor", "highest risk", "one person: surest guess"),
        ("prosecutor", None, f"rows at high risk (fewer than {_crowd(subject)} look alike)"),
        ("marketer", "share", "everybody: rows matched rightly"),
        ("journalist", "highest risk", "one of the population: surest guess"),
    )
    for attack, number, label in asked:
        if (now := _risk(subject.now, attack, number)) is None:
            continue
        told, high = now
        was = None if subject.before is None else _risk(subject.before, attack, number)
        note = "" if was is None else f"before: {was[0]}"
        yield Figure(label, told, note, "bad" if high else "good")


def _crowd(subject: Subject) -> int:
    """The class size below which a risk counts as high."""
    found = subject.now.attacks.of("prosecutor")
    return round(1 / float(found[0].numbers["threshold"] or 1)) if found else 0


def _risk(counted: CountedTable, attack: str, number: str | None) -> tuple[str, bool] | None:
    found = counted.attacks.of(attack)
    if not found:
        return None
    one = found[0]
    limit = one.numbers.get("threshold") or 0.0
    if number is None:
        return f"{one.affected:,} of {one.total:,}", one.affected > 0
    value = float(one.numbers[number] or 0.0)
    return f"{value:.1%}", value > float(limit)


def _beliefs(subject: Subject) -> Iterator[Part]:
    yield Paragraph(
        "Not only the row matters. The table shows how often the best single guess at a sensitive "
        "value is right. Publishing the whole table is meant to teach something; the step from the "
        "table to the class is what it costs the person."
    )
    rows: list[tuple[str, ...]] = [
        (one.attribute, *(f"{part:.1%}" for part in one.guess))
        for one in subject.now.attacks.beliefs
    ]
    if subject.before is not None:
        was = {one.attribute: one.guess[2] for one in subject.before.attacks.beliefs}
        rows = [(*row, f"{was[row[0]]:.1%}" if row[0] in was else "–") for row in rows]
    heads = ("attribute", "nothing known", "the table known", "the class known")
    extra = ("the class known, before",) if subject.before is not None else ()
    caption = "How often the best guess is right"
    yield Table(caption, (*heads, *extra), tuple(rows), tuple(range(1, 4 + len(extra))))
