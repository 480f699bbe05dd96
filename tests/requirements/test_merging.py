"""Merging classes never makes a monotone requirement worse; the others have counterexamples."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose.distance.emd import EarthMover
from tclose.distance.ground import equal
from tclose.hierarchy.build import groups
from tclose.requirements.belief.delta_disclosure import DeltaDisclosure
from tclose.requirements.closeness.joint import JointCloseness
from tclose.requirements.closeness.nt_closeness import NTCloseness
from tclose.requirements.identity.delta_presence import DeltaPresence
from tclose.requirements.identity.k_map import KMap

TREE = {"hierarchy": {"groups": {"any": ["1"]}}}  # asks for the tree of the domain


def not_worse(after: Any, before: Any) -> bool:
    if isinstance(after, Fraction) and isinstance(before, Fraction):
        return after <= before
    return bool(after <= before + 1e-12)


@pytest.mark.slow
@settings(max_examples=60)
@given(data=st.data())
def test_merging_two_classes_never_worsens_a_monotone_requirement(brute: Any, data: Any) -> None:
    rows = data.draw(brute.rows_of(quasi=("abcd",), most=14))
    spec = {"s": TREE}
    before = brute.classes_of(rows, ["u"], spec)
    names = sorted({row[0] for row in rows})
    one, other = (data.draw(st.sampled_from(names)) for _ in range(2))
    merged = [(one if row[0] == other else row[0], *row[1:]) for row in rows]
    after = brute.classes_of(merged, ["u"], spec)
    for name, requirement in brute.promises(before).items():
        assert requirement.capabilities.monotone, name
        worse = brute.badness(requirement, after), brute.badness(requirement, before)
        assert not_worse(*worse), name


@settings(max_examples=30)
@given(data=st.data(), by=st.sampled_from(["equal", "mean", "max"]))
def test_merging_never_worsens_joint_closeness(brute: Any, data: Any, by: str) -> None:
    rows = data.draw(brute.rows_of(quasi=("abc",), sensitive=2, most=8))
    before = brute.classes_of(rows, ["u"], {"s": {}, "w": {}})
    merged = [("a", *row[1:]) if row[0] == "b" else row for row in rows]
    after = brute.classes_of(merged, ["u"], {"s": {}, "w": {}})
    grounds = tuple(before.attributes[name].ground("ordered") for name in ("s", "w"))
    requirement = JointCloseness(("s", "w"), by, grounds)
    assert requirement.capabilities.monotone
    assert brute.badness(requirement, after) <= brute.badness(requirement, before)


@settings(max_examples=30)
@given(data=st.data())
def test_merging_never_worsens_k_map_and_delta_presence(brute: Any, data: Any) -> None:
    """A merged class is matched by whoever matched one of its parts."""
    rows = data.draw(brute.rows_of(quasi=("abc",), most=12))
    sizes = Counter(row[0] for row in rows)
    names = sorted(sizes)
    people = {name: sizes[name] + data.draw(st.integers(0, 3)) for name in names}
    merged = [("a", *row[1:]) if row[0] == "b" else row for row in rows]
    joined = Counter({("a" if name == "b" else name): 0 for name in names})
    for name, count in people.items():
        joined["a" if name == "b" else name] += count
    before, after = (brute.classes_of(table, ["u"], {"s": {}}) for table in (rows, merged))
    few = np.array([people[name] for name in names])
    many = np.array([joined[name] for name in sorted(joined)])
    for model in (KMap, DeltaPresence):
        assert model(few).capabilities.monotone
        assert brute.badness(model(many), after) <= brute.badness(model(few), before)


def test_nt_closeness_can_break_when_classes_are_merged(brute: Any) -> None:
    """Two classes, each like its own surroundings; together they are like nobody's."""
    one = [("a1", "cancer")] * 90 + [("a2", "cancer")] * 110
    two = [("b1", "none")] * 10 + [("b2", "none")] * 9_990
    tree = groups({"A": ["a1", "a2"], "B": ["b1", "b2"]}, "u")
    before = brute.classes_of(one + two, ["u"], {"s": {}})
    requirement = NTCloseness(
        "s", EarthMover(equal(2)), n=101, limit=Fraction(1, 10), trees={"u": tree}
    )
    assert not requirement.capabilities.monotone
    assert not requirement.measure(before).fails.any()
    merged = [("*" if key in ("a1", "b1") else key, value) for key, value in one + two]
    after = brute.classes_of(merged, ["u"], {"s": {}})
    broken = requirement.measure(after)
    united = after.dictionaries["u"].labels.index("*")
    assert broken.fails.tolist() == [at == united for at in range(after.count)]
    whole, mine = Fraction(200, 10_200), Fraction(90, 100)
    assert broken.exact == mine - whole
    assert f"{float(mine - whole):.2f}" == "0.88"


def test_delta_disclosure_that_ignores_absent_values_can_break_when_classes_are_merged(
    brute: Any,
) -> None:
    """A value that nobody has is overlooked until a merge makes it rare instead."""
    rows = [("a", "1")] * 99 + [("b", "2"), ("c", "1")] + [("c", "2")] * 99
    lax = DeltaDisclosure("s", limit=Fraction(3, 2), absent="ignore")
    strict = DeltaDisclosure("s", limit=Fraction(3, 2))
    assert strict.capabilities.monotone
    assert not lax.capabilities.monotone
    parts = brute.classes_of(rows, ["u"], {"s": {}})
    merged = [("a", value) if key == "b" else (key, value) for key, value in rows]
    whole = brute.classes_of(merged, ["u"], {"s": {}})
    alone = lax.measure(parts).value
    assert max(alone[:2]) < 1 < lax.measure(whole).value[0]
    assert lax.measure(whole).fails[0]
    assert strict.measure(parts).fails[:2].all()
