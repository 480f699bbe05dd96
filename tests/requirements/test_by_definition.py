"""Every requirement on random tables against loops over classes and values."""

from __future__ import annotations

import json
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import ot
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tclose
from tclose import Verdict

PLAIN = {
    "t": (0, 1), "entropy": (1, 4), "recursive": (Fraction(1, 2), 4), "probabilistic": (1, 4),
    "alpha": (Fraction(1, 12), 1), "basic": (Fraction(1, 12), 4),
    "enhanced": (Fraction(1, 12), 4), "delta": (Fraction(1, 12), 3),
}  # fmt: skip


def policy(limit: dict[str, Any], distance: str) -> dict[str, Any]:
    return {
        "k": limit["k"],
        "columns": {
            "u": "quasi",
            "v": "quasi",
            "s": {
                "role": "sensitive",
                "hierarchy": {"groups": limit["groups"]},
                "distance": distance,
                "t": str(limit["t"]),
                "p": limit["p"],
                "l": {
                    "distinct": limit["distinct"],
                    "entropy": str(limit["entropy"]),
                    "recursive": {"c": str(limit["recursive"]), "l": 2},
                    "probabilistic": str(limit["probabilistic"]),
                },
                "alpha": str(limit["alpha"]),
                "beta": {"basic": str(limit["basic"]), "enhanced": str(limit["enhanced"])},
                "delta": str(limit["delta"]),
            },
        },
    }


LIMIT_OF = {
    "k-anonymity": "k",
    "t-closeness": "t",
    "p-sensitive-k-anonymity": "p",
    "distinct-l-diversity": "distinct",
    "entropy-l-diversity": "entropy",
    "recursive-(c,l)-diversity": "recursive",
    "probabilistic-l-diversity": "probabilistic",
    "alpha-k-anonymity": "alpha",
    "basic-beta-likeness": "basic",
    "enhanced-beta-likeness": "enhanced",
    "delta-disclosure": "delta",
}


def check_attained(brute: Any, verdict: Verdict, scenes: list[Any]) -> None:
    model = brute.MODELS[verdict.requirement, verdict.distance]
    worst = model.worst(scenes)
    assert brute.agrees(verdict.achieved, worst), verdict.title
    if isinstance(worst, Fraction):
        assert verdict.achieved_exact == worst, verdict.title
    assert verdict.worst_class == brute.first_worst(model, scenes) + 1, verdict.title
    found = verdict.measurement.value
    for value, scene in zip(found, scenes, strict=True):
        assert brute.agrees(float(value), model.attains(scene)), verdict.title


def check_limit(brute: Any, verdict: Verdict, scenes: list[Any], limit: Fraction) -> None:
    model = brute.MODELS[verdict.requirement, verdict.distance]
    values = [model.attains(scene) for scene in scenes]
    for value in values:
        # Floats cannot say on which side of the limit they are; such cases have tests of their own.
        assume(isinstance(value, Fraction) or math.isinf(value) or abs(value - limit) > 1e-9)
    fails = [model.breaks(value, limit) for value in values]
    assert verdict.measurement.fails.tolist() == fails, verdict.title
    assert verdict.failing_classes == sum(fails)
    assert verdict.failing_rows == sum(s.size for s, f in zip(scenes, fails, strict=True) if f)
    assert verdict.holds == (not any(fails))
    for margin, value in zip(verdict.measurement.margin, values, strict=True):
        slack = value - limit if model.small_is_bad else limit - value
        assert brute.agrees(float(margin), slack), verdict.title


@settings(max_examples=40)
@given(data=st.data())
def test_every_requirement_is_what_its_definition_says(brute: Any, data: Any) -> None:
    rows = data.draw(brute.rows_of())
    distance = data.draw(
        st.sampled_from(["equal", "ordered", "numeric", "hierarchical", "kl", "js"])
    )
    limit: dict[str, Any] = {
        key: data.draw(brute.limits(Fraction(low), Fraction(high)))
        for key, (low, high) in PLAIN.items()
    }
    limit |= {key: data.draw(st.integers(1, 4)) for key in ("k", "p", "distinct")}
    rules = policy({**limit, "groups": brute.GROUPS}, distance)
    audit = tclose.audit(brute.as_table(rows, ["u", "v", "s"]), rules)
    scenes = brute.scenes(rows, 2, 2)
    assert (audit.rows, audit.classes) == (len(rows), len(scenes))
    assert audit.k == min(scene.size for scene in scenes)
    named = {(v.requirement, v.distance) for v in audit.requirements}
    assert {name for name, _ in named} == set(LIMIT_OF)
    for verdict in audit.requirements:
        check_attained(brute, verdict, scenes)
        check_limit(brute, verdict, scenes, Fraction(limit[LIMIT_OF[verdict.requirement]]))
    for verdict in audit.measured:
        assert (verdict.requirement, verdict.distance) not in named
        check_attained(brute, verdict, scenes)
    measured = {(v.requirement, v.distance) for v in audit.measured} | named
    assert measured == set(brute.MODELS)
    assert audit.holds == all(verdict.holds for verdict in audit.requirements)


@settings(max_examples=15)
@given(data=st.data(), l=st.integers(1, 5))
def test_recursive_diversity_for_every_l(brute: Any, data: Any, l: int) -> None:
    rows = data.draw(brute.rows_of(most=12))
    c = data.draw(brute.limits(Fraction(1, 4), Fraction(3)))
    column = {"role": "sensitive", "l": {"recursive": {"c": str(c), "l": l}}}
    audit = tclose.verify(
        brute.as_table(rows, ["u", "v", "s"]),
        {"columns": {"u": "quasi", "v": "quasi", "s": column}},
    )
    values = [brute.recursive(scene, l) for scene in brute.scenes(rows, 2, 2)]
    assert audit.requirements[0].achieved == pytest.approx(float(max(values)))
    assert audit.requirements[0].measurement.fails.tolist() == [value >= c for value in values]


@settings(max_examples=15)
@given(data=st.data())
def test_alpha_of_named_values_and_the_other_readings_of_delta(brute: Any, data: Any) -> None:
    rows = data.draw(brute.rows_of(most=12))
    present = sorted({row[2] for row in rows})
    named = data.draw(st.lists(st.sampled_from(present), min_size=1, unique=True))
    column = {
        "role": "sensitive",
        "alpha": {"max": "1/3", "values": named},
        "delta": {"max": 1, "base": "2", "absent": "ignore"},
    }
    audit = tclose.verify(
        brute.as_table(rows, ["u", "v", "s"]),
        {"columns": {"u": "quasi", "v": "quasi", "s": column}},
    )
    scenes = brute.scenes(rows, 2, 2)
    alpha, delta = audit.requirements
    shares = [max(scene.p(value) for value in named) for scene in scenes]
    assert alpha.achieved_exact == max(shares)
    assert alpha.measurement.fails.tolist() == [share > Fraction(1, 3) for share in shares]
    changes = [brute.change(scene, 2, True) for scene in scenes]
    assert delta.achieved == pytest.approx(max(changes))
    ratios = [{scene.p(v) / scene.q(v) for v in scene.values if scene.p(v)} for scene in scenes]
    broken = [any(not Fraction(1, 2) < ratio < 2 for ratio in some) for some in ratios]
    assert delta.measurement.fails.tolist() == broken


@settings(max_examples=15)
@given(data=st.data())
def test_the_cross_reading_knows_the_other_sensitive_attributes(brute: Any, data: Any) -> None:
    rows = data.draw(brute.rows_of(quasi=("ab",), sensitive=2))
    t = data.draw(brute.limits(Fraction(0), Fraction(1)))
    column = {"role": "sensitive", "t": str(t), "distance": "equal", "l": 2}
    rules = {
        "readings": ["separate", "cross"],
        "columns": {"u": "quasi", "s": column, "w": {**column, "distance": "ordered"}},
    }
    audit = tclose.verify(brute.as_table(rows, ["u", "s", "w"]), rules)
    assert len(audit.requirements) == 8
    classes = sorted({row[0] for row in rows})
    for verdict in audit.requirements:
        mine, other = (1, 2) if verdict.attribute == "s" else (2, 1)
        known = [(row[0], row[other]) if verdict.reading == "cross" else (row[0],) for row in rows]
        scenes = brute.scenes_by(known, [row[mine] for row in rows])
        model = brute.MODELS[verdict.requirement, verdict.distance]
        values = [model.attains(scene) for scene in scenes]
        limit = t if verdict.requirement == "t-closeness" else Fraction(2)
        fails = [model.breaks(value, limit) for value in values]
        assert verdict.achieved_exact == model.worst(scenes)
        assert verdict.failing_classes == sum(fails)
        assert verdict.failing_rows == sum(s.size for s, f in zip(scenes, fails, strict=True) if f)
        within = sorted(set(known))[brute.first_worst(model, scenes)][0]
        assert verdict.worst_class == classes.index(within) + 1


@settings(max_examples=15)
@given(data=st.data(), by=st.sampled_from(["equal", "mean", "max"]))
def test_the_joint_reading_compares_combinations(brute: Any, data: Any, by: str) -> None:
    rows = data.draw(brute.rows_of(quasi=("ab",), sensitive=2, most=10))
    rules = {
        "columns": {
            "u": "quasi",
            "s": {"role": "sensitive", "distance": "ordered"},
            "w": {"role": "sensitive", "distance": "equal"},
        },
        "joint": [{"columns": ["s", "w"], "t": "1/2", "distance": by}],
    }
    verdict = tclose.verify(brute.as_table(rows, ["u", "s", "w"]), rules).requirements[0]
    pairs = sorted({row[1:] for row in rows})
    ranks = {value: at for at, value in enumerate(sorted({row[1] for row in rows}))}
    wide = max(len(ranks) - 1, 1)

    def apart(one: tuple[str, str], other: tuple[str, str]) -> Fraction:
        if by == "equal":
            return Fraction(one != other)
        each = [Fraction(abs(ranks[one[0]] - ranks[other[0]]), wide), Fraction(one[1] != other[1])]
        return max(each) if by == "max" else sum(each, Fraction(0)) / 2

    cost = np.array([[float(apart(one, other)) for other in pairs] for one in pairs])
    whole = Counter(row[1:] for row in rows)
    q = np.array([whole[pair] / len(rows) for pair in pairs])
    values = []
    for key in sorted({row[0] for row in rows}):
        mine = Counter(row[1:] for row in rows if row[0] == key)
        p = np.array([mine[pair] / mine.total() for pair in pairs])
        values.append(float(ot.emd2(p / p.sum(), q / q.sum(), cost)))
    assert verdict.measurement.value == pytest.approx(np.array(values), abs=1e-9)
    assert verdict.achieved_exact is not None
    assert float(verdict.achieved_exact) == pytest.approx(max(values), abs=1e-9)
    clear = [abs(value - 0.5) > 1e-9 for value in values]
    fails = verdict.measurement.fails.tolist()
    assert all(f == (value > 0.5) for f, value, c in zip(fails, values, clear, strict=True) if c)


def test_the_cross_reading_of_a_single_attribute_still_keeps_its_promise(brute: Any) -> None:
    table = brute.as_table([("a", "1"), ("a", "1"), ("b", "2"), ("b", "2")], ["u", "s"])
    rules = {"readings": ["cross"], "columns": {"u": "quasi", "s": {"role": "sensitive", "t": 0}}}
    audit = tclose.verify(table, rules)
    assert [v.requirement for v in audit.requirements] == ["t-closeness"]
    assert not audit.holds


def test_a_matrix_of_distances_is_read_from_its_file(brute: Any, tmp_path: Any) -> None:
    (tmp_path / "far.csv").write_text("value,b,a,c\nb,0,1,4\na,1,0,2\nc,4,2,0\n")
    rows = [("x", "a"), ("x", "b"), ("y", "c"), ("y", "a")]
    column = {"role": "sensitive", "t": "1/2", "distance": {"matrix": "far.csv"}}
    (tmp_path / "policy.json").write_text(json.dumps({"columns": {"u": "quasi", "s": column}}))
    verdict = tclose.verify(
        brute.as_table(rows, ["u", "s"]), tmp_path / "policy.json"
    ).requirements[0]
    # Through a, b and c are 3 apart, which is the largest distance: class x has a quarter too much
    # of b and lacks a quarter of c, and moves it all the way.
    assert verdict.achieved_exact == Fraction(1, 4)
    assert "shortened" in verdict.note
    assert "divided" in verdict.note
