"""The picture of a flow: well-formed, self-contained, and true to the numbers."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from fractions import Fraction

import pyarrow as pa
import pytest

import tclose
from tclose.report import draw_differences, draw_flow
from tclose.report.charts.colours import CLASS, TABLE
from tclose.report.explanation import MOST_MOVES, MOST_VALUES, group_shares
from tclose.verify.explanation import Explanation

SVG = "{http://www.w3.org/2000/svg}"


def explained(values: list[object], groups: list[str], **options: object) -> Explanation:
    table = pa.table({"q": groups, "s": values})
    return tclose.explain(table, quasi="q", sensitive="s", **options)  # type: ignore[arg-type]


def titles(svg: str, tag: str) -> list[str]:
    tree = ElementTree.fromstring(svg)
    return [t.text or "" for one in tree.iter(f"{SVG}{tag}") for t in one.findall(f"{SVG}title")]


def test_every_value_has_its_two_bars_and_every_move_its_arc() -> None:
    why = explained([14, 88, 27, 101], ["a", "a", "b", "b"], class_number=1)
    svg = draw_flow(why)
    bars = titles(svg, "rect")
    assert bars[:2] == ["14: 50.0% of the class", "14: 25.0% of the table"]
    assert len(bars) == 8
    assert sorted(titles(svg, "path")) == ["0.2500 from 14 to 27", "0.2500 from 88 to 101"]


def test_every_arc_carries_its_amount() -> None:
    """Class: 60, 20, 20 of a hundred; table: 40, 20, 40: a fifth moves all the way."""
    values = ["1"] * 6 + ["2"] * 2 + ["3"] * 2 + ["1"] * 2 + ["2"] * 2 + ["3"] * 6
    why = explained([int(v) for v in values], ["a"] * 10 + ["b"] * 10, class_number=1)
    drawn = ElementTree.fromstring(draw_flow(why))
    small = [each.text for each in drawn.iter(f"{SVG}text") if each.get("font-size") == "10"]
    moves = [move for move in why.moves if move.source != move.target]
    assert small == [f"{float(move.mass):.1%}" for move in moves]
    assert sum(float(text.rstrip("%")) for text in small if text) == 20.0


def test_arcs_close_to_each_other_carry_their_amounts_too() -> None:
    """Ten values move to their neighbours' neighbours, one all the way."""
    values = [*range(20), *range(10), *[0] * 15]
    why = explained(values, ["b"] * 20 + ["a"] * 25, class_number=1)
    moves = [move for move in why.moves if move.source != move.target]
    drawn = ElementTree.fromstring(draw_flow(why))
    labels = [each for each in drawn.iter(f"{SVG}text") if each.get("font-size") == "10"]
    assert len(labels) == len(moves) > 10
    places = [(float(each.get("x", 0)), float(each.get("y", 0))) for each in labels]
    for at, (x, y) in enumerate(places):
        assert all(abs(x - u) > 30 or abs(y - v) > 10 for u, v in places[:at])


def test_the_heading_says_the_distance() -> None:
    why = explained([14, 88, 27, 101], ["a", "a", "b", "b"], class_number=1)
    assert "ordered distance 0.1667 = 1/6; 2 rows" in draw_flow(why)


@pytest.mark.parametrize(
    "value",
    ["<b>&amp;</b>", 'a "quote"', "]]>", "x\x00y\x1b[31m", "\ufffe", "é 漢 🩺", "a\nb", "'"],
)
def test_whatever_the_values_are_the_picture_is_well_formed(value: str) -> None:
    why = explained([value, "x", "y", "x"], ["a", "a", "b", "b"])
    tree = ElementTree.fromstring(draw_flow(why))
    assert tree.tag == f"{SVG}svg"


def test_the_picture_needs_nothing_from_elsewhere() -> None:
    svg = draw_flow(explained(["http://example.org/a.png", "x"], ["a", "b"]))
    tree = ElementTree.fromstring(svg)
    for element in tree.iter():
        assert element.tag.removeprefix(SVG) in {
            "svg",
            "title",
            "desc",
            "rect",
            "line",
            "text",
            "path",
        }
        assert not [name for name in element.attrib if "href" in name or name == "style"]
    assert not re.search(r"url\(|@import|<!DOCTYPE|<\?xml-stylesheet", svg)


def test_many_values_are_gathered_and_no_mass_is_lost() -> None:
    values: list[object] = [f"v{at:03}" for at in range(200)]
    why = explained(values, ["a"] * 100 + ["b"] * 100, class_number=1)
    svg = draw_flow(why)
    assert len(titles(svg, "rect")) == 2 * MOST_VALUES
    shown = [line for line in titles(svg, "rect") if "of the class" in line]
    total = sum(float(line.split(": ")[1].split("%")[0]) for line in shown)
    assert total == pytest.approx(100, abs=2)
    assert len(titles(svg, "path")) <= MOST_MOVES


def test_a_class_like_the_table_has_no_arcs() -> None:
    why = explained(["x", "y", "x", "y"], ["a", "a", "b", "b"])
    assert why.exact == Fraction(0)
    assert titles(draw_flow(why), "path") == []


def test_equal_explanations_give_equal_pictures() -> None:
    pictures = {draw_flow(explained(["x", "y", "z"], ["a", "a", "b"])) for _ in range(3)}
    assert len(pictures) == 1


GROUPS = {"lungs": ["asthma", "cough"], "skin": ["rash", "burn"]}


def explain_illness() -> Explanation:
    """A class of coughs in a table that has everything equally often."""
    values = ["cough", "cough", "asthma", "rash", "asthma", "rash", "burn", "burn"]
    rules = {"columns": {"q": "quasi", "s": {
        "role": "sensitive", "t": 1, "distance": "hierarchical", "hierarchy": {"groups": GROUPS},
    }}}  # fmt: skip
    return tclose.explain(pa.table({"q": list("aaaabbbb"), "s": values}), rules, class_number=1)


def test_differences_are_sorted_within_the_groups_of_the_hierarchy() -> None:
    (lungs, first), (skin, second) = group_shares(explain_illness())
    assert (lungs, skin) == ("lungs", "skin")
    assert [(s.value, s.difference) for s in first] == [
        ("cough", Fraction(1, 4)), ("asthma", Fraction(0)),
    ]  # fmt: skip
    assert [(s.value, s.difference) for s in second] == [
        ("rash", Fraction(0)), ("burn", Fraction(-1, 4)),
    ]  # fmt: skip


@pytest.mark.parametrize("wide", [520, 980])
def test_bars_diverge_from_the_middle_in_the_colours_of_class_and_table(wide: int) -> None:
    tree = ElementTree.fromstring(draw_differences(explain_illness(), wide=wide))
    bars = {
        title.text.split(":")[0]: one.attrib
        for one in tree.iter(f"{SVG}rect")
        for title in one.findall(f"{SVG}title")
        if title.text
    }
    cough, burn = bars["cough"], bars["burn"]
    assert cough["fill"] == CLASS and burn["fill"] == TABLE
    middle = float(cough["x"])
    assert float(burn["x"]) + float(burn["width"]) == pytest.approx(middle, abs=0.2)
    assert float(cough["width"]) == pytest.approx(float(burn["width"]))
    words = {one.text for one in tree.iter(f"{SVG}text")}
    assert {"lungs", "skin", "+25.0%", "−25.0%", "+0.0%"} <= words
    assert float(tree.attrib["width"]) == wide


def test_a_value_in_no_group_needs_no_heading() -> None:
    why = explained(["x", "y", "x", "x"], ["a", "a", "b", "b"])
    assert [name for name, _ in group_shares(why)] == [""]
    assert "in no part" not in draw_differences(why)
