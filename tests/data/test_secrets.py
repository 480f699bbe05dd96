"""No error, note or verdict shows a value of the table: a value is somebody's."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import tclose
from tclose import TcloseError
from tclose.cli.console import command_line
from tclose.data.io.paths import conceal, hide_passwords, refuse_address
from tclose.workflows.inputs import parse_embedded_policy

SECRET = "zQ7-hidden-Xy"
NO_MATRIX = f"v,{SECRET}\n{SECRET},{SECRET}\n"


def table() -> pa.Table:
    return pa.table(
        {
            "zip": ["47677", SECRET, None, "47905"],
            "illness": [SECRET, "flu", "flu", None],
            "pay": [1.0, float("inf"), 2.0, 3.0],
            "list": [[SECRET], [], [], []],
        }
    )


def rules(**columns: Any) -> dict[str, Any]:
    roles = {"zip": "quasi", "illness": "sensitive", "pay": "insensitive", "list": "insensitive"}
    return {"columns": {**roles, **columns}}


def sensitive(**more: Any) -> dict[str, Any]:
    return {"role": "sensitive", **more}


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


MISTAKES: dict[str, Callable[[Path], Any]] = {
    "value outside a hierarchy": lambda _: tclose.audit(
        table(), rules(illness=sensitive(hierarchy={"groups": {"a": ["flu"]}}))
    ),
    "quasi value outside a hierarchy": lambda _: tclose.audit(
        table(), rules(zip={"role": "quasi", "hierarchy": {"groups": {"a": ["47677"]}}})
    ),
    "value outside an order": lambda _: tclose.audit(
        table(), rules(illness=sensitive(order=["flu", "cold"]))
    ),
    "protected value unknown": lambda _: tclose.audit(
        table(), rules(illness=sensitive(alpha={"max": "1/2", "values": ["nobody's"]}))
    ),
    "no numeric distance": lambda _: tclose.audit(
        table(), rules(illness=sensitive(distance="numeric", t=1))
    ),
    "no ordered distance": lambda _: tclose.audit(
        table(), rules(illness=sensitive(distance="ordered", t=1))
    ),
    "infinite numbers": lambda _: tclose.audit(
        table(), rules(pay=sensitive(distance="numeric", t=1))
    ),
    "missing values forbidden": lambda _: tclose.audit(
        table(), rules(illness=sensitive(missing="forbid"))
    ),
    "intervals of words": lambda _: tclose.audit(
        table(), rules(zip={"role": "quasi", "hierarchy": {"intervals": [10]}})
    ),
    "dates of words": lambda _: tclose.audit(
        table(), rules(zip={"role": "quasi", "hierarchy": {"dates": ["year"]}})
    ),
    "nested column": lambda _: tclose.audit(table(), rules(list="quasi")),
    "unknown class": lambda _: tclose.explain(table(), rules(), class_number=99),
    "unknown attribute": lambda _: tclose.explain(table(), rules(), attribute="pay"),
    "nothing promised": lambda _: tclose.verify(table(), rules()),
    "value without a row in the matrix": lambda folder: tclose.audit(
        table(),
        rules(
            illness=sensitive(
                t=1, distance={"matrix": str(written(folder, "m.csv", "v,flu\nflu,0\n"))}
            )
        ),
    ),
    "matrix that is none": lambda folder: tclose.audit(
        table(),
        rules(
            illness=sensitive(
                t=1,
                distance={"matrix": str(written(folder, "m.csv", NO_MATRIX))},
            )
        ),
    ),
    "hierarchy that contradicts itself": lambda folder: tclose.audit(
        table(),
        rules(
            illness=sensitive(
                hierarchy=str(written(folder, "h.csv", f"{SECRET},a,*\n{SECRET},b,*\n"))
            )
        ),
    ),
    "row with too many fields": lambda folder: tclose.audit(
        written(folder, "t.csv", f"zip,illness\n1,flu\n{SECRET},flu,{SECRET}\n"),
        quasi="zip", sensitive="illness",
    ),
    "open quote": lambda folder: tclose.audit(
        written(folder, "t.csv", f'zip,illness\n1,flu\n2,"{SECRET}\n'),
        quasi="zip", sensitive="illness",
    ),
    "mixed kinds in one column": lambda _: tclose.audit(
        pd.DataFrame({"zip": [1, SECRET, 2.5], "illness": ["a", "b", "c"]}),
        quasi="zip", sensitive="illness",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_no_error_shows_a_value(name: str, tmp_path: Path) -> None:
    with pytest.raises(TcloseError) as refused:
        MISTAKES[name](tmp_path)
    shown = str(refused.value) + repr(refused.value)
    assert SECRET not in shown
    assert not any(part in shown for part in ("hidden", "nobody's"))
    assert refused.value.__cause__ is None or SECRET not in str(refused.value.__cause__)


def test_no_audit_told_as_plain_values_shows_one() -> None:
    result = tclose.audit(table(), rules(illness=sensitive(t=0, l=4, p=4, alpha="1/9")))
    assert SECRET not in json.dumps(result.to_json())
    assert SECRET not in str(result)
    assert SECRET not in "".join(str(verdict) for verdict in result.requirements)


def test_no_table_that_was_checked_shows_one() -> None:
    found = tclose.check(table(), rules(illness=sensitive(t=1)))
    assert repr(found) == str(found) == "<BoundTable: frame: 4 rows in 4 classes>"


ADDRESSES = [
    "postgresql+psycopg://ann:HUSH@db/clinic",
    "jdbc:postgresql://ann:HUSH@db/clinic",
    "jdbc:postgresql://db/clinic?user=ann&password=HUSH",
    " postgresql://ann:HUSH@db/clinic#t",
    "mysql://ann:HUSH@db/clinic",
    "postgresql:/ann:HUSH@db/clinic",
    "http://ann:HUSH@host/x.csv",
    "https://host/x.csv?access_token=HUSH",
    "s3a://ann:HUSH@bucket/x.parquet",
    "https://ann:HU@SH@host/HUSH@x.csv",
    "ann:HUSH@db:5432/clinic",
    "host=db user=ann password=HUSH",
    "dbname=clinic password='HUSH SH@'",
    "jdbc:oracle:thin:ann/HUSH@db:1521:x",
    "postgresql//ann:HUSH@db/clinic",
    "postgresql%3A//ann:HUSH@db/clinic",
    "//ann:HUSH@db/clinic",
    "ann:HUSH@db:5432",
    "ann/HUSH@db:1521/x",
    "md:clinic?motherduck_token=HUSH",
    "Server=db;Database=clinic;User Id=ann;Password=HUSH;",
    "DRIVER={PostgreSQL};SERVER=db;UID=ann;PWD=HUSH",
    "password=HUSH host=db",
    "PGPASSWORD=HUSH",
    "abfss://people@store/x.csv?sas=HUSH",
    "https://store/x.csv?X-Amz-Signature=HUSH&sig=HUSH",
]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("option", ["", "--policy=", "-o"])
def test_no_password_of_any_address_is_shown(address: str, option: str) -> None:
    (shown,) = hide_passwords([option + address])
    assert "HUSH" not in shown and "SH@" not in shown


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_without_its_password_is_still_no_file(address: str) -> None:
    (shown,) = hide_passwords([address])
    with pytest.raises(TcloseError, match=r"address|not a table"):
        refuse_address(shown)
    assert hide_passwords([f"--policy={address}"]) == [f"--policy={shown}"]


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_address_becomes_a_folder_or_is_quoted(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    good = pa.table({"zip": ["1", "1"], "illness": ["flu", "flu"]})
    policy = {"k": 2, "columns": {"zip": "quasi", "illness": {"role": "sensitive", "t": 1}}}
    for verb in (
        lambda: tclose.anonymize(good, policy, output=address),
        lambda: tclose.anonymize(good, policy, output=tmp_path / "a.csv", certificate=address),
        lambda: tclose.audit(address, policy),
    ):
        with pytest.raises(TcloseError) as refused:
            verb()
        assert "HUSH" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", [["--query", "{}"], ["--query={}"]])
def test_no_query_is_in_a_certificate(form: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    query = r"SELECT * FROM t WHERE a = E'O\'Brien SECRET' AND salary = 123456"
    words = [word.format(query) for word in form]
    monkeypatch.setattr(
        "sys.argv", ["tclose", "audit", "postgresql://db/x", *words, "-p", "p.toml"]
    )
    told = command_line()
    assert "SECRET" not in told and "123456" not in told and told.endswith("-p p.toml")


@pytest.mark.parametrize(
    "words",
    [
        ["a:b@c.csv"],
        ["--person=user=ann"],
        ["--person", "password=1234;pwd=2"],
        ["--prior", "?token=0.3", "--quasi", "a;b"],
        ["--query=SELECT 'x:y@z/' FROM t WHERE user = 1"],
        ["--query", "SELECT * FROM t WHERE page = 'http://ann:x@host/'"],
        ["--query=SELECT * FROM t WHERE page = 'http://ann:x@host/?key=1'"],
    ],
)
def test_what_is_no_address_stays_as_it_is(words: list[str]) -> None:
    assert conceal(words) == words


def test_no_pickled_release_holds_the_table_that_it_was_made_from() -> None:
    names = [f"secret-{at}" for at in range(12)]
    table = pa.table({"name": names, "age": range(20, 32), "ill": ["flu", "ulcer"] * 6})
    columns = {"name": "identifier", "age": "quasi", "ill": {"role": "sensitive", "t": 0.5}}
    release = tclose.anonymize(table, {"k": 3, "columns": columns}, effort=0)
    kept = pickle.dumps(release)
    assert b"secret-" not in kept
    again = pickle.loads(kept)
    assert again.holds and again.data.equals(release.data)
    with pytest.raises(tclose.UsageError, match="pickled"):
        again.report()


@pytest.mark.parametrize("kind", ["hierarchy", "matrix", "reference", "population"])
@pytest.mark.parametrize("scheme", ["postgresql", "https", "s3"])
def test_an_address_in_a_policy_is_refused_without_its_password(
    tmp_path: Path, kind: str, scheme: str
) -> None:
    url = f"{scheme}://ann:{SECRET}@127.0.0.1/x"
    columns: dict[str, Any] = {"zip": "quasi", "ill": {"role": "sensitive", "t": 1}}
    raw: dict[str, Any] = {"k": 1, "columns": columns}
    if kind == "population":
        raw["population"] = url
    elif kind == "hierarchy":
        columns["zip"] = {"role": "quasi", "hierarchy": url}
    else:
        key = {"matrix": {"distance": {"matrix": url}}, "reference": {"reference": {"file": url}}}
        columns["ill"] |= key[kind]
    data = pa.table({"zip": ["1", "2"], "ill": ["a", "b"]})
    (tmp_path / "p.json").write_text(json.dumps(raw))
    tries: list[Callable[[], Any]] = [
        lambda: tclose.audit(data, tmp_path / "p.json"),
        lambda: tclose.verify(data, raw),
        lambda: tclose.anonymize(data, tclose.Policy.build(**raw)),
        lambda: parse_embedded_policy(raw, tmp_path, keeper="certificate"),
    ]
    for attempt in tries:
        with pytest.raises(TcloseError) as refused:
            attempt()
        assert SECRET not in str(refused.value)
        assert "address" in str(refused.value) or "must be a file" in str(refused.value)
