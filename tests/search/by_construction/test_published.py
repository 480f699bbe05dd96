"""Without polish a method does what its paper describes, and nothing after."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import tclose
from tclose.cli import app
from tclose.data.binding import bind
from tclose.data.opening import open_source
from tclose.errors import UsageError
from tclose.policy.model import Policy
from tclose.search import METHODS, Budget, Outcome, method_named, problem_of
from tclose.search.by_construction.quotas import take_from_middle

PUBLISHED = Budget(effort=5.0, polish=False)


def search(name: str, ages: list[int], pays: list[int], **keys: Any) -> tuple[Outcome, Any]:
    """The outcome, and the class of each row."""
    pay = {"role": "sensitive", "distance": "ordered", **keys}
    rules = {"k": keys.pop("k", 2), "columns": {"age": "quasi", "pay": {**pay, "t": keys["t"]}}}
    rules["columns"]["pay"].pop("k", None)
    table = pa.table({"age": ages, "pay": pays})
    problem = problem_of(bind(Policy.model_validate(rules), open_source(table)))
    found = method_named(name).run(problem, PUBLISHED)
    key = {
        (int(a), int(p)): int(label)
        for a, p, label in zip(
            problem.codes[:, 0], problem.sensitive[:, 0], found.label, strict=True
        )
    }
    rank_age = {age: at for at, age in enumerate(sorted(set(ages)))}
    rank_pay = {pay: at for at, pay in enumerate(sorted(set(pays)))}
    return found, [key[rank_age[a], rank_pay[p]] for a, p in zip(ages, pays, strict=True)]


def classes_of(labels: list[int], values: list[int]) -> list[list[int]]:
    made: dict[int, list[int]] = {}
    for label, value in zip(labels, values, strict=True):
        made.setdefault(label, []).append(value)
    return [sorted(each) for each in made.values()]


def far(part: list[int], whole: list[int]) -> Fraction:
    ground, off, work = sorted(set(whole)), Fraction(0), Fraction(0)
    for value in ground[:-1]:
        off += Fraction(part.count(value), len(part)) - Fraction(whole.count(value), len(whole))
        work += abs(off)
    return work / (len(ground) - 1)


def test_microaggregation_gathers_the_farthest_and_merges_nothing_that_is_close() -> None:
    ages = [1, 2, 3, 50, 51, 52, 97, 98, 105]
    for name in ("mdav", "micro-merge", "micro-swap"):
        found, labels = search(name, ages, list(range(9)), t=1, k=3)
        assert sorted(classes_of(labels, ages)) == [[1, 2, 3], [50, 51, 52], [97, 98, 105]]
        assert [trial.step for trial in found.tried][1:] == ["classes of 3", "result"]


def test_the_farthest_class_is_merged_with_the_nearest_until_all_are_close() -> None:
    """Pairs of neighbours; those at the ends are far from the table, and the first is farthest."""
    ages, pays = [1, 2, 11, 12, 31, 32, 61, 62], [1, 2, 3, 6, 4, 5, 7, 8]
    _, labels = search("micro-merge", ages, pays, t="0.3", k=2)
    groups = [[1, 2], [11, 12], [31, 32], [61, 62]]
    pay = dict(zip(ages, pays, strict=True))
    while True:
        worst = max(groups, key=lambda group: far([pay[a] for a in group], pays))
        if far([pay[a] for a in worst], pays) <= Fraction(3, 10):
            break
        others = [group for group in groups if group is not worst]
        near = min(others, key=lambda g: max(*g, *worst) - min(*g, *worst))
        groups = [g for g in others if g is not near] + [sorted(near + worst)]
    assert sorted(classes_of(labels, ages)) == sorted(groups)


@pytest.mark.slow
@pytest.mark.parametrize(("t", "subsets"), [("0.05", 10), ("0.09", 6)])
def test_t_first_takes_the_published_number_of_subsets(t: str, subsets: int) -> None:
    """n = 1080 as in the paper's census: one record of each subset, within the published bound."""
    n, rng = 1080, random.Random(7)
    pays = list(range(n))
    rng.shuffle(pays)
    found, labels = search("micro-t-first", list(range(n)), pays, t=t, k=2)
    assert [trial.step for trial in found.tried] == [
        "one class",
        f"{subsets} subsets",
        "result",
    ]
    run = n // subsets
    for part in classes_of(labels, pays):
        assert [pay // run for pay in part] == list(range(subsets))
        assert far(part, pays) <= Fraction(n - subsets, 2 * (n - 1) * subsets)


def test_rows_beyond_are_of_the_middle_subsets() -> None:
    n, t = 1080, 0.01
    subsets = math.ceil(n / (2 * (n - 1) * t + 1))
    subsets += n % subsets // (n // subsets)
    assert subsets == 49
    total = take_from_middle(n, subsets).counts.sum(axis=0)
    assert total.tolist() == [22] * 24 + [24] + [22] * 24


def test_buckets_are_halved_and_nothing_else_is_tried() -> None:
    n, rng = 64, random.Random(3)
    pays = [at % 8 for at in range(n)]
    rng.shuffle(pays)
    found, labels = search("sabre", list(range(n)), pays, t="0.25", k=2)
    assert len(found.tried) == 3 and found.tried[1].step.endswith("buckets")
    sizes = {len(part) for part in classes_of(labels, pays)}
    assert len(sizes) == 1 and sizes.pop() in (2, 4, 8, 16, 32, 64)
    assert all(far(part, pays) <= Fraction(1, 4) for part in classes_of(labels, pays))


def test_fragments_are_those_of_the_thesis() -> None:
    rng = random.Random(5)
    pays = [1] * 20 + [2] * 10 + [3] * 30
    rng.shuffle(pays)
    ages = list(range(60))
    made = [search(name, ages, pays, t="0.4", k=2)[1] for name in ("fragments", "fragments-thesis")]
    assert made[0] == made[1]
    for part in classes_of(
        made[0], pays
    ):  # fragments {1, 2} and {3} of 30 rows each, in proportion
        assert part.count(3) * 2 == len(part) and far(part, pays) <= Fraction(2, 5)


KEEPING = sorted(method.name for method in METHODS.values() if method.published)


@pytest.mark.slow
@pytest.mark.parametrize("name", KEEPING)
def test_every_such_method_keeps_the_promise(name: str) -> None:
    rng = np.random.default_rng(2)
    table = pa.table({"age": rng.integers(20, 60, 60), "pay": rng.integers(1, 9, 60)})
    pay = {"role": "sensitive", "t": 0.3, "distance": "ordered"}
    rules = {"k": 3, "columns": {"age": "quasi", "pay": pay}, "search": {"polish": False}}
    rules["release"] = {"rows": "keep"}
    release = tclose.anonymize(table, rules, method=name, effort=1)
    assert release.holds and release.certificate.polish is False
    assert not any("swap" in trial.step for trial in release.certificate.tried or ())
    again = tclose.anonymize(table, {**rules, "search": {}}, method=name, effort=1, polish=False)
    assert again.data.equals(release.data)
    assert (
        tclose.anonymize(table, rules, method=name, effort=1, polish=True).certificate.polish
        is None
    )


@pytest.mark.parametrize("name", sorted(set(METHODS) - set(KEEPING)))
def test_methods_without_published_steps_refuse(name: str) -> None:
    table = pa.table({"age": [1, 2, 3, 4], "pay": [1, 2, 1, 2], "stay": [1, 1, 2, 2]})
    close = {"role": "sensitive", "t": 1, "distance": "ordered"}
    columns = {"age": "quasi", "pay": close}
    columns["stay"] = close if name == "matching" else "insensitive"
    with pytest.raises(UsageError, match="no published steps"):
        tclose.anonymize(table, {"columns": columns}, method=name, polish=False)


def test_the_thesis_knows_no_other_distances() -> None:
    table = pa.table({"age": [1, 2, 3, 4], "ill": ["a", "b", "a", "b"]})
    rules = {
        "columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 0.2, "distance": "equal"}}
    }
    with pytest.raises(UsageError, match="published for ordered and numeric"):
        tclose.anonymize(table, rules, method="fragments", polish=False)


def test_the_command_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = pa.table({"age": list(range(12)), "pay": [1, 2, 3] * 4})
    pyarrow.csv.write_csv(table, "people.csv")
    Path("p.toml").write_text(
        'k = 2\n[columns]\nage = "quasi"\n[columns.pay]\nrole = "sensitive"\nt = 0.4\n'
    )
    words = ["anonymize", "people.csv", "-p", "p.toml", "-o", "out.csv", "--effort", "1"]
    told = CliRunner().invoke(
        app, [*words, "--method", "sabre", "--no-polish", "--certificate", "c.json"]
    )
    assert told.exit_code == 0, told.stderr
    assert '"polish": false' in Path("c.json").read_text()
    refused = CliRunner().invoke(app, [*words, "--no-polish", "--force"])
    assert refused.exit_code == 2 and "no published steps" in refused.stderr
