"""Excel sheets: cells come with their types, and nothing that only looks like a gap is one."""

from __future__ import annotations

import importlib
import re
import sys
import zipfile
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose
from tclose.data.io.excel_writer import letters
from tclose.data.io.files import write_table
from tclose.data.opening import open_source
from tclose.errors import DataError, TcloseError

POLICY: dict[str, Any] = {
    "k": 2,
    "columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 1}, "note": "insensitive"},
    "release": {"rows": "keep"},
}


def book(path: Path, *rows: Any, title: str = "Patients") -> Path:
    made = openpyxl.Workbook()
    sheet = made.active
    sheet.title = title
    for row in rows:
        sheet.append(row)
    made.save(path)
    return path


def column(path: Path, *values: Any, **reading: Any) -> tuple[pa.ChunkedArray, tuple[str, ...]]:
    """A sheet with one more column that holds these values, as it is read."""
    book(path, ["n", "x"], *([at, value] for at, value in enumerate(values)))
    source = open_source(path, **reading)
    rows = source.stream()
    return pa.Table.from_batches(list(rows.batches()), rows.schema).column("x"), source.notes


KINDS: dict[str, tuple[list[Any], pa.DataType]] = {
    "whole numbers": ([1, None, -5], pa.int64()),
    "numbers": ([1, None, 0.1], pa.float64()),
    "truths": ([True, None, False], pa.bool_()),
    "texts": (["007", None, " x=1"], pa.string()),
    "days": ([date(1999, 12, 31), None, date(2024, 2, 29)], pa.date32()),
    "moments": ([datetime(2020, 1, 1, 12, 30, 0, 5_000), None], pa.timestamp("us")),
    "times": ([time(23, 59, 59), None, time(0)], pa.time64("us")),
    "spans": ([timedelta(hours=30), None], pa.duration("ms")),
}


@pytest.mark.parametrize("name", KINDS)
def test_cells_come_with_their_types(tmp_path: Path, name: str) -> None:
    values, kind = KINDS[name]
    found, notes = column(tmp_path / "a.xlsx", *values)
    assert (found.type, found.to_pylist(), notes) == (kind, values, ())


MIXED: dict[str, tuple[list[Any], list[str]]] = {
    "numbers and texts": ([7, "007", 0.5], ["7", "007", "0.5"]),
    "truths and numbers": ([True, 1], ["true", "1"]),
    "days and texts": ([date(2020, 1, 1), "unknown"], ["2020-01-01", "unknown"]),
}


@pytest.mark.parametrize("name", MIXED)
def test_a_column_of_several_kinds_is_text_and_said_to_be(tmp_path: Path, name: str) -> None:
    values, texts = MIXED[name]
    found, notes = column(tmp_path / "a.xlsx", *values)
    assert (found.type, found.to_pylist()) == (pa.string(), texts)
    assert "'x' has cells of several kinds (" in notes[0]
    words = {*re.findall(r"\w+(?=[,)])", notes[0])}
    assert not words & {"whole", "large", "huge", "day", "moment", "span", "bool"}


def test_a_column_of_days_and_moments_is_of_moments(tmp_path: Path) -> None:
    found, notes = column(tmp_path / "a.xlsx", date(2020, 1, 1), datetime(2020, 1, 1, 6))
    assert found.type == pa.timestamp("us") and notes == ()


def test_errors_are_missing_and_said_to_be(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", ["n", "x"], [1, 2], [2, "#N/A"], [3, "#DIV/0!"])
    source = open_source(path)
    assert source.group(["x"]).num_rows == 2 and "2 cells hold errors" in source.notes[0]


def test_a_title_above_the_header_is_named_as_what_may_be_wrong(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", ["Residents of the home"], [], ["age", "ill"], [1, "a"])
    with pytest.raises(DataError) as error:
        open_source(path)
    assert "delete the rows above the header" in error.value.hint
    made = openpyxl.load_workbook(path)
    made.active.merge_cells("A1:B1")
    made.save(path)
    with pytest.raises(DataError, match="A1:B1 are merged") as error:
        open_source(path)
    assert "delete titles above the header" in error.value.hint


def test_blank_rows_between_others_are_no_people(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", [], ["age", "ill"], [1, "a"], [], [2, "b"], [None, None])
    source = open_source(path)
    assert source.n_rows == 2
    assert source.notes == ("1 blank row between others left out",)
    rows = source.stream()
    found = pa.Table.from_batches(list(rows.batches()), rows.schema).to_pylist()
    assert found == [{"age": 1, "ill": "a"}, {"age": 2, "ill": "b"}]


@pytest.mark.parametrize("missing", [0, 1, 3], ids=["first", "between", "last"])
def test_a_row_without_any_value_is_written_and_read_back(tmp_path: Path, missing: int) -> None:
    ages: list[int | None] = [30, 31, 32]
    ages.insert(missing, None)
    ills = [None if age is None else "flu" for age in ages]
    table = pa.table({"age": pa.array(ages), "ill": pa.array(ills)})
    path = write_table(tmp_path / "a.xlsx", table.schema, table.to_batches())
    rows = open_source(path).stream()
    found = pa.Table.from_batches(list(rows.batches()), rows.schema)
    assert found.to_pylist() == table.to_pylist() and found.schema.types == table.schema.types
    rules = {"k": 1, "columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 1}}}
    rules["release"] = {"rows": "keep"}
    made = tclose.anonymize(path, rules, output=tmp_path / "r.xlsx", method="mondrian")
    assert made.audit.rows == 4
    assert tclose.verify(tmp_path / "r.xlsx", rules).rows == 4


def test_the_first_sheet_is_read_unless_another_is_named(tmp_path: Path, run_cli: Any) -> None:
    path = book(tmp_path / "a.xlsx", ["age", "ill"], [1, "a"])
    made = openpyxl.load_workbook(path)
    made.create_sheet("Others").append(["age", "ill"])
    for row in ([1, "a"], [1, "b"]):
        made["Others"].append(row)
    made.save(path)
    first = open_source(path)
    assert first.n_rows == 1 and "the first of 2 sheets is read, 'Patients'" in first.notes[0]
    assert open_source(path, tclose.Reading(sheet="Others")).n_rows == 2
    assert (
        tclose.audit(path, quasi="age", sensitive="ill", reading=tclose.Reading(sheet="Others")).k
        == 2
    )
    with pytest.raises(DataError, match="no sheet 'others'") as error:
        open_source(path, tclose.Reading(sheet="others"))
    assert "'Others'" in error.value.hint
    told = run_cli(
        "audit", path, "--quasi", "age", "--sensitive", "ill", "--sheet", "Others", "--json"
    )
    assert '"rows": 2' in told


@pytest.fixture
def run_cli() -> Any:
    from typer.testing import CliRunner

    from tclose.cli import app

    def run(*arguments: object) -> str:
        result = CliRunner().invoke(app, list(map(str, arguments)))
        assert result.exit_code == 0, result.output
        return result.stdout

    return run


# --- what is refused


def test_merged_cells_are_refused_by_their_place(tmp_path: Path) -> None:
    for area in ("A1:B1", "A2:A3"):
        path = book(tmp_path / "a.xlsx", ["age", "ill"], [1, "SECRET"], [2, "b"])
        made = openpyxl.load_workbook(path)
        made.active.merge_cells(area)
        made.save(path)
        with pytest.raises(DataError, match=f"{area} are merged") as error:
            open_source(path)
        assert "SECRET" not in str(error.value) and "sheet 'Patients'" in str(error.value)


def changed(path: Path, *marks: tuple[bytes, bytes]) -> Path:
    """The file with other bytes in its sheet."""
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    for old_bytes, new_bytes in marks:
        sheet = "xl/worksheets/sheet1.xml"
        parts[sheet] = parts[sheet].replace(old_bytes, new_bytes)
    with zipfile.ZipFile(path, "w") as new:
        for name, content in parts.items():
            new.writestr(name, content)
    return path


LARGE = {
    "beside whole numbers": ("9007199254740993", 1, pa.int64(), [2**53 + 1, 1]),
    "beside others": ("9007199254740993", 0.5, pa.string(), ["9007199254740993", "0.5"]),
    "beyond 64 bits": ("9223372036854775808", 1, pa.string(), ["9223372036854775808", "1"]),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_numbers_never_become_floats(tmp_path: Path, name: str) -> None:
    digits, other, kind, expected = LARGE[name]
    path = book(tmp_path / "a.xlsx", ["n", "x"], [1, 11111], [2, other])
    rows = open_source(changed(path, (b"11111", digits.encode()))).stream()
    found = pa.Table.from_batches(list(rows.batches()), rows.schema).column("x")
    assert (found.type, found.to_pylist()) == (kind, expected)


def with_formulas(path: Path, cached: str) -> Path:
    """Formulas as spreadsheet programs store them: with what they gave when they were saved."""
    book(path, ["age", "ill"], ["=1+1", "a"], ["=A2", "b"])
    gaps = (b"<v></v>", b"<v />", b"<v/>")
    return changed(path, *((b"</f>" + gap, b"</f>" + cached.encode()) for gap in gaps))


def test_formulas_count_as_what_they_gave(tmp_path: Path) -> None:
    path = with_formulas(tmp_path / "a.xlsx", "<v>2</v>")
    assert open_source(path).group(["age"]).column(0).to_pylist() == [2]


@pytest.mark.parametrize("cached", ["", "<v></v>", "<v/>"])
def test_formulas_that_were_never_calculated_are_refused(tmp_path: Path, cached: str) -> None:
    path = with_formulas(tmp_path / "a.xlsx", cached)
    with pytest.raises(DataError, match="formula in A2 has no value"):
        open_source(path)


REFUSED: dict[str, tuple[list[Any], str]] = {
    "a column without a name": ([["age", None, "ill"], [1, 2, "a"]], "column 2 has no name"),
    "two of a name": ([["age", "Age"], [1, 2]], "duplicate column names"),
    "cells beyond the header": ([["age", "ill"], [1, "a"], [1, "a", "SECRET"]], "row 3 has cells"),
    "nothing": ([], "the sheet is empty"),
    "a header alone": ([["age", "ill"]], "no rows"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_sheets_that_are_no_tables_are_refused(tmp_path: Path, name: str) -> None:
    rows, says = REFUSED[name]
    with pytest.raises(TcloseError, match=says) as error:
        tclose.audit(book(tmp_path / "a.xlsx", *rows), quasi="age", sensitive="ill")
    assert "SECRET" not in str(error.value) and "Hint: " in str(error.value)


def test_names_in_a_header_may_be_numbers(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", [2020, " ill ", True], [1, "a", 1])
    assert open_source(path).columns == ("2020", "ill", "true")


def test_what_is_no_workbook_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"\xd0\xcf\x11\xe0 protected by a password")
    with pytest.raises(DataError, match="password"):
        open_source(tmp_path / "a.xlsx")


def test_several_workbooks_are_not_one_table(tmp_path: Path) -> None:
    for name in ("a", "b"):
        book(tmp_path / f"{name}.xlsx", ["age", "ill"], [1, "a"])
    with pytest.raises(DataError, match="several spreadsheets"):
        open_source(tmp_path)


# --- written


def test_a_sheet_with_too_many_rows_is_refused_before_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def problem_of(*_: Any) -> None:
        raise AssertionError("this should have been refused before")

    monkeypatch.setattr(
        importlib.import_module("tclose.workflows.release.task"), "problem_of", problem_of
    )
    many = pa.table({"age": np.zeros(1_048_576, np.int8), "ill": pa.array(["a", "b"] * 524_288)})
    rules = {"k": 2, "columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 1}}}
    rules["release"] = {"rows": "keep"}
    with pytest.raises(DataError, match="room for 1,048,575 rows"):
        tclose.anonymize(many, rules, output=tmp_path / "out.xlsx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_sheet_with_too_many_columns_is_refused(tmp_path: Path) -> None:
    wide = pa.table({f"c{at}": [1] for at in range(16_385)})
    with pytest.raises(DataError, match="16,384 columns"):
        write_table(tmp_path / "out.xlsx", wide.schema, wide.to_batches())
    assert list(tmp_path.iterdir()) == []


def test_what_begins_like_a_formula_stays_text(tmp_path: Path) -> None:
    notes = ["=1+1", "+1", "-1", "@SUM(1)", '=HYPERLINK("http://x")', "#N/A", "TRUE", "1e5"]
    before = pa.table({"age": [1] * 8, "ill": ["a", "b"] * 4, "note": notes})
    tclose.anonymize(before, POLICY, method="mondrian", output=tmp_path / "out.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "out.xlsx").active
    cells = [row[2] for row in sheet.iter_rows(min_row=2)]
    assert [(one.value, one.data_type, one.number_format) for one in cells] == [
        (note, "inlineStr" if one.data_type == "inlineStr" else "s", "@")
        for note, one in zip(notes, cells, strict=True)
    ]
    assert pd.read_excel(tmp_path / "out.xlsx", keep_default_na=False)["note"].tolist() == notes


TEXT = st.text(
    st.characters(blacklist_categories=("Cs", "Cc")) | st.sampled_from("\n\t\r<>&\"'_x"), max_size=9
)


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.none() | TEXT,
            st.none() | st.floats(allow_nan=False, allow_infinity=False),
            st.none() | st.integers(-(2**53), 2**53),
            st.none() | st.dates(date(1900, 3, 1)),
            st.none() | st.booleans(),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_whatever_is_written_to_a_sheet_is_read_back(
    rows: list[Any], tmp_path_factory: Any, judged: Any
) -> None:
    path = tmp_path_factory.mktemp("sheet") / "a.xlsx"
    kinds = [pa.string(), pa.float64(), pa.int64(), pa.date32(), pa.bool_()]
    columns = [
        pa.array(one, kind) for one, kind in zip(zip(*rows, strict=True), kinds, strict=True)
    ]
    table = pa.table([*columns, pa.array(["x"] * len(rows))], list("abcdef"))
    try:
        write_table(path, table.schema, table.to_batches())
    except DataError as error:
        assert "control characters" in str(error)
        judged(False, least=0.5)
        return
    judged(True, least=0.5)
    sheet = openpyxl.load_workbook(path).active
    found = [list(row) for row in sheet.iter_rows(min_row=2, values_only=True)]
    for mine, theirs in zip(rows, found, strict=True):
        days = None if theirs[3] is None else theirs[3].date()
        assert [*theirs[:3], days, *theirs[4:]] == [*mine, "x"]


def test_without_the_library_that_reads_sheets_none_is_read_or_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = book(tmp_path / "a.xlsx", ["age", "ill"], [1, "a"])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    table = pa.table({"age": [1], "ill": ["a"], "note": ["x"]})
    for ask in (
        lambda: open_source(path),
        lambda: tclose.anonymize(table, POLICY, output=tmp_path / "out.xlsx"),
    ):
        with pytest.raises(DataError, match="need openpyxl") as error:
            ask()
        assert "tclose[excel]" in error.value.hint
    assert [one.name for one in tmp_path.iterdir()] == ["a.xlsx"]


def test_columns_are_called_as_excel_calls_them() -> None:
    from openpyxl.utils import get_column_letter

    assert all(letters(at) == get_column_letter(at + 1) for at in range(16_384))


def test_a_sheet_that_others_wrote_is_released_and_verified(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"age": [30, 31, 40, 41], "ill": ["a", "b", "a", "b"], "note": ["x", None, "007", ""]}
    )
    frame.to_excel(tmp_path / "in.xlsx", index=False)
    release = tclose.anonymize(
        tmp_path / "in.xlsx", POLICY, method="mondrian", output=tmp_path / "out.xlsx"
    )
    assert tclose.verify(tmp_path / "out.xlsx", POLICY).holds
    after = pd.read_excel(tmp_path / "out.xlsx", dtype=str)
    assert after["age"].tolist() == ["[30, 31]"] * 2 + ["[40, 41]"] * 2
    assert after["note"].tolist()[2] == "007" and release.path == tmp_path / "out.xlsx"


def test_a_release_beside_other_sheets_is_not_confirmed(tmp_path: Path) -> None:
    path = tmp_path / "release.xlsx"
    made = openpyxl.Workbook()
    for row in (["age", "ill", "note"], ["30", "flu", "x"], ["30", "flu", "y"]):
        made.active.append(row)
    made.save(path)
    assert tclose.verify(path, POLICY).holds
    made.create_sheet("raw").append(["name", "age"])
    made["raw"].sheet_state = "hidden"
    made.save(path)
    with pytest.raises(DataError, match="2 sheets"):
        tclose.verify(path, POLICY)
    named = tclose.Reading(sheet=made.active.title)
    assert tclose.verify(path, POLICY, reading=named).holds and tclose.audit(path, POLICY).holds
