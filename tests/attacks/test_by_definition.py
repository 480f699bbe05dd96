"""Attacks against their definitions, by loops over the rows of random tables."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tclose

pytestmark = pytest.mark.slow

SEEDS = st.integers(0, 10**6)
FEW = settings(max_examples=25)
GROUPS = {"one": ["a", "b"], "two": ["c", "d"]}
RULES: dict[str, Any] = {
    "k": 3,
    "columns": {
        "zip": "quasi",
        "ill": {"role": "sensitive", "hierarchy": {"groups": GROUPS}},
        "pay": "sensitive",
    },
}
Row = dict[str, Any]


def drawn(seed: int) -> list[Row]:
    rng = random.Random(seed)
    few = rng.choice(["ab", "abc", "abcd"])
    rows = [
        {"zip": rng.choice("xyzw"), "ill": rng.choice(few), "pay": rng.choice([1, 2, 3, 4, 5, 6])}
        for _ in range(rng.randint(4, 24))
    ]
    return [*rows, {"zip": "x", "ill": "a", "pay": 1}, {"zip": "y", "ill": "b", "pay": 6}]


def table(rows: list[Row]) -> pa.Table:
    return pa.table({name: [row[name] for row in rows] for name in rows[0]})


def grouped(rows: list[Row]) -> dict[str, list[Row]]:
    return {
        place: [r for r in rows if r["zip"] == place] for place in sorted({r["zip"] for r in rows})
    }


def of(report: tclose.AttackReport, attack: str, attribute: str | None) -> tclose.Finding:
    (found,) = [one for one in report.of(attack) if one.attribute == attribute]
    return found


@FEW
@given(SEEDS)
def test_every_class_is_judged_by_its_own_values(seed: int) -> None:
    rows = drawn(seed)
    report = tclose.attack(table(rows), RULES)
    shares = {v: Fraction(c, len(rows)) for v, c in Counter(r["ill"] for r in rows).items()}
    single = ruled_out = skewed = similar = small = 0
    ratio = rise = Fraction(0)
    for some in grouped(rows).values():
        counts = Counter(r["ill"] for r in some)
        single += len(some) * (len(counts) == 1)
        ruled_out += len(some) * (len(counts) == 2 < len(shares))
        gains = [(Fraction(c, len(some)), shares[v]) for v, c in counts.items()]
        skewed += len(some) * any(p >= 2 * q and p - q >= Fraction(1, 10) for p, q in gains)
        ratio = max(ratio, *(p / q for p, q in gains))
        rise = max(rise, *(p - q for p, q in gains))
        inside = {v in "ab" for v in counts}
        similar += len(some) * (len(counts) > 1 and len(inside) == 1)
        small += len(some) * (len(some) < 3)
    assert of(report, "homogeneity", "ill").affected == single
    assert of(report, "background knowledge", "ill").affected == ruled_out
    skew = of(report, "skewness", "ill")
    assert skew.affected == skewed
    assert skew.numbers["largest ratio"] == pytest.approx(float(ratio))
    assert skew.numbers["largest difference"] == pytest.approx(float(rise))
    both = {v in "ab" for v in shares}
    found = [one for one in report.of("similarity") if one.attribute == "ill"]
    assert sum(one.affected for one in found) == (similar if len(both) > 1 else 0)
    assert of(report, "prosecutor", None).affected == small


@FEW
@given(SEEDS)
def test_knowing_the_other_attribute_is_a_finer_grouping(seed: int) -> None:
    rows = drawn(seed)
    report = tclose.attack(table(rows), RULES)
    for mine, other in (("ill", "pay"), ("pay", "ill")):
        certain = alone = 0
        for some in grouped(rows).values():
            for value in {r[other] for r in some}:
                part = [r for r in some if r[other] == value]
                alone += len(part) == 1
                fresh = len({r[mine] for r in some}) > 1
                certain += len(part) * (fresh and len({r[mine] for r in part}) == 1)
        found = of(report, "background join", mine)
        assert (found.affected, found.numbers["rows that stand alone"]) == (certain, alone)


@FEW
@given(SEEDS, SEEDS)
def test_two_releases_leave_the_values_that_both_show(seed: int, other: int) -> None:
    rows = drawn(seed)
    rng = random.Random(other)
    again = [{**row, "zip": rng.choice("pqr")} for row in rows]
    rules = {**RULES, "release": {"rows": "keep"}}
    report = tclose.attack(table(rows), rules, other=table(again))
    first, second = grouped(rows), grouped(again)
    shares = {v: c / len(rows) for v, c in Counter(r["ill"] for r in rows).items()}
    certain, strongest, farthest = 0, 0.0, 0.0
    for mine, theirs in zip(rows, again, strict=True):
        one = Counter(r["ill"] for r in first[mine["zip"]])
        two = Counter(r["ill"] for r in second[theirs["zip"]])
        belief = {v: one[v] / one.total() * two[v] / two.total() / shares[v] for v in shares}
        whole = sum(belief.values())
        belief = {v: b / whole for v, b in belief.items()}
        strongest = max(strongest, *belief.values())
        farthest = max(farthest, sum(abs(belief[v] - shares[v]) for v in shares) / 2)
        certain += len(set(one) & set(two)) == 1 < min(len(one), len(two))
    found = of(report, "composition", "ill")
    assert found.affected == certain
    assert found.numbers["strongest belief"] == pytest.approx(strongest)
    assert found.numbers["farthest from the table"] == pytest.approx(farthest)


@FEW
@given(SEEDS)
def test_people_are_sought_in_the_narrowest_class_that_covers_them(seed: int) -> None:
    rng = random.Random(seed)
    rows = [
        {"age": rng.randint(20, 29), "hue": rng.choice("rgb"), "ill": rng.choice("abc")}
        for _ in range(rng.randint(4, 20))
    ]
    label = [rng.randrange(4) for _ in rows]
    members = {c: [r for r, one in zip(rows, label, strict=True) if one == c] for c in set(label)}
    boxes = {
        c: (min(r["age"] for r in some), max(r["age"] for r in some), {r["hue"] for r in some})
        for c, some in members.items()
    }
    assume(
        len({(low, high, tuple(sorted(hues))) for low, high, hues in boxes.values()}) == len(boxes)
    )
    ages = {r["age"] for r in rows}
    volume = {c: sum(a <= x <= b for x in ages) * len(h) for c, (a, b, h) in boxes.items()}

    def told(c: int) -> tuple[str, str]:
        low, high, hues = boxes[c]
        age = f"[{low}, {high}]" if low < high else str(low)
        names = sorted(hues)
        return age, "{" + ", ".join(names) + "}" if len(names) > 1 else names[0]

    release = [{"age": told(c)[0], "hue": told(c)[1], "ill": r["ill"]}
               for r, c in zip(rows, label, strict=True)]  # fmt: skip
    hits = right = 0.0
    for row, true in zip(rows, label, strict=True):
        fit = [c for c, (a, b, h) in boxes.items() if a <= row["age"] <= b and row["hue"] in h]
        best = [c for c in fit if volume[c] == min(volume[c] for c in fit)]
        hits += (true in best) / sum(len(members[c]) for c in best)
        right += true in best
    rules = {"k": 2, "columns": {"age": "quasi", "hue": "quasi", "ill": "sensitive"}}
    report = tclose.attack(table(release), rules, original=table(rows))
    found = of(report, "linkage", None)
    assert found.numbers["known whose row is whose"] is True
    assert found.numbers["success rate"] == pytest.approx(hits / len(rows))
    assert found.numbers["right class"] == pytest.approx(right / len(rows))


@FEW
@given(SEEDS)
def test_a_class_is_held_together_by_its_values_where_every_cut_breaks_the_promise(
    seed: int,
) -> None:
    rng = random.Random(seed)
    rows = [
        {"age": rng.randint(20, 40), "hue": rng.choice("rgb"), "ill": rng.choice("aab")}
        for _ in range(24)
    ]
    rows += [{"age": 20, "hue": "r", "ill": "a"}, {"age": 40, "hue": "b", "ill": "b"}]
    label = [row["age"] // 14 for row in rows]
    share = sum(r["ill"] == "a" for r in rows) / len(rows)
    possible = harmed = 0
    for c in set(label):
        some = [r for r, one in zip(rows, label, strict=True) if one == c]
        outcomes = []
        for name in ("age", "hue"):
            for cut in {r[name] for r in some}:
                sides = [r for r in some if r[name] < cut], [r for r in some if r[name] >= cut]
                if min(len(side) for side in sides) < 3:
                    continue
                shares = [sum(r["ill"] == "a" for r in side) / len(side) for side in sides]
                outcomes.append(max(abs(one - share) for one in shares) > 0.15)
        possible += bool(outcomes)
        harmed += len(some) * (bool(outcomes) and all(outcomes))
    ends = {c: [r for r, one in zip(rows, label, strict=True) if one == c] for c in set(label)}
    release = []
    for row, c in zip(rows, label, strict=True):
        ages, hues = ([r[name] for r in ends[c]] for name in ("age", "hue"))
        told = sorted(set(hues))
        hue = "{" + ", ".join(told) + "}" if len(told) > 1 else told[0]
        release.append({"age": f"[{min(ages)}, {max(ages)}]", "hue": hue, "ill": row["ill"]})
    rules = {
        "k": 3,
        "columns": {"age": "quasi", "hue": "quasi", "ill": {"role": "sensitive", "t": 0.15}},
    }
    found = of(tclose.attack(table(release), rules, original=table(rows)), "minimality", None)
    assert found.affected == harmed
    assert found.numbers["classes large enough to be cut"] == possible
    assert found.numbers["every cut was tried"] is True
