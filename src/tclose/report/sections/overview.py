"""The first sections of a report: the promise, before and after, and the risk of recognition."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tclose.attacks.finding import SEVERAL_ROWS
from tclose.dictionary import describe_treatment
from tclose.distance.registry import DISTANCES
from tclose.plain import classes_text, rows_text, share_text
from tclose.report.document import Figure, Figures, Gauge, Gauges, Paragraph, Part, Section, Table
from tclose.report.subject import CountedTable, Subject
from tclose.report.summaries import tabulate_beliefs
from tclose.requirements.closeness.nt_closeness import NTCloseness
from tclose.requirements.registry import find_requirement
from tclose.verify.audit import STARS_AS_ANY
from tclose.verify.verdict import Verdict

IDENTIFIERS = (
    "Names removed: {about}",
    "The column {about}, which names people, is not in the table.",
)
"""For a release that still has identifiers: not a requirement on classes, but shown like one."""
TWO_QUESTIONS = (
    "These are two kinds of re-identification. A prosecutor looks for one person who is known to "
    "be in the table: how probable is it to find the right row? A marketer assigns all rows to "
    "people: how many assignments are right? Both are assumed to know every quasi-identifier."
)
NOT_ONLY_THE_ROW = (
    "An attacker need not find the row. This table shows how often the best guess at a sensitive "
    "value is right. What the whole table reveals is the purpose of publishing it; the step from "
    "the table to the class is the risk for the person."
)
SCALE = 1.15
"""How far a gauge reaches beyond the limit, or beyond what was attained."""
OTHERS_KNOWN = " This holds even against someone who knows the person's other sensitive values."


def join_names(names: Sequence[str]) -> str:
    """Joins names for a sentence.

    >>> join_names(["age", "zip", "sex"]), join_names(["age"])
    ('age, zip and sex', 'age')
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def name_requirement(verdict: Verdict, subject: Subject) -> str:
    """Names what a requirement is about, in a few words."""
    kind = find_requirement(verdict.requirement)
    topic = IDENTIFIERS[0] if kind is None else kind.topic
    name = topic.format(about=subject.show(verdict.attribute or ""), reading=verdict.reading)
    if verdict.reading.endswith(STARS_AS_ANY):
        return f"{name} ({STARS_AS_ANY})"
    return f"{name} (others known)" if verdict.adversary == "knows_others" else name


def describe_requirement(verdict: Verdict, subject: Subject) -> str:
    """Describes what a requirement asks of every class; as a fact only if it holds."""
    kind, measure = find_requirement(verdict.requirement), DISTANCES.get(verdict.distance or "")
    words = (IDENTIFIERS[1] if kind is None else kind.sentence).format(
        about=subject.show(verdict.attribute or ""),
        required=verdict.required or "",
        rows="rows" if subject.now.audit.bound.policy.subject is None else "persons",
        reading=verdict.reading,
        quasi=join_names([subject.show(name) for name in subject.quasi]),
        scale="" if measure and measure.in_bits else " on a scale from 0 (alike) to 1",
        by=measure.phrase if measure else "",
        whole=name_whole(verdict),
    )
    words += OTHERS_KNOWN if verdict.adversary == "knows_others" else ""
    return words if verdict.holds else f"Required: {words[:1].lower()}{words[1:]}"


def write_outcome(verdict: Verdict) -> str:
    """Says whether a requirement is kept, in a few words."""
    if verdict.required is None:
        return f"attained: {verdict.achieved_text}"
    if verdict.holds is None:
        return "cannot be decided"
    if verdict.holds:
        return "kept"
    where = classes_text(verdict.failing_classes)
    return f"broken for {rows_text(verdict.failing_rows)} in {where}"


def measure_nearness(verdict: Verdict) -> float | None:
    """Returns the used share of a limit: 1 at the limit; None if it cannot be computed."""
    limit = find_limit(verdict)
    if limit is None or not math.isfinite(verdict.achieved):
        return None
    used, allowed = verdict.achieved, limit
    if verdict.measurement.small_is_bad:
        used, allowed = allowed, used
    return used / allowed if allowed > 0 else 1.0 if used == allowed else None


def find_limit(verdict: Verdict) -> float | None:
    """Returns the limit as a number, from the value of a class and its margin."""
    measured = verdict.measurement
    if verdict.required is None or not len(measured.value):
        return None
    known = np.flatnonzero(np.isfinite(measured.value) & np.isfinite(measured.margin))
    if not len(known):
        return None
    sign = -1.0 if measured.small_is_bad else 1.0
    return float(measured.value[known[0]] + sign * measured.margin[known[0]])


def write_required(verdict: Verdict) -> str:
    """Writes what is required; thresholds that name themselves (n=…, t=…) need no more words."""
    required = verdict.required or ""
    if find_limit(verdict) is None or "=" in required:
        return required
    return f"{'at least' if verdict.measurement.small_is_bad else 'at most'} {required}"


def name_whole(verdict: Verdict) -> str:
    """Names what the classes are compared with."""
    if verdict.requirement == NTCloseness.name:
        return "a large part of the table"
    return "the whole table" if verdict.reference is None else verdict.reference


def make_promise_section(subject: Subject) -> Section:
    """Makes the section on requirements, one per row: in words, as a gauge, and the outcome."""
    audit = subject.now.audit
    about = (
        f"A class is a group of rows that look alike in "
        f"{join_names([subject.show(name) for name in subject.quasi])}, the columns that others "
        "may know about a person. Someone who looks a person up finds the class, not the row."
    )
    parts: list[Part] = [Paragraph(about)]
    if audit.promised:
        gauges = tuple(_gauge(verdict, subject) for verdict in audit.requirements)
        parts.append(Gauges("Required and attained values", gauges))
    else:
        parts.append(_tabulate_attained(audit.requirements, subject))
    certificate = subject.certificate
    given = None if certificate is None else certificate.given
    sentences = audit.notes if given is None else (given.sentence, *audit.notes)
    notes = [f"{note[:1].upper()}{note[1:]}." for note in sentences]
    notes += [f"{name_requirement(v, subject)}: {v.note}." for v in audit.requirements if v.note]
    parts += [Paragraph(note, "note") for note in notes]
    title = "The promise" if audit.promised else "What was measured"
    return Section("promise", title, tuple(parts))


def _gauge(verdict: Verdict, subject: Subject) -> Gauge:
    limit, attained = find_limit(verdict), verdict.achieved
    place = mark = None
    if limit is not None and max(limit, attained) > 0:
        end = SCALE * (max(limit, attained) if math.isfinite(attained) else limit)
        place, mark = min(attained / end, 1.0) if end else 1.0, limit / end if end else 0.0
    was = subject.was(verdict)
    return Gauge(
        name=name_requirement(verdict, subject),
        sentence=describe_requirement(verdict, subject),
        required=write_required(verdict),
        attained=verdict.achieved_text,
        outcome=write_outcome(verdict),
        tone="good" if verdict.holds else "note" if verdict.holds is None else "bad",
        place=place,
        limit=mark,
        before="" if was is None else f"{was.achieved_text} ({write_outcome(was)})",
    )


def _tabulate_attained(verdicts: Sequence[Verdict], subject: Subject) -> Table:
    rows = tuple((subject.relabel(v.title, v.attribute), v.achieved_text) for v in verdicts)
    return Table("What was attained", ("measure", "attained"), rows, (1,))


def make_measures_section(subject: Subject) -> Section | None:
    """Makes the section on further measures, for which nothing is required."""
    if not subject.now.audit.measured:
        return None
    lead = Paragraph("Other common privacy measures, for experts. They are not part of a promise.")
    table = _tabulate_attained(subject.now.audit.measured, subject)
    return Section("measures", "Further measures", (lead, table))


def make_before_section(subject: Subject) -> Section | None:
    """Makes the section on the original table and the release."""
    if subject.before is None:
        return None
    before, now = subject.before.audit, subject.now.audit
    alone, alone_now = ((audit.bound.classes.size == 1).sum() for audit in (before, now))
    rows = [
        ("rows", f"{before.rows:,}", f"{now.rows:,}"),
        ("classes", f"{before.classes:,}", f"{now.classes:,}"),
        ("smallest class", before.k_text, now.k_text),
        ("unique rows", f"{alone:,}", f"{alone_now:,}"),
    ]
    known = {verdict.title for verdict in now.requirements}
    rows += [
        (
            f"identifier {subject.show(verdict.attribute or '')}",
            "in the table",
            describe_treatment(now.bound, verdict.attribute or ""),
        )
        for verdict in before.requirements
        if verdict.requirement == "identifiers-removed" and verdict.title not in known
    ]
    caption = "The table that was read, and the release made from it"
    table = Table(caption, ("", "before", "after"), tuple(rows), (1, 2))
    fate = "does not hold" if not before.holds else "already holds"
    lead = Paragraph(f"The promise {fate} in the table as it was read; it holds in the release.")
    return Section("before-and-after", "Before and after", (lead, table))


def make_risk_section(subject: Subject) -> Section:
    """Makes the section on how likely a row is recognized as a person's, now and before."""
    parts: list[Part] = [Paragraph(TWO_QUESTIONS), Figures(tuple(_list_risks(subject)))]
    table = tabulate_beliefs(subject.now.attacks)
    if subject.before is not None:
        was = {belief.attribute: belief.guess[2] for belief in subject.before.attacks.beliefs}
        rows = [(*row, share_text(was[row[0]]) if row[0] in was else "–") for row in table.rows]
        headings = (*table.headings, "the class known, before")
        table = Table(table.caption, headings, tuple(rows), (*table.numeric, 4))
    if table.rows:
        shown = tuple((subject.show(row[0]), *row[1:]) for row in table.rows)
        by_person = subject.now.audit.bound.policy.subject is not None
        words = NOT_ONLY_THE_ROW + (SEVERAL_ROWS if by_person else "")
        parts += [Paragraph(words), replace(table, rows=shown)]
    return Section("risk", "Re-identification risk", tuple(parts))


def _list_risks(subject: Subject) -> Iterator[Figure]:
    found = subject.now.attacks.of("prosecutor")
    crowd = round(1 / float(found[0].numbers["threshold"] or 1)) if found else 0
    risks = (
        ("prosecutor", "highest risk", "prosecutor: highest probability"),
        ("prosecutor", None, f"rows at high risk (in classes below {crowd} rows)"),
        ("marketer", "share", "marketer: rows assigned correctly"),
        ("journalist", "highest risk", "journalist (population): highest probability"),
    )
    for attack, number, label in risks:
        if (now := _measure_risk(subject.now, attack, number)) is None:
            continue
        value, high = now
        was = None if subject.before is None else _measure_risk(subject.before, attack, number)
        note = "" if was is None else f"before: {was[0]}"
        yield Figure(label, value, note, "bad" if high else "good")


def _measure_risk(table: CountedTable, attack: str, number: str | None) -> tuple[str, bool] | None:
    """Returns a number of an attack, or the rows it affects, and whether the risk is high."""
    found = table.attacks.of(attack)
    if not found:
        return None
    finding = found[0]
    if number is None:
        return f"{finding.affected:,} of {finding.total:,}", finding.found
    value = float(finding.numbers[number] or 0.0)
    return share_text(value), value > float(finding.numbers.get("threshold") or 0.0)
