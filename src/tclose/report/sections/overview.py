"""The first pages of a report: the promise, before and after, and whether anybody is recognized."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tclose.distance.registry import DISTANCES
from tclose.report.document import Figure, Figures, Paragraph, Part, Points, Section, Table, Tone
from tclose.report.subject import CountedTable, Subject
from tclose.requirements.registry import find_requirement
from tclose.verify.audit import Audit
from tclose.verify.verdict import Verdict
from tclose.verify.wording import rows_text

IDENTIFIERS = (
    "Names removed: {about}",
    "The column {about}, which names people, is not in the table.",
)
"""Of a release that still has identifiers: no requirement on classes, but told like one."""
OTHERS_KNOWN = " This holds even against somebody who knows the person's other sensitive values."


def join_names(names: Sequence[str]) -> str:
    """Names as a sentence lists them.

    >>> join_names(["age", "zip", "sex"]), join_names(["age"])
    ('age, zip and sex', 'age')
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def name_requirement(verdict: Verdict) -> str:
    """What a requirement is about, in a few words."""
    kind = find_requirement(verdict.requirement)
    topic = IDENTIFIERS[0] if kind is None else kind.topic
    name = topic.format(about=verdict.attribute or "")
    return f"{name} (others known)" if verdict.adversary == "knows_others" else name


def describe_requirement(verdict: Verdict, quasi: Sequence[str]) -> str:
    """What a requirement asks of every class, in plain words."""
    kind, measure = find_requirement(verdict.requirement), DISTANCES.get(verdict.distance or "")
    plain = (IDENTIFIERS[1] if kind is None else kind.sentence).format(
        about=verdict.attribute or "",
        required=verdict.required or "",
        quasi=join_names(quasi),
        scale="" if measure and measure.in_bits else " on a scale from 0 (alike) to 1",
        by=measure.phrase if measure else "",
    )
    return plain + OTHERS_KNOWN if verdict.adversary == "knows_others" else plain


def write_outcome(verdict: Verdict) -> str:
    """Whether it is kept, in a few words."""
    if verdict.required is None:
        return f"attained: {verdict.achieved_text}"
    if verdict.holds is None:
        return "cannot be decided"
    if verdict.holds:
        return "kept"
    return f"broken for {rows_text(verdict.failing_rows)}"


def make_promise_section(subject: Subject) -> Section:
    """What is promised, in sentences, and whether it is kept."""
    audit = subject.now.audit
    parts: list[Part] = [_state_verdict(subject), *_state_checks(subject), _show_figures(subject)]
    parts.append(_explain_classes(subject))
    if audit.promised:
        entries = tuple(
            (
                f"{name_requirement(verdict)} ({write_outcome(verdict)}).",
                _state_requirement(verdict, subject.quasi),
            )
            for verdict in audit.requirements
        )
        parts.append(Points(entries))
    parts.append(_tabulate_verdicts(audit.requirements, promised=audit.promised))
    parts += [Paragraph(f"{note[:1].upper()}{note[1:]}.", "note") for note in audit.notes]
    noted = [verdict for verdict in audit.requirements if verdict.note]
    parts += [
        Paragraph(f"{name_requirement(verdict)}: {verdict.note}.", "note") for verdict in noted
    ]
    title = "The promise" if audit.promised else "What was measured"
    return Section("promise", title, tuple(parts))


def _state_requirement(verdict: Verdict, quasi: Sequence[str]) -> str:
    """What a requirement says, as a fact only where it is one."""
    words = describe_requirement(verdict, quasi)
    return words if verdict.holds else f"What was asked: {words[:1].lower()}{words[1:]}"


def _state_verdict(subject: Subject) -> Paragraph:
    audit = subject.now.audit
    if not audit.promised:
        return Paragraph(
            f"Nothing was promised about this {subject.thing}; this report says what it attains.",
            "note",
        )
    if not audit.holds:
        broken = [verdict for verdict in audit.requirements if verdict.holds is not True]
        return Paragraph(
            f"The promise does not hold: {len(broken)} of {len(audit.requirements)} requirements "
            f"are not kept by this {subject.thing}.",
            "bad",
        )
    promise = _condense_promise(subject)
    return Paragraph(f"The promise holds, counted on the {subject.thing} itself: {promise}", "good")


def _state_checks(subject: Subject) -> Iterator[Paragraph]:
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


def _condense_promise(subject: Subject) -> str:
    """The promise in one sentence: the crowd first, then what its members must not give away."""
    verdicts = subject.now.audit.requirements
    crowd = next(
        (verdict.required for verdict in verdicts if verdict.requirement == "k-anonymity"), None
    )
    closeness = ("t-closeness", "joint-t-closeness")  # not (n, t): that is to a part of the table
    close = [verdict.attribute or "" for verdict in verdicts if verdict.requirement in closeness]
    names = list(dict.fromkeys(close))
    hidden = f"every person is one of at least {crowd} who look alike" if crowd else ""
    spread = (
        f"in every group that looks alike the spread of {join_names(names)} is as close to that of "
        "the whole table as promised"
        if names
        else ""
    )
    promise = ", and ".join(part for part in (hidden, spread) if part)
    return f"{promise or 'every requirement below is kept'}."


def _show_figures(subject: Subject) -> Figures:
    audit = subject.now.audit
    entries = [
        Figure(f"rows in the {subject.thing}", f"{audit.rows:,}", _describe_rows(audit)),
        Figure("classes", f"{audit.classes:,}", "groups of rows that look alike"),
        Figure("smallest class", audit.k_text, tone=_choose_tone(audit.requirements)),
    ]
    if subject.left_out:
        read = audit.rows + subject.left_out
        note = f"of {read:,} rows read"
        entries.append(Figure("rows left out", f"{subject.left_out:,}", note, "note"))
    if lost := subject.lost:
        mean = sum(lost.values()) / len(lost)
        entries.append(Figure("detail lost", f"{mean:.0%}", "0% as it was, 100% nothing left"))
    return Figures(tuple(entries))


def _describe_rows(audit: Audit) -> str:
    """Whose the rows are."""
    if audit.bound.policy.subject is None:
        return "each is taken to be one person"
    return f"of {audit.bound.classes.everyone:,} persons"


def _choose_tone(verdicts: tuple[Verdict, ...]) -> Tone:
    crowd = [
        verdict for verdict in verdicts if verdict.requirement == "k-anonymity" and verdict.required
    ]
    if not crowd:
        return "plain"
    return "good" if crowd[0].holds else "bad"


def _explain_classes(subject: Subject) -> Paragraph:
    return Paragraph(
        f"A class is a group of rows that look alike in {join_names(subject.quasi)}: what others "
        "may know about a person. Whoever looks a person up finds the class, not the row."
    )


def _tabulate_verdicts(verdicts: tuple[Verdict, ...], *, promised: bool) -> Table:
    if promised:
        rows = tuple(
            (verdict.title, verdict.required or "", verdict.achieved_text, write_outcome(verdict))
            for verdict in verdicts
        )
        return Table(
            "What was asked and what was attained",
            ("requirement", "asked", "attained", "outcome"),
            rows,
            (1, 2),
        )
    measured = tuple((verdict.title, verdict.achieved_text) for verdict in verdicts)
    return Table("What was attained", ("measure", "attained"), measured, (1,))


def make_measures_section(subject: Subject) -> Section | None:
    """What was measured without a promise, for those who know the field."""
    audit = subject.now.audit
    if not audit.measured:
        return None
    lead = Paragraph("What the field measures, too, for those who know it; without a promise.")
    table = _tabulate_verdicts(audit.measured, promised=False)
    return Section("measures", "Further measures", (lead, table))


def make_before_section(subject: Subject) -> Section | None:
    """The table that was read beside the release."""
    if subject.before is None:
        return None
    before, now = subject.before.audit, subject.now.audit
    rows: list[tuple[str, ...]] = [
        ("rows", f"{before.rows:,}", f"{now.rows:,}"),
        ("classes", f"{before.classes:,}", f"{now.classes:,}"),
        ("rows that look like no other", *(f"{_count_alone(audit):,}" for audit in (before, now))),
    ]
    rows += [
        (
            f"{verdict.title} (asked: {verdict.required})",
            _write_attained(subject.was(verdict)),
            _write_attained(verdict),
        )
        for verdict in now.requirements
    ]
    known = {verdict.title for verdict in now.requirements}
    rows += [
        (f"identifier {verdict.attribute}", "in the table", "removed or masked")
        for verdict in before.requirements
        if verdict.requirement == "identifiers-removed" and verdict.title not in known
    ]
    caption = "The table that was read, and the release made from it"
    table = Table(caption, ("", "before", "after"), tuple(rows), (1, 2))
    fate = "is broken by" if not before.holds else "is kept even by"
    lead = Paragraph(f"The promise {fate} the table as it was read; the release keeps it.")
    return Section("before-and-after", "Before and after", (lead, table))


def _count_alone(audit: Audit) -> int:
    return int((audit.bound.classes.size == 1).sum())


def _write_attained(verdict: Verdict | None) -> str:
    return "–" if verdict is None else f"{verdict.achieved_text} ({write_outcome(verdict)})"


def make_risk_section(subject: Subject) -> Section:
    """How likely it is that a row is recognized as a person's, now and before."""
    lead = Paragraph(
        "Two questions about re-identification. A prosecutor looks for one person who is known to "
        "be in the table: how sure can the guess be which row it is? A marketer matches everybody: "
        "how many rows would be assigned rightly? Both are taken to know every column that "
        "others may know."
    )
    parts: list[Part] = [lead, Figures(tuple(_list_risks(subject)))]
    if subject.now.attacks.beliefs:
        parts += [*_show_beliefs(subject)]
    return Section("risk", "Could somebody be recognized?", tuple(parts))


def _list_risks(subject: Subject) -> Iterator[Figure]:
    asked = (
        ("prosecutor", "highest risk", "one person: surest guess"),
        ("prosecutor", None, f"rows at high risk (fewer than {_find_crowd(subject)} look alike)"),
        ("marketer", "share", "everybody: rows matched rightly"),
        ("journalist", "highest risk", "one of the population: surest guess"),
    )
    for attack, number, label in asked:
        if (now := _measure_risk(subject.now, attack, number)) is None:
            continue
        value, high = now
        was = None if subject.before is None else _measure_risk(subject.before, attack, number)
        note = "" if was is None else f"before: {was[0]}"
        yield Figure(label, value, note, "bad" if high else "good")


def _find_crowd(subject: Subject) -> int:
    """The class size below which a risk counts as high."""
    found = subject.now.attacks.of("prosecutor")
    return round(1 / float(found[0].numbers["threshold"] or 1)) if found else 0


def _measure_risk(
    counted: CountedTable, attack: str, number: str | None
) -> tuple[str, bool] | None:
    found = counted.attacks.of(attack)
    if not found:
        return None
    finding = found[0]
    limit = finding.numbers.get("threshold") or 0.0
    if number is None:
        return f"{finding.affected:,} of {finding.total:,}", finding.affected > 0
    value = float(finding.numbers[number] or 0.0)
    return f"{value:.1%}", value > float(limit)


def _show_beliefs(subject: Subject) -> Iterator[Part]:
    yield Paragraph(
        "Not only the row matters. The table shows how often the best single guess at a sensitive "
        "value is right. Publishing the whole table is meant to teach something; the step from the "
        "table to the class is what it costs the person."
    )
    rows: list[tuple[str, ...]] = [
        (belief.attribute, *(f"{part:.1%}" for part in belief.guess))
        for belief in subject.now.attacks.beliefs
    ]
    if subject.before is not None:
        was = {belief.attribute: belief.guess[2] for belief in subject.before.attacks.beliefs}
        rows = [(*row, f"{was[row[0]]:.1%}" if row[0] in was else "–") for row in rows]
    heads = ("attribute", "nothing known", "the table known", "the class known")
    extra = ("the class known, before",) if subject.before is not None else ()
    caption = "How often the best guess is right"
    yield Table(caption, (*heads, *extra), tuple(rows), tuple(range(1, 4 + len(extra))))
