"""Files that Spark reads are the tables that DuckDB reads, or are refused; folders appear whole."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tclose import DataError, Reading, TcloseError
from tclose.data.opening import open_source
from tclose.data.source import Source

FIELDS = st.sampled_from(
    ["", "x", " x ", "a,b", 'say "hi"', "two\nlines", "two\r\nlines", "\\", "#c", "ü", "日本", "NA",
     "0.10", "007", "tab\there", "\u2028", "'", '"', "a;b"]
)  # fmt: skip


def rows(source: Source) -> Counter[tuple[Any, ...]]:
    return Counter(
        tuple(row.values()) for batch in source.stream().batches() for row in batch.to_pylist()
    )


def written(folder: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(FIELDS, FIELDS, FIELDS), max_size=12),
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_a_csv_file_is_read_as_duckdb_reads_it(
    spark: Any, tmp_path: Path, table: list[Any], mark: str, end: str, quoted: bool
) -> None:
    text = io.StringIO()
    how = csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
    writer = csv.writer(text, delimiter=mark, lineterminator=end, quoting=how)
    writer.writerows([("a", "b.c", "d e"), *table])
    path = written(tmp_path, text.getvalue())
    duckdb = Reading(delimiter=mark, nulls=("", "NA"))
    spark_too = replace(duckdb, engine="spark")
    mine, theirs = open_source(path, spark_too), open_source(path, duckdb)
    assert mine.columns == theirs.columns
    assert rows(mine) == rows(theirs)
    assert mine.digest() == theirs.digest()


def states(lines: list[str], mark: str, state: int) -> int:
    """Outside (0) or inside (1) a quoted field after some lines, or wrong (2): letter by letter."""
    for line in lines:
        at, end = 0, len(line)
        while state != 2:
            if state == 0:
                blank = len(line[at:]) - len(line[at:].lstrip(" "))
                if line[at + blank : at + blank + 1] == '"':
                    state, at = (2, at) if blank else (1, at + 1)
                    continue
                at = line.find(mark, at) + 1
                if not at:
                    break
            elif at == end:
                break
            elif line[at : at + 2] == '""':
                at += 2
            elif line[at] == '"':
                at = end - len(line[at + 1 :].lstrip(" "))
                if at == end:
                    state = 0
                    break
                state, at = (0, at + 1) if line[at] == mark else (2, at)
            else:
                at += 1
    return state


@settings(max_examples=300)
@given(st.lists(st.text('",;x ', max_size=8), min_size=1, max_size=4), st.sampled_from([",", ";"]))
def test_lines_are_followed_as_letter_by_letter(lines: list[str], mark: str) -> None:
    from tclose.data.engines.spark.files import follow_lines, follow_runs, list_steps

    steps = list_steps(mark)
    after, inside = follow_lines(pa.array(lines), steps)
    assert after.tolist() == [states(lines, mark, 0), states(lines, mark, 1), 2]
    runs = []
    for some in (lines[:1], lines[1:]):
        if some:
            then, within = follow_lines(pa.array(some), steps)
            runs.append(SimpleNamespace(file="a", start=0, after=then, inside=within))
    assert follow_runs(runs) == (inside[0], after[0])


ODD = {
    "a byte order mark": "\ufeffa,b\n1,x\n",
    "a byte order mark and rows across lines": '\ufeff"a",b\n1,"x\ny"\n',
    "no line end at the end": "a,b\n1,x\n2,y",
    "line ends of old Macs": "a,b\r1,x\r2,y\r",
    "blank lines": "a,b\n1,x\n\n2,y\n\n",
    "a quote inside a field": 'a,b\n1,5" disk\n2,y\n',
    "a header only": "a,b\n",
    "a header of two lines": '"a\n1",b\n1,x\n',
    "blank lines before the header": "\n\na,b\n1,x\n",
    "Windows-1252": "a,b\n1,M\xfcnchen\n".encode("cp1252"),
    "UTF-16": "a,b\n1,x\n".encode("utf-16"),
    "one column": 'a\nx\n""\ny\n',
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_files_are_read_alike(spark: Any, tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, ODD[kind])
    mine, theirs = open_source(path, Reading(engine="spark")), open_source(path)
    assert (mine.columns, mine.notes, mine.delimiter) == (
        theirs.columns, theirs.notes, theirs.delimiter,
    )  # fmt: skip
    assert rows(mine) == rows(theirs)


SECRET = "zQ7-hidden"
BROKEN = {
    "too few fields": f"a,b\n1,x\n{SECRET}\n",
    "too many fields": f"a,b\n1,x\n{SECRET},{SECRET},3\n",
    "text after a quote": f'a,b\n1,x\n2,"{SECRET}"y\n',
    "a quote left open": f'a,b\n1,x\n2,"{SECRET}\n3,z\n',
    "bytes that are no UTF-8": b"a,b\n" + b"1,xxxxxxxx\n" * 120_000 + b"2,zQ7-hidden\xff\n",
    "a space before a quote": f'a,b\n1, "{SECRET}"\n',
    "a blank line in a table of one column": f"a\n{SECRET}\n\nx\n",
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_files_are_refused_without_a_value(
    spark: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str], kind: str
) -> None:
    path = written(tmp_path, BROKEN[kind])
    with pytest.raises(DataError) as raised:
        open_source(path, Reading(engine="spark")).group(["a"])
    told = capfd.readouterr()
    assert SECRET not in f"{raised.value}{raised.value.__cause__}{told.out}{told.err}"


def test_folders_and_patterns_of_parquet(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "table [1]"
    folder.mkdir()
    table = pa.table({"a": [1, 2, None], "s": ["x", "ü", None]})
    for at in range(3):
        pq.write_table(table.slice(at, 1), folder / f"part-{at}.parquet")
    (folder / "_SUCCESS").touch()
    written(folder, "nothing", ".hidden")
    for path in (folder, folder / "part-1.parquet"):
        mine, theirs = open_source(path, Reading(engine="spark")), open_source(path)
        assert rows(mine) == rows(theirs) and mine.digest() == theirs.digest()
    plain = tmp_path / "table"
    folder.rename(plain)
    assert open_source(plain / "*.parquet", Reading(engine="spark")).n_rows == 3
    assert open_source(f"file://{plain}", Reading(engine="spark")).n_rows == 3


def test_parquet_files_with_other_columns_are_united(spark: Any, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"a": [2], "b": ["x"]}), tmp_path / "1.parquet")
    mine, theirs = open_source(tmp_path, Reading(engine="spark")), open_source(tmp_path)
    assert mine.columns == theirs.columns and rows(mine) == rows(theirs)


def test_csv_files_of_a_folder_must_have_one_header(spark: Any, tmp_path: Path) -> None:
    written(tmp_path, "a,b\n1,x\n", "0.csv")
    written(tmp_path, 'a,b\n2,"y\nz"\n', "1.csv")
    mine, theirs = open_source(tmp_path, Reading(engine="spark")), open_source(tmp_path)
    assert rows(mine) == rows(theirs) and mine.digest() == theirs.digest()
    written(tmp_path, "b,a\n1,x\n", "2.csv")
    with pytest.raises(DataError, match="header"):
        open_source(tmp_path, Reading(engine="spark"))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("none.csv", "no such file"),
        ("none-*.parquet", "no file matches"),
        ("t.arrow", "Spark does not read Arrow"),
        ("t.csv.gz", "packed"),
        ("year=2024", "folders name columns"),
    ],
)
def test_what_spark_does_not_read_is_refused(
    spark: Any, tmp_path: Path, name: str, told: str
) -> None:
    import gzip

    with pa.ipc.new_file(tmp_path / "t.arrow", pa.schema({"a": pa.int64()})):
        pass
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a\n1\n"))
    (tmp_path / "below" / "year=2024").mkdir(parents=True)
    written(tmp_path / "below" / "year=2024", "a\n1\n", "t.csv")
    path = tmp_path / ("below" if name.startswith("year") else name)
    with pytest.raises(DataError, match=told):
        open_source(path, Reading(engine="spark"))


def test_an_unknown_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TcloseError, match="did you mean 'spark'"):
        open_source(written(tmp_path, "a\n1\n"), Reading(engine="sparc"))


def test_damaged_parquet_is_refused(spark: Any, tmp_path: Path) -> None:
    path = written(tmp_path, b"PAR1 not really PAR1", "t.parquet")
    with pytest.raises(DataError, match=r"t\.parquet"):
        open_source(path, Reading(engine="spark")).group(["a"])


ROUND = pa.table(
    {
        "s": ["", None, ' lead', 'a"b', "x,y", "two\nlines", "日本", "0"],
        "f": [1.0, None, float("nan"), -0.0, 1e22, 0.1, float("inf"), 2.5],
        "n": pa.array([1, None, 3, 4, 5, 6, 7, 8], pa.int64()),
        "b": [True, None, False, True, False, True, False, True],
    }
)  # fmt: skip


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("parts", [1, 4])
def test_a_folder_holds_what_a_file_would(
    spark: Any, tmp_path: Path, kind: str, parts: int
) -> None:
    from tclose.data.io.files import write_table

    frame = spark.createDataFrame(ROUND).repartition(parts)
    seen: list[int] = []
    target = tmp_path / "deep" / f"out.{kind}"
    open_source(frame).save(target, lambda source: seen.append(source.n_rows))
    assert seen == [8] and [one.name for one in target.parent.iterdir()] == [f"out.{kind}"]
    single = write_table(tmp_path / f"single.{kind}", ROUND.schema, ROUND.to_batches())
    told = rows(open_source(single))
    for engine in ("spark", "duckdb"):
        back = rows(open_source(target, Reading(engine=engine)))
        assert sorted(map(repr, back.elements())) == sorted(map(repr, told.elements()))
    if kind == "csv":
        lines = [one.read_bytes() for one in target.glob("*.csv")]
        assert all(one.startswith(b"s,f,n,b\n") for one in lines)
        body = b"".join(one.removeprefix(b"s,f,n,b\n") for one in lines)
        assert sorted(body) == sorted(single.read_bytes().removeprefix(b"s,f,n,b\n"))


def test_what_is_refused_by_who_looks_leaves_nothing(spark: Any, tmp_path: Path) -> None:
    def refuse(source: Source) -> None:
        assert [one.name[0] for one in tmp_path.iterdir()] == ["."]
        raise DataError("no")

    for kind in ("csv", "parquet"):
        with pytest.raises(DataError, match="no"):
            open_source(spark.createDataFrame(ROUND)).save(tmp_path / f"out.{kind}", refuse)
        assert not list(tmp_path.iterdir())


def test_nothing_is_replaced(spark: Any, tmp_path: Path) -> None:
    source = open_source(spark.createDataFrame(ROUND))
    target = written(tmp_path, "mine", "out.parquet")
    with pytest.raises(DataError, match="this exists already"):
        source.save(target, lambda written: None)
    with pytest.raises(DataError, match="this exists already"):
        source.refuse_taken(target)
    quicker = tmp_path / "other.parquet"
    with pytest.raises(DataError, match="this exists already"):
        source.save(quicker, lambda part: quicker.mkdir())
    assert sorted(one.name for one in tmp_path.iterdir()) == ["other.parquet", "out.parquet"]
    assert target.read_text() == "mine" and not list(quicker.iterdir())


def test_a_folder_that_nobody_may_write_to(spark: Any, tmp_path: Path) -> None:
    blocked = written(tmp_path, "a file", "blocked")
    with pytest.raises(DataError):
        open_source(spark.createDataFrame(ROUND)).save(
            blocked / "out.parquet", lambda written: None
        )
    assert [one.name for one in tmp_path.iterdir()] == ["blocked"]
