"""What is believed about one person: the papers' people, and all worlds that a release allows."""

from __future__ import annotations

import json
import random
from collections import Counter
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

import tclose
from tclose.cli import app
from tclose.errors import UsageError

RULES: dict[str, Any] = {"columns": {"zip": "quasi", "age": "quasi", "disease": "sensitive"}}
PATIENTS = [
    *[("476**", "2*", "Heart Disease")] * 3,
    *[("4790*", "≥ 40", value) for value in ("Flu", "Heart Disease", "Cancer")],
    *[("476**", "3*", value) for value in ("Heart Disease", "Cancer", "Cancer")],
]
BOB, CARL = {"age": 27, "zip": "47678"}, {"age": "32", "zip": "47622"}


def table(rows: list[tuple[str, str, str]]) -> pa.Table:
    return pa.table(
        dict(zip(("zip", "age", "disease"), map(list, zip(*rows, strict=True)), strict=True))
    )


def believe(person: Any, rules: Any = RULES, rows: Any = PATIENTS, **known: Any) -> Any:
    """The three beliefs, by value."""
    found = tclose.attack_person(table(rows), rules, person=person, **known)
    steps = (found.before, found.table, found.group)
    return [None if step is None else dict(zip(found.values, step, strict=True)) for step in steps]


def test_bob_has_what_everybody_in_his_class_has() -> None:
    before, from_table, from_class = believe(BOB)
    assert before == dict.fromkeys(("Cancer", "Flu", "Heart Disease"), Fraction(1, 3))
    assert from_table["Heart Disease"] == Fraction(5, 9) and from_class["Heart Disease"] == 1


def test_carl_has_what_is_left_when_one_disease_is_ruled_out() -> None:
    assert believe(CARL)[2] == {"Cancer": Fraction(2, 3), "Flu": 0, "Heart Disease": Fraction(1, 3)}
    before, from_table, from_class = believe(CARL, ruled_out=["Heart Disease"])
    assert before == {"Cancer": Fraction(1, 2), "Flu": Fraction(1, 2), "Heart Disease": 0}
    assert from_table["Cancer"] == Fraction(3, 4) and from_class["Cancer"] == 1


def test_a_prior_weighs_what_the_rest_shares_alike() -> None:
    before, _, from_class = believe(CARL, prior={"Heart Disease": "0.05"})
    assert before["Cancer"] == before["Flu"] == Fraction(19, 40)
    assert from_class["Cancer"] == Fraction(19, 20)


@pytest.mark.parametrize("seed", range(20))
def test_beliefs_are_the_share_of_worlds(seed: int) -> None:
    """All ways to give the values to the people, each as likely as what it gives the person is."""
    rng = random.Random(seed)
    values = ("a", "b", "c")
    classes = [[rng.choice(values) for _ in range(rng.randint(1, 3))] for _ in range(2)]
    classes[0] += [value for value in values if value not in classes[0] + classes[1]]
    prior = rng.choice([{}, {"a": Fraction(1, 7)}, {"a": "1/2", "b": "1/3", "c": "1/6"}])
    ruled_out = rng.choice([[], ["b"], ["c"]]) if len(prior) < 3 else []
    rows = [(f"z{at}", "1", value) for at, group in enumerate(classes) for value in group]
    stated = {value: Fraction(share) for value, share in prior.items()}
    rest = [value for value in values if value not in (*stated, *ruled_out)]
    weight = {
        value: (Fraction(1) - sum(stated.values())) / max(len(rest), 1) for value in rest
    } | stated
    weight |= dict.fromkeys(ruled_out, Fraction(0))

    def share(people: list[str]) -> dict[str, Fraction] | None:
        worlds: Counter[str] = Counter()
        for world in permutations(people):
            worlds[world[0]] += 1
        mass = {value: weight[value] * worlds[value] for value in values}
        total = sum(mass.values())
        return {value: mass[value] / total for value in values} if total else None

    try:
        found = believe({"zip": "z0"}, rows=rows, prior=prior, ruled_out=ruled_out)
    except UsageError as error:
        assert "every value in the release is ruled out" in str(error)
        assert share(classes[0] + classes[1]) is None
        return
    assert found[1:] == [share(classes[0] + classes[1]), share(classes[0])]


def test_of_whom_less_is_known_more_classes_fit() -> None:
    found = tclose.attack_person(table(PATIENTS), RULES, person={"zip": "47678"})
    assert (found.rows, found.classes) == (6, (1, 2))
    assert found.group == (Fraction(1, 3), 0, Fraction(2, 3))


def test_intervals_hierarchies_dates_and_marks_are_read_as_the_policy_says() -> None:
    release = pa.table(
        {
            "age": ["[20, 30]", "[20, 30]", "[31, 40]", "[31, 40]"],
            "job": ["manual", "manual", "office", "office"],
            "born": ["2001-03", "2001-03", "1990s", "1990s"],
            "ill": ["ulcer", "gastritis", "flu", "flu"],
        }
    )
    groups = {"manual": ["smith", "cook"], "office": ["clerk"]}
    rules = {
        "columns": {
            "age": "quasi",
            "job": {"role": "quasi", "hierarchy": {"groups": groups}},
            "born": {
                "role": "quasi",
                "hierarchy": {"dates": ["month", "decade"]},
                "date_format": "%d.%m.%Y",
            },
            "ill": {
                "role": "sensitive",
                "hierarchy": {"groups": {"stomach": ["ulcer", "gastritis"], "lung": ["flu"]}},
            },
        }
    }
    cook = {"age": 30, "job": "cook", "born": "14.03.2001"}
    found = tclose.attack_person(release, rules, person=cook)
    assert (found.rows, found.classes) == (2, (1,))
    with_group = tclose.attack_person(release, rules, person={"age": 35}, ruled_out=["stomach"])
    assert with_group.table[with_group.values.index("flu")] == 1
    assert tclose.attack_person(release, rules, person={**cook, "age": 31}).group is None


def test_who_is_not_there_is_said_not_to_be() -> None:
    nobody = tclose.attack_person(table(PATIENTS), RULES, person={"zip": "99999"})
    assert nobody.group is None and nobody.sentences[0] == "Nobody in the release fits this person."
    denied = tclose.attack_person(table(PATIENTS), RULES, person=BOB, ruled_out=["Heart Disease"])
    assert (denied.rows, denied.group) == (3, None) and "is not in the release" in denied.sentences[
        1
    ]


@pytest.mark.parametrize(
    ("known", "says"),
    [
        ({"person": {}}, "nothing is known"),
        ({"person": {"town": "A"}}, "not a quasi-identifier"),
        ({"person": BOB, "attribute": "salary"}, "no such sensitive attribute"),
        ({"person": BOB, "ruled_out": ["Flu", "Measles"]}, "ruled-out value 2 does not"),
        ({"person": BOB, "prior": {"Flu": 2}}, "must lie in"),
        ({"person": BOB, "prior": {"Flu": 0.6, "Cancer": 0.6}}, "add up to more"),
        ({"person": BOB, "prior": {"Flu": 0, "Cancer": 0, "Heart Disease": 0.5}}, "add up to less"),
        ({"person": BOB, "ruled_out": ["Flu"], "prior": {"Flu": 0.1}}, "also ruled out"),
        ({"person": BOB, "ruled_out": ["Flu", "Cancer", "Heart Disease"]}, "every value"),
    ],
)
def test_what_cannot_be_asked_is_refused_without_a_value(known: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        tclose.attack_person(table(PATIENTS), RULES, **known)
    assert "Measles" not in str(caught.value) and "47678" not in str(caught.value)


POLICY = '[columns]\nzip = "quasi"\nage = "quasi"\ndisease = "sensitive"\n'


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    Path("policy.toml").write_text(POLICY, encoding="utf-8")
    lines = ["zip,age,disease", *(",".join(row) for row in PATIENTS)]
    Path("release.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def run(*words: str) -> Result:
        return CliRunner().invoke(app, ["attack", "release.csv", "-p", "policy.toml", *words])

    return run


def test_the_command_tells_the_same_and_repeats_nothing_of_the_person(run: Any) -> None:
    words = ("--person", "age=32,zip=47622", "--not", "Heart Disease", "--prior", "Flu=0.3125")
    told = run(*words)
    assert told.exit_code == 0, told.stderr
    assert "3 rows in 1 class fit this person." in told.stdout
    assert "The disease is certain." in told.stdout and "Cancer" in told.stdout
    for secret in ("47622", "32", "0.3125"):
        assert secret not in told.stdout.replace("31.2", "") + told.stderr
    plain = json.loads(run(*words, "--json").stdout)
    assert plain["beliefs"][0] == {"value": "Cancer", "before": 0.6875, "table": 0.868421052631579,
                                   "class": 1.0}  # fmt: skip


def test_a_value_with_separators_has_a_prior(run: Any) -> None:
    """A comma in double quotes, and an = before the last one, belong to the value."""
    text = Path("release.csv").read_text(encoding="utf-8").replace("Cancer", "BMI >= 30")
    Path("release.csv").write_text(text.replace("Flu", '"eczema, wet"'), encoding="utf-8")
    words = ("--prior", '"eczema, wet=0.3"', "--prior", "BMI >= 30=0.2", "--json")
    found = json.loads(run("--person", "age=32,zip=47622", *words).stdout)["beliefs"]
    before = {belief["value"]: belief["before"] for belief in found}
    assert before == {"eczema, wet": 0.3, "BMI >= 30": 0.2, "Heart Disease": 0.5}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--not", "Flu"], "--person"),
        (["--person", "age"], "NAME=VALUE"),
        (["--person", "age=4\n7622"], "NAME=VALUE"),
        (["--person", "age=32", "--prior", "Flu=0.1,other, 47622=0.2"], "in double quotes"),
        (["--person", "47622=zip"], "quasi-identifier"),
        (["--person", "age=47622,age=1"], "twice"),
        (["--person", "age=32", "--key", "zip"], "not about one person"),
        (["--person", "age=32", "--seed", "2"], "not about one person"),
        (["--person", "age=32", "--prior", "Flu=47622"], "in [0, 1]"),
    ],
)
def test_the_command_refuses_what_says_nothing(run: Any, words: list[str], says: str) -> None:
    told = run(*words)
    assert told.exit_code == 2 and says in told.stderr
    assert "47622" not in told.stderr and "Traceback" not in told.stderr


def test_a_person_is_shown_as_a_card_a_frame_and_a_picture() -> None:
    found = tclose.attack_person(table(PATIENTS), RULES, person=BOB)
    assert "certain" in repr(found) and "steward" in found._repr_html_()
    assert found.to_frame("arrow").num_rows == 3 and "<svg" in found.svg()
    assert "47678" not in found._repr_html_() + found.svg() + repr(found)
