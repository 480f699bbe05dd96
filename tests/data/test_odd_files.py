"""Files with odd line ends, marks, names and moments, and files that change while they are read."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tclose
from tclose.data.opening import open_source
from tclose.errors import DataError

RULES: dict[str, Any] = {
    "k": 2,
    "columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 1}},
}


def read(path: Path) -> list[dict[str, Any]]:
    source = open_source(path)
    rows = source.stream()
    found = pa.Table.from_batches(list(rows.batches()), rows.schema)
    assert source.n_rows == found.num_rows
    listed: list[dict[str, Any]] = found.to_pylist()
    return listed


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\r\n", "\n"])
@pytest.mark.parametrize("inside", ["\r\n", "\n"])
def test_a_break_in_the_first_row_is_part_of_its_cell(
    tmp_path: Path, encoding: str, end: str, inside: str
) -> None:
    lines = ["name,note", f'Müller,"a{inside}b"', 'X,"c"', ""]
    (tmp_path / "t.csv").write_bytes(end.join(lines).encode(encoding))
    expected = [{"name": "Müller", "note": f"a{inside}b"}, {"name": "X", "note": "c"}]
    assert read(tmp_path / "t.csv") == expected


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_mark_of_byte_order_in_a_cell_is_part_of_it(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "t.csv").write_bytes("a,b\n\ufeff1,é\n2,3\n".encode(encoding))
    assert [row["a"] for row in read(tmp_path / "t.csv")] == ["\ufeff1", "2"]


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "cells", [["é", "", "2"], ["", "é"], ["é", "", ""], ["", "", "é", "", "1"]], ids=str
)
def test_a_blank_line_of_a_file_with_one_column_is_a_missing_value(
    tmp_path: Path, encoding: str, end: str, cells: list[str]
) -> None:
    (tmp_path / "t.csv").write_bytes("".join(f"{x}{end}" for x in ["a", *cells]).encode(encoding))
    assert [row["a"] or "" for row in read(tmp_path / "t.csv")] == cells


@pytest.mark.parametrize("name", ["a\0b", "__tclose_weight__", "__TCLOSE_rows__", "__tclose_x"])
def test_names_that_no_engine_can_count_are_refused(tmp_path: Path, name: str) -> None:
    table = pa.table({name: ["x", "y"], "z": ["1", "1"]})
    pq.write_table(table, tmp_path / "t.parquet")
    for data in (tmp_path / "t.parquet", table):
        with pytest.raises(DataError, match="the name of ") as refused:
            tclose.audit(data, quasi=[name], sensitive="z")
        assert refused.value.hint == "rename it"


FIRST, LAST = -62_135_596_800, 253_402_300_799
"""The first and the last second of the years 1 to 9999."""


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
@pytest.mark.parametrize(
    ("second", "zone"), [(FIRST, "-12:00"), (FIRST, "America/New_York"), (LAST, "Asia/Tokyo")]
)
def test_moments_that_their_zone_moves_beyond_all_years_are_refused(
    second: int, zone: str, unit: str
) -> None:
    ticks = second * {"s": 1, "ms": 1000, "us": 1_000_000}[unit]
    ages = pa.array([ticks] * 2, pa.timestamp(unit, zone))
    with pytest.raises(DataError, match="'age': a moment in its time zone is not in the years"):
        tclose.audit(pa.table({"age": ages, "ill": ["a", "b"]}), RULES)


@pytest.mark.parametrize(("second", "zone"), [(FIRST, "Asia/Tokyo"), (LAST, "America/New_York")])
def test_moments_at_the_ends_of_all_years_are_counted(second: int, zone: str) -> None:
    ages = pa.array([second] * 2, pa.timestamp("s", zone))
    assert tclose.audit(pa.table({"age": ages, "ill": ["a", "b"]}), RULES).k == 2


def test_moments_too_fine_to_be_told_are_refused_without_quoting_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fine = pa.array([1_700_000_000_123_456_789] * 2, pa.timestamp("ns"))
    table = pa.table({"age": fine, "ill": ["a", "b"]})
    assert tclose.audit(table, RULES).k == 2  # pandas tells them
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(DataError, match="times are kept to the microsecond") as refused:
        tclose.audit(table, RULES)
    assert "123456789" not in f"{refused.value} {refused.value.__context__}"


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow", ".csv.gz", ".xlsx"])
def test_a_name_with_a_colon_is_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in:v1.csv").write_text("age,ill\n1,a\n1,b\n")
    name = f"outv1:final{suffix}"
    tclose.anonymize("in:v1.csv", RULES, output=name, certificate="c:1.json", method="mondrian")
    assert tclose.verify(name, RULES).holds
    assert sorted(os.listdir()) == sorted(["c:1.json", "in:v1.csv", name])


def append(path: Path) -> None:
    with path.open("a") as file:
        file.write("9,a\n")


def edit(path: Path) -> None:
    path.write_text(path.read_text().replace("1,a", "7,a"))


def replace(path: Path) -> None:
    path.with_name("new").write_text("age,ill\n" + "5,a\n5,b\n" * 4)
    path.with_name("new").replace(path)


def damage(path: Path) -> None:
    path.write_text('age,ill\n1,"')


def remove(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("change", [append, edit, replace, damage, remove])
@pytest.mark.parametrize("moment", ["searching", "recounting"])
def test_a_table_that_changes_while_it_is_read_is_not_released(
    tmp_path: Path, change: Callable[[Path], None], moment: str
) -> None:
    path, target = tmp_path / "t.csv", tmp_path / "r.csv"
    path.write_text("age,ill\n" + "1,a\n1,b\n" * 4)
    done: list[str] = []

    def watch(progress: Any) -> None:
        if progress.phase == moment and not done:
            done.append(moment)
            change(path)

    with pytest.raises(DataError, match=r"was changed while it was read|cannot be read"):
        tclose.anonymize(
            path, RULES, output=target, certificate=tmp_path / "c.json", method="mondrian",
            progress=watch,
        )  # fmt: skip
    assert done and not target.exists() and not (tmp_path / "c.json").exists()


def test_a_table_that_changes_while_it_is_split_is_not_released(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("age,ill\n" + "1,a\n2,b\n" * 4)
    rules = {"k": 2, "columns": {"age": "quasi", "ill": {"role": "sensitive", "l": 2}}}
    with pytest.raises(DataError, match="changed"):
        tclose.split(
            path, rules, form="anatomy", output=tmp_path / "out", progress=lambda _: append(path)
        )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("encoding", "name", "given"),
    [
        ("cp1252", "Windows-1252", None),
        ("utf-16", "utf-16", None),
        ("latin-1", "iso8859-1", "latin-1"),
        ("utf-8", "", None),
        ("utf-8-sig", "", None),
    ],
)
def test_a_release_in_another_encoding_than_its_table_is_said(
    tmp_path: Path, encoding: str, name: str, given: str | None
) -> None:
    lines = ["age,ill", *["30,Müdigkeit", "31,Fieber"] * 4]
    (tmp_path / "t.csv").write_bytes("\n".join(lines).encode(encoding))
    reading = tclose.Reading(encoding=given)
    said = f"the table was read as {name}; the release is written as UTF-8"
    rules = RULES | {"columns": RULES["columns"] | {"ill": {"role": "sensitive", "t": 1, "l": 2}}}

    def release(output: Path | None) -> tclose.Release:
        return tclose.anonymize(
            tmp_path / "t.csv", rules, method="mondrian", output=output, reading=reading
        )

    for suffix, is_text in ((".csv", True), (".parquet", False)):
        made = release(tmp_path / f"out{suffix}")
        assert (said in made.notes) is (is_text and bool(name))
        assert (said in str(made)) is (is_text and bool(name))
    assert "Müdigkeit" in (tmp_path / "out.csv").read_text(encoding="utf-8")
    assert said not in release(None).notes
    parts = tclose.split(
        tmp_path / "t.csv", rules, form="anatomy", output=tmp_path / "parts", reading=reading
    )
    assert (said in parts.notes) is bool(name)
