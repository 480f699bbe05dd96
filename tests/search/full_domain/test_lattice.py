"""Levels, lattices and measures by themselves."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.errors import UsageError
from tclose.hierarchy.tree import Hierarchy
from tclose.policy.model import Policy
from tclose.search import Budget, SearchProblem, problem_of
from tclose.search.full_domain.lattice import (
    Lattice,
    is_below,
    ladder_of,
    ladders_of,
    lattice_of,
    lay_out_keys,
    pack_keys,
)
from tclose.search.full_domain.measures import MEASURES, measure_of
from tclose.search.full_domain.rollup import Roller
from tclose.search.outcome import Clock
from tclose.utility.loss import ColumnLoss

UNEVEN = [["cat", "pet", "animal", "*"], ["dog", "pet", "animal", "*"], ["wolf", "animal", "*"],
          ["oak", "*"]]  # fmt: skip


def test_levels_of_an_uneven_hierarchy_are_what_generalize_says() -> None:
    tree = Hierarchy.from_chains(UNEVEN, "kind")
    column = ColumnLoss.tree("kind", tree, np.arange(tree.leaf_count), has_missing=True)
    ladder = ladder_of(column)
    assert ladder.levels == tree.levels
    leaves = tree.leaves
    for level in range(tree.levels - 1):
        for code, leaf in enumerate(leaves):
            mates = [at for at, other in enumerate(leaves)
                     if tree.generalize(other, level) == tree.generalize(leaf, level)]  # fmt: skip
            assert ladder.group[level, code] == mates[0]
            below_it = len(tree.leaves_below(tree.index(tree.generalize(leaf, level))))
            assert ladder.loss[level, code] == (below_it - 1) / (len(leaves) - 1)
        assert ladder.group[level, len(leaves)] == len(leaves), "missing is a group of its own"
        assert ladder.loss[level, len(leaves)] == 0
    assert not ladder.group[-1].any() and (ladder.loss[-1] == 1).all()


def test_a_value_that_does_not_occur_still_counts_as_a_leaf() -> None:
    tree = Hierarchy.from_chains(UNEVEN, "kind")
    ladder = ladder_of(ColumnLoss.tree("kind", tree, np.array([0])))
    assert ladder.loss[:, 0].tolist() == [0, 1 / 3, 2 / 3, 1]


def test_columns_without_a_hierarchy_have_two_levels() -> None:
    numbers = ladder_of(ColumnLoss.interval("age", [Fraction(1), Fraction(5)], has_missing=True))
    colours = ladder_of(ColumnLoss.sets("colour", np.arange(3)))
    assert numbers.group.tolist() == [[0, 1, 2], [0, 0, 0]]
    assert colours.loss.tolist() == [[0, 0, 0], [1, 1, 1]]
    assert colours.group.tolist() == [[0, 1, 2], [0, 0, 0]]


limits = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=4)


@given(limits)
def test_neighbours_are_one_level_apart_in_one_column(spans: list[tuple[int, int]]) -> None:
    lattice = Lattice(tuple(a for a, _ in spans), tuple(a + b for a, b in spans))
    every = list(product(*(range(a, a + b + 1) for a, b in spans)))
    assert list(lattice.nodes()) == every and lattice.size == len(every)
    assert lattice.height == max(map(sum, every)) - min(map(sum, every))
    for node in every:
        up = {one for one in every if is_below(node, one) and sum(one) == sum(node) + 1}
        down = {one for one in every if is_below(one, node) and sum(one) == sum(node) - 1}
        assert set(lattice.successors(node)) == up and set(lattice.predecessors(node)) == down


def test_a_large_lattice_is_only_arithmetic() -> None:
    assert Lattice((0,) * 30, (9,) * 30).size == 10**30


def test_keys_of_many_columns_take_several_words() -> None:
    columns = [ColumnLoss.sets(str(at), np.arange(1000)) for at in range(15)]
    layout = lay_out_keys([ladder_of(column) for column in columns])
    assert layout.n_words == 3
    codes = np.random.default_rng(1).integers(0, 1000, (500, 15))
    codes[100:200] = codes[:100]
    keys = pack_keys(codes, layout)
    assert len(np.unique(keys, axis=1).T) == len(np.unique(codes, axis=0))


def animals(**search: Any) -> Any:
    rows = {"kind": ["cat", "dog", "wolf", "oak"] * 3, "age": [1, 2, 3] * 4, "ill": ["a", "b"] * 6}
    tree = {"groups": {"animal": {"pet": ["cat", "dog"], "wild": ["wolf"]}, "plant": ["oak"]}}
    columns = {"kind": {"role": "quasi", "hierarchy": tree}, "age": "quasi",
               "ill": {"role": "sensitive", "t": 0.5}}  # fmt: skip
    return rows, {"k": 2, "columns": columns, "search": search}


def test_level_limits_are_those_of_the_column(tables: Any) -> None:
    problem = problem_of(tables.Case(*animals(levels={"kind": [1, 2]})).bound())
    assert lattice_of(problem, ladders_of(problem)) == Lattice((1, 0), (2, 1))
    beyond = problem_of(tables.Case(*animals(levels={"age": [0, 2]})).bound())
    with pytest.raises(UsageError, match="levels 0 to 2 are not those of the column"):
        lattice_of(beyond, ladders_of(beyond))


@pytest.mark.parametrize("wrong", [
    {"levels": {"ill": [0, 1]}}, {"weights": {"shoe": 2}}, {"weights": {"age": -1}},
    {"weights": {"age": 0}}, {"levels": {"age": [1, 0]}}, {"loss": "pain"},
])  # fmt: skip
def test_a_policy_refuses_aims_that_mean_nothing(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"quasi-identifier|negative|lowest|literal_error|Input"):
        Policy.model_validate(animals(**wrong)[1])


def test_weights_are_for_measures_by_column(tables: Any) -> None:
    aims = {"loss": "discernibility", "weights": {"age": 2}}
    problem = problem_of(tables.Case(*animals(**aims)).bound())
    with pytest.raises(UsageError, match="does not look at columns"):
        measure_of(problem, ladders_of(problem))


@pytest.mark.parametrize("name", MEASURES)
def test_floors_never_fall_on_the_way_up(name: str, tables: Any) -> None:
    problem = problem_of(tables.Case(*animals(loss=name)).bound())
    ladders = ladders_of(problem)
    measure, lattice = measure_of(problem, ladders), lattice_of(problem, ladders)
    for room in (0, 4):
        roller = Roller(problem, ladders, measure.price, Clock(Budget()), room)
        for node in lattice.nodes():
            here = measure.bound(node, roller.sizes(node), room)
            verdict = roller.look(node)
            if verdict.feasible:
                assert measure.value(node, verdict) >= here - 1e-12
            for above in lattice.successors(node):
                assert measure.bound(above, roller.sizes(above), room) >= here - 1e-12


def allow_memory(problem: SearchProblem, size: int) -> SearchProblem:
    return replace(problem, objective=replace(problem.objective, memory=size))


def test_groupings_given_up_for_want_of_memory_change_nothing(tables: Any) -> None:
    problem = problem_of(tables.Case(*animals()).bound())
    ladders = ladders_of(problem)
    price, lattice = measure_of(problem, ladders).price, lattice_of(problem, ladders)
    ample, narrow = (
        Roller(allow_memory(problem, size), ladders, price, Clock(Budget()), 3)
        for size in (1 << 20, 0)
    )
    for node in [*lattice.nodes(), *reversed(list(lattice.nodes()))]:
        assert ample.look(node) == narrow.look(node)


@pytest.mark.parametrize("limit", [0, 500, 1000, 10_000])
def test_groupings_take_no_more_memory_than_the_policy_allows(limit: int, tables: Any) -> None:
    problem = problem_of(tables.Case(*animals(megabytes=3)).bound())
    assert problem.objective.memory == 3 << 20
    ladders, tight = ladders_of(problem), allow_memory(problem, limit)
    roller = Roller(tight, ladders, measure_of(problem, ladders).price, Clock(Budget()), 3)
    least = roller.held
    for node in lattice_of(problem, ladders).nodes():
        roller.look(node)
        assert least <= roller.held <= max(limit, least)
    assert (roller.held > least) == (limit > least), "what fits is kept"


def test_the_benchmark_says_why_the_reference_tool_was_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Path(__file__).parents[3] / "benchmarks" / "lattice.py"
    monkeypatch.syspath_prepend(script.parent)
    benchmark = run_path(str(script))
    assert "--arx JAR" in benchmark["unusable"](None)
    assert "there is no file" in benchmark["unusable"](tmp_path / "tool.jar")
