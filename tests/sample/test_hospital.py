"""The made-up hospital: reproducible, possible, lifelike, and as awkward as real tables are.

Shares are checked with margins many standard deviations wide: a test that fails means the table
has changed its character, not that the dice fell badly.
"""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tclose.errors import UsageError
from tclose.sample import HOSPITAL_SCHEMA, diagnosis_chains, hospital, hospital_blocks

ROWS = 200_000


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return hospital(ROWS, seed=7)


@pytest.fixture(scope="module")
def patients(table: pa.Table) -> pd.DataFrame:
    frame = table.to_pandas()
    frame["age"] = [
        completed_years(born, came)
        for born, came in zip(frame["birth_date"], frame["admission_date"], strict=True)
    ]
    group = {leaf: group for leaf, group, *_ in diagnosis_chains()}
    frame["group"] = frame["diagnosis"].map(group)
    frame["region"] = frame["postcode"].str[0]
    return frame


def completed_years(born: date | None, came: date) -> float:
    if not isinstance(born, date):
        return float("nan")
    return came.year - born.year - ((came.month, came.day) < (born.month, born.day))


def share(patients: pd.DataFrame, column: str, value: str) -> float:
    return float((patients[column] == value).mean())


def test_columns_have_the_promised_order_and_types() -> None:
    table = hospital(10)
    assert table.schema == HOSPITAL_SCHEMA
    assert table.column_names == [
        "name",
        "national_id",
        "birth_date",
        "sex",
        "postcode",
        "admission_date",
        "ethnicity",
        "diagnosis",
        "length_of_stay",
        "cost",
    ]
    table.validate(full=True)


def test_equal_seeds_give_equal_tables_and_others_do_not() -> None:
    assert hospital(2_000, seed=3).equals(hospital(2_000, seed=3))
    assert not hospital(2_000, seed=3).equals(hospital(2_000, seed=4))


@pytest.mark.parametrize("rows", [0, 1, 999, 99_999, 100_000, 100_001, 150_000])
def test_a_shorter_table_is_the_beginning_of_a_longer_one(table: pa.Table, rows: int) -> None:
    assert hospital(rows, seed=7).equals(table.slice(0, rows))


def test_blocks_are_the_table_and_differ_from_each_other(table: pa.Table) -> None:
    blocks = list(hospital_blocks(ROWS, seed=7))
    assert pa.Table.from_batches(blocks).equals(table)
    assert not blocks[0].column("diagnosis").equals(blocks[1].column("diagnosis"))


@pytest.mark.parametrize(("rows", "seed"), [(-1, 1), (10, -1), (2_000_000_000, 1)])
def test_impossible_requests_are_refused_before_any_row_is_drawn(rows: int, seed: int) -> None:
    with pytest.raises(UsageError, match="hospital"):
        hospital_blocks(rows, seed)


def test_national_numbers_are_unique_and_carry_their_check_digit(patients: pd.DataFrame) -> None:
    numbers = patients["national_id"]
    assert numbers.is_unique
    assert numbers.str.fullmatch(r"\d{3}-\d{3}-\d{3}-\d").all()
    for number in numbers.iloc[::997]:
        digits = [int(sign) for sign in number if sign != "-"]
        assert (3 * sum(digits[0::2]) + sum(digits[1::2])) % 10 == 0


def test_everyone_has_a_name_a_number_a_sex_an_admission_and_a_bill(table: pa.Table) -> None:
    for column in ("name", "national_id", "sex", "admission_date", "cost"):
        assert table.column(column).null_count == 0


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("ethnicity", 0.04),
        ("postcode", 0.01),
        ("birth_date", 0.003),
        ("length_of_stay", 0.005),
        ("diagnosis", 0.003),
    ],
)
def test_values_are_missing_as_often_as_promised(
    table: pa.Table, column: str, expected: float
) -> None:
    missing = table.column(column).null_count / ROWS
    assert missing == pytest.approx(expected, rel=0.25)


def test_postcodes_are_five_digits_and_some_begin_with_zero(patients: pd.DataFrame) -> None:
    postcodes = patients["postcode"].dropna()
    assert postcodes.str.fullmatch(r"\d{5}").all()
    assert 0.1 < postcodes.str.startswith("0").mean() < 0.3


def test_admissions_fill_2023_and_2024_and_nothing_else(patients: pd.DataFrame) -> None:
    assert patients["admission_date"].min() == date(2023, 1, 1)
    assert patients["admission_date"].max() == date(2024, 12, 31)


def test_nobody_is_admitted_before_birth(patients: pd.DataFrame) -> None:
    assert patients["age"].min() >= 0
    assert patients["age"].max() <= 110


def test_no_prostate_disease_in_women_and_no_birth_in_men(patients: pd.DataFrame) -> None:
    prostate = patients[patients["diagnosis"].isin(["prostate enlargement", "prostate cancer"])]
    births = patients[patients["group"] == "pregnancy and birth"]
    assert len(prostate) > 1_000
    assert len(births) > 1_000
    assert set(prostate["sex"]) == {"male"}
    assert set(births["sex"]) == {"female"}


def test_mothers_are_between_15_and_50(patients: pd.DataFrame) -> None:
    age = patients.loc[patients["group"] == "pregnancy and birth", "age"].dropna()
    assert age.min() >= 15
    assert age.max() < 50


def test_hearts_fail_in_old_age(patients: pd.DataFrame) -> None:
    age = patients["age"]
    old = share(patients[age >= 75], "group", "heart disease")
    young = share(patients[age < 35], "group", "heart disease")
    assert old > 10 * young


def test_the_industrial_region_has_more_lung_disease(patients: pd.DataFrame) -> None:
    industrial = share(patients[patients["region"] == "2"], "group", "lung disease")
    lakes = share(patients[patients["region"] == "4"], "group", "lung disease")
    assert industrial > 1.5 * lakes


def test_the_poor_region_has_more_diabetes(patients: pd.DataFrame) -> None:
    poor = share(patients[patients["region"] == "3"], "diagnosis", "type 2 diabetes")
    lakes = share(patients[patients["region"] == "4"], "diagnosis", "type 2 diabetes")
    assert poor > 1.5 * lakes


def test_ethnicity_matters_a_little(patients: pd.DataFrame) -> None:
    lakes = patients[patients["region"].isin(["0", "1", "2", "4"])]
    more = share(lakes[lakes["ethnicity"] == "Ostari"], "diagnosis", "type 2 diabetes")
    less = share(lakes[lakes["ethnicity"] == "Norran"], "diagnosis", "type 2 diabetes")
    assert 1.1 < more / less < 1.6


def test_stay_follows_diagnosis_and_age(patients: pd.DataFrame) -> None:
    median = patients.groupby("diagnosis")["length_of_stay"].median()
    assert median["schizophrenia"] > 4 * median["appendicitis"]
    pneumonia = patients[patients["diagnosis"] == "pneumonia"]
    old = pneumonia.loc[pneumonia["age"] >= 75, "length_of_stay"].median()
    young = pneumonia.loc[pneumonia["age"] < 15, "length_of_stay"].median()
    assert old > 1.3 * young


def test_stays_are_whole_days_between_one_and_half_a_year(patients: pd.DataFrame) -> None:
    stay = patients["length_of_stay"].dropna()
    assert (stay == np.rint(stay)).all()
    assert stay.min() == 1
    assert stay.max() <= 180


def test_cost_follows_stay_and_diagnosis(patients: pd.DataFrame) -> None:
    cost = patients["cost"].astype(float)
    assert cost.min() > 0
    pneumonia = patients["diagnosis"] == "pneumonia"
    assert cost[pneumonia].corr(patients.loc[pneumonia, "length_of_stay"]) > 0.7
    short = patients["length_of_stay"] == 3
    cancer, migraine = (
        cost[short & (patients["diagnosis"] == name)].mean() for name in ("lung cancer", "migraine")
    )
    assert cancer > 2 * migraine


def test_rare_values_occur_and_stay_rare(patients: pd.DataFrame) -> None:
    diagnoses = patients["diagnosis"].value_counts()
    for name in ("Wilson disease", "Creutzfeldt-Jakob disease", "motor neurone disease"):
        assert 0 < diagnoses[name] < ROWS / 1_000
    assert 0 < share(patients, "ethnicity", "Tasqi") < 0.003
    assert 0.001 < share(patients, "sex", "unspecified") < 0.006
    assert 0 < (patients["age"] >= 100).sum() < ROWS / 1_000


def test_every_diagnosis_of_the_tree_occurs_and_no_other(patients: pd.DataFrame) -> None:
    assert set(patients["diagnosis"].dropna()) == {leaf for leaf, *_ in diagnosis_chains()}


def test_the_table_one_gets_without_asking_has_its_awkward_patients() -> None:
    frame = hospital().to_pandas()
    born = frame["birth_date"].dropna()
    assert 1 <= (born < date(1928, 1, 1)).sum() <= 5
    assert 0 < frame["diagnosis"].value_counts().min() < 5
    assert 1 <= (frame["ethnicity"] == "Tasqi").sum() <= 30
