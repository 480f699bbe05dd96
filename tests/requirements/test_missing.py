"""Missing values: a value of their own, forbidden, or possibly any value."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose
from tclose import PolicyError


@st.composite
def holey(draw: st.DrawFn, quasi: int = 2, values: str = "124", most: int = 9) -> list[Any]:
    """Tables with missing values anywhere."""
    row = st.tuples(
        *(st.sampled_from(["a", "b", None]) for _ in range(quasi)),
        st.sampled_from([*values, None]),
    )
    return draw(st.lists(row, min_size=1, max_size=most))


def worst_of(values: list[Any], requirement: Any) -> Any:
    small = {"k-anonymity", "distinct-l-diversity", "entropy-l-diversity",
             "probabilistic-l-diversity"}  # fmt: skip
    return min(values) if requirement.name in small else max(values)


@settings(max_examples=40)
@given(rows=holey())
def test_a_missing_value_is_a_value_of_its_own_and_no_row_is_dropped(brute: Any, rows: Any) -> None:
    """The same answers as with a word in its place."""
    classes = brute.classes_of(rows, ["u", "v"], {"s": {}})
    filled = [tuple("missing" if cell is None else cell for cell in row) for row in rows]
    worded = brute.classes_of(filled, ["u", "v"], {"s": {}})
    assert classes.n_rows == len(rows)
    assert classes.count == len({row[:2] for row in rows})
    assert sorted(classes.size.tolist()) == sorted(worded.size.tolist())
    for name, requirement in brute.promises(worded).items():
        if "ordered" not in name and "numeric" not in name and name != "alpha of the first":
            found = requirement.measure(classes).achieved
            assert found == pytest.approx(requirement.measure(worded).achieved), name


def test_a_missing_value_in_an_order_is_half_the_range_off_its_middle(brute: Any) -> None:
    classes = brute.classes_of([("a", "1"), ("a", "2"), ("b", None), ("b", "3")], ["u"], {"s": {}})
    ground = classes.attributes["s"].ground("ordered")
    to_missing = [ground.between(value, 3) for value in range(3)]
    assert classes.attributes["s"].labels == ("1", "2", "3", "(missing)")
    assert to_missing == [Fraction(1), Fraction(1, 2), Fraction(1)]


@pytest.mark.parametrize("column", ["u", "s"])
def test_forbidden_missing_values_are_counted_and_refused(brute: Any, column: str) -> None:
    rows = [("a", "1"), (None, "2"), ("b", None), (None, "1")]
    roles: dict[str, Any] = {"u": {"role": "quasi"}, "s": {"role": "sensitive"}}
    roles[column]["missing"] = "forbid"
    with pytest.raises(PolicyError) as refused:
        tclose.audit(brute.as_table(rows, ["u", "s"]), {"columns": roles})
    lost = "2 rows have" if column == "u" else "1 row has"
    assert [p.what for p in refused.value.problems] == [f"{lost} no value, which is forbidden"]
    assert refused.value.problems[0].where == f"columns.{column}"


def judged(rows: list[Any], wild: tuple[int, ...]) -> dict[Any, list[list[Any]]]:
    """For every class, the groups of rows that it is judged by; wild columns match anything."""
    classes: dict[Any, list[Any]] = {}
    for row in rows:
        classes.setdefault(row[:2], []).append(row[2])

    def concrete(key: Any) -> bool:
        return all(key[at] is not None for at in wild)

    def matches(key: Any, host: Any) -> bool:
        return all(
            key[at] == host[at] or (at in wild and key[at] is None) for at in range(len(key))
        )

    groups: dict[Any, list[list[Any]]] = {key: [] for key in classes}
    for host in filter(concrete, classes):
        guests = [key for key in classes if not concrete(key) and matches(key, host)]
        groups[host].append(classes[host])
        if guests:
            together = classes[host] + [value for key in guests for value in classes[key]]
            for key in (host, *guests):
                groups[key].append(together)
    return {key: found or [classes[key]] for key, found in groups.items()}


@settings(max_examples=60)
@given(rows=holey(), wild=st.sampled_from([(0,), (1,), (0, 1)]))
def test_a_missing_quasi_identifier_may_be_any_value(
    brute: Any, rows: Any, wild: tuple[int, ...]
) -> None:
    """Each class with and without the rows that may belong to it, the worse of the two."""
    rows = [(*row[:2], row[2] or "1") for row in rows]
    names = ["u", "v"]
    classes = brute.classes_of(rows, names, {"s": {}}, wild=[names[at] for at in wild])
    whole = Counter(row[2] for row in rows)
    groups = judged(rows, wild)
    order = sorted(groups, key=lambda key: tuple((cell is None, cell or "") for cell in key))
    models = {
        "k": "k-anonymity", "equal": "t-closeness", "distinct": "distinct-l-diversity",
        "alpha": "alpha-k-anonymity", "probabilistic": "probabilistic-l-diversity",
        "recursive 2": "recursive-(c,l)-diversity", "basic beta": "basic-beta-likeness",
        "delta": "delta-disclosure",
    }  # fmt: skip
    for name, word in models.items():
        requirement = brute.promises(classes)[name]
        model = brute.MODELS[word, requirement.distance]
        expected = []
        for key in order:
            scenes = [brute.Scene(Counter(group), whole) for group in groups[key]]
            expected.append(model.worst(scenes))
        measured = requirement.measure(classes)
        assert measured.value == pytest.approx([float(value) for value in expected]), name
        worst = worst_of(expected, requirement)
        assert measured.achieved == pytest.approx(float(worst)), name
        assert measured.worst == expected.index(worst), name


@settings(max_examples=25)
@given(rows=holey(quasi=1, most=7))
def test_a_missing_sensitive_value_is_the_worst_it_could_be(brute: Any, rows: Any) -> None:
    """Compared with every way to fill in all missing values, each class against the known table."""
    if all(row[1] is None for row in rows):
        rows = [*rows, ("a", "1")]
    spec = {"s": {"missing": "any"}}
    classes = brute.classes_of(rows, ["u"], spec)
    known = sorted({row[1] for row in rows} - {None})
    whole = Counter(row[1] for row in rows if row[1] is not None)
    keys = sorted({row[0] for row in rows}, key=lambda cell: (cell is None, cell or ""))
    models = {
        "distinct": "distinct-l-diversity", "entropy": "entropy-l-diversity",
        "probabilistic": "probabilistic-l-diversity", "alpha": "alpha-k-anonymity",
        "recursive 2": "recursive-(c,l)-diversity", "basic beta": "basic-beta-likeness",
        "enhanced beta": "enhanced-beta-likeness", "delta": "delta-disclosure",
        "equal": "t-closeness", "ordered": "t-closeness", "numeric": "t-closeness",
        "kl": "t-closeness", "js": "t-closeness",
    }  # fmt: skip
    for name, word in models.items():
        requirement = brute.promises(classes)[name]
        assert requirement.capabilities.monotone
        model = brute.MODELS[word, requirement.distance]
        expected = []
        for key in keys:
            mine = [row[1] for row in rows if row[0] == key]
            sure = [value for value in mine if value is not None]
            fillings = itertools.combinations_with_replacement(known, len(mine) - len(sure))
            scenes = [brute.Scene(Counter([*sure, *filling]), whole) for filling in fillings]
            expected.append(model.worst(scenes))
        measured = requirement.measure(classes)
        assert measured.value == pytest.approx([float(value) for value in expected]), name
        worst = worst_of(expected, requirement)
        assert measured.achieved == pytest.approx(float(worst)), name
        if isinstance(worst, Fraction):
            assert measured.worst == expected.index(worst), name


@pytest.mark.parametrize("kind", ["kl", "js", "beta", "delta", "smoothed"])
def test_a_declared_value_that_nobody_has_may_still_be_the_missing_one(
    brute: Any, kind: str
) -> None:
    promise: dict[str, Any] = {
        "kl": {"distance": "kl", "t": 5},
        "js": {"distance": "js", "t": "1/5"},
        "beta": {"beta": {"basic": 5, "enhanced": 5}},
        "delta": {"delta": 5},
        "smoothed": {"t": "1/5", "distance": {"smoothed-js": {"bandwidth": "1/10"}}},
    }[kind]
    column = {"role": "sensitive", "missing": "any", "order": ["1", "2", "3"],
              "domain": "declared", **promise}  # fmt: skip
    rows = [("a", "1"), ("a", None), ("b", "2"), ("b", "1"), ("b", "2"), ("b", "1")]
    audit = tclose.verify(
        brute.as_table(rows, ["u", "s"]), {"columns": {"u": "quasi", "s": column}}
    )
    for verdict in audit.requirements:
        assert verdict.measurement.fails.tolist() == [True, False]
        assert math.isinf(verdict.achieved) == (kind not in ("js", "smoothed"))


def test_a_column_of_nothing_but_unknown_values_is_refused_without_guessing(brute: Any) -> None:
    table = brute.as_table([("a", None), ("b", None)], ["u", "s"])
    rules = {"columns": {"u": "quasi", "s": {"role": "sensitive", "missing": "any"}}}
    with pytest.raises(tclose.UsageError, match="every value is missing"):
        tclose.audit(table, rules)
    measured = tclose.audit(table, quasi="u", sensitive="s")
    assert {v.distance for v in measured.requirements} == {None, "equal", "kl", "js"}


@pytest.mark.parametrize("by", ["equal", "mean", "max"])
def test_joint_closeness_takes_an_unknown_value_for_one_of_its_own(brute: Any, by: str) -> None:
    rows = [("a", "1", "1"), ("a", None, "1"), ("b", "2", "1"), ("b", "1", "1")]
    columns: dict[str, Any] = {
        "u": "quasi", "s": {"role": "sensitive", "missing": "any"}, "w": "sensitive",
    }  # fmt: skip
    joint = {"columns": ["s", "w"], "t": 1, "distance": by}
    found = tclose.verify(
        brute.as_table(rows, ["u", "s", "w"]), {"columns": columns, "joint": [joint]}
    )
    # Half of the class's mass is where the other has none, and it has to go all the way, in one
    # attribute of two: P = (1/2, 0, 1/2) over (1, 2, missing), Q = (1/2, 1/4, 1/4).
    assert found.requirements[0].achieved_exact == Fraction(1, 4) / (2 if by == "mean" else 1)


def test_nt_closeness_and_any_value_do_not_go_together(brute: Any) -> None:
    rules = {
        "columns": {
            "u": {"role": "quasi", "missing": "any"},
            "s": {"role": "sensitive", "t": "1/2", "n": 2},
        }
    }
    with pytest.raises(PolicyError, match="not defined"):
        tclose.verify(brute.as_table([("a", "1"), ("b", "2")], ["u", "s"]), rules)
