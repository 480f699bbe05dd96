"""One battery over every engine: the same classes, certificates and released values, to the bit."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import tclose
from tclose import Reading

# One library asks another by a name that the other wants to forget.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning"),
]

ROWS = 240
KEY = b"a key of the steward"
TREE = {"groups": {"lungs": ["asthma", "flu"], "belly": ["ulcer", "gastritis"], "other": ["gout"]}}
RULES: dict[str, Any] = {
    "k": 4,
    "columns": {
        "name": "identifier",
        "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20, 40]}},
        "zip": {"role": "quasi", "hierarchy": {"prefix": [4, 3, 2, 0]}},
        "town": "quasi",
        "seen": "quasi",
        "illness": {"role": "sensitive", "t": 0.35, "hierarchy": TREE},
        "pay": {"role": "sensitive", "t": 0.3, "distance": "ordered"},
        "dose": "insensitive",
        "remark": "insensitive",
    },
    "release": {"rows": "keep"},  # engines shuffle differently
}


def people(seed: int = 1) -> pa.Table:
    """Made-up people, with gaps, and texts that engines like to get wrong."""
    chance = np.random.default_rng(seed)
    age = chance.integers(18, 90, ROWS)
    towns = ["Ulm", "Köln", "Ǻrhus", "a 'quoted', town", "NULL", None]
    remarks = ["", "x\ny", '"', "💊", None, "-"]
    illness = list(TREE["groups"]["lungs"] + TREE["groups"]["belly"] + TREE["groups"]["other"])
    started = dt.date(2024, 1, 1)
    return pa.table(
        {
            "name": [f"person {at}" for at in range(ROWS)],
            "age": pa.array(age, pa.int64()),
            "zip": [f"{code:04d}" for code in chance.integers(0, 60, ROWS)],
            "town": [towns[at] for at in chance.integers(0, len(towns), ROWS)],
            "seen": [started + dt.timedelta(days=int(day)) for day in chance.integers(0, 9, ROWS)],
            "illness": [illness[at] for at in chance.integers(0, len(illness), ROWS)],
            "pay": pa.array(chance.integers(1, 9, ROWS), pa.int64()),
            "dose": pa.array(chance.choice([0.1, 1e-7, 2.5, 1e16], ROWS)),
            "remark": [remarks[at] for at in chance.integers(0, len(remarks), ROWS)],
        }
    )


@dataclass(frozen=True)
class Engine:
    """How a table gets into an engine, and a release out of it."""

    name: str
    given: Callable[[pa.Table, Path, pytest.FixtureRequest], Any]
    back: Callable[[Any], pa.Table] = lambda data: data
    ordered: bool = True
    file: bool = False
    """Whether what is hashed is a file, not rows."""
    types: bool = True
    """Whether columns have types; a CSV file has texts only."""


def _parquet(table: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Path:
    pq.write_table(table, folder / "in.parquet", row_group_size=50)
    return folder / "in.parquet"


def _folder(table: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Path:
    place = folder / "parts"
    place.mkdir()
    for at in range(3):
        pq.write_table(table.slice(at * 80, 80), place / f"part-{at}.parquet")
    (place / "_SUCCESS").touch()
    return place


def _pattern(table: pa.Table, folder: Path, request: pytest.FixtureRequest) -> str:
    return str(_folder(table, folder, request) / "part-*.parquet")


def _csv(table: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Path:
    filled = table.set_column(8, "remark", table.column("remark").combine_chunks().fill_null("-"))
    pa.csv.write_csv(filled, folder / "in.csv")
    return folder / "in.csv"


def _arrow(table: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Path:
    with pa.ipc.new_file(folder / "in.arrow", table.schema) as file:
        file.write_table(table, max_chunksize=70)
    return folder / "in.arrow"


def _relation(table: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Any:
    connection = duckdb.connect()
    connection.register("given", table)
    connection.execute("CREATE TABLE people AS SELECT * FROM given")
    return connection.table("people")


def _spark(table: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Any:
    session = request.getfixturevalue("spark")
    return session.createDataFrame(table).repartition(3)


def _ibis(table: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Any:
    import ibis

    connection = ibis.duckdb.connect()
    connection.con.register("given", table)
    connection.con.execute("CREATE TABLE people AS SELECT * FROM given")
    return connection.table("people")


def _postgres(table: pa.Table, folder: Path, request: pytest.FixtureRequest) -> str:
    database = request.getfixturevalue("database")
    address: str = database.put("people", table)
    return address


def _from_pandas(data: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(data, preserve_index=False)


ENGINES = [
    Engine("pandas", lambda table, *_: table.to_pandas(), _from_pandas),
    Engine(
        "pandas on Arrow",
        lambda table, *_: table.to_pandas(types_mapper=pd.ArrowDtype),
        _from_pandas,
    ),
    Engine("polars", lambda table, *_: pl.from_arrow(table), lambda data: data.to_arrow()),
    Engine(
        "polars, lazy",
        lambda table, *_: pl.from_arrow(table).lazy(),
        lambda data: data.collect().to_arrow(),
    ),
    Engine("pyarrow", lambda table, *_: table),
    Engine(
        "pyarrow dataset",
        lambda table, *_: pa.dataset.dataset(table),
        lambda data: data.to_table(),
    ),
    Engine("DuckDB relation", _relation, lambda data: data.to_arrow_table(), ordered=False),
    Engine("Parquet file", _parquet, file=True),
    Engine("Parquet folder", _folder, file=True),
    Engine("Parquet pattern", _pattern, file=True),
    Engine("Arrow file", _arrow, file=True),
    Engine("CSV file", _csv, file=True, types=False),
    Engine("Spark", _spark, lambda data: data.toArrow(), ordered=False),
    Engine("Ibis on DuckDB", _ibis, lambda data: data.to_pyarrow(), ordered=False),
    Engine("PostgreSQL", _postgres, ordered=False),
]
every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)


def told(release: tclose.Release, engine: Engine) -> dict[str, Any]:
    """What a certificate tells of a release, whatever engine made it."""
    content = release.certificate.to_json()
    content.pop("tried", None)  # by the clock
    hashes = dict(content["hashes"])
    if not engine.types:
        hashes.pop("output")
    return content | {"hashes": hashes}


def texts(table: pa.Table, engine: Engine) -> list[tuple[str | None, ...]]:
    """The rows as texts; sorted where the engine keeps no order."""
    columns = []
    for name in table.column_names:
        column = table.column(name)
        if name == "remark" and not engine.types:
            column = pa.chunked_array([["" for _ in range(table.num_rows)]])
        values = column.to_pylist()
        columns.append([None if one is None or one != one else str(one) for one in values])
    rows = list(zip(*columns, strict=True))
    return rows if engine.ordered else sorted(rows, key=repr)


def compare(engine: Engine, made: tclose.Release, known: tclose.Release, judged: Any) -> None:
    """The same certificate and the same rows, of more than one class."""
    judged(known.certificate.classes > 1, engine.name, least=1)
    mine, theirs = told(made, engine), told(known, engine)
    assert mine == theirs
    released = engine.back(made.data)
    assert released.column_names == known.data.column_names
    if engine.types:
        for name in ("pay", "dose"):
            assert released.schema.field(name).type == known.data.schema.field(name).type
    if not engine.types:
        dose = [one and float(one) for one in released.column("dose").to_pylist()]
        assert dose == known.data.column("dose").to_pylist()
        released, other = released.drop_columns(["dose"]), known.data.drop_columns(["dose"])
    else:
        other = known.data
    assert texts(released, engine) == texts(other, engine)


@every_engine
def test_audits_are_the_same(
    engine: Engine, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    data = engine.given(people(), tmp_path, request)
    found, known = tclose.audit(data, RULES), tclose.audit(people(), RULES)
    assert found.to_json() | {"source": ""} == known.to_json() | {"source": ""}
    assert [one.label for one in found.worst] == [one.label for one in known.worst]
    found = tclose.verify(data, RULES)
    assert [one.to_json() for one in found.requirements] == [
        one.to_json() for one in tclose.verify(people(), RULES).requirements
    ]


@every_engine
@pytest.mark.parametrize(
    ("method", "release"),
    [
        ("mondrian", {"identifiers": "pseudonym"}),
        ("hybrid", {"identifiers": "mask"}),
        ("optimal", {"leftover": "hide"}),
    ],
)
def test_releases_are_the_same(
    engine: Engine,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    method: str,
    release: dict[str, Any],
    judged: Any,
) -> None:
    rules = {**RULES, "release": {**release, "rows": "keep"}}
    how: dict[str, Any] = {"method": method, "effort": 0.2, "key": KEY}
    if method == "optimal":
        how["suppression"] = 0.2
    data = engine.given(people(), tmp_path, request)
    made = tclose.anonymize(data, rules, **how)
    known = tclose.anonymize(people(), rules, **how)
    compare(engine, made, known, judged)
    assert made.plan is not None and known.plan is not None
    plans = [release.plan.model_copy(update={"provenance": None}) for release in (made, known)]
    assert plans[0].to_json() == plans[1].to_json()
    if engine.types and not engine.file:
        assert tclose.verify(made.data, rules).holds


CLEANED: dict[str, Any] = {
    **RULES,
    "columns": {
        **RULES["columns"],
        "town": {
            "role": "quasi",
            "nulls": ["NULL"],
            "clean": {"case": "upper", "replace": {"KÖLN": "ULM"}},
        },
        "seen": {"role": "quasi", "age_on": "2100-01-05"},
        "dose": {"role": "insensitive", "nulls": [2.5]},
        "pay": {**RULES["columns"]["pay"], "clean": {"round": 2, "top": 6}},
    },
}


@every_engine
@pytest.mark.parametrize("leftover", ["drop", "hide"])
def test_cleaned_releases_are_the_same(
    engine: Engine, tmp_path: Path, request: pytest.FixtureRequest, leftover: str, judged: Any
) -> None:
    rules = {**CLEANED, "release": {"leftover": leftover, "rows": "keep"}}
    how = {"method": "mondrian"}
    if leftover == "hide":
        how = {"method": "optimal", "suppression": 0.2}
    made = tclose.anonymize(engine.given(people(), tmp_path, request), rules, **how)
    known = tclose.anonymize(people(), rules, **how)
    compare(engine, made, known, judged)
    pay = {value for value in known.data.column("pay").to_pylist() if value is not None}
    assert pay <= {2, 4, 6} and tclose.verify(known.data, rules).holds
    assert 2.5 not in known.data.column("dose").to_pylist()


@every_engine
def test_plans_are_applied_the_same(
    engine: Engine, tmp_path: Path, request: pytest.FixtureRequest, judged: Any
) -> None:
    plan = tclose.anonymize(people(), RULES, method="mondrian").plan
    assert plan is not None
    later = people(seed=2)
    made = tclose.apply(plan, engine.given(later, tmp_path, request))
    compare(engine, made, tclose.apply(plan, later), judged)


PARTS = ["pyarrow", "pandas", "Parquet file", "CSV file", "Spark"]


@pytest.mark.parametrize(
    "engine", [one for one in ENGINES if one.name in PARTS], ids=lambda engine: engine.name
)
@pytest.mark.parametrize("rules", [RULES, CLEANED], ids=["raw", "cleaned"])
def test_releases_in_fragments_are_the_same(
    engine: Engine,
    rules: dict[str, Any],
    tmp_path: Path,
    request: pytest.FixtureRequest,
    judged: Any,
) -> None:
    reading = Reading(max_cells=60)
    data = engine.given(people(), tmp_path, request)
    made = tclose.anonymize(data, rules, reading=reading)
    known = tclose.anonymize(people(), rules, reading=reading)
    assert made.certificate.fragments > 1
    compare(engine, made, known, judged)
