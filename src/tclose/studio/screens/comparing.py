"""Before and after: each column's distribution, rows beside each other, the worst classes."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

import tclose
from tclose.attacks.finding import AttackReport
from tclose.data.alignment import align
from tclose.data.binding import open_source
from tclose.report.distributions import chart_distribution
from tclose.report.document import HistogramChart
from tclose.report.subject import CountedTable, Subject
from tclose.report.summaries import summarize_audit
from tclose.studio.jobs import BackgroundJob
from tclose.studio.project import Run
from tclose.studio.screens.search import describe_run
from tclose.studio.table import read_rows
from tclose.studio.visit import Visit, show
from tclose.studio.workbench import FIRST_RELEASED
from tclose.verify.audit import Audit

PAGE = 20


def show_comparison(visit: Visit, problem: str = "") -> Response:
    """A run held against the table that it was made from."""
    bench = visit.bench
    run = bench.project.find_run(visit.text("run"))
    values: dict[str, Any] = {
        "run": run, "runs": [describe_run(each) for each in bench.project.runs], "charts": [],
        "parts": [], "rows": None, "page": 0, "pages": 0, "columns": [], "command": "",
    }  # fmt: skip
    if run is None or problem:
        return visit.page("before-after.html", problem=problem, **values)
    words = ("--original", bench.project.table, "--policy", "policy.toml")
    values["command"] = f"tclose measure {run.release.name} " + " ".join(map(str, words))
    job, key = compare(visit, run)
    found = visit.settle(job, key)
    if found is None:
        return visit.page("before-after.html", waiting=job, **values)
    pairs = found["rows"]
    if pairs is not None:
        values["pages"] = max(-(-len(pairs) // PAGE), 1)
        at = int(visit.text("page")) if visit.text("page").isdigit() else 1
        values["page"] = min(max(at, 1), values["pages"])
        values["rows"] = pairs[PAGE * (values["page"] - 1) : PAGE * values["page"]]
    values |= {name: found[name] for name in ("charts", "parts", "columns")}
    return visit.page("before-after.html", **values)


def compare(visit: Visit, run: Run) -> tuple[BackgroundJob, Hashable]:
    """Everything that the page shows of a run, counted once."""
    project = visit.bench.project
    data, reading = project.data, project.reading
    key: Hashable = ("compare", run.number, run.folder, project.identity)

    def work(job: BackgroundJob) -> dict[str, Any]:
        policy = run.policy
        before = tclose.audit(data, policy, reading=reading, progress=job.tell)
        after = tclose.verify(run.release, policy, progress=job.tell)
        subject = Subject(
            kind="release", now=_count(after), before=_count(before), edition="internal",
            certificate=run.certificate, alignment=align(before.bound, after.bound),
        )  # fmt: skip
        names = (*policy.quasi, *policy.sensitive)
        charts = [chart_distribution(subject, name) for name in names]
        shown, columns = pair_rows(run, data, reading)
        return {
            "charts": [chart for chart in charts if isinstance(chart, HistogramChart)],
            "parts": summarize_audit(after, details=None, values=False),
            "rows": shown, "columns": columns,
        }  # fmt: skip

    return visit.bench.jobs.compute(key, "Holding the release against the table", work), key


def _count(audit: Audit) -> CountedTable:
    return CountedTable(audit, AttackReport(audit.source, audit.rows, audit.classes, (), (), ()))


def pair_rows(run: Run, data: Any, reading: Any) -> tuple[list[list[Any]] | None, list[str]]:
    """The first released rows beside what they were; None where nothing tells which they are."""
    released = open_source(run.release)
    names = list(released.columns)
    if not (run.folder / "rows.json").is_file():
        return None, names
    numbers = json.loads((run.folder / "rows.json").read_text(encoding="utf-8"))
    original = open_source(data, reading)
    rows = read_rows(original, max(numbers, default=-1) + 1)
    where = [original.columns.index(name) if name in original.columns else -1 for name in names]
    pairs = []
    for number, now in zip(numbers, read_rows(released, FIRST_RELEASED), strict=True):
        was = [rows[number][at] if at >= 0 else "" for at in where]
        pairs.append([number + 1, list(zip(was, now, strict=True))])
    return pairs, names


def list_routes() -> list[Route]:
    """The page."""
    return [show("/before-after", show_comparison)]
