"""What an audit says of rows that do not count as one, beside the definitions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose

pytestmark = pytest.mark.slow

ROLES = ("count", "weight", "subject")


def attained(audit: Any) -> dict[str, Any]:
    return {
        f"{one.requirement} {one.attribute or ''} {one.distance or ''} {one.reading}": one
        for one in (*audit.requirements, *audit.measured)
    }


@pytest.mark.parametrize("role", ROLES)
@settings(max_examples=25)
@given(data=st.data())
def test_every_measure_is_that_of_its_definition(
    role: str, data: st.DataObject, weighed: Any
) -> None:
    table = data.draw(weighed.tables(role))
    audit = tclose.audit(table.arrow(), table.policy())
    found = attained(audit)
    exact = {
        "k-anonymity   separate": table.k(),
        "t-closeness s equal separate": table.equal("s"),
        "t-closeness s ordered separate": table.ordered("s"),
        "t-closeness u equal cross": table.equal("u", known=("s",)),
        "joint-t-closeness s × u equal joint": table.equal("s", "u"),
        "distinct-l-diversity s  separate": table.distinct("s"),
        "probabilistic-l-diversity s  separate": 1 / table.commonest("s"),
        "alpha-k-anonymity s  separate": table.commonest("s"),
        "recursive-(c,l)-diversity s  separate": table.recursive("s"),
        "basic-beta-likeness s  separate": table.gain("s"),
    }
    for title, value in exact.items():
        if value is not None:
            assert found[title].achieved_exact == value, title
    recursive = found["recursive-(c,l)-diversity s  separate"]
    assert math.isinf(recursive.achieved) == (table.recursive("s") is None)
    change, spread = table.change("s"), table.entropy("s")
    assert found["delta-disclosure s  separate"].achieved == pytest.approx(change)
    assert found["entropy-l-diversity s  separate"].achieved == pytest.approx(spread)
    rows = (
        int(sum(Fraction(row["c"]) for row in table.rows)) if role == "count" else len(table.rows)
    )
    assert audit.rows == rows and audit.classes == len(table.classes())


@pytest.mark.parametrize("role", ROLES)
@settings(max_examples=25)
@given(data=st.data())
def test_a_superset_is_large_by_what_its_rows_count(
    role: str, data: st.DataObject, weighed: Any
) -> None:
    table = data.draw(weighed.tables(role))
    n = data.draw(st.integers(1, 12))
    audit = tclose.audit(table.arrow(), table.policy(t=0.3, n=n))
    (verdict,) = audit.requirements
    expected = table.superset("s", n)
    if expected is None:
        assert verdict.holds is False and math.isinf(verdict.achieved)
    else:
        assert verdict.achieved_exact == expected and verdict.holds is (expected <= Fraction(3, 10))


@pytest.mark.parametrize("role", ROLES)
@settings(max_examples=10)
@given(data=st.data())
def test_a_threshold_is_met_exactly_where_its_value_is(
    role: str, data: st.DataObject, weighed: Any
) -> None:
    """Every promise set to what is attained holds; a hair's breadth stricter fails."""
    table = data.draw(weighed.tables(role))
    hair = Fraction(1, 10**15)
    for key, value, stricter in (
        ("t", table.equal("s"), table.equal("s") - hair),
        ("alpha", table.commonest("s"), table.commonest("s") - hair),
        ("beta", table.gain("s"), table.gain("s") - hair),
    ):
        if value > 0:
            held = tclose.verify(table.arrow(), table.policy(**{key: str(value)}))
            broken = tclose.verify(table.arrow(), table.policy(**{key: str(stricter)}))
            assert held.holds and not broken.holds, key
    k = int(table.k())
    assert tclose.verify(table.arrow(), table.policy(k=k)).holds
    assert not tclose.verify(table.arrow(), table.policy(k=k + 1)).holds


@settings(max_examples=25)
@given(data=st.data())
def test_a_count_is_as_many_equal_rows(data: st.DataObject, weighed: Any) -> None:
    table = data.draw(weighed.tables("count"))
    mine, theirs = (
        tclose.audit(one.arrow(), one.policy(k=2, t=0.3, l=2)).to_json()
        for one in (table, table.repeated())
    )
    assert {**mine, "source": ""} == {**theirs, "source": ""}


@settings(max_examples=25)
@given(data=st.data())
def test_equal_weights_are_none(data: st.DataObject, weighed: Any) -> None:
    plain = data.draw(weighed.tables(""))
    weight = data.draw(st.sampled_from(["1", "0.1", "3.75", "1e-9", "12345678901234567890.5"]))
    table = weighed.Table([{**row, "c": weight} for row in plain.rows], "weight")
    mine, theirs = (
        tclose.audit(one.arrow(), one.policy(k=2, t=0.3, l=2)).to_json() for one in (table, plain)
    )
    notes = [note for note in mine["notes"] if "weight" not in note]
    assert {**mine, "source": "", "notes": notes} == {**theirs, "source": ""}


@settings(max_examples=25)
@given(data=st.data())
def test_rows_of_different_persons_are_rows(data: st.DataObject, weighed: Any) -> None:
    plain = data.draw(weighed.tables(""))
    named = [{**row, "c": f"p{at}"} for at, row in enumerate(plain.rows)]
    table = weighed.Table(named, "subject")
    mine, theirs = (
        tclose.audit(one.arrow(), one.policy(k=2, t=0.3, l=2)).to_json() for one in (table, plain)
    )
    assert {**mine, "source": ""} == {**theirs, "source": ""}


@settings(max_examples=25)
@given(data=st.data())
def test_rows_that_stand_twice_for_a_person_change_nothing(
    data: st.DataObject, weighed: Any
) -> None:
    table = data.draw(weighed.tables("subject"))
    twice = weighed.Table([*table.rows, *table.rows[::2]], "subject")
    mine, theirs = (
        [
            (one.requirement, one.attribute, one.reading, one.achieved_exact, one.achieved)
            for one in attained(tclose.audit(each.arrow(), each.policy(k=2, t=0.3))).values()
        ]
        for each in (twice, table)
    )
    assert mine == theirs


@settings(max_examples=25)
@given(data=st.data())
def test_missing_quasi_identifiers_are_matched_by_person(data: st.DataObject, weighed: Any) -> None:
    """A row without a quasi-identifier may be in any class; so may its person."""
    table = data.draw(weighed.tables("subject"))
    lost = data.draw(st.lists(st.sampled_from(range(len(table.rows))), min_size=1, unique=True))
    rows = [{**row, "q": None if at in lost else row["q"]} for at, row in enumerate(table.rows)]
    policy = table.policy(k=2, t=0.3)
    policy["columns"]["q"] = {"role": "quasi", "missing": "any"}
    whole = weighed.Table(rows, "subject")
    wild = [row for row in rows if row["q"] is None]
    views = [one for key, one in whole.classes().items() if key[0] is not None]
    views += [[*one, *wild] for one in views]
    views = views or [wild]
    sizes = min(whole.size(view) for view in views)
    far = max(
        sum(
            abs(whole.distribution(view, "s").get(value, Fraction(0)) - share)
            for value, share in whole.distribution(rows, "s").items()
        )
        / 2
        for view in views
    )
    found = tclose.verify(whole.arrow(), policy)
    assert [one.achieved_exact for one in found.requirements] == [sizes, far]


def test_weights_beyond_64_bits_are_weighed_exactly(weighed: Any) -> None:
    rows = [
        {"q": "a", "s": "1", "u": "x", "c": "1e30"},
        {"q": "a", "s": "2", "u": "x", "c": "1e-30"},
        {"q": "b", "s": "1", "u": "y", "c": "123456789.000000001"},
        {"q": "b", "s": "2", "u": "y", "c": "0.3"},
    ]
    table = weighed.Table(rows, "weight")
    found = attained(tclose.audit(table.arrow(), table.policy()))
    assert found["t-closeness s equal separate"].achieved_exact == table.equal("s")
    assert found["alpha-k-anonymity s  separate"].achieved_exact == table.commonest("s")
    assert found["basic-beta-likeness s  separate"].achieved_exact == table.gain("s")
    assert found["joint-t-closeness s × u equal joint"].achieved_exact == table.equal("s", "u")


def test_an_explanation_shows_weighted_shares_and_plain_rows(weighed: Any) -> None:
    rows = [
        {"q": "a", "s": "1", "u": "x", "c": "3"},
        {"q": "a", "s": "2", "u": "x", "c": "1"},
        {"q": "b", "s": "2", "u": "x", "c": "4"},
    ]
    table = weighed.Table(rows, "weight")
    why = tclose.explain(table.arrow(), table.policy(), attribute="s", class_number=1)
    assert [(one.value, one.rows, str(one.in_class)) for one in why.shares] == [
        ("1", 1, "3/4"), ("2", 1, "1/4"),
    ]  # fmt: skip
    assert why.exact == table.equal("s") == Fraction(3, 8) and why.size == 2


def test_an_explanation_by_persons_counts_each_once(weighed: Any) -> None:
    rows = [
        {"q": "a", "s": "1", "u": "x", "c": "ann"},
        {"q": "a", "s": "1", "u": "y", "c": "ann"},
        {"q": "a", "s": "2", "u": "x", "c": "ann"},
        {"q": "a", "s": "2", "u": "x", "c": "bob"},
        {"q": "b", "s": "2", "u": "x", "c": "bob"},
    ]
    table = weighed.Table(rows, "subject")
    why = tclose.explain(table.arrow(), table.policy(), attribute="s", class_number=1)
    assert [(one.rows, str(one.in_class), str(one.in_table)) for one in why.shares] == [
        (1, "1/3", "1/3"), (2, "2/3", "2/3"),
    ]  # fmt: skip
    assert why.exact == 0


def test_the_audit_says_what_linked_rows_and_rare_weights_tell(weighed: Any) -> None:
    rows = [{"q": "a", "s": "1", "u": "x", "c": f"{at}.5"} for at in range(1, 9)]
    (note,) = tclose.audit(
        weighed.Table(rows, "weight").arrow(), weighed.Table(rows, "weight").policy()
    ).notes
    assert "8 of 8 rows" in note and "'c'" in note
    same = [{**row, "c": "2"} for row in rows]
    table = weighed.Table(same, "weight")
    assert tclose.audit(table.arrow(), table.policy()).notes == ()
    table = weighed.Table(
        [{**row, "c": "p1"} for row in rows[:4]] + [{**rows[0], "c": "p2"}], "subject"
    )
    (note,) = tclose.audit(table.arrow(), table.policy()).notes
    assert "count persons (2 in column 'c')" in note and "rows of one person are linked" in note
