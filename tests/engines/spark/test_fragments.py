"""Tables whose cells do not fit the driver: searched on the cluster, whatever its workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tclose
from tclose import Reading
from tclose.errors import TooManyCells

ROWS = 400
RULES: dict[str, Any] = {
    "k": 5,
    "columns": {
        "age": "quasi",
        "zip": {"role": "quasi", "hierarchy": {"prefix": [3, 2, 1, 0]}},
        "dose": "quasi",
        "ill": {"role": "sensitive", "t": 0.3, "distance": "equal"},
        "pay": {"role": "sensitive", "t": 0.25, "distance": "ordered"},
        "seen": "insensitive",
    },
}
READING = Reading(max_cells=80)


def people() -> pa.Table:
    chance = np.random.default_rng(4)
    age = chance.integers(18, 90, ROWS)
    ill = np.minimum(4, (age / 30 + chance.random(ROWS) * 3).astype(int))
    moment = pa.array(chance.integers(0, 2**50, ROWS), pa.timestamp("us", tz="UTC"))
    return pa.table(
        {
            "age": pa.array(age, pa.int32(), mask=chance.random(ROWS) < 0.05),
            "zip": [f"{code:03d}" for code in chance.integers(0, 30, ROWS)],
            "dose": chance.choice([1.5, 2.0, np.nan, -0.0, 0.0], ROWS),
            "ill": np.array(list("abcde"))[ill],
            "pay": chance.integers(1, 9, ROWS),
            "seen": moment,
        }
    )


@contextmanager
def set_to(spark: Any, **settings: str) -> Iterator[None]:
    before = {name: spark.conf.get(name) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def test_the_same_release_however_the_work_is_spread(spark: Any, tmp_path: Path) -> None:
    known = tclose.anonymize(people(), RULES, reading=READING).certificate.to_json()
    assert known["fragments"] > 2
    with set_to(spark, **{"spark.sql.shuffle.partitions": "1"}):
        one = tclose.anonymize(spark.createDataFrame(people()).coalesce(1), RULES, reading=READING)
    with set_to(
        spark, **{"spark.sql.shuffle.partitions": "5", "spark.sql.adaptive.enabled": "false"}
    ):
        place = tmp_path / "out.parquet"
        many = tclose.anonymize(
            spark.createDataFrame(people()).repartition(6), RULES, output=place, reading=READING
        )
        assert place.is_dir() and [one.name for one in tmp_path.iterdir()] == ["out.parquet"]
    for made in (one, many):
        content = made.certificate.to_json()
        differ = {name for name in known if content[name] != known[name]}
        assert differ <= {"hashes"}
    assert one.certificate.to_json()["hashes"] == known["hashes"]
    assert one.data.schema["seen"] == spark.createDataFrame(people()).schema["seen"]
    assert tclose.verify(place, RULES).holds


def test_an_audit_on_the_cluster_is_the_audit(spark: Any) -> None:
    frame = spark.createDataFrame(people()).repartition(4)
    found, known = tclose.audit(frame, RULES, reading=READING), tclose.audit(people(), RULES)
    assert found.in_parts and not known.in_parts
    assert [one.to_json() for one in found.requirements] == [
        one.to_json() for one in known.requirements
    ]
    assert (found.rows, found.classes, found.counts) == (known.rows, known.classes, known.counts)


def test_what_needs_all_cells_says_so(spark: Any) -> None:
    frame = spark.createDataFrame(people())
    plan = tclose.anonymize(people(), RULES, method="mondrian").plan
    assert plan is not None
    with pytest.raises(TooManyCells, match="--cells"):
        tclose.apply(plan, frame, reading=READING)
