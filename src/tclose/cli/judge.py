"""Commands that look at a table or a release: audit, verify, explain, attack, measure."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

import tclose
from tclose.cli import console, options
from tclose.cli.options import of_person, option
from tclose.data.io.paths import Reading
from tclose.errors import UsageError

if TYPE_CHECKING:
    from tclose.policy import Policy
    from tclose.report.document import Part
    from tclose.verify.audit import Audit
    from tclose.verify.forms import Recount
    from tclose.verify.recheck import Check


@console.guard
def audit(
    file: options.Table,
    *,
    declared: options.DeclaredColumns,
    fail_under: Annotated[
        str, option("k=5,t=0.2", "Without a policy: exit with code 1 unless this is kept.")
    ] = "",
    population: options.Population = None,
    report: options.Report = None,
    edition: options.Edition = "external",
    attacks: options.Attacks = True,
    everything: Annotated[
        bool, option("", "Also show what was measured and not asked for.", "--all")
    ] = False,
    reading: options.ReadingOptions,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Measure how private a table is, and which classes break the promise.

    Exit code 0: the promise holds (or none was made); 1: it does not.
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
    """The audit, with values of classes on a terminal only: what is piped may end in a log."""
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
    file: options.Table,
    policy: options.PolicyFile = None,
    certificate: Annotated[
        Path | None, option("C", "Confirm or refute every line of this certificate.")
    ] = None,
    population: options.Population = None,
    key: Annotated[
        Path | None, option("PUB", "The certificate must be signed by this public key (PEM).")
    ] = None,
    plan: Annotated[
        Path | None, option("PLAN", "Also compare the certificate with the plan of the release.")
    ] = None,
    original: Annotated[
        options.Place | None,
        options.table_option(help="Also compare the plan with the table it was made from."),
    ] = None,
    report: options.Report = None,
    edition: options.Edition = "external",
    attacks: options.Attacks = True,
    *,
    reading: options.ReadingOptions,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Recount a released table from scratch, in exact integers: does the promise hold?

    With a certificate, every line of it is held against the fresh count, compared, or said to be
    told; its own policy is judged unless another is given, which must then be the same. FILE
    may also be a folder of files, or one that `tclose split` wrote.
    Exit code 0: all holds; 1: it does not, or cannot be decided.
    """
    from tclose.report.render.saving import choose_file, refuse_report
    from tclose.report.summaries import summarize_checks
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
        raise UsageError("verify against what?", hint="give --policy POLICY or --certificate C")
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
    held = [] if stated is None else [summarize_checks(checks)]
    lines = {} if stated is None else {"certificate": [vars(check) for check in checks]}
    console.show(
        result,
        lambda audit: [*_summarize_audit(audit, details=None), *held],
        as_json=as_json,
        plain=lambda audit: audit.to_json() | lines,
        document=document,
        report=report,
    )
    sound = all(check.confirmed is not False for check in checks)
    console.give_verdict(holds=bool(result.holds and sound))


@console.guard
def compose(
    file: options.Table,
    earlier: Annotated[
        list[options.Place],
        options.table_argument(metavar="EARLIER", help="Earlier releases about the same people."),
    ],
    policy: options.Policy,
    key: options.Key = None,
    *,
    reading: options.ReadingOptions,
    as_json: options.AsJson = False,
) -> None:
    """Judge a release together with earlier ones: who is in the same class of all of them?

    Two safe releases can give a person away together. These groups are counted from scratch and
    judged by the policy. Exit code 0: the promise holds of them; 1: it does not.
    """
    with console.progress() as step:
        result = tclose.compose(
            file, list(earlier), policy, key=key, reading=reading, progress=step
        )
    console.show(result, partial(_summarize_audit, details=None), as_json=as_json)
    console.give_verdict(holds=result.holds is not False)


@console.guard
def sign(
    certificate: Annotated[
        Path,
        typer.Argument(metavar="C", help="The certificate, which is signed.", show_default=False),
    ],
    key: Annotated[Path, option("KEY", "Your private Ed25519 key (PEM, without a password).")],
) -> None:
    """Sign a certificate with your key: `verify --key` then says whether it is yours, unchanged.

    The signature covers every line, so also the hash of the release, and becomes one more line.
    Needs the extra `sign`.
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
    from tclose.report.summaries import summarize_checks
    from tclose.verify.forms import load_split_certificate
    from tclose.verify.signature import check_signature

    found = tclose.verify_split(folder, policy, memory=reading.memory)
    signed = check_signature(load_split_certificate(folder)[0], key)
    found = replace(found, checks=(*found.checks, *signed))
    if as_json:
        console.print_json(found.to_json())
    else:
        show_recount(found)
        console.stdout().print(render_parts([summarize_checks(found.checks)]))
    console.give_verdict(holds=found.holds)


def show_recount(found: Recount) -> None:
    """What was counted on every table."""
    from rich.text import Text

    from tclose.report.render.terminal import render_parts
    from tclose.report.summaries import tabulate_promised

    groups = "classes or more" if found.layout.form == "projections" else "groups"
    head = f"{found.layout.form}: {found.rows:,} rows in {found.groups:,} {groups}. "
    holds = ("The promise holds.", "green") if found.holds else ("It does NOT hold.", "bold red")
    console.stdout().print(Text.assemble((head, "bold"), holds))
    for file, audit in found.audits.items():
        console.stdout().print(render_parts([tabulate_promised(file, audit.requirements)]))


@console.guard
def explain(
    file: options.Table,
    *,
    declared: options.DeclaredColumns,
    class_number: Annotated[
        int | None,
        option("N", "The class; the farthest one if not given.", "--class-number", "--class"),
    ] = None,
    attribute: Annotated[
        str | None, option("A", "The sensitive attribute; the first one if not given.")
    ] = None,
    ranges: Annotated[
        int, option("N", "Very many numbers are shown in so many ranges.", min=2)
    ] = 20,
    svg: Annotated[
        Path | None, option("FILE", "Also draw class against table as a picture.")
    ] = None,
    arcs: Annotated[
        bool, option("", "Draw the moves of mass as arcs instead of bars.", "--arcs")
    ] = False,
    fragments: Annotated[
        bool,
        option("", "Show the matrix of two sensitive columns and its fragments.", "--fragments"),
    ] = False,
    reading: options.ReadingOptions,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Show a class beside the whole table, and the optimal moves of mass between them.

    The moves are shown twice, between neighbours and from value to value; either way their costs
    add up to the distance. This prints values of the table: it is for the steward's own eyes.
    """
    from tclose.data.io.files import write_text
    from tclose.report import draw_differences, draw_flow
    from tclose.report.explanation import summarize_explanation
    from tclose.report.fragments import draw_matrix, summarize_matrix

    if arcs and svg is None:
        raise UsageError("arcs of what?", where="arcs", hint="name a picture with --svg")

    if svg is not None:
        options.refuse_picture(svg, (file, declared["policy"]), force=force)
    if fragments:
        if class_number is not None or attribute is not None or arcs:
            what = "fragments are of the whole table and of two columns"
            raise UsageError(what, where="fragments", hint="leave out the class, column and arcs")
        with console.progress() as step:
            found = tclose.explain_fragments(
                file, declared["policy"], reading=reading, progress=step
            )
        if svg is not None:
            write_text(svg, draw_matrix(found))
            console.say(f"picture: {svg}")
        return console.show(found, summarize_matrix, as_json=as_json)
    with console.progress() as step:
        why = tclose.explain(
            file,
            **declared,
            class_number=class_number,
            attribute=attribute,
            ranges=ranges,
            reading=reading,
            progress=step,
        )
    if svg is not None:
        write_text(svg, draw_flow(why) if arcs else draw_differences(why))
        console.say(f"picture: {svg}")
    console.show(why, summarize_explanation, as_json=as_json)


@console.guard
def attack(
    file: options.Table,
    policy: options.Policy,
    original: Annotated[options.Place | None, options.of_original] = None,
    population: options.Population = None,
    other: Annotated[
        options.Place | None, options.table_option(help="Another release about the same people.")
    ] = None,
    key: options.Key = None,
    seed: Annotated[int, option("N", "Seed where people are drawn.")] = 1,
    effort: Annotated[
        float, option("SECONDS", "Work, at most; where it is too little, rows are drawn.", min=0)
    ] = 5,
    person: Annotated[
        list[str] | None, of_person("A=1,B=2", "What is known of one person (repeatable).")
    ] = None,
    attribute: Annotated[
        str | None, of_person("A", "The sensitive attribute; the first one if not given.")
    ] = None,
    ruled_out: Annotated[
        list[str] | None,
        of_person("TEXT", "A sensitive value, or group, that it is not (repeatable).", "--not"),
    ] = None,
    prior: Annotated[
        list[str] | None,
        of_person("V=0.3,…", "What was believed before; other values share the rest alike."),
    ] = None,
    *,
    reading: options.ReadingOptions,
    as_json: options.AsJson = False,
) -> None:
    """Try every known attack on a release, and say what each would learn.

    No cell value is printed: classes and values are told by their numbers. Nothing is judged
    against the policy's promise (`tclose verify` does that), so the exit code is 0 whatever is
    found.

    With --person, what can be believed about that one person: before, from the table, and from the
    class. This prints sensitive values, for the steward's own eyes; who was asked for is printed
    nowhere.
    """
    from tclose.report.summaries import summarize_attacks, summarize_person

    aimed = {"--attribute": attribute, "--not": ruled_out, "--prior": prior}
    if person:
        others: dict[str, object] = {
            "--original": original, "--population": population, "--other": other, "--key": key,
            "--seed": None if seed == 1 else seed, "--effort": None if effort == 5 else effort,
        }  # fmt: skip
        _refuse_given(others, "about all rows, not about one person: leave it out")
        with console.progress() as step:
            belief = tclose.attack_person(
                file,
                policy,
                person=options.read_pairs(person, "--person"),
                attribute=attribute,
                ruled_out=ruled_out or (),
                prior=options.read_pairs(prior or (), "--prior"),
                reading=reading,
                progress=step,
            )
        return console.show(belief, summarize_person, as_json=as_json)
    _refuse_given(aimed, "about one person: name what is known of them with --person")
    with console.progress() as step:
        report = tclose.attack(
            file,
            policy,
            original=original,
            population=population,
            other=other,
            key=key,
            seed=seed,
            effort=effort,
            reading=reading,
            progress=step,
        )
    console.show(report, summarize_attacks, as_json=as_json)


def _refuse_given(given: Mapping[str, object], hint: str) -> None:
    """Raises where an option is given that has nothing to say here."""
    for name, value in given.items():
        if value not in (None, []):
            raise UsageError("nothing is done with this option here", where=name, hint=hint)


@console.guard
def measure(
    release: Annotated[
        options.Place, options.table_argument(metavar="RELEASE", help="The released table.")
    ],
    original: Annotated[options.Place, options.of_original],
    policy: options.Policy,
    queries: Annotated[
        int, option("N", "How many random counts to ask; 0 for none.", min=0)
    ] = 1000,
    columns: Annotated[
        int, option("N", "Quasi-identifiers that each of them is about.", min=1)
    ] = 3,
    share: Annotated[float, option("SHARE", "Share of the rows that each is to select.")] = 0.1,
    target: Annotated[
        str | None, option("COLUMN", "Also learn this column (needs scikit-learn).")
    ] = None,
    key: options.Key = None,
    seed: Annotated[int, option("N", "Seed of queries and models, and of rows drawn.")] = 1,
    effort: Annotated[
        float,
        option("STEPS", "Work, in seconds of an ordinary core; some rows are drawn beyond it."),
    ] = 10.0,
    without: Annotated[
        list[str] | None, option("MEASURE", "Leave a measure out; may be repeated.")
    ] = None,
    *,
    reading: options.ReadingOptions,
    as_json: options.AsJson = False,
) -> None:
    """Measure what a release is still good for: losses, errors of counts, learning.

    Works for a release of any tool whose values can be read (intervals, sets, masks, labels of the
    policy's hierarchies).
    """
    from tclose.report.summaries import summarize_utility

    with console.progress() as step:
        result = tclose.measure(
            original=original,
            release=release,
            policy=policy,
            queries=queries,
            columns=columns,
            share=share,
            target=target,
            key=key,
            seed=seed,
            effort=effort,
            without=without or (),
            reading=reading,
            progress=step,
        )
    console.show(result, summarize_utility, as_json=as_json)
