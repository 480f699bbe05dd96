"""The summary of each command's result on a terminal, in parts as in a report, worst first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from math import isfinite
from typing import TYPE_CHECKING

from tclose.attacks.finding import SEVERAL_ROWS
from tclose.distance.comparison import WISHES, DistanceComparison
from tclose.plain import classes_text, number_text, rows_text, share_text
from tclose.report.charts.svg import shorten
from tclose.report.document import Bars, Paragraph, Part, Series, Table, Tone
from tclose.verify.audit import Audit
from tclose.verify.recheck import UNCOUNTED, Check
from tclose.verify.verdict import Verdict

if TYPE_CHECKING:
    from tclose.attacks.finding import AttackReport, Finding
    from tclose.attacks.person import PersonBelief
    from tclose.release import Release
    from tclose.search import Outcome, Trial
    from tclose.utility.pair import Measure, Utility

WORST_CLASSES, FURTHER, FOUND_NOTHING = (
    "Worst classes",
    "Further measures",
    "Attacks that found nothing",
)
"""Titles of tables that the studio shows elsewhere, or folds."""
MOST_CLASSES = 10
LONGEST_STATED = 40
HASH_DIGITS = 16
"""The number of digits shown of a hash."""
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
    "The search was ended by its time limit: another run may find another release. With an effort "
    "instead of seconds the result is the same on any machine."
)
ONE_CLASS = (
    "All rows are in one class, so nothing is left of the quasi-identifiers. A larger t, a "
    "smaller k, fewer quasi-identifiers or leaving rows out (--suppression) may keep more detail."
)
STEPS = {
    "before": "before (B0)",
    "table": "from the table (B1)",
    "class": "from the class (B2)",
}
"""The steps of beliefs about a person, in words."""
MOST_STEPS = 12
MOST_VALUES = 20
"""The number of values of a person's sensitive attribute that are shown."""
FIRST = "hybrid"
"""The method that is tried first; others challenge its result."""
ZERO, BEST_AT_ZERO = "t = 0", "best step of another search, for t = 0"
PLACEMENTS = {
    "levels": "New rows were recoded to the plan's levels.",
    "cuts": "New rows were assigned to classes by the plan's cuts.",
    "classes": "New rows were assigned to the nearest class of the plan in which the promise holds "
    "with them.",
}
USES_SENSITIVE = (
    "Classes depend on sensitive values: rows with equal quasi-identifiers may be in different "
    "classes."
)
MAY_DIFFER = "Rows with equal quasi-identifiers may be in different classes."
DETAILED = ("query-error", "associations", "learning")
"""The measures whose further numbers are shown."""


def summarize_audit(
    audit: Audit, *, details: bool | None = True, values: bool = True
) -> list[Part]:
    """Summarizes an audit: verdict, requirements, worst classes (with values), measures, notes.

    Without `details`, further measures are only mentioned; with None, not even that.
    """
    counts = f"{rows_text(audit.rows)} in {classes_text(audit.classes)}"
    parts: list[Part] = [Paragraph(f"{audit.source}: {counts}; the smallest has {audit.k_text}.")]
    if audit.promised:
        parts.append(_state_verdict(audit))
        parts.append(tabulate_promised("Requirements", audit.requirements))
        parts += _list_worst(audit, values=values)
    else:
        parts.append(Paragraph("Without a promise, these are the values that the table attains."))
        parts.append(_tabulate_attained("Measures", audit.requirements))
    measured = audit.measured if details else ()
    if measured:
        parts.append(_tabulate_attained(FURTHER, measured))
    elif audit.measured and details is not None:
        more = f"{len(audit.measured)} further measures are not shown; --all shows them."
        parts.append(Paragraph(more, "aside"))
    parts += [Paragraph(f"Note: {note}", "note") for note in audit.notes]
    noted = (verdict for verdict in (*audit.requirements, *measured) if verdict.note)
    parts += [Paragraph(f"  {verdict.title}: {verdict.note}", "aside") for verdict in noted]
    return parts


def _state_verdict(audit: Audit) -> Paragraph:
    """States whether the promise holds; where nothing fails, that it is not proved."""
    if audit.holds:
        return Paragraph("The promise holds.", "good")
    if audit.is_undecided:
        return Paragraph("The promise is NOT proved: some of it cannot be decided.", "bad")
    return Paragraph("The promise does NOT hold.", "bad")


def weigh_certificate(checks: Sequence[Check]) -> list[Paragraph]:
    """Says whether the count agrees with a certificate, and how much of it could be counted."""
    if not checks or (refuted := warn_of_refuted(checks)):
        return refuted if checks else []
    confirmed = sum(check.confirmed is True for check in checks)
    lines = f"{confirmed} line{' is' if confirmed == 1 else 's are'} confirmed by the count"
    words = f"The certificate agrees with the files: {lines}"
    if stated := len(checks) - confirmed:
        words += f", {stated} cannot be counted from them"
    return [Paragraph(f"{words}. Each is listed at the end.", "good")]


def warn_of_refuted(checks: Sequence[Check]) -> list[Paragraph]:
    """Returns a warning where a certificate does not agree with the count, else nothing."""
    refuted = sum(check.confirmed is False for check in checks)
    if not refuted:
        return []
    are = f"{refuted} of {len(checks)} lines {'is' if refuted == 1 else 'are'} refuted by the count"
    words = f"The certificate is not true of this file: {are}. Each is listed at the end."
    return [Paragraph(words, "bad")]


def summarize_checks(checks: Sequence[Check]) -> Table:
    """Tabulates a certificate compared with a fresh count, line by line."""
    rows = []
    for check in checks:
        texts = [check.stated, check.counted]
        if check.line.startswith("sha256"):
            texts = [text[:HASH_DIGITS] if len(text) == 64 else text for text in texts]
        if check.counted == UNCOUNTED:
            texts = [shorten(check.stated, LONGEST_STATED), UNCOUNTED]
        rows.append((CONFIRMATIONS[check.confirmed][0], check.line, *texts))
    tones = tuple(CONFIRMATIONS[check.confirmed][1] for check in checks)
    headings = ("", "line", "certified", "counted")
    return Table("The certificate", headings, tuple(rows), tones=tones)


def tabulate_promised(title: str, verdicts: Sequence[Verdict]) -> Table:
    """Tabulates requirements with what is required and attained, and how many classes fail."""
    rows, tones = [], tuple(OUTCOMES[verdict.holds][1] for verdict in verdicts)
    for verdict in verdicts:
        failing = (f"{verdict.failing_classes:,}", f"{verdict.failing_rows:,}")
        required = (OUTCOMES[verdict.holds][0], verdict.title, verdict.required or "")
        rows.append((*required, *_write(verdict), *failing))
    failures = ("classes failing", "rows in them")
    headings = ("", "requirement", "required", "attained", "worst class", *failures)
    return Table(title, headings, tuple(rows), (2, 3, 4, 5, 6), tones)


def _tabulate_attained(title: str, verdicts: Sequence[Verdict]) -> Table:
    rows = tuple((verdict.title, *_write(verdict)) for verdict in verdicts)
    return Table(title, ("requirement", "attained", "worst class"), rows, (1, 2))


def _write(verdict: Verdict) -> tuple[str, str]:
    """Returns what is attained, also as a fraction if short, and by which class."""
    exact, attained = verdict.achieved_exact, verdict.achieved_text
    if exact is not None and 1 < exact.denominator <= 9999:
        attained = f"{attained} = {exact}"
    return attained, f"{verdict.worst_class:,}"


def _list_worst(audit: Audit, *, values: bool) -> Iterator[Table]:
    rows = []
    open_titles = {verdict.title for verdict in audit.requirements if verdict.holds is None}
    for report in [report for report in audit.worst if report.breaks][:MOST_CLASSES]:
        who = [", ".join(f"{name}={value}" for name, value in report.label.items())]
        margins = {title: number_text(abs(report.margins[title])) for title in report.breaks}
        broken = "; ".join(
            f"{title}, by {margin}" + (" (not decided)" if title in open_titles else "")
            for title, margin in margins.items()
        )
        counts = (f"{report.number:,}", f"{report.size:,}")
        rows.append((*counts, *(who if values else ()), broken))
    if rows:
        about = ("quasi-identifiers",) if values else ()
        headings = ("class", "rows", *about, "fails, and by how much")
        yield Table(WORST_CLASSES, headings, tuple(rows), (0, 1))


def summarize_release(release: Release) -> list[Part]:
    """Summarizes what was released, how close it is, and the loss."""
    where = f"{release.path}: " if release.path else ""
    if (instead := release.certificate.fallback) is not None:
        where = f"{instead[0].upper()}{instead[1:]}. {where}"
    losses = tuple((name, f"{loss:.4f}") for name, loss in release.loss.columns.items())
    headings = ("quasi-identifier", "loss (0: unchanged, 1: suppressed)")
    parts: list[Part] = [
        Paragraph(
            f"{where}{rows_text(release.audit.rows)} in {classes_text(release.classes)}, mean size "
            f"{release.sizes.mean:.1f}, loss {release.loss.overall:.4f}.",
            "strong",
        ),
        Paragraph("The promise holds. It was verified on the written release.", "good"),
        *(Paragraph(f"Warning: {text}", "bad") for text in release.certificate.warnings or ()),
        *(Paragraph(notice, "note") for notice in _list_notices(release)),
        *(Paragraph(f"Note: {note}", "note") for note in release.notes),
        *(Paragraph(sentence, "aside") for sentence in _describe_recoding(release)),
        tabulate_promised("Requirements", release.audit.requirements),
        Table("Information loss", headings, losses, (1,)),
    ]
    if release.outcome is not None and release.outcome.tried:
        tried = tuple(
            (trial.step, f"{trial.loss:.4f}", f"{trial.seconds:.1f}")
            for trial in choose_trials(release.outcome)
        )
        parts.append(Table("Search steps", ("step", "loss", "seconds"), tried, (1, 2)))
    if release.plan is None or release.plan.uses_sensitive:
        knows = any(verdict.attribute for verdict in release.audit.requirements)
        parts.append(Paragraph(USES_SENSITIVE if knows else MAY_DIFFER, "aside"))
    return parts


def _list_notices(release: Release) -> Iterator[str]:
    """Yields what a data steward should know first."""
    if release.certificate.stopped == "clock":
        yield ENDED_BY_CLOCK
    if release.classes == 1 and release.loss.overall > 0:
        yield ONE_CLASS
    if release.left_out:
        outside = f", {release.outside:,} of them are outside the plan" if release.outside else ""
        yield f"{rows_text(release.left_out)} left out{outside}."
        if release.applied is not None and release.applied.beyond:
            beyond = (f"{name} in {rows_text(n)}" for name, n in release.applied.beyond.items())
            yield f"Values beyond those of the plan: {', '.join(beyond)}."
    if (applied := release.applied) is not None:
        if applied.widened:
            yield f"Widened to cover their new rows: {classes_text(applied.widened)}."
        for name in applied.changed:
            yield f"The hierarchy of {name} is not the one that the plan was made with."
    if (masked := release.certificate.masked) is not None:
        for name, count in masked.rows.items():
            done = "hidden" if masked.how == "hide" else "generalized to a group"
            yield f"{rows_text(count)}: {name} {done}, at a cost of {masked.cost:.4f}."
    if (leftover := release.leftover) is not None:
        for count, what in (
            (leftover.rooted, "quasi-identifiers at the root"),
            (leftover.hidden, "sensitive values hidden"),
            (leftover.generalized, "sensitive values generalized"),
        ):
            if count:
                yield f"{rows_text(count)} with {what}."
        if leftover.merged:
            yield f"Merged into others to make room for them: {classes_text(leftover.merged)}."
        if leftover.dropped:
            how = f"although leftover is {leftover.asked!r}: {leftover.reason}"
            yield f"{rows_text(leftover.dropped)} dropped {how}."


def _describe_recoding(release: Release) -> Iterator[str]:
    """Yields sentences on the chosen method, and on recoding that is not class by class."""
    if release.outcome is not None and release.outcome.why:
        method, _, reason = release.outcome.why.partition(": ")
        yield f"Method: {method}{f' ({reason})' if reason else ''}."
    if (target := release.certificate.target) is not None:
        weights = (f"{name} {float(Fraction(each)):g}" for name, each in target.weights.items())
        yield f"Columns weighted by information on {target.column}: {', '.join(weights)}."
    if release.applied is not None:
        yield PLACEMENTS[release.applied.way]
    if release.plan is not None and release.plan.levels is not None:
        levels = ", ".join(f"{name} {level}" for name, level in release.plan.levels.items())
        yield f"Each column is recoded to a single level (0: unchanged): {levels}."
    if (proof := release.certificate.optimality) is not None:
        if proof.optimal:
            yield f"No other choice of levels loses less ({proof.measure})."
        else:
            yield f"No choice of levels loses less than {proof.no_less_than:.4f} ({proof.measure})."


def choose_trials(outcome: Outcome) -> Iterator[Trial]:
    """Yields the last steps of the chosen method, then the best step of every other method.

    A step that was repeated counts once, with the least loss it reached. If several methods were
    tried, the steps of all but the first begin with their names.
    """
    steps: dict[str, list[Trial]] = {}
    for trial in outcome.tried:
        name, named, _ = trial.step.partition(": ")
        steps.setdefault(name if named else "", []).append(trial)
    chosen = outcome.method if outcome.method in steps else ""
    *before, result = _fold_repeated(steps.pop(chosen))
    if result.step.endswith("result") and result.loss > min(
        (each.loss for each in before), default=result.loss
    ):
        result = replace(result, step=f"{result.step}, after failing classes were merged")
    yield from [*before, result][-MOST_STEPS:]
    for name, trials in steps.items():
        best = min(trials, key=lambda trial: trial.loss)
        named = BEST_AT_ZERO if name == ZERO else f"{name or FIRST}: its best step"
        yield replace(best, step=named)


def _fold_repeated(trials: Iterable[Trial]) -> Iterator[Trial]:
    """Merges successive trials of the same step into one, with the least loss and the last time."""
    for step, run in groupby(trials, key=lambda trial: trial.step):
        repeated = list(run)
        times = f", {len(repeated)} times" if len(repeated) > 1 else ""
        least = min(trial.loss for trial in repeated)
        yield replace(repeated[-1], step=f"{step}{times}", loss=least)


def summarize_attacks(report: AttackReport) -> list[Part]:
    """Summarizes what the table reveals, what attacks found, and what could not be tried."""
    quiet = [finding for finding in report.findings if not finding.found]
    words = (
        f"{report.source}: {rows_text(report.rows)} in {classes_text(report.classes)}. "
        f"{len(report.found)} of {len(report.findings)} attacks found something; "
        f"{len(quiet)} found nothing."
    )
    parts: list[Part] = [Paragraph(words, "strong")]
    if report.beliefs:
        parts.append(tabulate_beliefs(report))
    if any(belief.by_person for belief in report.beliefs):
        parts.append(Paragraph(SEVERAL_ROWS.strip(), "aside"))
    if report.found:
        parts.append(_tabulate("Attacks that found something", report.found))
    if quiet:
        parts.append(_tabulate(FOUND_NOTHING, quiet))
    parts += [Paragraph(f"Not tried: {reason}", "aside") for reason in report.not_tried]
    if report.not_tried:
        words = "Further tables are given with --original, --other or --population."
        parts.append(Paragraph(words, "aside"))
    return parts


def summarize_person(belief: PersonBelief) -> list[Part]:
    """Summarizes beliefs about one person, step by step, the strongest first."""
    lines = belief.records()
    rows = tuple(
        (line["value"], *("" if line[step] is None else share_text(line[step]) for step in STEPS))
        for line in lines[:MOST_VALUES]
    )
    headings = (belief.attribute, *STEPS.values())
    parts: list[Part] = [Paragraph(sentence, "strong") for sentence in belief.sentences]
    parts.append(Table("Probability of each value", headings, rows, (1, 2, 3)))
    if len(lines) > MOST_VALUES:
        parts.append(Paragraph(f"{len(lines) - MOST_VALUES:,} more values: --json", "aside"))
    return parts


def chart_belief(belief: PersonBelief) -> Bars:
    """Charts the beliefs as bars."""
    lines = belief.records()[:MOST_VALUES]
    series = tuple(
        Series(words, tuple(line[step] for line in lines)) for step, words in STEPS.items()
    )
    title = f"What is believed of one person's {belief.attribute}"
    return Bars(title, "belief", tuple(line["value"] for line in lines), series)


def tabulate_beliefs(report: AttackReport) -> Table:
    """Tabulates how often the best guess at each sensitive attribute is right, step by step."""
    beliefs = ((belief.attribute, belief.guess) for belief in report.beliefs)
    rows = tuple((name, *(share_text(chance) for chance in guess)) for name, guess in beliefs)
    headings = ("attribute", "without knowledge", "table known", "class known")
    return Table("How often the best guess is right", headings, rows, (1, 2, 3))


def _tabulate(title: str, findings: Sequence[Finding]) -> Table:
    rows = []
    for finding in findings:
        about = (finding.attack, finding.attribute or "")
        counts = (f"{finding.affected:,}", share_text(finding.share))
        worst = ", ".join(str(number) for number in finding.classes[:5])
        rows.append((*about, *counts, finding.sentence, worst))
    headings = ("attack", "attribute", "rows", "share", "result", "worst classes")
    tones: list[Tone] = ["bad" if finding.found else "good" for finding in findings]
    return Table(title, headings, tuple(rows), (2, 3), tuple(tones))


def summarize_distances(comparison: DistanceComparison) -> list[Part]:
    """Summarizes the use of each distance, its values on examples, and its properties."""
    pairs = ("rare", "common", "lacking", "alike", "spread")
    kinds = comparison.distances
    values = tuple(
        (each.distance, *(write_distance(getattr(each, pair)) for pair in pairs)) for each in kinds
    )
    wishes = tuple(
        (each.distance, *("yes" if wish in each.meets else "no" for wish in WISHES))
        for each in kinds
    )
    headings = (
        "distance", "1 % → 11 %", "40 % → 50 %", "table lacks a value", "alike", "spread",
    )  # fmt: skip
    tones: list[Tone] = ["good" if len(each.meets) == len(WISHES) else "note" for each in kinds]
    return [
        Table(
            "Uses of the distances",
            ("distance", "for"),
            tuple((k.distance, k.suits) for k in kinds),
        ),
        Table("Distances of example pairs", headings, values, (1, 2, 3, 4, 5)),
        Paragraph(
            "Alike and spread: of nine salaries, 3K to 11K, the lowest three, and 6K, 8K and 11K; "
            "for the hierarchical distance three diseases of the stomach, and two with one of the "
            "lung (Li 2007, Tables 4 and 5).",
            "aside",
        ),
        Table("Desired properties", ("distance", *WISHES), wishes, (), tuple(tones)),
        *(Paragraph(f"{wish}: {meaning}.", "aside") for wish, meaning in WISHES.items()),
    ]


def write_distance(number: float) -> str:
    """Writes a distance to four digits, without zeros at the end.

    >>> write_distance(0.375), write_distance(float("inf"))
    ('0.375', 'not defined')
    """
    return f"{number:.4f}".rstrip("0").rstrip(".") if isfinite(number) else "not defined"


def summarize_utility(utility: Utility) -> list[Part]:
    """Every measure, then what each column contributes, then the further numbers."""
    linked = "row by row" if utility.row_by_row else "by the values that each value covers"
    words = (
        f"{utility.release} compared with {utility.original}: {rows_text(utility.rows)}, "
        f"{utility.left_out:,} left out, {classes_text(utility.classes)}; compared {linked}."
    )
    rows = []
    for measure in utility.measures:
        value = "not defined" if measure.overall is None else number_text(measure.overall)
        meaning = f"{measure.meaning}; {measure.note}" if measure.note else measure.meaning
        rows.append((measure.name, value, meaning))
    headings = ("measure", "value", "meaning")
    lost = Table("Utility", headings, tuple(rows), (1,))
    parts: list[Part] = [Paragraph(words, "strong"), lost]
    if shown := [measure for measure in utility.measures if measure.columns]:
        parts.append(_tabulate_columns(shown))
    for measure in utility.measures:
        if measure.name in DETAILED:
            numbers = tuple((name, number_text(at)) for name, at in measure.numbers.items())
            parts.append(Table(measure.name, ("", ""), numbers, (1,)))
    return parts


def _tabulate_columns(shown: Sequence[Measure]) -> Table:
    rows = []
    for name in dict.fromkeys(name for measure in shown for name in measure.columns):
        values = (measure.columns.get(name) for measure in shown)
        rows.append((name, *("" if value is None else number_text(value) for value in values)))
    headings = ("quasi-identifier", *(measure.name for measure in shown))
    return Table("By column", headings, tuple(rows), tuple(range(1, len(headings))))
