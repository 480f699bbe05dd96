"""Reports opened in a real browser without any network: seen, printed, and read aloud."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

KINDS = [f"{kind}-{edition}" for kind in ("release", "audit", "verify")
         for edition in ("external", "internal")] + ["frontier-external"]  # fmt: skip
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
    const style = getComputedStyle(one), drawn = one.closest('svg');
    const colours = [bright(read(drawn ? style.fill : style.color)),
      bright(drawn ? [255, 255, 255] : ground(one))].sort((a, b) => b - a);
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
    assert sections >= (1 if kind.startswith("frontier") else 7)


@pytest.mark.parametrize("kind", KINDS)
def test_everything_has_a_name_and_an_order_for_those_who_listen(
    pages: dict[str, Path], opened: Open, kind: str
) -> None:
    assert opened(pages[kind]).evaluate(ACCESSIBLE) == []


@pytest.mark.parametrize("kind", ["release-internal", "audit-external", "frontier-external"])
def test_all_text_stands_out_from_its_ground(
    pages: dict[str, Path], opened: Open, kind: str
) -> None:
    seen, low = opened(pages[kind]).evaluate(CONTRAST)
    assert seen > (50 if kind.startswith("frontier") else 100)
    assert low == []


def test_the_browser_tells_pictures_as_pictures_with_names(
    pages: dict[str, Path], opened: Open
) -> None:
    page = opened(pages["release-internal"])
    page.call("Accessibility.enable")
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    pictures = [
        node for node in nodes if node.get("role", {}).get("value") in ("image", "img", "graphics")
    ]
    drawn = page.evaluate("document.querySelectorAll('svg').length")
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
        """Math.min(13, ...[...document.querySelectorAll('figure:not(.flow) svg')].map((one) =>
        13 * one.getBoundingClientRect().width / one.viewBox.baseVal.width))"""
    )
    assert smallest >= 8.5
    shot = page.screenshot()
    assert shot[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">I", shot[16:20])[0] == width
    assert len(shot) > 10_000


@pytest.mark.parametrize("kind", ["release-external", "release-internal"])
def test_a_report_prints_on_a_few_pages_without_what_cannot_be_clicked(
    pages: dict[str, Path], opened: Open, kind: str
) -> None:
    page = opened(pages[kind])
    printed = page.pdf()
    assert printed.startswith(b"%PDF")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 20
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
