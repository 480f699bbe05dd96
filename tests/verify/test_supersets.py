"""(n, t)-closeness of releases: every class names its superset, which anybody can count again."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import tclose
from tclose.cli import app
from tclose.data.io.records import SupersetRecord
from tclose.errors import UsageError
from tclose.release import Release
from tclose.verify.certificate import Certificate
from tclose.workflows.release import task

PLACES = {"north": ["a", "b", "c"], "south": ["d", "e"], "west": ["f", "g"]}
GROUP = {place: name for name, places in PLACES.items() for place in places}
N, T = 60, Fraction(1, 5)


def make_table(rows: int = 400, seed: int = 1, gaps: bool = False) -> pa.Table:
    """Illness depends on the place, so that few classes are like the whole table."""
    chance = np.random.default_rng(seed)
    age = chance.integers(20, 80, rows)
    place = chance.choice(list(GROUP), rows)
    sick = np.where([GROUP[each] == "north" for each in place], 0.7, 0.15) > chance.random(rows)
    columns: dict[str, Any] = {
        "age": age.tolist(),
        "place": place.tolist(),
        "colour": chance.choice(["red", "green", "blue"], rows).tolist(),
        "ill": np.where(sick, "flu", chance.choice(["cough", "gout"], rows)).tolist(),
    }
    if gaps:
        for name in ("age", "place", "colour"):
            for at in chance.integers(0, rows, 20).tolist():
                columns[name][at] = None
    return pa.table(columns)


def rules(n: int | None = N, **more: Any) -> dict[str, Any]:
    ill = {"role": "sensitive", "t": str(T), "distance": "equal"}
    return {
        "k": 4,
        "columns": {
            "age": "quasi",
            "place": {"role": "quasi", "hierarchy": {"groups": PLACES}},
            "colour": "quasi",
            "ill": ill if n is None else {**ill, "n": n},
        },
        **more,
    }


@pytest.fixture(scope="module")
def release() -> Release:
    return tclose.anonymize(make_table(), rules(), method="hybrid", effort=0.6)


# --- a judge that shares nothing with the package: labels as sets of what they cover


def cover(name: str, label: str | None) -> frozenset[Any]:
    """What a released value covers; None among it is a missing value."""
    if label is None:
        return frozenset([None])
    if name == "age":
        if label == "*":
            return frozenset([None, *range(20, 80)])
        ends = label.strip("[]").split(",")
        return frozenset(range(int(ends[0]), int(ends[-1]) + 1))
    if name == "place":
        inside = [*GROUP, None] if label == "*" else PLACES.get(label, [label])
        return frozenset(inside)
    if label == "*":
        return frozenset(["red", "green", "blue", None])
    names = [each.strip() for each in label.strip("{}").split(",")]
    return frozenset(None if each == "(missing)" else each for each in names)


def widen(name: str, together: frozenset[Any]) -> frozenset[Any]:
    """The smallest range, node or set that covers all of it."""
    known = together - {None}
    if name == "age" and known:
        return together | frozenset(range(min(known), max(known) + 1))
    if name == "place" and len(known) > 1:
        groups = [frozenset(each) for each in PLACES.values()]
        inside = [group for group in groups if known <= group]
        return (
            inside[0] | together if inside and None not in together else frozenset([*GROUP, None])
        )
    return together


def count_supersets(release: Release) -> int:
    """Every line of the certificate's supersets, by hand; how many classes they are for."""
    quasi = ("age", "place", "colour")
    classes: dict[tuple[str | None, ...], Counter[str]] = {}
    for row in release.data.to_pylist():
        classes.setdefault(tuple(row[name] for name in quasi), Counter())[row["ill"]] += 1
    counted = release.audit.bound.classes
    number = {}
    for at in range(counted.count):
        label = counted.label(at)
        shown = tuple(None if label[name] == "(missing)" else label[name] for name in quasi)
        number[at + 1] = shown
    assert set(number.values()) == set(classes)
    named: list[int] = []
    for record in release.certificate.supersets or ():
        box = [
            widen(
                name, frozenset().union(*(cover(name, number[span][at]) for span in record.spans))
            )
            for at, name in enumerate(quasi)
        ]
        total: Counter[str] = Counter()
        for shown, counts in classes.items():
            parts = [cover(name, label) for name, label in zip(quasi, shown, strict=True)]
            if all(part <= side for part, side in zip(parts, box, strict=True)):
                total += counts
                continue
            assert any(not part & side for part, side in zip(parts, box, strict=True)), (
                "cut through"
            )
        assert total.total() >= N
        for member in record.classes:
            mine = classes[number[member]]
            parts = [cover(name, label) for name, label in zip(quasi, number[member], strict=True)]
            assert all(part <= side for part, side in zip(parts, box, strict=True))
            values = set(total) | set(mine)
            apart = sum(
                abs(Fraction(mine[v], mine.total()) - Fraction(total[v], total.total()))
                for v in values
            )
            assert apart / 2 <= T
        named += record.classes
    assert sorted(named) == sorted(number)
    return len(named)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["hybrid", "nt-mondrian", "optimal", "auto"])
@pytest.mark.parametrize("gaps", [False, True])
def test_every_class_names_a_superset_that_can_be_counted_by_hand(method: str, gaps: bool) -> None:
    found = tclose.anonymize(make_table(gaps=gaps), rules(), method=method, effort=0.6)
    assert count_supersets(found) == found.classes
    assert found.certificate.method == ("hybrid" if method == "auto" else method)


def test_the_supersets_of_a_quick_search_too(release: Release) -> None:
    assert count_supersets(release) == release.classes > 5


@pytest.mark.slow
def test_a_class_close_to_a_region_loses_less_than_one_close_to_the_table() -> None:
    table = make_table(1000)
    near, whole = (tclose.anonymize(table, rules(n), effort=1.0).loss.overall for n in (N, None))
    assert near < whole


# --- what verify says of certificates that are not true


def tamper(release: Release, record: SupersetRecord) -> Certificate:
    """The certificate with another superset for all classes."""
    every = tuple(range(1, release.classes + 1))
    planted = record.model_copy(update={"classes": every})
    return release.certificate.model_copy(update={"supersets": (planted,)})


def judge(release: Release, certificate: Certificate) -> Any:
    audit = tclose.verify(release.data, release.audit.bound.policy, certificate=certificate)
    (verdict,) = (each for each in audit.requirements if each.attribute == "ill")
    assert audit.holds is verdict.holds
    return verdict


def test_a_true_certificate_is_confirmed(release: Release) -> None:
    verdict = judge(release, release.certificate)
    assert verdict.holds is True and verdict.achieved_exact <= T and verdict.note == ""


def test_a_superset_that_is_too_small_is_refuted(release: Release) -> None:
    sizes = release.audit.bound.classes.class_rows
    small = int(np.argmin(sizes)) + 1
    own = {record.spans for record in release.certificate.supersets or ()}
    assert int(sizes.min()) < N and (small,) not in own
    for spans in ((small,),):
        planted = SupersetRecord(attribute="ill", spans=spans, classes=(small,))
        others = [
            record.model_copy(update={"classes": tuple(set(record.classes) - {small})})
            for record in release.certificate.supersets or ()
        ]
        wrong = release.certificate.model_copy(update={"supersets": (*others, planted)})
        verdict = judge(release, wrong)
        assert verdict.holds is False and verdict.failing_classes == 1
        assert verdict.worst_class == small
        assert f"fewer than {N}" in verdict.note or "not natural" in verdict.note


def test_a_superset_that_cuts_through_a_class_is_refuted(release: Release) -> None:
    counted = release.audit.bound.classes
    ages = [cover("age", counted.label(at)["age"]) for at in range(counted.count)]
    places = [cover("place", counted.label(at)["place"]) for at in range(counted.count)]
    colours = [cover("colour", counted.label(at)["colour"]) for at in range(counted.count)]
    cut = next(
        at + 1 for at in range(counted.count)
        if any(
            ages[at] & ages[o] and places[at] & places[o] and colours[at] & colours[o]
            and not (ages[o] <= ages[at] and places[o] <= places[at] and colours[o] <= colours[at])
            for o in range(counted.count) if o != at
        )
    )  # fmt: skip
    verdict = judge(
        release, tamper(release, SupersetRecord(attribute="ill", spans=(cut,), classes=()))
    )
    assert verdict.holds is False and "not natural" in verdict.note


def test_a_superset_that_is_too_far_is_refuted(release: Release) -> None:
    """The whole table covers every class, and not every class is close to it."""
    every = tuple(range(1, release.classes + 1))
    verdict = judge(
        release, tamper(release, SupersetRecord(attribute="ill", spans=every, classes=()))
    )
    assert verdict.holds is False and verdict.note == "" and verdict.achieved_exact > T


def test_a_class_outside_of_its_superset_or_without_one_is_refuted(release: Release) -> None:
    records = release.certificate.supersets or ()
    assert len(records) > 1
    first, second = records[:2]
    swapped = (
        first.model_copy(update={"classes": (*first.classes, *second.classes)}),
        second.model_copy(update={"classes": ()}),
        *records[2:],
    )
    wrong = release.certificate.model_copy(update={"supersets": swapped})
    assert "does not cover" in judge(release, wrong).note
    wrong = release.certificate.model_copy(update={"supersets": records[1:]})
    verdict = judge(release, wrong)
    assert verdict.holds is False and "name no superset" in verdict.note


def test_a_superset_of_classes_that_do_not_exist_is_refuted(release: Release) -> None:
    planted = SupersetRecord(attribute="ill", spans=(10_000,), classes=())
    assert judge(release, tamper(release, planted)).holds is False


def test_the_command_confirms_and_refutes(release: Release, tmp_path: Path) -> None:
    data, true, false = (tmp_path / name for name in ("r.csv", "true.json", "false.json"))
    release.save(data, certificate=true, plan=tmp_path / "plan.json")
    planted = json.loads(true.read_text())
    planted["supersets"][0]["spans"] = planted["supersets"][1]["spans"]
    false.write_text(json.dumps(planted))
    outcomes = [
        CliRunner().invoke(app, ["verify", str(data), "--certificate", str(each)])
        for each in (true, false)
    ]
    assert [each.exit_code for each in outcomes] == [0, 1]
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert sum(len(record["classes"]) for record in plan["supersets"]) == release.classes


def test_a_certificate_names_no_value(release: Release) -> None:
    text = json.dumps([record.to_json() for record in release.certificate.supersets or ()])
    assert not any(word in text for word in (*GROUP.values(), "red", "flu", "[[2"))
    assert "north" not in text


# --- nothing is changed unasked


def make_by_age() -> pa.Table:
    """Only the age tells, so no level of any hierarchy shows what a class is close to."""
    table = make_table()
    chance = np.random.default_rng(2).random(400)
    old = np.array(table.column("age").to_pylist()) > 50
    ill = np.where(chance < np.where(old, 0.9, 0.1), "flu", "gout")
    return table.set_column(3, "ill", pa.array(ill.tolist()))


class Forgetful:
    """A method that forgets the supersets of its classes, so that nothing can be proved."""

    name, improves = "nt-mondrian", False

    def run(self, problem: Any, budget: Any) -> Any:
        return replace(tclose.search.method_named(self.name).run(problem, budget), supersets=None)


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = task.method_named
    monkeypatch.setattr(
        task,
        "method_named",
        lambda name: Forgetful() if name == "nt-mondrian" else honest(name),
    )


@pytest.mark.usefixtures("forgetful")
def test_what_is_not_proved_is_refused_and_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not keep its promise") as error:
        tclose.anonymize(
            make_by_age(), rules(), method="nt-mondrian", output=tmp_path / "r.csv", effort=0.2
        )
    assert "search.fallback" in str(error.value) and "--fallback" in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize("asked", ["policy", "argument"])
def test_a_fallback_that_was_asked_for_is_told_first(asked: str) -> None:
    policy = rules(search={"fallback": True}) if asked == "policy" else rules()
    told = None if asked == "policy" else True
    found = tclose.anonymize(make_by_age(), policy, method="nt-mondrian", effort=0.2, fallback=told)
    first = str(found).splitlines()[0]
    assert first.startswith("fallback: auto in place of nt-mondrian, closeness to the whole table")
    assert found.certificate.fallback in first and found.holds
    assert found.certificate.supersets is None


def test_nothing_falls_back_that_is_proved(release: Release) -> None:
    assert release.certificate.fallback is None and release.certificate.method == "hybrid"
    again = tclose.anonymize(make_table(), rules(), method="hybrid", effort=0.6, fallback=True)
    assert again.certificate.fallback is None
    assert again.data.equals(release.data)


def make_rows(rows: int, seed: int) -> pa.Table:
    chance = Random(seed)
    return pa.table(
        {
            "age": [chance.randint(20, 60) for _ in range(rows)],
            "zip": [str(chance.randint(100, 130)) for _ in range(rows)],
            "job": [chance.choice("abcd") for _ in range(rows)],
            "ill": [chance.choice(["flu", "cough", "gout"]) for _ in range(rows)],
        }
    )


def test_new_rows_whose_classes_are_not_close_to_what_a_plan_names_are_still_proved() -> None:
    columns = {
        "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20]}},
        "zip": {"role": "quasi", "hierarchy": {"prefix": [2, 0]}},
        "job": "quasi",
        "ill": {"role": "sensitive", "t": "0.3", "n": 20},
    }
    rules = {"k": 3, "columns": columns}
    plan = tclose.anonymize(make_rows(120, 1), rules, method="optimal").plan
    assert plan is not None and plan.supersets
    named = []
    for seed in range(2, 8):
        applied = tclose.apply(plan, make_rows(40, seed))
        named.append(bool(applied.certificate.supersets))
        alone = tclose.audit(applied.data, rules)
        assert applied.holds and (alone.holds or named[-1])
    assert not all(named)
