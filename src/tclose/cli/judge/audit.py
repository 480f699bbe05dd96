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
    from tclose.report import audit_view
    from tclose.report.render.saving import file_of, refuse_report
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
                file_of(report),
                edition=edition,
                hashes={"table": result.bound.source.digest()},
                population=count_population(result.bound, population, reading),
            )
    show(result, audit_view, as_json=as_json, document=document, report=report)
    raise typer.Exit(HOLDS if result.holds else FAILS)
