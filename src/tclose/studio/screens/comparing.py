"""The page Before and after: distributions of columns, paired rows, the worst classes."""

from __future__ import annotations

import shlex
from typing import Any

from starlette.responses import Response

from tclose.data.opening import open_source
from tclose.policy.columns import Column
from tclose.report.distributions import chart_distribution
from tclose.report.document import HistogramChart
from tclose.report.sections.spread import tabulate_worst
from tclose.report.subject import CountedTable, Subject
from tclose.report.summaries import summarize_audit
from tclose.studio.jobs import BackgroundJob
from tclose.studio.pairing import JudgedRun, number_released
from tclose.studio.project import Run, TablePlace
from tclose.studio.screens.search import describe_run
from tclose.studio.table import read_rows, take_rows
from tclose.studio.visit import Visit, is_whole, show

PAGE = 20
MOST_CLASSES = 10


def show_comparison(visit: Visit, problem: str = "") -> Response:
    """Shows a run compared with the table it was made from."""
    bench = visit.bench
    run = bench.project.find_run(visit.text("run"))
    values: dict[str, Any] = {
        "run": run, "runs": [describe_run(each) for each in bench.project.runs], "charts": [],
        "parts": [], "worst": None, "rows": None, "page": 0, "pages": 0, "columns": [],
        "command": "",
    }  # fmt: skip
    if run is None or problem:
        return visit.page("before-after.html", problem=problem, **values)
    original = shlex.quote(bench.name_table(bench.locate(run)))
    words = f"--original {original} --policy policy.toml"
    values["command"] = f"tclose measure {run.release.name} {words}"
    job = compare(visit, run)
    found = visit.get_result(job)
    if found is None:
        return visit.page("before-after.html", waiting=job, **values)
    pairs = found["rows"]
    if pairs is not None:
        values["pages"] = max(-(-len(pairs) // PAGE), 1)
        at = int(visit.text("page")) if is_whole(visit.text("page")) else 1
        values["page"] = min(max(at, 1), values["pages"])
        values["rows"] = pairs[PAGE * (values["page"] - 1) : PAGE * values["page"]]
    values |= {name: found[name] for name in ("charts", "parts", "worst", "columns")}
    return visit.page("before-after.html", **values)


def compare(visit: Visit, run: Run) -> BackgroundJob:
    """Starts the job that counts everything that the page shows of a run."""
    bench = visit.bench
    judging = bench.judge_run(run)
    place, key = bench.locate(run), ("compare", judging.key)

    def work(job: BackgroundJob) -> dict[str, Any]:
        job.set_step("counting both tables")
        found: JudgedRun = bench.jobs.finish(judging)
        subject = Subject(
            kind="release", now=CountedTable(found.after), before=CountedTable(found.before),
            edition="internal", certificate=run.certificate, alignment=found.alignment,
        )  # fmt: skip
        policy = run.policy
        names = (*policy.quasi, *policy.sensitive)
        charts = [chart_distribution(subject, name) for name in names]
        shown, columns = pair_rows(run, found, place)
        return {
            "charts": [chart for chart in charts if isinstance(chart, HistogramChart)],
            "parts": summarize_audit(found.after, details=None, values=False),
            "worst": tabulate_worst(found.after.worst[:MOST_CLASSES], subject),
            "rows": shown, "columns": columns,
        }  # fmt: skip

    return bench.jobs.compute(key, "Comparing the release with the table", work)


def pair_rows(
    run: Run, found: JudgedRun, place: TablePlace
) -> tuple[list[list[Any]] | None, list[str]]:
    """Pairs the first released rows with the original ones; None if unknown which they are."""
    released = open_source(run.release)
    names = list(released.columns)
    numbers = number_released(run, found)
    if numbers is None:
        return None, names
    original = open_source(place.data, place.reading)
    rows = take_rows(original, numbers.tolist())
    where = [original.columns.index(name) if name in original.columns else -1 for name in names]
    pairs: list[list[Any]] = []
    for number, old, now in zip(numbers, rows, read_rows(released, len(numbers)), strict=True):
        was = [old[at] if at >= 0 else "" for at in where]
        pairs.append([int(number) + 1, list(zip(was, now, strict=True))])
    columns = run.policy.columns
    same = [at for at, name in enumerate(names) if _stays(columns.get(name))]
    agree = all(cells[at][0] == cells[at][1] for _, cells in pairs for at in same)
    return (pairs if agree else None), names


def _stays(column: Column | None) -> bool:
    """Whether a column's values are released unchanged."""
    return column is not None and not (
        column.role not in ("sensitive", "insensitive") or column.cleaning_keys
    )


ROUTES = [show("/before-after", show_comparison)]
