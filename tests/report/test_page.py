"""The page and its charts: well-formed, alone in the world, true to the numbers, legible."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose
from tclose.report.charts.axes import ticks_to
from tclose.report.charts.colours import (
    BAD,
    BAD_GROUND,
    BLUE,
    GOOD,
    GOOD_GROUND,
    GROUND,
    INK,
    NOTE,
    NOTE_GROUND,
    PAPER,
    SOFT,
)
from tclose.report.charts.plots import draw_chart
from tclose.report.document import Bars, Document, HistogramChart, Limit, Section, Series, Table
from tclose.report.frontier import describe_frontier, draw_frontier, make_frontier_document
from tclose.report.render.saving import render_page

SVG = "{http://www.w3.org/2000/svg}"
ODD = ["<b>&amp;</b>", '"quote"', "]]>", "x\x07y\x1b[31m", "\ufffe", "é 漢 🩺", "a\nb", "-->", "{}"]

TEXT_ON = (
    (INK, PAPER),
    (INK, GROUND),
    (SOFT, PAPER),
    (SOFT, GROUND),
    (GOOD, GOOD_GROUND),
    (BAD, BAD_GROUND),
    (NOTE, NOTE_GROUND),
    (GOOD, PAPER),
    (BAD, PAPER),
    (NOTE, PAPER),
    (BLUE, PAPER),
)
"""Every pair of a text's colour and what it stands on."""


def as_xml(page: str) -> ElementTree.Element:
    return ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))


def test_a_page_is_well_formed_and_refers_to_nothing(pages: dict[str, Path]) -> None:
    for path in pages.values():
        refuse_references(path.read_text(encoding="utf-8"))


def refuse_references(text: str) -> None:
    assert "default-src 'none'" in text
    tree = as_xml(text)
    assert tree.attrib["lang"] == "en"
    names = {one.tag.removeprefix(SVG) for one in tree.iter()}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "image", "use"}
    for one in tree.iter():
        for name, value in one.attrib.items():
            assert not name.endswith(("src", "srcset")) and not name.startswith("on")
            if name.endswith("href"):
                assert value.startswith("#")
    assert not re.search(r"https?:|//[a-z]", text)
    assert not re.search(r"url\(|@import|@font-face", text)


class Words(HTMLParser):
    """Collects the text of a page as a browser's parser sees it."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_data(self, data: str) -> None:
        self.found.append(data)


@pytest.mark.parametrize("odd", ODD)
def test_whatever_a_column_or_a_file_is_called_the_page_stays_whole(odd: str) -> None:
    table = pa.table({odd: ["a", "a", "b"], f"s{odd}": ["x", odd, "x"]})
    found = tclose.audit(table, quasi=[odd], sensitive=[f"s{odd}"])
    page = render_page(tclose.audit_report(found, edition="internal"))
    as_xml(page)
    reader = Words()
    reader.feed(page)
    shown = re.sub("[\x07\x1b\ufffe]", lambda found: f"\\u{ord(found[0]):04x}", odd)
    assert shown in "".join(reader.found)


def bright(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(("text", "ground"), TEXT_ON)
def test_text_has_a_contrast_of_at_least_four_and_a_half(text: str, ground: str) -> None:
    high, low = sorted((bright(text), bright(ground)), reverse=True)
    assert (high + 0.05) / (low + 0.05) >= 4.5


def boxes(svg: str) -> list[tuple[str, float, float]]:
    """The words, left end and size of every marked box."""
    tree = ElementTree.fromstring(svg)
    return [
        (title.text or "", float(one.attrib["x"]), float(one.attrib["height"]))
        for one in tree.iter(f"{SVG}rect")
        for title in one.findall(f"{SVG}title")
    ]


def test_bars_are_as_high_as_their_shares() -> None:
    series = (Series("before", (0.5, 0.25, 0.0)), Series("after", (0.0, 0.25, 0.5)))
    chart = HistogramChart(
        "T", "size", "rows", ("1", "2", "3"), series, Limit("at least 2", 1, "after")
    )
    found = {words: height for words, _, height in boxes(draw_chart(chart))}
    assert set(found) == {
        "size 1: 50.0% before", "size 2: 25.0% before", "size 2: 25.0% after",
        "size 3: 50.0% after",
    }  # fmt: skip
    assert found["size 1: 50.0% before"] == pytest.approx(2 * found["size 2: 25.0% after"])


def test_the_limit_stands_between_its_bins() -> None:
    series = (Series("table", (0.5, 0.3, 0.2)),)
    chart = HistogramChart(
        "T", "d", "rows", ("a", "b", "c"), series, Limit("at most b", 2, "before")
    )
    svg = draw_chart(chart)
    (place,) = re.findall(r'<line x1="([\d.]+)"[^>]*stroke-dasharray', svg)
    lefts = {words: x for words, x, _ in boxes(svg)}
    assert lefts["d b: 30.0% table"] < float(place) < lefts["d c: 20.0% table"]
    assert "at most b" in svg


@pytest.mark.slow
@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from("xyz")), min_size=2, max_size=30),
    st.fractions(0, 1, max_denominator=7),
)
def test_no_picture_contradicts_the_verdict(rows: list[tuple[int, str]], t: Any) -> None:
    """Exactly the rows of failing classes are drawn beyond the limit."""
    table = pa.table({"q": [q for q, _ in rows], "s": [s for _, s in rows]})
    rules = {"k": 3, "columns": {"q": "quasi", "s": {"role": "sensitive", "t": str(t)}}}
    audit = tclose.audit(table, rules)
    document = tclose.audit_report(audit)
    sizes, distances = [
        part for part in document.section("spread").parts if isinstance(part, HistogramChart)
    ]
    crowd, close = audit.requirements[:2]
    for chart, verdict in ((sizes, crowd), (distances, close)):
        shares = [value or 0.0 for value in chart.series[0].values]
        assert sum(shares) == pytest.approx(1)
        assert chart.limit is not None
        cut = chart.limit.after
        beyond = shares[:cut] if chart.limit.good == "after" else shares[cut:]
        assert sum(beyond) == pytest.approx(verdict.failing_rows / audit.rows)
        assert len(chart.bins) == len(shares)
        assert not chart.edges or len(chart.edges) == len(shares) + 1
        ElementTree.fromstring(draw_chart(chart))


@given(st.floats(1e-6, 1e9))
def test_ticks_are_few_and_reach_far_enough(most: float) -> None:
    found = ticks_to(most)
    assert found[0] == 0 and found[-1] >= most * (1 - 1e-9)
    assert 2 <= len(found) <= 8


def test_charts_are_followed_by_their_numbers() -> None:
    bars = Bars("Lost", "share lost", ("age",), (Series("lost", (0.25,)),))
    assert bars.table() == Table("Lost", ("column", "lost"), (("age", "25.0%"),), (1,))
    page = render_page(Document("R", "", "external", (Section("a", "A", (bars,)),)))
    assert '<th scope="row">age</th><td class="number">25.0%</td>' in page


def test_a_frontier_on_a_page_says_nothing_twice() -> None:
    table = pa.table({"q": list(range(24)), "s": ["x", "y", "z"] * 8})
    rules = {"k": 2, "columns": {"q": "quasi", "s": {"role": "sensitive", "t": 0.3}}}
    found = tclose.frontier(table, rules, t=["0.1", "0.3", "0.5"], methods="mondrian")
    tree = as_xml(render_page(make_frontier_document(found, "table")))
    (drawn,) = (one for one in tree.iter() if one.tag.endswith("svg"))
    words = {one.text for one in drawn.iter() if one.tag.endswith("text")}
    outside = {one.text for one in tree.iter() if one.tag in ("h2", "h3", "p")}
    alone = ElementTree.fromstring(draw_frontier(found))
    assert {"Loss against t", *describe_frontier(found)} <= outside
    assert {one.text for one in alone.iter(f"{SVG}text")} >= {
        "Loss against t",
        *describe_frontier(found),
    }
    assert "the policy's own promise" in words and not words & outside
    assert not [text for text in words if text and "rows" in text]
