"""What strict cuts promise beyond what every method promises, and the paper's (n, t) example."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from second_opinion import GROUP_OF
from tclose.errors import UsageError
from tclose.search import METHODS, Budget, infeasible, method_named, problem_of

STRICT = ["mondrian", "mondrian-median"]
quick = settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
F = Fraction


def random_problem(data: st.DataObject, tables: Any, name: str) -> Any:
    return problem_of(data.draw(tables.suited(method_named(name))).bound())


@pytest.mark.parametrize("name", STRICT)
@quick
@given(data=st.data())
def test_strict_classes_are_disjoint_boxes(name: str, data: st.DataObject, tables: Any) -> None:
    problem = random_problem(data, tables, name)
    label = method_named(name).run(problem, Budget()).label
    boxes = [
        (problem.codes[label == one].min(axis=0), problem.codes[label == one].max(axis=0))
        for one in range(int(label.max()) + 1)
    ]
    for at, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:at]:
            assert ((other_low > high) | (other_high < low)).any()


@pytest.mark.parametrize("name", STRICT)
@quick
@given(data=st.data())
def test_the_cut_tree_sends_every_cell_to_its_class(
    name: str, data: st.DataObject, tables: Any
) -> None:
    problem = random_problem(data, tables, name)
    outcome = method_named(name).run(problem, Budget())
    assert outcome.cuts is not None
    assert outcome.cuts.classify(problem.codes).tolist() == outcome.label.tolist()


def nodes_of(cuts: Any, codes: Any) -> Any:
    """Every inner node of a cut tree with the cells that come to it: (node, cells)."""
    reach = {0: np.arange(len(codes))}
    for node, column in enumerate(cuts.column):
        if column >= 0:
            cells = reach[node]
            low = codes[cells, column] <= cuts.code[node]
            reach[cuts.left[node]], reach[cuts.right[node]] = cells[low], cells[~low]
            yield node, cells


@pytest.mark.parametrize("name", STRICT)
@quick
@given(data=st.data())
def test_categories_are_cut_along_their_hierarchy(
    name: str, data: st.DataObject, tables: Any
) -> None:
    """No group below the lowest common ancestor of a class is parted by a cut."""
    groups = {"left": ["a", "b", "c"], "right": ["d", "e"], "alone": ["f"]}
    rows = data.draw(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 3)), min_size=4))
    columns = {"q": [leaf for leaf, _ in rows], "n": [number for _, number in rows]}
    policy = {
        "k": data.draw(st.integers(1, 3)),
        "columns": {"q": {"role": "quasi", "hierarchy": {"groups": groups}}, "n": "quasi"},
    }
    problem = problem_of(tables.Case(columns, policy).bound())
    outcome = method_named(name).run(problem, Budget())
    at = [column.name for column in problem.columns].index("q")
    tree = problem.columns[at]
    leaf = [tree.hierarchy.labels[int(place)] for place in tree.place]
    group = {one: name for name, leaves in groups.items() for one in leaves}
    assert outcome.cuts is not None
    for node, cells in nodes_of(outcome.cuts, problem.codes):
        if outcome.cuts.column[node] != at:
            continue
        names = [group[leaf[code]] for code in problem.codes[cells, at]]
        low = problem.codes[cells, at] <= outcome.cuts.code[node]
        left = {name for name, below in zip(names, low, strict=True) if below}
        right = {name for name, below in zip(names, low, strict=True) if not below}
        assert not left & right or (left == right and len(left) == 1)


def is_between_groups(one: Any, other: Any) -> bool:
    return not set(one) & set(other) or len({*one, *other}) == 1


@settings(quick, max_examples=40)
@given(data=st.data())
def test_no_allowed_cut_is_left(data: st.DataObject, tables: Any, brute: Any) -> None:
    """Where whole numbers decide, the search stops only when every cut breaks the promise.

    A cut that parts a group of a hierarchy is none, unless the group is all there is.
    """
    case = data.draw(tables.suited(method_named("mondrian"), exact=True))
    bound = case.bound()
    problem = problem_of(bound)
    label = method_named("mondrian").run(problem, Budget()).label
    rows = brute.rows_of(bound)
    for number, j in product(range(int(label.max()) + 1), range(problem.codes.shape[1])):
        inside, name = label == number, problem.columns[j].name
        tree = isinstance(case.policy["columns"][name], dict)
        group = np.array([GROUP_OF.get(row[name], row[name]) if tree else "" for row, _ in rows])
        for v in np.unique(problem.codes[inside, j])[:-1]:
            above = problem.codes[:, j] > v
            cut = np.where(inside & above, label.max() + 1, label)
            if not tree or is_between_groups(group[inside & above], group[inside & ~above]):
                assert brute.broken(case, bound, cut), "an allowed cut was left"


def people(n: int | None, t: str) -> dict[str, Any]:
    promise = {"role": "sensitive", "distance": "equal", "t": t}
    if n is not None:
        promise["n"] = n  # type: ignore[assignment]
    return {"columns": {"zip": "quasi", "age": "quasi", "disease": promise}}


@pytest.fixture(scope="module")
def three_thousand() -> dict[str, list[Any]]:
    """Example 4 of the short paper on (n, t)-closeness; see tests/papers."""
    counts = {(476, 25): (300, 300), (476, 35): (200, 200), (479, 45): (200, 1800)}
    rows = [
        (zip_code, age, disease)
        for (zip_code, age), (cancer, flu) in counts.items()
        for disease in ["cancer"] * cancer + ["flu"] * flu
    ]
    return dict(zip(["zip", "age", "disease"], map(list, zip(*rows, strict=True)), strict=True))


def run(tables: Any, rows: Any, policy: Any, name: str) -> Any:
    problem = problem_of(tables.Case(rows, policy).bound())
    return problem, method_named(name).run(problem, Budget())


def test_close_to_a_region_is_close_enough(tables: Any, three_thousand: Any) -> None:
    """No class but the whole table is 0.1-close, and yet each of the three is close to its region.

    The first cut parts the regions of 1 000 and 2 000 rows: each is a superset of its own. The
    second parts 600 from 400 rows with the same shares as their region of 1 000.
    """
    _, plain = run(tables, three_thousand, people(None, "0.1"), "mondrian")
    assert plain.classes == 1
    problem, outcome = run(tables, three_thousand, people(1000, "0.1"), "nt-mondrian")
    sizes = sorted(int(problem.rows[outcome.label == one].sum()) for one in range(3))
    assert (outcome.classes, sizes) == (3, [400, 600, 2000])


def test_one_row_more_than_the_region_has_is_too_many(tables: Any, three_thousand: Any) -> None:
    _, outcome = run(tables, three_thousand, people(1001, "0.1"), "nt-mondrian")
    assert outcome.classes == 1


def test_auto_chooses_the_method_that_knows_supersets(tables: Any, three_thousand: Any) -> None:
    _, outcome = run(tables, three_thousand, people(1000, "0.1"), "auto")
    assert outcome.method == "hybrid" and outcome.supersets is not None


@pytest.mark.parametrize("name", [name for name in METHODS if not METHODS[name].supersets])
def test_other_methods_refuse_supersets(name: str, tables: Any, three_thousand: Any) -> None:
    with pytest.raises(UsageError, match=r"\(n, t\)"):
        run(tables, three_thousand, people(1000, "0.1"), name)


def test_more_rows_than_there_are_is_infeasible(tables: Any, three_thousand: Any) -> None:
    problem = problem_of(tables.Case(three_thousand, people(3001, "0.1")).bound())
    (reason,) = infeasible(problem)
    assert reason.exact == 3000 and "(n,t)-closeness" in str(reason)


def test_an_infeasible_promise_says_what_can_be_kept(tables: Any) -> None:
    rows = {"age": [1, 2, 3], "ill": ["a", "a", "b"]}
    rule = {"role": "sensitive", "l": {"distinct": 3, "entropy": 2}}
    problem = problem_of(
        tables.Case(rows, {"k": 5, "columns": {"age": "quasi", "ill": rule}}).bound()
    )
    found = {reason.title: reason for reason in infeasible(problem)}
    assert found["k-anonymity"].exact == 3
    assert found["distinct-l-diversity of ill"].exact == 2
    assert found["entropy-l-diversity of ill"].attained == pytest.approx(1.8898815748)
    with pytest.raises(UsageError, match="even the whole table"):
        method_named("mondrian").run(problem, Budget())


@pytest.mark.parametrize("rows", [2_000])
def test_a_large_hierarchy_is_climbed_and_loses_what_the_loss_report_says(
    rows: int, tables: Any
) -> None:
    """More leaves than fit a table of pairs: the kernels climb, and both losses agree."""
    leaves = [f"{number:04d}" for number in range(600)]
    column = [leaves[(7 * at) % 600] for at in range(rows)]
    ill = [["a", "b", "c"][(at * at) % 3] for at in range(rows)]
    policy = {
        "k": 4,
        "columns": {
            "zip": {"role": "quasi", "hierarchy": {"prefix": [3, 2, 1, 0]}},
            "ill": {"role": "sensitive", "t": "0.3", "distance": "equal"},
        },
    }
    problem = problem_of(tables.Case({"zip": column, "ill": ill}, policy).bound())
    for name in ("mondrian", "hybrid"):
        outcome = method_named(name).run(problem, Budget(effort=0.05))
        assert outcome.loss < 0.2
        for trial in outcome.tried:
            assert trial.loss >= outcome.loss - 1e-12


@pytest.mark.parametrize("name", list(METHODS))
def test_counts_beyond_64_bits_are_judged_on_the_safe_side(name: str, tables: Any) -> None:
    """Weights of 10¹² rows: the products do not fit, and the promise is kept all the same."""
    rows = {"age": [1, 1, 2, 2, 3, 3], "pay": [1, 9, 1, 9, 1, 9]}
    policy = {
        "columns": {
            "age": "quasi",
            "pay": {"role": "sensitive", "t": "0.123456789", "distance": "numeric"},
        }
    }
    case = tables.Case(rows, policy)
    problem = problem_of(case.bound())
    heavy = problem.rows * np.array([10**12 + at for at in range(problem.n_cells)])
    raw = problem.classes
    big = replace(problem, rows=heavy, classes=replace(raw, cell_rows=heavy))
    if method_named(name).cannot(big):
        with pytest.raises(UsageError):
            method_named(name).run(big, Budget(effort=0.05))
        return
    outcome = method_named(name).run(big, Budget(effort=0.05))
    assert outcome.classes >= 2
