"""The promise holds exactly on what was written, whatever the table and the kind of file."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import tclose
from tclose import Reading
from tclose.data.io.counting import file_hash
from tclose.errors import UsageError
from tclose.policy.load import policy_from
from tclose.recode.insertion import Applied
from tclose.recode.plan import Plan
from tclose.verify.recheck import recheck

pytestmark = pytest.mark.slow

INFEASIBLE = "no release can keep this promise"
WAYS = [
    ("in.csv", ",", "out.csv", ","),
    ("in.csv", ";", "out.csv", ";"),
    ("in.csv", "\t", "out.csv", "\t"),
    ("in.csv", ",", "out.tsv", "\t"),
    ("in.csv", ";", "out.parquet", ""),
    ("in.parquet", "", "out.csv", ","),
    ("in.parquet", "", "out.parquet", ""),
    ("in.arrow", "", "out.arrow", ""),
    ("in.parquet", "", "out.arrow", ""),
]
slow = settings(
    max_examples=24,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    phases=[Phase.generate],  # an example takes a second: shrinking one would take minutes
)


def sound(judge: Any, case: Any, released: list, kept: list | None = None) -> None:
    """Promise kept, nothing but quasi-identifiers changed, every label true of its row."""
    raw = case.rows if kept is None else kept
    assert judge.broken(case, released) == []
    assert len(released) == len(raw)
    for row, was in zip(released, raw, strict=True):
        assert list(row) == [name for name in was if name != "id"]
        for name, value in row.items():
            if name in case.quasi:
                assert judge.covers(case, name, value, was[name]), (name, value, was[name])
            else:
                assert value == was[name]


@slow
@given(data=st.data(), way=st.sampled_from(WAYS))
def test_a_written_release_keeps_its_promise(
    judge: Any, some_cases: Any, folder: Path, data: Any, way: tuple, judged: Any
) -> None:
    case = data.draw(some_cases() | some_cases(feasible=False))
    source, mark, target, out_mark = way
    table = case.write(folder / source, mark)
    policy = policy_from(case.policy | {"release": {"rows": "keep"}}, folder)
    reading = Reading(delimiter=mark or None)
    output = folder / target
    output.unlink(missing_ok=True)
    try:
        release = tclose.anonymize(table, policy, output=output, method="mondrian", reading=reading)
    except UsageError as error:
        assert INFEASIBLE in str(error) and not output.exists()
        assert judge.broken(case, case.rows, quasi=[])
        judged(False, least=0.5)
        return
    judged(True, least=0.5)
    sound(judge, case, judge.read(output, out_mark))
    counted = tclose.check(output, policy, reading=Reading(delimiter=out_mark or None))
    assert release.plan.provenance.input == file_hash(table)
    assert counted.classes.n_rows == len(case.rows)
    lines = recheck(release.certificate, release.audit, file_hash(output))
    assert [line for line in lines if line.confirmed is False] == []
    for verdict in release.audit.requirements:
        if verdict.requirement == "t-closeness":
            name = str(verdict.attribute)
            assert verdict.achieved_exact == farthest(
                judge, case, judge.read(output, out_mark), name
            )


def farthest(judge: Any, case: Any, rows: list, name: str) -> Fraction:
    everyone = [row[name] for row in rows]
    classes: dict[tuple, list] = {}
    for row in rows:
        classes.setdefault(tuple(row[one] for one in case.quasi), []).append(row[name])
    return max(judge.distance(case, name, mine, everyone) for mine in classes.values())


@settings(slow, max_examples=8)
@given(data=st.data(), kind=st.sampled_from(["pandas", "polars", "pyarrow"]))
def test_a_framed_release_keeps_its_promise(
    judge: Any, some_cases: Any, folder: Path, data: Any, kind: str
) -> None:
    case = data.draw(some_cases())
    table = case.table()
    frame: Any = table
    if kind == "pandas":
        frame = table.to_pandas(types_mapper={}.get)
    if kind == "polars":
        frame = pytest.importorskip("polars").from_arrow(table)
    release = tclose.anonymize(
        frame, policy_from(case.policy | {"release": {"rows": "keep"}}, folder), method="mondrian"
    )
    assert type(release.data) is type(frame)
    rows = [
        {name: text.removesuffix(".0") if text and name in case.kinds else text
         for name, text in row.items()}
        for row in judge.frame(release.data)
    ]  # fmt: skip
    sound(judge, case, rows)


@settings(slow, max_examples=6)
@given(data=st.data(), share=st.sampled_from(["0", "0.1", "1/3"]))
def test_rows_may_be_left_out_up_to_the_share_allowed(
    judge: Any, some_cases: Any, folder: Path, data: Any, share: str
) -> None:
    case = data.draw(some_cases(25))
    table, output = case.write(folder / "in.parquet"), folder / "left.csv"
    release = tclose.anonymize(
        table,
        policy_from(case.policy | {"release": {"rows": "keep"}}, folder),
        output=output,
        seconds=0.2,
        suppression=share,
    )
    released = judge.read(output)
    assert judge.broken(case, released) == []
    assert len(case.rows) - len(released) == release.left_out
    assert release.left_out <= Fraction(share) * len(case.rows)
    told = release.certificate.left_out
    assert all(sum(parts.values()) == told.rows for parts in told.parts.values())


@settings(slow, max_examples=12)
@given(data=st.data())
def test_an_applied_plan_keeps_the_promise_on_other_rows(
    judge: Any, some_cases: Any, folder: Path, data: Any, judged: Any
) -> None:
    case = data.draw(some_cases())
    table, policy = (
        case.write(folder / "in.csv"),
        policy_from(case.policy | {"release": {"rows": "keep"}}, folder),
    )
    release = tclose.anonymize(table, policy, method="mondrian")
    picked = data.draw(st.lists(st.sampled_from(case.rows), min_size=1, max_size=40))
    shaken = [dict(row) for row in picked]
    for name in case.kinds:
        for row, other in zip(shaken, data.draw(st.permutations(picked)), strict=True):
            row[name] = other[name]
        if case.kinds[name] in ("ordered", "numeric") and all(r[name] is None for r in shaken):
            shaken[0][name] = "5"
    fresh = type(case)(shaken, case.kinds, case.policy, case.chains)
    output = folder / "applied.csv"
    output.unlink(missing_ok=True)
    try:
        applied = tclose.apply(
            release.plan, fresh.write(folder / "fresh.csv"), base=folder, output=output
        )
    except UsageError as error:
        assert "nothing was written" in str(error)
        assert not output.exists()
        judged(False, least=0.2)
        return
    judged(True, least=0.2)
    released = judge.read(output)
    assert judge.broken(fresh, released) == []
    assert len(released) + applied.left_out == len(shaken)
    content = applied.certificate.to_json()
    assert applied.left_out == content["outside"] + content["held_back"]
    fits = [
        any(
            all(
                judge.covers(fresh, one.column, one.values[at], row[one.column])
                for one in release.plan.columns
            )
            for at in range(release.plan.classes)
        )
        for row in shaken
    ]
    assert applied.outside <= fits.count(False)  # a class may be widened
    if applied.left_out == 0:
        sound(judge, fresh, released)


@settings(slow, max_examples=12)
@given(data=st.data())
def test_a_plan_of_cuts_applied_to_its_own_table_makes_the_same_release(
    judge: Any, some_cases: Any, folder: Path, data: Any
) -> None:
    case = data.draw(some_cases())
    table, policy = (
        case.write(folder / "in.csv"),
        policy_from(case.policy | {"release": {"rows": "keep"}}, folder),
    )
    release = tclose.anonymize(
        table, policy, method="mondrian", output=folder / "first.csv", plan=folder / "p.json"
    )
    plan = Plan.from_json(json.loads((folder / "p.json").read_text()))
    assert plan == release.plan and plan.way == "cuts"
    applied = tclose.apply(plan, table, base=folder, output=folder / "again.csv")
    assert applied.applied == Applied("cuts", outside=0, held_back=0, widened=0)
    assert (folder / "again.csv").read_bytes() == (folder / "first.csv").read_bytes()
    assert applied.loss.overall == pytest.approx(release.loss.overall)


@settings(slow, max_examples=6)
@given(data=st.data())
def test_a_plan_of_classes_applied_to_its_own_table_covers_every_row(
    judge: Any, some_cases: Any, folder: Path, data: Any, judged: Any
) -> None:
    case = data.draw(some_cases())
    table, policy = (
        case.write(folder / "in.csv"),
        policy_from(case.policy | {"release": {"rows": "keep"}}, folder),
    )
    release = tclose.anonymize(table, policy, method="mondrian-relaxed")
    assert release.plan.way == "classes"
    try:
        applied = tclose.apply(release.plan, table, base=folder, output=folder / "again.csv")
    except UsageError as error:
        assert "nothing was written" in str(error)
        judged(False, least=0.2)
        return
    judged(True, least=0.2)
    assert applied.outside == 0
    assert judge.broken(case, judge.read(folder / "again.csv")) == []
