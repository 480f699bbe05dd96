"""Values: hierarchies of the quasi-identifiers, distances and t of the sensitive attributes."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

import numpy as np
from starlette.responses import Response

from tclose.errors import TcloseError, UsageError
from tclose.hierarchy import Hierarchy, arx, preview
from tclose.hierarchy.builtin import list_builtins
from tclose.policy.columns import Column
from tclose.policy.draft import suggest_hierarchy
from tclose.policy.load import build_part, parse_toml
from tclose.report.distributions import Spread, chart_spread
from tclose.report.document import HistogramChart, Picture, Series
from tclose.studio.charts import draw_line, draw_tree, gather_bins
from tclose.studio.jobs import tell_problem
from tclose.studio.project import Raw, to_plain_values
from tclose.studio.sentences import explain_distance, explain_t, read_t
from tclose.studio.table import ColumnCounts, build_hierarchy, show_value
from tclose.studio.visit import Visit, act, is_whole, show

KINDS = {
    "": "none: each class is told by its own interval or set",
    "intervals": "intervals, by widths",
    "cuts": "ranges, by cut points",
    "prefix": "first characters that are kept",
    "dates": "parts of the calendar",
    "groups": "groups that I name",
    "builtin": "one that comes with tclose",
    "file": "a file, as ARX writes it",
}
HINTS = {
    "intervals": "5, 10, 20",
    "cuts": "18, 40, 65 / 40 (levels divided by /)",
    "prefix": "3, 1",
    "dates": "month, year, decade",
    "builtin": "one of the names below",
}
DISTANCES = {
    "equal": "all values differ alike",
    "ordered": "by their order",
    "numeric": "by the numbers themselves",
    "hierarchical": "by a tree of groups",
}
MOST_GROUPED = 300
"""Distinct values that can be put into groups one by one."""
MOST_SHOWN = 4
ORDERED = 40
WITHIN = ">"
"""What stands between a group and one within it."""


def show_values(visit: Visit, problem: str = "") -> Response:
    """The columns whose values matter, and the one that is looked at."""
    bench = visit.bench
    job = bench.view()
    if visit.settle(job) is None:
        return visit.page("values.html", problem=problem, waiting=job, chosen=None, listed=[])
    columns = bench.project.columns
    listed = [
        (name, role, _describe(column))
        for wanted in ("quasi", "sensitive")
        for name, column in columns.items()
        if (role := str(column.get("role", "")).rstrip("?")) == wanted
    ]
    names = [name for name, _, _ in listed]
    chosen = visit.text("column") if visit.text("column") in names else next(iter(names), None)
    values: dict[str, Any] = {"listed": listed, "chosen": chosen, "k": bench.project.raw.get("k")}
    values["population_size"] = bench.project.raw.get("population_size")
    if chosen is not None:
        try:
            values |= _look_at_column(visit, chosen, columns[chosen])
        except TcloseError as error:
            problem = problem or tell_problem(error)
            values |= {"counts": None, "column": columns[chosen]}
        command = ("hierarchy preview", "--policy", "policy.toml", "--column", chosen)
        values["command"] = bench.command(*command)
    return visit.page("values.html", problem=problem, **values)


def _describe(column: Raw) -> str:
    """What is said of a column's values so far, in a few words."""
    if str(column.get("role", "")).startswith("sensitive"):
        t = column.get("t")
        distance = column.get("distance", "equal")
        named = distance if isinstance(distance, str) else next(iter(distance), "")
        if t is None:
            return f"{named}, nothing promised" if column.get("accept") else f"{named}, no t yet"
        return f"{named}, t = {t}"
    kind, text = _read_spec(column.get("hierarchy"))
    return f"{kind} {text}".strip() if kind not in ("", "groups", "file") else kind or "as it is"


def _look_at_column(visit: Visit, name: str, column: Raw) -> dict[str, Any]:
    bench = visit.bench
    counts = bench.count_column(name)
    profile = bench.view().result.profiles[name]
    kind, text = _read_spec(column.get("hierarchy"))
    values: dict[str, Any] = {
        "counts": counts, "column": column, "profile": profile, "kind": kind, "parameters": text,
        "kinds": _list_kinds(kind, counts), "hints": HINTS, "builtins": list_builtins(),
        "distances": DISTANCES,
        "is_sensitive": str(column["role"]).startswith("sensitive"),
        "suggested": suggest_spec(profile), "groups": None, "levels": [], "tree": "",
        "order": column.get("order") or list(counts.labels),
        "can_order": len(counts.labels) <= MOST_GROUPED, "imported": None, "unknown": 0,
    }  # fmt: skip
    spec, tree = column.get("hierarchy"), None
    if spec is not None:
        tree = build_hierarchy(spec, counts, bench.project.folder)
        values |= describe_tree(tree, counts)
    if len(counts.labels) <= MOST_GROUPED:
        values["groups"] = list_groups(tree, counts)
    if name in bench.imports:
        values["imported"] = _review(*bench.imports[name], counts)
    if values["is_sensitive"]:
        values |= _explain(counts, column, tree)
    else:
        values["chart"] = draw_order(counts, column, profile.kind)
    return values


def _list_kinds(kind: str, counts: ColumnCounts) -> dict[str, str]:
    """The kinds of hierarchies that can be chosen; many values are not grouped one by one."""
    many = len(counts.labels) > MOST_GROUPED and kind != "groups"
    return {name: words for name, words in KINDS.items() if not (many and name == "groups")}


def _explain(counts: ColumnCounts, column: Raw, tree: Hierarchy | None) -> dict[str, Any]:
    """What the distance of a sensitive attribute and its t mean: sentences, and a picture."""
    return {
        "meaning": explain_t(counts, column, tree), "apart": explain_distance(column, tree),
        "chart": draw_distance(counts, column, tree),
    }  # fmt: skip


def _read_spec(spec: str | Raw | None) -> tuple[str, str]:
    """The kind of a hierarchy and its parameters as a form has them."""
    if spec is None:
        return "", ""
    if isinstance(spec, str):
        return "file", spec
    kind = next((kind for kind in KINDS if kind and spec.get(kind) is not None), "")
    value: Any = spec.get(kind)
    if kind == "cuts":
        return kind, " / ".join(", ".join(map(str, level)) for level in value)
    if isinstance(value, list):
        return kind, ", ".join(map(str, value))
    return kind, "" if isinstance(value, dict) else str(value)


def suggest_spec(profile: Any) -> tuple[str, str]:
    """The hierarchy that a first policy would suggest, as a form has it."""
    for line in suggest_hierarchy(profile):
        text = line.removeprefix("# ").partition("  #")[0]
        return _read_spec(to_plain_values(parse_toml(text))["hierarchy"])
    return "", ""


def parse_spec(visit: Visit, counts: ColumnCounts) -> Any:
    """The hierarchy that a form asks for, as a policy writes it; None for none."""
    kind, text = visit.text("kind"), visit.text(f"of-{visit.text('kind')}")
    if kind not in KINDS:
        raise UsageError(
            "which kind of hierarchy?", hint=f"one of {', '.join(filter(None, KINDS))}"
        )
    current = visit.bench.project.columns[counts.name].get("hierarchy")
    if kind == "":
        return None
    is_edited = kind == "groups" and "group" in visit.form
    if not is_edited and _read_spec(current) == (kind, text):
        return current  # with whatever else the policy says of it
    if kind == "groups":
        return {"groups": _read_groups(visit, counts)}
    if kind == "file":
        if _read_spec(current)[0] != "file":
            raise UsageError("which file?", hint="choose one below and look at it first")
        return current
    if not text:
        raise UsageError("with which parameters?", where=kind, hint=f"such as {HINTS[kind]}")
    if kind == "builtin":
        return {"builtin": text}
    if kind == "cuts":
        return {"cuts": [_split(level) for level in text.split("/")]}
    parts = _split(text)
    if kind == "prefix":
        if not all(map(is_whole, parts)):
            raise UsageError("characters are counted by whole numbers", where="prefix")
        return {"prefix": [int(part) for part in parts]}
    return {kind: parts}


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _read_groups(visit: Visit, counts: ColumnCounts) -> dict[str, Any]:
    """Every value in the groups that stand beside it; without any it is a group of its own."""
    ranked = [value for value, _ in counts.ranked]
    paths = [
        tuple(filter(None, map(str.strip, path.split(WITHIN)))) or (f"only {value}",)
        for value, path in zip(ranked, visit.texts("group"), strict=False)
    ]
    if len(visit.texts("group")) != len(ranked):
        what = "every value needs its line, with a group or without"
        raise UsageError(what, where="groups", hint="look at the page again, or take a file")
    if not any(map(str.strip, visit.texts("group"))):
        hint = "write the same name beside each of them"
        raise UsageError("which values belong together?", where="groups", hint=hint)
    outer = {path[:length] for path in paths for length in range(1, len(path))}
    groups: dict[str, Any] = {}
    for value, path in zip(ranked, paths, strict=True):
        if path in outer:  # it has values of its own beside the groups in it
            path = (*path, f"only {value}")
        *above, last = path
        inside = groups
        for name in above:
            inside = inside.setdefault(name, {})
        inside.setdefault(last, []).append(value)
    return groups


def list_groups(tree: Hierarchy | None, counts: ColumnCounts) -> list[tuple[str, int, str]]:
    """Each value with its rows and its groups, the widest first; the most frequent value first."""
    found = []
    for value, rows in counts.ranked:
        path: list[str] = []
        if tree is not None and tree.contains(value):
            for level in range(tree.levels - 2, 0, -1):
                above = tree.generalize(value, level)
                if above not in (value, f"only {value}", *path[-1:]):
                    path.append(above)
        found.append((value, rows, f" {WITHIN} ".join(path)))
    return found


def describe_tree(tree: Hierarchy, counts: ColumnCounts) -> dict[str, Any]:
    """Each level with its groups, counted on the table, and the tree as text."""
    nodes = tree.find(counts.labels)
    known = nodes >= 0
    levels = []
    for level in range(tree.levels):
        at = tree.ancestors[nodes[known], level]
        rows = np.bincount(at, weights=counts.rows[:-1][known], minlength=len(tree.labels))
        used = np.flatnonzero(rows)
        order = used[np.argsort(-rows[used], kind="stable")]
        largest = [(show_value(tree.labels[node]), int(rows[node])) for node in order[:MOST_SHOWN]]
        smallest = int(rows[used].min()) if len(used) else 0
        levels.append({"level": level, "groups": len(used), "smallest": smallest, "shown": largest})
    unknown = int((~known).sum())
    return {"levels": levels, "tree": preview(tree), "unknown": unknown}


def _review(name: str, text: str, counts: ColumnCounts) -> dict[str, Any]:
    """An uploaded hierarchy held against the values of the table, before it is taken."""
    tree = read_arx(text, counts.name)
    known = set(tree.leaves)
    unknown = [value for value in counts.labels if value not in known]
    rows = dict(counts.ranked)
    return {
        "name": name, **describe_tree(tree, counts), "unknown": len(unknown),
        "unknown_rows": sum(rows[value] for value in unknown),
        "unused": len(known - set(counts.labels)), "fits": not unknown,
        "lacks": [show_value(value) for value, _ in counts.ranked if value not in known],
    }  # fmt: skip


def read_arx(text: str, column: str) -> Hierarchy:
    """The hierarchy that a file's text holds."""
    return arx.read(io.StringIO(text), column)


def draw_distance(
    counts: ColumnCounts, column: Raw, tree: Hierarchy | None
) -> HistogramChart | Picture | None:
    """The values as the distance sees them: on a line with t beside it, or as a tree."""
    distance, order = column.get("distance", "equal"), column.get("order")
    on_line: tuple[Sequence[str], Sequence[float]] | None = None
    rows = dict(counts.ranked)
    if distance == "hierarchical" and tree is not None:
        return draw_tree(counts, tree)
    known, numbers = counts.labels, counts.dictionary.line
    if distance == "numeric" and numbers:
        on_line = (known, [float(number) for number in numbers])
    elif distance == "ordered":
        values = order if isinstance(order, list) and order else known
        on_line = (values, [float(at) for at in range(len(values))])
    if on_line is None or len(on_line[0]) < 2:
        return draw_order(counts, column, counts.dictionary.kind)
    total = sum(rows.values()) or 1
    shares = [rows.get(value, 0) / total for value in on_line[0]]
    return draw_line(counts.name, gather_bins(*on_line, shares), read_t(column))


def draw_order(counts: ColumnCounts, column: Raw, kind: str) -> HistogramChart | None:
    """How often each value occurs, in the order that its distance has."""
    title = f"{counts.name}: how its values are spread"
    order = column.get("order")
    if isinstance(order, list) and len(order) <= ORDERED:
        rows = dict(counts.ranked)
        total = sum(rows.values()) or 1
        shares = tuple(rows.get(value, 0) / total for value in order)
        return HistogramChart(
            title, "in the order that is stated", "share of rows", tuple(map(show_value, order)),
            (Series("table", shares),),
        )  # fmt: skip
    nominal = kind not in ("number", "date") or column.get("distance") in ("equal", "hierarchical")
    return chart_spread(
        Spread.of(counts.dictionary, {"table": counts.rows}, nominal=nominal), title
    )


def explain_values(visit: Visit) -> Response:
    """What the distance and the t in the form would mean; nothing is changed."""
    name, bench = visit.text("column"), visit.bench
    shown: dict[str, Any] = {"meaning": "", "apart": "", "chart": None}
    try:
        counts, tree = bench.count_column(name), None
        changes = {"hierarchy": parse_spec(visit, counts), **dict(_read_sensitive(visit))}
        column = bench.project.columns.get(name, {}) | changes
        if changes["hierarchy"] is not None:
            tree = build_hierarchy(changes["hierarchy"], counts, bench.project.folder)
        probe = {key: value for key, value in changes.items() if value is not None}
        _refuse_unfit(name, {"role": "sensitive"}, probe, changes)
        return visit.page("fragments/meaning.html", **_explain(counts, column, tree))
    except TcloseError as error:
        return visit.page("fragments/meaning.html", problem=tell_problem(error), **shown)


def preview_values(visit: Visit) -> Response:
    """What the form would make of the column, on the table's own counts; nothing is changed."""
    name = visit.text("column")
    try:
        counts = visit.bench.count_column(name)
        if visit.text("kind") == "groups" and not any(map(str.strip, visit.texts("group"))):
            return visit.page("fragments/levels.html", levels=[], tree="", unknown=0)
        spec = parse_spec(visit, counts)
        if spec is None:
            return visit.page("fragments/levels.html", levels=[], tree="", unknown=0)
        tree = build_hierarchy(spec, counts, visit.bench.project.folder)
        return visit.page("fragments/levels.html", **describe_tree(tree, counts))
    except TcloseError as error:
        return visit.page(
            "fragments/levels.html", problem=tell_problem(error), levels=[], tree="", unknown=0
        )


def change_values(visit: Visit) -> str:
    """Takes what the form says of a column, or of the whole table."""
    bench, name, what = visit.bench, visit.text("column"), visit.text("what")
    revision = visit.text("revision")
    if what == "undo":
        bench.project.undo()
    elif what == "k":
        bench.project.change(lambda raw: _set(raw, "k", _read_count(visit, "k")), revision)
    elif what == "population_size":
        people = _read_count(visit, "population_size")
        bench.project.change(lambda raw: _set(raw, "population_size", people), revision)
    elif name not in bench.project.columns:
        raise UsageError("there is no such column", where="column")
    elif what == "import":
        _import(visit, name)
    elif what == "take":
        if name not in bench.imports:
            raise UsageError("no file is waiting for this column", hint="choose it again")
        file = bench.project.store_hierarchy(name, bench.imports[name][1])
        bench.project.change(
            lambda raw: raw["columns"][name].update(hierarchy={"file": file}), revision
        )
        del bench.imports[name]
    elif what == "leave":
        bench.imports.pop(name, None)
    else:
        _change_column(visit, name, revision)
    return f"/values?column={quote(name)}" if name else "/values"


def _read_count(visit: Visit, name: str) -> int | None:
    text = visit.text(name)
    if text and not (is_whole(text) and int(text) >= 1):
        raise UsageError(f"{name} is a whole number, 1 or more", where=name, hint="such as 5")
    return int(text) if text else None


def _set(part: Raw, key: str, value: object) -> None:
    part.pop(key, None)
    if value is not None:
        # A policy's own order: what is promised of the whole table comes first.
        columns = part.pop("columns", None)
        part[key] = value
        if columns is not None:
            part["columns"] = columns


def _import(visit: Visit, name: str) -> None:
    upload = visit.upload("file")
    if upload is None:
        raise UsageError("which file?", hint="choose a CSV file: a value first, its groups after")
    try:
        text = upload.file.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("not UTF-8 text", where="file", hint="save it as UTF-8") from None
    read_arx(text, name)  # raises with the line that is wrong
    visit.bench.imports[name] = (upload.filename or "", text)


def _change_column(visit: Visit, name: str, revision: str) -> None:
    bench = visit.bench
    counts = bench.count_column(name)
    changes: dict[str, Any] = {"hierarchy": parse_spec(visit, counts)}
    if changes["hierarchy"] is not None:
        build_hierarchy(changes["hierarchy"], counts, bench.project.folder)  # raises if it fails
    if str(bench.project.columns[name].get("role", "")).startswith("sensitive"):
        changes |= dict(_read_sensitive(visit))
    probe = {key: value for key, value in changes.items() if value is not None}
    _refuse_unfit(name, bench.project.columns[name], probe, changes)

    def edit(raw: Raw) -> None:
        for key, value in changes.items():
            _set(raw["columns"][name], key, value)

    bench.project.change(edit, revision)


def _read_sensitive(visit: Visit) -> Iterator[tuple[str, Any]]:
    yield "t", visit.text("t") or None
    if "accept" in visit.form:
        yield "accept", visit.text("accept") or None
    distance = visit.text("distance")
    if distance in DISTANCES:
        yield "distance", distance
    if visit.text("order"):
        yield "order", [line.strip() for line in visit.text("order").splitlines() if line.strip()]
    elif "order" in visit.form:
        yield "order", None


def _refuse_unfit(name: str, column: Raw, probe: Raw, changes: Raw) -> None:
    """Raises with what a policy would complain about in this column, before it is changed."""
    merged = {key: value for key, value in column.items() if key not in changes} | probe
    merged["role"] = str(merged["role"]).rstrip("?")
    build_part(Column, json.loads(json.dumps(merged)))


ROUTES = [
    show("/values", show_values),
    act("/values", change_values, show_values),
    show("/values/preview", preview_values, "POST"),
    show("/values/meaning", explain_values, "POST"),
]
