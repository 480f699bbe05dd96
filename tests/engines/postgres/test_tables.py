"""Tables in a real PostgreSQL: the same values, counts and releases as in memory."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tclose
from tclose import TcloseError
from tclose.data.opening import open_source
from tclose.data.source import ROWS
from tclose.errors import DataError, UsageError
from tclose.sample import write_hospital
from tclose.sample.hospital import HOSPITAL_SCHEMA, hospital_blocks

KEY = b"sixteen bytes or more"


def read(data: Any) -> pa.Table:
    rows = open_source(data).stream()
    return pa.Table.from_batches(rows.batches(), rows.schema)


def multiset(table: pa.Table) -> list[str]:
    return sorted(repr(row) for row in table.to_pylist())


def hospital(rows: int = 600) -> pa.Table:
    return pa.Table.from_batches(hospital_blocks(rows, 1), HOSPITAL_SCHEMA)


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_hospital(tmp_path_factory.mktemp("hospital"), rows=10)[1]


# Values


def test_every_type_comes_through_exactly(database: Any) -> None:
    database.make_kinds()
    source = open_source(database.url("kinds"))
    first, second, third = read(source).to_pylist()
    assert first == {
        "truth": True,
        "small": -1,
        "big": 2**53 + 1,
        "single": 0.10000000149011612,
        "number": 0.1,
        "free": "1.5",
        "fixed": Decimal("1.50"),
        "long": "1.5",
        "words": "",
        "short": "x",
        "padded": "ab",
        "loose": "Ann",
        "feeling": "fine",
        "id": "00000000-0000-0000-0000-00000000000a",
        "day": date(2024, 1, 2),
        "hour": time(12, 30, 0, 500_000),
        "moment": datetime(2024, 1, 2, 3, 4, 5, 123_456),
        "instant": datetime(2024, 1, 1, 21, 19, 5, 123_456, UTC),
        "span": "P1M2D",
        "bytes": "\\xdead",
        "tree": '{"a": [1, "ü"]}',
        "numbers": "{1,NULL,3}",
        "host": "10.0.0.1/32",
    }
    assert second["words"] == 'a\n"b", ü€𝄞\t' and second["short"] == "y "
    assert [second[name] for name in ("single", "number", "free", "fixed", "long")] == [None] * 5
    assert second["instant"] == datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)
    assert third["number"] == -math.inf and third["words"] is None
    plain = {name for name in source.columns if source.is_scalar(name)}
    assert set(source.columns) - plain == {"span", "bytes", "tree", "numbers"}
    assert source.count_distinct("free") == 2 and source.count_distinct("loose") == 3


def test_values_that_cannot_be_counted_are_refused_without_showing_them(database: Any) -> None:
    database.run(
        "CREATE TABLE odd (far date, late time, old timestamp);"
        "INSERT INTO odd VALUES ('infinity', '24:00', '0044-03-15 BC')"
    )
    for column in ("far", "late", "old"):
        with pytest.raises(DataError, match=f"column '{column}'") as refused:
            open_source(database.url("odd")).group([column])
        assert "infinity" not in str(refused.value) and "0044" not in str(refused.value)
    text = f"SELECT far::text, late::text FROM odd"  # noqa: F541
    assert open_source(database.url(), tclose.Reading(query=text)).group(["far"]).num_rows == 1


VALUES = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.int16(): st.integers(-(2**15), 2**15 - 1),
    pa.float64(): st.floats(),
    pa.string(): st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    pa.bool_(): st.booleans(),
    pa.decimal128(12, 3): st.decimals(-(10**8), 10**8, places=3),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(),
    pa.timestamp("us", "UTC"): st.datetimes(timezones=st.just(UTC)),
    pa.time64("us"): st.times(),
}
FRAMES = st.lists(
    st.tuples(*(st.none() | one for one in VALUES.values())), min_size=1, max_size=12
).map(
    lambda rows: pa.table(
        [
            pa.array(column, kind)
            for column, kind in zip(zip(*rows, strict=True), VALUES, strict=True)
        ],
        names=[f'c{at} "%s" ü' for at in range(len(VALUES))],
    )
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FRAMES)
def test_what_is_written_and_read_again_is_the_same(database: Any, frame: pa.Table) -> None:
    database.run('DROP TABLE IF EXISTS "odd; name"')
    there = open_source(database.put('"odd; name"', frame))
    here = open_source(frame)
    assert there.digest() == here.digest()
    names = list(there.columns)
    assert counts(there.group(names)) == counts(here.group(names))
    assert there.n_rows == frame.num_rows
    for name in names:
        assert there.count_distinct(name) == len(counts(there.group([name])))


def counts(table: pa.Table) -> list[tuple[str, int]]:
    """The tuples as text with their weight; NaN is missing, and −0 is 0."""
    found: dict[str, int] = {}
    for row in table.to_pylist():
        weight = row.pop(ROWS)
        told = repr([_plain(value) for value in row.values()])
        found[told] = found.get(told, 0) + weight
    return sorted(found.items())


def _plain(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return (
        None
        if isinstance(value, float) and math.isnan(value)
        else value or (value == "" and "") or value
    )


def test_rows_of_any_length_are_read_in_their_order(database: Any) -> None:
    long = ["x" * 20_000_000, "", 'ü"\n' * 100_000, None, *map(str, range(2_000))]
    url = database.put("long", pa.table({"a": long}))
    assert read(url).column("a").to_pylist() == long
    assert read(url).column("a").to_pylist() == long


def test_a_reading_that_is_given_up_leaves_the_snapshot(database: Any) -> None:
    url = database.put("many", pa.table({"a": list(range(300_000))}))
    source = open_source(url)
    batches = source.stream().batches()
    next(batches)
    database.run("DELETE FROM many WHERE a > 5")
    batches.close()  # type: ignore[attr-defined]
    assert source.n_rows == 300_000
    source.close()
    assert open_source(url).n_rows == 6


# Queries


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 AS a; DROP TABLE people",
        "SELECT 1) AS t; DROP TABLE people; SELECT * FROM (SELECT 1",
        "DELETE FROM people RETURNING *",
        "WITH gone AS (DELETE FROM people RETURNING *) SELECT * FROM gone",
        "SELECT * INTO others FROM people",
        "TRUNCATE people",
        "SELECT a, a FROM people",
        "SELECT nothing FROM people",
        "SELECT * FROM people FOR UPDATE",
        "SELECT nextval('numbers') AS a",
        "",
    ],
)
def test_only_one_select_is_asked(database: Any, query: str) -> None:
    database.run("CREATE TABLE people AS SELECT 1 AS a; CREATE SEQUENCE numbers")
    with pytest.raises(TcloseError):
        open_source(database.url(), tclose.Reading(query=query)).group(["a"])
    assert database.tables() == ["people"]
    assert database.run("SELECT count(*) FROM people") == [(1,)]


@pytest.mark.parametrize(
    "query",
    ["SELECT a FROM people -- all", "(SELECT a FROM people);", "TABLE people", "VALUES (1), (2)",
     "/* why */ WITH x AS (SELECT a FROM people) SELECT * FROM x ORDER BY a DESC",
     "SELECT '100%' || ':%s' AS a FROM people"],
)  # fmt: skip
def test_every_kind_of_select_is_read(database: Any, query: str) -> None:
    database.run("CREATE TABLE people AS SELECT generate_series(1, 2) AS a")
    source = open_source(database.url(), tclose.Reading(query=query))
    assert source.n_rows == 2 and read(source).num_rows == 2
    assert source.name == f"a query in {database.name}"


def test_a_query_needs_a_database_without_a_table(database: Any) -> None:
    database.run("CREATE TABLE people AS SELECT 1 AS a, 2 AS b")
    asking = tclose.Reading(query="SELECT a, b FROM people")
    assert tclose.audit(database.url(), quasi="a", sensitive="b", reading=asking).rows == 1
    for wrong in (database.url("people"), "file.csv", pa.table({"a": [1], "b": [2]})):
        with pytest.raises(UsageError, match="no database to ask"):
            tclose.audit(wrong, quasi="a", sensitive="b", reading=asking)
    with pytest.raises(UsageError, match="the address names no table"):
        tclose.audit(database.url(), quasi="a", sensitive="b")
