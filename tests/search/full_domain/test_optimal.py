"""The least loss against every node judged and weighed by code that shares nothing."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tclose.data.binding import bind
from tclose.data.opening import open_source
from tclose.errors import UsageError
from tclose.policy.model import Policy
from tclose.search import METHODS, Budget, Outcome, SearchProblem, method_named, problem_of
from tclose.search.full_domain import optimal as optimal_module
from tclose.search.full_domain.measures import MEASURES
from tclose.search.full_domain.optimal import optimal

quick = settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
shares = st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 3), Fraction(1)])


def aimed(case: Any, data: st.DataObject) -> tuple[Any, dict[str, Any]]:
    """The case with a random loss, weights and level limits."""
    names = [name for name in case.policy["columns"] if name.startswith("q")]
    search: dict[str, Any] = {"loss": data.draw(st.sampled_from(MEASURES))}
    if search["loss"] not in ("discernibility", "class-size") and data.draw(st.booleans()):
        search["weights"] = {name: data.draw(st.sampled_from([1, 2, "1/3"])) for name in names}
    if data.draw(st.integers(0, 2)) == 0:
        tall = isinstance(case.policy["columns"][names[0]], dict)
        span = data.draw(st.sampled_from([(0, 0), (1, 1), (0, 1)] + ([(1, 2)] if tall else [])))
        search["levels"] = {names[0]: span}
    return replace(case, policy={**case.policy, "search": search}), search


def least(problem: SearchProblem, share: Fraction) -> Outcome | None:
    """The least loss with all the time it takes, if any generalization keeps the promise."""
    try:
        return optimal(problem, Budget(suppression=share))
    except UsageError:
        return None


def lost(outcome: Outcome) -> float:
    """What an outcome loses by the measure that was made least."""
    return outcome.loss if outcome.value is None else outcome.value


def check_bound(full: Outcome, hampered: Outcome) -> None:
    """A search that was hampered proves nothing that is false."""
    assert hampered.bound is not None
    assert hampered.bound <= lost(full) + 1e-12 <= lost(hampered) + 2e-12


@quick
@given(data=st.data(), share=shares, reference=st.sampled_from(["released", "table"]))
def test_no_node_is_better(
    data: st.DataObject, share: Fraction, reference: Any, tables: Any, lattices: Any, judged: Any
) -> None:
    case, search = aimed(data.draw(tables.cases() | tables.suited()), data)
    bound = case.bound()
    low, high = next(iter(search.get("levels", {"": (0, 9)}).values()))
    made = [
        lattices.node(case, bound, node, share, reference)
        for node in lattices.every(case)
        if low <= node[0] <= high
    ]
    losses = {
        node.levels: lattices.loss(case, bound, node, search["loss"], search.get("weights", {}))
        for node in made
        if node is not None
    }
    problem = problem_of(bound)
    if not judged(bool(losses), least=0.3):
        with pytest.raises(UsageError, match="no generalization"):
            optimal(problem, Budget(suppression=share), reference=reference)
        return
    outcome = optimal(problem, Budget(suppression=share), reference=reference)
    best = float(min(losses.values()))
    assert lost(outcome) == pytest.approx(best, rel=1e-12, abs=1e-12)
    assert float(losses[outcome.levels]) == pytest.approx(best, rel=1e-12, abs=1e-12)
    assert outcome.bound == pytest.approx(best, rel=1e-12, abs=1e-12) and outcome.gap == 0
    assert outcome.measure == search["loss"] and outcome.stopped == "finished"
    node = next(one for one in made if one and one.levels == outcome.levels)
    pairs = set(zip(node.label, outcome.label.tolist(), strict=True))
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    assert (-1, -1) in pairs or node.left == 0
    plain = lattices.loss(case, bound, node, "iyengar", {})
    assert outcome.loss == pytest.approx(float(plain), abs=1e-12)


@quick
@given(data=st.data(), share=shares, looks=st.integers(0, 12))
def test_what_is_proved_before_time_is_up_is_true(
    data: st.DataObject, share: Fraction, looks: int, tables: Any, judged: Any
) -> None:
    problem = problem_of(aimed(data.draw(tables.suited()), data)[0].bound())
    full = least(problem, share)
    if not judged(full is not None, least=0.5):
        return
    left = iter([False] * looks)
    stopped = Budget(suppression=share, cancelled=lambda: next(left, True))
    try:
        early = optimal(problem, stopped)
    except UsageError as error:
        assert "in time" in str(error)
        return
    check_bound(full, early)


@settings(quick, max_examples=20)
@given(data=st.data(), share=shares)
def test_little_memory_for_boxes_and_tags_keeps_the_bound_sound(
    data: st.DataObject, share: Fraction, tables: Any, judged: Any
) -> None:
    problem = problem_of(aimed(data.draw(tables.suited()), data)[0].bound())
    full = least(problem, share)
    if not judged(full is not None, least=0.5):
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimal_module, "MOST_BOXES", 2)
        patch.setattr(optimal_module, "MOST_TAGS", 1)
        patch.setattr(optimal_module, "MOST_KNOWN", 1)
        tight = replace(problem, objective=replace(problem.objective, memory=0))
        narrow = optimal(tight, Budget(suppression=share))
    check_bound(full, narrow)


@settings(quick, max_examples=20)
@given(data=st.data(), share=shares, reference=st.sampled_from(["released", "table"]))
def test_requirements_and_compiled_rules_come_to_the_same(
    data: st.DataObject, share: Fraction, reference: Any, tables: Any
) -> None:
    case = data.draw(tables.cases())
    problem = problem_of(case.bound())
    asked = replace(
        problem,
        constraints=replace(problem.constraints, uncompiled=problem.constraints.requirements),
    )
    found = []
    for one in (problem, asked):
        try:
            outcome = optimal(one, Budget(suppression=share), reference=reference)
            found.append((outcome.levels, outcome.label.tolist(), outcome.loss))
        except UsageError:
            found.append(None)
    assert found[0] == found[1]


@pytest.mark.parametrize("name", [name for name, one in METHODS.items() if not one.takes_objective])
@pytest.mark.parametrize("search", [{"loss": "precision"}, {"levels": {"a": [0, 0]}}])
def test_other_methods_refuse_what_they_cannot_use(name: str, search: Any, tables: Any) -> None:
    rows = {"a": [1, 1, 2, 2], "b": [1, 2, 1, 2], "s": ["x", "y", "x", "y"]}
    columns = {"a": "quasi", "b": "quasi", "s": {"role": "sensitive", "t": 1}}
    problem = problem_of(tables.Case(rows, {"columns": columns, "search": search}).bound())
    with pytest.raises(UsageError, match=f"takes no search.{next(iter(search))}"):
        method_named(name).run(problem, Budget())
    assert method_named("auto").run(problem, Budget()).method == "optimal"


def test_weights_and_limits_move_the_optimum(tables: Any) -> None:
    rows = {"a": [1, 1, 2, 2], "b": [1, 2, 1, 2], "s": ["x", "y", "x", "y"]}
    columns = {"a": "quasi", "b": "quasi", "s": {"role": "sensitive", "t": 1}}

    def levels(**search: Any) -> Any:
        policy = {"k": 2, "columns": columns, "search": search}
        problem = problem_of(tables.Case(rows, policy).bound())
        return method_named("optimal").run(problem, Budget()).levels

    assert levels(weights={"a": 2}) == (0, 1)
    assert levels(weights={"b": "3/2"}) == (1, 0)
    assert levels(weights={"b": 2}, levels={"a": [0, 0]}) == (0, 1)


@pytest.mark.parametrize("distance", ["kl", "js"])
def test_a_divergence_is_counted_once(distance: str, tables: Any) -> None:
    """One row of a value that has 15 of 16: log2(16/15) = 0.093 bits, and less by JS."""
    rows = {"a": [0] * 14 + [1, 0], "s": ["x"] * 15 + ["y"]}
    columns = {"a": "quasi", "s": {"role": "sensitive", "t": "0.1", "distance": distance}}
    problem = problem_of(tables.Case(rows, {"columns": columns}).bound())
    assert method_named("optimal").run(problem, Budget()).levels == (0,)


def test_a_long_way_down_from_the_top_is_found(tables: Any) -> None:
    """Forty columns that nothing forbids: the best node is forty steps below the first."""
    rows: dict[str, list[Any]] = {f"q{at}": [0, 1, 0, 1] for at in range(40)}
    columns: dict[str, Any] = {name: "quasi" for name in rows}
    rows["s"], columns["s"] = ["x", "x", "y", "y"], {"role": "sensitive", "t": "0.5"}
    problem = problem_of(tables.Case(rows, {"k": 2, "columns": columns}).bound())
    outcome = method_named("optimal").run(problem, Budget())
    assert outcome.levels == (0,) * 40 and outcome.loss == 0 and outcome.gap == 0


def wide(seed: int) -> Any:
    """Fifteen quasi-identifiers, most of them with hierarchies: about 14 million nodes."""
    chance = np.random.default_rng(seed)
    tree = {"groups": {"low": ["a", "b", "c"], "high": ["d", "e"], "top": ["f"]}}
    rows: dict[str, list[Any]] = {
        f"q{at}": chance.choice(list("abcdef"), 300).tolist() for at in range(15)
    }
    columns: dict[str, Any] = {name: {"role": "quasi", "hierarchy": tree} for name in rows}
    rows["s"] = chance.choice(["x", "y", "z"], 300).tolist()
    columns["s"] = {"role": "sensitive", "t": "0.3", "distance": "equal"}
    return rows, {"k": 5, "columns": columns}


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 20)])
def test_a_lattice_too_large_to_list_gives_a_release_and_a_bound(
    share: Fraction, tables: Any, brute: Any
) -> None:
    case = tables.Case(*wide(3))
    bound = case.bound()
    problem = problem_of(bound)
    outcome = method_named("optimal").run(problem, Budget(effort=0.5, suppression=share))
    assert brute.broken(case, bound, outcome.label) == []
    assert outcome.bound is not None and 0 < outcome.bound <= outcome.loss < 1
    again = method_named("optimal").run(problem, Budget(effort=0.5, suppression=share))
    assert (again.levels, again.bound) == (outcome.levels, outcome.bound)


TREES = ["age", "workclass", "education", "native-country", "marital-status", "race", "sex"]


@pytest.mark.parametrize(
    ("distance", "share", "reference", "classes", "loss"),
    [
        ("equal", 0, "released", 2, 0.919),
        ("hierarchical", 0, "released", 4, 0.776),
        ("equal", Fraction(1, 20), "table", 6, 0.817),
        ("hierarchical", Fraction(1, 20), "table", 24, 0.629),
    ],
)
def test_adult_has_the_optimum_that_the_reference_tool_finds(
    adult_dir: Path, distance: str, share: Fraction, reference: Any, classes: int, loss: float
) -> None:
    def tree(name: str) -> dict[str, str]:
        return {"file": str(adult_dir / f"adult_hierarchy_{name}.csv")}

    columns: dict[str, Any] = {name: {"role": "quasi", "hierarchy": tree(name)} for name in TREES}
    columns["salary-class"] = "insensitive"
    columns["occupation"] = {
        "role": "sensitive", "t": "0.2", "distance": distance, "hierarchy": tree("occupation"),
    }  # fmt: skip
    policy = Policy.model_validate({"k": 5, "columns": columns})
    problem = problem_of(bind(policy, open_source(str(adult_dir / "adult.csv"))))
    outcome = optimal(problem, Budget(suppression=Fraction(share)), reference=reference)
    assert outcome.classes == classes and outcome.gap == 0
    assert outcome.loss == pytest.approx(loss, abs=5e-4)


@pytest.mark.parametrize("loss", ["iyengar", "entropy", "discernibility", "class-size"])
def test_of_nodes_that_lose_equally_the_finer_is_chosen(loss: str) -> None:
    zips = ["67201", "67202", "67203", "67204"]
    table = pa.table({"zip": zips, "ill": ["a", "b", "a", "b"]})
    rules = {
        "k": 4,
        "columns": {
            "zip": {"role": "quasi", "hierarchy": {"prefix": [4, 3, 2]}},
            "ill": "sensitive",
        },
        "search": {"loss": loss},
    }
    bound = bind(Policy.model_validate(rules), open_source(table))
    assert optimal(problem_of(bound), Budget()).levels == (1,)  # 6720*, not 672**, 67*** or *
