"""The page Release: verify, sign off, download; everything is a file for the command line."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from starlette.responses import FileResponse, Response

import tclose
from tclose.data.io.files import write_text
from tclose.errors import UsageError
from tclose.policy.load import build_part, read_raw, write_toml
from tclose.policy.model import ReleaseContext
from tclose.report.document import EDITIONS, Folded, Part
from tclose.report.summaries import summarize_audit, summarize_checks
from tclose.studio.jobs import BackgroundJob
from tclose.studio.pairing import CLASSES
from tclose.studio.project import POLICY, TABLE, Run, to_plain_values
from tclose.studio.screens.search import describe_run
from tclose.studio.script import script_for
from tclose.studio.visit import Visit, act, show
from tclose.verify.audit import Audit
from tclose.verify.certificate import Origin, certify
from tclose.verify.recheck import Check, recheck
from tclose.workflows.report import release_report

CONTEXT = (
    ("recipient", "Who gets it"),
    ("purpose", "What it is for"),
    ("expert", "Who signs off, with their qualification"),
    ("review_date", "To be reviewed on"),
    ("threshold", "The accepted risk"),
    ("justification", "Why that risk is acceptable"),
    ("controls", "Further protection, separated by semicolons"),
)


def show_release(visit: Visit, problem: str = "") -> Response:
    """Shows a run, verified again, with its files to download."""
    bench = visit.bench
    run = bench.project.find_run(visit.text("run"))
    values: dict[str, Any] = {
        "run": run, "runs": [describe_run(each) for each in bench.project.runs], "parts": [],
        "fields": CONTEXT, "context": {}, "editions": EDITIONS, "ready": set(), "holds": False,
        "script": "", "command": "", "warnings": (),
    }  # fmt: skip
    if run is None:
        return visit.page("release.html", problem=problem, **values)
    certificate = ("--certificate", "certificate.json", "--policy", POLICY)
    verifying = f"tclose verify {run.release.name} {' '.join(certificate)}"
    values["command"] = "\n".join((bench.release_command(run), verifying))
    values["warnings"] = run.certificate.warnings or ()
    values |= {"context": run.certificate.context or {}, "script": script_for(bench, run)}
    values["ready"] = {path.name for path in run.folder.iterdir()}
    job = verify(visit, run)
    found = visit.get_result(job)
    if found is None:
        return visit.page("release.html", problem=problem, waiting=job, **values)
    verified: VerifiedRun = found
    values |= {"parts": verified.show(), "holds": verified.holds}
    report = bench.jobs.find(visit.text("job"))
    if report is not None and report.problem is not None:
        problem = problem or report.problem
    waiting = report if report is not None and not report.is_done else None
    return visit.page("release.html", problem=problem, waiting=waiting, **values)


@dataclass(frozen=True)
class VerifiedRun:
    """A release counted from scratch, and its certificate compared with the count."""

    audit: Audit
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether the promise holds, and the certificate is about this very file."""
        return self.audit.holds is True and not self._list(confirmed=False)

    def _list(self, *, confirmed: bool | None) -> list[Check]:
        return [check for check in self.checks if check.confirmed is confirmed]

    def show(self) -> list[Part]:
        """Returns what was counted, with the certificate line by line folded."""
        refuted, counted = self._list(confirmed=False), self._list(confirmed=True)
        words = f"The certificate: {len(counted)} lines are confirmed by counting"
        words += f", {len(refuted)} REFUTED" if refuted else ", none is refuted"
        parts = summarize_audit(self.audit, details=None, values=False)
        parts += [summarize_checks(refuted)] if refuted else []
        return [*parts, Folded(words, (summarize_checks(self.checks),))]


def verify(visit: Visit, run: Run) -> BackgroundJob:
    """Starts the job that counts a release from scratch and compares its certificate."""
    stamp = (run.folder / "certificate.json").stat().st_mtime_ns
    key: Hashable = ("verify", run.number, run.folder, stamp, run.release.stat().st_mtime_ns)

    def work(job: BackgroundJob) -> VerifiedRun:
        audit = tclose.verify(run.release, run.policy, progress=job.set_step)
        checks = recheck(run.certificate, audit, audit.bound.source.digest())
        return VerifiedRun(audit, tuple(checks))

    return visit.bench.jobs.compute(key, "Counting the release from scratch", work)


def sign_off(visit: Visit) -> str:
    """Puts recipient, purpose and so on into the policy, and certifies a fresh count."""
    run = _require_run(visit)
    given: dict[str, Any] = {name: visit.text(name) for name, _ in CONTEXT if visit.text(name)}
    if "controls" in given:
        given["controls"] = [part.strip() for part in given["controls"].split(";") if part.strip()]
    build_part(ReleaseContext, given)  # raises with what is wrong
    if not visit.bench.jobs.finish(verify(visit, run)).holds:
        what = "only a release that keeps its promise, as certified, can be signed off"
        raise UsageError(what, where=run.release.name, hint="search again")
    raw = to_plain_values(read_raw(run.folder / POLICY))
    raw.pop("context", None)
    if given:
        raw["context"] = given
    old = run.certificate
    write_text(run.folder / POLICY, write_toml(raw))
    policy, output = run.policy, run.folder / "certificate.json"
    audit = tclose.verify(run.release, policy)
    origin = Origin(**{name: getattr(old, name) for name in Origin.model_fields})
    certify(audit, policy, origin, audit.bound.source.digest()).save(output)
    for edition in EDITIONS:
        (run.folder / f"report-{edition}.html").unlink(missing_ok=True)
    return f"/release?run={run.number}"


def _require_run(visit: Visit) -> Run:
    run = visit.bench.project.find_run(visit.text("run"))
    if run is None:
        raise UsageError("this run does not exist", where="run")
    return run


def write_report(visit: Visit) -> str:
    """Starts to write an edition of the report."""
    run, edition = _require_run(visit), visit.text("edition")
    if edition not in EDITIONS:
        raise UsageError("no edition is chosen", hint=f"one of {', '.join(EDITIONS)}")
    place = visit.bench.locate(run)

    def work(job: BackgroundJob) -> None:
        original = tclose.check(place.data, run.policy, reading=place.reading)
        release_report(
            original, place.reading, run.release, run.certificate,
            run.folder / f"report-{edition}.html", edition, policy=run.policy,
            progress=job.set_step,
        )  # fmt: skip

    stamp = (run.folder / "certificate.json").stat().st_mtime_ns
    key = ("report", run.number, run.folder, edition, stamp)
    job = visit.bench.jobs.compute(key, f"Writing the {edition} report", work)
    job.wait()
    return f"/release?run={run.number}&job={job.name}"


def download(visit: Visit, problem: str = "") -> Response:
    """Sends one file of a run, or all of them in an archive."""
    run, name = visit.bench.project.find_run(visit.path["run"]), visit.path["file"]
    if run is None or problem:
        return Response("There is no such run.\n", 404, media_type="text/plain")
    if name == "script.py":
        return _send(script_for(visit.bench, run).encode(), name, "text/x-python")
    if name == "command.txt":
        return _send(f"{visit.bench.release_command(run)}\n".encode(), name, "text/plain")
    if name == "all.zip":
        return _send(_pack(visit, run), f"release-{run.number}.zip", "application/zip")
    offered = {run.release.name, "certificate.json", "plan.json", POLICY}
    offered |= {f"report-{edition}.html" for edition in EDITIONS}
    path = run.folder / name
    if name not in offered or not path.is_file():
        return Response("There is no such file.\n", 404, media_type="text/plain")
    return FileResponse(path, filename=name, content_disposition_type="attachment")


def _send(content: bytes, name: str, kind: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=kind, headers=headers)


def _pack(visit: Visit, run: Run) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(run.folder.rglob("*")):
            if path.is_file() and path.name not in (CLASSES, TABLE):
                archive.write(path, str(path.relative_to(run.folder)))
        archive.writestr("script.py", script_for(visit.bench, run))
        archive.writestr("command.txt", f"{visit.bench.release_command(run)}\n")
    return packed.getvalue()


ROUTES = [
    show("/release", show_release),
    act("/release/sign", sign_off, show_release),
    act("/release/report", write_report, show_release),
    show("/runs/{run}/{file}", download),
]
