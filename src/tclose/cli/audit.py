"""tclose audit: how private is this table as it stands?"""

from __future__ import annotations

import typer

from tclose.cli import options
from tclose.cli.console import FAILS, HOLDS, guarded, print_json, progress, stdout
from tclose.verify.certificate import file_hash


@guarded
def audit(
    file: options.Table,
    policy: options.PolicyFile = None,
    quasi: options.Quasi = "",
    sensitive: options.Sensitive = "",
    population: options.Population = None,
    report: options.Report = None,
    edition: options.Edition = "external",
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    null: options.Null = None,
    memory: options.Memory = None,
    as_json: options.AsJson = False,
) -> None:
    """Measure how private a table is, and which classes break the promise.

    Exit code 0: the promise holds (or none was made); 1: it does not.
    """
    from tclose import api, publish
    from tclose.report import audit_view
    from tclose.report.saving import refuse_report

    refuse_report(report, edition, (file, policy, population))
    options.policy_or_columns(policy, quasi, sensitive)
    how = options.reading(delimiter, encoding, null, memory)
    with progress() as step:
        result = api.audit(
            file,
            policy,
            quasi=quasi,
            sensitive=sensitive,
            population=population,
            reading=how,
            progress=step,
        )
        if report is not None:
            step("writing the report")
            publish.audit_report(
                result,
                report,
                edition=edition,
                hashes={"table": file_hash(file)},
                population=api.population_cells(result.bound, population, how),
            )
    if as_json:
        print_json(result.to_json())
    else:
        stdout().print(audit_view(result))
    raise typer.Exit(HOLDS if result.holds else FAILS)
