"""tclose demo: everything on a made-up hospital table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tclose.cli.console import guarded, stdout, typed
from tclose.cli.search_progress import searching

if TYPE_CHECKING:
    from rich.table import Table

    from tclose.release import Release
    from tclose.verify import Audit


@guarded
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="The folder to write to.")
    ] = Path("tclose-demo"),
    rows: Annotated[int, typer.Option(min=100, help="How many made-up patients.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Equal seeds give equal tables.")] = 1,
    effort: Annotated[float, typer.Option(min=0, help="How much work, in seconds.")] = 10,
) -> None:
    """Make up a hospital table, audit it, anonymize it, verify and explain the release."""
    import tclose
    from tclose.data.io.files import write_text
    from tclose.report import draw_flow
    from tclose.report.render.saving import save_document
    from tclose.sample import write_hospital

    certificate = output / "certificate.json"
    with searching() as watch:
        table, policy, _ = write_hospital(output, rows, seed)
        before = tclose.audit(table, policy)
        release = tclose.anonymize(
            table,
            policy,
            output=output / "release.csv",
            certificate=certificate,
            plan=output / "plan.json",
            effort=effort,
            **watch,
            on_cancel=lambda outcome: True,
        )
        why = tclose.explain(output / "release.csv", policy)
    write_text(output / "audit.json", json.dumps(before.to_json(), indent=2) + "\n")
    write_text(output / "worst-class.svg", draw_flow(why))
    document = release.report(output / "report.html", edition="internal")
    save_document(document, output / "report.txt")
    console = stdout()
    checked = (output / "release.csv", "--certificate", certificate, "--policy", policy)
    console.print(_compared(before, release))
    console.print(
        f"\nRelease: {output / 'release.csv'} (certificate, plan and policy beside it)\n"
        f"Report: {output / 'report.html'} (opens in any browser; as text: "
        f"{output / 'report.txt'}); its worst class as a picture: {output / 'worst-class.svg'}\n"
        f"Check it yourself: {typed('verify', *checked)}",
        soft_wrap=True,
        markup=False,
    )


def _compared(before: Audit, release: Release) -> Table:
    """The made-up table as it stands beside the release made from it."""
    from rich.table import Table

    table = Table(title="Before and after", title_justify="left", title_style="bold")
    for heading in ("", "the table as it stands", "the release"):
        table.add_column(heading, overflow="fold")
    after = release.audit
    table.add_row("rows", f"{before.rows:,}", f"{after.rows:,}")
    table.add_row("classes", f"{before.classes:,}", f"{after.classes:,}")
    for one, other in zip(before.requirements, after.requirements, strict=False):
        broken = "" if one.holds else f", {one.failing_rows:,} rows in classes that break it"
        table.add_row(
            f"{one.title} (asked: {one.required})",
            f"{one.achieved_text}{broken}",
            f"{other.achieved_text}, {'holds' if other.holds else 'FAILS'}",
        )
    table.add_row("the promise", "broken" if not before.holds else "holds", "holds")
    table.add_row("loss (0 exact, 1 nothing left)", "0", f"{release.loss.overall:.4f}")
    return table
