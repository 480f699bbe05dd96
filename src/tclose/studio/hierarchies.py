"""Hierarchies in forms and in policies, and what they do to a column."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from tclose.errors import UsageError
from tclose.hierarchy import arx
from tclose.hierarchy.preview import preview
from tclose.hierarchy.tree import Hierarchy
from tclose.policy.load import parse_toml
from tclose.policy.suggest import Profile, suggest_hierarchy
from tclose.studio.project import Raw, to_plain_values
from tclose.studio.table import ColumnCounts, show_value
from tclose.studio.visit import Visit, is_whole

KINDS = {
    "": "none: each class is released as its own interval or set",
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
MOST_GROUPED = 300
"""The most distinct values that can be put into groups one by one."""
MOST_SHOWN = 4
WITHIN = ">"
"""Separates a group from a group within it."""
NO_TREE: dict[str, Any] = {"levels": [], "tree": "", "unknown": 0}


def list_kinds(kind: str, counts: ColumnCounts) -> dict[str, str]:
    """Lists the kinds of hierarchies to choose from; groups only if values are not too many."""
    many = len(counts.labels) > MOST_GROUPED and kind != "groups"
    return {name: words for name, words in KINDS.items() if not (many and name == "groups")}


def read_spec(spec: str | Raw | None) -> tuple[str, str]:
    """Converts a policy's hierarchy to its kind and parameters in a form."""
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


def suggest_spec(profile: Profile) -> tuple[str, str]:
    """Suggests a hierarchy as a drafted policy does, as kind and parameters in a form."""
    for line in suggest_hierarchy(profile):
        text = line.removeprefix("# ").partition("  #")[0]
        return read_spec(to_plain_values(parse_toml(text))["hierarchy"])
    return "", ""


def parse_spec(visit: Visit, counts: ColumnCounts) -> Any:
    """Reads the hierarchy from a form, as a policy writes it; None for none."""
    kind, text = visit.text("kind"), visit.text(f"of-{visit.text('kind')}")
    if kind not in KINDS:
        raise UsageError(
            "no kind of hierarchy is chosen", hint=f"one of {', '.join(filter(None, KINDS))}"
        )
    current = visit.bench.project.columns[counts.name].get("hierarchy")
    if kind == "":
        return None
    is_edited = kind == "groups" and "group" in visit.form
    if not is_edited and read_spec(current) == (kind, text):
        return current  # keeps further settings of the policy
    if kind == "groups":
        return {"groups": _read_groups(visit, counts)}
    if kind == "file":
        if read_spec(current)[0] != "file":
            raise UsageError("no file is chosen", hint="choose one below and look at it first")
        return current
    if not text:
        raise UsageError("it needs parameters", where=kind, hint=f"such as {HINTS[kind]}")
    if kind == "builtin":
        return {"builtin": text}
    if kind == "cuts":
        return {"cuts": [_split(level) for level in text.split("/")]}
    parts = _split(text)
    if kind == "prefix":
        if not all(map(is_whole, parts)):
            raise UsageError("numbers of characters must be whole numbers", where="prefix")
        return {"prefix": [int(part) for part in parts]}
    return {kind: parts}


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _read_groups(visit: Visit, counts: ColumnCounts) -> dict[str, Any]:
    """Reads the group path of every value; a value without one is a group by itself."""
    ranked = [value for value, _ in counts.ranked]
    paths = [
        tuple(filter(None, map(str.strip, path.split(WITHIN)))) or (f"only {value}",)
        for value, path in zip(ranked, visit.texts("group"), strict=False)
    ]
    if len(visit.texts("group")) != len(ranked):
        what = "every value needs its line, with a group or without"
        raise UsageError(what, where="groups", hint="look at the page again, or take a file")
    if not any(map(str.strip, visit.texts("group"))):
        hint = "write the same group name beside values that belong together"
        raise UsageError("no groups are given", where="groups", hint=hint)
    outer = {path[:length] for path in paths for length in range(1, len(path))}
    groups: dict[str, Any] = {}
    for value, path in zip(ranked, paths, strict=True):
        if path in outer:  # the group has values of its own besides inner groups
            path = (*path, f"only {value}")
        *above, last = path
        inside = groups
        for name in above:
            inside = inside.setdefault(name, {})
        inside.setdefault(last, []).append(value)
    return groups


def list_groups(tree: Hierarchy | None, counts: ColumnCounts) -> list[tuple[str, int, str]]:
    """Lists each value with its rows and its groups, outermost first; frequent values first."""
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


def describe_tree(tree: Hierarchy | None, counts: ColumnCounts) -> dict[str, Any]:
    """Describes each level with its groups, counted on the table, and draws the tree as text."""
    if tree is None:
        return NO_TREE
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


def review(name: str, text: str, counts: ColumnCounts) -> dict[str, Any]:
    """Compares an uploaded hierarchy with the values of the table, before it is used."""
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
    """Parses the text of a hierarchy file."""
    return arx.read(io.StringIO(text), column)
