"""Full-domain recoding: every value as its group on one level, found again value by value."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

import tclose
from tclose.cli import app
from tclose.distance.histogram import group_codes
from tclose.errors import UsageError
from tclose.recode.plan import Plan
from tclose.recode.recoding import recode_outcome
from tclose.search import Budget, Outcome, method_named, problem_of
from tclose.search.problem import number_classes

pytestmark = pytest.mark.slow

ABOVE = {"a": "x", "b": "x", "c": "x", "d": "y", "e": "y"}
RULES: dict[str, Any] = {
    "k": 2,
    "columns": {
        "n": {"role": "quasi", "hierarchy": {"intervals": [10, 20]}},
        "g": {"role": "quasi", "hierarchy": {"groups": {"x": ["a", "b", "c"], "y": ["d", "e"]}}},
        "w": "quasi",
        "s": {"role": "sensitive", "t": "1/2", "distance": "equal"},
    },
}
DEPTH = {"n": 4, "g": 3, "w": 2}


def told(column: str, value: Any, level: int, *, with_missing: bool) -> str | None:
    """What a value is released as on a level."""
    if level == DEPTH[column] - 1 and (with_missing or column == "w"):
        return "*"
    if value is None:
        return None
    if level == 0:
        return str(value)
    if column == "g":
        return ABOVE[value] if level == 1 else "*"
    if level == DEPTH[column] - 1:
        return "*"
    wide = 10 if level == 1 else 20
    return f"[{value // wide * wide}, {value // wide * wide + wide})"


def lost(column: str, value: Any, level: int, leaves: dict[str, set]) -> Fraction:
    label = told(column, value, level, with_missing=None in leaves[column])
    if label is None or level == 0:
        return Fraction(0)
    if label == "*":
        return Fraction(1)
    others = leaves[column] - {None} if column == "n" else set(ABOVE)
    below = [one for one in others if told(column, one, level, with_missing=False) == label]
    return Fraction(len(below) - 1, max(len(others) - 1, 1))


@st.composite
def tables(draw: Callable[[Any], Any]) -> list[dict[str, Any]]:
    gap = draw(st.booleans())
    some = {
        "n": st.integers(0, 45),
        "g": st.sampled_from("abcde"),
        "w": st.sampled_from(["p", "q", "r"]),
    }
    if gap:
        some = {name: st.one_of(one, one, st.none()) for name, one in some.items()}
    some["s"] = st.sampled_from("uv")
    return draw(st.lists(st.fixed_dictionaries(some), min_size=4, max_size=25))


def as_table(rows: list[dict[str, Any]]) -> pa.Table:
    kinds = {"n": pa.int64()}
    return pa.table(
        {
            name: pa.array([row[name] for row in rows], kinds.get(name, pa.string()))
            for name in "ngws"
        }
    )


@settings(
    max_examples=60, deadline=None, phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(tables(), st.integers(0, 3), st.integers(0, 2), st.integers(0, 1))
def test_every_value_is_released_as_its_group(
    rows: list[dict[str, Any]], of_n: int, of_g: int, of_w: int
) -> None:
    assume(any(row["n"] is not None for row in rows))  # no numbers, no intervals of them
    bound = tclose.check(as_table(rows), RULES)
    levels = {"n": of_n, "g": of_g, "w": of_w}
    seen = {name: {row[name] for row in rows} for name in "ngw"}
    words = {
        name: [told(name, row[name], levels[name], with_missing=None in seen[name]) for row in rows]
        for name in "ngw"
    }
    number = {key: at for at, key in enumerate(dict.fromkeys(zip(*words.values(), strict=True)))}
    # The same classes as a search would label them: by the released words of any row of a cell.
    by_raw = {
        tuple(row[name] for name in "ngws"): number[tuple(words[q][at] for q in "ngw")]
        for at, row in enumerate(rows)
    }
    cells = bound.cells
    raw = [
        tuple(
            None
            if cells.codes[name][at] >= cells.dictionaries[name].known
            else cells.dictionaries[name].values[int(cells.codes[name][at])].as_py()
            for name in "ngws"
        )
        for at in range(len(cells.rows))
    ]
    label = number_classes(np.array([by_raw[key] for key in raw]))
    outcome = Outcome(label, 0.0, "by hand", "finished", (), False, levels=(of_n, of_g, of_w))
    made = recode_outcome(bound, outcome)
    for name, one in zip("ngw", made.released, strict=True):
        for at, key in enumerate(raw):
            value = key["ngws".index(name)]
            expected = told(name, value, levels[name], with_missing=None in seen[name])
            assert one.values[made.label[at]] == expected
    rows_lost = {
        name: sum(lost(name, row[name], levels[name], seen) for row in rows) for name in "ngw"
    }
    for name, total in rows_lost.items():
        assert made.loss.columns[name] == pytest.approx(float(total / len(rows)))


@settings(
    max_examples=15, deadline=None, phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(tables(), tables())
def test_a_plan_of_levels_recodes_new_rows_by_the_same_levels(
    judged: Any, old: list[dict[str, Any]], new: list[dict[str, Any]]
) -> None:
    release = tclose.anonymize(as_table(old), RULES, method="optimal", seconds=5, suppression="1/4")
    assert release.outcome is not None
    levels = dict(zip("ngw", release.outcome.levels or (), strict=True))
    content = release.certificate.to_json()
    assert content["levels"] == levels and release.loss.overall == pytest.approx(
        release.outcome.loss
    )
    assert content["optimality"]["no_less_than"] <= release.outcome.loss + 1e-12
    plan = Plan.from_json(json.loads(json.dumps(release.plan.to_json())))
    assert plan.levels == levels and plan.way == "levels"
    try:
        applied = tclose.apply(plan, as_table(new))
    except UsageError:
        judged(False, least=0.5)
        return
    judged(True, least=0.5)
    assert applied.applied is not None
    seen = {name: {row[name] for row in new} for name in "ngw"}
    expected = Counter(
        tuple(
            told(name, row[name], levels[name], with_missing=None in seen[name]) for name in "ngw"
        )
        for row in new
    )
    released = Counter(tuple(row[name] for name in "ngw") for row in applied.data.to_pylist())
    assert all(released[key] == expected[key] for key in released)
    assert applied.outside == 0 and applied.left_out == len(new) - sum(released.values())


def strangers() -> pa.Table:
    return pa.table({"g": ["a", "b", "d", "e", "unheard of"] * 4, "s": ["u", "v"] * 10})


@pytest.mark.parametrize("method", ["optimal", "mondrian", "mondrian-relaxed"])
def test_values_that_the_hierarchy_does_not_know_are_outside(method: str) -> None:
    rules = {"k": 2, "columns": {"g": RULES["columns"]["g"], "s": RULES["columns"]["s"]}}
    old = pa.table({"g": ["a", "b", "c", "d", "e"] * 4, "s": ["u", "v"] * 10})
    plan = tclose.anonymize(old, rules, method=method, seconds=2).plan
    applied = tclose.apply(plan, strangers())
    assert applied.outside == 4 and applied.audit.rows == 16
    where = applied.certificate.left_out.parts["g"]
    assert where.get("unknown") == 4 or sum(where.values()) == 4


def test_another_hierarchy_is_noticed() -> None:
    rules = {"k": 2, "columns": {"g": RULES["columns"]["g"], "s": RULES["columns"]["s"]}}
    old = pa.table({"g": ["a", "b", "c", "d", "e"] * 4, "s": ["u", "v"] * 10})
    plan = tclose.anonymize(old, rules, method="optimal", seconds=2).plan
    other = {"role": "quasi", "hierarchy": {"groups": {"x": ["a", "b"], "y": ["c", "d", "e"]}}}
    changed = rules | {"columns": {"g": other, "s": RULES["columns"]["s"]}}
    applied = tclose.apply(plan, old, policy=changed)
    assert applied.applied is not None and applied.applied.changed == ("g",)


def test_classes_that_are_not_those_of_the_levels_are_a_bug() -> None:
    table = pa.table({"n": [1, 11, 21, 31], "g": list("abde"), "w": ["p"] * 4, "s": list("uvuv")})
    bound = tclose.check(table, RULES)
    outcome = method_named("mondrian").run(problem_of(bound), Budget(seconds=5.0))
    apart = replace(outcome, label=group_codes([np.arange(4)])[0], levels=(3, 2, 1))
    with pytest.raises(Exception, match="levels"):
        recode_outcome(bound, apart)


def test_the_commands_tell_levels_and_ways(tmp_path: Path) -> None:
    lines = ["n,g,w,s"] + [f"{at % 40},{'abcde'[at % 5]},p,{'uv'[at % 2]}" for at in range(80)]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "policy.json").write_text(json.dumps(RULES))

    def run(*arguments: object) -> Result:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    for method, way, says in (
        ("optimal", "levels", "recoded to the plan's levels"),
        ("mondrian", "cuts", "assigned to classes by the plan's cuts"),
        ("hybrid", "cuts", "assigned to classes by the plan's cuts"),
        ("mondrian-relaxed", "classes", "nearest class of the plan"),
    ):
        plan, out = tmp_path / f"{method}.json", tmp_path / "out.csv"
        made = run(
            "anonymize", tmp_path / "table.csv", "--policy", tmp_path / "policy.json", "-o", out,
            "--plan", plan, "--method", method, "--effort", "0.5", "--json", "--force",
        )  # fmt: skip
        assert made.exit_code == 0, made.stdout
        assert ("levels" in json.loads(made.stdout)) == (way == "levels")
        again = ("apply", plan, tmp_path / "table.csv", "-o", tmp_path / "next.csv", "--force")
        assert says in " ".join(run(*again).stdout.split())
        applied = json.loads(run(*again, "--json").stdout)
        assert applied["way"] == way and applied["outside"] == 0
