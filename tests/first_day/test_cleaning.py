"""Values are cleaned as the policy says before anything is counted; the certificate says so."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import Result

import tclose
from first_day.conftest import make_messy
from tclose.errors import PolicyError, UsageError
from tclose.policy.cleaning import Cleaning, ColumnCleaning

ROWS = 400
COST = {"round": 500, "top": 5000}
SEX = {"trim": True, "case": "lower", "replace": {"female": "f", "?": ""}}


def rules(cost: Any = COST, sex: Any = SEX, t: float = 0.5) -> dict[str, Any]:
    """A policy for the messy hospital in which two columns are cleaned."""
    columns: dict[str, Any] = dict.fromkeys(("MRN", "patient_name", "dob", "notes"), "identifier")
    columns |= dict.fromkeys(("admitted", "primary_dx", "deceased"), "identifier")
    columns |= {"zip": "quasi", "sex": {"role": "quasi", "clean": sex}}
    columns["cost"] = {"role": "sensitive", "t": t, "clean": cost}
    return {"k": 4, "columns": columns, "release": {"rows": "keep"}}


def make_table(rows: int = ROWS) -> pd.DataFrame:
    """The messy hospital, with sexes in several spellings."""
    table = make_messy(rows)
    spellings = {"F": " Female", "f": "f ", "M": "m", "": "?"}
    return table.assign(sex=table["sex"].map(spellings))


def round_half_up(text: str, unit: int, top: int) -> str:
    """What a cost becomes, by decimal arithmetic alone."""
    whole = (Decimal(text) / unit).quantize(Decimal(1), ROUND_HALF_UP) * unit
    return str(min(whole, Decimal(top)))


def clean_by_hand(table: pd.DataFrame) -> pd.DataFrame:
    """The table as it should be counted."""
    sex = table["sex"].str.strip().str.lower().map({"female": "f", "f": "f", "m": "m"})
    return table.assign(sex=sex, cost=[round_half_up(text, 500, 5000) for text in table["cost"]])


def test_classes_are_counted_and_released_on_cleaned_values() -> None:
    table = make_table()
    release = tclose.anonymize(table, rules(), method="mondrian")
    by_hand = clean_by_hand(table)
    assert Counter(release.data["cost"]) == Counter(by_hand["cost"])
    plain = rules()
    for name in ("sex", "cost"):
        del plain["columns"][name]["clean"]
    expected = tclose.anonymize(by_hand, plain, method="mondrian")
    columns = ["zip", "sex", "cost"]
    assert release.data[columns].astype(str).equals(expected.data[columns].astype(str))
    assert release.loss.overall == expected.loss.overall


def test_an_audit_counts_cleaned_values_and_says_so() -> None:
    table = make_table()
    audit = tclose.audit(table, rules())
    assert audit.classes == len(clean_by_hand(table).groupby(["zip", "sex"], dropna=False))
    assert any("cost was cleaned before counting" in note for note in audit.notes)


def test_notes_on_cleaning_say_only_what_changed() -> None:
    table = pd.DataFrame({"born": ["04.03.1950", "05.03.1950"] * 2, "sex": ["f", "m", "?", "f"]})
    born = {"role": "quasi", "date_format": "%d.%m.%Y"}
    sex = {"role": "sensitive", "t": 1, "nulls": ["?"]}
    policy = {"columns": {"born": born, "sex": sex}}
    notes = tclose.audit(table, policy).notes
    dates = "dates written as %d.%m.%Y became ISO dates"
    assert f"born was cleaned before counting ({dates}): 4 rows changed" in notes
    marks = "1 value that means missing): 1 row changed, 3 different values became 2"
    assert f"sex was cleaned before counting ({marks}" in notes
    clean = table.replace({"sex": {"?": "f"}})
    assert not any(note.startswith("sex") for note in tclose.audit(clean, policy).notes)


def test_the_certificate_records_what_cleaning_did() -> None:
    table = make_table()
    release = tclose.anonymize(table, rules(), method="mondrian")
    by_hand = clean_by_hand(table)
    cleaned = release.certificate.to_json()["cleaned"]
    assert cleaned["cost"] == {
        "changed_rows": int((table["cost"] != by_hand["cost"]).sum()),
        "values_before": table["cost"].nunique(),
        "values_after": by_hand["cost"].nunique(),
    }
    assert cleaned["sex"]["values_after"] == 2
    assert release.certificate.policy["columns"]["cost"]["clean"] == {"round": "500", "top": "5000"}
    assert "rounded to 500, top-coded at 5000" in str(release)


def test_rounding_leaves_few_people_alone() -> None:
    """Cents identify: nearly every cost is of one person, and next to none once rounded."""
    table = make_messy(ROWS)
    assert (table["cost"].value_counts() == 1).sum() > 0.9 * ROWS
    release = tclose.anonymize(table, rules(sex={"case": "lower"}), method="mondrian")
    assert (release.data["cost"].value_counts() == 1).sum() == 0


def test_a_written_release_is_verified_as_it_is(tmp_path: Path, run: Callable[..., Result]) -> None:
    source, policy = tmp_path / "in.csv", tmp_path / "policy.json"
    make_table().to_csv(source, index=False)
    policy.write_text(json.dumps(rules()))
    out, certificate = tmp_path / "out.csv", tmp_path / "c.json"
    made = run("anonymize", source, "-p", policy, "-o", out, "--certificate", certificate,
               "--method", "mondrian")  # fmt: skip
    assert made.exit_code == 0 and "was cleaned before counting" in made.output
    assert run("verify", out, "--certificate", certificate).exit_code == 0
    written = pd.read_csv(out, dtype=str)
    assert set(written["cost"]) <= {str(500 * step) for step in range(11)}
    assert tclose.attack(out, rules(), original=source).of("linkage")
    assert tclose.measure(original=source, release=out, policy=rules())["loss"].overall is not None


def test_labels_of_a_release_are_not_cleaned_again() -> None:
    """A group's name in capitals is no value of the table, and stays in capitals."""
    tree = {"groups": {"NORTH": ["ulm", "kiel"], "SOUTH": ["graz", "wien"]}}
    town = {"role": "quasi", "hierarchy": tree, "clean": {"case": "lower", "trim": True}}
    policy = {"k": 4, "columns": {"town": town, "ill": {"role": "sensitive", "t": 0.3}}}
    towns = ["Ulm", "KIEL ", "Graz", " wien"] * 2
    table = pa.table({"town": towns, "ill": ["a", "a", "a", "a", "b", "b", "b", "b"]})
    release = tclose.anonymize(table, policy, method="mondrian")
    assert set(release.data.column("town").to_pylist()) == {"NORTH", "SOUTH"}
    assert tclose.verify(release.data, policy).holds


def test_a_plan_cleans_new_rows_too() -> None:
    plan = tclose.anonymize(make_table(), rules(), method="mondrian").plan
    later = make_table(ROWS + 200).iloc[200:].reset_index(drop=True)
    applied = tclose.apply(plan, later)
    assert applied.certificate.cleaned["cost"].values_before == later["cost"].nunique()
    assert set(applied.data["cost"]) <= {str(500 * step) for step in range(11)}


def test_a_split_is_made_of_cleaned_values() -> None:
    policy = rules(t=1)
    policy["columns"]["cost"] |= {"l": 2}
    made = tclose.split(pa.Table.from_pandas(make_table()), policy, form="anatomy")
    assert made.certificate.cleaned["cost"].values_after <= 11
    assert set(made.tables["sensitive-cost"].column("cost").to_pylist()) <= {
        str(500 * step) for step in range(11)
    }


NUMBERS = pa.table(
    {"age": [1, 2, 1, 2] * 5, "pay": pa.array([1.25, 2.5, 7.0, None] * 5, pa.float64())}
)


def _relation(table: pa.Table) -> Any:
    connection = duckdb.connect()
    connection.register("given", table)
    connection.execute("CREATE TABLE numbers AS SELECT * FROM given")
    return connection.table("numbers")


def _file(table: pa.Table, folder: Path) -> Path:
    pq.write_table(table, folder / "in.parquet")
    return folder / "in.parquet"


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "relation", "file"])
def test_numbers_keep_their_type_in_every_kind_of_table(kind: str, tmp_path: Path) -> None:
    policy = {
        "k": 2,
        "columns": {
            "age": "quasi",
            "pay": {"role": "sensitive", "t": 1, "clean": {"round": 0.5, "top": 5}},
        },
    }
    data = {
        "pandas": lambda: NUMBERS.to_pandas(),
        "polars": lambda: pl.from_arrow(NUMBERS),
        "lazy": lambda: pl.from_arrow(NUMBERS).lazy(),
        "relation": lambda: _relation(NUMBERS),
        "file": lambda: _file(NUMBERS, tmp_path),
    }[kind]()
    made = tclose.anonymize(data, policy, method="mondrian").data
    if kind == "pandas":
        table = pa.Table.from_pandas(made)
    elif kind in ("polars", "lazy"):
        table = made.lazy().collect().to_arrow()
    else:
        table = made.to_arrow_table() if kind == "relation" else made
    assert table.schema.field("pay").type == pa.float64()
    pay = table.column("pay").to_pylist()
    assert Counter(pay) == Counter([1.5, 2.5, 5.0, None] * 5)


@given(
    value=st.decimals(-(10**6), 10**6, places=2),
    unit=st.sampled_from(["0.05", "1", "25", "100"]),
)
def test_rounding_is_that_of_decimal_arithmetic(value: Decimal, unit: str) -> None:
    rule = Cleaning.model_validate({"round": unit})
    found = rule.clean_text(str(value))
    expected = (value / Decimal(unit)).quantize(Decimal(1), ROUND_HALF_UP) * Decimal(unit)
    assert found is not None and Decimal(found) == expected and rule.clean_text(found) == found


@given(whole=st.integers(10**28, 10**40), unit=st.sampled_from(["0.0000001", "0.01", "1000"]))
def test_rounded_numbers_are_written_in_full(whole: int, unit: str) -> None:
    digits = unit.partition(".")[2]
    value = f"{whole}.{digits}" if digits else f"{whole // 1000}000"
    assert Cleaning.model_validate({"round": unit}).clean_text(f"{value}") == value
    small = Cleaning.model_validate({"round": "0.0000001"}).clean_text("0.00000014")
    assert small == "0.0000001"


@pytest.mark.parametrize("instead", ["three", "3.5"])
def test_no_word_is_put_in_the_place_of_a_number(instead: str) -> None:
    table = pa.table({"age": [3, 4] * 20, "ill": ["flu", "cough"] * 20})
    columns = {
        "age": {"role": "quasi", "clean": {"replace": {"3": instead}}},
        "ill": {"role": "sensitive", "t": 1},
    }
    with pytest.raises(UsageError, match="does not fit the column's type"):
        tclose.audit(table, {"columns": columns})


@pytest.mark.parametrize(
    ("clean", "what"),
    [
        ({}, "no cleaning step is given"),
        ({"case": "lower", "replace": {"F": "f"}}, "never occurs"),
        ({"replace": {"a": "b", "b": "c"}}, "would itself be cleaned"),
        ({"round": 100, "top": 150}, "not a multiple"),
        ({"round": 100, "bottom": 150}, "not a multiple"),
        ({"top": 10, "bottom": 10}, "not below"),
        ({"round": "1/3"}, "finitely many digits"),
        ({"round": 0}, "above 0"),
        ({"rond": 100}, "did you mean 'round'"),
    ],
)
def test_what_cannot_be_meant_is_refused(clean: dict[str, Any], what: str) -> None:
    with pytest.raises(PolicyError, match=what):
        tclose.audit(make_table(20), rules(cost=clean))


@given(value=st.integers(-300, 300), text=st.booleans())
def test_numbers_are_rounded_and_kept_between_bottom_and_top(value: int, text: bool) -> None:
    rule = Cleaning.model_validate({"round": 10, "bottom": -50, "top": 90})
    nearest = int((Decimal(value) / 10).quantize(Decimal(1), ROUND_HALF_UP)) * 10
    expected = min(max(nearest, -50), 90)
    found = rule.clean_text(str(value)) if text else rule.clean_number(Fraction(value))
    assert found is not None and Fraction(found) == expected
    assert rule.describe() == "rounded to 10, top-coded at 90, bottom-coded at -50"


def test_open_ends_of_a_hierarchy_are_released_and_read_again() -> None:
    """Also where a limit has the released labels looked up in the hierarchy."""
    ages = [3, 7, 12, 31, 33, 38, 91, 93, 99]
    table = pa.table({"age": ages, "ill": ["a", "b", "c"] * 3})
    tree = {"intervals": [10, 20], "bottom": 18, "top": 90}
    age = {"role": "quasi", "hierarchy": tree, "max_level": 1}
    policy = {"k": 3, "columns": {"age": age, "ill": {"role": "sensitive", "t": 0.1}}}
    release = tclose.anonymize(table, policy, method="optimal")
    labels = release.data.column("age").to_pylist()
    assert Counter(labels) == {"(-∞, 18)": 3, "[30, 40)": 3, "[90, ∞)": 3}
    assert tclose.verify(release.data, policy).holds
    assert len(tclose.apply(release.plan, table).data) == 9


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ({"hierarchy": {"prefix": [1], "top": 3}}, "for intervals only"),
        ({"hierarchy": {"intervals": [5], "top": 3, "bottom": 3}}, "not below"),
        ({"hierarchy": {"intervals": [5], "bottom": 0}, "max_width": 5}, "has no width"),
    ],
)
def test_ends_that_make_no_sense_are_refused(column: dict[str, Any], says: str) -> None:
    policy = {"columns": {"age": {"role": "quasi", **column}}}
    with pytest.raises(PolicyError, match=says):
        tclose.audit(pa.table({"age": [1, 2]}), policy)


def test_cleaning_a_column_that_is_not_counted_is_refused() -> None:
    policy = rules()
    policy["columns"]["notes"] = {"role": "identifier", "clean": {"trim": True}}
    with pytest.raises(PolicyError, match="only quasi-identifiers and sensitive columns"):
        tclose.audit(make_table(20), policy)


def test_whole_numbers_stay_whole_and_dates_are_not_cleaned() -> None:
    table = pa.table({"age": [1, 2], "pay": [7, 8], "day": pa.array([1, 2], pa.date32())})
    columns: dict[str, Any] = {"age": "quasi", "day": "insensitive"}
    columns["pay"] = {"role": "sensitive", "clean": {"round": 2.5}}
    with pytest.raises(UsageError, match="does not fit the column's type"):
        tclose.audit(table, {"columns": columns})
    columns |= {"pay": "sensitive", "day": {"role": "quasi", "clean": {"round": 7}}}
    with pytest.raises(UsageError, match="only texts and numbers"):
        tclose.audit(table, {"columns": columns})


def test_a_table_in_parts_is_cleaned_too() -> None:
    in_parts = {"reading": tclose.Reading(max_cells=10)}
    table, policy = make_table(), rules()
    release = tclose.anonymize(table, policy, **in_parts)
    assert release.certificate.fragments > 1
    by_hand = clean_by_hand(table)
    assert Counter(release.data["cost"]) == Counter(by_hand["cost"])
    for name in ("sex", "cost"):
        del policy["columns"][name]["clean"]
    expected = tclose.anonymize(by_hand, policy, **in_parts)
    columns = ["zip", "sex", "cost"]
    assert release.data[columns].astype(str).equals(expected.data[columns].astype(str))
    assert release.certificate.cleaned["cost"].values_after == by_hand["cost"].nunique()


# --- amounts and ages

AMOUNTS = [f"{1 + row % 3}.{row % 10}{row % 7}5,{row % 4}0" for row in range(60)]
BIRTHS = pd.Series(pd.date_range("1930-02-27", "2019-03-02", periods=60).normalize())
PEOPLE = pd.DataFrame({"born": BIRTHS.dt.strftime("%d.%m.%Y"), "cost": AMOUNTS})
DAY = date(2020, 2, 29)


def count_birthdays(born: pd.Timestamp) -> int:
    """How many years of life are over on the day, by looking at each birthday."""
    days = (
        date(year, 3, 1) if (born.month, born.day) == (2, 29) and year % 4 else
        date(year, born.month, born.day)
        for year in range(born.year + 1, DAY.year + 1)
    )  # fmt: skip
    return sum(day <= DAY for day in days)


def of_people(**changed: Any) -> dict[str, Any]:
    born = {"role": "quasi", "date_format": "%d.%m.%Y", "age_on": DAY.isoformat()}
    cost = {"role": "sensitive", "t": 0.5, "distance": "numeric", "decimal": ","}
    columns = {"born": born, "cost": cost, **changed}
    return {"k": 4, "columns": columns, "release": {"rows": "keep"}}


def test_ages_and_amounts_are_exact_and_told_everywhere() -> None:
    release = tclose.anonymize(PEOPLE, of_people(), method="mondrian")
    plain = pd.DataFrame(
        {
            "born": [count_birthdays(born) for born in BIRTHS],
            "cost": [text.replace(".", "").replace(",", ".") for text in AMOUNTS],
        }
    )
    cost = {"role": "sensitive", "t": 0.5, "distance": "numeric"}
    known = tclose.anonymize(
        plain,
        {"k": 4, "columns": {"born": "quasi", "cost": cost}, "release": {"rows": "keep"}},
        method="mondrian",
    )
    assert release.data.astype(str).equals(known.data.astype(str))
    achieved = [judged.achieved_exact for judged in release.audit.requirements]
    assert achieved == [judged.achieved_exact for judged in known.audit.requirements]
    told = "age in whole years on 2020-02-29"
    assert release.certificate.policy["columns"]["born"]["age_on"] == "2020-02-29"
    assert told in str(release) and told in release.dictionary().columns[0].treatment
    for edition in ("internal", "external", "users"):
        assert told in json.dumps(release.report(edition=edition).to_json())
    typed = PEOPLE.assign(born=BIRTHS)
    assert tclose.audit(typed, of_people()).classes == tclose.audit(PEOPLE, of_people()).classes


def test_a_plan_makes_ages_of_new_rows_on_the_same_day() -> None:
    release = tclose.anonymize(PEOPLE, of_people(), method="mondrian")
    later = PEOPLE.iloc[::-1].reset_index(drop=True)
    applied = tclose.apply(release.plan, later)
    assert list(applied.data["born"]) == list(release.data["born"][::-1])
    assert applied.certificate.cleaned["born"].changed_rows == len(later)


def test_forms_in_several_tables_are_cleaned_once() -> None:
    made = tclose.split(PEOPLE, of_people(), form="projections", effort=0.1)
    (table,) = made.tables.values()
    assert {float(text) for text in table["cost"]} == {
        float(text.replace(".", "").replace(",", ".")) for text in AMOUNTS
    }


def test_amounts_of_three_decimals_are_not_read_as_thousands_once_they_are_released() -> None:
    texts = [f"{1 + at % 9},{at * 37 % 1000:03d}"[: 5 - at % 2] for at in range(60)]
    table = PEOPLE.assign(cost=texts)
    release = tclose.anonymize(table, of_people(), method="mondrian")
    exact = {Fraction(text.replace(",", ".")) for text in texts}
    assert {Fraction(text) for text in release.data["cost"]} == exact
    for read in (tclose.verify, tclose.audit):
        found = read(release.data, of_people())
        assert found.holds
        attained = [judged.achieved_exact for judged in found.requirements]
        assert attained == [judged.achieved_exact for judged in release.audit.requirements]
    why = tclose.explain(release.data, of_people())
    assert why.exact == release.audit.requirements[1].achieved_exact


def test_equal_amounts_with_more_and_fewer_decimals_are_one_value() -> None:
    """They are amounts, which the numeric distance is defined for."""
    table = PEOPLE.assign(cost=["1,5", "1,50", "2,25", "3"] * 15)
    found = tclose.audit(table, of_people())
    plain = PEOPLE.assign(cost=[1.5, 1.5, 2.25, 3.0] * 15)
    known = tclose.audit(
        plain, of_people(cost={"role": "sensitive", "t": 0.5, "distance": "numeric"})
    )
    assert [judged.achieved_exact for judged in found.requirements] == [
        judged.achieved_exact for judged in known.requirements
    ]


def test_numbers_written_in_two_ways_are_named_as_the_reason_for_having_no_order() -> None:
    table = PEOPLE.assign(cost=["1.5", "1.50", "2.25", "3"] * 15)
    for distance in ("numeric", "ordered"):
        policy = of_people(cost={"role": "sensitive", "t": 0.5, "distance": distance})
        with pytest.raises(PolicyError, match="one number or date, written in several") as found:
            tclose.audit(table, policy)
        assert "round" in str(found.value) and "neither numbers" not in str(found.value)
    silent = tclose.audit(table, of_people(cost={"role": "sensitive", "t": 0.5}))
    assert silent.requirements[-1].distance == "equal"
    assert any("the distance is equal" in note for note in silent.notes)
    rounded = {"role": "sensitive", "t": 0.5, "clean": {"round": 0.01}}
    assert tclose.audit(table, of_people(cost=rounded)).requirements[-1].distance == "ordered"


@given(
    text=st.from_regex(
        r"[+-]?([0-9]{1,4}|[1-9][0-9]{0,2}([.][0-9]{3}){1,2})(,[0-9]{1,4})?", fullmatch=True
    ),
    mark=st.sampled_from([",", "."]),
    step=st.sampled_from([None, "0.125", "0.001", "10"]),
)
def test_amounts_that_are_clean_stay_as_they_are(text: str, mark: str, step: str | None) -> None:
    clean = None if step is None else {"round": step}
    rule = ColumnCleaning.model_validate({"decimal": mark, "clean": clean})
    once = rule.clean_value(text if mark == "," else text.translate(str.maketrans(",.", ".,")))
    assert rule.clean_value(once) == once


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"age_on": "1990-01-01"}, r"born.age_on: \d+ of 60 distinct values give no age"),
        ({"date_format": "%m/%d/%Y"}, "born.age_on: 60 of 60 distinct values give no age"),
        ({"hierarchy": {"dates": ["year"]}}, "an age is a number"),
        ({"age_on": "soon"}, "columns.born.age_on"),
    ],
)
def test_births_that_give_no_age_are_problems(changed: dict[str, Any], what: str) -> None:
    policy = of_people()
    policy["columns"]["born"] |= changed
    with pytest.raises(PolicyError, match=what) as found:
        tclose.audit(PEOPLE, policy)
    assert "1930" not in str(found.value)
    if changed.get("age_on") == "1990-01-01":
        with pytest.raises(PolicyError, match="give no age"):
            tclose.audit(PEOPLE.assign(born=BIRTHS), policy)


def test_amounts_of_another_form_are_counted_and_not_shown() -> None:
    policy = of_people()
    policy["columns"]["cost"]["decimal"] = "."
    with pytest.raises(PolicyError, match=r"cost.decimal: .* no numbers of this form") as found:
        tclose.audit(PEOPLE, policy)
    assert not any(text in str(found.value) for text in AMOUNTS)
