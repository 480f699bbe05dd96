"""The page Columns: a profile of each column, and suggested roles to confirm or change."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from tclose.errors import UsageError
from tclose.policy.cleaning import Cleaning
from tclose.policy.columns import ROLES
from tclose.policy.draft import describe_no_numbers, describe_unread
from tclose.policy.load import build_part
from tclose.policy.suggest import Profile, suggest
from tclose.studio.charts import draw_spark
from tclose.studio.project import Raw
from tclose.studio.table import CLEANING
from tclose.studio.visit import Visit, act, show

QUASI = (*CLEANING, "label", "hierarchy")
READ = ("nulls", "decimal", "label")
UNTIL = "they are texts until you choose, on the page Values,"
KEPT = {
    "quasi": QUASI,
    "sensitive": (*QUASI, "distance", "t", "l", "order", "accept"),
    "weight": READ,
    "count": READ,
}
"""The keys of a column that stay when its role changes, by the new role."""


def show_columns(visit: Visit, problem: str = "") -> Response:
    """Shows every column, or those that match the filter."""
    bench = visit.bench
    job = bench.view()
    view = visit.get_result(job)
    if view is None:
        return visit.page("columns.html", problem=problem, waiting=job, lines=[])
    if not bench.project.raw:
        bench.project.change(lambda raw: raw.update(view.draft()))
    columns, words = bench.project.columns, visit.text("filter").lower()
    lines = []
    for at, (name, profile) in enumerate(view.profiles.items()):
        role = str(columns.get(name, {}).get("role", ""))
        line = {
            "at": at, "name": name, "profile": profile, "spark": draw_spark(view.charts[name]),
            "role": role.rstrip("?"), "is_suggested": role.endswith("?"),
            "suggestion": suggest(profile),
            "reading": describe_reading(columns.get(name, {}), profile),
        }  # fmt: skip
        if all(word in f"{name} {profile.kind} {role}".lower() for word in words.split()):
            lines.append(line)
    return visit.page(
        "columns.html", problem=problem, lines=lines, roles=ROLES, words=words,
        suggested=len(bench.project.suggested),
        command=bench.command("init", "--output", "policy.toml"),
    )  # fmt: skip


def change_roles(visit: Visit) -> str:
    """Sets the role of one, ticked or shown columns; or confirms all roles; or undoes a change."""
    bench, what, words = visit.bench, visit.text("what"), visit.text("filter")
    here = f"/columns?filter={quote(words)}" if words else "/columns"
    if what == "undo":
        bench.project.undo()
        return here
    visit.refuse_other_table()
    view = bench.find_view()
    if view is None:
        raise UsageError("the table is still being counted", hint="wait a moment")
    profiles: dict[str, Profile] = view.profiles
    if what == "confirm":
        bench.project.change(_confirm)
        return here
    role = visit.text("role")
    names = visit.texts("shown" if what == "set-shown" else "column")
    # Each row's own choice is named by its place, so that one form holds all of them.
    for at, name in enumerate(profiles):
        if what == f"one-{at}":
            role, names = visit.text(f"role-{at}"), [name]
    if role not in ROLES:
        raise UsageError("no role is chosen", hint=f"one of {', '.join(ROLES)}")
    chosen = [name for name in names if name in profiles]
    if not chosen:
        raise UsageError("no columns are chosen", hint="tick some columns")

    def edit(raw: Raw) -> None:
        for name in chosen:
            raw["columns"][name] = change_role(raw["columns"].get(name, {}), role, profiles[name])

    bench.project.change(edit)
    return here


def describe_reading(column: Raw, profile: Profile) -> str:
    """Says how the values of a column are read and cleaned before they are counted.

    >>> births = Profile("birth", "date", 9, 8, 0, date_formats=(("%d.%m.%Y",),), unread=2)
    >>> describe_reading({"date_format": "%d.%m.%Y", "unreadable": "missing"}, births)
    'dates are written as %d.%m.%Y; 2 rows have no date in this form: they count as missing'
    """
    said = []
    if marks := _list(column.get("nulls")):
        means = "means" if len(marks) == 1 else "mean"
        said.append(f"{', '.join(map(repr, map(str, marks)))} {means} missing")
    if column.get("decimal"):
        said.append(f"numbers have the decimal mark {column['decimal']!r}")
    if forms := _list(column.get("date_format")):
        said.append(f"dates are written as {' or '.join(map(str, forms))}")
    if column.get("unreadable") and profile.unread:
        said.append(f"{describe_unread(profile)}: they count as missing")
    if profile.no_numbers:
        said.append(f"{describe_no_numbers(profile)}: the column is a text until they are missing")
    if column.get("age_on"):
        said.append(f"dates of birth become ages on {column['age_on']}")
    if clean := column.get("clean"):
        said.append(build_part(Cleaning, json.loads(json.dumps(clean))).describe())
    elif profile.folded:
        said.append(
            f"{profile.distinct:,} spellings would be {profile.folded:,} without spaces around"
            f" them{' and capital letters' if profile.folds_case else ''}"
        )
    if len(profile.date_formats) > 1 and not column.get("date_format"):
        said.append(f"the month or the day may come first: {UNTIL} how dates are written")
    if len(profile.decimals) > 1 and not column.get("decimal"):
        said.append(
            "the decimal mark is unknown: these are texts until you choose it (page Values)"
        )
    return "; ".join(said)


def _list(value: Any) -> list[Any]:
    """A list as it is, a single value as a list of one, nothing as an empty one."""
    return [] if value is None else value if isinstance(value, list) else [value]


def change_role(column: Raw, role: str, profile: Profile) -> Raw:
    """Returns a column's part of the policy with another role, without keys that it cannot have."""
    kept: dict[str, Any] = {key: column[key] for key in KEPT.get(role, ("label",)) if key in column}
    if role == "sensitive" and "distance" not in kept:
        kept["distance"] = "ordered" if profile.kind in ("number", "date") else "equal"
    return {"role": role, **kept}


def _confirm(raw: Raw) -> None:
    for column in raw["columns"].values():
        column["role"] = str(column.get("role", "")).rstrip("?")


ROUTES = [show("/columns", show_columns), act("/columns", change_roles, show_columns)]
