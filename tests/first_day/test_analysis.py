"""Columns and types for analysis tell nothing that the release does not, and verify agrees."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import tclose
from tclose import Column, Policy
from tclose.cli import app
from tclose.errors import PolicyError, UsageError

ROWS = 48
DAYS = pd.to_datetime([f"19{50 + row % 40}-0{1 + row % 9}-{10 + row % 18}" for row in range(ROWS)])
TABLE = pd.DataFrame(
    {
        "name": [f"P{row}" for row in range(ROWS)],
        "age": [20 + (7 * row) % 40 for row in range(ROWS)],
        "born": DAYS.date,
        "town": ["ABC"[row % 3] for row in range(ROWS)],
        "stage": [["low", "middle", "high"][row % 3] for row in range(ROWS)],
    }
)
COLUMNS: dict[str, Any] = {
    "name": Column.identifier(),
    "age": Column.quasi(),
    "born": Column.quasi(hierarchy={"dates": ["month", "year", "decade"]}),
    "town": Column.quasi(),
    "stage": Column.sensitive(t=0.5, order=["low", "middle", "high"], distance="ordered"),
}
ENDS = ["low", "high", "midpoint"]
POLICY = Policy.build(COLUMNS, k=4, release={"add": ENDS})


def anonymize(data: Any = TABLE, policy: Policy = POLICY, **more: Any) -> tclose.Release:
    return tclose.anonymize(data, policy, method="mondrian", **more)


def expect_number(label: str) -> tuple[float, float, float]:
    """The ends of `[25, 37]` or `25`, read without the code that wrote them."""
    low, high = (float(part) for part in (label.strip("[]").split(", ") * 2)[:2])
    return low, high, (low + high) / 2


def test_low_high_and_midpoint_are_those_of_the_released_value() -> None:
    data = anonymize().data
    assert list(data)[:4] == ["age", "age_low", "age_high", "age_midpoint"]
    for label, *ends in data[["age", "age_low", "age_high", "age_midpoint"]].to_numpy().tolist():
        assert tuple(ends) == expect_number(label)
    assert "town_low" not in data and not any(name.startswith("stage_") for name in data)


def test_dates_get_the_first_and_last_day_of_their_period() -> None:
    data = anonymize().data
    assert {"born_low", "born_high", "born_midpoint"} <= set(data)
    for label, low, high in data[["born", "born_low", "born_high"]].to_numpy().tolist():
        if label.endswith("s"):
            year = int(label[:4])
            assert (low, high) == (date(year, 1, 1), date(year + 9, 12, 31))
        elif label == "*":
            assert pd.isna(low) and pd.isna(high)
        elif len(label) == 4:
            assert (low, high) == (date(int(label), 1, 1), date(int(label), 12, 31))


def test_the_release_is_otherwise_the_one_without_these_columns() -> None:
    without = anonymize(policy=Policy.build(COLUMNS, k=4)).data
    both = [anonymize().data[list(without)], without]
    # Another policy is another order.
    sorted_rows = [frame.sort_values(list(without), ignore_index=True) for frame in both]
    pd.testing.assert_frame_equal(*sorted_rows)


@pytest.mark.parametrize("file", ["out.csv", "out.parquet", "out.arrow"])
def test_verify_takes_the_file_and_refuses_one_that_tells_more(file: str, tmp_path: Path) -> None:
    release = anonymize(output=tmp_path / file)
    assert tclose.verify(tmp_path / file, POLICY).holds and tclose.verify(release).holds
    again = release.to_pandas(intervals=False, ordered=False)
    assert again["age_low"].dtype == "int64"
    for name in ("age_low", "age_midpoint", "born_high"):
        told = again.copy()
        told[name] = TABLE["age"].to_numpy() if name.startswith("age") else date(1950, 1, 1)
        verdict = tclose.verify(told, POLICY)
        assert verdict.holds is False and name in verdict.broken
        assert tclose.audit(told, POLICY).holds is False


def test_every_kind_of_frame_gets_them() -> None:
    expected = anonymize().data["age_midpoint"].tolist()
    for frame in (pl.from_pandas(TABLE), pl.from_pandas(TABLE).to_arrow()):
        release = anonymize(frame)
        assert type(release.data) is type(frame)
        assert (
            list(
                release.data["age_midpoint"].to_pylist()
                if hasattr(release.data, "column_names")
                else release.data["age_midpoint"]
            )
            == expected
        )
        assert tclose.verify(release).holds


def test_other_functions_take_such_a_release(tmp_path: Path) -> None:
    release = anonymize()
    assert tclose.measure(original=TABLE, release=release, queries=10)["loss"].overall is not None
    assert tclose.attack(release, original=TABLE).findings
    assert tclose.explain(release).number >= 1
    assert release.report(tmp_path / "report.html").sections
    release.save(tmp_path / "saved.csv")
    assert tclose.verify(tmp_path / "saved.csv", POLICY).holds
    assert release.plan is not None
    later = tclose.apply(release.plan, TABLE)
    assert "age_low" in later.data and later.holds


def test_what_cannot_be_added_is_refused_before_the_search(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="there is a column 'age_low' already"):
        Policy.build(COLUMNS | {"age_low": "insensitive"}, k=4, release={"add": ENDS})
    with pytest.raises(UsageError, match="the table has a column 'age_low' already"):
        anonymize(TABLE.assign(age_low=1))
    with pytest.raises(UsageError, match=r"release\.add"):
        anonymize(pl.from_pandas(TABLE).lazy())
    with pytest.raises(UsageError, match=r"release\.add"):
        tclose.split(TABLE, POLICY, form="anatomy")
    with pytest.raises(UsageError, match="fragments"):
        anonymize(reading=tclose.Reading(max_cells=5))


def test_a_frame_of_pandas_has_intervals_and_ordered_categories() -> None:
    release = anonymize(policy=Policy.build(COLUMNS, k=4))
    ready = release.to_pandas()
    assert str(ready["age"].dtype) == "interval[int64, both]"
    for shown, label in zip(ready["age"], release.data["age"], strict=True):
        assert (shown.left, shown.right, shown.mid) == expect_number(label)
    assert ready["stage"].cat.ordered
    assert list(ready["stage"].cat.categories) == ["low", "middle", "high"]
    born = ready["born"].cat
    starts = [label.replace("*", "9999")[:4] for label in born.categories]
    assert born.ordered and starts == sorted(starts)
    assert ready["born"].astype(str).tolist() == release.data["born"].tolist()
    assert tclose.verify(ready, release.audit.bound.policy).holds
    plain = release.to_pandas(intervals=False, ordered=False)
    assert plain["age"].tolist() == release.data["age"].tolist()


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_numbers_among_texts_of_any_kind_become_numbers(kind: pa.DataType) -> None:
    cost = [f"{row % 5},5" for row in range(ROWS)]
    texts = {"age": list(map(str, TABLE["age"])), "cost": cost}
    table = pa.table({name: pa.array(values, kind) for name, values in texts.items()})
    columns = {"age": "quasi", "cost": {"role": "sensitive", "t": 0.5, "decimal": ","}}
    ready = tclose.anonymize(table, {"k": 4, "columns": columns}, method="mondrian").to_pandas()
    assert ready["cost"].dtype == "float64" and set(ready["cost"]) == {0.5, 1.5, 2.5, 3.5, 4.5}


def test_categories_are_only_those_that_occur() -> None:
    table = TABLE.assign(stage=TABLE["stage"].replace("middle", "high"))
    ready = anonymize(table, Policy.build(COLUMNS, k=4)).to_pandas()
    assert list(ready["stage"].cat.categories) == ["low", "high"]


def test_the_dictionary_says_what_was_done_to_each_column(tmp_path: Path) -> None:
    release = anonymize()
    dictionary = release.dictionary()
    entries = {entry.column: entry for entry in dictionary.columns}
    assert set(TABLE) | {"age_low", "born_midpoint"} <= set(entries)
    assert entries["name"].treatment == "removed" and entries["name"].role == "identifier"
    assert entries["age"].treatment.startswith("intervals")
    assert entries["born"].levels == "dates month, year, decade"
    assert entries["stage"].treatment == "released as it is" and entries["stage"].loss is None
    assert entries["age_low"].treatment.startswith("low end of age")
    for name, lost in release.loss.columns.items():
        assert entries[name].loss == lost
    page = dictionary.to_markdown()
    assert page.count("\n|") == len(entries) + 2
    treated = entries["age"].treatment
    assert f"| age | quasi | {treated} |  | {release.loss.columns['age']:.4f} |" in page
    assert not any(name in page for name in TABLE["name"])
    for file in ("d.md", "d.json"):
        dictionary.save(tmp_path / file)
    assert (tmp_path / "d.md").read_text() == page
    assert json.loads((tmp_path / "d.json").read_text()) == dictionary.to_json()
    assert dictionary.to_frame()["column"].tolist() == list(entries)
    with pytest.raises(UsageError, match="unknown kind"):
        dictionary.save(tmp_path / "d.pdf")


def test_the_dictionary_calls_a_range_of_codes_a_range() -> None:
    codes = pa.table({"code": ["01067", "01099", "80331", "80333"] * 5, "ill": list("abba") * 5})
    columns = {"code": "quasi", "ill": {"role": "sensitive", "t": 1}}
    release = tclose.anonymize(codes, {"k": 8, "columns": columns}, method="mondrian")
    assert release.data.column("code").to_pylist()[0].startswith("[")
    (entry, _) = release.dictionary().columns
    assert entry.treatment.startswith("intervals")


@pytest.mark.parametrize("name", ["birth_dates", "icd10"])
def test_the_dictionary_names_built_in_hierarchies(name: str) -> None:
    values = {"birth_dates": ["1950-01-01", "1960-05-05"], "icd10": ["A00", "B01"]}[name] * 4
    table = pa.table({"own": values, "ill": list("abba") * 2})
    columns = {
        "own": {"role": "quasi", "hierarchy": {"builtin": name}},
        "ill": {"role": "sensitive", "t": 0.5},
    }
    release = tclose.anonymize(table, {"k": 2, "columns": columns}, method="mondrian")
    assert release.dictionary().columns[0].levels == f"builtin {name}"


def test_names_of_columns_cannot_break_the_page() -> None:
    table = TABLE.rename(columns={"town": "a|b\n<script>"})
    columns = {name if name != "town" else "a|b\n<script>": at for name, at in COLUMNS.items()}
    release = anonymize(table, Policy.build(columns, k=4))
    page = release.dictionary().to_markdown()
    assert "a\\|b &lt;script>" in page and "<script" not in release.dictionary()._repr_html_()


def test_levels_of_whole_columns_are_told() -> None:
    table = TABLE[["born", "stage"]]
    policy = Policy.build({"born": COLUMNS["born"], "stage": COLUMNS["stage"]}, k=4)
    release = tclose.anonymize(table, policy, method="optimal")
    assert release.plan is not None and release.plan.levels is not None
    told = release.dictionary().columns[0].levels
    assert told.endswith(f"level {release.plan.levels['born']} in every row (0: unchanged)")


def test_the_command_line_writes_all_of_it(tmp_path: Path) -> None:
    TABLE.to_parquet(tmp_path / "in.parquet")
    (tmp_path / "policy.toml").write_text(POLICY.to_toml())
    words = [
        "anonymize",
        "in.parquet",
        "-p",
        "policy.toml",
        "-o",
        "out.csv",
        "--method",
        "mondrian",
    ]
    words = [str(tmp_path / word) if "." in word else word for word in words]
    wrong = CliRunner().invoke(app, [*words, "--dictionary", str(tmp_path / "d.doc")])
    assert wrong.exit_code == 2 and "unknown kind" in wrong.output
    same = CliRunner().invoke(app, [*words, "--dictionary", str(tmp_path / "policy.toml")])
    assert same.exit_code == 2 and not (tmp_path / "out.csv").exists()
    done = CliRunner().invoke(app, [*words, "--dictionary", str(tmp_path / "d.md")])
    assert done.exit_code == 0 and "| age | quasi |" in (tmp_path / "d.md").read_text()
    assert {"age_low", "age_high"} <= set(csv.read_csv(tmp_path / "out.csv").column_names)
    again = CliRunner().invoke(app, [*words, "--force", "--dictionary", str(tmp_path / "d.md")])
    assert again.exit_code == 0
    words[5] = str(tmp_path / "other.csv")
    taken = CliRunner().invoke(app, [*words, "--dictionary", str(tmp_path / "d.md")])
    assert taken.exit_code == 2 and not (tmp_path / "other.csv").exists()
    check = ["verify", str(tmp_path / "out.csv"), "-p", str(tmp_path / "policy.toml")]
    assert CliRunner().invoke(app, check).exit_code == 0
    assert pq.read_table(tmp_path / "in.parquet").num_rows == ROWS


def test_dates_without_a_hierarchy_become_intervals_of_time() -> None:
    policy = Policy.build(COLUMNS | {"born": Column.quasi()}, k=4, release={"add": ["midpoint"]})
    release = anonymize(policy=policy)
    ready = release.to_pandas()
    assert str(ready["born"].dtype).startswith("interval[datetime64")
    for shown, label in zip(ready["born"], release.data["born"], strict=True):
        low, high = (pd.Timestamp(part) for part in (label.strip("[]").split(", ") * 2)[:2])
        assert (shown.left, shown.right) == (low, high)
    assert tclose.verify(ready, policy).holds
