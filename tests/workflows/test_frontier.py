"""Loss against t and k: every point keeps its promise, and a milder promise never costs more."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import tclose
from tclose.errors import UsageError
from tclose.policy.load import policy_from
from tclose.report.frontier import draw_frontier
from tclose.search.frontier.curves import Frontier, Point, knee_of

pytestmark = pytest.mark.slow

SVG = "{http://www.w3.org/2000/svg}"
slow = settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.generate],
)


def table_of(rows: int = 240) -> pa.Table:
    random = np.random.default_rng(5)
    age = random.integers(20, 80, rows)
    ill = np.where(random.random(rows) < age / 200, "heart", random.choice(["flu", "ulcer"], rows))
    pay = age // 10 + random.integers(0, 20, rows)
    return pa.table({"age": age, "sex": random.choice(["f", "m"], rows), "ill": ill, "pay": pay})


RULES: dict[str, Any] = {
    "k": 3,
    "columns": {
        "age": "quasi",
        "sex": "quasi",
        "ill": {"role": "sensitive", "t": "0.3", "distance": "equal"},
        "pay": {"role": "sensitive", "t": "0.15", "distance": "ordered"},
    },
}
TS = ["0.1", "0.2", "0.3", "0.45"]


def released(bound: Any, point: Point, names: Any = None) -> list[dict[str, Any]]:
    """The rows of a point: their class and their sensitive values, or those of other columns."""
    rows = []
    for at, (label, weight) in enumerate(zip(point.label, bound.cells.rows, strict=True)):
        row = {"class": int(label)}
        for name in bound.attributes if names is None else names:
            dictionary, code = bound.cells.dictionaries[name], int(bound.cells.codes[name][at])
            row[name] = dictionary.labels[code] if code < dictionary.known else None
        rows += [row] * (int(weight) if label >= 0 else 0)
    return rows


def show(case: Any, name: str, values: set[Any]) -> Any:
    """What a class with these values of a column is released as, by definition."""
    known = values - {None}
    if case.kinds[name] == "text" or len(values) == 1:
        return frozenset(values)
    if None in values:
        return "*"
    if name in case.chains:
        chains = [case.chains[name][value] for value in known]
        return next(group for group in chains[0] if all(group in chain for chain in chains))
    read = int if case.kinds[name] == "number" else str
    return min(known, key=read), max(known, key=read)


def shown_alike(case: Any, rows: list[dict[str, Any]]) -> set[Any]:
    """What a reader takes for different classes: those that are released differently."""
    members: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        members.setdefault(row["class"], []).append(row)
    return {
        tuple(show(case, name, {row[name] for row in some}) for name in case.quasi)
        for some in members.values()
    }


def promising(case: Any, point: Point) -> Any:
    """The case with what is promised at a point: the largest t moved, the others in proportion."""
    columns = json.loads(json.dumps(case.policy["columns"]))
    stated = {
        name: Fraction(column["t"])
        for name, column in columns.items()
        if isinstance(column, dict) and "t" in column
    }
    largest = max(stated.values())
    for name, t in stated.items():
        columns[name]["t"] = str(point.t * (t / largest if largest else 1))
    return replace(case, policy={"k": point.k, "columns": columns})


@slow
@given(data=st.data())
@pytest.mark.parametrize("method", ["hybrid", "mondrian"])
def test_every_point_keeps_its_promise_and_milder_ones_cost_no_more(
    method: str, data: Any, judge: Any, some_cases: Any, folder: Path
) -> None:
    case = data.draw(some_cases(most=24))
    ks = [k for k in (1, 2, 4) if k <= len(case.rows)]
    rules = policy_from(case.policy, folder)
    found = tclose.frontier(
        case.table(), rules, t=[0, "1/8", 0.3, 1], k=ks, methods=method, effort=0.3
    )
    bound = tclose.check(case.table(), rules)
    for point in found.points:
        if point.loss is not None:
            rows = released(bound, point)
            assert judge.broken(promising(case, point), rows, ["class"]) == []
            assert point.classes == len(shown_alike(case, released(bound, point, case.quasi)))
    for curve in found.curves:
        losses = [point.loss for point in curve.found]
        assert all(mild <= strict for strict, mild in pairwise(losses))
    for t in {point.t for point in found.points}:
        by_k = sorted((p.k, p.loss) for p in found.points if p.t == t and p.loss is not None)
        assert all(few <= many for (_, few), (_, many) in pairwise(by_k))


def test_a_point_is_what_anonymize_finds_for_its_promise() -> None:
    table = table_of()
    found = tclose.frontier(table, RULES, t=TS, methods="mondrian")
    for point in found.points:
        rules = json.loads(json.dumps(RULES))
        rules["columns"]["ill"]["t"] = str(point.t)
        rules["columns"]["pay"]["t"] = str(point.t / 2)
        release = tclose.anonymize(table, rules, method="mondrian")
        assert point.loss is not None and point.loss <= release.loss.overall + 1e-12
        if not point.carried:
            assert point.loss == pytest.approx(release.loss.overall)
            assert point.classes == release.classes
            ill, pay = (v for v in release.audit.requirements if v.attribute is not None)
            assert point.distances == pytest.approx({"ill": ill.achieved, "pay": pay.achieved})


@pytest.mark.parametrize("name", ["discernibility", "average-class-size", "ncp", "entropy"])
def test_any_measure_is_that_of_the_release(name: str) -> None:
    table = table_of()
    found = tclose.frontier(table, RULES, t=TS, methods="mondrian", loss=name)
    losses = [point.loss for point in found.points]
    assert losses == sorted(losses, reverse=True)
    release = tclose.anonymize(table, RULES, method="mondrian")
    chosen = found.chosen
    assert chosen is not None and not chosen.carried
    assert chosen.loss == pytest.approx(
        tclose.measure(original=table, release=release, policy=RULES)[name].overall
    )


def test_full_domain_searches_make_the_measure_itself_least() -> None:
    asked: dict[str, Any] = {"t": TS, "methods": "optimal"}
    by_size = tclose.frontier(table_of(), RULES, loss="discernibility", **asked)
    by_loss = tclose.frontier(table_of(), RULES, **asked)
    weight = tclose.check(table_of(), RULES).cells.rows
    for one, other in zip(by_size.points, by_loss.points, strict=True):
        rows = np.bincount(other.label, weight)
        assert one.loss is not None and one.loss <= (rows**2).sum()


def test_equal_seeds_give_equal_curves() -> None:
    once, again = (
        tclose.frontier(table_of(), RULES, t=TS, k="2:6", points=2, effort=1, seed=4)
        for _ in range(2)
    )
    assert once == again and once.to_json() == again.to_json()
    labels = [[point.label.tolist() for point in one.points] for one in (once, again)]
    assert labels[0] == labels[1]


def test_a_hybrid_search_begins_with_the_stricter_partition() -> None:
    found = tclose.frontier(table_of(), RULES, t=TS, methods="hybrid", effort=1e-3)
    assert [p.loss for p in found.points] == sorted((p.loss for p in found.points), reverse=True)


def test_no_milder_promise_loses_more_than_a_plan_that_is_known() -> None:
    table, heard = table_of(), []
    release = tclose.anonymize(table, RULES, method="hybrid", effort=0.5)
    limit = release.loss.overall + 1e-12
    asked: dict[str, Any] = {"t": TS, "methods": "hybrid", "effort": 1e-3}
    alone = tclose.frontier(table, RULES, **asked)
    found = tclose.frontier(
        table, RULES, **asked, start_from=release.plan, announce=lambda text: heard.append(text)
    )
    milder = [point for point in found.points if point.t is not None and point.t >= Fraction("0.3")]
    assert [str(point.t) for point in milder] == ["3/10", "9/20"]
    assert all(point.loss is not None and point.loss <= limit for point in milder)
    assert alone.chosen is not None and alone.chosen.loss is not None and alone.chosen.loss > limit
    bound = tclose.check(table, RULES)
    for point in found.points:  # the others merged what breaks their promise
        sizes = np.bincount(point.label, bound.cells.rows)
        assert sizes.min() >= 3 and point.worst is not None and point.worst <= point.t
    assert not any("no curve" in text for text in heard)


def test_curves_of_other_methods_take_no_notice_of_a_plan_and_say_so() -> None:
    table, heard = table_of(), []
    plan = tclose.anonymize(table, RULES, method="hybrid", effort=0.5).plan
    asked: dict[str, Any] = {"t": TS, "methods": "mondrian"}
    found = tclose.frontier(table, RULES, **asked, start_from=plan, announce=heard.append)
    assert found == tclose.frontier(table, RULES, **asked)
    assert any(text.startswith("no curve starts from the plan") for text in heard)


def test_several_methods_are_several_curves() -> None:
    found = tclose.frontier(table_of(), RULES, t=TS, methods=["mondrian", "mondrian"])
    assert [curve.name for curve in found.curves] == ["mondrian"]
    both = tclose.frontier(table_of(), RULES, t=TS, k=[2, 5], methods="mondrian,mondrian-median")
    names = ["mondrian, k=2", "mondrian, k=5", "mondrian-median, k=2", "mondrian-median, k=5"]
    assert [curve.name for curve in both.curves] == names
    assert all([float(p.t or 0) for p in c.points] == [0.1, 0.2, 0.3, 0.45] for c in both.curves)


def test_k_alone_is_an_axis_and_the_policy_keeps_its_t() -> None:
    found = tclose.frontier(table_of(), RULES, k="2:30", points=4, methods="mondrian")
    assert found.across == "k" and {point.t for point in found.points} == {Fraction(3, 10)}
    assert [point.k for point in found.points] == [30, 21, 11, 3, 2]
    assert [point.k for point in found.curves[0].points] == [2, 3, 11, 21, 30]
    assert found.chosen is not None and found.chosen.k == 3


def test_without_t_only_k_can_vary() -> None:
    rules = {"columns": {"age": "quasi", "sex": "quasi", "ill": "sensitive", "pay": "insensitive"}}
    found = tclose.frontier(table_of(), rules, points=3, methods="mondrian")
    assert found.across == "k" and [point.k for point in found.points] == [20, 11, 2]
    with pytest.raises(UsageError, match="no attribute promises t"):
        tclose.frontier(table_of(), rules, t="0.1:0.2")


def test_the_policys_own_t_is_among_the_points_of_a_range_that_holds_it() -> None:
    inside = tclose.frontier(table_of(), RULES, t="0.1:0.5", points=3, methods="mondrian")
    assert [str(point.t) for point in inside.points] == ["1/10", "3/10", "1/2"]
    assert [point.chosen for point in inside.points] == [False, True, False]
    outside = tclose.frontier(table_of(), RULES, t="0.4:0.5", points=2, methods="mondrian")
    assert outside.chosen is None and len(outside.points) == 2


def test_rows_may_be_left_out_at_every_point() -> None:
    asked: dict[str, Any] = {"t": TS, "methods": "hybrid", "effort": 1}
    found = tclose.frontier(table_of(), RULES, suppression="0.1", **asked)
    assert all(0 <= point.left_out <= 24 for point in found.points)
    bound = tclose.check(table_of(), RULES)
    for point in found.points:
        assert sum(bound.cells.rows[point.label < 0]) == point.left_out


def test_closeness_to_a_superset_follows_t_too() -> None:
    rules = json.loads(json.dumps(RULES))
    rules["columns"]["ill"] |= {"n": 100}
    del rules["columns"]["pay"]["t"]
    found = tclose.frontier(table_of(), rules, t=TS)
    assert {point.method for point in found.points} <= {"hybrid", "nt-mondrian"}
    assert [p.loss for p in found.points] == sorted((p.loss for p in found.points), reverse=True)


def test_a_promise_that_no_release_keeps_is_a_gap() -> None:
    table = pa.table({"age": [1, 2, 3, 4], "ill": ["a", "b", "a", None]})
    ill = {"role": "sensitive", "t": 0.5, "missing": "any", "distance": "equal"}
    rules = {"columns": {"age": "quasi", "ill": ill}}
    found = tclose.frontier(table, rules, t=[0, 1], methods="mondrian")
    assert [point.loss is None for point in found.points] == [True, False]
    assert [p["loss"] is None for p in found.to_json()["curves"][0]["points"]] == [True, False]
    assert len(list(ElementTree.fromstring(draw_frontier(found)).iter(f"{SVG}g"))) == 1
    with pytest.raises(UsageError, match="no release can keep any of these promises"):
        tclose.frontier(table, rules, t=[0], methods="mondrian")


def test_progress_goes_forward_and_stopping_keeps_what_is_done() -> None:
    steps: list[Any] = []
    whole = tclose.frontier(table_of(), RULES, t=TS, effort=2, progress=steps.append)
    used = [step.seconds_used for step in steps]
    assert whole.complete and used == sorted(used) and used[-1] <= steps[-1].seconds_total == 2
    assert "(4 of 4)" in steps[-1].step
    told: list[Any] = []
    part = tclose.frontier(
        table_of(), RULES, t=TS, effort=2, progress=told.append,
        cancelled=lambda: any("(2 of 4)" in step.step for step in told),
    )  # fmt: skip
    assert not part.complete and len(part.points) == 2
    assert part.points[0] == whole.points[0]


@pytest.mark.parametrize(
    ("losses", "at"),
    [
        ([0.9, 0.5, 0.4, 0.35, 0.3], 1),
        ([0.9, 0.85, 0.3, 0.29, 0.28], 2),
        ([0.9, 0.7, 0.5, 0.3, 0.1], None),
        ([0.9, 0.88, 0.85, 0.8, 0.1], None),
        ([0.4, 0.4, 0.4, 0.4, 0.4], None),
    ],
)
def test_the_knee_is_farthest_below_the_chord(losses: list[float], at: int | None) -> None:
    points = tuple(
        Point("hybrid", Fraction(place, 10), 5, loss) for place, loss in enumerate(losses, 1)
    )
    found = Frontier("loss", points, "t", {"ill": Fraction(1)}, 100, 20.0, 1)
    assert found.knee is (None if at is None else points[at])
    assert knee_of([1.0, 2.0], [1.0, 0.0]) is None


@given(st.lists(st.floats(0, 1), min_size=3, max_size=9))
def test_no_point_is_farther_below_the_chord_than_the_knee(losses: list[float]) -> None:
    ordered = sorted(losses, reverse=True)
    at = knee_of([float(place) for place in range(len(ordered))], ordered)
    first, last = ordered[0], ordered[-1]
    steps = len(ordered) - 1
    below = [first + (last - first) * place / steps - y for place, y in enumerate(ordered)]
    if at is not None:
        assert below[at] == pytest.approx(max(below)) and below[at] > 0


def test_the_picture_shows_every_point_its_choice_and_its_knee() -> None:
    found = tclose.frontier(table_of(), RULES, t=TS, methods="mondrian,mondrian-median")
    drawn = draw_frontier(found)
    root = ElementTree.fromstring(drawn)
    titles = [one.text or "" for one in root.iter(f"{SVG}title")]
    assert sum(text.startswith("mondrian, t=") for text in titles) == 4
    assert sum(text.startswith("mondrian-median, t=") for text in titles) == 4
    words = " ".join(one.text or "" for one in root.iter(f"{SVG}text"))
    assert "the policy's own t=0.3" in words and "suggested, not chosen" in words
    assert len(list(root.iter(f"{SVG}polyline"))) == 2
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")


def test_the_command_tells_draws_and_reports(run: Any, clinic: Any) -> None:
    asked = ["frontier", clinic["table"], "-p", clinic["policy"], "--t", "0.1:0.4", "--points", "4"]
    result = run(*asked, "--report", "report.html")
    assert result.exit_code == 0, result.stderr
    assert "suggested, not chosen" in result.stdout and "the policy's own" in result.stdout
    assert "for 5 points of the method mondrian" in result.stderr
    assert ElementTree.parse("frontier.svg").getroot().tag == f"{SVG}svg"
    again = run(*asked)  # the picture has a name that nobody chose
    assert again.exit_code == 2 and "name another with --svg" in again.stderr
    page = Path("report.html").read_text()
    assert "<svg" in page and "SECRET" not in page and "SECRET" not in result.stdout
    assert run(*asked, "--report", "report.json", "--force").exit_code == 0
    (section,) = json.loads(Path("report.json").read_text())["sections"]
    assert section["key"] == "frontier"
    told = json.loads(run(*asked, "--json", "--svg", "other.svg").stdout)
    points = told["curves"][0]["points"]
    assert [point["t"] for point in points] == [0.1, 0.2, 0.25, 0.3, 0.4]
    assert told["chosen"] == {"t": 0.25, "k": 4} and told["measure"] == "loss"
    assert all(point["worst"] <= point["promised"]["ill"] for point in points)
    assert Path("other.svg").is_file()
    (strict,) = json.loads(run(*asked[:4], "--t", "0", "--force", "--json").stdout)["curves"][0][
        "points"
    ]
    assert strict["promised"]["ill"] == 0 and strict["worst"] == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--t", "0.5:0.1"], "from a lower to a higher"),
        (["--t", "0.1:0.2:0.3"], "from a lower to a higher"),
        (["--t", "much"], "no numbers are given"),
        (["--t", "-0.1:0.5"], "t must lie in [0, 1]"),
        (["--t", "0.5:1.5"], "t must lie in [0, 1]"),
        (["--k", "0:5"], "at least 1"),
        (["--k", "2.5"], "whole number"),
        (["--k", "2:1000"], "larger than the table"),
        (["--points", "1000"], "points"),
        (["--method", "magic"], "no such method"),
        (["--loss", "sadness"], "no such measure"),
        (
            ["--method", "fragments-thesis", "--t", "0.1,0.2"],
            "ordered and numeric",
        ),
        (["--svg", "table.csv"], "the picture is an input"),
        (["--svg", "same.html", "--report", "same.html"], "would overwrite another file"),
        (["--report", "report.docx"], "unknown kind of report"),
    ],
)
def test_what_makes_no_sense_is_refused(words: list[str], says: str, run: Any, clinic: Any) -> None:
    before = sorted(clinic["table"].parent.rglob("*"))
    result = run("frontier", clinic["table"], "-p", clinic["policy"], *words)
    assert result.exit_code == 2 and says in result.stderr, result.stderr
    assert "Traceback" not in result.stderr and "SECRET" not in result.stderr
    assert sorted(clinic["table"].parent.rglob("*")) == before
