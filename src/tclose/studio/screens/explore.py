"""The page Explore: loss against t or k, and the lattice, as charts to click; runs compared."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from starlette.responses import Response

import tclose
from tclose.errors import UsageError
from tclose.plain import exact
from tclose.report.document import Picture, Table, Tone
from tclose.report.frontier import describe_point, make_frontier_section
from tclose.report.lattice import draw_lattice, summarize_lattice
from tclose.search.frontier.curves import Frontier, Point
from tclose.search.full_domain.survey import LatticePoint, Survey
from tclose.studio.jobs import BackgroundJob
from tclose.studio.project import Raw, Run
from tclose.studio.screens.search import describe_run
from tclose.studio.visit import Visit, act, go, is_whole, show

WHATS = ("t", "k", "lattice")
POINTS = 8
EFFORT = 10.0
"""The effort of a frontier if the policy gives none."""


def show_explore(visit: Visit, problem: str = "") -> Response:
    """Shows the chosen chart, the point that was clicked, and two runs compared."""
    bench, what = visit.bench, visit.text("what")
    runs = bench.project.runs
    if visit.text("anew") and what in WHATS and not problem:
        job = explore(visit, what)
        if job.keeps is not None:
            bench.jobs.forget(job.key)
        return go(f"/explore?what={what}")
    values: dict[str, Any] = {
        "what": what, "parts": [], "chosen": None, "waiting": None,
        "runs": [describe_run(run) for run in reversed(runs)], "compared": None,
    }  # fmt: skip
    verb, words = ("lattice", ()) if what == "lattice" else ("frontier", _choose_range(what))
    command = bench.command(verb, "--policy", "policy.toml", *words)
    if not problem and what in WHATS:
        job = explore(visit, what)
        found = visit.get_result(job)
        values["waiting"] = None if found is not None else job
        if isinstance(found, Frontier):
            values |= _describe_frontier(visit, found, what)
        elif found is not None:
            values |= _describe_lattice(visit, found)
    first, second = (bench.project.find_run(visit.text(name)) for name in ("first", "second"))
    if not problem and visit.text("first") and first and second:
        values["compared"] = compare_runs(visit, first, second, values)
    return visit.page("explore.html", problem=problem, command=command, **values)


def _choose_range(what: str) -> tuple[str, ...]:
    return ("--k", "2:20", "--points", str(POINTS)) if what == "k" else ("--points", str(POINTS))


def explore(visit: Visit, what: str) -> BackgroundJob:
    """Starts the job that computes the frontier or the lattice with the current policy."""
    bench = visit.bench
    place, policy = bench.project.place, bench.project.policy
    key: Hashable = (what, bench.state_key)
    limited = policy.search.effort is not None or policy.search.seconds is not None

    def work(job: BackgroundJob) -> Frontier | Survey:
        watch = {name: job.watch[name] for name in ("progress", "cancelled")}
        effort = None if limited else EFFORT
        if what == "lattice":
            return tclose.lattice(place.data, policy, effort=effort, reading=place.reading, **watch)
        over: dict[str, Any] = {"k": "2:20"} if what == "k" else {"t": "0.05:0.5"}
        return tclose.frontier(
            place.data, policy, points=POINTS, effort=effort, reading=place.reading, **over, **watch
        )

    title = "Looking at the lattice" if what == "lattice" else f"Trying other values of {what}"
    stops, page = ("Stop and show what was found",), f"/explore?what={what}"
    return bench.jobs.compute(key, title, work, page=page, stops=stops)


def _describe_frontier(visit: Visit, found: Frontier, what: str) -> dict[str, Any]:
    def link(point: Point) -> str:
        return f"/explore?what={what}&point={found.points.index(point)}#chosen"

    at, chosen, point = visit.text("point"), None, None
    if is_whole(at) and int(at) < len(found.points):
        point = found.points[int(at)]
        chosen = {"words": describe_point(found, point), "t": point.t, "k": point.k}
    parts = make_frontier_section(found, link=link, current=point).parts
    return {"parts": parts, "chosen": chosen}


def _describe_lattice(visit: Visit, found: Survey) -> dict[str, Any]:
    def link(point: LatticePoint) -> str:
        return f"/explore?what=lattice&levels={'-'.join(map(str, point.levels))}#chosen"

    parts, wanted = summarize_lattice(found), visit.text("levels")
    named = {"-".join(map(str, point.levels)): point for point in found.points}
    current = named.get(wanted)
    drawn = draw_lattice(found, inline=True, link=link, current=current)
    if drawn is not None:
        table = next(part for part in parts if getattr(part, "caption", "") == "Levels")
        assert isinstance(table, Table)
        parts.remove(table)
        parts.insert(1, Picture("The lattice", drawn, table))
    chosen = None
    if current is not None:
        kept = "keeps the promise" if current.holds else "breaks the promise"
        words = f"{found.name_node(current.levels)}: {kept}; loss {current.loss:.4f}; "
        words += f"classes: {current.classes:,}; rows left out: {current.left_out:,}"
        chosen = {"words": words, "levels": wanted, "holds": current.holds}
    return {"parts": parts, "chosen": chosen}


def take_chosen(visit: Visit) -> str:
    """Writes the clicked point into the policy: its t or k, or its levels."""
    bench, levels = visit.bench, visit.text("levels")
    policy = bench.project.policy
    if levels:
        job = explore(visit, "lattice")
        found = visit.get_result(job)
        if found is None:
            raise UsageError("the lattice is still being computed")
        known = {"-".join(map(str, point.levels)): point.levels for point in found.points}
        if levels not in known:
            raise UsageError("the lattice has no such levels", hint="choose one of its points")
        ranges = dict(zip(found.columns, ([level] * 2 for level in known[levels]), strict=True))
        bench.project.change(
            lambda raw: _set_search(raw, levels=ranges, method="optimal"), visit.revision
        )
        return "/search"
    k = visit.text("k")
    try:
        t = exact(visit.text("t")) if visit.text("t") else None
    except ValueError as error:
        raise UsageError(str(error), where="t", hint="choose a point of the picture") from None
    own = [column.t for column in policy.columns.values() if column.t is not None]

    def edit(raw: Raw) -> None:
        if is_whole(k):
            raw["k"] = int(k)
        for name, column in raw["columns"].items():
            stated = policy.columns[name].t
            if t is not None and stated is not None and max(own) > 0:
                column["t"] = str(t * stated / max(own))

    bench.project.change(edit, visit.revision)
    return "/search"


def _set_search(raw: Raw, **settings: object) -> None:
    raw["search"] = {**(raw.get("search") or {}), **settings}


def compare_runs(visit: Visit, first: Run, second: Run, values: dict[str, Any]) -> dict[str, Any]:
    """Compares two runs: loss per column, classes, what was attained, attacks."""
    pair = [first, second]
    described = [describe_run(run) for run in pair]
    certificates = [run.certificate for run in pair]
    losses = [{} if found.loss is None else found.loss.columns for found in certificates]
    names = list(dict.fromkeys(name for loss in losses for name in loss))
    rows = [(name, *(_write(loss.get(name)) for loss in losses)) for name in names]
    attained: dict[str, list[str]] = {}
    for at, found in enumerate(certificates):
        for requirement in found.requirements:
            line = attained.setdefault(requirement.name.removesuffix(" separate"), ["–", "–"])
            reached = f"{requirement.achieved:.4f}".rstrip("0").rstrip(".")
            line[at] = f"{reached} ({requirement.required} required)"
    attacks: dict[str, list[str]] = {}
    for at, run in enumerate(pair):
        job = visit.bench.attack(run)
        report = visit.get_result(job)
        if report is None:
            values["waiting"] = job
            break
        for finding in report.findings:
            words = finding.attack + (f" of {finding.attribute}" if finding.attribute else "")
            line = attacks.setdefault(words, ["–", "–"])
            line[at] = f"{finding.affected:,}"
    counts = [
        (key, *(_write(each[name]) for each in described))
        for key, name in (
            ("loss", "loss"), ("classes", "classes"), ("smallest class", "smallest"),
            ("rows left out", "left_out"), ("k required", "k"),
        )
    ]  # fmt: skip
    groups = {
        "Classes and loss": counts,
        "Loss per column": rows,
        "Attained": [(name, *line) for name, line in attained.items()],
        "Attacks: affected rows": [(name, *line) for name, line in attacks.items()],
    }
    headings = ("", f"run {first.number}", f"run {second.number}")
    tables = [_tabulate(title, headings, lines) for title, lines in groups.items() if lines]
    return {"first": first.number, "second": second.number, "tables": tables}


def _tabulate(title: str, headings: tuple[str, ...], lines: Sequence[tuple[str, ...]]) -> Table:
    """Tabulates two runs side by side; equal lines are less prominent."""
    tones: list[Tone] = ["aside" if first == second else "plain" for _, first, second in lines]
    return Table(title, headings, tuple(lines), (1, 2), tuple(tones))


def _write(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


ROUTES = [show("/explore", show_explore), act("/explore", take_chosen, show_explore)]
