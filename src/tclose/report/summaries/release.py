"""A release in short: the promise, what was lost, what was tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tclose.release import Release
from tclose.report.document import Paragraph, Part, Table
from tclose.report.summaries.audit import tabulate_promised
from tclose.search import Outcome, Trial
from tclose.verify.wording import classes_text, rows_text

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
        *(Paragraph(notice, "note") for notice in _list_notices(release)),
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
    """What a steward should know before anything else: rows that are not as they might be."""
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
