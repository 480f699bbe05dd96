"""An audit in short: the verdict, the promises, the worst classes; a certificate line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tclose.report.document import Paragraph, Part, Table, Tone
from tclose.verify.audit import Audit
from tclose.verify.recheck import NOT_HERE, Check
from tclose.verify.verdict import Verdict
from tclose.verify.wording import classes_text, number_text, rows_text

MOST_CLASSES = 10
HASH_DIGITS = 16
"""How many digits of a hash are shown."""
OUTCOMES: dict[bool | None, tuple[str, Tone]] = {
    True: ("holds", "good"),
    False: ("FAILS", "bad"),
    None: ("not decided", "note"),
}
CONFIRMATIONS: dict[bool | None, tuple[str, Tone]] = {
    True: ("confirmed", "good"),
    False: ("REFUTED", "bad"),
    None: ("unchecked", "aside"),
}


def summarize_audit(audit: Audit, *, details: bool = True) -> list[Part]:
    """The whole audit: verdict, promises, worst classes, further measures, notes."""
    parts: list[Part] = [*_state_verdict(audit)]
    if audit.promised:
        parts.append(tabulate_promised("What was promised", audit.requirements))
        parts += _list_worst(audit)
    else:
        parts.append(_tabulate_attained("What the table attains", audit.requirements))
    measured = audit.measured if details else ()
    if measured:
        parts.append(_tabulate_attained("Also measured", measured))
    parts += [Paragraph(f"Note: {note}", "note") for note in audit.notes]
    verdicts = (*audit.requirements, *measured)
    noted = (verdict for verdict in verdicts if verdict.note)
    parts += [Paragraph(f"  {verdict.title}: {verdict.note}", "aside") for verdict in noted]
    return parts


def summarize_checks(checks: Sequence[Check]) -> Table:
    """A certificate held against a fresh count, line by line."""
    rows, tones = [], []
    for check in checks:
        word, tone = CONFIRMATIONS[check.confirmed]
        texts = (check.stated, check.counted)
        if check.line.startswith("sha256"):
            texts = (_shorten_hash(check.stated), _shorten_hash(check.counted))
        rows.append((word, check.line, *texts))
        tones.append(tone)
    headings = ("", "line", "certified", "counted")
    return Table("The certificate", headings, tuple(rows), tones=tuple(tones))


def tabulate_promised(title: str, verdicts: Sequence[Verdict]) -> Table:
    """Requirements with what is asked and attained, and how many classes fail."""
    rows, tones = [], []
    for verdict in verdicts:
        word, tone = OUTCOMES[verdict.holds]
        failing = (f"{verdict.failing_classes:,}", f"{verdict.failing_rows:,}")
        rows.append((word, verdict.title, verdict.required or "", *_write(verdict), *failing))
        tones.append(tone)
    headings = ("", "requirement", "asked", "attained", "worst class", "classes failing",
                "rows in them")  # fmt: skip
    return Table(title, headings, tuple(rows), (2, 3, 4, 5, 6), tuple(tones))


def _tabulate_attained(title: str, verdicts: Sequence[Verdict]) -> Table:
    rows = tuple((verdict.title, *_write(verdict)) for verdict in verdicts)
    return Table(title, ("requirement", "attained", "worst class"), rows, (1, 2))


def _write(verdict: Verdict) -> tuple[str, str]:
    """What is attained, exactly where that is short, and by which class."""
    exact, attained = verdict.achieved_exact, verdict.achieved_text
    if exact is not None and 1 < exact.denominator <= 9999:
        attained = f"{attained} = {exact}"
    return attained, f"{verdict.worst_class:,}"


def _state_verdict(audit: Audit) -> Iterator[Paragraph]:
    yield Paragraph(
        f"{audit.source}: {rows_text(audit.rows)} in {classes_text(audit.classes)}; "
        f"the smallest has {audit.k_text}."
    )
    if not audit.promised:
        yield Paragraph("Nothing was promised; this is what the table attains.")
    elif audit.holds:
        yield Paragraph("The promise holds.", "good")
    else:
        yield Paragraph("The promise does NOT hold.", "bad")


def _list_worst(audit: Audit) -> Iterator[Table]:
    broken = [report for report in audit.worst if report.breaks]
    if not broken:
        return
    rows = tuple(
        (
            f"{report.number:,}",
            f"{report.size:,}",
            ", ".join(f"{name}={value}" for name, value in report.label.items()),
            "\n".join(
                f"{title}, by {number_text(abs(report.margins[title]))}" for title in report.breaks
            ),
        )
        for report in broken[:MOST_CLASSES]
    )
    headings = ("class", "rows", "quasi-identifiers", "breaks, and by how much")
    yield Table("Worst classes", headings, rows, (0, 1))


def _shorten_hash(text: str) -> str:
    return text if text == NOT_HERE else text[:HASH_DIGITS]
