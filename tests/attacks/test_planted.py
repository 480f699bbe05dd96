"""Attacks find what was planted, count it exactly, and find nothing in a clean table."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import tclose
from tclose.attacks import minimality
from tclose.errors import DataError, UsageError
from tclose.report.sections.findings import rate_severity
from tclose.report.summaries import summarize_attacks

RULES: dict[str, Any] = {"k": 2, "columns": {"zip": "quasi", "ill": "sensitive"}}
STOMACH = {"stomach": ["ulcer", "gastritis", "cancer"], "lung": ["flu", "bronchitis", "asthma"]}


def classes(*groups: str, column: str = "ill") -> pa.Table:
    """A table with one class per text; each letter of it is a row's sensitive value."""
    places = [f"z{at}" for at, group in enumerate(groups) for _ in group]
    return pa.table({"zip": places, column: [letter for group in groups for letter in group]})


def finding(report: tclose.AttackReport, attack: str) -> tclose.Finding:
    (found,) = report.of(attack)
    return found


def test_a_clean_table_gives_nothing_away() -> None:
    table = classes("abcd" * 5, "abcd" * 5, "abcd" * 5)
    report = tclose.attack(table, RULES, original=table, population=table, other=table)
    # It is its own original, so its order is that of the original.
    assert [found.attack for found in report.found] == ["order"]
    assert {one.attack for one in report.findings} == {
        "homogeneity", "background knowledge", "skewness", "prosecutor", "journalist", "marketer",
        "order", "linkage", "deFinetti", "composition",
    }  # fmt: skip
    assert report.not_tried == ("minimality: no requirement is about sensitive attributes",)


def test_a_homogeneous_class_is_found() -> None:
    found = finding(tclose.attack(classes("abc", "aa", "bbbb"), RULES), "homogeneity")
    assert (found.affected, found.total, found.classes) == (6, 9, (3, 2))
    assert "6 rows" in found.sentence


def test_a_table_of_one_value_teaches_it_without_any_class() -> None:
    report = tclose.attack(classes("aa", "aaa"), RULES)
    assert not finding(report, "homogeneity").found
    assert report.beliefs[0].guess == (1.0, 1.0, 1.0)


def test_a_class_of_two_values_needs_one_to_be_ruled_out() -> None:
    found = finding(tclose.attack(classes("aaab", "abc", "abcd"), RULES), "background knowledge")
    assert (found.affected, found.classes) == (4, (1,))
    assert found.numbers["fewest values to exclude"] == 1
    assert found.numbers["rows certain when 2 are excluded"] == 7
    assert found.numbers["surest guess when one value is excluded"] == 1.0


def test_two_values_everywhere_are_what_the_table_teaches() -> None:
    found = finding(tclose.attack(classes("ab", "aab"), RULES), "background knowledge")
    assert not found.found and found.numbers["in the whole table"] == 1


def test_forty_nine_to_one_raises_the_belief_from_one_to_98_percent() -> None:
    """Li et al. 2007, Example 2: 1 % positive in the table, 49 of 50 in one class."""
    table = classes("p" * 49 + "n", "n" * 4900 + "p")
    found = finding(tclose.attack(table, RULES), "skewness")
    assert (found.affected, found.classes) == (50, (1,))
    share = 50 / 4951
    assert found.numbers["largest ratio"] == pytest.approx(0.98 / share)
    assert found.numbers["largest difference"] == pytest.approx(0.98 - share)
    best = found.details[0]
    assert best["value"] == 2 and best["protected"] is False


def test_protected_values_are_marked_and_come_first() -> None:
    rules = {"columns": {"zip": "quasi", "ill": {
        "role": "sensitive", "alpha": {"max": 1, "values": ["a"]}}}}  # fmt: skip
    found = finding(tclose.attack(classes("abb", "abbbbb"), rules), "skewness")
    assert [one["protected"] for one in found.details] == [True, False]


def test_exactly_double_and_exactly_a_tenth_more_counts() -> None:
    table = classes("a" * 2 + "b" * 8, "b" * 10)
    assert finding(tclose.attack(table, RULES), "skewness").affected == 10
    near = classes("a" * 2 + "b" * 8, "a" + "b" * 9)
    assert finding(tclose.attack(near, RULES), "skewness").affected == 0


def test_different_values_of_one_group_are_similar() -> None:
    rules = {"columns": {"zip": "quasi", "ill": {
        "role": "sensitive", "hierarchy": {"groups": STOMACH}}}}  # fmt: skip
    table = pa.table(
        {
            "zip": ["x", "x", "x", "y", "y", "z", "z"],
            "ill": ["ulcer", "gastritis", "cancer", "flu", "ulcer", "asthma", "asthma"],
        }
    )
    found = finding(tclose.attack(table, rules), "similarity")
    assert (found.affected, found.classes, found.numbers["level"]) == (3, (1,), 1)


def test_people_are_found_who_are_in_no_released_value() -> None:
    """Trees made from released values alone know nobody of the population by name."""
    table = pa.table({"zip": ["476**"] * 2 + ["4790*"], "age": ["[20, 30)"] * 2 + ["[40, 60)"],
                      "ill": ["a", "b", "a"]})  # fmt: skip
    people = pa.table({"zip": ["47677", "47602", "47611", "47905", "47800"],
                       "age": [21, 29, 30, 44, 44]})  # fmt: skip
    columns = {
        "zip": {"role": "quasi", "hierarchy": {"prefix": [4, 3, 0]}},
        "age": {"role": "quasi", "hierarchy": {"intervals": [10, 20]}},
        "ill": "sensitive",
    }
    more = pa.concat_tables([people] * 3)
    report = tclose.attack(table, {"k": 4, "columns": columns}, population=more)
    journalist = finding(report, "journalist")
    assert journalist.numbers["highest risk"] == pytest.approx(1 / 3)
    assert journalist.numbers["classes that fewer people fit than are in them"] == 0
    assert (journalist.affected, journalist.classes) == (1, (2,))
    expected = 2 / 6 + 1 / 3
    assert finding(report, "marketer").numbers["expected matches"] == pytest.approx(expected)


def test_generalized_values_lie_in_their_group() -> None:
    """A class of flu, cold and "lung" is all of the lung; one with a coarser value is not."""
    tree = {"hierarchy": {"groups": {"body": {"lung": ["flu", "cold"], "gut": ["ulcer"]},
                                     "mind": ["grief"]}}}  # fmt: skip
    rules = {"columns": {"zip": "quasi", "ill": {"role": "sensitive", **tree}}}
    table = pa.table({"zip": ["x"] * 3 + ["y"] * 2 + ["z"] * 2,
                      "ill": ["flu", "cold", "lung", "flu", "body", "ulcer", "grief"]})  # fmt: skip
    first, second = tclose.attack(table, rules).of("similarity")
    assert (first.numbers["level"], first.affected, first.classes) == (1, 3, (1,))
    assert (second.numbers["level"], second.affected, second.classes) == (2, 5, (1, 2))


def test_values_close_together_on_a_scale_are_similar() -> None:
    """Li et al. 2007: salaries of 3, 4 and 5 thousand are all low."""
    table = pa.table({"zip": ["x"] * 3 + ["y"] * 3 + ["z"] * 3,
                      "ill": [3, 4, 5, 6, 11, 8, 7, 9, 10]})  # fmt: skip
    found = finding(tclose.attack(table, RULES), "similarity")
    assert (found.affected, found.classes) == (3, (1,))


def test_small_classes_and_rare_people_are_at_risk() -> None:
    table = classes("a", "ab", "abc")
    people = pa.table({"zip": ["z0"] * 9 + ["z1"] * 2 + ["z2"] * 30})
    report = tclose.attack(table, {**RULES, "k": 3}, population=people)
    prosecutor, journalist = finding(report, "prosecutor"), finding(report, "journalist")
    assert (prosecutor.affected, prosecutor.classes) == (3, (1, 2))
    assert prosecutor.numbers["highest risk"] == 1.0
    assert (journalist.affected, journalist.classes) == (2, (2,))
    assert journalist.numbers["highest risk"] == 0.5
    expected = 1 / 9 + 2 / 2 + 3 / 30
    assert finding(report, "marketer").numbers["expected matches"] == pytest.approx(expected)
    alone = finding(tclose.attack(table, {**RULES, "k": 3}), "marketer")
    assert alone.numbers["share"] == pytest.approx(3 / 6) and alone.affected == 3


def test_the_other_sensitive_attribute_gives_the_rest_away() -> None:
    rules = {"columns": {"zip": "quasi", "ill": "sensitive", "pay": "sensitive"}}
    table = pa.table(
        {"zip": ["x"] * 4 + ["y"] * 4, "ill": list("aabbabab"), "pay": list("uuvvuuvv")}
    )
    report = tclose.attack(table, rules)
    ill = next(one for one in report.of("background join") if one.attribute == "ill")
    assert (ill.affected, ill.classes) == (4, (1,))
    assert ill.numbers["rows that stand alone"] == 0
    pay = next(one for one in report.of("background join") if one.attribute == "pay")
    assert pay.affected == 4


def test_beliefs_grow_from_nothing_to_the_table_to_the_class() -> None:
    report = tclose.attack(classes("aaab", "bbcc"), RULES)
    (belief,) = report.beliefs
    assert belief.guess == pytest.approx((1 / 3, 3 / 8, 5 / 8))
    assert belief.bits[0] > belief.bits[1] > belief.bits[2]
    assert "62.5%" in belief.sentence


def test_where_persons_are_counted_a_class_that_shows_less_than_the_table_is_explained() -> None:
    """Both have a: the table shows that of each, a class of rows only what stands in it."""
    columns = {"who": "subject", "zip": "quasi", "ill": "sensitive"}
    rules = {"k": 2, "columns": columns}
    people = pa.table({"who": list("xyxy"), "zip": list("1122"), "ill": list("aabc")})
    (belief,) = (report := tclose.attack(people, rules)).beliefs
    assert belief.guess[1:] == (1.0, 0.75)
    words = "a class may show less than the table"
    assert words in belief.sentence
    assert report.to_json()["beliefs"][0]["by_person"] is True
    assert any(words in getattr(part, "text", "") for part in summarize_attacks(report))
    (rows,) = tclose.attack(classes("aaab", "bbcc"), RULES).beliefs
    assert words not in rows.sentence


def test_two_harmless_releases_together_are_certain() -> None:
    """Ganta et al. 2008: {a, b} in one release and {b, c} in the other leave b."""
    ill = list("abcabc")
    one = pa.table({"zip": ["x", "x", "y", "y", "x", "y"], "ill": ill})
    two = pa.table({"zip": ["p", "q", "q", "p", "q", "p"], "ill": ill})
    rules = {**RULES, "release": {"rows": "keep"}}
    found = finding(tclose.attack(one, rules, other=two), "composition")
    # One: x = {a, b, b}, y = {c, a, c}. Two: p = {a, a, c}, q = {b, c, b}.
    # Rows: 1 (x, p) → a; 2 (x, q) → b; 3 (y, q) → c; 4 (y, p) → a, c; 5 (x, q) → b; 6 (y, p).
    assert (found.affected, found.total) == (4, 6)
    assert found.classes == (1, 2)
    assert found.numbers["fewest values left"] == 1
    assert found.numbers["strongest belief"] == pytest.approx(1.0)


def test_releases_are_linked_by_a_key_or_their_order_or_not_at_all() -> None:
    rules = {"columns": {**RULES["columns"], "row": "insensitive"}}
    ill, row = list("abcabc"), list("123456")
    one = pa.table({"zip": list("xxyyxy"), "ill": ill, "row": row})
    two = pa.table({"zip": list("pqqpqp"), "ill": ill, "row": row}).take([5, 3, 1, 0, 2, 4])
    keyed = finding(tclose.attack(one, rules, other=two, key="row"), "composition")
    assert keyed.affected == 4
    fewer = finding(tclose.attack(one, rules, other=two.slice(0, 3), key="row"), "composition")
    assert fewer.total == 3
    steps: list[str] = []
    with pytest.raises(UsageError, match="not known whose row is whose"):
        tclose.attack(one, rules, other=two.slice(0, 3), progress=steps.append)
    assert steps and not any("looking at" in step for step in steps), "refused before any attack"
    with pytest.raises(DataError, match="differ in a sensitive value"):
        tclose.attack(one, rules, other=two)
    with pytest.raises(DataError, match="no column 'name'"):
        tclose.attack(one, rules, other=two, key="name")


def test_the_nearest_box_finds_people_who_are_alone_in_it() -> None:
    rules = {"k": 3, "columns": {"age": "quasi", "ill": "sensitive"}}
    original = pa.table({"age": [20, 21, 22, 23, 50], "ill": list("abcab")})
    release = pa.table({"age": ["[20, 23]"] * 4 + ["50"], "ill": list("abcab")})
    found = finding(tclose.attack(release, rules, original=original), "linkage")
    assert found.affected == 1
    assert found.numbers["success rate"] == pytest.approx((4 * (1 / 4) + 1) / 5)
    assert found.numbers["right class"] == 1.0
    turned = release.take([4, 0, 1, 2, 3])
    again = finding(tclose.attack(turned, rules, original=original), "linkage")
    assert again.numbers == found.numbers, "their values say whose rows they are"
    overlapping = pa.table({"age": ["[20, 50]"] * 3 + ["[20, 23]"] * 2, "ill": list("bcaab")})
    guessed = finding(tclose.attack(overlapping, rules, original=original), "linkage")
    assert guessed.numbers["known whose row is whose"] is False


def test_the_narrower_of_two_boxes_is_the_wrong_guess_for_some() -> None:
    rules = {"k": 2, "columns": {"age": "quasi", "ill": "sensitive"}}
    original = pa.table({"age": [20, 22, 21, 23], "ill": list("abab")})
    release = pa.table({"age": ["[20, 22]"] * 2 + ["[20, 23]"] * 2, "ill": list("abab")})
    found = finding(tclose.attack(release, rules, original=original), "linkage")
    # Age 21 fits both boxes and is sought in the narrower one, where it is not.
    assert found.numbers["right class"] == pytest.approx(3 / 4)
    assert found.numbers["success rate"] == pytest.approx(3 / 8)


def test_central_values_are_found_by_the_nearest() -> None:
    rules = {"k": 2, "columns": {"age": "quasi", "ill": "sensitive"},
             "release": {"recoding": "mean"}}  # fmt: skip
    original = pa.table({"age": [20, 22, 60, 62], "ill": list("abab")})
    release = pa.table({"age": ["21", "21", "61", "61"], "ill": list("abab")})
    found = finding(tclose.attack(release, rules, original=original), "linkage")
    assert found.numbers["right class"] == 1.0
    assert found.numbers["success rate"] == pytest.approx(1 / 2)


def test_a_class_that_only_sensitive_values_hold_together_is_found() -> None:
    rules = {"k": 2, "columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 0.3}}}
    split = pa.table({"age": [20, 21, 30, 31, 60, 61, 70, 71], "ill": list("aabbabab")})
    release = pa.table({"age": ["[20, 31]"] * 4 + ["[60, 61]"] * 2 + ["[70, 71]"] * 2,
                        "ill": list("aabbabab")})  # fmt: skip
    found = finding(tclose.attack(release, rules, original=split), "minimality")
    # Cutting the first class gives {a, a} and {b, b}, both a half from the table.
    assert (found.affected, found.classes) == (4, (1,))
    assert found.numbers["classes large enough to be cut"] == 1


def test_a_class_that_could_be_cut_without_harm_is_not_blamed_on_sensitive_values() -> None:
    rules = {"k": 2, "columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 0.3}}}
    table = pa.table({"age": [20, 21, 30, 31], "ill": list("abab")})
    release = pa.table({"age": ["[20, 31]"] * 4, "ill": list("abab")})
    assert not finding(tclose.attack(release, rules, original=table), "minimality").found


def off_the_median() -> tuple[pa.Table, pa.Table, dict[str, Any]]:
    """A class that no cut at the median leaves close, but one of a third does."""
    rules = {"k": 2, "columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 0.1}}}
    table = pa.table({"age": [20, 21, 22, 23, 24, 25], "ill": list("abaabb")})
    return table, pa.table({"age": ["[20, 25]"] * 6, "ill": table["ill"]}), rules


def test_one_harmless_cut_anywhere_acquits_a_class() -> None:
    table, release, rules = off_the_median()
    found = finding(tclose.attack(release, rules, original=table), "minimality")
    assert not found.found
    assert found.numbers["classes large enough to be cut"] == 1


def test_where_not_every_cut_was_tried_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimality, "FEWEST", 1)
    table, release, rules = off_the_median()
    found = finding(tclose.attack(release, rules, original=table, effort=0), "minimality")
    assert found.affected == 6
    assert found.numbers["every cut was tried"] is False


def test_promises_that_hold_where_the_other_attribute_is_known_count_as_well() -> None:
    columns = {"age": "quasi", "ill": {"role": "sensitive", "l": 2}, "pay": "sensitive"}
    rules = {"k": 2, "columns": columns, "readings": ["cross"]}
    table = pa.table({"age": [20, 21, 30, 31], "ill": list("abba"), "pay": [1, 2, 1, 2]})
    release = table.set_column(0, "age", [["[20, 31]"] * 4])
    # Both sides of the middle show a and b; but who knows the pay knows the illness there.
    found = finding(tclose.attack(release, rules, original=table), "minimality")
    assert (found.affected, found.classes) == (4, (1,))


def test_learning_from_other_classes_tells_who_in_a_class_has_what() -> None:
    """Old people are ill, young ones well. Most classes have one of each; a few are pure."""
    young, old = [*range(20, 40)] * 2, [*range(60, 80)] * 2
    ages, ill = [*young, *old], ["well"] * 40 + ["ill"] * 40
    place = (["x"] * 20 + ["y"] * 20) * 2
    label = [""] * 80
    for at in range(40):
        mixed = f"[{young[at]}, {old[at]}]"
        label[at] = "[20, 39]" if at % 3 == 0 else mixed
        label[40 + at] = "[60, 79]" if at % 3 == 0 else mixed
    rules = {"k": 2, "columns": {"age": "quasi", "zip": "quasi", "ill": "sensitive"}}
    original = pa.table({"age": ages, "zip": place, "ill": ill})
    release = pa.table({"age": label, "zip": place, "ill": ill})
    found = finding(tclose.attack(release, rules, original=original), "deFinetti")
    assert found.numbers["guessed by the attack"] == 1.0
    assert found.numbers["guessed by the class"] == pytest.approx((14 * 2 + 26) / 80)
    assert found.affected == round(found.numbers["gain"] * 80)


def test_a_gain_that_chance_explains_is_no_finding() -> None:
    """Illnesses are drawn whatever the age, and yet the model happens to be right more often."""
    draw = random.Random(4)
    ages = sorted(draw.randint(20, 80) for _ in range(400))
    hues = [draw.choice("rgbk") for _ in ages]
    ill = [draw.choice("abcdefghij") for _ in ages]
    told = [f"[{ages[at // 40 * 40]}, {ages[at // 40 * 40 + 39]}]" for at in range(400)]
    rules = {"k": 2, "columns": {"age": "quasi", "hue": "quasi", "ill": "sensitive"}}
    original = pa.table({"age": ages, "hue": hues, "ill": ill})
    release = pa.table({"age": told, "hue": ["*"] * 400, "ill": ill})
    found = finding(tclose.attack(release, rules, original=original), "deFinetti")
    assert found.numbers["gain"] > 0.01 and not found.found


def test_no_report_holds_a_value_of_the_table() -> None:
    table = classes("aaab", "bbcc").set_column(
        1, "ill", [["quinsy", "quinsy", "quinsy", "scurvy", "scurvy", "scurvy", "rabies", "rabies"]]
    )
    report = tclose.attack(table, RULES, original=table, other=table)
    told = str(report.to_json()) + str(report)
    assert not any(word in told for word in ("quinsy", "scurvy", "rabies", "z0", "z1"))


def test_what_could_not_be_tried_is_said() -> None:
    report = tclose.attack(classes("ab", "ab"), RULES)
    assert len(report.not_tried) == 3
    original = classes("abc", "bca").take([5, 4, 3, 2, 1, 0])
    release = classes("ab", "cbca").set_column(0, "zip", pa.array(["z0"] * 2 + ["{z0, z1}"] * 4))
    told = tclose.attack(release, RULES, original=original).not_tried
    assert any("whose row is whose" in line for line in told)


def test_missing_values_that_may_be_any_are_completed_for_the_worst() -> None:
    rules = {"columns": {"zip": "quasi", "ill": {"role": "sensitive", "missing": "any"}}}
    table = pa.table({"zip": ["x", "x", "y", "y", "y"], "ill": ["a", None, "a", "b", "c"]})
    found = finding(tclose.attack(table, rules, original=table, other=table), "homogeneity")
    assert (found.affected, found.classes) == (2, (1,))


def test_the_worst_rise_is_one_of_those_that_are_counted() -> None:
    """Belief in the common value rises most, from 50 % to 75 %, but does not double."""
    common = [("x", "a")] * 75 + [("x", "c")] * 25
    rows = [*common, *[("y", "a")] * 25, *[("y", "b")] * 35, *[("y", "c")] * 40]
    table = pa.table({"zip": [place for place, _ in rows], "ill": [ill for _, ill in rows]})
    (found,) = tclose.attack(table, {"columns": {"zip": "quasi", "ill": "sensitive"}}).of(
        "skewness"
    )
    assert found.affected == 100 and "at worst it rises from 17.5% to 35.0%" in found.sentence
    assert found.numbers["largest difference"] == 0.25


def test_nothing_is_ruled_out_where_the_class_tells_it() -> None:
    rows = [("x", "a"), ("x", "a"), *(("y", value) for value in "abcd")]
    rules = {"columns": {"zip": "quasi", "ill": "sensitive"}}

    def sentence(rows: list[tuple[str, str]]) -> str:
        table = pa.table({"zip": [place for place, _ in rows], "ill": [ill for _, ill in rows]})
        return tclose.attack(table, rules).of("background knowledge")[0].sentence

    several = "in the classes that have several values, an attacker has to rule out at least 3"
    assert several in sentence(rows)
    assert "To be certain of a person's ill, an attacker has to rule out at least 3" in sentence(
        rows[2:]
    )
    assert (
        sentence(rows[:2]) == "Every class has only one value of ill, so none has to be ruled out."
    )


def test_homogeneity_is_rated_by_what_the_whole_table_reveals() -> None:
    """Ten classes without fraud, in a table of hardly any fraud, are no alarm; one of fraud is."""
    quasi = [f"z{at // 10}" for at in range(200)]
    usual = ["ok"] * 195 + ["fraud"] * 5
    found = finding(tclose.attack(pa.table({"zip": quasi, "ill": usual}), RULES), "homogeneity")
    assert found.affected == 190 and "only the whole table is 97.5% sure of it" in found.sentence
    assert rate_severity(found) == "low"
    planted = ["ok"] * 190 + ["fraud"] * 10
    found = finding(tclose.attack(pa.table({"zip": quasi, "ill": planted}), RULES), "homogeneity")
    assert "5.0% to 95.0% sure of it" in found.sentence and rate_severity(found) == "high"
