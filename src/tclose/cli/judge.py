"""Commands that judge a table or a release: audit, verify, compose, sign."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import tclose
from tclose.cli import console, options
from tclose.data.io.paths import Reading
from tclose.errors import UsageError

if TYPE_CHECKING:
    from tclose.policy.model import Policy
    from tclose.report.document import Part
    from tclose.verify.audit import Audit
    from tclose.verify.forms import Recount
    from tclose.verify.recheck import Check


@console.guard
def audit(
    file: options.Place,
    *,
    declared: options.DeclaredColumns,
    fail_under: str = "",
    population: options.Place | None = None,
    report: Path | None = None,
    edition: str = "external",
    attacks: bool = True,
    everything: bool = False,
    reading: options.ReadingOptions,
    force: bool = False,
    as_json: bool = False,
) -> None:
    """Check whether a table satisfies a policy, and show the classes that do not.

    Exit code 0: the promise holds (or there is none); 1: it does not.

    --fail-under k=5,t=0.2: Without a policy: thresholds; exit code 1 if the table exceeds them.
    everything --all: Show all measures, including those not in the policy.
    """
    from tclose.report.render.saving import choose_file, refuse_report
    from tclose.workflows.inputs import count_population

    refuse_report(report, edition, (file, declared["policy"], population), kind="audit")
    options.refuse_taken((report,), force=force)
    document = None
    with console.progress() as step:
        result = tclose.audit(
            file, **declared, fail_under=fail_under, population=population, reading=reading,
            progress=step,
        )  # fmt: skip
        if report is not None:
            step("attacking the table, for the report")
            people = count_population(result.bound, population, reading)
            hashes, path = {"table": result.bound.source.digest()}, choose_file(report)
            document = tclose.audit_report(
                result, path, edition=edition, hashes=hashes, population=people,
                attacks=attacks, progress=step,
            )  # fmt: skip
    shown = partial(_summarize_audit, details=everything)
    console.show(result, shown, as_json=as_json, document=document, report=report)
    console.give_verdict(holds=result.holds is not False)


def _summarize_audit(audit: Audit, *, details: bool | None) -> list[Part]:
    """The audit, with values of classes on a terminal only: piped output may end in a log."""
    from tclose.report.document import Paragraph
    from tclose.report.summaries import summarize_audit

    on_terminal = sys.stdout.isatty()
    parts = summarize_audit(audit, details=details, values=on_terminal)
    if not on_terminal and any(report.breaks for report in audit.worst):
        hint = "Values of classes are shown on a terminal only; `tclose explain` shows a class."
        parts.append(Paragraph(hint, "aside"))
    return parts


@console.guard
def verify(
    file: options.Place,
    policy: Path | None = None,
    certificate: Path | None = None,
    population: options.Place | None = None,
    key: Path | None = None,
    plan: Path | None = None,
    original: options.Place | None = None,
    report: Path | None = None,
    edition: str = "external",
    attacks: bool = True,
    *,
    reading: options.ReadingOptions,
    force: bool = False,
    as_json: bool = False,
) -> None:
    """Verify a release: recount the file from scratch and check the promise.

    With a certificate, each of its entries is confirmed, refuted, or listed as one that cannot be
    recounted. The policy is the certificate's own; --policy must name the same.
    FILE may also be a folder of files, or a folder that `tclose split` wrote.
    Exit code 0: the promise holds; 1: it does not hold or cannot be decided.

    --certificate C: The certificate to check.
    --key PUB: Public key (PEM) with which the certificate must be signed.
    --plan PLAN: The plan of the release, to compare with the certificate.
    --original FILE: The table before its release, to compare with the plan.
    """
    from tclose.report.render.saving import choose_file, refuse_report
    from tclose.report.summaries import summarize_checks, warn_of_refuted
    from tclose.verify.certificate import Certificate
    from tclose.verify.forms import CERTIFICATE
    from tclose.verify.recheck import recheck
    from tclose.verify.signature import check_signature
    from tclose.workflows.inputs import count_population, parse_embedded_policy
    from tclose.workflows.verify import check_origin

    refuse_report(report, edition, (file, policy, certificate, population))
    options.refuse_taken((report,), force=force)
    against = policy is not None or certificate is not None
    is_split = isinstance(file, Path) and (file / CERTIFICATE).exists()
    if isinstance(file, Path) and file.is_dir() and (is_split or not against):
        others = {"--certificate": certificate, "--population": population, "--report": report}
        others |= {"--plan": plan, "--original": original}
        _verify_folder(file, policy, reading, others, key, as_json=as_json)
    if not against:
        raise UsageError(
            "verify needs a policy or a certificate", hint="give --policy POLICY or --certificate C"
        )
    if certificate is None and (key or plan or original):
        what = "a key, a plan or the original are compared with a certificate"
        raise UsageError(what, where="verify", hint="give --certificate C, too")
    stated = None if certificate is None else Certificate.load(certificate)
    rules: Path | Policy | None = policy
    if policy is None and stated is not None and certificate is not None:
        rules = parse_embedded_policy(stated.policy, certificate.parent, keeper="certificate")
    assert rules is not None
    with console.progress() as step:
        result = tclose.verify(
            file,
            rules,
            certificate=stated,
            population=population,
            reading=reading,
            progress=step,
        )
    now = result.bound.source.digest()
    checks: tuple[Check, ...] = ()
    if stated is not None:
        kept = None if plan is None else tclose.Plan.load(plan)
        checks = (
            *check_signature(stated, key),
            *recheck(stated, result, now),
            *check_origin(stated, kept, original, result.bound.policy, reading),
        )
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
            attacks=attacks,
        )
    refuted, held = warn_of_refuted(checks), [] if stated is None else [summarize_checks(checks)]
    lines = {} if stated is None else {"certificate": [vars(check) for check in checks]}
    console.show(
        result,
        lambda audit: [*refuted, *_summarize_audit(audit, details=None), *held],
        as_json=as_json,
        plain=lambda audit: audit.to_json() | lines,
        document=document,
        report=report,
    )
    sound = all(check.confirmed is not False for check in checks)
    console.give_verdict(holds=bool(result.holds and sound))


@console.guard
def compose(
    file: options.Place,
    earlier: list[options.Place],
    policy: Path,
    key: str | None = None,
    *,
    reading: options.ReadingOptions,
    as_json: bool = False,
) -> None:
    """Judge a release together with earlier releases about the same people.

    Two safe releases can identify a person together. The people who share their classes in all
    releases form a group; the groups are counted and judged by the policy.
    Exit code 0: the promise holds for the groups (or there is none); 1: it does not.

    EARLIER: Earlier releases about the same people.
    """
    with console.progress() as step:
        result = tclose.compose(
            file, list(earlier), policy, key=key, reading=reading, progress=step
        )
    console.show(result, partial(_summarize_audit, details=None), as_json=as_json)
    console.give_verdict(holds=result.holds is not False)


@console.guard
def sign(certificate: Path, key: Path) -> None:
    r"""Sign a certificate with a private key; `verify --key` checks the signature.

    The signature covers every entry, including the hash of the release, and is added to the
    certificate. Needs `pip install 'tclose\[sign]'`.

    CERTIFICATE: The certificate to sign, in place.
    --key KEY: Your private Ed25519 key (PEM, without a password).
    """
    from tclose.verify.certificate import Certificate
    from tclose.verify.signature import sign_certificate

    sign_certificate(Certificate.load(certificate), key).save(certificate)
    console.say(f"signed: {certificate}")


def _verify_folder(
    folder: Path,
    policy: Path | None,
    reading: Reading,
    others: Mapping[str, object],
    key: Path | None,
    *,
    as_json: bool,
) -> NoReturn:
    """`tclose verify FOLDER`: the tables of a split release, counted again."""
    wrong = [name for name, value in others.items() if value is not None]
    if reading != Reading(memory=reading.memory):
        wrong.append("a delimiter, encoding or text for missing values")
    if wrong:
        hint = "leave it out"
        raise UsageError(f"{wrong[0]} is about a single file", where=str(folder), hint=hint)
    from tclose.report.render.terminal import render_parts
    from tclose.report.summaries import summarize_checks, warn_of_refuted
    from tclose.verify.forms import load_split_certificate
    from tclose.verify.signature import check_signature

    found = tclose.verify_split(folder, policy, memory=reading.memory)
    signed = check_signature(load_split_certificate(folder)[0], key)
    found = replace(found, checks=(*found.checks, *signed))
    if as_json:
        console.print_json(found.to_json())
    else:
        if refuted := warn_of_refuted(found.checks):
            console.stdout().print(render_parts(refuted))
        show_recount(found)
        console.stdout().print(render_parts([summarize_checks(found.checks)]))
    console.give_verdict(holds=found.holds)


def show_recount(found: Recount) -> None:
    """Prints the recount of every table."""
    from rich.text import Text

    from tclose.report.render.terminal import render_parts
    from tclose.report.summaries import tabulate_promised

    groups = "classes or more" if found.layout.form == "projections" else "groups"
    head = f"{found.layout.form}: {found.rows:,} rows in {found.groups:,} {groups}. "
    holds = ("The promise holds.", "green") if found.holds else ("It does NOT hold.", "bold red")
    console.stdout().print(Text.assemble((head, "bold"), holds))
    for file, audit in found.audits.items():
        console.stdout().print(render_parts([tabulate_promised(file, audit.requirements)]))
