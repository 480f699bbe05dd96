"""Attacks and measures on tables that leave something out: no sensitive column, one row, gaps."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import tclose

COLUMNS: dict[str, dict[str, Any]] = {
    "no sensitive column": {"age": "quasi", "ill": "insensitive"},
    "quasi gaps match everything": {"age": {"role": "quasi", "missing": "any"}, "ill": "sensitive"},
    "gaps are values": {"age": "quasi", "ill": "sensitive"},
    "sensitive gaps may be any": {"age": "quasi", "ill": {"role": "sensitive", "missing": "any"}},
    "everything promised": {
        "age": "quasi",
        "ill": {"role": "sensitive", "t": 0.5, "l": 2, "alpha": 0.9, "beta": 3, "delta": 4},
    },
}
SLOW = pytest.mark.slow
TABLES = {
    "one row": pa.table({"age": ["30"], "ill": ["a"]}),
    "gaps": pa.table({"age": ["20", None, "30", None], "ill": ["a", "b", None, "a"]}),
    "nothing but gaps": pa.table({"age": pa.nulls(3, pa.string()), "ill": ["a", "b", "a"]}),
    "one value": pa.table({"age": ["5", "5", "5"], "ill": ["a", "a", "a"]}),
    "words": pa.table({"age": ["x", "{x, y}", "*", "y"], "ill": ["a", "b", "a", "c"]}),
    "numbers": pa.table({"age": [1.5, float("nan"), -2.0, 1e300], "ill": [1, 2, 2, 1]}),
    "infinite": pa.table({"age": [1.0, float("inf"), 2.0], "ill": ["a", "b", "a"]}),
    "dates": pa.table({"age": ["2024-01-01", "2024-02-01", "2024"], "ill": ["a", "b", "a"]}),
}


PAIRS = [  # every table and every policy once; the other pairs take their time
    pytest.param(kind, words, marks=SLOW)
    if kind != "gaps" and words != "everything promised"
    else (kind, words)
    for kind in TABLES
    for words in COLUMNS
]


@pytest.mark.parametrize(("kind", "words"), PAIRS)
def test_nothing_fails_and_an_unchanged_table_loses_nothing(kind: str, words: str) -> None:
    table, rules = TABLES[kind], {"k": 2, "columns": COLUMNS[words]}
    report = tclose.attack(table, rules, original=table, population=table, other=table)
    assert all(0 <= one.affected <= one.total for one in report.findings)
    assert report.of("linkage")
    result = tclose.measure(original=table, release=table, policy=rules, queries=20)
    assert result.row_by_row and result.left_out == 0
    for name in ("reconstruction", "query-error"):
        assert result[name].overall == pytest.approx(0.0, abs=1e-9) or kind == "words"
    if kind != "words":  # there some raw values are written like released ones
        assert result["loss"].overall == result["ncp"].overall == 0.0
        assert result["entropy"].overall == pytest.approx(0.0, abs=1e-9)


def test_a_table_of_one_row_is_described_in_the_singular_and_truly() -> None:
    table = pa.table({"age": ["30"], "zip": ["1010"], "ill": ["a"]})
    ill = {"role": "sensitive", "t": 0.2}
    rules: dict[str, Any] = {"k": 5, "columns": {"age": "quasi", "zip": "quasi", "ill": ill}}
    report = tclose.attack(table, rules)
    assert report.of("homogeneity")[0].sentence == (
        "The whole table has only one value of ill: no class reveals more."
    )
    assert report.of("prosecutor")[0].sentence.startswith("1 row fits fewer than 5 people")
    assert report.of("special uniques")[0].sentence == (
        "1 row is already unique in 1 column: someone who knows this column can find them."
    )
    alone = tclose.anonymize(table, {**rules, "k": 1})
    assert not any("one class" in note for note in alone.notes)
