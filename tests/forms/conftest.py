"""Random tables and a judge that shares nothing with the package, from the tests of searches."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from random_tables import Case, suited
from second_opinion import breaks_attribute, count_values, distance, shares

Rows = list[tuple[dict[str, str], int]]


def text(value: Any) -> str:
    return "(missing)" if value is None else str(value)


def rows_of(table: pa.Table, names: list[str], count: str | None = None) -> list[Any]:
    """(group, values as text, how many) of every row."""
    return [
        (row["group"], {name: text(row[name]) for name in names}, row[count] if count else 1)
        for row in table.to_pylist()
    ]


def broken(case: Any, rows: list[Any], names: list[str]) -> list[str]:
    """Every promise about some attributes that a group breaks, from (group, values, count)."""
    members: dict[Any, Rows] = defaultdict(list)
    for group, values, times in rows:
        members[group].append((values, times))
    everyone = [row for inside in members.values() for row in inside]
    found = []
    for group, inside in members.items():
        if sum(count for _, count in inside) < case.policy.get("k", 1):
            found.append(f"group {group}: k")
        for name in names:
            spec = case.policy["columns"][name]
            what = breaks_attribute(name, spec, inside, everyone, everyone)
            found += [f"group {group}: {what} of {name}"] if what else []
        for joint in case.policy.get("joint", []):
            if set(joint["columns"]) <= set(names):
                p, q = (shares(count_values(some, joint["columns"]))
                        for some in (inside, everyone))  # fmt: skip
                if distance("equal", p, q, []) > Fraction(joint["t"]):
                    found.append(f"group {group}: joint")
    return found


def anatomy_broken(case: Any, tables: Mapping[str, pa.Table]) -> list[str]:
    """The same of Anatomy's tables, each judged by itself, and their groups compared."""
    sizes = Counter(tables["quasi"].column("group").to_pylist())
    found = []
    for name, table in tables.items():
        if name == "quasi":
            continue
        names = [one for one in table.column_names if one not in ("group", "count")]
        rows = rows_of(table, names, "count")
        found += broken(case, rows, names)
        counted: Counter[int] = Counter()
        for group, _, count in rows:
            counted[group] += count
        found += [] if counted == sizes else [f"{name}: other groups than the first table"]
    return found


@pytest.fixture(scope="session")
def judge() -> Any:
    """The independent judge."""
    return SimpleNamespace(broken=broken, anatomy=anatomy_broken, rows_of=rows_of)


@pytest.fixture(scope="session")
def tables() -> Any:
    """Strategies for random tables."""
    return SimpleNamespace(suited=suited, Case=Case)
