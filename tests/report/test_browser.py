"""Reports opened in a real browser without any network: seen, printed, and read aloud."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

KINDS = [f"{kind}-{edition}" for kind in ("release", "audit", "verify")
         for edition in ("external", "internal")]  # fmt: skip
KINDS += ["release-users", "verify-users", "frontier-external"]
Open = Callable[..., Any]

ACCESSIBLE = r"""
(() => {
  const wrong = [];
  const named = (one) => one.getAttribute('aria-label') || one.getAttribute('aria-labelledby')
    || one.querySelector(':scope > title');
  if (!document.documentElement.lang) wrong.push('no language');
  if (!document.title) wrong.push('no title');
  if (document.querySelectorAll('h1').length !== 1) wrong.push('not one h1');
  if (document.querySelectorAll('main').length !== 1) wrong.push('not one main');
  for (const one of document.querySelectorAll('img')) if (!one.alt) wrong.push('img without alt');
  for (const one of document.querySelectorAll('svg')) {
    if (one.getAttribute('role') !== 'img' || !named(one)) wrong.push('nameless picture');
    if (!one.querySelector(':scope > desc')) wrong.push('undescribed picture');
    if (!one.closest('figure').querySelector('table')) wrong.push('picture without numbers');
  }
  let last = 0;
  for (const one of document.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
    const level = Number(one.tagName[1]);
    if (level > last + 1) wrong.push('heading skips a level: ' + one.textContent);
    if (!one.textContent.trim()) wrong.push('empty heading');
    last = level;
  }
  for (const table of document.querySelectorAll('table')) {
    if (!table.caption || !table.caption.textContent.trim()) wrong.push('table without caption');
    for (const head of table.querySelectorAll('th'))
      if (!['row', 'col'].includes(head.scope)) wrong.push('th without scope');
    for (const row of table.tBodies[0].rows)
      if (row.cells.length !== table.tHead.rows[0].cells.length) wrong.push('ragged table');
  }
  const ids = [...document.querySelectorAll('[id]')].map((one) => one.id);
  if (new Set(ids).size !== ids.length) wrong.push('two equal ids');
  for (const one of document.querySelectorAll('[aria-labelledby]'))
    if (!document.getElementById(one.getAttribute('aria-labelledby'))) wrong.push('dangling label');
  for (const one of document.querySelectorAll('a'))
    if (!document.getElementById(one.getAttribute('href').slice(1))) wrong.push('dangling link');
  for (const one of document.querySelectorAll('.scroll, .drawing'))
    if (one.scrollWidth > one.clientWidth + 1 && one.tabIndex !== 0)
      wrong.push('scrolls, but not by keyboard');
  return wrong;
})()
"""

# The contrast of every piece of text against the nearest ground below it, by the formula of
# WCAG 2.2 (relative luminance), for text as large as it is.
CONTRAST = r"""
(() => {
  const part = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const bright = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  const read = (text) => text.match(/[\d.]+/g).map(Number);
  const ground = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const colour = read(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const low = [];
  let seen = 0;
  while (walker.nextNode()) {
    const one = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || one.closest('title, desc')) continue;
    if (!one.checkVisibility()) continue;
    const style = getComputedStyle(one), drawn = one.closest('svg');
    const colours = [bright(read(drawn ? style.fill : style.color)),
      bright(drawn ? read(getComputedStyle(drawn.querySelector('rect')).fill) : ground(one))]
      .sort((a, b) => b - a);
    const ratio = (colours[0] + 0.05) / (colours[1] + 0.05);
    seen += 1;
    if (ratio < 4.5) low.push([ratio, one.textContent.slice(0, 40)]);
  }
  return [seen, low];
})()
"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_opens_offline_and_asks_for_nothing(
    pages: dict[str, Path], opened: Open, kind: str
) -> None:
    page = opened(pages[kind])
    requested = [one["request"]["url"] for one in page.events("Network.requestWillBeSent")]
    assert requested == [pages[kind].as_uri()]
    assert page.events("Network.loadingFailed") == []
    assert page.events("Log.entryAdded") == []
    assert page.events("Runtime.consoleAPICalled") == []
    assert page.events("Runtime.exceptionThrown") == []
    sections = page.evaluate("document.querySelectorAll('main > section').length")
    assert sections >= (1 if kind.startswith("frontier") else 4 if kind.endswith("users") else 7)


@pytest.mark.parametrize("kind", KINDS)
def test_everything_has_a_name_and_an_order_for_those_who_listen(
    pages: dict[str, Path], opened: Open, kind: str
) -> None:
    assert opened(pages[kind]).evaluate(ACCESSIBLE) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "kind", ["release-internal", "audit-external", "release-users", "frontier-external"]
)
def test_all_text_stands_out_from_its_ground(
    pages: dict[str, Path], opened: Open, kind: str, scheme: str
) -> None:
    page = opened(pages[kind])
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    page.call("Emulation.setEmulatedMedia", features=features)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 22, 28)"}[scheme]
    seen, low = page.evaluate(CONTRAST)
    assert seen > (50 if kind.startswith("frontier") else 100)
    assert low == []


def test_contents_stay_in_sight_and_lead_to_every_section(
    pages: dict[str, Path], opened: Open
) -> None:
    for width in (1280, 390):
        page = opened(pages["release-external"], width)
        linked = page.evaluate(
            "[...document.querySelectorAll('nav a')].map((one) => one.getAttribute('href'))"
        )
        keys = page.evaluate(
            "[...document.querySelectorAll('main > section')].map((one) => '#' + one.id)"
        )
        assert linked == keys
        page.evaluate("document.querySelector('#attacks').scrollIntoView()")
        top, tall = page.evaluate(
            "(({top, height}) => [top, height])(document.querySelector('nav')"
            ".getBoundingClientRect())"
        )
        assert 0 <= top < 40 and tall > 20


@pytest.mark.parametrize("width", [1280, 390])
def test_charts_use_the_width_that_there_is(
    pages: dict[str, Path], opened: Open, width: int
) -> None:
    page = opened(pages["release-internal"], width)
    drawn, room = page.evaluate(
        """[[...document.querySelectorAll('section > figure:not(.flow) svg')]
        .filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect().width),
        document.querySelector('main').getBoundingClientRect().width]"""
    )
    assert len(drawn) >= 5
    assert min(drawn) > 0.95 * room


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "frontier" not in kind])
def test_no_table_is_cut_on_a_telephone(pages: dict[str, Path], opened: Open, kind: str) -> None:
    page = opened(pages[kind], 390)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    cut = page.evaluate(
        """[...document.querySelectorAll('.scroll')]
        .filter((one) => one.scrollWidth > one.clientWidth + 1)
        .map((one) => one.getAttribute('aria-label'))"""
    )
    assert cut == []


@pytest.mark.parametrize("media", ["screen", "print"])
def test_an_internal_edition_cannot_be_mistaken(
    pages: dict[str, Path], opened: Open, media: str
) -> None:
    shown = (
        "[...document.querySelectorAll('.banner')].filter((one) => one.checkVisibility())"
        ".map((one) => one.textContent.toLowerCase())"
    )
    page = opened(pages["release-internal"])
    page.call("Emulation.setEmulatedMedia", media=media)
    (words,) = page.evaluate(shown)
    assert "internal edition" in words and "do not pass it on" in words
    if media == "screen":
        edge = "getComputedStyle(document.body).borderLeftWidth"
        assert float(page.evaluate(edge).removesuffix("px")) > 4, "a frame around the whole page"
    outside = opened(pages["release-external"])
    outside.call("Emulation.setEmulatedMedia", media=media)
    assert outside.evaluate(shown) == []


def test_every_printed_page_of_an_internal_edition_says_so(
    pages: dict[str, Path], opened: Open
) -> None:
    """The line below a page is the first text that is drawn on it, in the colour of bad news."""
    drawn = streams_of(opened(pages["release-internal"]).pdf())
    assert len(drawn) >= 3
    for stream in drawn:
        before = stream[: stream.index(b"BT")]
        colour = re.findall(rb"([\d.]+) ([\d.]+) ([\d.]+) rg", before)[-1]
        assert [round(255 * float(part)) for part in colour] == [0xA1, 0x1D, 0x00]
    others = streams_of(opened(pages["release-external"]).pdf())
    assert any(b".6314 .1137 0 rg" not in stream for stream in others)


def streams_of(printed: bytes) -> list[bytes]:
    """What is drawn on each page of a PDF."""
    found = []
    for begin in re.finditer(rb"stream\r?\n", printed):
        end = printed.find(b"endstream", begin.end())
        try:
            stream = zlib.decompress(printed[begin.end() : max(end, begin.end())])
        except zlib.error:
            continue
        if b" Tf" in stream:
            found.append(stream)
    return found


def test_three_verdicts_stand_side_by_side_at_the_top(pages: dict[str, Path], opened: Open) -> None:
    page = opened(pages["release-external"])
    tops = page.evaluate(
        "[...document.querySelectorAll('#glance .card')].map((one) => "
        "one.getBoundingClientRect().top)"
    )
    assert len(tops) == 3 and len(set(tops)) == 1
    assert tops[0] < 400, "seen without scrolling"


def test_the_browser_tells_pictures_as_pictures_with_names(
    pages: dict[str, Path], opened: Open
) -> None:
    page = opened(pages["release-internal"])
    page.call("Accessibility.enable")
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    pictures = [
        node for node in nodes if node.get("role", {}).get("value") in ("image", "img", "graphics")
    ]
    drawn = page.evaluate(
        "[...document.querySelectorAll('svg, .gauge')]"
        ".filter((one) => one.checkVisibility()).length"
    )
    assert len(pictures) == drawn >= 5
    assert all(node["name"]["value"].strip() for node in pictures)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("kind", KINDS)
def test_no_screen_is_too_narrow(
    pages: dict[str, Path], opened: Open, kind: str, width: int
) -> None:
    page = opened(pages[kind], width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # Words in charts of our own stay legible; what is wider scrolls in a box of its own.
    smallest = page.evaluate(
        """Math.min(13, ...[...document.querySelectorAll('figure:not(.flow) svg')]
        .filter((one) => one.checkVisibility())
        .map((one) => 13 * one.getBoundingClientRect().width / one.viewBox.baseVal.width))"""
    )
    assert smallest >= 8.5
    shot = page.screenshot()
    assert shot[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">I", shot[16:20])[0] == width
    assert len(shot) > 10_000


@pytest.mark.parametrize("kind", ["release-external", "release-internal", "release-users"])
def test_a_report_prints_on_a_few_pages_without_what_cannot_be_clicked(
    pages: dict[str, Path], opened: Open, kind: str
) -> None:
    page = opened(pages[kind])
    printed = page.pdf()
    assert printed.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 20
    page.call("Emulation.setEmulatedMedia", media="print")
    shown = "[...document.querySelectorAll('nav, details')].some((one) => one.offsetHeight > 0)"
    assert page.evaluate(shown) is False
    assert page.evaluate("document.querySelector('h1').offsetHeight") > 0


def test_a_foreign_reference_would_be_noticed(
    pages: dict[str, Path], opened: Open, tmp_path: Path
) -> None:
    """What the first test of this file looks for is found where it is."""
    broken = tmp_path / "broken.html"
    text = pages["release-external"].read_text(encoding="utf-8")
    broken.write_text(
        re.sub("<meta http-equiv[^>]*>", "", text).replace(
            "</main>", '<img src="https://example.org/a.png"/></main>'
        ),
        encoding="utf-8",
    )
    page = opened(broken)
    assert len(page.events("Network.requestWillBeSent")) == 2
    assert len(page.events("Network.loadingFailed")) == 1
    assert "img without alt" in page.evaluate(ACCESSIBLE)
