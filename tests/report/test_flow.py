"""The picture of a flow: well-formed, self-contained, and true to the numbers."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from fractions import Fraction

import pyarrow as pa
import pytest

import tclose
from tclose.report import draw_flow
from tclose.report.explanation import MOST_MOVES, MOST_VALUES
from tclose.verify.explanation import Explanation

SVG = "{http://www.w3.org/2000/svg}"


def explained(values: list[object], groups: list[str], **options: object) -> Explanation:
    table = pa.table({"q": groups, "s": values})
    return tclose.explain(table, quasi="q", sensitive="s", **options)  # type: ignore[arg-type]


def titles(svg: str, tag: str) -> list[str]:
    tree = ElementTree.fromstring(svg)
    return [t.text or "" for one in tree.iter(f"{SVG}{tag}") for t in one.findall(f"{SVG}title")]


def test_every_value_has_its_two_bars_and_every_move_its_arc() -> None:
    why = explained([14, 88, 27, 101], ["a", "a", "b", "b"], number=1)
    svg = draw_flow(why)
    bars = titles(svg, "rect")
    assert bars[:2] == ["14: 50.0% of the class", "14: 25.0% of the table"]
    assert len(bars) == 8
    assert sorted(titles(svg, "path")) == ["0.2500 from 14 to 27", "0.2500 from 88 to 101"]


def test_the_heading_says_the_distance() -> None:
    why = explained([14, 88, 27, 101], ["a", "a", "b", "b"], number=1)
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
    why = explained(values, ["a"] * 100 + ["b"] * 100, number=1)
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
