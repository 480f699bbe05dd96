"""A release as tables for a terminal: the promise, what was lost, what was tried."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tclose.release import Release
from tclose.report.terminal import verdict_table


def release_view(release: Release) -> RenderableType:
    """What was released, how close it is, and what it cost."""
    where = f"{release.path}: " if release.path else ""
    head = Text.assemble(
        (f"{where}{release.audit.rows:,} rows in {release.classes:,} classes", "bold"),
        f", mean size {release.sizes.mean:.1f}, loss {release.loss.overall:.4f}. ",
        ("The promise holds; it was recounted on what was written.", "green"),
    )
    parts: list[RenderableType] = [head]
    if release.left_out:
        fits = f", {release.outside:,} of them fit no class" if release.outside else ""
        parts.append(Text(f"{release.left_out:,} rows were left out{fits}.", "yellow"))
    parts += [
        verdict_table("What was promised", release.audit.requirements, promised=True),
        _losses(release),
    ]
    if release.outcome is not None and release.outcome.tried:
        parts.append(_tried(release))
    if release.plan.uses_sensitive:
        parts.append(
            Text(
                "Classes depend on sensitive values: rows with equal quasi-identifiers may be in "
                "different classes.",
                "dim",
            )
        )
    return Group(*parts)


def _losses(release: Release) -> Table:
    table = Table(title="What was lost", title_justify="left", title_style="bold")
    table.add_column("quasi-identifier")
    table.add_column("loss (0 exact, 1 nothing left)", justify="right")
    for name, loss in release.loss.columns.items():
        table.add_row(Text(name), f"{loss:.4f}")
    return table


def _tried(release: Release) -> Table:
    assert release.outcome is not None
    table = Table(title="What was tried", title_justify="left", title_style="bold")
    table.add_column("step")
    table.add_column("loss", justify="right")
    table.add_column("seconds", justify="right")
    for trial in release.outcome.tried[-12:]:
        table.add_row(Text(trial.step), f"{trial.loss:.4f}", f"{trial.seconds:.1f}")
    return table
