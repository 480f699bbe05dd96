"""Files that are damaged, or made to exhaust: refused with a message, never a crash."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tclose
from tclose.data.io import packed
from tclose.data.io.files import write_table
from tclose.data.io.packed import measure_batches
from tclose.data.opening import open_source
from tclose.errors import DataError, HierarchyError, PolicyError, UsageError
from tclose.hierarchy import arx
from tclose.policy.load import read_raw
from tclose.small_files import read_small_file
from tclose.verify.certificate import Certificate

TABLE = pa.table(
    {
        "zip": [f"{n:05}" for n in range(60)],
        "kind": pa.array(["a", "b", None] * 20).dictionary_encode(),
        "list": [[n] for n in range(60)],
        "age": list(range(60)),
    }
)
READ = """
import sys, tclose
for path in sys.argv[1:]:
    try:
        tclose.audit(path, quasi="zip,age", sensitive="kind")
    except tclose.TcloseError as error:
        assert str(error).count("Hint")
    print("read", flush=True)
"""


def damage(path: Path, suffix: str) -> list[Path]:
    """Copies with one offset set to 2·10⁹, a bit turned, or the end missing: always the same."""
    whole, chance, made = path.read_bytes(), random.Random(5), []
    for at in range(24):
        content = bytearray(whole)
        place = chance.randrange(8, len(whole) - 8)
        if at % 3 == 0:
            content[place & ~3 : (place & ~3) + 4] = (2_000_000_000).to_bytes(4, "little")
        elif at % 3 == 1:
            content[place] ^= 1 << chance.randrange(8)
        else:
            del content[place:]
        made.append(path.with_name(f"damaged-{at}{suffix}"))
        made[-1].write_bytes(content)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".arrow", ".arrows", ".parquet"])
def test_a_damaged_file_never_ends_the_process(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"whole{suffix}"
    write_table(path, TABLE.schema, TABLE.to_batches())
    files = damage(path, suffix)
    found = subprocess.run(
        [sys.executable, "-c", READ, *map(str, files)],
        env={**os.environ, "PYTHONPATH": str(Path(tclose.__file__).parents[1])},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr[-2000:]
    assert found.stdout.count("read") == len(files)


def with_texts(offsets: list[int], letters: bytes) -> pa.Array:
    buffers = [None, pa.array(offsets, pa.int32()).buffers()[1], pa.py_buffer(letters)]
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)


@pytest.mark.parametrize("suffix", [".arrow", ".arrows"])
@pytest.mark.parametrize(
    "texts",
    [with_texts([0, 2_000_000_000, 3], b"abc"), with_texts([0, 1, 3], b"a\xff\xfe")],
    ids=["offset beyond the end", "not UTF-8"],
)
def test_texts_that_are_none_are_refused(tmp_path: Path, suffix: str, texts: pa.Array) -> None:
    path = tmp_path / f"t{suffix}"
    opened = pa.ipc.new_stream if suffix == ".arrows" else pa.ipc.new_file
    batch = pa.record_batch([pa.array([1, 2]), texts], ["n", "x"])
    with opened(path, batch.schema) as file:
        file.write(batch)
    with pytest.raises(DataError, match="not an Arrow file, or damaged"):
        open_source(path)


def sheet_of(path: Path, rows: str, size: int = 0) -> Path:
    """A workbook whose only sheet has these rows, and blanks after them."""
    openpyxl.Workbook().save(path.with_suffix(".plain.xlsx"))
    with (
        zipfile.ZipFile(path.with_suffix(".plain.xlsx")) as plain,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made,
    ):
        for part in plain.infolist():
            content = plain.read(part)
            if part.filename == "xl/worksheets/sheet1.xml":
                data = f"<sheetData>{rows}{' ' * size}</sheetData>".encode()
                content, n = re.subn(rb"<sheetData ?(/>|></sheetData>)", data, content)
                assert n == 1
            made.writestr(part.filename, content)
    return path


HEAD = '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row>'
CELL = '<c r="A{0}"><v>{0}</v></c>'


@pytest.mark.parametrize("row", ['<row r="99999999">', "<row spans='1:1' r='1048577'>"])
def test_a_row_beyond_the_end_of_a_sheet_is_refused(tmp_path: Path, row: str) -> None:
    path = sheet_of(tmp_path / "t.xlsx", f"{HEAD}{row}{CELL.format(2)}</row>")
    assert path.stat().st_size < 10_000
    with pytest.raises(DataError, match="a row has a number beyond 1,048,576"):
        open_source(path)


def test_a_workbook_that_unpacks_to_very_much_is_refused(tmp_path: Path) -> None:
    path = sheet_of(tmp_path / "t.xlsx", HEAD, 70 << 20)
    assert path.stat().st_size < 300_000
    with pytest.raises(DataError, match="unpack to 70 MiB"):
        open_source(path)


DAMAGED = {
    "no end": f"{HEAD}<row r='2'><c r='A2'><v>1</v>",
    "a number that is none": f"{HEAD}<row r='2'><c r='A2'><v>SECRET</v></c></row>",
    "a place that is none": f"{HEAD}<row r='2'><c r='!!'><v>1</v></c></row>",
    "a row that is none": f"{HEAD}<row r='x'><c r='A2'><v>1</v></c></row>",
    "a text that is not there": f"{HEAD}<row r='2'><c r='A2' t='s'><v>7</v></c></row>",
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_sheet_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="damaged") as refused:
        open_source(sheet_of(tmp_path / "t.xlsx", DAMAGED[name])).stream()
    assert "SECRET" not in str(refused.value)


@pytest.mark.slow
def test_a_workbook_with_turned_bytes_is_refused_or_read(tmp_path: Path) -> None:
    whole = sheet_of(tmp_path / "t.xlsx", HEAD + "".join(
        f'<row r="{n}">{CELL.format(n)}</row>' for n in range(2, 40)
    )).read_bytes()  # fmt: skip
    chance, path = random.Random(3), tmp_path / "d.xlsx"
    for _ in range(30):
        content = bytearray(whole)
        for _ in range(4):
            content[chance.randrange(len(content))] = chance.randrange(256)
        path.write_bytes(content)
        try:
            open_source(path).stream()
        except DataError as error:
            assert error.hint


ENDLESS = Path("/dev/zero")


@pytest.mark.skipif(not ENDLESS.exists(), reason="there is no file without an end")
def test_files_without_an_end_are_refused() -> None:
    far = {"role": "sensitive", "t": 1, "distance": {"matrix": str(ENDLESS)}}
    rules = {"columns": {"zip": "quasi", "ill": far}}
    table = pa.table({"zip": [1, 2], "ill": ["a", "b"]})
    for refused, read in (
        (HierarchyError, lambda: arx.read(ENDLESS, "zip")),
        (PolicyError, lambda: read_raw(ENDLESS)),
        (PolicyError, lambda: tclose.audit(table, rules)),
        (UsageError, lambda: Certificate.load(ENDLESS)),
    ):
        with pytest.raises(refused, match="a device or a pipe, not a file"):
            read()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no files of the system")
@pytest.mark.parametrize("kind", ["hierarchy", "matrix", "reference"])
def test_a_policy_names_no_file_that_waits_or_is_made_by_the_system(kind: str) -> None:
    """Whoever wrote a policy or certificate would have `verify` wait for ever."""
    reading, writing = os.pipe()
    try:
        for place in (f"/proc/self/fd/{reading}", f"/dev/fd/{reading}", "/proc/uptime"):
            named = {
                "hierarchy": {"hierarchy": place},
                "matrix": {"distance": {"matrix": place}},
                "reference": {"reference": {"file": place}},
            }
            column = {"role": "sensitive", "t": 1, "distance": "equal"} | named[kind]
            table = pa.table({"zip": [1, 2], "ill": ["a", "b"]})
            with pytest.raises(UsageError, match="cannot be read"):
                tclose.audit(table, {"columns": {"zip": "quasi", "ill": column}})
        os.write(writing, b"k = 2")
        os.close(writing)
        assert read_raw(f"/dev/fd/{reading}") == {"k": 2}  # as a shell gives it in place of a file
    finally:
        os.close(reading)


def test_files_beyond_the_limit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_bytes(b"")
    os.truncate(path, (64 << 20) + 1)
    with pytest.raises(HierarchyError, match="larger than 64 MiB"):
        arx.read(path, "zip")
    os.truncate(path, 3)
    assert read_small_file(path, 3) == b"\0\0\0"


@pytest.mark.skipif(not ENDLESS.exists(), reason="there is no file without an end")
@pytest.mark.parametrize("name", ["/dev/zero", "/dev/urandom"])
def test_a_device_is_no_table(name: str) -> None:
    with pytest.raises(DataError, match="a device or a pipe, not a file"):
        open_source(name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with a name")
def test_a_pipe_is_no_table(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t.csv")
    with pytest.raises(DataError, match="a device or a pipe, not a file"):
        open_source(tmp_path / "t.csv")


def test_a_damaged_page_of_a_parquet_file_is_refused_when_it_is_met(tmp_path: Path) -> None:
    place = tmp_path / "t.parquet"
    texts = [f"{row:06d}" * 3 for row in range(400)]
    pq.write_table(pa.table({"a": texts}), place, use_dictionary=False, compression="snappy")
    content = bytearray(place.read_bytes())
    content[200:400] = b"\xff" * 200
    place.write_bytes(content)
    with pytest.raises(DataError, match="damaged") as refusal:
        tclose.draft_policy(place)
    assert texts[0] not in str(refusal.value)


def test_run_end_encoded_values_are_refused(tmp_path: Path) -> None:
    ends = pa.RunEndEncodedArray.from_arrays([2, 4], pa.array(["a", "b"]))
    table = pa.table({"zip": [1, 1, 2, 2], "note": ends})
    policy = {"k": 2, "columns": {"zip": "quasi", "note": "insensitive"}}
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as writer:
        writer.write_table(table)
    for data in (table, tmp_path / "t.arrow"):
        with pytest.raises(DataError, match="'note': run-end encoded"):
            tclose.anonymize(data, policy, effort=0)


@pytest.mark.parametrize("suffix", [".csv.gz", ".csv.zst"])
def test_a_packed_text_that_unpacks_to_very_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    path, name = tmp_path / f"t{suffix}", "gzip" if suffix.endswith("gz") else "zstd"
    path.write_bytes(pa.compress(b"a,b\n" + b"1,2\n" * (1 << 20), codec=name, asbytes=True))
    assert open_source(path).columns == ("a", "b")
    monkeypatch.setattr("tclose.data.engines.files.csv.DENSE", 1 << 20)
    with pytest.raises(DataError, match="unpacked, it is larger than"):
        open_source(path)


@pytest.mark.parametrize("kind", ["distance", "reference"])
def test_a_cell_beyond_measure_in_a_file_of_the_policy_is_refused(
    tmp_path: Path, kind: str
) -> None:
    (tmp_path / "file.csv").write_text(f"a,{'b' * 2_000_000}\n")
    spec = {"distance": {"matrix": "file.csv"}, "reference": {"file": "file.csv"}}[kind]
    columns = {"age": "quasi", "ill": {"role": "sensitive", "t": 0.5, kind: spec}}
    (tmp_path / "policy.json").write_text(json.dumps({"k": 2, "columns": columns}))
    rows = pa.table({"age": [1, 1], "ill": ["a", "b"]})
    with pytest.raises(tclose.TcloseError, match="not a"):
        tclose.audit(rows, tmp_path / "policy.json")


@pytest.mark.parametrize("name", ["a\0b.csv", "a\0/*.csv", "\ud800/*.csv"])
def test_what_no_system_takes_as_a_name_is_refused(name: str) -> None:
    columns: dict[str, Any] = {"age": "quasi", "ill": {"role": "sensitive", "t": 0.5}}
    with pytest.raises(DataError):
        tclose.audit(name, {"k": 2, "columns": columns})
    rows = pa.table({"age": [1, 1], "ill": ["a", "b"]})
    columns["ill"]["distance"] = {"matrix": name}
    with pytest.raises(tclose.TcloseError):
        tclose.audit(rows, {"k": 2, "columns": columns})


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
@pytest.mark.parametrize("form", ["file", "stream"])
def test_a_batch_that_unpacks_to_very_much_is_refused_before_it_is_unpacked(
    tmp_path: Path, codec: str, form: str
) -> None:
    """A gigabyte of zeros, which nobody may unpack to find out."""
    path, rows = tmp_path / "t.arrow", 150_000
    options = pa.ipc.IpcWriteOptions(compression=codec)
    zeros = np.zeros(rows, np.int64)
    table = pa.table({"a": zeros, "b": pa.array(["x"] * rows).dictionary_encode(), "c": zeros})
    new = pa.ipc.new_file if form == "file" else pa.ipc.new_stream
    with new(path, table.schema, options=options) as writer:
        writer.write_table(table)
    stated = list(measure_batches(path))
    assert rows * 20 <= max(stated) <= rows * 20 + 200  # two numbers and a code in each row
    assert open_source(path).n_rows == rows
    content = path.read_bytes()
    for size in (rows * 8, rows * 8 + 1):  # eight bytes before a packed buffer: its size
        content = content.replace(size.to_bytes(8, "little"), (1 << 31).to_bytes(8, "little"))
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a batch of its rows is larger than 1,024 MiB, 200 times"):
        open_source(path)


def test_batches_that_are_not_packed_have_no_limit_but_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"a": np.zeros(100_000, np.int64)})
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as writer:
        writer.write_table(table)
    monkeypatch.setattr(packed, "DENSE", 1)
    monkeypatch.setattr(packed, "RATIO", 1)
    assert open_source(tmp_path / "t.arrow").n_rows == 100_000


def test_a_group_of_rows_that_unpacks_to_very_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = pa.array(["x" * 2_000_000], pa.large_string())
    pq.write_table(
        pa.table({"a": long, "b": long}), tmp_path / "t.parquet", compression="zstd",
        use_dictionary=False, write_statistics=False,
    )  # fmt: skip
    assert open_source(tmp_path / "t.parquet").n_rows == 1
    monkeypatch.setattr(packed, "DENSE", 3_000_000)
    with pytest.raises(DataError, match="a group of its rows is larger than"):
        open_source(tmp_path / "t.parquet")
