"""A declared reference: exact by independent sums, in certificate and report, refused otherwise."""

from __future__ import annotations

import json
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tclose
from tclose.errors import PolicyError
from tclose.report.explanation import draw_flow, summarize_explanation
from tclose.verify.certificate import Certificate
from tclose.verify.recheck import recheck

PEOPLE = pa.table(
    {"age": [20, 21, 30, 31, 40, 41, 50, 51] * 3, "pay": [3, 4, 5, 6, 7, 8, 9, 10] * 3}
)


def rules(reference: Any, **keys: Any) -> dict[str, Any]:
    pay = {"role": "sensitive", "t": 1, "distance": "ordered", "reference": reference, **keys}
    return {"k": 2, "columns": {"age": "quasi", "pay": pay}}


def attained(table: pa.Table, policy: dict[str, Any]) -> Fraction | None:
    (found,) = [each for each in tclose.verify(table, policy).requirements if each.attribute]
    return found.achieved_exact


def far(values: list[int], shares: dict[int, Fraction], ground: list[int]) -> Fraction:
    """The ordered distance of a class from given shares, by sums of differences."""
    counts, total, work, off = Counter(values), sum(shares.values()), Fraction(0), Fraction(0)
    for value in ground[:-1]:
        off += Fraction(counts[value], len(values)) - shares.get(value, Fraction(0)) / total
        work += abs(off)
    return work / (len(ground) - 1)


@pytest.mark.parametrize("seed", range(12))
def test_classes_are_measured_against_what_is_declared(seed: int) -> None:
    rng = random.Random(seed)
    table = pa.table(
        {"age": [rng.randrange(3) for _ in range(20)], "pay": [rng.randrange(6) for _ in range(20)]}
    )
    shares = {value: Fraction(rng.randrange(4), rng.randrange(1, 5)) for value in range(-1, 8)}
    shares[3] += 1
    ground = sorted({*table["pay"].to_pylist(), *(v for v, share in shares.items() if share)})
    written = {"shares": {str(value): str(share) for value, share in shares.items()}}
    pairs = list(zip(table["age"].to_pylist(), table["pay"].to_pylist(), strict=True))
    classes = [[pay for at, pay in pairs if at == age] for age in {age for age, _ in pairs}]
    assert attained(table, rules(written)) == max(far(each, shares, ground) for each in classes)
    alike = {value: Fraction(1) for value in set(table["pay"].to_pylist())}
    assert attained(table, rules("uniform")) == max(
        far(each, alike, sorted(alike)) for each in classes
    )
    own = Counter(table["pay"].to_pylist())
    plain = max(
        far(each, {v: Fraction(n) for v, n in own.items()}, sorted(own)) for each in classes
    )
    assert attained(table, rules("table")) == attained(table, rules(None)) == plain


def test_a_register_in_a_file_is_the_same_as_its_shares(tmp_path: Path) -> None:
    (tmp_path / "register.csv").write_text("pay,people\n3,600\n7,300\n12,100\n")
    policy = tclose.Policy.build(rules({"file": "register.csv"})["columns"]).at(tmp_path)
    by_file = tclose.verify(PEOPLE, policy).requirements[0]
    shares = {"3": 0.6, "7": 0.3, "12": 0.1}
    assert by_file.achieved_exact == attained(PEOPLE, rules({"shares": shares}))
    assert by_file.reference == "the distribution of register.csv (3 values)"
    assert policy.files == ("register.csv",)


def test_a_number_is_the_same_however_it_is_written() -> None:
    floats = PEOPLE.set_column(1, "pay", PEOPLE["pay"].cast(pa.float64()))
    shares = {"3": 0.6, "7.00": 0.4, "12": 1}
    assert attained(floats, rules({"shares": shares})) == attained(
        PEOPLE, rules({"shares": {"3": 0.6, "7": 0.4, "12": 1}})
    )
    with pytest.raises(PolicyError, match="a value twice"):
        attained(floats, rules({"shares": {"12": 1, "12.0": 1}}))


def test_groups_and_divergences_know_references_too() -> None:
    tree = {"groups": {"stomach": ["ulcer", "gastritis"], "lung": ["flu", "asthma"]}}
    table = pa.table({"age": [1, 1, 2, 2], "pay": ["ulcer", "gastritis", "ulcer", "flu"]})
    shares = {"shares": {"ulcer": 1, "asthma": 1}}
    by_tree = rules(shares, distance="hierarchical", hierarchy=tree)
    # {ulcer, gastritis}: half must go to the other group; {ulcer, flu}: half within a group.
    assert attained(table, by_tree) == Fraction(1, 2)
    even = rules("uniform", distance="kl", hierarchy=tree)
    found = tclose.verify(table, even).requirements[1]
    assert found.achieved == pytest.approx(0.584962500721156)  # log2(3/2)


@pytest.mark.parametrize(
    "method", ["hybrid", "mondrian", "optimal", "micro-merge", "fragments", "sabre"]
)
def test_searches_keep_a_declared_reference(method: str) -> None:
    policy = rules({"shares": {"3": 1, "6": 1, "9": 1}}, t=0.25)
    release = tclose.anonymize(PEOPLE, policy, method=method, effort=0.1)
    assert release.holds and (release.classes > 1 or method not in ("hybrid", "sabre"))
    assert tclose.verify(release.data, policy).holds
    stated = [each for each in release.certificate.requirements if each.attribute]
    assert stated[0].reference == "the distribution declared in the policy (3 values)"
    titles = [each.title for each in tclose.verify(release.data, policy).requirements]
    assert any(title.endswith(f", against {stated[0].reference}") for title in titles)


def test_certificate_report_and_explanation_say_which(tmp_path: Path) -> None:
    out, policy = tmp_path / "release.csv", rules("uniform", t=0.3)
    release = tclose.anonymize(PEOPLE, policy, output=out, effort=0.1)
    words = "a uniform distribution over 8 values"
    assert words in str(release.report(attacks=False).to_json())
    why = tclose.explain(out, policy)
    assert why.against == words and words in why.note
    assert all(share.in_table == Fraction(1, 8) for share in why.shares)
    for shown in (str(summarize_explanation(why)), why.svg(), draw_flow(why)):
        assert "reference" in shown and "table" not in shown.replace(why.note, "")
    plain = json.loads(json.dumps(release.certificate.to_json()))
    assert plain["requirements"][1]["reference"] == words
    plain["requirements"][1]["reference"] = None
    forged = Certificate.model_validate_json(json.dumps(plain))
    checks = recheck(forged, tclose.verify(out, policy), "")
    assert any("t-closeness" in check.line and check.confirmed is False for check in checks)


def test_no_release_where_the_whole_table_is_too_far() -> None:
    with pytest.raises(tclose.UsageError, match=r"the whole table as one class\s+attains"):
        tclose.anonymize(PEOPLE, rules({"shares": {"3": 1}}, t=0.1), effort=0.1)


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ({"role": "sensitive", "reference": "uniform"}, "a reference needs t"),
        ({"role": "sensitive", "t": 0.2, "n": 5, "reference": "uniform"}, "closeness to a group"),
        ({"role": "quasi", "reference": "uniform"}, "a reference needs t"),
        ({"role": "sensitive", "t": 0.2, "reference": "register"}, "'table' or 'uniform'"),
        ({"role": "sensitive", "t": 0.2, "reference": {}}, "give one reference"),
        ({"role": "sensitive", "t": 0.2, "reference": {"shares": {"3": -1}}}, "not be negative"),
        ({"role": "sensitive", "t": 0.2, "reference": {"shares": {"3": 0}}}, "nor all 0"),
        ({"role": "sensitive", "t": 0.2, "reference": {"shares": {"much": 1}}}, "column's type"),
        ({"role": "sensitive", "t": 0.2, "reference": {"file": "no.csv"}}, "cannot be read"),
        ({"role": "sensitive", "t": 2, "distance": "kl", "reference": {"shares": {"3": 1}}},
         "infinitely far by kl"),
        ({"role": "sensitive", "t": 1, "reference": {"shares": {"small": 1}},
          "hierarchy": {"groups": {"small": ["3", "4", "5", "6"], "large": ["7", "8", "9", "10"]}}},
         "column's type|groups of the hierarchy"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(column: dict[str, Any], says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        tclose.verify(PEOPLE, {"columns": {"age": "quasi", "pay": column}})
