"""Sensitive columns and hierarchies of many values: a class is judged by the values that it has,
exactly as by all values, and what is walked is counted as work."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tclose.kernels.base.random import RandomStream
from tclose.kernels.base.support import Support
from tclose.kernels.partition import state
from tclose.kernels.partition.local_search import CellSuppression, DestroyAndRepair
from tclose.kernels.partition.swaps import CellSwaps
from tclose.kernels.splitting.partitioner import Partitioner
from tclose.kernels.splitting.split import NodeWorkspace
from tclose.search import Budget, method_named, problem_of

ROWS = 900
PREFIX = {"prefix": [3, 2, 1, 0]}
KINDS: dict[str, dict[str, Any]] = {
    "ordered": {"distance": "ordered"},
    "numeric": {"distance": "numeric"},
    "equal": {"distance": "equal"},
    "hierarchical": {"distance": "hierarchical", "hierarchy": PREFIX},
}


def make_costs(kind: str, gaps: int = 0) -> list[Any]:
    """Nearly as many values as rows, some of them more than once; a few missing."""
    cents = np.random.default_rng(3).integers(1000, 9999, ROWS).tolist()
    costs = [str(cent) if kind == "hierarchical" else cent for cent in cents]
    return [None] * gaps + costs[gaps:]


def make_problem(tables: Any, kind: str, t: Fraction | str = "0.2", gaps: int = 0) -> Any:
    random = np.random.default_rng(4)
    columns = {
        "age": random.integers(20, 60, ROWS).tolist(),
        "zip": [f"{number:04d}" for number in random.integers(0, 900, ROWS)],
        "job": random.choice(list("abcdef"), ROWS).tolist(),
        "cost": make_costs(kind, gaps),
    }
    rules = {"age": "quasi", "job": "quasi", "zip": {"role": "quasi", "hierarchy": PREFIX}}
    cost = {"role": "sensitive", "t": str(t), **KINDS[kind]}
    return problem_of(tables.Case(columns, {"k": 2, "columns": rules | {"cost": cost}}).bound())


def measure_distance(kind: str, part: list[int], whole: list[int]) -> Fraction:
    """The earth mover's distance of two lists of values, by its definition for that distance."""
    values = sorted(set(whole))

    def share(rows: list[int], inside: Any) -> Fraction:
        return Fraction(sum(map(inside, rows)), len(rows))

    def gap(inside: Any) -> Fraction:
        return abs(share(part, inside) - share(whole, inside))

    if kind == "equal":
        return sum((gap(lambda row, v=v: row == v) for v in values), Fraction(0)) / 2
    if kind == "hierarchical":  # prefixes of 4, 3, 2 and 1 characters: height 4, half an edge 1/8
        prefixes = {str(value)[:n] for value in values for n in (1, 2, 3, 4)}
        return sum((gap(lambda row, p=p: str(row).startswith(p)) for p in prefixes), Fraction()) / 8
    steps = itertools.pairwise(values)
    widths = [(low, 1 if kind == "ordered" else high - low) for low, high in steps]
    moved = sum((wide * gap(lambda row, v=v: row <= v) for v, wide in widths), Fraction(0))
    return moved / (len(values) - 1 if kind == "ordered" else values[-1] - values[0])


@pytest.mark.parametrize("kind", KINDS)
def test_a_threshold_is_met_to_the_last_digit(tables: Any, kind: str) -> None:
    """A class as far as t is kept; where t is a billionth less, it is not."""
    costs = make_costs(kind)
    problem = make_problem(tables, kind)
    cells = np.random.default_rng(1).choice(problem.n_cells, 9, replace=False)
    at = problem.constraints.fields[0].codes[cells]
    values = sorted(set(map(int, costs)))
    part = [
        values[code]
        for code, rows in zip(at, problem.rows[cells], strict=True)
        for _ in range(rows)
    ]
    t = measure_distance(kind, part, list(map(int, costs)))
    for limit, expected in ((t, True), (t - Fraction(1, 10**9), False)):
        support = Support(make_problem(tables, kind, limit).make_coded_table())
        assert support.judge(cells) is expected
        assert support.is_sparse


@pytest.mark.parametrize("gaps", [0, 20])
@pytest.mark.parametrize("kind", KINDS)
def test_classes_are_judged_as_the_requirements_judge_them(
    tables: Any, kind: str, gaps: int
) -> None:
    random, sparse, kept = np.random.default_rng(2), 0, 0
    for t in ("0.05", "0.1", "0.3", "0.6", "0.98"):
        problem = make_problem(tables, kind, t, gaps)
        support = Support(problem.make_coded_table())
        for size in (2, 3, 5, 8, 13, 40, 100, 400):
            cells = random.choice(problem.n_cells, size, replace=False)
            if size < 10:  # near one another in value, or spread out
                order = np.argsort(problem.constraints.fields[0].codes, kind="stable")
                cells = order[:: problem.n_cells // size][:size] if size % 2 else order[:size]
            label = np.ones(problem.n_cells, dtype=np.int64)
            label[cells] = 0
            assert support.judge(np.sort(cells)) == (not problem.find_failing(label)[0])
            sparse += support.is_sparse
            kept += not problem.find_failing(label)[0]
    assert sparse > 20 and kept > 2


def test_judging_a_class_walks_its_values_and_not_the_table_s(tables: Any) -> None:
    support = Support(make_problem(tables, "ordered").make_coded_table())
    support.judge(np.arange(10))
    few = support.walked
    assert few < 500
    support.judge(np.arange(800))
    assert support.walked - few > 1000


def split_in_two(problem: Any) -> Any:
    """Classes of some size that keep the promise."""
    return method_named("mondrian").run(problem, Budget(effort=1.0)).label


@pytest.mark.parametrize("kind", ["ordered", "hierarchical"])
def test_swaps_by_members_are_those_by_counts(
    tables: Any, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    problem = make_problem(tables, kind, "0.45" if kind == "ordered" else "0.8")
    table, label = problem.make_coded_table(), split_in_two(problem)
    found = []
    for many in (0, 8, 10**9):  # all columns are of many values; some are; none is
        monkeypatch.setattr(state, "MANY", many)
        made = state.PartitionState(table, label, histograms=True, code_cells=True)
        saved, looks = CellSwaps(made, RandomStream(1, 2)).improve(3000, 20)
        suppression = CellSuppression(made, 20)
        suppression.suppress(np.arange(problem.n_cells))
        found.append((round(saved, 6), suppression.room, made.label.tolist()))
        assert saved > 0 and looks > 3000
        assert not problem.find_failing(made.label).any() or suppression.room < 20
    assert found[0] == found[1] == found[2]


def test_what_repairs_walk_is_counted_as_effort(tables: Any) -> None:
    problem = make_problem(tables, "ordered", "0.3")
    table = problem.make_coded_table()
    node = NodeWorkspace(table)
    made = state.PartitionState(table, split_in_two(problem), members=True)
    walked = node.support.walked
    _, effort = DestroyAndRepair(made, Partitioner(node, RandomStream(1, 1))).improve(20, 0.3)
    assert effort > node.support.walked - walked > 0
    label, codes = made.label, problem.constraints.fields[0].codes
    whole = np.bincount(codes, problem.rows).astype(int)
    # A number that repairs leave to no cell is no class; all others are judged by definition.
    for number in np.unique(label):
        part = np.bincount(codes, problem.rows * (label == number), len(whole)).astype(int)
        gaps = part.sum() * whole.cumsum() - whole.sum() * part.cumsum()
        most = Fraction("0.3") * int((len(whole) - 1) * part.sum() * whole.sum())
        assert part.sum() >= 2 and int(abs(gaps).sum()) <= most
    fails = np.flatnonzero(problem.find_failing(label))
    assert not np.isin(fails, label).any()


def test_equal_effort_finds_equal_classes(tables: Any) -> None:
    problem, hybrid = make_problem(tables, "numeric", "0.3"), method_named("hybrid")
    first, second = (hybrid.run(problem, Budget(effort=0.1)) for _ in range(2))
    assert first.label.tolist() == second.label.tolist() and first.stopped == "budget"
    assert first.loss < 0.9
