"""tclose anonymize: find the release that keeps the promise with the least loss."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tclose.cli import options
from tclose.cli.console import command_line, guarded, progress, show
from tclose.cli.search_progress import searching
from tclose.errors import UsageError


@guarded
def anonymize(
    file: options.Table,
    policy: options.Policy,
    output: options.Output,
    certificate: options.CertificateFile = None,
    plan: Annotated[
        Path | None,
        typer.Option("--plan", metavar="PLAN", help="Where to write the plan (JSON)."),
    ] = None,
    *,
    method: options.Method = None,
    search: options.SearchOptions,
    report: options.Report = None,
    edition: options.Edition = "external",
    frontier: Annotated[
        bool,
        typer.Option("--frontier", help="Put loss against t into the report: as much work again."),
    ] = False,
    on_interrupt: Annotated[
        str, typer.Option(help="After Ctrl-C: ask, keep the best so far, or drop it.")
    ] = "ask",
    population: options.Population = None,
    key_file: options.KeyFile = None,
    reading: options.ReadingOptions,
    as_json: options.AsJson = False,
) -> None:
    """Find the release that keeps the promise with the least loss; write, verify, certify it.

    The file appears only after it has been read back and every requirement recounted on it.
    """
    import tclose
    from tclose.data.io.files import refuse_overwriting
    from tclose.report.render.saving import choose_file, refuse_report
    from tclose.report.summaries import summarize_release

    written = (output, certificate, plan)
    refuse_report(report, edition, (file, policy, population, key_file), written)
    for target in written:
        if target is not None:
            refuse_overwriting(target, (key_file,))
    if frontier and report is None:
        raise UsageError("--frontier is a part of the report", hint="name one with --report")
    if on_interrupt not in ("ask", "keep", "drop"):
        raise UsageError("--on-interrupt is ask, keep or drop")
    with searching() as watch:
        release = tclose.anonymize(
            file,
            policy,
            output=output,
            certificate=certificate,
            plan=plan,
            method=method,
            **search,
            population=population,
            key=options.read_key(key_file),
            reading=reading,
            **watch,
            on_cancel=lambda outcome: _keep(outcome, on_interrupt),
            command=command_line(),
        )
    curves = None
    if frontier:
        with searching() as watch:
            curves = tclose.frontier(
                file,
                policy,
                methods=method,
                **search,
                population=population,
                reading=reading,
                **watch,
            )
    document = None
    if report is not None:
        with progress() as step:
            step("attacking the release, for the report")
            document = release.report(choose_file(report), edition=edition, frontier=curves)
    show(
        release,
        summarize_release,
        as_json=as_json,
        plain=release_json,
        document=document,
        report=report,
    )


def release_json(release: Any) -> dict[str, Any]:
    """What a release is, as plain values."""
    content = release.certificate.to_json()
    told = "way held_back widened changed_hierarchies levels optimality leftover".split()
    return {
        **{key: content[key] for key in told if key in content},
        "output": str(release.path),
        "rows": release.audit.rows,
        "classes": release.classes,
        "left_out": release.left_out,
        "outside": release.outside,
        "loss": release.loss.overall,
        "columns": release.loss.columns,
        "holds": release.holds,
        "method": content["method"],
        "requirements": [verdict.to_json() for verdict in release.audit.requirements],
    }


def _keep(outcome: Any, wish: str) -> bool:
    if wish == "ask" and sys.stdin.isatty():
        return typer.confirm(f"Stopped. Keep the best release so far (loss {outcome.loss:.4f})?")
    return wish == "keep"
