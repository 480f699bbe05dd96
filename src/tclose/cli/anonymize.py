"""tclose anonymize: find the release that keeps the promise with the least loss."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from tclose.cli import options
from tclose.cli.console import guarded, print_json, progress, stderr, stdout
from tclose.errors import UsageError

Output = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="OUT", help="The release: .csv, .parquet or .arrow."),
]
CertificateFile = Annotated[
    Path | None,
    typer.Option("--certificate", metavar="C", help="Where to write the certificate (JSON)."),
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", metavar="FILE", help="Secret key of the pseudonyms, if any."),
]


@guarded
def anonymize(
    file: options.Table,
    policy: options.Policy,
    output: Output,
    certificate: CertificateFile = None,
    plan: Annotated[
        Path | None,
        typer.Option("--plan", metavar="PLAN", help="Where to write the plan (JSON)."),
    ] = None,
    method: options.Method = None,
    seconds: options.Seconds = None,
    seed: options.Seed = None,
    effort: options.Effort = None,
    suppression: options.Suppression = None,
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
    key_file: KeyFile = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    null: options.Null = None,
    memory: options.Memory = None,
    as_json: options.AsJson = False,
) -> None:
    """Find the release that keeps the promise with the least loss; write, verify, certify it.

    The file appears only after it has been read back and every requirement recounted on it.
    """
    from tclose import publish
    from tclose.report.released import release_view
    from tclose.report.saving import refuse_report
    from tclose.table.write import refuse_overwriting

    refuse_report(report, edition, (file, policy, output, certificate, plan, population))
    for target in (output, certificate, plan, report):
        if target is not None:
            refuse_overwriting(target, (key_file,))
    if frontier and report is None:
        raise UsageError("--frontier is a part of the report", hint="name one with --report")
    if on_interrupt not in ("ask", "keep", "drop"):
        raise UsageError("--on-interrupt is ask, keep or drop")
    with searching() as (told, cancelled):
        release = publish.anonymize(
            file,
            policy,
            output=output,
            certificate=certificate,
            plan=plan,
            method=method,
            seconds=seconds,
            effort=effort,
            seed=seed,
            suppression=suppression,
            population=population,
            key=read_key(key_file),
            reading=options.reading(delimiter, encoding, null, memory),
            progress=told,
            cancelled=cancelled,
            on_cancel=lambda outcome: _keep(outcome, on_interrupt),
            command=shlex.join(["tclose", *sys.argv[1:]]),
        )
    curves = None
    if frontier:
        with searching() as (told, cancelled):
            curves = publish.frontier(
                file,
                policy,
                methods=method,
                seconds=seconds,
                effort=effort,
                seed=seed,
                suppression=suppression,
                population=population,
                reading=options.reading(delimiter, encoding, null, memory),
                progress=told,
                cancelled=cancelled,
            )
    if report is not None:
        with progress() as step:
            step("attacking the release, for the report")
            release.report(report, edition=edition, frontier=curves)
    if as_json:
        print_json(release_json(release))
    else:
        stdout().print(release_view(release))


def release_json(release: Any) -> dict[str, Any]:
    """What a release is, as plain values."""
    content = release.certificate.content
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


def read_key(path: Path | None) -> bytes | None:
    """The secret key of the pseudonyms."""
    if path is None:
        return None
    try:
        key = path.read_bytes().strip()
    except OSError as error:
        raise UsageError(f"cannot be read ({error.strerror})", where=str(path)) from None
    if len(key) < 16:
        raise UsageError("a key needs at least 16 bytes", where=str(path))
    return key


@contextmanager
def searching() -> Iterator[tuple[Callable[[Any], None], Callable[[], bool]]]:
    """A progress bar (on a terminal only), and Ctrl-C as a request to stop searching."""
    stopped: list[bool] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        if stopped:
            raise KeyboardInterrupt
        stopped.append(True)

    before = signal.signal(signal.SIGINT, interrupt)
    console = stderr()
    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[loss]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    try:
        with bar:
            task = bar.add_task("opening the table", total=None, loss="")

            def report(step: Any) -> None:
                loss = "" if step.loss is None else f"best loss {step.loss:.4f}"
                bar.update(
                    task,
                    description=step.step,
                    completed=step.seconds_used,
                    total=step.seconds_total,
                    loss=loss,
                )

            yield report, lambda: bool(stopped)
    finally:
        signal.signal(signal.SIGINT, before)


def _keep(outcome: Any, wish: str) -> bool:
    if wish == "ask" and sys.stdin.isatty():
        return typer.confirm(f"Stopped. Keep the best release so far (loss {outcome.loss:.4f})?")
    return wish == "keep"
