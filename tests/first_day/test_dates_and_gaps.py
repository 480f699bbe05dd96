"""Dates in other forms and marks of missing values, as the policy tells them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tclose
from tclose.errors import PolicyError
from tclose.learn import Anonymizer
from tclose.policy.load import policy_from


def rules(**dob: Any) -> dict[str, Any]:
    return {
        "k": 4,
        "columns": {
            "dob": {"role": "quasi", **dob},
            "ill": {"role": "sensitive", "t": 0.6},
        },
        "release": {"rows": "keep"},
    }


FORM = {"date_format": "%m/%d/%Y", "nulls": ["?"]}
ROWS = 60
DAYS = [pd.Timestamp("1950-01-01") + pd.Timedelta(days=211 * row) for row in range(ROWS)]
TABLE = pd.DataFrame(
    {
        "dob": ["?" if row % 20 == 7 else f"{day:%m/%d/%Y}" for row, day in enumerate(DAYS)],
        "ill": [["flu", "cough", "ulcer"][row % 3] for row in range(ROWS)],
    }
)
ISO = TABLE.assign(
    dob=[None if row % 20 == 7 else f"{day:%Y-%m-%d}" for row, day in enumerate(DAYS)]
)


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet", "polars"])
@pytest.mark.parametrize("hierarchy", [None, {"dates": ["year", "5 years", "decade", "20 years"]}])
def test_dates_by_their_format_are_released_as_iso_dates_are(
    tmp_path: Path, kind: str, hierarchy: Any
) -> None:
    more = {} if hierarchy is None else {"hierarchy": hierarchy}
    expected = tclose.anonymize(ISO, rules(**more), method="mondrian")
    table: Any = TABLE
    if kind == "csv":
        table = tmp_path / "t.csv"
        TABLE.to_csv(table, index=False)
    elif kind == "parquet":
        table = tmp_path / "t.parquet"
        TABLE.to_parquet(table)
    elif kind == "polars":
        table = pl.from_pandas(TABLE)
    found = tclose.anonymize(table, rules(**more, **FORM), method="mondrian")
    released = found.data["dob"].to_pylist() if kind != "frame" and kind != "polars" else None
    if released is None:
        released = [None if pd.isna(value) else value for value in list(found.data["dob"])]
    wanted = [None if pd.isna(value) else value for value in expected.data["dob"]]
    assert released == wanted
    assert found.holds and found.loss.overall == expected.loss.overall
    assert tclose.verify(found.data, rules(**more, **FORM)).holds
    assert found.certificate.policy["columns"]["dob"]["nulls"] == ["?"]


def test_a_written_release_reads_back_under_the_same_policy(tmp_path: Path) -> None:
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    place = tmp_path / "r.csv"
    tclose.anonymize(tmp_path / "t.csv", rules(**FORM), output=place, method="mondrian")
    assert tclose.verify(place, rules(**FORM)).holds
    used = tclose.measure(original=tmp_path / "t.csv", release=place, policy=rules(**FORM))
    assert 0 < used["loss"].overall < 0.5


def test_distances_are_those_of_the_days() -> None:
    """Every class against the table, by ranks of days counted here."""
    policy = {"columns": {"ill": "quasi", "dob": {"role": "sensitive", "t": 1, **FORM}}}
    found = tclose.audit(TABLE, policy).requirements[0].achieved_exact
    known = ISO.assign(rank=pd.to_datetime(ISO["dob"]).rank(method="dense"))
    worst = Fraction(0)
    n = known["rank"].nunique()
    steps = n  # the missing value has a place of its own behind the last
    for _, part in known.groupby("ill"):
        total, running = Fraction(0), Fraction(0)
        for rank in range(1, n + 1):
            share = Fraction(int((part["rank"] == rank).sum()), len(part))
            running += share - Fraction(int((known["rank"] == rank).sum()), ROWS)
            total += abs(running)
        worst = max(worst, total / steps)
    assert abs(float(found) - float(worst)) < 0.02


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
def test_sensitive_dates_and_marks_are_released_as_they_were_read(make: Any) -> None:
    table = TABLE.assign(
        age=[row // 10 for row in range(ROWS)], n=[row % 3 - 1 for row in range(ROWS)]
    )
    policy: dict[str, Any] = {
        "k": 4,
        "columns": {
            "age": "quasi",
            "ill": "insensitive",
            "n": {"role": "insensitive", "nulls": [-1]},
            "dob": {"role": "sensitive", "t": 0.9, **FORM},
        },
        "release": {"rows": "keep"},
    }
    data = tclose.anonymize(make(table), policy, method="mondrian").data
    dates = [None if pd.isna(value) else value for value in list(data["dob"])]
    assert dates == [None if pd.isna(value) else value for value in ISO["dob"]]
    assert [None if pd.isna(n) else n for n in list(data["n"])] == [None, 0, 1] * (ROWS // 3)


@pytest.mark.parametrize("hierarchy", [{"builtin": "birth_dates"}, {"dates": ["year", "5 years"]}])
def test_bands_of_years_have_ends_and_can_be_a_limit(hierarchy: dict[str, Any]) -> None:
    policy = rules(date_format="%m/%d/%Y", hierarchy=hierarchy, max_level="5 years")
    policy["release"] = {"add": ["low", "high"]}
    plain = TABLE.assign(dob=[f"{day:%m/%d/%Y}" for day in DAYS])
    data = tclose.anonymize(plain, policy, method="mondrian").data
    low, high = (pd.to_datetime(data[f"dob_{end}"]) for end in ("low", "high"))
    assert ((high - low).dt.days <= 5 * 366).all() and data["dob"].str.contains(" to ").any()
    for label, first, last in zip(data["dob"], low, high, strict=True):
        if " to " in label:
            assert label == f"{first.year} to {last.year}" and (last.month, last.day) == (12, 31)


def test_a_plan_places_its_own_rows() -> None:
    policy = rules(**FORM, hierarchy={"builtin": "birth_dates"})
    release = tclose.anonymize(TABLE, policy, method="mondrian")
    again = tclose.apply(release.plan, TABLE, policy=policy)
    assert list(again.data["dob"].astype(str)) == list(release.data["dob"].astype(str))


def test_several_forms_are_tried_in_order() -> None:
    mixed = TABLE.assign(
        dob=[f"{day:%d.%m.%Y}" if row % 2 else f"{day:%m/%d/%Y}" for row, day in enumerate(DAYS)]
    )
    policy = rules(date_format=["%m/%d/%Y", "%d.%m.%Y"])
    found = tclose.anonymize(mixed, policy, method="mondrian")
    plain = TABLE.assign(dob=[f"{day:%Y-%m-%d}" for day in DAYS])
    expected = tclose.anonymize(plain, rules(), method="mondrian")
    assert list(found.data["dob"]) == list(expected.data["dob"])


def test_values_of_another_form_are_counted_and_not_shown() -> None:
    with pytest.raises(PolicyError, match=r"columns.dob.date_format: 3\d of 57 distinct") as found:
        tclose.audit(TABLE, rules(date_format="%d/%m/%Y", nulls=["?"]))
    assert "1950" not in str(found.value)
    with pytest.raises(PolicyError, match="a date format has a day"):
        policy_from(rules(date_format="%m/%Y"), ".")


def test_values_of_another_form_may_count_as_missing(tmp_path: Path) -> None:
    """Only where the policy says so; intervals and periods of a release stay what they are."""
    days = ["04.03.1950", "17.11.1953", "4.3.50", "in May", "02.06.1971", "1976-12-25"] * 8
    table = pd.DataFrame({"dob": days, "ill": ["a", "b"] * 24})
    column: dict[str, Any] = {"role": "quasi", "date_format": ["%d.%m.%Y", "%Y-%m-%d"]}
    column["unreadable"] = "missing"
    policy = {"k": 9, "columns": {"dob": column, "ill": {"role": "sensitive", "t": 0.5}}}
    gaps = table.assign(dob=table["dob"].replace({"4.3.50": None, "in May": None}))
    release = tclose.anonymize(table, policy, method="mondrian")
    expected = tclose.anonymize(gaps, policy, method="mondrian")
    told, wanted = (sorted(made.data["dob"].fillna("")) for made in (release, expected))
    assert told == wanted and "" in told
    release.save(tmp_path / "out.csv")
    again = tclose.audit(tmp_path / "out.csv", policy)
    assert again.holds and again.classes == release.classes == len(set(told))
    with pytest.raises(PolicyError, match="so none is unreadable"):
        policy_from({**policy, "columns": {"dob": {"role": "quasi", "unreadable": "missing"}}}, ".")


@pytest.mark.parametrize(
    ("rule", "values", "read"),
    [
        ({"decimal": ","}, ["1.234,50", "ca. 80", "[1, 9]"], ["1234.50", None, "[1, 9]"]),
        ({"age_on": "2026-01-01"}, ["1950-03-04", "2027-01-01", "*"], ["75", None, "*"]),
    ],
)  # fmt: skip
def test_amounts_and_births_of_another_form_may_count_as_missing(
    rule: dict[str, Any], values: list[str], read: list[str | None]
) -> None:
    from tclose.data.cleaning import clean_values
    from tclose.policy.cleaning import ColumnCleaning

    cleaning = ColumnCleaning.model_validate({**rule, "unreadable": "missing"})
    found = clean_values(pa.array(values), cleaning, "x")
    assert found is not None and found.to_pylist() == read


def test_the_transformer_reads_dates_by_their_format() -> None:
    plain = TABLE.assign(dob=[f"{day:%m/%d/%Y}" for day in DAYS])
    fitted = Anonymizer(policy=rules(**FORM), method="mondrian").fit(plain)
    released = fitted.transform(plain)
    assert released["dob"].str.match(r"\[?19\d\d-\d\d-\d\d").all()


def test_the_transformer_counts_a_target_as_it_was_cleaned() -> None:
    plain = TABLE.assign(dob=[f"{day:%m/%d/%Y}" for day in DAYS])
    policy = rules(**FORM)
    policy["columns"]["ill"] |= {"clean": {"replace": {"ulcer": "flu"}}}
    fitted = Anonymizer(policy=policy, method="mondrian").fit(plain)
    known = rules(**FORM)
    joined = plain.assign(ill=plain["ill"].replace("ulcer", "flu"))
    expected = Anonymizer(policy=known, method="mondrian").fit(joined)
    found, other = (model.certificate_.to_json() for model in (fitted, expected))
    assert found["requirements"] == other["requirements"]


def test_numbers_may_be_marks() -> None:
    table = pd.DataFrame({"age": [20, 30, -9, 40] * 5, "ill": ["a", "b"] * 10})
    policy = {"columns": {"age": {"role": "quasi", "nulls": [-9]}, "ill": "sensitive"}}
    bound = tclose.check(table, policy)
    assert bound.cells.missing("age") == 5
    assert bound.cells.dictionaries["age"].labels == ("20", "30", "40")


def test_a_lazy_frame_and_a_table_in_parts_are_read_alike() -> None:
    known = tclose.audit(ISO, rules())
    lazy = tclose.audit(pl.from_pandas(TABLE).lazy(), rules(**FORM))
    assert lazy.classes == known.classes and lazy.requirements == known.requirements
    parts = tclose.audit(TABLE, rules(**FORM), reading=tclose.Reading(max_cells=3))
    assert parts.in_parts and parts.classes == known.classes


def test_what_missing_numbers_and_dates_hide_is_said_before_the_search() -> None:
    """A class with one birth missing has none of the others: 9 % of gaps hid 73 % of births."""

    def find_notes(table: Any, **dob: Any) -> list[str]:
        release = tclose.anonymize(table, rules(**dob), method="mondrian")
        return [note for note in release.notes if "is released as * in every class" in note]

    (note,) = find_notes(TABLE, **FORM)
    assert note.startswith("dob: 3 rows have no value")
    assert not find_notes(TABLE[TABLE["dob"] != "?"], **FORM)
    towns = TABLE.assign(dob=["A" if row % 20 else None for row in range(ROWS)])
    assert not find_notes(towns)  # sets have a place for it
    mostly = pd.concat([ISO[ISO["dob"].notna()]] * 6 + [ISO[ISO["dob"].isna()][:1]])
    assert not find_notes(mostly)  # hardly one in a hundred
