"""Makes the pictures of docs/reference/studio.md: every screen, on the made-up hospital.

python tools/studio_screenshots.py [FOLDER]
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tclose.sample import write_hospital
from tclose.studio.server import ServerSettings, Studio

ROOT = Path(__file__).resolve().parents[1]
WIDE, TALL = 1280, 860


def wait(page: Page) -> None:
    """Waits until no work is shown any more."""
    page.wait_for_load_state("networkidle")
    page.wait_for_function("() => !document.querySelector('.job')", timeout=180_000)
    page.wait_for_load_state("networkidle")


def take(page: Page, folder: Path, name: str, *, top: str = "") -> None:
    """One picture of the window, from a heading on."""
    wait(page)
    if top:
        page.locator(top).first.evaluate("(element) => element.scrollIntoView()")
    page.screenshot(path=folder / f"{name}.png")


def walk(page: Page, base: str, folder: Path) -> None:
    """The whole work, with a picture of every screen."""
    for name in ("open", "columns"):
        page.goto(f"{base}/{name}")
        take(page, folder, name)
    page.goto(f"{base}/values?column=postcode")
    take(page, folder, "values")
    for name, column in (("sensitive", "length_of_stay"), ("tree", "diagnosis")):
        page.goto(f"{base}/values?column={column}")
        take(page, folder, name)
    page.goto(f"{base}/values?column=ethnicity")
    page.select_option("select[name=kind]", "groups")
    for at, group in enumerate(("north > hills", "north > coast", "north > hills", "south")):
        page.fill(f"input[name=group] >> nth={at}", group)
    page.wait_for_selector("#levels tbody tr")
    take(page, folder, "groups", top="fieldset")
    page.goto(f"{base}/risk")
    take(page, folder, "risk")
    page.goto(f"{base}/risk/why")
    take(page, folder, "why")
    page.goto(f"{base}/search")
    for effort in ("1", "4"):
        page.fill("input[name=effort]", effort)
        page.click("main form.stacked button.primary")
        page.wait_for_selector(".job progress")
        if effort == "4":
            page.wait_for_function(
                "() => document.querySelectorAll('.job tbody tr').length > 5", timeout=60_000
            )
            page.screenshot(path=folder / "search.png")
        wait(page)
    page.goto(f"{base}/explore?what=t")
    wait(page)
    page.click("figure svg a >> nth=2")
    take(page, folder, "explore")
    page.goto(f"{base}/explore?what=lattice")
    take(page, folder, "lattice")
    page.goto(f"{base}/explore?first=1&second=2")
    take(page, folder, "compare", top="#compare-heading")
    page.goto(f"{base}/before-after")
    take(page, folder, "before-after")
    take(page, folder, "distributions", top="#spread-heading")
    page.goto(f"{base}/release")
    take(page, folder, "release")


def main() -> None:
    """Serves a studio on a made-up table, and looks at it."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "reference" / "studio")
    folder.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp())
    table, policy, _ = write_hospital(work, rows=2_000)
    studio = Studio(ServerSettings(work / "hospital.studio", str(table), policy))
    ready = {"open_page": False, "ready": lambda address: None}
    threading.Thread(target=studio.run, kwargs=ready, daemon=True).start()
    with sync_playwright() as playwright:
        program = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDE, "height": TALL})
        page.goto(studio.address)
        page.wait_for_url("**/open")
        walk(page, studio.base, folder)
        phone = {"width": 390, "height": 844}
        for name, path, size, scheme in (
            ("phone", "/columns", phone, "light"),
            ("phone-dark", "/values?column=length_of_stay", phone, "dark"),
            ("dark", "/risk", {"width": WIDE, "height": TALL}, "dark"),
        ):
            page.set_viewport_size(size)
            page.emulate_media(color_scheme=scheme)
            page.goto(f"{studio.base}{path}")
            take(page, folder, name)
        browser.close()
    studio.server.should_exit = True
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
