"""k-map and δ-presence: whom in the population a printed class fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose

AGES: dict[str, Callable[[str | None], bool]] = {
    "[20, 30)": lambda age: age is not None and 20 <= int(age) < 30,
    "[20, 30]": lambda age: age is not None and 20 <= int(age) <= 30,
    "(20, 30)": lambda age: age is not None and 20 < int(age) < 30,
    "(-∞, 25)": lambda age: age is not None and int(age) < 25,
    "≥ 30": lambda age: age is not None and int(age) >= 30,
    "<30": lambda age: age is not None and int(age) < 30,
    "25-31": lambda age: age is not None and 25 <= int(age) <= 31,
    "{25, 31}": lambda age: age in ("25", "31"),
    "25": lambda age: age == "25",
    "*": lambda age: True,
}
ZIPS: dict[str, Callable[[str | None], bool]] = {
    "476**": lambda code: code is not None and code.startswith("476") and len(code) == 5,
    "47*": lambda code: code is not None and code.startswith("47"),
    "{47677, 47905}": lambda code: code in ("47677", "47905"),
    "47677": lambda code: code == "47677",
    "South": lambda code: code in ("47677", "47602"),
    "*": lambda code: True,
}
REGIONS = {"South": ["47677", "47602"], "North": ["47905", "4790"]}


def rules(**promise: Any) -> dict[str, Any]:
    zips = {"role": "quasi", "hierarchy": {"groups": REGIONS}}
    return {"columns": {"age": "quasi", "zip": zips}, **promise}


@pytest.mark.slow
@settings(max_examples=25)
@given(data=st.data())
def test_both_count_the_people_whom_the_printed_values_cover(brute: Any, data: Any) -> None:
    released = data.draw(
        st.lists(
            st.tuples(st.sampled_from(sorted(AGES)), st.sampled_from(sorted(ZIPS))),
            min_size=1, max_size=8,
        )
    )  # fmt: skip
    ages = st.sampled_from(["19", "20", "25", "29", "30", "31", None])
    codes = st.sampled_from(["47677", "47602", "47905", "4790", None])
    people = data.draw(st.lists(st.tuples(ages, codes), min_size=1, max_size=12))
    least, most = sorted(data.draw(st.lists(brute.limits(0, 1), min_size=2, max_size=2)))
    audit = tclose.verify(
        brute.as_table(released, ["age", "zip"]),
        rules(k_map=3, presence={"min": str(least), "max": str(most)}),
        population=brute.as_table(people, ["age", "zip"]),
    )
    k_map, presence = audit.requirements
    by_label = Counter(released)
    found = {
        tuple(audit.bound.classes.label(at).values()): (
            k_map.measurement.value[at], k_map.measurement.fails[at],
            presence.measurement.value[at], presence.measurement.fails[at],
            presence.measurement.margin[at],
        )
        for at in range(audit.classes)
    }  # fmt: skip
    assert set(found) == set(by_label)
    shares = {}
    for label, (matches, rare, share, sure, margin) in found.items():
        fits = sum(AGES[label[0]](age) and ZIPS[label[1]](code) for age, code in people)
        assert (matches, rare) == (fits, fits < 3)
        exact = Fraction(by_label[label], fits) if fits else None
        shares[label] = float("inf") if exact is None else exact
        assert share == pytest.approx(float(shares[label]))
        assert sure == (exact is None or not least <= exact <= most)
        assert (margin < 0) == sure
    assert k_map.achieved == min(found[label][0] for label in found)
    broken = [share for share in shares.values() if not least <= share <= most]
    if broken and max(shares.values()) <= most:
        assert presence.achieved == pytest.approx(float(min(shares.values())))
    else:
        assert presence.achieved == pytest.approx(float(max(shares.values())))
    assert presence.failing_rows == sum(
        count for label, count in by_label.items() if not least <= shares[label] <= most
    )


@pytest.mark.parametrize(
    ("least", "most", "holds"),
    [
        ("1/3", "1/2", True),
        ("1/3", "0.49999999999999999999999", False),
        ("0.33333333333333333333334", "1/2", False),
    ],
)
def test_presence_equal_to_its_bounds_holds(brute: Any, least: str, most: str, holds: bool) -> None:
    table = brute.as_table([("1",), ("2",)], ["age"])
    people = brute.as_table([("1",)] * 3 + [("2",)] * 2, ["age"])
    promise = {"columns": {"age": "quasi"}, "presence": {"min": least, "max": most}}
    assert tclose.verify(table, promise, population=people).holds == holds


def test_a_bound_broken_from_below_names_the_class_that_breaks_it(brute: Any) -> None:
    table = brute.as_table([("1",), ("2",)], ["age"])
    people = brute.as_table([("1",), *[("2",)] * 5], ["age"])
    promise = {"columns": {"age": "quasi"}, "presence": {"min": "1/2", "max": 1}}
    verdict = tclose.verify(table, promise, population=people).requirements[0]
    assert (verdict.worst_class, verdict.achieved_exact) == (2, Fraction(1, 5))
    assert verdict.measurement.margin == pytest.approx([0, -0.3])


def test_a_missing_value_fits_the_missing_and_nobody_else(brute: Any) -> None:
    table = brute.as_table([(None,), ("1",)], ["age"])
    people = brute.as_table([(None,), (None,), ("1",)], ["age"])
    audit = tclose.verify(table, {"columns": {"age": "quasi"}, "k_map": 1}, population=people)
    assert audit.requirements[0].measurement.value.tolist() == [1, 2]


def test_without_a_population_the_question_is_refused(brute: Any) -> None:
    table = brute.as_table([("1",)], ["age"])
    with pytest.raises(tclose.PolicyError, match="population"):
        tclose.verify(table, {"columns": {"age": "quasi"}, "k_map": 1})
    with pytest.raises(tclose.UsageError, match="no column 'age'"):
        tclose.verify(
            table, {"columns": {"age": "quasi"}, "k_map": 1},
            population=brute.as_table([("1",)], ["years"]),
        )  # fmt: skip


def test_a_population_lies_beside_its_policy(brute: Any, tmp_path: Any) -> None:
    (tmp_path / "people.csv").write_text("age,name\n1,x\n1,y\n2,z\n")
    (tmp_path / "policy.toml").write_text(
        'k_map = 2\npopulation = "people.csv"\n[columns]\nage = "quasi"\n'
    )
    audit = tclose.verify(brute.as_table([("1",), ("2",)], ["age"]), tmp_path / "policy.toml")
    assert audit.requirements[0].measurement.fails.tolist() == [False, True]


@pytest.mark.parametrize("k", [2, 4, 8])
@pytest.mark.parametrize("method", ["auto", "mondrian"])
def test_a_table_that_was_generalized_before_can_be_generalized_further(
    k: int, method: str
) -> None:
    people = pa.table(
        {"age": [21, 22, 23, 44, 45, 46] * 5, "zip": ["47678", "47602", "47909"] * 10}
    )
    table = pa.table(
        {
            "age": ["[21, 23]"] * 3 + ["[44, 46]"] * 3,
            "zip": ["476**"] * 3 + ["479**"] * 3,
            "ill": ["a", "b", "c"] * 2,
        }
    )
    columns = {"age": "quasi", "zip": "quasi", "ill": {"role": "sensitive", "t": 1}}
    policy = {"k_map": k, "columns": columns}
    release = tclose.anonymize(table, policy, population=people, effort=0.1, method=method)
    assert release.holds
    (found,) = [each for each in release.audit.requirements if each.requirement == "k-map"]
    # 10 people fit each class, 30 the union of both columns.
    assert found.achieved == (30 if k == 8 else found.achieved) >= k
