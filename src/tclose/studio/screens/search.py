"""The page Search: method, effort and rows that may be left out; progress; the runs."""

from __future__ import annotations

from starlette.responses import Response

from tclose.errors import UsageError
from tclose.report.sections.findings import ENDED
from tclose.search import METHODS
from tclose.studio.project import Raw, Run
from tclose.studio.screens.jobs import draw_curve
from tclose.studio.visit import Visit, act, is_whole, show

KEYS = ("method", "effort", "seconds", "suppression", "seed")


def show_search(visit: Visit, problem: str = "") -> Response:
    """Shows the settings, the search under way, and the runs so far."""
    bench = visit.bench
    job, settings = bench.search_job, bench.project.raw.get("search") or {}
    if problem and "method" in visit.form:
        settings = {**settings, **{key: visit.text(key) for key in KEYS}}
    waiting, curve = None, None
    if job is not None:
        if not job.wait(0):
            waiting = job
        elif job.problem is not None and job.keeps is not False:
            problem = problem or job.problem
        curve = draw_curve(job) if job.is_done else None
    policy_problems = [str(found) for found in bench.project.problems]
    return visit.page(
        "search.html", problem=problem, waiting=waiting, curve=curve, settings=settings,
        order=(bench.project.raw.get("release") or {}).get("rows", "shuffle"),
        methods=METHODS, runs=[describe_run(run) for run in reversed(bench.project.runs)],
        complaints=policy_problems,
        command=bench.release_command() if bench.project.table is not None else "",
    )  # fmt: skip


def describe_run(run: Run) -> dict[str, object]:
    """Describes a run for a table of runs."""
    certificate, policy = run.certificate, run.policy
    left_out = certificate.left_out.rows if certificate.left_out else 0
    return {
        "number": run.number, "method": certificate.method,
        "ended": ENDED.get(certificate.stopped or "", ""),
        "loss": certificate.loss.overall if certificate.loss else None,
        "classes": certificate.sizes.classes if certificate.sizes else 0,
        "smallest": certificate.sizes.smallest if certificate.sizes else 0,
        "left_out": left_out, "k": policy.k, "table": run.place.name if run.place else "",
        "t": ", ".join(
            f"{name} {float(t):g}"
            for name in policy.sensitive
            if (t := policy.columns[name].t) is not None
        ),
    }  # fmt: skip


def start_search(visit: Visit) -> str:
    """Writes the settings into the policy, and starts a search."""
    bench = visit.bench
    given = {key: visit.text(key) for key in KEYS}
    if given["effort"] and given["seconds"]:
        raise UsageError("give effort or seconds, not both", where="search")
    if given["suppression"].endswith("%"):
        given["suppression"] = f"{given['suppression'].rstrip('% ')}/100"
    if given["seed"] and not is_whole(given["seed"]):
        raise UsageError("a seed is a whole number", where="seed")

    def edit(raw: Raw) -> None:
        search = {key: value for key, value in (raw.get("search") or {}).items() if key not in KEYS}
        search |= {key: value for key, value in given.items() if value}
        if visit.text("free"):
            search.pop("levels", None)
        if "seed" in search:
            search["seed"] = int(search["seed"])
        raw.pop("search", None)
        if search:
            raw["search"] = search
        if visit.text("rows") in ("keep", "shuffle"):
            raw["release"] = {**(raw.get("release") or {}), "rows": visit.text("rows")}

    bench.refuse_second_search()
    bench.project.change(edit, visit.revision)
    bench.start_search()
    return "/search"


ROUTES = [show("/search", show_search), act("/search", start_search, show_search)]
