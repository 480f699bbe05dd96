"""Whatever the table and the promise: every group keeps it, and nothing is lost but the links."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tclose
from tclose.errors import UsageError

pytestmark = pytest.mark.slow

quick = settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
EFFORT = 0.05
MEANT = {"role": "sensitive", "accept": "made up"}


def made(case: Any, form: str, seed: int, **more: Any) -> tuple[pa.Table, tclose.Split]:
    """The table and its release."""
    table = pa.table(case.columns)
    return table, tclose.split(table, case.policy, form=form, effort=EFFORT, seed=seed, **more)


def named(case: Any, letter: str) -> list[str]:
    return [name for name in case.columns if name.startswith(letter)]


def tuples(table: pa.Table, names: list[str]) -> Counter[Any]:
    return Counter(zip(*(table.column(name).to_pylist() for name in names), strict=True))


@quick
@given(data=st.data())
def test_every_group_of_anatomy_keeps_the_promise_and_no_value_is_lost(
    data: st.DataObject, tables: Any, judge: Any
) -> None:
    case = data.draw(tables.suited())
    table, release = made(case, "anatomy", data.draw(st.integers(0, 3)))
    assert release.holds
    assert judge.anatomy(case, release.tables) == []
    quasi = named(case, "q")
    assert tuples(release.tables["quasi"], quasi) == tuples(table, quasi)
    for part, names in zip(list(release.tables.values())[1:], release.sets, strict=True):
        counted: Counter[Any] = Counter()
        for row in part.to_pylist():
            counted[tuple(row[name] for name in names)] += row["count"]
        assert counted == tuples(table, list(names))
        assert not set(named(case, "s")) & set(release.tables["quasi"].column_names)


@quick
@given(data=st.data())
def test_every_group_of_a_sliced_table_keeps_the_promise_and_every_set_survives(
    data: st.DataObject, tables: Any, judge: Any
) -> None:
    case = data.draw(tables.suited())
    table, release = made(case, "slicing", data.draw(st.integers(0, 3)))
    sliced = release.tables["sliced"]
    assert sliced.column_names == ["group", *table.column_names]
    for names in release.sets:
        own = [name for name in names if name.startswith("s")]
        assert tuples(sliced, list(names)) == tuples(table, list(names))
        if own:
            assert judge.broken(case, judge.rows_of(sliced, own), own) == []


@settings(quick, max_examples=15)
@given(data=st.data())
def test_every_class_of_every_projection_keeps_the_promise(
    data: st.DataObject, tables: Any, judge: Any
) -> None:
    case = data.draw(tables.suited())
    table, release = made(case, "projections", 1)
    for part, names in zip(release.tables.values(), release.sets, strict=True):
        rows = [
            (tuple(row[name] for name in named(case, "q")),
             {name: "(missing)" if row[name] is None else str(row[name]) for name in names}, 1)
            for row in part.to_pylist()
        ]  # fmt: skip
        assert judge.broken(case, rows, list(names)) == []
        assert tuples(part, list(names)) == tuples(table, list(names))


@quick
@given(data=st.data())
def test_where_a_row_stands_tells_nothing_about_the_original_order(
    data: st.DataObject, tables: Any
) -> None:
    case = data.draw(tables.suited())
    form = data.draw(st.sampled_from(["anatomy", "slicing"]))
    rows = len(next(iter(case.columns.values())))
    order = data.draw(st.permutations(range(rows)))
    other = tables.Case(
        {name: [column[at] for at in order] for name, column in case.columns.items()}, case.policy
    )
    (_, first), (_, second) = made(case, form, 1), made(other, form, 1)
    for name, table in first.tables.items():
        assert table.equals(second.tables[name])


def people(rows: int = 60) -> pa.Table:
    illness = ["flu", "ulcer", "asthma"]
    return pa.table(
        {
            "age": [20 + at % 50 for at in range(rows)],
            "zip": [f"z{at % 7}" for at in range(rows)],
            "note": [f"n{at}" for at in range(rows)],
            "ill": [illness[at % 3] for at in range(rows)],
            "pay": [1 + (at * 7) % 20 for at in range(rows)],
        }
    )


RULES: dict[str, Any] = {
    "k": 3,
    "columns": {
        "age": "quasi",
        "zip": "quasi",
        "note": "insensitive",
        "ill": {"role": "sensitive", "l": 2, "t": 0.4},
        "pay": {"role": "sensitive", "t": 0.25},
    },
}


@pytest.mark.parametrize("form", ["anatomy", "slicing"])
def test_another_seed_gives_another_order(form: str) -> None:
    one, again, other = (
        tclose.split(people(), RULES, form=form, effort=0.2, seed=seed) for seed in (1, 1, 2)
    )
    name = "quasi" if form == "anatomy" else "sliced"
    assert one.tables[name].equals(again.tables[name])
    assert not one.tables[name].equals(other.tables[name])


def test_sets_of_a_sliced_table_are_shuffled_independently() -> None:
    rules = {"k": 60, "columns": {"a": "quasi", "b": "quasi", "c": {"role": "sensitive", "t": 0}}}
    numbers = list(range(120))
    table = pa.table({"a": numbers, "b": numbers, "c": [at % 2 for at in numbers]})
    made = tclose.split(table, rules, form="slicing", sets=[["a"], ["b"]], effort=0.2)
    sliced = made.tables["sliced"].to_pylist()
    together = sum(row["a"] == row["b"] for row in sliced)
    assert together < 20, "each stands beside its own with a chance of one in sixty"
    kept = tclose.split(table, rules, form="slicing", sets=[["a", "b"]], effort=0.2)
    assert all(row["a"] == row["b"] for row in kept.tables["sliced"].to_pylist())


def test_groups_are_as_small_as_the_condition_of_anatomy_allows() -> None:
    table = pa.table({"q": list(range(300)), "s": [f"v{at % 10}" for at in range(300)]})
    rules = {"columns": {"q": "quasi", "s": {"role": "sensitive", "l": 5}}}
    assert tclose.split(table, rules, form="anatomy").recount.groups == 60


@pytest.mark.parametrize("attributes", [1, 2])
def test_rows_assigned_in_turn_keep_ordered_attributes_close(attributes: int) -> None:
    """One attribute: EMD < 1/r; two by halving: EMD < 2/r, where r is a power of two."""
    rows, r = 256, 16
    columns: dict[str, list[int]] = {"q": list(range(rows))}
    rules: dict[str, Any] = {"columns": {"q": "quasi"}}
    for at in range(attributes):
        columns[f"s{at}"] = [(x * (37 + 64 * at) + x * x * at) % 251 for x in range(rows)]
        rules["columns"][f"s{at}"] = {"role": "sensitive", "t": f"{attributes}/{r}"}
    found = tclose.split(pa.table(columns), rules, form="anatomy")
    assert found.recount.groups >= rows // r


@pytest.mark.parametrize("form", ["anatomy", "slicing", "projections"])
def test_the_caller_gets_their_own_kind_of_frame(form: str) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frames = [
        (people().to_pandas(), pandas.DataFrame),
        (polars.from_arrow(people()), polars.DataFrame),
    ]
    for frame, kind in frames:
        release = tclose.split(frame, RULES, form=form, effort=0.1)
        assert release.holds and release.path is None
        assert all(isinstance(table, kind) for table in release.tables.values())


def test_classes_of_another_search_can_be_the_groups() -> None:
    release = tclose.split(people(), RULES, form="slicing", method="mondrian", effort=0.2)
    assert release.holds
    assert release.certificate.method == "mondrian"


@pytest.mark.parametrize(
    "more, sets, told",
    [
        ({"readings": ["separate", "cross"]}, None, "no cross reading"),
        ({"k_map": 3, "population": "people.csv"}, None, "population"),
        ({}, [["ill", "age"]], "both quasi-identifiers and sensitive"),
        ({}, [["ill"], ["ill"]], "named twice"),
        ({}, [["illness"]], "no column"),
        ({"joint": [{"columns": ["ill", "pay"], "t": 0.9}]}, [["ill"], ["pay"]], "different sets"),
    ],
)
def test_what_a_form_cannot_show_is_refused(more: Any, sets: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        tclose.split(people(), {**RULES, **more}, form="slicing", sets=sets)


def test_an_unknown_form_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'slicing'"):
        tclose.split(people(), RULES, form="slice")


def test_a_promise_that_no_group_can_keep_is_refused() -> None:
    rules = {"columns": {"q": "quasi", "s": {"role": "sensitive", "l": 3}}}
    table = pa.table({"q": [1, 2, 3], "s": ["a", "b", "a"]})
    with pytest.raises(UsageError, match="no release can keep this promise"):
        tclose.split(table, rules, form="anatomy")


def test_a_joint_promise_puts_its_columns_into_one_table() -> None:
    rules = {**RULES, "joint": [{"columns": ["ill", "pay"], "t": 0.9}]}
    release = tclose.split(people(), rules, form="anatomy", effort=0.2)
    assert list(release.tables) == ["quasi", "sensitive-ill-pay"]
    titles = [one.requirement for one in release.certificate.requirements]
    assert "joint-t-closeness" in titles or any("joint" in title for title in titles)


def test_added_columns_never_take_the_name_of_one_that_is_there() -> None:
    table = people().rename_columns(["age", "zip", "group", "ill", "count"])
    columns = RULES["columns"]
    rules = {"k": 3, "columns": {
        "age": "quasi", "zip": "quasi", "group": "insensitive",
        "ill": columns["ill"], "count": columns["pay"],
    }}  # fmt: skip
    release = tclose.split(table, rules, form="anatomy", effort=0.2)
    assert release.tables["quasi"].column_names == ["group_", "age", "zip", "group"]
    assert release.tables["sensitive-count"].column_names == ["group_", "count", "count_"]


def test_what_can_be_learned_from_exact_quasi_identifiers_is_told() -> None:
    """The illness is the same as the town; groups of three differ in how many have it."""
    ill = [at % 10 < 3 for at in range(300)]
    table = pa.table({"town": ["a" if one else "b" for one in ill], "ill": ill})
    rules = {
        "k": 3,
        "columns": {"town": "quasi", "ill": {"role": "sensitive", "accept": "made up"}},
    }
    release = tclose.split(table, rules, form="anatomy")
    (leak,) = release.findings
    commonest: dict[int, int] = {}
    for row in release.tables["sensitive-ill"].to_pylist():
        commonest[row["group"]] = max(commonest.get(row["group"], 0), row["count"])
    assert leak.attack == "deFinetti"
    assert leak.affected == 300 - sum(commonest.values()) > 0
    assert leak.numbers["guessed by the attack"] == 1.0
    assert leak.sentence in release.notes
    town = table.set_column(0, "town", pa.array([f"t{at % 7}" for at in range(300)]))
    (none,) = tclose.split(town, rules, form="anatomy").findings
    assert none.affected == 0


def test_a_gain_that_chance_explains_is_not_told() -> None:
    """Illnesses are drawn whatever the age, and yet the model happens to be right more often."""
    draw = random.Random(2)
    ages = [draw.randint(20, 80) for _ in range(200)]
    ill = [draw.choice("abcdefghij") for _ in ages]
    rules = {
        "k": 20,
        "columns": {"age": "quasi", "ill": {"role": "sensitive", "accept": "made up"}},
    }
    (found,) = tclose.split(pa.table({"age": ages, "ill": ill}), rules, form="anatomy").findings
    assert found.numbers["gain"] > 0.01 and not found.affected
    assert "almost nothing" in found.sentence


@pytest.mark.parametrize("how", ["drop", "mask", "pseudonym"])
@pytest.mark.parametrize("form", ["anatomy", "slicing", "projections"])
def test_identifiers_go_as_the_policy_says(form: str, how: str) -> None:
    table = people().append_column("name", pa.array([f"person {at}" for at in range(60)]))
    columns = {**RULES["columns"], "name": "identifier"}
    rules = {**RULES, "columns": columns, "release": {"identifiers": how}}
    release = tclose.split(table, rules, form=form, sets=[["ill"]], effort=0.1)
    holding = [one for one in release.tables.values() if "name" in one.column_names]
    assert len(holding) == (0 if how == "drop" else 1)
    for one in holding:
        names = set(one.column("name").to_pylist())
        assert len(names) == (1 if how == "mask" else 60)
        assert not [name for name in names if name.startswith("person")]
