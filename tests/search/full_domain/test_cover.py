"""Covering round by round: every class keeps the promise, whatever the price of waiting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tclose.search import Budget, method_named, problem_of
from tclose.search.full_domain.covering import cover_cells
from tclose.search.local_search.hybrid import PRICES, LocalSearch
from tclose.search.outcome import Clock

quick = settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


@quick
@given(data=st.data(), price=st.sampled_from(PRICES))
def test_every_row_is_in_a_class_that_keeps_the_promise(
    data: st.DataObject, price: float, tables: Any, brute: Any
) -> None:
    case = data.draw(tables.suited(method_named("cover")))
    bound = case.bound()
    problem = problem_of(bound)
    label = cover_cells(problem, Clock(Budget()), price, 1.0)
    assert (label >= 0).all()
    assert brute.broken(case, bound, label) == []
    seen: dict[tuple[int, ...], int] = {}
    for codes, one in zip(problem.codes.tolist(), label.tolist(), strict=True):
        assert seen.setdefault(tuple(codes), one) == one, "covering never parts equal cells"
    run = LocalSearch(problem, Clock(Budget()))
    finer = run.split_top_down("cuts", label, 0)
    assert brute.broken(case, bound, finer) == []
    assert len(set(zip(finer.tolist(), label.tolist(), strict=True))) == finer.max() + 1


def test_a_region_like_the_table_is_published_at_fine_levels(tables: Any) -> None:
    """Ages 1 to 4 mirror the table; beyond them only the whole rest does."""
    rows: dict[str, list[Any]] = {"age": [], "town": [], "ill": []}
    for age in (1, 2, 3, 4):
        for at in range(8):
            rows["age"].append(age)
            rows["town"].append("xy"[at % 2])
            rows["ill"].append("ab"[at // 4])
    for age, ill in ((5, "a"), (6, "b")):
        rows["age"] += [age] * 8
        rows["town"] += ["z"] * 8
        rows["ill"] += [ill] * 8
    columns = {"age": "quasi", "town": "quasi", "ill": {"role": "sensitive", "t": "0.1"}}
    problem = problem_of(tables.Case(rows, {"k": 4, "columns": columns}).bound())
    label = cover_cells(problem, Clock(Budget()), 0.7, 1.0)
    fine = problem.codes[:, 0] < 4
    assert label.max() + 1 == 9, "eight fine classes and the rest"
    assert len(np.unique(label[fine])) == 8 and len(np.unique(label[~fine])) == 1
    outcome = method_named("cover").run(problem, Budget(effort=0.2))
    assert outcome.loss <= problem.loss(label).overall + 1e-12


@pytest.mark.parametrize("seed", [1, 2])
def test_equal_seeds_give_equal_covers(seed: int, tables: Any) -> None:
    chance = np.random.default_rng(seed)
    rows = {"a": chance.integers(0, 9, 200).tolist(), "b": chance.integers(0, 5, 200).tolist(),
            "s": chance.choice(["x", "y"], 200).tolist()}  # fmt: skip
    columns = {"a": "quasi", "b": "quasi", "s": {"role": "sensitive", "t": "0.2"}}
    problem = problem_of(tables.Case(rows, {"k": 3, "columns": columns}).bound())
    one, other = (
        method_named("cover").run(problem, Budget(effort=0.1, seed=seed)).label for _ in range(2)
    )
    assert one.tobytes() == other.tobytes()
