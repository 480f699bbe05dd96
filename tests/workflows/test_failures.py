"""What cannot be done is refused early and clearly, and leaves nothing behind."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import Result

import tclose
from tclose.errors import TcloseError, UsageError
from tclose.recode.plan import Plan
from tclose.workflows.release import task

TABLE = pa.table({"age": list(range(20, 32)), "ill": ["flu", "ulcer", "cough"] * 4})


def rules(**more: Any) -> dict[str, Any]:
    ill = {"role": "sensitive", "t": "1/2"} | more.pop("ill", {})
    return {"k": 3, "columns": {"age": "quasi", "ill": ill}, **more}


@pytest.fixture
def no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that must not be reached."""

    def problem_of(*_: Any) -> None:
        raise AssertionError("this should have been refused before")

    monkeypatch.setattr(task, "problem_of", problem_of)


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize(
    ("outputs", "says"),
    [
        ({"output": "out.xls"}, "unknown kind of file"),
        ({"output": "out"}, "unknown kind of file"),
        ({"output": "folder.csv"}, "a folder, not a file"),
        ({"output": "a file/out.csv"}, "cannot be written"),
        ({"output": "/proc/nowhere/out.csv"}, "cannot be written"),
        ({"output": "out.csv", "certificate": "/proc/nowhere/c.json"}, "cannot be written"),
        ({"output": "out.csv", "plan": "folder.csv"}, "a folder, not a file"),
        ({"output": "same.csv", "plan": "same.csv"}, "two outputs have the same name"),
        ({"output": "out.csv", "method": "mondrain"}, "no such method"),
        ({"output": "out.csv", "suppression": "much"}, "share of the rows"),
        ({"output": "out.csv", "suppression": 1.5}, "share of the rows"),
    ],
)
def test_what_cannot_be_written_is_refused_before_searching(
    elsewhere: Path, outputs: dict[str, Any], says: str
) -> None:
    (elsewhere / "folder.csv").mkdir()
    (elsewhere / "a file").write_text("")
    before = sorted(elsewhere.rglob("*"))
    with pytest.raises(TcloseError, match=says):
        tclose.anonymize(TABLE, rules(), **outputs)
    assert sorted(elsewhere.rglob("*")) == before


def test_a_missing_folder_is_made(elsewhere: Path) -> None:
    target = elsewhere / "new" / "folder" / "out.csv"
    assert tclose.anonymize(TABLE, rules(), output=target, method="mondrian").path == target
    assert target.is_file()


@pytest.mark.parametrize("which", ["table", "policy", "linked"])
@pytest.mark.parametrize("option", ["-o", "--plan", "--certificate"])
def test_no_input_is_written_over(
    run: Callable[..., Result], clinic: Mapping[str, Path], which: str, option: str
) -> None:
    linked = clinic["table"].with_name("linked.csv")
    linked.hardlink_to(clinic["table"])
    target = linked if which == "linked" else clinic[which]
    if option == "-o" and which == "policy":
        pytest.skip("a release has another suffix")
    given = ["-o", "out.csv", option, target] if option != "-o" else ["-o", target]
    before = {path: path.read_bytes() for path in (clinic["table"], clinic["policy"])}
    result = run("anonymize", clinic["table"], "--policy", clinic["policy"], *given)
    assert result.exit_code == 2 and "the output is an input" in result.stderr
    assert {path: path.read_bytes() for path in before} == before
    assert not Path("out.csv").exists()


def test_neither_a_plan_nor_a_key_is_written_over(
    run: Callable[..., Result], clinic: Mapping[str, Path]
) -> None:
    key = Path("key.json")
    key.write_text("sixteen bytes or more of a secret")
    made = run(
        "anonymize", clinic["table"], "--policy", clinic["policy"], "-o", "out.csv",
        "--plan", "plan.json", "--method", "mondrian",
    )  # fmt: skip
    assert made.exit_code == 0
    before = Path("plan.json").read_bytes()
    secret = ("--key-file", key, "--certificate", key)
    for given in (
        ("apply", "plan.json", clinic["table"], "-o", "again.csv", "--certificate", "plan.json"),
        ("apply", "plan.json", clinic["table"], "-o", "again.csv", *secret),
        ("anonymize", clinic["table"], "--policy", clinic["policy"], "-o", "again.csv", *secret),
    ):
        result = run(*given)
        assert result.exit_code == 2 and "the output is an input" in result.stderr
    assert Path("plan.json").read_bytes() == before
    assert key.read_text().startswith("sixteen")
    assert not Path("again.csv").exists()


@pytest.mark.parametrize("limit", ["seconds", "effort"])
@pytest.mark.parametrize("amount", [math.inf, math.nan, -1.0])
def test_a_search_without_end_is_refused(limit: str, amount: float) -> None:
    with pytest.raises(UsageError, match="finite number, 0 or more"):
        tclose.anonymize(TABLE, rules(), **{limit: amount})


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        (rules() | {"k": 13}, ("k-anonymity", "13", "12")),
        (rules(ill={"l": 4}), ("distinct", "4", "3")),
        (rules(ill={"alpha": "1/4"}), ("1/3",)),
    ],
)
def test_a_promise_that_cannot_be_kept_is_explained_by_the_nearest_that_can(
    tmp_path: Path, policy: dict[str, Any], says: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError, match="no release can keep this promise") as error:
        tclose.anonymize(TABLE, policy, output=tmp_path / "out.csv", method="mondrian")
    assert "the whole table as one class attains" in str(error.value)
    for words in says:
        assert words in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_policy_without_a_promise_is_refused() -> None:
    with pytest.raises(UsageError, match="promises nothing"):
        tclose.anonymize(TABLE, {"columns": {"age": "quasi", "ill": "sensitive"}})


def test_a_stale_part_disturbs_nobody(elsewhere: Path) -> None:
    stale = elsewhere / ".out.abc123.part.csv"
    stale.write_text("half a release")
    tclose.anonymize(TABLE, rules(), output="out.csv", method="mondrian")
    assert stale.read_text() == "half a release"
    assert (elsewhere / "out.csv").read_text().startswith("age,ill\n")


def test_a_release_that_does_not_keep_its_promise_never_appears(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a search proposes: the count of what was written decides."""
    honest = task.method_named("mondrian")

    class Liar:
        improves = takes_objective = False

        def run(self, problem: Any, budget: Any) -> Any:
            from dataclasses import replace

            import numpy as np

            outcome = honest.run(problem, budget)
            return replace(outcome, label=np.arange(len(outcome.label)))

    monkeypatch.setattr(task, "method_named", lambda name: Liar())
    with pytest.raises(TcloseError, match="does not keep its promise"):
        tclose.anonymize(TABLE, rules(), output="out.csv", certificate="c.json")
    assert list(elsewhere.iterdir()) == []


# --- plans


def plan(policy: dict[str, Any] | None = None) -> Plan:
    return tclose.anonymize(TABLE, policy or rules(), method="mondrian").plan


def test_a_plan_survives_its_file() -> None:
    made = plan()
    assert Plan.from_json(json.loads(json.dumps(made.to_json()))) == made
    assert not any(ill in json.dumps(made.to_json()) for ill in ("flu", "ulcer", "cough"))


def test_a_plan_for_other_columns_is_refused() -> None:
    other = TABLE.rename_columns(["years", "ill"])
    policy = {"k": 3, "columns": {"years": "quasi", "ill": {"role": "sensitive", "t": 1}}}
    with pytest.raises(UsageError, match="are not those of the table"):
        tclose.apply(plan(), other, policy=policy)
    with pytest.raises(TcloseError, match="no such column"):
        tclose.apply(plan(), other)


def test_a_plan_of_central_values_is_refused() -> None:
    central = plan(rules(release={"recoding": "mean"}))
    with pytest.raises(UsageError, match="central value"):
        tclose.apply(central, TABLE)


def test_rows_outside_are_counted(elsewhere: Path) -> None:
    more = pa.table(
        {"age": [*range(20, 32), 5, 99], "ill": ["flu", "ulcer", "cough"] * 4 + ["flu"] * 2}
    )
    applied = tclose.apply(plan(), more, output="out.csv", certificate="c.json")
    assert (applied.outside, applied.left_out) == (2, 2)
    content = json.loads((elsewhere / "c.json").read_text())
    assert (content["outside"], content["held_back"], content["input_rows"]) == (2, 0, 14)


def test_nothing_is_written_where_no_row_fits(elsewhere: Path) -> None:
    strangers = pa.table({"age": [99] * 4, "ill": ["flu"] * 4})
    with pytest.raises(UsageError, match="nothing was written"):
        tclose.apply(plan(), strangers, output="out.csv")
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw.pop("columns"),
        lambda raw: raw.update(tclose_plan=9),
        lambda raw: raw["columns"][0].update(values="text"),
        lambda raw: raw["columns"][0].update(values=[1]),
        lambda raw: raw.update(policy=[]),
        lambda raw: raw.update(cuts=[{"class": 99}]),
        lambda raw: raw.update(cuts=[{"column": "age", "border": [], "left": 0, "right": 0}]),
        lambda raw: raw.update(cuts=[{"column": "age", "border": [7], "left": 1, "right": 2}]),
        lambda raw: raw.update(cuts="text"),
        lambda raw: raw.update(levels={"zip": 1}),
        lambda raw: raw.update(levels=[1]),
        lambda raw: raw["columns"][0]["values"].__setitem__(0, "no number"),
    ],
)
def test_a_damaged_plan_is_refused(
    run: Callable[..., Result], clinic: Mapping[str, Path], damage: Callable[[dict], None]
) -> None:
    raw = plan().to_json()
    damage(raw)
    clinic["plan"].write_text(json.dumps(raw))
    result = run("apply", clinic["plan"], clinic["table"], "-o", "out.csv")
    assert result.exit_code == 2 and "bug in tclose" not in result.stderr
    assert not Path("out.csv").exists()


def test_equal_frames_have_equal_hashes() -> None:
    one, two = (tclose.anonymize(TABLE, rules(), method="mondrian") for _ in range(2))
    assert one.certificate.hashes == two.certificate.hashes
    other = TABLE.set_column(1, "ill", pa.array(["flu", "cough", "ulcer"] * 4))
    changed = tclose.anonymize(other, rules(), method="mondrian")
    assert changed.plan.provenance.input != one.plan.provenance.input
    assert len(hashlib.sha256().hexdigest()) == len(one.certificate.hashes.output)
