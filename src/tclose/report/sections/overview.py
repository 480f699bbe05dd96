"""The first pages of a report: the promise, before and after, and whether anybody is recognized."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tclose.distance.registry import DISTANCES
from tclose.report.document import Figure, Figures, Paragraph, Part, Points, Section, Table
from tclose.report.subject import CountedTable, Subject
from tclose.report.summaries import tabulate_beliefs
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
    """What a requirement asks of every class, in plain words; as a fact only where it is one."""
    kind, measure = find_requirement(verdict.requirement), DISTANCES.get(verdict.distance or "")
    words = (IDENTIFIERS[1] if kind is None else kind.sentence).format(
        about=verdict.attribute or "",
        required=verdict.required or "",
        quasi=join_names(quasi),
        scale="" if measure and measure.in_bits else " on a scale from 0 (alike) to 1",
        by=measure.phrase if measure else "",
    )
    words += OTHERS_KNOWN if verdict.adversary == "knows_others" else ""
    return words if verdict.holds else f"What was asked: {words[:1].lower()}{words[1:]}"


def write_outcome(verdict: Verdict) -> str:
    """Whether it is kept, in a few words."""
    if verdict.required is None:
        return f"attained: {verdict.achieved_text}"
    if verdict.holds is None:
        return "cannot be decided"
    return "kept" if verdict.holds else f"broken for {rows_text(verdict.failing_rows)}"


def make_promise_section(subject: Subject) -> Section:
    """What is promised, in sentences, and whether it is kept."""
    audit = subject.now.audit
    parts: list[Part] = [
        _state_verdict(subject),
        *_list_warnings(subject),
        *_state_checks(subject),
        _show_figures(subject),
    ]
    parts.append(
        Paragraph(
            f"A class is a group of rows that look alike in {join_names(subject.quasi)}: what "
            "others may know about a person. Whoever looks a person up finds the class, not the "
            "row."
        )
    )
    if audit.promised:
        entries = tuple(
            (
                f"{name_requirement(verdict)} ({write_outcome(verdict)}).",
                describe_requirement(verdict, subject.quasi),
            )
            for verdict in audit.requirements
        )
        parts.append(Points(entries))
        rows = tuple(
            (v.title, v.required or "", v.achieved_text, write_outcome(v))
            for v in audit.requirements
        )
        headings = ("requirement", "asked", "attained", "outcome")
        parts.append(Table("What was asked and what was attained", headings, rows, (1, 2)))
    else:
        parts.append(_tabulate_attained(audit.requirements))
    notes = [f"{note[:1].upper()}{note[1:]}." for note in audit.notes]
    notes += [f"{name_requirement(v)}: {v.note}." for v in audit.requirements if v.note]
    parts += [Paragraph(note, "note") for note in notes]
    title = "The promise" if audit.promised else "What was measured"
    return Section("promise", title, tuple(parts))


def _state_verdict(subject: Subject) -> Paragraph:
    audit = subject.now.audit
    if not audit.promised:
        words = (
            f"Nothing was promised about this {subject.thing}; this report says what it attains."
        )
        return Paragraph(words, "note")
    if not audit.holds:
        broken = [verdict for verdict in audit.requirements if verdict.holds is not True]
        return Paragraph(
            f"The promise does not hold: {len(broken)} of {len(audit.requirements)} requirements "
            f"are not kept by this {subject.thing}.",
            "bad",
        )
    promise = _condense_promise(audit.requirements)
    return Paragraph(f"The promise holds, counted on the {subject.thing} itself: {promise}", "good")


def _list_warnings(subject: Subject) -> Iterator[Paragraph]:
    """What is released of columns that nothing protects, and a search that cannot be repeated."""
    certificate = subject.certificate
    if certificate is not None:
        yield from (Paragraph(f"Warning: {text}", "bad") for text in certificate.warnings or ())
        if certificate.stopped == "clock":
            yield Paragraph(
                "The clock ended the search: another run may find another release.", "note"
            )


def _state_checks(subject: Subject) -> Iterator[Paragraph]:
    """Whether the certificate says the same as the count."""
    refuted = sum(check.confirmed is False for check in subject.checks)
    if refuted:
        yield Paragraph(
            f"The certificate is not true of this file: {refuted} of {len(subject.checks)} lines "
            "are refuted by the count. Each is listed at the end.",
            "bad",
        )
    elif subject.checks:
        yield Paragraph(
            "The certificate was held against a fresh count: every line that can be recounted is "
            "confirmed.",
            "good",
        )


def _condense_promise(verdicts: Sequence[Verdict]) -> str:
    """The promise in one sentence: the crowd first, then what its members must not give away."""
    crowds = [verdict.required for verdict in verdicts if verdict.requirement == "k-anonymity"]
    closeness = ("t-closeness", "joint-t-closeness")  # not (n, t): that is to a part of the table
    close = [verdict.attribute or "" for verdict in verdicts if verdict.requirement in closeness]
    parts = []
    if crowds and crowds[0]:
        parts.append(f"every person is one of at least {crowds[0]} who look alike")
    if close:
        names = join_names(list(dict.fromkeys(close)))
        parts.append(
            f"in every group that looks alike the spread of {names} is as close to that of the "
            "whole table as promised"
        )
    return f"{', and '.join(parts) or 'every requirement below is kept'}."


def _show_figures(subject: Subject) -> Figures:
    audit = subject.now.audit
    whose = "each is taken to be one person"
    if audit.bound.policy.subject is not None:
        whose = f"of {audit.bound.classes.everyone:,} persons"
    crowds = [v for v in audit.requirements if v.requirement == "k-anonymity" and v.required]
    entries = [
        Figure(f"rows in the {subject.thing}", f"{audit.rows:,}", whose),
        Figure("classes", f"{audit.classes:,}", "groups of rows that look alike"),
        Figure(
            "smallest class",
            audit.k_text,
            tone="plain" if not crowds else "good" if crowds[0].holds else "bad",
        ),
    ]
    if subject.left_out:
        note = f"of {audit.rows + subject.left_out:,} rows read"
        entries.append(Figure("rows left out", f"{subject.left_out:,}", note, "note"))
    if lost := subject.lost:
        mean = sum(lost.values()) / len(lost)
        entries.append(Figure("detail lost", f"{mean:.0%}", "0% as it was, 100% nothing left"))
    return Figures(tuple(entries))


def _tabulate_attained(verdicts: Sequence[Verdict]) -> Table:
    rows = tuple((verdict.title, verdict.achieved_text) for verdict in verdicts)
    return Table("What was attained", ("measure", "attained"), rows, (1,))


def make_measures_section(subject: Subject) -> Section | None:
    """What was measured without a promise, for those who know the field."""
    if not subject.now.audit.measured:
        return None
    lead = Paragraph("What the field measures, too, for those who know it; without a promise.")
    table = _tabulate_attained(subject.now.audit.measured)
    return Section("measures", "Further measures", (lead, table))


def make_before_section(subject: Subject) -> Section | None:
    """The table that was read beside the release."""
    if subject.before is None:
        return None
    before, now = subject.before.audit, subject.now.audit
    counts: dict[str, Callable[[Audit], int]] = {
        "rows": lambda audit: audit.rows,
        "classes": lambda audit: audit.classes,
        "rows that look like no other": lambda audit: int((audit.bound.classes.size == 1).sum()),
    }
    rows = [(name, f"{count(before):,}", f"{count(now):,}") for name, count in counts.items()]
    for verdict in now.requirements:
        asked = f"{verdict.title} (asked: {verdict.required})"
        rows.append((asked, _write_attained(subject.was(verdict)), _write_attained(verdict)))
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
    found = subject.now.attacks.of("prosecutor")
    crowd = round(1 / float(found[0].numbers["threshold"] or 1)) if found else 0
    asked = (
        ("prosecutor", "highest risk", "one person: surest guess"),
        ("prosecutor", None, f"rows at high risk (fewer than {crowd} look alike)"),
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


def _measure_risk(table: CountedTable, attack: str, number: str | None) -> tuple[str, bool] | None:
    """A number of an attack, or the rows that it affects, and whether the risk is high."""
    found = table.attacks.of(attack)
    if not found:
        return None
    finding = found[0]
    if number is None:
        return f"{finding.affected:,} of {finding.total:,}", finding.found
    value = float(finding.numbers[number] or 0.0)
    return f"{value:.1%}", value > float(finding.numbers.get("threshold") or 0.0)


def _show_beliefs(subject: Subject) -> Iterator[Part]:
    yield Paragraph(
        "Not only the row matters. The table shows how often the best single guess at a sensitive "
        "value is right. Publishing the whole table is meant to teach something; the step from the "
        "table to the class is what it costs the person."
    )
    table = tabulate_beliefs(subject.now.attacks)
    if subject.before is not None:
        was = {belief.attribute: belief.guess[2] for belief in subject.before.attacks.beliefs}
        rows = ((*row, f"{was[row[0]]:.1%}" if row[0] in was else "–") for row in table.rows)
        headings = (*table.headings, "the class known, before")
        table = Table(table.caption, headings, tuple(rows), (*table.numeric, 4))
    yield table
