"""Only quasi-identifiers change; identifiers go as the policy says; all else survives."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tclose
from tclose.errors import TcloseError
from tclose.recode.rewrite import Pseudonyms

ROWS = 12
ILLS = ["flu", "ulcer", "cough"] * 4


def rules(*insensitive: str, identifiers: tuple[str, ...] = (), **release: str) -> dict[str, Any]:
    columns: dict[str, Any] = {"age": "quasi", "ill": {"role": "sensitive", "t": "1/2"}}
    columns |= dict.fromkeys(insensitive, "insensitive") | dict.fromkeys(identifiers, "identifier")
    return {"k": 3, "columns": columns, "release": {"rows": "keep", **release}}


def table(**more: Any) -> pa.Table:
    return pa.table({"ill": ILLS, **more, "age": list(range(20, 20 + ROWS))})


TYPED = {
    "price": pa.array([Decimal("1.10"), None, Decimal("-2.05")] * 4, pa.decimal128(9, 2)),
    "day": pa.array([date(2020, 1, 1), None, date(1890, 2, 3)] * 4),
    "moment": pa.array(
        [datetime(2020, 1, 1, 12, tzinfo=timezone(timedelta(hours=1))), None, None] * 4,
        pa.timestamp("us", "Europe/Berlin"),
    ),
    "nano": pa.array([1, 2, None] * 4, pa.timestamp("ns")),
    "ward": pa.array(["a", None, "b"] * 4).dictionary_encode(),
    "visits": pa.array([[1, 2], None, []] * 4, pa.list_(pa.int16())),
    "where": pa.array([{"x": 1, "y": "u"}, None, {"x": None, "y": ""}] * 4),
    "alive": pa.array([True, None, False] * 4),
    "small": pa.array([1, None, 3] * 4, pa.int8()),
    "raw": pa.array([b"\x00\xff", None, b""] * 4),
    "long": pa.array(["", None, "x"] * 4, pa.large_string()),
    "real": pa.array([float("nan"), None, -0.0] * 4, pa.float32()),
}


def equal(one: pa.Table, other: pa.Table) -> bool:
    return one.schema.equals(other.schema) and repr(one.to_pylist()) == repr(other.to_pylist())


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("order", ["keep", "shuffle"])
def test_types_and_values_of_other_columns_survive(tmp_path: Path, suffix: str, order: str) -> None:
    before = table(**TYPED)
    source, target = tmp_path / f"in.{suffix}", tmp_path / f"out.{suffix}"
    if suffix == "parquet":
        pq.write_table(before, source)
    else:
        with pa.ipc.new_file(source, before.schema) as writer:
            writer.write_table(before, 5)
    tclose.anonymize(source, rules(*TYPED, rows=order), output=target, method="mondrian")
    read = pq.read_table if suffix == "parquet" else lambda p: pa.ipc.open_file(p).read_all()
    after = read(target)
    assert after.column_names == before.column_names
    assert after.schema.field("age").type == pa.string()
    kept, was = after.drop(["age"]), read(source).drop(["age"])
    assert kept.schema.equals(was.schema)
    if order == "keep":
        assert equal(kept, was)
    else:
        assert Counter(map(repr, kept.to_pylist())) == Counter(map(repr, was.to_pylist()))


def test_dictionaries_that_differ_from_batch_to_batch_are_written(tmp_path: Path) -> None:
    kind = pa.dictionary(pa.int8(), pa.string())
    parts = [
        pa.array(texts).dictionary_encode().cast(kind) for texts in (["x"], ["y", "x"], [None])
    ]
    times = [6, 2, 2]
    ward = pa.chunked_array([pa.concat_arrays([p] * n) for p, n in zip(parts, times, strict=True)])
    before = table(ward=ward)
    tclose.anonymize(before, rules("ward"), output=tmp_path / "out.arrow", method="mondrian")
    after = pa.ipc.open_file(tmp_path / "out.arrow").read_all()
    assert after.column("ward").to_pylist() == ward.to_pylist()
    assert after.schema.field("ward").type == kind


def test_the_text_of_other_fields_survives_odd_quoting(tmp_path: Path) -> None:
    odd = [
        "",
        " lead",
        "trail ",
        'q"q',
        '"',
        "a,b",
        "a;b",
        "two\nlines",
        "ünï ☃",
        "007",
        "\t",
        "NA",
    ]
    page = io.StringIO()
    writer = csv.writer(page, delimiter=";", quoting=csv.QUOTE_ALL)
    writer.writerow(["age", "odd name, quoted", "ill"])
    writer.writerows(zip(range(20, 32), odd, ILLS, strict=True))
    (tmp_path / "in.csv").write_text(page.getvalue(), newline="")
    tclose.anonymize(
        tmp_path / "in.csv", rules("odd name, quoted"), output=tmp_path / "out.csv",
        method="mondrian",
    )  # fmt: skip
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.reader(file, delimiter=";"))
    assert rows[0] == ["age", "odd name, quoted", "ill"]
    assert [row[1] for row in rows[1:]] == odd
    assert [row[2] for row in rows[1:]] == ILLS


def test_a_single_column_with_missing_values_has_no_blank_lines(tmp_path: Path) -> None:
    only = pa.table({"id": ["x"] * 6, "age": [None, None, 30, 31, None, 32]})
    policy = {"k": 3, "columns": {"id": "identifier", "age": "quasi"}}
    tclose.anonymize(only, policy, output=tmp_path / "out.csv", method="mondrian")
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert len(rows) == 7 and all(len(row) == 1 for row in rows)


@pytest.mark.parametrize("column", ["visits", "where", "raw"])
def test_what_no_csv_file_can_hold_is_refused_before_the_search(
    tmp_path: Path, column: str
) -> None:
    before = table(**{column: TYPED[column]})
    with pytest.raises(TcloseError, match=f"{column}.*CSV") as error:
        tclose.anonymize(before, rules(column), output=tmp_path / "out.csv", method="mondrian")
    assert "Hint: " in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_empty_texts_that_a_csv_file_would_lose_are_refused(tmp_path: Path) -> None:
    odd = table().set_column(0, "ill", pa.array(["", None, "x"] * 4))
    with pytest.raises(TcloseError, match="empty texts"):
        tclose.anonymize(odd, rules(), output=tmp_path / "out.csv", method="mondrian")
    assert tclose.anonymize(odd, rules(), output=tmp_path / "out.parquet", method="mondrian").holds


def test_nan_is_missing_in_a_csv_file(tmp_path: Path) -> None:
    numbers = pa.array([float("nan"), None, 2.5] * 4)
    odd = table(cost=numbers).set_column(0, "ill", numbers)
    tclose.anonymize(odd, rules("cost"), output=tmp_path / "out.csv", method="mondrian")
    with (tmp_path / "out.csv").open(newline="") as file:
        assert [row["cost"] for row in csv.DictReader(file)] == ["", "", "2.5"] * 4


def test_minus_nought_and_nan_find_their_class() -> None:
    odd = pa.table({"age": [0.0, -0.0, float("nan"), None] * 3, "ill": ILLS})
    release = tclose.anonymize(odd, rules(), method="mondrian-relaxed")
    assert release.holds and release.audit.rows == ROWS


# --- identifiers


NAMES = pa.array(["Ann", "Bob", None] * 4)


def released(how: str, key: bytes | None = None, names: pa.Array = NAMES) -> pa.Table:
    policy = rules(identifiers=("name",)) | {"release": {"identifiers": how, "rows": "keep"}}
    return tclose.anonymize(table(name=names), policy, method="mondrian", key=key).data


def test_identifiers_are_dropped_or_masked() -> None:
    assert released("drop").column_names == ["ill", "age"]
    assert set(released("mask").column("name").to_pylist()) == {"*"}


def test_pseudonyms_link_equal_values_under_one_key_only() -> None:
    one, same = (released("pseudonym", b"k" * 16).column("name").to_pylist() for _ in range(2))
    assert one == same
    other = released("pseudonym", b"o" * 16).column("name").to_pylist()
    drawn, again = (released("pseudonym").column("name").to_pylist() for _ in range(2))
    kinds = [one, other, drawn, again]
    for names in kinds:
        assert [name is None for name in names] == [name is None for name in NAMES.to_pylist()]
        assert len(set(names)) == 3 and names[0] == names[3] != names[1]
        assert not {"Ann", "Bob"} & set(names)
    assert len({names[0] for names in kinds}) == 4


@pytest.mark.parametrize("names", [TYPED["visits"], TYPED["real"], TYPED["raw"], TYPED["ward"]])
def test_anything_can_have_a_pseudonym(names: pa.Array) -> None:
    made = Pseudonyms(b"key").column("name", names).to_pylist()
    assert made[1] is None and len(set(made)) <= 3
    assert all(name is None or re.fullmatch("p[0-9a-f]{24}", name) for name in made)


# --- frames


def test_a_pandas_frame_keeps_its_types_and_loses_its_index() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "age": pd.array([20, 21, None] * 4, dtype="Int64"),
            "ward": pd.Categorical(["a", "b", None] * 4, categories=["b", "a", "z"], ordered=True),
            "score": pd.array([1, None, 3] * 4, dtype="Int8"),
            "ill": ILLS,
            "when": pd.date_range("2020", periods=ROWS, tz="Europe/Berlin"),
        },
        index=pd.MultiIndex.from_arrays([[7, 7, 3] * 4, ["x"] * ROWS], names=["i", None]),
    )
    after = tclose.anonymize(frame, rules("ward", "score", "when"), method="mondrian").data
    assert list(after.columns) == list(frame.columns)
    frame["ward"] = frame["ward"].cat.remove_unused_categories()
    same = frame.drop(columns="age").reset_index(drop=True)
    pd.testing.assert_frame_equal(after.drop(columns="age"), same)
    assert after["age"].iloc[0] in ("20", "[20, 21]", "*")


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_shuffled_frames_keep_their_rows_together(kind: str) -> None:
    before = table(number=pa.array(range(ROWS)))
    frame: Any = before
    if kind != "pyarrow":
        library = pytest.importorskip(kind)
        frame = before.to_pandas() if kind == "pandas" else library.from_arrow(before)
    policy = rules("number", rows="shuffle")
    orders = set()
    for _ in range(2):
        after = tclose.anonymize(frame, policy, method="mondrian").data
        assert type(after) is type(frame)
        numbers = (
            [int(n) for n in after["number"].to_pandas()]
            if kind == "pyarrow"
            else list(after["number"])
        )
        ills = after["ill"].to_pylist() if kind == "pyarrow" else list(after["ill"])
        assert sorted(numbers) == list(range(ROWS))
        assert ills == [ILLS[n] for n in numbers]
        orders.add(tuple(numbers))
    assert len(orders) == 1 and orders != {tuple(range(ROWS))}


def test_a_shuffled_file_read_without_output_is_shuffled_too(tmp_path: Path) -> None:
    pq.write_table(table(number=pa.array(range(ROWS))), tmp_path / "in.parquet")
    policy = rules("number", rows="shuffle")
    released = tclose.anonymize(tmp_path / "in.parquet", policy, method="mondrian").data
    order = released.column("number").to_pylist()
    assert sorted(order) == list(range(ROWS)) != order


def test_codes_that_are_generalized_like_numbers_are_named() -> None:
    """Nearly all postcodes of a table lie in [01067, 09112], which is a tenth of the numbers."""
    table = pa.table({"plz": ["01067", "09112", "99084", "04103"] * 2, "ill": list("abababab")})
    policy: dict[str, Any] = {"k": 4, "columns": {"plz": "quasi", "ill": "insensitive"}}
    (note,) = tclose.anonymize(table, policy, method="mondrian").notes
    assert note.startswith("plz: codes that begin with 0")
    prefixes = {"role": "quasi", "hierarchy": {"prefix": [2, 1, 0]}}
    policy["columns"] = {"plz": prefixes, "ill": "insensitive"}
    assert tclose.anonymize(table, policy, method="mondrian").notes == ()
    numbers = table.set_column(0, "plz", pa.array([1067, 9112, 99084, 4103] * 2))
    policy["columns"] = {"plz": "quasi", "ill": "insensitive"}
    assert tclose.anonymize(numbers, policy, method="mondrian").notes == ()
