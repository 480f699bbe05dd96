"""Tables that cannot be read: exit code 2, and a message that says what, where and what to do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tclose

HEADER = "age,zip,disease\n"
ROWS = "1,2,flu\n1,2,ulcer\n"

CASES = [
    pytest.param(b"", ("t.csv", "empty"), id="an empty file"),
    pytest.param(b"\n \n\n", ("t.csv", "empty"), id="blank lines only"),
    pytest.param(HEADER.encode(), ("t.csv", "no rows"), id="a header only"),
    pytest.param(b"age,zip,disease", ("t.csv", "no rows"), id="a header without a line end"),
    pytest.param(b"age,zip,disease,age\n1,2,@,3\n", ("duplicate", "'age'"), id="equal names"),
    pytest.param(
        b"age,zip,disease,Age\n1,2,@,3\n",
        ("duplicate", "'age', 'Age'", "capitals"),
        id="names equal but for capitals",
    ),
    pytest.param(b"age,zip,disease,\n1,2,@,3\n", ("column 4 has no name",), id="a nameless column"),
    pytest.param(b",,\n1,2,@\n", ("column 1 has no name",), id="a header of nothing"),
    pytest.param(
        f"{HEADER}1,2,flu\n1,2,@,9\n{ROWS}".encode(),
        ("t.csv, line 3", "4 fields where the header has 3"),
        id="a row too long",
    ),
    pytest.param(
        f"{HEADER}1,2,flu\n1,@\n{ROWS}".encode(),
        ("t.csv, line 3", "2 fields where the header has 3"),
        id="a row too short",
    ),
    pytest.param(
        f'{HEADER}1,2,flu\n1,2,"@\n{ROWS}'.encode(), ("line 3", "quote"), id="a quote left open"
    ),
    pytest.param(
        f'{HEADER}1,2,"@"x"\n{ROWS}'.encode(), ("line 2", "quote"), id="a quote inside a field"
    ),
    pytest.param(
        b'age,zip,"disease\n1,2,@\n1,2,@\n', ("header", "quote left open"), id="an open header"
    ),
    pytest.param(
        f"{HEADER}1,2,@\r\n{ROWS}".encode(), ("line ends are mixed",), id="mixed line ends"
    ),
    pytest.param(f"{HEADER}1,2,@\0\n".encode(), ("null bytes",), id="null bytes"),
    pytest.param(
        f"{HEADER}1,2,@\n".encode("utf-16-le"), ("null bytes",), id="UTF-16 without a mark"
    ),
    pytest.param(
        HEADER.encode() + b"1,2,flu\n" * 150_000 + b"1,2,@\xe9\n",
        ("line 150002", "not UTF-8", "--encoding"),
        id="a bad byte beyond the first MiB",
    ),
    pytest.param(
        HEADER.encode() + b"1,2,@" + b"x" * 20_000_000 + b"\n1,2,flu\n",
        ("line 2", "longer than 8,388,608 bytes"),
        id="a field of 20 MB",
    ),
    pytest.param(
        HEADER.encode() + b"1,2,flu\n1,2,@" + b"x" * 9_000_000,
        ("last row", "longer than 8,388,608 bytes"),
        id="a last row of 9 MB",
    ),
    pytest.param(b"x" * 2_000_000 + b"\n1\n", ("header line is longer",), id="a header of 2 MB"),
]


@pytest.mark.parametrize(("content", "says"), CASES)
def test_a_broken_csv_file_is_refused(
    refused: Any, named: Any, secret: str, content: bytes, says: tuple[str, ...]
) -> None:
    Path("t.csv").write_bytes(content.replace(b"@", secret.encode()))
    refused("audit", "t.csv", *named, says=says)


@pytest.mark.parametrize(
    "content",
    [HEADER.encode(), b"age,zip,disease,age\n1,2,3,4\n", HEADER.encode() + b"1,2\n"],
    ids=["header only", "equal names", "ragged"],
)
@pytest.mark.parametrize("command", ["init", "explain", "check", "verify"])
def test_every_command_that_reads_a_table_refuses_it(
    refused: Any, command: str, content: bytes, tmp_path: Path
) -> None:
    Path("t.csv").write_bytes(content)
    Path("p.toml").write_text('k = 2\ncolumns = { age = "quasi", zip = "quasi", disease = "sa" }')
    arguments = {
        "init": ("init", "t.csv", "-o", "drafted.toml"),
        "explain": ("explain", "t.csv", "-p", "p.toml", "--svg", "flow.svg"),
        "check": ("policy", "check", "p.toml", "t.csv"),
        "verify": ("verify", "t.csv", "-p", "p.toml"),
    }
    refused(*arguments[command], says=("t.csv",))


@pytest.mark.skipif("TCLOSE_SLOW" not in os.environ, reason="writes 1 GB; set TCLOSE_SLOW=1")
@pytest.mark.parametrize("after", [b"", b"1,2,flu\n"], ids=["at the end", "in the middle"])
def test_a_field_of_a_gigabyte_is_refused(refused: Any, named: Any, after: bytes) -> None:
    with Path("t.csv").open("wb") as file:
        file.write(b"age,zip,disease\n1,2,")
        for _ in range(1024):
            file.write(b"x" * (1 << 20))
        file.write(b"\n" + after)
    refused("audit", "t.csv", *named, says=("t.csv", "longer than"))


def test_a_folder_without_files_is_not_a_table(refused: Any, named: Any) -> None:
    Path("folder").mkdir()
    Path("folder/_SUCCESS").touch()
    refused("audit", "folder", *named, says=("folder: there is no file in this folder",))


def test_a_file_that_is_not_there(refused: Any, named: Any) -> None:
    refused("audit", "nowhere.csv", *named, says=("nowhere.csv: there is no such file",))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(refused: Any, named: Any) -> None:
    Path("t.csv").write_text(HEADER + ROWS)
    Path("t.csv").chmod(0)
    refused("audit", "t.csv", *named, says=("t.csv", "Permission denied"))


@pytest.mark.parametrize("encoding", ["klingon", "base64", "undefined"])
def test_an_encoding_that_is_none(refused: Any, named: Any, encoding: str) -> None:
    Path("t.csv").write_text(HEADER + ROWS)
    refused("audit", "t.csv", *named, "--encoding", encoding, says=("unknown encoding",))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "ascii"])
def test_a_wrong_encoding(refused: Any, named: Any, encoding: str, secret: str) -> None:
    Path("t.csv").write_bytes(f"{HEADER}1,2,{secret}é\n".encode("latin-1"))
    refused("audit", "t.csv", *named, "--encoding", encoding, says=(f"not {encoding}",))


@pytest.mark.parametrize("mark", [";;", '"'])
def test_a_delimiter_that_cannot_be_one(refused: Any, named: Any, mark: str) -> None:
    Path("t.csv").write_text(HEADER + ROWS)
    refused("audit", "t.csv", *named, "--delimiter", mark, says=("one character",))


def test_an_amount_of_memory_that_is_none(refused: Any, named: Any) -> None:
    Path("t.csv").write_text(HEADER + ROWS)
    refused("audit", "t.csv", *named, "--memory", "lots", says=("memory", "4GB"))


def test_a_truncated_parquet_file(refused: Any, named: Any) -> None:
    pq.write_table(pa.table({"age": [1], "zip": [2], "disease": ["flu"]}), "whole.parquet")
    Path("t.parquet").write_bytes(Path("whole.parquet").read_bytes()[:-30])
    refused("audit", "t.parquet", *named, says=("t.parquet", "not a Parquet file, or damaged"))


def test_a_parquet_file_with_damaged_pages(refused: Any, named: Any) -> None:
    pq.write_table(pa.table({"age": [1], "zip": [2], "disease": ["flu"]}), "whole.parquet")
    content = bytearray(Path("whole.parquet").read_bytes())
    content[4:40] = b"\xff" * 36
    Path("t.parquet").write_bytes(content)
    refused("audit", "t.parquet", *named, says=("t.parquet", "damaged"))


def test_a_parquet_file_under_another_name(refused: Any, named: Any) -> None:
    pq.write_table(pa.table({"age": [1], "zip": [2], "disease": ["flu"]}), "t.csv")
    refused("audit", "t.csv", *named, says=("not a text table", "Parquet"))


def test_equal_names_in_a_parquet_file(refused: Any, named: Any) -> None:
    column = pa.array([1, 2])
    names = ["age", "zip", "disease", "age"]
    pq.write_table(pa.table([column] * 4, names=names), "t.parquet")
    refused("audit", "t.parquet", *named, says=("t.parquet", "duplicate", "'age'"))


def test_a_table_of_lists_is_refused_where_lists_would_count(refused: Any, named: Any) -> None:
    table = pa.table({"age": [1, 2], "zip": [1, 2], "disease": [["flu"], ["ulcer"]]})
    pq.write_table(table, "t.parquet")
    refused("audit", "t.parquet", *named, says=("columns.disease", "plain values"))


def test_frames_that_cannot_be_read() -> None:
    import duckdb
    import pandas as pd

    bad = {
        "equal names": pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]),
        "names equal but for capitals": pa.table({"a": [1], "A": [2], "b": [3]}),
        "names that are no text": pd.DataFrame([[1, 2]]),
        "kinds mixed in a column": pd.DataFrame({"a": [1, "x"], "b": [1, 2]}),
        "no rows": pd.DataFrame({"a": [], "b": []}),
        "durations": pd.DataFrame({"a": [1], "b": pd.to_timedelta([1], unit="h")}),
        "a relation with equal names": duckdb.sql("SELECT 1 AS a, 2 AS b, 3 AS b"),
        "no frame at all": {"a": [1], "b": [2]},
        "nothing": None,
    }
    for what, frame in bad.items():
        with pytest.raises(tclose.errors.UsageError) as refusal:
            tclose.audit(frame, quasi="a", sensitive="b")
        assert "Hint: " in str(refusal.value), what


def test_the_index_of_a_frame_is_no_column() -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": [1, 1, 2], "b": [1, 2, 3]}, index=[5, 5, 9])
    assert tclose.audit(frame, quasi="a", sensitive="b").classes == 2


def test_half_floats_are_counted() -> None:
    import numpy as np

    halves = pa.table({"a": [1, 1], "b": pa.array(np.array([1, 2], np.float16))})
    assert tclose.audit(halves, quasi="a", sensitive="b").k == 2
