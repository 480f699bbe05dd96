"""A release as tables for a terminal: the promise, what was lost, what was tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tclose.release import Release
from tclose.report.render.terminal import verdict_table
from tclose.search import Outcome, Trial
from tclose.verify.wording import classes_text, rows_text

MOST_STEPS = 12
FIRST = "hybrid"
"""The method whose challengers are tried after it."""


def release_view(release: Release) -> RenderableType:
    """What was released, how close it is, and what it cost."""
    where = f"{release.path}: " if release.path else ""
    head = Text.assemble(
        (f"{where}{rows_text(release.audit.rows)} in {classes_text(release.classes)}", "bold"),
        f", mean size {release.sizes.mean:.1f}, loss {release.loss.overall:.4f}. ",
        ("The promise holds; it was recounted on what was written.", "green"),
    )
    parts: list[RenderableType] = [head]
    parts += [Text(line, "yellow") for line in _notices(release)]
    parts += [Text(line, "dim") for line in _recoded(release)]
    parts += [
        verdict_table("What was promised", release.audit.requirements, promised=True),
        _losses(release),
    ]
    if release.outcome is not None and release.outcome.tried:
        parts.append(_tried(release.outcome))
    if release.plan is None or release.plan.uses_sensitive:
        parts.append(
            Text(
                "Classes depend on sensitive values: rows with equal quasi-identifiers may be in "
                "different classes.",
                "dim",
            )
        )
    return Group(*parts)


WAYS = {
    "levels": "New rows were recoded to the plan's levels.",
    "cuts": "New rows went the way of the plan's cuts.",
    "classes": "New rows went to the nearest class of the plan that keeps the promise with them.",
}


def _notices(release: Release) -> Iterator[str]:
    """What a steward should know before anything else: rows that are not as they might be."""
    if release.left_out:
        told = f", {release.outside:,} of them lie outside the plan" if release.outside else ""
        yield f"{rows_text(release.left_out)} left out{told}."
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


def _recoded(release: Release) -> Iterator[str]:
    """Which method was chosen, and how values were recoded where it is not class by class."""
    if release.outcome is not None and release.outcome.why:
        yield f"Chosen: {release.outcome.why}."
    if release.applied is not None:
        yield WAYS[release.applied.way]
    if release.plan is not None and release.plan.levels is not None:
        told = ", ".join(f"{name} {level}" for name, level in release.plan.levels.items())
        yield f"Whole columns are recoded to one level each (0: as they are): {told}."
    proof = release.certificate.content.get("optimality")
    if proof is not None and proof["optimal"]:
        yield f"No other choice of levels loses less ({proof['measure']})."
    elif proof is not None:
        least = f"{proof['no_less_than']:.4f} ({proof['measure']})"
        yield f"No choice of levels loses less than {least}."


def _losses(release: Release) -> Table:
    table = Table(title="What was lost", title_justify="left", title_style="bold")
    table.add_column("quasi-identifier")
    table.add_column("loss (0 exact, 1 nothing left)", justify="right")
    for name, loss in release.loss.columns.items():
        table.add_row(Text(name), f"{loss:.4f}")
    return table


def _tried(outcome: Outcome) -> Table:
    table = Table(title="What was tried", title_justify="left", title_style="bold")
    table.add_column("step")
    table.add_column("loss", justify="right")
    table.add_column("seconds", justify="right")
    for trial in worth_showing(outcome):
        table.add_row(Text(trial.step), f"{trial.loss:.4f}", f"{trial.seconds:.1f}")
    return table


def worth_showing(outcome: Outcome) -> Iterator[Trial]:
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
