"""Releases made by Spark: what every command does with frames, and that nothing else is changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tclose
from tclose import DataError, Reading, UsageError
from tclose.data.opening import open_source
from tclose.sample import hospital, write_hospital

ROWS = 400
KEY = b"a key of the steward"
SPARK = Reading(engine="spark")


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the hospital's table, policy and tree of diagnoses."""
    folder = tmp_path_factory.mktemp("ward")
    write_hospital(folder, rows=ROWS)
    with (folder / "policy.toml").open("a") as policy:  # engines shuffle differently
        policy.write('\n[release]\nrows = "keep"\n')
    return folder


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    return spark.createDataFrame(hospital(ROWS)).repartition(3).localCheckpoint()


def values(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


def told(release: tclose.Release) -> dict[str, Any]:
    """The certificate without what differs between any two runs."""
    content = release.certificate.to_json()
    for name in ("versions", "tried", "command", "issued"):
        content.pop(name, None)
    return content


def rules(**more: Any) -> dict[str, Any]:
    return {
        "k": 3,
        "columns": {
            "name": "identifier", "age": "quasi", "zip": "quasi",
            "ill": {"role": "sensitive", "t": 0.5}, "note": "insensitive",
        },
        **more,
    }  # fmt: skip


def people(rows: int = 60) -> pa.Table:
    ages = [20 + 7 * at % 50 for at in range(rows)]
    return pa.table(
        {
            "name": [f"person {at}" for at in range(rows)],
            "age": pa.array([None if age == 27 else age for age in ages], pa.int16()),
            "zip": [["4711", "4712", None, "0815"][at % 4] for at in range(rows)],
            "ill": [["flu", "gout", "ulcer"][at % 3] for at in range(rows)],
            "note": [[at, None] for at in range(rows)],
        }
    )


@pytest.mark.parametrize("method", ["hybrid", "optimal"])
def test_every_search_gives_the_release_of_arrow(frame: Any, ward: Path, method: str) -> None:
    how = {"method": method, "effort": 0.5, "key": KEY}
    ours = tclose.anonymize(frame, ward / "policy.toml", **how)
    theirs = tclose.anonymize(hospital(ROWS), ward / "policy.toml", **how)
    assert told(ours) == told(theirs)
    assert values(ours.data.toArrow()) == values(theirs.data)
    assert ours.data.toArrow().schema == theirs.data.schema


@pytest.mark.parametrize("parts", [1, 7])
def test_partitions_do_not_matter(spark: Any, ward: Path, parts: int) -> None:
    frame = spark.createDataFrame(hospital(ROWS)).repartition(parts)
    ours = tclose.anonymize(frame, ward / "policy.toml", method="mondrian", key=KEY)
    theirs = tclose.anonymize(hospital(ROWS), ward / "policy.toml", method="mondrian", key=KEY)
    assert told(ours) == told(theirs)


def test_a_small_translation_keeps_the_order_of_the_rows(spark: Any, ward: Path) -> None:
    given = hospital(ROWS)
    ours = tclose.anonymize(
        spark.createDataFrame(given), ward / "policy.toml", method="mondrian", key=KEY
    )
    theirs = tclose.anonymize(given, ward / "policy.toml", method="mondrian", key=KEY)
    assert ours.data.toArrow().equals(theirs.data)


@pytest.mark.parametrize(
    ("identifiers", "order"), [("drop", "shuffle"), ("mask", "keep"), ("pseudonym", "keep")]
)
def test_identifiers_and_order(spark: Any, identifiers: str, order: str) -> None:
    policy = rules(release={"identifiers": identifiers, "rows": order})
    given = spark.createDataFrame(people(), "name string, age short, zip string, ill string, "
                                  "note array<long>").repartition(2)  # fmt: skip
    ours = tclose.anonymize(given, policy, method="mondrian", key=KEY)
    theirs = tclose.anonymize(people(), policy, method="mondrian", key=KEY)
    assert values(ours.data.toArrow()) == values(theirs.data)
    assert told(ours) == told(theirs)


def test_a_shuffled_release_comes_in_an_order_of_its_own(spark: Any) -> None:
    policy = rules(release={"identifiers": "pseudonym", "rows": "shuffle"})
    frame = spark.createDataFrame(people())
    first, second = (
        tclose.anonymize(frame, policy, method="mondrian", key=KEY).data.toArrow() for _ in range(2)
    )
    in_order = rules(release={"identifiers": "pseudonym", "rows": "keep"})
    kept = tclose.anonymize(people(), in_order, key=KEY, method="mondrian").data
    orders = [table.column("name").to_pylist() for table in (first, second, kept)]
    assert orders[0] == orders[1] != orders[2]
    assert len({tuple(sorted(order)) for order in orders}) == 1


def test_files_of_a_shuffled_release_do_not_depend_on_how_the_table_was_divided(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor on the order of its rows: each file has the same bytes."""
    monkeypatch.setattr("tclose.data.engines.spark.frames.ROWS_PER_PART", 150)
    policy = {"k": 3, "columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 0.9}}}
    rows = [(at % 37, "ab"[at % 2]) for at in range(ROWS)]
    found = []
    for number, given in enumerate((rows, rows[::-1])):
        frame = spark.createDataFrame(given, "age int, ill string").repartition(2 + 5 * number)
        output = tmp_path / f"{number}.parquet"
        tclose.anonymize(frame, policy, method="mondrian", output=output)
        files = sorted(output.glob("part-*"), key=lambda file: file.name[:10])
        found.append([file.read_bytes() for file in files])
    assert len(found[0]) == 3
    assert found[0] == found[1]


def test_columns_that_stay_keep_their_types_and_needs_and_lose_their_comments(spark: Any) -> None:
    from pyspark.sql import types

    about = {"comment": "what the nurse wrote"}
    struct = types.StructType(
        [
            types.StructField("age", types.IntegerType(), False),
            types.StructField("ill", types.StringType(), False, about),
            types.StructField("note", types.ArrayType(types.LongType()), False, about),
            types.StructField("since", types.TimestampNTZType(), True),
        ]
    )
    frame = spark.createDataFrame([(at % 9, "ab"[at % 2], [at], None) for at in range(30)], struct)
    policy = {"k": 3, "columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 0.9},
                                  "note": "insensitive", "since": "insensitive"}}  # fmt: skip
    made = tclose.anonymize(frame, policy, method="mondrian").data.schema
    assert [one.simpleString() for one in made.fields] == [
        "age:string", "ill:string", "note:array<bigint>", "since:timestamp_ntz",
    ]  # fmt: skip
    for name in ("ill", "note"):
        assert made[name].dataType == struct[name].dataType and not made[name].nullable
        assert made[name].metadata == {}  # it may hold values of the table


def test_hidden_and_generalized_sensitive_values(spark: Any) -> None:
    given = pa.table(
        {
            "age": [str(20 + at // 4) for at in range(48)],
            "ill": ["rare" if at == 0 else ["flu", "gout"][at % 2] for at in range(48)],
            "pay": pa.array([float(at % 5) for at in range(48)]),
        }
    )
    policy = {
        "k": 4, "search": {"suppression": 0.5}, "release": {"leftover": "hide"},
        "columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 0.2}, "pay": "insensitive"},
    }  # fmt: skip
    ours = tclose.anonymize(spark.createDataFrame(given), policy, method="mondrian")
    theirs = tclose.anonymize(given, policy, method="mondrian")
    assert values(ours.data.toArrow()) == values(theirs.data)


def test_audit_verify_explain_measure_attack_and_the_others_take_frames(
    frame: Any, ward: Path, tmp_path: Path
) -> None:
    policy, given = ward / "policy.toml", hospital(ROWS)
    mine, other = tclose.audit(frame, policy).to_json(), tclose.audit(given, policy).to_json()
    assert [name for name in mine if mine[name] != other[name]] == ["source"]
    ours = tclose.anonymize(frame, policy, method="mondrian", key=KEY)
    theirs = tclose.anonymize(given, policy, method="mondrian", key=KEY)
    assert tclose.verify(ours.data, policy).holds
    assert (
        tclose.explain(frame, policy, class_number=1).exact
        == tclose.explain(given, policy, class_number=1).exact
    )
    assert (
        tclose.measure(original=frame, release=ours, policy=policy, queries=20)["loss"].overall
        == tclose.measure(original=given, release=theirs, policy=policy, queries=20)["loss"].overall
    )
    assert tclose.attack(ours.data, policy).findings
    applied = tclose.apply(ours.plan, frame, base=ward)
    again = tclose.apply(theirs.plan, given, base=ward)
    assert values(applied.data.toArrow()) == values(again.data)
    assert ours.report(tmp_path / "report.html") is not None
    assert tclose.split(frame, policy, form="anatomy", output=tmp_path / "split") is not None
    few = {"t": "0.4,0.5", "methods": "mondrian", "effort": 0.2}
    curves = tclose.frontier(frame, policy, **few).curves
    assert curves and curves == tclose.frontier(given, policy, **few).curves


def test_a_release_is_saved_as_a_folder_and_certified(
    frame: Any, ward: Path, tmp_path: Path
) -> None:
    release = tclose.anonymize(frame, ward / "policy.toml", method="mondrian", key=KEY)
    paper = tmp_path / "paper.json"
    release.save(f"file://{tmp_path}/url.parquet")
    assert (tmp_path / "url.parquet").is_dir()
    for name in ("out.parquet", "out.csv", "out.arrow"):
        release.save(tmp_path / name, certificate=paper)
        assert (tmp_path / name).is_dir() == (name != "out.arrow")
        for engine in ("duckdb", "spark")[: 1 + (tmp_path / name).is_dir()]:
            source = open_source(tmp_path / name, Reading(engine=engine))
            assert source.n_rows == release.audit.rows
            assert source.digest() in paper.read_text()


def test_files_are_released_into_folders(spark: Any, ward: Path, tmp_path: Path) -> None:
    ours = tclose.anonymize(
        ward / "hospital.csv", ward / "policy.toml", output=tmp_path / "out.csv",
        method="mondrian", key=KEY, reading=SPARK,
    )  # fmt: skip
    theirs = tclose.anonymize(
        ward / "hospital.csv", ward / "policy.toml", output=tmp_path / "file.csv",
        method="mondrian", key=KEY,
    )  # fmt: skip
    mine, other = told(ours), told(theirs)
    assert mine["hashes"].pop("output") != other["hashes"].pop("output")
    assert mine == other
    (part,) = (tmp_path / "out.csv").glob("*.csv")
    assert part.read_bytes() == (tmp_path / "file.csv").read_bytes()


def test_an_output_that_is_there_is_refused_before_the_search(
    frame: Any, ward: Path, tmp_path: Path
) -> None:
    target = tmp_path / "out.parquet"
    target.write_text("mine")

    def searching(step: Any) -> None:
        raise AssertionError("the search has begun")

    with pytest.raises(DataError, match="this exists already"):
        tclose.anonymize(frame, ward / "policy.toml", output=target, progress=searching)
    with pytest.raises(UsageError, match="is an input"):
        tclose.anonymize(
            ward / "hospital.csv", ward / "policy.toml", output=ward / "hospital.csv",
            reading=SPARK,
        )  # fmt: skip


def test_rows_that_come_out_anew_are_kept_as_first_read(spark: Any) -> None:
    from pyspark.sql import functions

    frame = spark.range(300).select(
        functions.floor(functions.rand() * 20).alias("age"),
        functions.when(functions.rand() < 0.5, "flu").otherwise("gout").alias("ill"),
    )
    source = open_source(frame)
    assert source.notes and source.digest() == source.digest()
    policy = {"k": 5, "columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 0.4}}}
    release = tclose.anonymize(source, policy, method="mondrian")
    assert release.data.count() == 300 and tclose.verify(release.data, policy).holds


def test_a_release_does_not_change_with_its_table(spark: Any, tmp_path: Path) -> None:
    place = str(tmp_path / "people.parquet")
    spark.createDataFrame(people()).write.parquet(place)
    release = tclose.anonymize(spark.read.parquet(place), rules(), method="mondrian")
    before = values(release.data.toArrow())
    spark.createDataFrame(people(30)).write.mode("overwrite").parquet(place)
    assert values(release.data.toArrow()) == before


def test_a_table_that_changes_while_it_is_read_is_not_released(spark: Any, tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    shown.write_text("60")

    def rows(batches: Any) -> Any:
        count = int(shown.read_text())
        for batch in batches:
            yield batch.slice(0, count)

    from tclose.data.engines.spark.frames import map_batches

    given = people().drop_columns(["note"])
    one = spark.createDataFrame(given).coalesce(1)
    frame = map_batches(one, rows, one.schema)
    policy = rules()
    policy["columns"] = {n: r for n, r in policy["columns"].items() if n != "note"}

    def fewer(step: Any) -> None:
        shown.write_text("40")

    for output in (None, tmp_path / "out.parquet"):
        shown.write_text("60")
        with pytest.raises(DataError, match="other rows when it was read again"):
            tclose.anonymize(frame, policy, method="mondrian", progress=fewer, output=output)
    assert [one.name for one in tmp_path.iterdir()] == ["shown"]


def test_a_checkpoint_directory_is_used_where_there_is_one(spark: Any, tmp_path: Path) -> None:
    from tclose.data.engines.spark.frames import pin

    spark.sparkContext.setCheckpointDir(str(tmp_path))
    try:
        kept = pin(spark.range(5))
        assert kept.count() == 5 and any(tmp_path.rglob("part-*"))
    finally:
        spark.sparkContext._jsc.sc().setCheckpointDir(None)
    assert spark.sparkContext.getCheckpointDir() is None
