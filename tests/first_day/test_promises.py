"""Nothing is promised that nobody stated, and nobody is left in the belief that it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import Result

import tclose
from tclose.data.recognize import find_patterns, is_nearly_unique
from tclose.errors import UsageError

ROWS = 60
TABLE = pd.DataFrame(
    {
        "age": [20 + row % 20 for row in range(ROWS)],
        "ill": [["flu", "cough", "ulcer"][row % 3] for row in range(ROWS)],
        "note": [f"came by bus, line {row}, and went home again" for row in range(ROWS)],
    }
)
T: dict[str, Any] = {"role": "sensitive", "t": 0.3}


def rules(ill: Any = T, note: Any = "identifier") -> dict[str, Any]:
    return {"k": 4, "columns": {"age": "quasi", "ill": ill, "note": note}}


def anonymize(policy: dict[str, Any], **more: Any) -> tclose.Release:
    return tclose.anonymize(TABLE, policy, method="mondrian", **more)


def test_a_sensitive_column_without_a_promise_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    with pytest.raises(UsageError, match="nothing is promised of 'ill'") as refused:
        anonymize(rules("sensitive"), output=tmp_path / "out.csv")
    assert "accept" in str(refused.value) and not list(tmp_path.iterdir())


def test_what_is_accepted_in_words_is_released_and_stays_in_the_certificate() -> None:
    reason = "the illness is on a public register"
    release = anonymize(rules({"role": "sensitive", "accept": reason}))
    assert release.certificate.policy["columns"]["ill"]["accept"] == reason


def test_people_with_several_rows_who_count_as_several_are_warned_of() -> None:
    """Four rows that look alike may be of one patient, and k = 4 reads as if they were four."""
    table = TABLE.assign(**{"Patienten-ID": [f"P{row // 4}" for row in range(ROWS)]})

    def warn(number: Any, table: pd.DataFrame = table) -> list[str]:
        policy = rules()
        policy["columns"]["Patienten-ID"] = number
        warnings = tclose.anonymize(table, policy, method="mondrian").certificate.warnings or ()
        notes = tclose.audit(table, policy).notes
        found = [text for text in warnings if "several rows" in text]
        assert found == [text for text in notes if "occur in several rows" in text]
        return found

    (warning,) = warn("identifier")
    assert "'Patienten-ID'" in warning and 'role "subject"' in warning and "P1" not in warning
    assert not warn("subject")
    assert not warn({"role": "identifier", "accept": "numbers of stays"})
    assert not warn("identifier", table.assign(**{"Patienten-ID": [*range(ROWS)]}))
    assert not warn("identifier", table.assign(**{"Patienten-ID": [1, 2] * 30}))  # hardly people


def test_a_joint_promise_is_a_promise_of_each_of_its_columns() -> None:
    policy = rules("sensitive", "insensitive")
    policy["columns"]["note"] = {"role": "insensitive", "accept": "made up"}
    policy["columns"]["site"] = "sensitive"
    policy["joint"] = [{"columns": ["ill", "site"], "t": 0.6}]
    table = TABLE.assign(site=[["a", "b"][row % 2] for row in range(ROWS)])
    assert tclose.anonymize(table, policy, method="mondrian").holds


def test_names_are_warned_of_also_where_a_hierarchy_groups_them() -> None:
    names = [f"{first} {last}" for first in ("Ann", "Bob", "Carl") for last in ("Abel", "Fox")]
    names += [f"{first} Gold" for first in ("Paul", "Anna", "Eva", "Max", "Otto", "Ida", "Lea")]
    names += [
        "Emil Haas",
        "Fay Iten",
        "Olga Jung",
        "Hugo Kern",
        "Nora Lenz",
        "Rita Merk",
        "Tom Noll",
    ]
    column = {"role": "quasi", "hierarchy": {"prefix": [3, 1]}}
    table = TABLE.assign(note=(names * 3)[:ROWS])
    (warning,) = tclose.anonymize(table, rules(T, column), method="mondrian").certificate.warnings
    assert "names of people" in warning and "released as they are or in groups" in warning
    zips = TABLE.assign(note=["01067", "01099", "80331"] * 20)
    assert not tclose.anonymize(zips, rules(T, column), method="mondrian").certificate.warnings


def test_what_can_be_rounded_is_told_to_be_rounded() -> None:
    for cost in ([1.25 * row for row in range(ROWS)], [f"{row}.25" for row in range(ROWS)]):
        for role, is_told in ((T | {"t": 1}, True), ("insensitive", False)):  # not cleaned
            made = tclose.anonymize(TABLE.assign(note=cost), rules(T, role), method="mondrian")
            (warning,) = made.certificate.warnings or ()
            assert ("Round it (clean = { round = … })" in warning) == is_told


def test_a_text_far_behind_the_first_rows_is_seen() -> None:
    rows = 30_000
    notes = ["nothing"] * (rows - 1) + ["reach me: ann@example.org"]
    table = pd.DataFrame({"age": [20 + row % 9 for row in range(rows)], "note": notes})
    table["ill"] = ["a", "b"] * (rows // 2)
    columns: dict[str, Any] = {"age": "quasi", "note": "insensitive"}
    policy = {"k": 5, "columns": columns | {"ill": {"role": "sensitive", "t": 0.5}}}
    (warning,) = tclose.anonymize(table, policy, method="mondrian").certificate.warnings
    assert "e-mail addresses in under 1 % of its values" in warning


def test_sets_of_texts_that_are_each_ones_own_are_warned_of() -> None:
    for note, is_told in (
        ([f"R{row:05d}" for row in range(ROWS)], True),
        ([f"{row % 7}-{row:04d}-{'xyz'[row % 3]}" for row in range(ROWS)], True),
        ([f"ward {row % 5}" for row in range(ROWS)], False),
        ([f"ward {row // 2}" for row in range(ROWS)], False),  # each has a second row
        ([f"{row:05d}" for row in range(ROWS)], False),  # told in intervals
        ([f"{1950 + row % 40}-03-{1 + row % 28:02d}" for row in range(ROWS)], False),
    ):
        made = tclose.anonymize(TABLE.assign(note=note), rules(T, "quasi"), method="mondrian")
        assert ("most rows have a value of their own" in str(made)) == is_told, note[:2]


def test_notes_among_many_that_repeat_are_free_text() -> None:
    notes = [f"came on foot, lives with {row} cats, sleeps badly" for row in range(40)]
    (found,) = find_patterns(["no finding"] * 900 + ["seen by the doctor on duty"] * 60 + notes)
    assert (found.kind, round(found.share, 2)) == ("free text", 0.1)
    titles = [f"chronic disease of the lung, stage {stage}" for stage in range(60)]
    assert not find_patterns(titles * 50)


def test_an_audit_without_a_promise_neither_holds_nor_fails() -> None:
    audit = tclose.audit(TABLE, {"columns": rules("sensitive")["columns"]})
    assert audit.holds is None
    assert "nothing was promised" in str(audit)
    assert audit.to_json()["holds"] is None


COLUMNS: dict[str, tuple[list[str], str]] = {
    "free text": (list(TABLE["note"]), "free text"),
    "telephone": ([f"0171 555 {row:04d}" for row in range(ROWS)], "telephone numbers"),
    "e-mail in one row": (["none"] * (ROWS - 1) + ["ann@example.org"], "e-mail addresses"),
    "record numbers": ([f"R{row:05d}" for row in range(ROWS)], "nearly every value occurs once"),
    "names": (
        [f"{first} {last}" for first in ("Ann", "Bob", "Carl", "Dora", "Emil", "Fay")
         for last in ("Abel", "Bauer", "Cole", "Dietz", "Ernst", "Fox", "Gold", "Haas", "Iten",
                      "Jung")],
        "names of people",
    ),
}  # fmt: skip


SHOWN = [
    (kind, role)
    for kind in COLUMNS
    for role in ("insensitive", "sensitive", "quasi")
    if (kind, role) != ("record numbers", "quasi")  # they are generalized
]


@pytest.mark.parametrize(("kind", "role"), SHOWN)
def test_a_column_that_tells_people_apart_is_warned_of_until_it_is_accepted(
    kind: str, role: str, tmp_path: Path
) -> None:
    values, said = COLUMNS[kind]
    table = TABLE.assign(note=values)
    column: dict[str, Any] = {"role": role} | ({"t": 1} if role == "sensitive" else {})
    release = tclose.anonymize(table, rules(T, column), method="mondrian")
    release.report(tmp_path / "report.txt")
    for place in (str(release), " ".join(release.certificate.warnings)):
        assert "'note'" in place and said in place
    page = (tmp_path / "report.txt").read_text(encoding="utf-8")
    assert said in page.partition("The promise")[0]  # before everything else
    assert not any(value in str(release) for value in values if value != "none")
    accepted = tclose.anonymize(
        table, rules(T, column | {"accept": "made up for a test"}), method="mondrian"
    )
    assert not accepted.certificate.warnings and "warning" not in str(accepted)


def test_the_terminal_warns(run: Callable[..., Result], elsewhere: Path) -> None:
    TABLE.to_csv("raw.csv", index=False)
    Path("policy.json").write_text(json.dumps(rules(T, "insensitive")), encoding="utf-8")
    said = run("anonymize", "raw.csv", "--policy", "policy.json", "-o", "out.csv",
               "--method", "mondrian")  # fmt: skip
    assert said.exit_code == 0 and "free text" in said.output and "'note'" in said.output


def test_ordinary_columns_are_not_warned_of() -> None:
    for values in (
        ["2023-01-24", "1950-03-04"] * 30,
        ["24.01.2023 10:15", "01/24/2023"] * 30,
        ["47677", "02139"] * 30,
        ["J45.901", "E11.9"] * 30,
        ["Never-married", "Married-civ-spouse"] * 30,
        [f"{row}.25" for row in range(60)],
        ["New York", "Los Angeles", "San Francisco"] * 20,
        ["1,234.50", "12 345,00", "-9"] * 20,
    ):
        assert not find_patterns(values), values[:2]
    assert not is_nearly_unique(pa.array(["a", "b"] * 30))


def test_the_readmes_own_path_ends_in_a_promise_or_says_what_is_missing(
    run: Callable[..., Result], elsewhere: Path
) -> None:
    TABLE.rename(columns={"ill": "diagnosis"}).to_csv("raw.csv", index=False)
    assert run("init", "raw.csv", "-o", "policy.toml").exit_code == 0
    confirmed = run("policy", "confirm", "policy.toml")
    assert confirmed.exit_code == 0 and "no requirement yet for: diagnosis" in confirmed.output
    command = (
        "anonymize",
        "raw.csv",
        "--policy",
        "policy.toml",
        "-o",
        "out.csv",
        "--effort",
        "0.1",
    )
    refused = run(*command)
    assert refused.exit_code == 2 and "nothing is promised of 'diagnosis'" in refused.output
    assert not Path("out.csv").exists()
    assert run("policy", "confirm", "policy.toml", "--t", "x").exit_code == 2
    assert run("policy", "confirm", "policy.toml", "--t", "0.3").exit_code == 0
    assert run(*command).exit_code == 0
    nothing = run("policy", "confirm", "policy.toml", "--t", "0.2")
    assert nothing.exit_code == 2 and "would change nothing" in nothing.output


def test_prefixes_of_values_of_different_length_are_told_with_the_release() -> None:
    codes = ["J45.901", "J44.1", "J45.902", "I10"]
    table = pd.DataFrame({"dx": codes * 5, "ill": ["a", "b"] * 10})
    tree = {"role": "quasi", "hierarchy": {"prefix": [3, 1]}}
    policy = {"k": 5, "columns": {"dx": tree, "ill": {"role": "sensitive", "t": 1}}}
    release = tclose.anonymize(table, {**policy, "k": 8}, method="mondrian")
    assert all(len(label.partition("*")[2]) == 0 for label in release.data["dx"])
    assert str(release).count("values of 'dx' have different lengths") == 1
    exact = tclose.anonymize(table, policy, method="mondrian")  # no code had to be cut
    assert set(exact.data["dx"]) == set(codes)
    assert str(exact).count("values of 'dx' have different lengths") == 1
    even = tclose.anonymize(table.assign(dx=table["dx"].str[:3]), policy, method="mondrian")
    assert "different lengths" not in str(even)


def test_an_audit_mentions_what_the_policy_leaves_unprotected() -> None:
    """With k alone the verdict was that the promise holds, and not a word of the illness."""
    (note,) = (n for n in tclose.audit(TABLE, rules("sensitive")).notes if "promised" in n)
    assert note == "nothing is promised of 'ill', which is sensitive"
    accepted = rules({"role": "sensitive", "accept": "on a public register"})
    for policy in (rules(), accepted):
        assert not any("nothing is promised" in n for n in tclose.audit(TABLE, policy).notes)
