"""tclose demo: everything on a made-up hospital table."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console, RenderableType

from tclose.cli.console import guarded, progress, stdout


@guarded
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="The folder to write to.")
    ] = Path("tclose-demo"),
    rows: Annotated[int, typer.Option(min=100, help="How many made-up patients.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Equal seeds give equal tables.")] = 1,
) -> None:
    """Make up a hospital table, audit it, and explain its worst class."""
    from tclose import api
    from tclose.report import audit_view, explanation_view, flow_svg
    from tclose.sample import write_hospital
    from tclose.table.write import write_text

    with progress() as step:
        step("making up a hospital table")
        table, policy, _ = write_hospital(output, rows, seed)
        audit = api.audit(table, policy, progress=step)
        why = api.explain(table, policy, progress=step)
    write_text(output / "audit.json", json.dumps(audit.to_json(), indent=2) + "\n")
    write_text(output / "report.txt", _plain(audit_view(audit)) + _plain(explanation_view(why)))
    write_text(output / "worst-class.svg", flow_svg(why))
    console = stdout()
    console.print(audit_view(audit, details=False))
    console.print(explanation_view(why))
    console.print(
        f"\nThe table as it stands would give people away. Report: {output / 'report.txt'}, "
        f"picture of the worst class: {output / 'worst-class.svg'}\n"
        f"Again, step by step: tclose audit {table} --policy {policy}"
    )


def _plain(view: RenderableType) -> str:
    page = io.StringIO()
    Console(file=page, width=140, highlight=False, no_color=True).print(view)
    return page.getvalue() + "\n"
