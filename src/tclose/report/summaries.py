"""What each command says of its result on a terminal: short, the worst first.

A summary is a list of the same parts that a report is made of, so that one renderer shows both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tclose.report.document import Paragraph, Part, Table, Tone
from tclose.verify.audit import Audit
from tclose.verify.certificate import NOT_HERE, Check
from tclose.verify.verdict import Verdict
from tclose.verify.wording import classes_text, number_text, rows_text

if TYPE_CHECKING:
    from tclose.attacks.finding import AttackReport, Finding
    from tclose.release import Release
    from tclose.search import Outcome, Trial
    from tclose.utility.pair import Utility

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
ENDED_BY_CLOCK = (
    "The clock ended the search: another run may find another release. An effort in place of "
    "seconds gives equal bytes on any machine."
)
MOST_STEPS = 12
FIRST = "hybrid"
"""The method whose challengers are tried after it."""
PLACEMENTS = {
    "levels": "New rows were recoded to the plan's levels.",
    "cuts": "New rows went the way of the plan's cuts.",
    "classes": "New rows went to the nearest class of the plan that keeps the promise with them.",
}
USES_SENSITIVE = (
    "Classes depend on sensitive values: rows with equal quasi-identifiers may be in different "
    "classes."
)
DETAILED = ("query-error", "learning")
"""The measures whose further numbers are shown."""


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
    rows = []
    for check in checks:
        texts = [check.stated, check.counted]
        if check.line.startswith("sha256"):
            texts = [text if text == NOT_HERE else text[:HASH_DIGITS] for text in texts]
        rows.append((CONFIRMATIONS[check.confirmed][0], check.line, *texts))
    tones = tuple(CONFIRMATIONS[check.confirmed][1] for check in checks)
    headings = ("", "line", "certified", "counted")
    return Table("The certificate", headings, tuple(rows), tones=tones)


def tabulate_promised(title: str, verdicts: Sequence[Verdict]) -> Table:
    """Requirements with what is asked and attained, and how many classes fail."""
    rows = []
    for verdict in verdicts:
        failing = (f"{verdict.failing_classes:,}", f"{verdict.failing_rows:,}")
        asked = (OUTCOMES[verdict.holds][0], verdict.title, verdict.required or "")
        rows.append((*asked, *_write(verdict), *failing))
    tones = tuple(OUTCOMES[verdict.holds][1] for verdict in verdicts)
    headings = ("", "requirement", "asked", "attained", "worst class", "classes failing",
                "rows in them")  # fmt: skip
    return Table(title, headings, tuple(rows), (2, 3, 4, 5, 6), tones)


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
    rows = []
    for report in [report for report in audit.worst if report.breaks][:MOST_CLASSES]:
        who = ", ".join(f"{name}={value}" for name, value in report.label.items())
        margins = {title: number_text(abs(report.margins[title])) for title in report.breaks}
        broken = "\n".join(f"{title}, by {margin}" for title, margin in margins.items())
        rows.append((f"{report.number:,}", f"{report.size:,}", who, broken))
    if rows:
        headings = ("class", "rows", "quasi-identifiers", "breaks, and by how much")
        yield Table("Worst classes", headings, tuple(rows), (0, 1))


def summarize_release(release: Release) -> list[Part]:
    """What was released, how close it is, and what it cost."""
    where = f"{release.path}: " if release.path else ""
    losses = tuple((name, f"{loss:.4f}") for name, loss in release.loss.columns.items())
    headings = ("quasi-identifier", "loss (0 exact, 1 nothing left)")
    parts: list[Part] = [
        Paragraph(
            f"{where}{rows_text(release.audit.rows)} in {classes_text(release.classes)}, mean size "
            f"{release.sizes.mean:.1f}, loss {release.loss.overall:.4f}.",
            "strong",
        ),
        Paragraph("The promise holds; it was recounted on what was written.", "good"),
        *(Paragraph(f"Warning: {text}", "bad") for text in release.certificate.warnings or ()),
        *(Paragraph(notice, "note") for notice in _list_notices(release)),
        *(Paragraph(f"Note: {note}", "note") for note in release.notes),
        *(Paragraph(sentence, "aside") for sentence in _describe_recoding(release)),
        tabulate_promised("What was promised", release.audit.requirements),
        Table("What was lost", headings, losses, (1,)),
    ]
    if release.outcome is not None and release.outcome.tried:
        tried = tuple(
            (trial.step, f"{trial.loss:.4f}", f"{trial.seconds:.1f}")
            for trial in choose_trials(release.outcome)
        )
        parts.append(Table("What was tried", ("step", "loss", "seconds"), tried, (1, 2)))
    if release.plan is None or release.plan.uses_sensitive:
        parts.append(Paragraph(USES_SENSITIVE, "aside"))
    return parts


def _list_notices(release: Release) -> Iterator[str]:
    """What a steward should know before anything else: what is not as it might be."""
    if release.certificate.stopped == "clock":
        yield ENDED_BY_CLOCK
    if release.left_out:
        outside = f", {release.outside:,} of them lie outside the plan" if release.outside else ""
        yield f"{rows_text(release.left_out)} left out{outside}."
    if (applied := release.applied) is not None:
        if applied.widened:
            yield f"Widened to cover their new rows: {classes_text(applied.widened)}."
        for name in applied.changed:
            yield f"The hierarchy of {name} is not the one that the plan was made with."
    if (leftover := release.leftover) is not None:
        for count, what in (
            (leftover.rooted, "have their quasi-identifiers at the root"),
            (leftover.hidden, "have their sensitive values hidden"),
            (leftover.generalized, "have their sensitive values generalized"),
        ):
            if count:
                yield f"{count:,} rows {what}."
        if leftover.merged:
            yield f"Merged into others to make room for them: {classes_text(leftover.merged)}."
        if leftover.dropped:
            yield (
                f"{leftover.dropped:,} rows were dropped although leftover is "
                f"{leftover.asked!r}: {leftover.reason}."
            )


def _describe_recoding(release: Release) -> Iterator[str]:
    """Which method was chosen, and how values were recoded where it is not class by class."""
    if release.outcome is not None and release.outcome.why:
        yield f"Chosen: {release.outcome.why}."
    if release.applied is not None:
        yield PLACEMENTS[release.applied.way]
    if release.plan is not None and release.plan.levels is not None:
        levels = ", ".join(f"{name} {level}" for name, level in release.plan.levels.items())
        yield f"Whole columns are recoded to one level each (0: as they are): {levels}."
    proof = release.certificate.optimality
    if proof is not None and proof.optimal:
        yield f"No other choice of levels loses less ({proof.measure})."
    elif proof is not None:
        least = f"{proof.no_less_than:.4f} ({proof.measure})"
        yield f"No choice of levels loses less than {least}."


def choose_trials(outcome: Outcome) -> Iterator[Trial]:
    """The last steps of the method that was chosen, then the best of every other.

    Where several methods were tried, the steps of all but the first begin with their names.
    """
    steps: dict[str, list[Trial]] = {}
    for trial in outcome.tried:
        name, named, _ = trial.step.partition(": ")
        steps.setdefault(name if named else "", []).append(trial)
    chosen = outcome.method if outcome.method in steps else ""
    yield from steps.pop(chosen)[-MOST_STEPS:]
    for name, trials in steps.items():
        best = min(trials, key=lambda trial: trial.loss)
        yield replace(best, step=f"{name or FIRST}: the best of it")


def summarize_attacks(report: AttackReport) -> list[Part]:
    """What the table teaches, what was found, what was not, and what could not be tried."""
    quiet = [finding for finding in report.findings if not finding.found]
    parts: list[Part] = [
        Paragraph(
            f"{report.source}: {rows_text(report.rows)} in {classes_text(report.classes)}. "
            f"{len(report.found)} of {len(report.findings)} attacks found something; "
            f"{len(quiet)} found nothing.",
            "strong",
        )
    ]
    if report.beliefs:
        parts.append(tabulate_beliefs(report))
    if report.found:
        parts.append(_tabulate("What was found", report.found))
    if quiet:
        parts.append(_tabulate("What found nothing", quiet))
    parts += [Paragraph(f"Not tried: {reason}", "aside") for reason in report.not_tried]
    return parts


def tabulate_beliefs(report: AttackReport) -> Table:
    """How often the best guess at each sensitive attribute is right, step by step."""
    rows = tuple(
        (belief.attribute, *(f"{chance:.1%}" for chance in belief.guess))
        for belief in report.beliefs
    )
    headings = ("attribute", "nothing known", "the table known", "the class known")
    return Table("How often the best guess is right", headings, rows, (1, 2, 3))


def _tabulate(title: str, findings: Sequence[Finding]) -> Table:
    rows = []
    for finding in findings:
        about = (finding.attack, finding.attribute or "")
        counts = (f"{finding.affected:,}", f"{finding.share:.1%}")
        worst = ", ".join(str(number) for number in finding.classes[:5])
        rows.append((*about, *counts, finding.sentence, worst))
    headings = ("attack", "attribute", "rows", "of all", "in words", "worst classes")
    tones: list[Tone] = ["bad" if finding.found else "good" for finding in findings]
    return Table(title, headings, tuple(rows), (2, 3), tuple(tones))


def summarize_utility(utility: Utility) -> list[Part]:
    """Every measure, then what each column contributes, then the further numbers."""
    linked = "row by row" if utility.row_by_row else "by what each value covers"
    parts: list[Part] = [
        Paragraph(
            f"{utility.release} beside {utility.original}: {rows_text(utility.rows)}, "
            f"{utility.left_out:,} left out, {classes_text(utility.classes)}; compared {linked}.",
            "strong",
        ),
        _tabulate_measures(utility),
    ]
    if any(measure.columns for measure in utility.measures):
        parts.append(_tabulate_columns(utility))
    for measure in utility.measures:
        if measure.name in DETAILED:
            rows = tuple((name, number_text(value)) for name, value in measure.numbers.items())
            parts.append(Table(measure.name, ("", ""), rows, (1,)))
    return parts


def _tabulate_measures(utility: Utility) -> Table:
    rows = []
    for measure in utility.measures:
        value = "not defined" if measure.overall is None else number_text(measure.overall)
        meaning = f"{measure.meaning}; {measure.note}" if measure.note else measure.meaning
        rows.append((measure.name, value, meaning))
    headings = ("measure", "value", "meaning")
    return Table("What is lost, and what is left", headings, tuple(rows), (1,))


def _tabulate_columns(utility: Utility) -> Table:
    shown = [measure for measure in utility.measures if measure.columns]
    rows = []
    for name in dict.fromkeys(name for measure in shown for name in measure.columns):
        values = (measure.columns.get(name) for measure in shown)
        rows.append((name, *("" if value is None else number_text(value) for value in values)))
    headings = ("quasi-identifier", *(measure.name for measure in shown))
    return Table("Column by column", headings, tuple(rows), tuple(range(1, len(headings))))
