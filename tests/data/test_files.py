"""Folders, patterns and packed files are one table, in the order of their paths, or are refused."""

from __future__ import annotations

import csv
import gzip
import hashlib
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tclose
from tclose.data.io.files import write_table
from tclose.data.io.paths import find_files, is_read_from
from tclose.data.opening import open_source
from tclose.errors import TcloseError, UsageError

POLICY: dict[str, Any] = {
    "k": 2,
    "columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 1}, "row": "insensitive"},
    "release": {"rows": "keep"},
}


def part(first: int, rows: int = 4) -> pa.Table:
    numbers = range(first, first + rows)
    return pa.table(
        {
            "age": [n % 3 for n in numbers],
            "ill": ["ab"[n % 2] for n in numbers],
            "row": list(numbers),
        }
    )


def store(path: Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    name = path.name
    if name.endswith(".parquet"):
        pq.write_table(table, path)
    elif name.endswith((".arrow", ".feather")):
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_file(path, table.schema, options=options) as file:
            file.write_table(table, 3)
    elif name.endswith(".arrows"):
        with pa.ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table, 3)
    else:
        rows = [table.column_names, *(list(row.values()) for row in table.to_pylist())]
        text = "".join(",".join("" if v is None else str(v) for v in row) + "\n" for row in rows)
        raw = text.encode()
        if name.endswith(".gz"):
            raw = gzip.compress(raw)
        elif name.endswith(".zst"):
            raw = pa.compress(raw, "zstd", asbytes=True)
        path.write_bytes(raw)


def all_rows(data: Any, **reading: Any) -> pa.Table:
    rows = open_source(data, **reading).stream()
    return pa.Table.from_batches(list(rows.batches()), rows.schema)


SUFFIXES = [".parquet", ".arrow", ".arrows", ".feather", ".csv", ".csv.gz", ".csv.zst", ".txt"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_folder_and_a_pattern_are_one_table_in_the_order_of_paths(
    tmp_path: Path, suffix: str
) -> None:
    for name, first in {"b/c": 8, "a": 0, "b/a": 4, "z": 12}.items():
        store(tmp_path / "in" / f"{name}{suffix}", part(first))
    for odd in ("_SUCCESS", ".hidden.csv", "_delta/log.json", ".crc/x"):
        store(tmp_path / "in" / odd, part(0))
    for place in (tmp_path / "in", tmp_path / "in" / "**" / f"*{suffix}"):
        table = all_rows(place)
        assert [int(n) for n in table.column("row").to_pylist()] == list(range(16))
        audit = tclose.audit(str(place), POLICY)
        assert (audit.rows, audit.classes) == (16, 3)
        assert open_source(place).n_rows == 16
    release = tclose.anonymize(tmp_path / "in", POLICY, method="mondrian")
    assert [int(n) for n in release.data.column("row").to_pylist()] == list(range(16))
    release = tclose.anonymize(
        tmp_path / "in", POLICY, method="mondrian", output=tmp_path / f"out{suffix}"
    )
    assert [int(n) for n in all_rows(release.path).column("row").to_pylist()] == list(range(16))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_one_file_has_the_hash_of_its_bytes_and_several_one_of_names_and_bytes(
    tmp_path: Path, suffix: str
) -> None:
    one = tmp_path / "t" / f"a{suffix}"
    store(one, part(0))
    assert open_source(one).digest() == hashlib.sha256(one.read_bytes()).hexdigest()
    alone = open_source(one.parent).digest()
    assert alone == open_source(one.parent / "*").digest() != open_source(one).digest()
    store(tmp_path / "t" / f"b{suffix}", part(4))
    both = open_source(one.parent).digest()
    (tmp_path / "t" / f"b{suffix}").rename(tmp_path / "t" / f"c{suffix}")
    assert len({alone, both, open_source(one.parent).digest()}) == 3


# --- partitions

PARTED = {
    "numbers": (["1", "-7", "2024"], pa.int64(), [1, -7, 2024]),
    "codes": (["007", "7", "70"], pa.string(), ["007", "7", "70"]),
    "days": (["2024-02-29", "2024-03-01"], pa.date32(), [date(2024, 2, 29), date(2024, 3, 1)]),
    "no days": (["2024-02-30", "2024-03-01"], pa.string(), ["2024-02-30", "2024-03-01"]),
    "gaps": (["5", "__HIVE_DEFAULT_PARTITION__"], pa.int64(), [5, None]),
    "escapes": (["a%20b%2Fc", "ü=x", "plus+"], pa.string(), ["a b/c", "ü=x", "plus+"]),
    "large numbers": (["99999999999999999999", "1"], pa.string(), ["99999999999999999999", "1"]),
    "nothing": (["", "x"], pa.string(), ["", "x"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTED)
@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv"])
def test_folders_name_columns(tmp_path: Path, name: str, suffix: str) -> None:
    values, kind, expected = PARTED[name]
    root = tmp_path / "run=3" / "table"  # what stands above the folder is no column
    for at, value in enumerate(values):
        store(root / "plain" / f"key={value}" / f"x=y{suffix}", part(at * 4))
    table = all_rows(root)
    assert table.column_names == ["age", "ill", "row", "key"]
    assert table.schema.field("key").type == (pa.string() if suffix == ".csv" else kind)
    found = dict(zip(table.column("row").to_pylist(), table.column("key").to_pylist(), strict=True))
    for at, value in enumerate(expected):
        told = value if suffix != ".csv" or value is None else values[at]
        told = "a b/c" if told == "a%20b%2Fc" else told
        number: Any = at * 4 if suffix != ".csv" else str(at * 4)
        assert found[number] == told
    policy = {**POLICY, "columns": POLICY["columns"] | {"key": "quasi"}}
    audit = tclose.audit(root, policy)
    assert audit.classes == 3 * len(values)
    release = tclose.anonymize(root, policy | {"k": 1}, method="mondrian")
    assert release.data.column("row").to_pylist() == table.column("row").to_pylist()


def test_a_column_that_folders_and_files_have_is_read_from_the_files(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [1, 1], "ill": ["a", "b"], "row": ["007", "7"]})
    for key in ("1", "2"):
        (tmp_path / f"row={key}").mkdir()
        frame.write_parquet(tmp_path / f"row={key}" / "a.parquet")
    table = all_rows(tmp_path)
    assert table.column("row").to_pylist() == ["007", "7"] * 2


def test_folders_that_other_tools_write_are_read(tmp_path: Path) -> None:
    import duckdb
    import pyarrow.dataset as ds

    table = pa.table({"age": [1, 1, 2, 2], "ill": list("abab"), "row": [0, 1, 2, 3]})
    ds.write_dataset(
        table, tmp_path / "a", format="parquet",
        partitioning=ds.partitioning(pa.schema({"age": pa.int64()}), flavor="hive"),
    )  # fmt: skip
    copy = f"COPY (FROM t) TO '{tmp_path / 'b'}' (FORMAT parquet, PARTITION_BY (age))"
    duckdb.connect().register("t", table).execute(copy)
    table.to_pandas().to_parquet(tmp_path / "c", partition_cols=["age"], index=False)
    for folder in "abc":
        found = all_rows(tmp_path / folder)
        assert sorted(found.column("row").to_pylist()) == [0, 1, 2, 3]
        assert tclose.audit(tmp_path / folder, POLICY).classes == 2
        assert found.schema.field("age").type == pa.int64()


def test_files_in_folders_that_name_other_columns_are_refused(tmp_path: Path) -> None:
    store(tmp_path / "t" / "a=1" / "x.parquet", part(0))
    store(tmp_path / "t" / "x.parquet", part(4))
    with pytest.raises(TcloseError, match="same columns"):
        open_source(tmp_path / "t")


# --- files that differ


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_files_with_more_columns_are_united_by_name(tmp_path: Path, suffix: str) -> None:
    new = part(4).select(["ill", "row", "age"]).append_column("more", pa.array(["x"] * 4))
    small = part(0).set_column(0, "age", part(0).column("age").cast(pa.int16()))
    store(tmp_path / f"a{suffix}", small)
    store(tmp_path / f"b{suffix}", new)
    table = all_rows(tmp_path)
    assert table.column_names == ["age", "ill", "row", "more"]
    assert table.schema.field("age").type == pa.int64()
    assert table.column("more").to_pylist() == [None] * 4 + ["x"] * 4
    assert table.drop(["more"]).equals(part(0, 8))
    source = open_source(tmp_path)
    assert source.group(["more"]).num_rows == 2 and "'more' is in 1 of 2 files" in source.notes[0]


UNLIKE = {
    "numbers and texts": (pa.array([1] * 4), pa.array(["1"] * 4)),
    "numbers and floats": (pa.array([2**60 + 1] * 4), pa.array([1.5] * 4)),
    "signed and unsigned": (pa.array([-1] * 4), pa.array([2**64 - 1] * 4, pa.uint64())),
    "zones": (
        pa.array([0] * 4, pa.timestamp("us", "UTC")),
        pa.array([0] * 4, pa.timestamp("us")),
    ),
    "days and moments": (pa.array([0] * 4, pa.date32()), pa.array([0] * 4, pa.timestamp("us"))),
}


@pytest.mark.parametrize("name", UNLIKE)
@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_files_whose_values_would_change_are_refused(
    tmp_path: Path, name: str, suffix: str
) -> None:
    for at, column in zip("ab", UNLIKE[name], strict=True):
        store(tmp_path / f"{at}{suffix}", part(0).append_column("x", column))
    with pytest.raises(TcloseError, match=r"b\.\w+: column 'x' is"):
        open_source(tmp_path)


ALIKE = {
    "categories and texts": (pa.array(["x"] * 4).dictionary_encode(), pa.array(["y"] * 4)),
    "floats": (pa.array([0.5] * 4, pa.float32()), pa.array([0.1] * 4)),
    "nothing and something": (pa.nulls(4), pa.array(["y"] * 4)),
    "micro- and nanoseconds": (
        pa.array([1] * 4, pa.timestamp("us")),
        pa.array([1] * 4, pa.timestamp("ns")),
    ),
    "decimals": (
        pa.array([Decimal(1)] * 4, pa.decimal128(20, 2)),
        pa.array([Decimal(1)] * 4, pa.decimal128(20, 4)),
    ),
}


@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_files_whose_values_have_a_type_in_common_are_united(
    tmp_path: Path, name: str, suffix: str
) -> None:
    for at, column in zip("ab", ALIKE[name], strict=True):
        store(tmp_path / f"{at}{suffix}", part(0).append_column("x", column))
    table, (one, other) = all_rows(tmp_path), ALIKE[name]
    assert table.column("x").slice(0, 4).to_pylist() == one.to_pylist()
    assert table.column("x").slice(4).to_pylist() == other.to_pylist()
    different = len({one[0].as_py(), other[0].as_py()})
    assert open_source(tmp_path).group(["x"]).num_rows == different


def test_csv_files_with_another_header_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age,ill\n1,a\n")
    (tmp_path / "b.csv").write_text("ill,age\na,1\n")
    with pytest.raises(TcloseError, match=r"b\.csv: its header is not that of a\.csv"):
        open_source(tmp_path)
    (tmp_path / "b.csv").write_text("age;ill\n1;a\n")
    with pytest.raises(TcloseError, match=r"its delimiter is not that of"):
        open_source(tmp_path / "*.csv")


def test_csv_files_in_different_encodings_are_one_table(tmp_path: Path) -> None:
    text = "age,ill\n1,ä\n"
    for name, encoding in {"a": "utf-8", "b": "utf-16", "c": "utf-8-sig"}.items():
        (tmp_path / f"{name}.csv").write_bytes(text.encode(encoding))
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(text.encode("utf-16")))
    table = all_rows(tmp_path)
    assert table.column("ill").to_pylist() == ["ä"] * 4
    assert open_source(tmp_path).group(["ill"]).num_rows == 1


def test_a_broken_row_names_its_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age,ill\n1,a\n")
    (tmp_path / "b.csv").write_text("age,ill\n1,a\n1,SECRET,c\n")
    with pytest.raises(TcloseError, match=r"b\.csv, line 3: 3 fields") as error:
        tclose.audit(tmp_path, quasi="age", sensitive="ill")
    assert "SECRET" not in str(error.value)


# --- names


def test_a_name_with_stars_and_brackets_is_that_file_alone(tmp_path: Path) -> None:
    for name in ("a*.csv", "ab.csv", "[x]?.csv"):
        store(tmp_path / name, part(ord(name[1])))
    for name in ("a*.csv", "[x]?.csv"):
        assert all_rows(tmp_path / name).column("row").to_pylist()[0] == str(ord(name[1]))
    for name in ("a*.parquet", "ab.parquet"):
        store(tmp_path / name, part(ord(name[1])))
    assert all_rows(tmp_path / "a*.parquet").column("row").to_pylist()[0] == ord("*")
    assert open_source(tmp_path / "a*.parquet").n_rows == 4


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_a_single_file_has_no_columns_from_its_folders(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "year=2024" / f"x{suffix}"
    store(path, part(0))
    assert open_source(path).columns == ("age", "ill", "row")
    assert open_source(path).group(["age"]).num_rows == 3


FOREIGN = {
    "t.xls": ".xlsx", "t.sas7bdat": "export", "t.rds": "export", "t.json": "export",
    "t.zip": "unpack", "t.csv.bz2": "unpack", "t.parquet.gz": "unpack", "t.tar.gz": "unpack",
    "t.sqlite": "export", "policy.toml": "name a table", "t.ods": ".xlsx",
}  # fmt: skip


@pytest.mark.parametrize("name", FOREIGN)
def test_kinds_that_cannot_be_read_are_refused_with_a_way_out(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("age,ill\n1,a\n")
    with pytest.raises(TcloseError, match="cannot be read") as error:
        open_source(tmp_path / name)
    assert FOREIGN[name] in error.value.hint


@pytest.mark.parametrize("name", ["t", "t.csv", "t.dat", "t.data", "t.csv.old", "t.2024"])
def test_text_is_text_whatever_its_name_says(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("age;ill\n1;a\n")
    assert open_source(tmp_path / name).columns == ("age", "ill")


def disguised(path: Path, suffix: str) -> None:
    write_table(path.with_suffix(suffix), part(0).schema, part(0).to_batches())
    path.with_suffix(suffix).rename(path)


DISGUISED = {
    "parquet": lambda path: disguised(path, ".parquet"),
    "arrow": lambda path: disguised(path, ".arrow"),
    "xlsx": lambda path: disguised(path, ".xlsx"),
    "csv.gz": lambda path: path.write_bytes(gzip.compress(b"a,b\n1,2\n")),
    "csv.zst": lambda path: path.write_bytes(pa.compress(b"a,b\n1,2\n" * 9, "zstd", asbytes=True)),
}


@pytest.mark.parametrize("kind", DISGUISED)
def test_other_kinds_under_the_name_of_text_are_told_by_their_beginning(
    tmp_path: Path, kind: str
) -> None:
    DISGUISED[kind](tmp_path / "t.csv")
    with pytest.raises(TcloseError, match="not a text table") as error:
        open_source(tmp_path / "t.csv")
    assert kind in error.value.hint


def test_folders_of_several_kinds_are_refused(tmp_path: Path) -> None:
    store(tmp_path / "a.csv", part(0))
    store(tmp_path / "b.parquet", part(0))
    with pytest.raises(TcloseError, match=r"\.csv and \.parquet") as error:
        open_source(tmp_path)
    assert "*.parquet" in error.value.hint
    assert open_source(tmp_path / "*.csv").n_rows == 4
    (tmp_path / "c.json").write_text("{}")
    with pytest.raises(TcloseError, match=r"\.json files cannot be read"):
        open_source(tmp_path)


@pytest.mark.parametrize("name", ["nowhere.csv", "nowhere/*.csv", "*.parquet"])
def test_what_is_not_there_is_said_to_be_missing(tmp_path: Path, name: str) -> None:
    with pytest.raises(TcloseError, match=r"no such file|no file matches"):
        open_source(tmp_path / name)


DAMAGED = {
    "t.csv.gz": gzip.compress(b"age,ill\n" + b"1,a\n" * 5000)[:-30],
    "t.csv.zst": pa.compress(b"age,ill\n" + bytes(range(48, 58)) * 9999, "zstd", asbytes=True)[:-9],
    "t.arrow": b"ARROW1\0\0 and nothing else",
    "t.arrows": b"nothing of the kind",
    "t.feather": b"FEA1 of old",
    "t.xlsx": b"PK\x03\x04 and nothing else",
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(DAMAGED[name])
    with pytest.raises(TcloseError, match=r"t\.") as error:
        tclose.audit(tmp_path / name, quasi="age", sensitive="ill")
    assert "Hint: " in str(error.value)


def test_packed_files_in_several_pieces_are_read_to_the_end(tmp_path: Path) -> None:
    pieces = [b"age,ill\n1,a\n", b"2,b\n", b"3,c\n"]
    (tmp_path / "t.csv.gz").write_bytes(b"".join(map(gzip.compress, pieces)))
    (tmp_path / "t.csv.zst").write_bytes(
        b"".join(pa.compress(piece, "zstd", asbytes=True) for piece in pieces)
    )
    for name in ("t.csv.gz", "t.csv.zst"):
        assert all_rows(tmp_path / name).column("ill").to_pylist() == ["a", "b", "c"]


# --- writing


@pytest.mark.parametrize("suffix", [".csv.gz", ".csv.zst", ".xlsx", ".arrow", ".parquet"])
def test_equal_rows_give_equal_bytes(tmp_path: Path, suffix: str) -> None:
    for name in "ab":
        tclose.anonymize(part(0), POLICY, method="mondrian", output=tmp_path / f"{name}{suffix}")
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_packed_text_is_what_other_tools_read(tmp_path: Path) -> None:
    tclose.anonymize(part(0, 9), POLICY, method="mondrian", output=tmp_path / "a.csv.gz")
    assert pd.read_csv(tmp_path / "a.csv.gz")["row"].tolist() == list(range(9))
    tclose.anonymize(part(0, 9), POLICY, method="mondrian", output=tmp_path / "a.tsv.zst")
    with pa.input_stream(str(tmp_path / "a.tsv.zst"), compression="zstd") as file:
        text = file.read().decode()
    assert [row["row"] for row in csv.DictReader(text.splitlines(), delimiter="\t")] == list(
        map(str, range(9))
    )


# --- nothing that is read is written to


@pytest.mark.parametrize(
    "read", ["in", "in/*.parquet", "in/**/*.parquet", "in/k=*", "in/a.parquet"]
)
@pytest.mark.parametrize("target", ["in/a.parquet", "in/k=1/b.parquet", "in/new.parquet"])
def test_a_file_of_the_table_is_never_an_output(tmp_path: Path, read: str, target: str) -> None:
    for name in ("a.parquet", "k=1/b.parquet"):
        store(tmp_path / "in" / name, part(0, 8))
    meant = {
        "in": True,
        "in/*.parquet": target != "in/k=1/b.parquet",
        "in/**/*.parquet": True,
        "in/k=*": target == "in/k=1/b.parquet",
        "in/a.parquet": target == "in/a.parquet",
    }[read]
    assert is_read_from(tmp_path / read, tmp_path / target) == meant
    if meant and read in ("in/*.parquet", "in/a.parquet"):
        before = {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")}
        with pytest.raises(UsageError, match="is an input"):
            tclose.anonymize(tmp_path / read, POLICY, output=tmp_path / target)
        assert before == {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")}


def test_nothing_is_written_into_a_folder_that_is_read(tmp_path: Path) -> None:
    store(tmp_path / "in" / "a.csv", part(0, 8))
    for more in ({"output": "in/out.csv"}, {"certificate": "in/c.json"}, {"plan": "in/p.json"}):
        names = {key: tmp_path / name for key, name in more.items()}
        with pytest.raises(UsageError, match="is an input"):
            tclose.anonymize(tmp_path / "in", POLICY, method="mondrian", **names)
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["a.csv"]


def test_files_that_a_relation_reads_are_not_overwritten(tmp_path: Path) -> None:
    import duckdb

    store(tmp_path / "a.parquet", part(0, 8))
    for text in (f"'{tmp_path / 'a.parquet'}'", f"read_parquet('{tmp_path}/*.parquet')"):
        relation = duckdb.connect().sql(f"SELECT * FROM {text} WHERE ill <> '*'")
        with pytest.raises(UsageError, match="is an input"):
            tclose.anonymize(relation, POLICY, output=tmp_path / "a.parquet")
    assert pq.read_table(tmp_path / "a.parquet").equals(part(0, 8))


def test_folders_behind_links_are_read_once(tmp_path: Path) -> None:
    store(tmp_path / "in" / "a.csv", part(0))
    store(tmp_path / "other" / "b.csv", part(4))
    (tmp_path / "in" / "link").symlink_to(tmp_path / "other")
    (tmp_path / "other" / "back").symlink_to(tmp_path / "in")
    assert [int(n) for n in all_rows(tmp_path / "in").column("row").to_pylist()] == list(range(8))


@pytest.mark.parametrize("name", ["~a", "a b", "a'b", 'a"b', "a%20b", "a{1,2}", "ü", "a\\b", "#a"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_files_may_have_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, suffix: str
) -> None:
    monkeypatch.chdir(tmp_path)
    store(Path(name + suffix), part(0))
    source = open_source(name + suffix)
    assert source.n_rows == 4 == all_rows(name + suffix).num_rows


def test_a_link_to_a_file_of_the_table_is_that_file(tmp_path: Path) -> None:
    store(tmp_path / "in" / "a.csv", part(0, 8))
    (tmp_path / "link.csv").symlink_to(tmp_path / "in" / "a.csv")
    with pytest.raises(UsageError, match="is an input"):
        tclose.anonymize(tmp_path / "in" / "*.csv", POLICY, output=tmp_path / "link.csv")


# --- at any size


def test_a_folder_is_read_batch_by_batch(tmp_path: Path) -> None:
    """No batch is larger than a batch, however the files were written."""
    big = pa.table({"age": np.arange(300_000) % 7, "ill": pa.array(["a", "b"] * 150_000)})
    pq.write_table(big, tmp_path / "a.parquet")
    for name in ("a.parquet", "a.arrow"):
        if name == "a.arrow":
            with pa.ipc.new_file(tmp_path / name, big.schema) as file:
                file.write_batch(big.combine_chunks().to_batches()[0])
        rows = open_source(tmp_path / name).stream()
        sizes = [batch.num_rows for batch in rows.batches()]
        assert sum(sizes) == 300_000 and max(sizes) <= 131_072


def test_patterns_name_their_files_in_order(tmp_path: Path) -> None:
    for name in ("2024-02.csv", "2024-01.csv", "2023-12.csv", "_2024-03.csv"):
        store(tmp_path / name, part(0))
    found = find_files(tmp_path / "2024-*.csv")
    assert [path.name for path in found.paths] == ["2024-01.csv", "2024-02.csv"]
    assert [path.name for path in find_files(tmp_path / "_*.csv").paths] == ["_2024-03.csv"]


def test_lines_above_the_header_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "Export Ward North 2024\n\nage;zip;ill\n30;01067;flu\n31;01069;asthma\n", encoding="utf-8"
    )
    with pytest.raises(TcloseError, match="delete titles above the header"):
        _ = open_source(path).n_rows
    path.write_text("sep=;\nage;ill\n30;flu\n31;flu\n", encoding="utf-8")
    with pytest.raises(TcloseError, match="delete the first line, which only names the delimiter"):
        open_source(path)
