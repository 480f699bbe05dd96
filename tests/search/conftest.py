"""Random tables, a judge that shares nothing with the package, and lattices by hand."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import log2
from types import SimpleNamespace
from typing import Any

import pytest

from random_tables import Case, cases, close_tables, some_kinds, suited
from second_opinion import (
    GROUP_OF,
    GROUPS,
    LEAVES,
    MISSING,
    breaks,
    broken,
    distance,
    ground,
    rows_of,
    transport,
)
from tclose.data.binding import BoundTable
from tclose.search import Budget, Outcome, infeasible, method_named, problem_of

F = Fraction


def kept(case: Case, name: str) -> Outcome:
    """What a method that suits a case comes to, after it was judged; leaves no row out."""
    bound = case.bound()
    problem = problem_of(bound)
    assert method_named(name).cannot(problem) == () and not infeasible(problem)
    outcome = method_named(name).run(problem, Budget(effort=0.02))
    assert broken(case, bound, outcome.label) == []
    assert outcome.uses_sensitive is (outcome.classes > 1) and (outcome.label >= 0).all()
    return outcome


# --------------------------------------------------------------- every node of a lattice, by hand


@dataclass(frozen=True)
class Node:
    """What comes of one level vector: a class (or −1) for each cell, and sizes."""

    levels: tuple[int, ...]
    label: list[int]
    kept: list[int]
    left: int


def level_count(spec: Any) -> int:
    return 3 if isinstance(spec, dict) else 2


def recoded(spec: Any, value: str, level: int) -> str:
    if level == level_count(spec) - 1:
        return "*"
    return value if level == 0 or value == MISSING else GROUP_OF[value]


def node_of(
    case: Case, bound: BoundTable, levels: tuple[int, ...], room: Fraction, reference: str
) -> Node | None:
    """Lets failing classes leave until none fails; None where too many rows or all leave."""
    specs = {n: s for n, s in case.policy["columns"].items() if n.startswith("q")}
    rows = rows_of(bound)
    key = [
        tuple(recoded(s, row[n], lv) for (n, s), lv in zip(specs.items(), levels, strict=True))
        for row, _ in rows
    ]
    groups = sorted(set(key))
    gone: set[Any] = set()
    while True:
        alive = {group: at for at, group in enumerate(g for g in groups if g not in gone)}
        label = [alive.get(one, -1) for one in key]
        shown = [len(alive) if one < 0 else one for one in label]  # the reference "table"
        told = broken(case, bound, shown if reference == "table" else label)
        failing = {int(text.split()[1].rstrip(":")) for text in told} - {len(alive)}
        gone |= {group for group, at in alive.items() if at in failing}
        if not failing or reference == "table":
            break
    alive = {group: at for at, group in enumerate(g for g in groups if g not in gone)}
    label = [alive.get(one, -1) for one in key]
    kept = [0] * len(alive)
    for one, (_, weight) in zip(label, rows, strict=True):
        if one >= 0:
            kept[one] += weight
    left = sum(weight for _, weight in rows) - sum(kept)
    if not kept or left > room * sum(weight for _, weight in rows):
        return None
    return Node(levels, label, kept, left)


def lattice_of(case: Case) -> list[tuple[int, ...]]:
    specs = [s for n, s in case.policy["columns"].items() if n.startswith("q")]
    return list(product(*(range(level_count(spec)) for spec in specs)))


def generalization_loss(
    case: Case, bound: BoundTable, node: Node, measure: str, weights: Any
) -> Any:
    """A node's loss: an exact fraction, but for the entropy."""
    rows = rows_of(bound)
    total = sum(weight for _, weight in rows)
    if measure == "discernibility":
        return F(sum(size * size for size in node.kept) + total * node.left)
    if measure == "class-size":
        return F(total - node.left, len(node.kept))
    specs = {n: s for n, s in case.policy["columns"].items() if n.startswith("q")}
    share = {name: F(weights.get(name, 1)) for name in specs}
    lost: Any = F(0)
    for (name, spec), level in zip(specs.items(), node.levels, strict=True):
        part = share[name] / sum(share.values())
        column = [
            _row_loss(rows, name, spec, row[name], level if one >= 0 else None, measure) * weight
            for one, (row, weight) in zip(node.label, rows, strict=True)
        ]
        whole = total
        if measure == "entropy":
            top = level_count(spec) - 1
            whole = sum(_row_loss(rows, name, spec, r[name], top, measure) * w for r, w in rows)
            lost = float(lost) + float(part) * (sum(column) / whole if whole else 0.0)
        else:
            lost += part * sum(column, F(0)) / whole
    return lost


def _row_loss(rows: Any, name: str, spec: Any, value: str, level: int | None, measure: str) -> Any:
    top = level_count(spec) - 1
    if measure == "entropy":
        level = top if level is None else level
        mine = recoded(spec, value, level)
        inside = sum(w for row, w in rows if recoded(spec, row[name], level) == mine)
        return log2(inside / sum(w for row, w in rows if row[name] == value))
    if level is None:
        return F(1)
    if measure == "precision":
        return F(level, top)
    if level == top:
        return F(1)
    if level == 0 or value == MISSING:
        return F(0)
    return F(len(GROUPS[GROUP_OF[value]]) - 1, len(LEAVES) - 1)


@pytest.fixture(scope="session")
def lattices() -> Any:
    """Full-domain generalizations, node by node."""
    return SimpleNamespace(every=lattice_of, node=node_of, loss=generalization_loss)


@pytest.fixture(scope="session")
def brute() -> Any:
    """The independent judge."""
    return SimpleNamespace(
        broken=broken, rows_of=rows_of, distance=distance, breaks=breaks, kept=kept
    )


@pytest.fixture(scope="session")
def programs() -> Any:
    """Earth mover's distances by linear programs over distances made from scratch."""
    return SimpleNamespace(ground=ground, transport=transport)


@pytest.fixture(scope="session")
def tables() -> Any:
    """Strategies for random tables."""
    return SimpleNamespace(
        cases=cases,
        suited=suited,
        close=close_tables,
        kinds=some_kinds,
        Case=Case,
        problem_of=problem_of,
    )
