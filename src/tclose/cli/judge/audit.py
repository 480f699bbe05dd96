"""tclose audit: how private is this table as it stands?"""

from __future__ import annotations

import typer

from tclose.cli import options
from tclose.cli.console import FAILS, HOLDS, guarded, progress, show


@guarded
def audit(
    file: options.Table,
    *,
    declared: options.DeclaredColumns,
    population: options.Population = None,
    report: options.Report = None,
    edition: options.Edition = "external",
    reading: options.ReadingOptions,
    as_json: options.AsJson = False,
) -> None:
    """Measure how private a table is, and which classes break the promise.

    Exit code 0: the promise holds (or none was made); 1: it does not.
    """
    import tclose
    from tclose.report.render.saving import choose_file, refuse_report
    from tclose.report.summaries import summarize_audit
    from tclose.workflows.inputs import count_population

    refuse_report(report, edition, (file, declared["policy"], population))
    document = None
    with progress() as step:
        result = tclose.audit(
            file,
            **declared,
            population=population,
            reading=reading,
            progress=step,
        )
        if report is not None:
            step("writing the report")
            document = tclose.audit_report(
                result,
                choose_file(report),
                edition=edition,
                hashes={"table": result.bound.source.digest()},
                population=count_population(result.bound, population, reading),
            )
    show(result, summarize_audit, as_json=as_json, document=document, report=report)
    raise typer.Exit(HOLDS if result.holds else FAILS)
