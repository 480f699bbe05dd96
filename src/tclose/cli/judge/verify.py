"""tclose verify: recount a file, ours or anybody's, and judge what the policy promises."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tclose.cli import options
from tclose.cli.console import FAILS, HOLDS, guarded, progress, show
from tclose.cli.release.split import verify_folder
from tclose.errors import UsageError

if TYPE_CHECKING:
    from tclose.policy import Policy


@guarded
def verify(
    file: options.Table,
    policy: options.PolicyFile = None,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="C", help="Confirm or refute every line of this certificate."),
    ] = None,
    population: options.Population = None,
    report: options.Report = None,
    edition: options.Edition = "external",
    *,
    reading: options.ReadingOptions,
    as_json: options.AsJson = False,
) -> None:
    """Recount a released table from scratch, in exact integers: does the promise hold?

    With a certificate, every line of it is held against the fresh count; its own policy is judged
    unless another is given. FILE may also be a folder of files, or one that `tclose split` wrote.
    Exit code 0: all holds; 1: it does not, or cannot be decided.
    """

    import tclose
    from tclose.report.render.saving import choose_file, refuse_report
    from tclose.report.summaries import summarize_audit, summarize_checks
    from tclose.verify import Certificate, recheck
    from tclose.workflows.inputs import count_population, embedded_policy

    refuse_report(report, edition, (file, policy, certificate, population))
    told = policy is not None or certificate is not None
    if isinstance(file, Path) and file.is_dir() and not (told and _is_table(file)):
        others = {"--certificate": certificate, "--population": population, "--report": report}
        verify_folder(file, policy, reading, others, as_json=as_json)
    if policy is None and certificate is None:
        raise UsageError("verify against what?", hint="give --policy POLICY or --certificate C")
    stated = None if certificate is None else Certificate.load(certificate)
    rules: Path | Policy | None = policy
    if policy is None and stated is not None and certificate is not None:
        rules = embedded_policy(stated.policy, certificate.parent, "certificate")
    assert rules is not None
    with progress() as step:
        result = tclose.verify(
            file,
            rules,
            population=population,
            reading=reading,
            progress=step,
        )
    now = result.bound.source.digest()
    checks = () if stated is None else recheck(stated, result, now)
    document = None
    if report is not None:
        document = tclose.audit_report(
            result,
            choose_file(report),
            edition=edition,
            kind="verify",
            certificate=stated,
            checks=checks,
            hashes={"file as counted": now},
            population=count_population(result.bound, population, reading),
        )
    held = [] if stated is None else [summarize_checks(checks)]
    lines = {} if stated is None else {"certificate": [vars(check) for check in checks]}
    show(
        result,
        lambda audit: [*summarize_audit(audit, details=False), *held],
        as_json=as_json,
        plain=lambda audit: audit.to_json() | lines,
        document=document,
        report=report,
    )
    sound = all(check.confirmed is not False for check in checks)
    raise typer.Exit(HOLDS if result.holds and sound else FAILS)


def _is_table(folder: Path) -> bool:
    """Whether a folder's files are one table, not those of a split release."""
    from tclose.verify.forms import CERTIFICATE

    return not (folder / CERTIFICATE).exists()
