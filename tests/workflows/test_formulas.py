"""Texts that a spreadsheet program would run: said, and defused where the policy asks."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tclose

MARKS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"
TABLE = pa.table(
    {
        "town": ["=HYPERLINK(1)", "=HYPERLINK(1)", "-5", "-5", "plain", "plain"],
        "test": ["+", "-", "+", "-", "+", "-"],
        "note": ["@SUM(A1)", "\t=1", "+1e3", "-.5", "\uff1d1+1", None],
    }
)
RULES: dict[str, Any] = {
    "k": 2,
    "columns": {
        "town": "quasi",
        "test": {"role": "sensitive", "t": "1/4", "order": ["-", "+"]},
        "note": "insensitive",
    },
}


def quoting(**more: Any) -> dict[str, Any]:
    return {**RULES, "release": {"formulas": "quote"}, **more}


def read(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz"])
def test_no_cell_of_a_quoted_release_is_run_and_the_promise_is_the_same(
    suffix: str, tmp_path: Path
) -> None:
    place, certificate = tmp_path / f"r.{suffix}", tmp_path / "c.json"
    release = tclose.anonymize(TABLE, quoting(), output=place, certificate=certificate)
    if suffix == "csv":
        cells = [cell for row in read(place) for cell in row]
        assert all(cell[:1] not in MARKS or is_number(cell) for cell in cells if cell)
        assert "'=HYPERLINK(1)" in cells and "-5" in cells and "+1e3" in cells and "'+" in cells
    assert release.certificate.warnings is None
    found = tclose.verify(place, quoting())
    assert found.holds and found.requirements == release.audit.requirements
    assert tclose.verify(release).holds


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_a_release_that_keeps_them_says_so(kind: pa.DataType, tmp_path: Path) -> None:
    table = TABLE.set_column(2, "note", TABLE["note"].cast(kind))
    release = tclose.anonymize(table, RULES, output=tmp_path / "r.csv")
    (warning,) = release.certificate.warnings or ()
    assert "'town', 'test', 'note'" in warning and "HYPERLINK" not in warning
    for place in (tmp_path / "r.parquet", tmp_path / "r.xlsx", None):
        assert tclose.anonymize(TABLE, RULES, output=place).certificate.warnings is None


def test_without_the_policys_word_an_apostrophe_is_part_of_the_text(tmp_path: Path) -> None:
    place = tmp_path / "r.csv"
    tclose.anonymize(TABLE, quoting(), output=place)
    with pytest.raises(tclose.PolicyError, match="order"):  # '+ is no value of the order
        tclose.verify(place, RULES)


def test_what_cannot_be_quoted_is_refused() -> None:
    rules = quoting(columns={"town": "quasi", "test": {"role": "sensitive", "l": 2}})
    with pytest.raises(tclose.UsageError, match="several tables"):
        tclose.split(TABLE.drop(["note"]), rules, form="anatomy")


def test_texts_that_differ_still_do_once_they_are_quoted(tmp_path: Path) -> None:
    """Such as a formula, and the same text that somebody has quoted before."""
    texts = ["=1", "'=1", "''=1", "-5", "'-5", "''-5", "'", "'a", "\uff1d1", "\n1"]
    table = pa.table({"town": ["x", "y"] * 10, "test": [text for text in texts for _ in "xy"]})
    ill = {"role": "sensitive", "t": "1/4"}
    rules = quoting(columns={"town": "quasi", "test": ill})
    release = tclose.anonymize(table, rules, output=tmp_path / "r.csv")
    counted = tclose.verify(tmp_path / "r.csv", rules)
    raw = tclose.check(table, rules).cells.dictionaries["test"]
    assert counted.bound.cells.dictionaries["test"].labels == raw.labels
    written = [row[1] for row in read(tmp_path / "r.csv")[1:]]
    assert len(set(written)) == len(texts) and release.holds
    assert all(cell[:1] not in MARKS or is_number(cell) for cell in written)
