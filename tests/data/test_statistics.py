"""Stata and SPSS files: codes, their labels, and what such files call missing."""

from __future__ import annotations

import subprocess
import sys
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tclose
from tclose.data.engines.files import statistics
from tclose.data.io.files import write_table
from tclose.data.opening import open_source

pyreadstat = pytest.importorskip("pyreadstat")
pl = pytest.importorskip("polars")
pd = pytest.importorskip("pandas")

SEXES = {1: "male", 2: "female", 3: "other"}
ROWS = 40
RULES: dict[str, Any] = {
    "k": 4,
    "columns": {
        "age": "quasi",
        "sex": "quasi",
        "region": {"role": "insensitive", "accept": "a large area"},
        "ill": {"role": "sensitive", "distance": "equal", "t": 0.4},
    },
}


def write_survey(path: Path) -> Path:
    """A survey as such programs store it: numbers, most of them codes."""
    frame = pl.DataFrame(
        {
            "age": [float(20 + at % 30) for at in range(ROWS)],
            "sex": [float(1 + at % 2) for at in range(ROWS)],
            "region": [float(10 * (1 + at % 3)) for at in range(ROWS)],
            "ill": [float(1 + at % 4) for at in range(ROWS)],
        }
    )
    labels = {
        "sex": SEXES,
        "region": {10: "north", 20: "south", 30: "west", 40: "nowhere"},
        "ill": {1: "flu", 2: "ulcer", 3: "asthma", 4: "none"},
    }
    write = pyreadstat.write_dta if path.suffix == ".dta" else pyreadstat.write_sav
    write(
        frame, str(path), variable_value_labels=labels, column_labels={"region": "Where they live"}
    )
    return path


def read(path: Path) -> tuple[dict[str, list[Any]], Any]:
    """What the library itself says of a file."""
    function = pyreadstat.read_dta if path.suffix == ".dta" else pyreadstat.read_sav
    found: tuple[dict[str, list[Any]], Any] = function(str(path), output_format="dict")
    return found


def read_back(path: Path) -> tuple[pa.Table, tuple[str, ...]]:
    """What we read of a file, and what we note."""
    source = open_source(path)
    return pa.Table.from_batches(list(source.stream().batches())), source.notes


UNPACKED = pytest.param(".sav", marks=pytest.mark.slow)
PACKED = pytest.param(".zsav", marks=pytest.mark.slow)  # what .sav is, but compressed
KINDS = pytest.mark.parametrize("kind", [".dta", UNPACKED, PACKED])


@KINDS
def test_labelled_columns_are_read_as_their_labels(tmp_path: Path, kind: str) -> None:
    table, notes = read_back(write_survey(tmp_path / f"survey{kind}"))
    assert table.column("sex").to_pylist()[:3] == ["male", "female", "male"]
    assert table.column("age").type == pa.int64() and notes == ()
    assert tclose.audit(tmp_path / f"survey{kind}", RULES).rows == ROWS


@KINDS
def test_a_release_keeps_codes_and_labels_of_what_is_in_it(tmp_path: Path, kind: str) -> None:
    raw, out = write_survey(tmp_path / f"survey{kind}"), tmp_path / f"release{kind}"
    release = tclose.anonymize(raw, RULES, output=out, effort=0.1)
    assert release.holds and tclose.verify(out, RULES).holds
    values, told = read(out)
    before, _ = read(raw)
    assert sorted(values["region"]) == sorted(before["region"])
    assert told.variable_value_labels["region"] == {10: "north", 20: "south", 30: "west"}
    assert set(told.variable_value_labels["ill"].values()) == {"flu", "ulcer", "asthma", "none"}
    assert told.column_names_to_labels["region"] == "Where they live"
    assert "age" not in told.variable_value_labels  # ranges are texts
    assert b"nowhere" not in out.read_bytes() and b"other" not in out.read_bytes()


@KINDS
def test_equal_rows_give_equal_bytes(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, written = pa.table({"a": ["x", None], "b": [1.5, None]}), []
    for zone in ("UTC+11", "UTC-11"):
        monkeypatch.setenv("TZ", zone)
        write_table(tmp_path / f"a{kind}", table.schema, table.to_batches())
        written.append((tmp_path / f"a{kind}").read_bytes())
    assert written[0] == written[1] and b"Jan" in written[0][:400]


@KINDS
def test_every_kind_of_value_comes_back(tmp_path: Path, kind: str) -> None:
    table = pa.table(
        {
            "whole": [1, None, 2**53],
            "number": [0.1, None, -1e300],
            "word": ['ü; "x"', None, " y"],
            "truth": [True, None, False],
            "day": [date(1899, 12, 31), None, date(2024, 2, 29)],
            "moment": [datetime(2024, 1, 2, 3, 4, 5), None, datetime(1950, 1, 1)],
        }
    )
    place = write_table(tmp_path / f"a{kind}", table.schema, table.to_batches())
    back, _ = read_back(place)
    truths = [None if value is None else str(value).lower() for value in table["truth"].to_pylist()]
    wanted = table.to_pydict() | {"truth": truths}
    assert back.to_pydict() == wanted


def test_codes_stay_where_labels_do_not_tell_values_apart(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"pay": [1.0, 2.5, 99.0], "grade": [1.0, 2.0, 3.0], "sex": [1.0, 2.0, 1.0]}
    )
    labels = {"pay": {99: "refused"}, "grade": {1: "low", 2: "high", 3: "high"}, "sex": SEXES}
    pyreadstat.write_dta(frame, str(tmp_path / "a.dta"), variable_value_labels=labels)
    table, notes = read_back(tmp_path / "a.dta")
    assert table["pay"].to_pylist() == [1.0, 2.5, 99.0] and table["grade"].to_pylist() == [1, 2, 3]
    assert [note.split(":")[1] for note in notes] == [
        " not all of its values have one",
        " they do not differ",
    ]


def test_what_the_file_calls_missing_is_missing(tmp_path: Path) -> None:
    frame = pl.DataFrame({"pay": [1.0, 98.0, 99.0], "word": ["a", "", "b"]})
    pyreadstat.write_sav(
        frame, str(tmp_path / "a.sav"), missing_ranges={"pay": [{"lo": 98, "hi": 99}]},
        variable_value_labels={"pay": {1: "little", 98: "unknown", 99: "refused"}},
    )  # fmt: skip
    table, _ = read_back(tmp_path / "a.sav")
    assert table.to_pydict() == {"pay": ["little", None, None], "word": ["a", None, "b"]}


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"two words": [1]}, "cannot have this name"),
        ({"a": [1], "A": [2]}, "capital letters"),
        ({"a": [[1]]}, "cannot hold list"),
        ({"a": [2**53 + 1]}, "whole numbers"),
        ({"a": [float("inf")]}, "infinite"),
        ({"a": ["x" * 40_000]}, "more than"),
        ({"a": ["x "]}, "end in a space"),
    ],
)
def test_what_such_a_file_cannot_hold_is_refused(
    tmp_path: Path, column: dict[str, Any], message: str
) -> None:
    from tclose.data.io.files import refuse_unholdable

    table = pa.table(column)
    with pytest.raises(tclose.DataError, match=message):
        refuse_unholdable("a.sav", table.schema)
        write_table(tmp_path / "a.sav", table.schema, table.to_batches())
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_damaged_files_are_told_without_their_content(tmp_path: Path) -> None:
    whole = write_survey(tmp_path / "a.sav").read_bytes()
    for name, content in {"b.sav": whole[:300], "c.dta": b"secret", "d.por": b""}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(tclose.DataError) as refused:
            open_source(tmp_path / name)
        assert "secret" not in str(refused.value)


def test_a_crash_of_the_library_is_a_damaged_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_survey(tmp_path / "a.sav")
    (tmp_path / "pyreadstat.py").write_text("import os\nos.abort()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(tclose.DataError, match="damaged"):
        open_source(path)


def test_without_the_library_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_survey(tmp_path / "a.dta")
    place = "tclose.data.engines.files.statistics.find_spec"
    monkeypatch.setattr(place, lambda name: None)
    with pytest.raises(tclose.DataError, match=r"tclose\[statistics\]"):
        open_source(path)


def test_no_code_beside_the_table_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that reads such a file must not look for modules in the current folder."""
    path, mark = write_survey(tmp_path / "survey.sav"), tmp_path / "ran"
    for module in ("json", "pyarrow", "pyreadstat", "tclose"):
        (tmp_path / f"{module}.py").write_text(f"open({str(mark)!r}, 'w')\nraise SystemExit\n")
    monkeypatch.chdir(tmp_path)
    assert tclose.audit(path, RULES).rows == ROWS and not mark.exists()


def test_a_small_file_that_unpacks_to_very_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "packed.zsav"
    pyreadstat.write_sav(pl.DataFrame({"text": ["x" * 8_000] * 3_000}), str(path), compress=True)
    assert path.stat().st_size < 500_000
    whole, most = 24_000_000, 0
    chunks, _ = statistics._open(path, None)
    assert [len(chunk["text"]) for chunk in chunks()] == [3_000]
    monkeypatch.setattr(statistics, "BYTES", 1_000_000)
    chunks, _ = statistics._open(path, None)
    for chunk in chunks():
        most = max(most, len(chunk["text"]) * 8_000)
    assert most <= 1_000_000 < whole
    monkeypatch.setattr(statistics, "DENSE", 2_000_000)
    monkeypatch.setattr(statistics, "RATIO", 10)
    with pytest.raises(tclose.DataError, match="unpacked"):
        list(statistics._open(path, None)[0]())


def test_one_long_text_of_many_rows_does_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a text is in the file once, with a reference in every row."""
    path = tmp_path / "long.dta"
    frame = pd.DataFrame({"age": [1, 2, 3] * 2_000, "text": ["x" * 100_000] * 6_000})
    frame.to_stata(path, version=118, convert_strl=["text"], write_index=False)
    assert path.stat().st_size < 300_000
    chunks, _ = statistics._open(path, None)
    assert len(next(chunks())["text"]) < 2_100
    monkeypatch.setattr(statistics, "DENSE", 1 << 20)
    with pytest.raises(tclose.DataError, match="unpacked"):
        list(statistics._open(path, None)[0]())


def test_the_process_that_reads_imports_no_engine() -> None:
    """It is started for every file, and would take twice as long to start."""
    code = "import sys, tclose.data.engines.files.statistics; print('duckdb' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
