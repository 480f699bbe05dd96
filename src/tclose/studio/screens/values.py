"""The page Values: hierarchies of quasi-identifiers, distances and t of sensitive attributes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from tclose.errors import TcloseError, UsageError
from tclose.hierarchy.builtin import list_builtins
from tclose.hierarchy.tree import Hierarchy
from tclose.policy.columns import COUNTING, Column
from tclose.policy.load import build_part
from tclose.studio.charts import draw_distance, draw_order
from tclose.studio.hierarchies import (
    HINTS,
    MOST_GROUPED,
    NO_TREE,
    describe_tree,
    list_groups,
    list_kinds,
    parse_spec,
    read_arx,
    read_spec,
    review,
    suggest_spec,
)
from tclose.studio.jobs import describe_problem
from tclose.studio.project import Raw
from tclose.studio.screens.cleaning import (
    change_cleaning,
    describe_counts,
    list_fields,
    preview_cleaning,
)
from tclose.studio.screens.columns import describe_reading
from tclose.studio.sentences import explain_distance, explain_t
from tclose.studio.table import ColumnCounts, build_hierarchy
from tclose.studio.visit import Visit, act, is_whole, show

DISTANCES = {
    "equal": "all values differ equally",
    "ordered": "by their order",
    "numeric": "by the numbers themselves",
    "hierarchical": "by a tree of groups",
}


def show_values(visit: Visit, problem: str = "") -> Response:
    """Shows the quasi-identifiers and sensitive attributes, and the chosen one in detail."""
    bench = visit.bench
    job = bench.view()
    if visit.get_result(job) is None:
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
        values |= _show_cleaning(visit, chosen, columns[chosen])
        try:
            values |= _look_at_column(visit, chosen, columns[chosen])
        except TcloseError as error:
            problem = problem or describe_problem(error)
            values |= {"counts": None, "column": columns[chosen]}
        command = ("hierarchy preview", "--policy", "policy.toml", "--column", chosen)
        values["command"] = bench.command(*command)
    return visit.page("values.html", problem=problem, **values)


def _show_cleaning(visit: Visit, name: str, column: Raw) -> dict[str, Any]:
    profile = visit.bench.view().result.profiles[name]
    return {
        "profile": profile, "cleaning": list_fields(visit, column),
        "cleaning_sent": visit.text("what") == "cleaning",
        "reading": describe_reading(column, profile),
    }  # fmt: skip


def _describe(column: Raw) -> str:
    """Describes the settings of a column's values in a few words."""
    if str(column.get("role", "")).startswith("sensitive"):
        t = column.get("t")
        distance = column.get("distance", "equal")
        named = distance if isinstance(distance, str) else next(iter(distance), "")
        if t is None:
            return f"{named}, nothing promised" if column.get("accept") else f"{named}, no t yet"
        return f"{named}, t = {t}"
    kind, text = read_spec(column.get("hierarchy"))
    return f"{kind} {text}".strip() if kind not in ("", "groups", "file") else kind or "as it is"


def _look_at_column(visit: Visit, name: str, column: Raw) -> dict[str, Any]:
    bench = visit.bench
    counts = bench.count_column(name)
    profile = bench.view().result.profiles[name]
    kind, text = read_spec(column.get("hierarchy"))
    values: dict[str, Any] = {
        "counts": counts, "column": column, "kind": kind, "parameters": text,
        "kinds": list_kinds(kind, counts), "hints": HINTS, "builtins": list_builtins(),
        "distances": DISTANCES,
        "is_sensitive": str(column["role"]).startswith("sensitive"),
        "suggested": suggest_spec(profile), "groups": None,
        "can_order": len(counts.labels) <= MOST_GROUPED, "imported": None,
    }  # fmt: skip
    values |= describe_counts(counts)
    tree = _build(visit, column.get("hierarchy"), counts)
    values |= describe_tree(tree, counts)
    if len(counts.labels) <= MOST_GROUPED:
        values["groups"] = list_groups(tree, counts)
    if name in bench.imports:
        values["imported"] = review(*bench.imports[name], counts)
    if values["is_sensitive"]:
        values |= _explain(visit, counts, column, tree)
    else:
        values["chart"] = draw_order(counts, column, profile.kind)
    return values


def _explain(
    visit: Visit, counts: ColumnCounts, column: Raw, tree: Hierarchy | None
) -> dict[str, Any]:
    """Explains the distance of a sensitive attribute and its t: sentences, and a chart."""
    roles = {str(each.get("role", "")).rstrip("?") for each in visit.bench.project.columns.values()}
    counts_rows = roles.isdisjoint(COUNTING)
    return {
        "meaning": explain_t(counts, column, tree, counts_rows=counts_rows),
        "apart": explain_distance(column, tree),
        "chart": draw_distance(counts, column, tree),
    }  # fmt: skip


def explain_values(visit: Visit) -> Response:
    """Explains the distance and the t in the form; nothing is changed."""
    shown: dict[str, Any] = {"meaning": "", "apart": "", "chart": None}
    try:
        counts = visit.bench.count_column(visit.text("column"))
        changes, tree = _read_form(visit, counts, {"role": "sensitive"})
        column = visit.bench.project.columns.get(counts.name, {}) | changes
        shown = _explain(visit, counts, column, tree)
    except TcloseError as error:
        shown["problem"] = describe_problem(error)
    return visit.page("fragments/meaning.html", **shown)


def preview_values(visit: Visit) -> Response:
    """Shows what the form would do to the column, counted on the table; nothing is changed."""
    shown = NO_TREE
    try:
        counts = visit.bench.count_column(visit.text("column"))
        if visit.text("kind") != "groups" or any(map(str.strip, visit.texts("group"))):
            shown = describe_tree(_build(visit, parse_spec(visit, counts), counts), counts)
    except TcloseError as error:
        shown = NO_TREE | {"problem": describe_problem(error)}
    return visit.page("fragments/levels.html", **shown)


def _build(visit: Visit, spec: object, counts: ColumnCounts) -> Hierarchy | None:
    return None if spec is None else build_hierarchy(spec, counts, visit.bench.project.folder)


def _read_form(visit: Visit, counts: ColumnCounts, column: Raw) -> tuple[Raw, Hierarchy | None]:
    """Reads the form's changes to a column, and the tree; raises an error if they do not fit."""
    changes: Raw = {"hierarchy": parse_spec(visit, counts)}
    tree = _build(visit, changes["hierarchy"], counts)
    if str(column.get("role", "")).startswith("sensitive"):
        changes |= dict(_read_sensitive(visit))
    kept = {key: value for key, value in column.items() if key not in changes}
    merged = kept | {key: value for key, value in changes.items() if value is not None}
    merged["role"] = str(merged["role"]).rstrip("?")
    build_part(Column, json.loads(json.dumps(merged)))  # raises the problems of the policy
    return changes, tree


def change_values(visit: Visit) -> str:
    """Applies the form to a column, or to the whole table."""
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
        raise UsageError("this column does not exist", where="column")
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
        raise UsageError(f"{name} must be a whole number, 1 or more", where=name, hint="such as 5")
    return int(text) if text else None


def _set(part: Raw, key: str, value: object) -> None:
    part.pop(key, None)
    if value is not None:
        # The order of a policy file: requirements on the whole table come before the columns.
        columns = part.pop("columns", None)
        part[key] = value
        if columns is not None:
            part["columns"] = columns


def _import(visit: Visit, name: str) -> None:
    upload = visit.upload("file")
    if upload is None:
        raise UsageError(
            "no file is chosen", hint="choose a CSV file: first a value, then its groups"
        )
    try:
        text = upload.file.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("not UTF-8 text", where="file", hint="save it as UTF-8") from None
    read_arx(text, name)  # raises with the line that is wrong
    visit.bench.imports[name] = (upload.filename or "", text)


def _change_column(visit: Visit, name: str, revision: str) -> None:
    project = visit.bench.project
    changes, _ = _read_form(visit, visit.bench.count_column(name), project.columns[name])

    def edit(raw: Raw) -> None:
        for key, value in changes.items():
            _set(raw["columns"][name], key, value)

    project.change(edit, revision)


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


ROUTES = [
    show("/values", show_values),
    act("/values", change_values, show_values),
    show("/values/preview", preview_values, "POST"),
    show("/values/meaning", explain_values, "POST"),
    act("/values/cleaning", change_cleaning, show_values),
    show("/values/cleaning/preview", preview_cleaning, "POST"),
]
