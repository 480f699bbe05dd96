"""A steward at work in a real browser: by mouse, by keyboard, on a telephone, in the dark."""

from __future__ import annotations

import random
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tclose
from tclose.studio.server import Studio

pytestmark = pytest.mark.xdist_group("studio")  # one page goes through all of it
Make = Callable[..., Studio]
SCREENS = [
    "/open", "/columns", "/values?column=postcode", "/values?column=diagnosis",
    "/values?column=ethnicity", "/risk", "/risk/why", "/search", "/explore?what=t",
    "/explore?what=lattice", "/explore?first=1&second=2", "/before-after", "/release",
]  # fmt: skip
HURTS = "<img src=x onerror=window.hurt=1><svg onload=window.hurt=1>"


def settle(page: Any, path: str = "") -> None:
    """Goes to a page, and waits until no work is shown on it any more."""
    if path:
        page.goto(path)
    page.wait_for_function(
        "() => document.readyState === 'complete' && !document.querySelector('.job')",
        timeout=120_000,
    )


def come_in(browser: Any, studio: Studio, **how: Any) -> Any:
    """A page of a browser that has come in by the address; whatever it complains about is kept."""
    context = browser.new_context(base_url=studio.base, **how)
    page = context.new_page()
    page.complaints = []
    page.on("console", lambda told: told.type == "error" and page.complaints.append(told.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on(
        "request",
        lambda asked: asked.url.startswith(studio.base) or page.complaints.append(asked.url),
    )
    page.goto(studio.address)
    page.wait_for_url("**/open")
    return page


def judge(page: Any, where: str, **options: Any) -> dict[str, str]:
    """The rules of accessibility that a page breaks, with everything unfolded."""
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate("() => document.querySelectorAll('details').forEach((d) => { d.open = true })")
    found = Axe().run(page, options=options)
    return {where: found.generate_report()} if found.violations_count else {}


@pytest.fixture(scope="module")
def studio(make: Make) -> Studio:
    return make(table=None)


@pytest.fixture(scope="module")
def page(browser: Any, studio: Studio) -> Iterator[Any]:
    found = come_in(browser, studio, accept_downloads=True)
    yield found
    found.context.close()


@pytest.mark.slow
def test_a_steward_does_the_whole_work(
    page: Any, studio: Studio, hospital: Path, tmp_path: Path
) -> None:
    page.get_by_label("Path on this machine").fill(str(hospital / "hospital.csv"))
    page.get_by_role("button", name="Open", exact=True).click()
    settle(page)
    assert page.locator("table tbody tr").count() == 20
    page.get_by_role("link", name="Go on to the columns").click()
    settle(page)
    page.get_by_label("Filter").press_sequentially("cost")
    page.wait_for_function("() => document.querySelectorAll('#columns tbody tr').length === 1")
    page.get_by_label("Role of cost").select_option("identifier")
    page.wait_for_function("() => document.querySelector('main').innerText.includes('the 9 sugg')")
    page.get_by_role("button", name="Confirm the 9 suggested roles").click()
    page.get_by_role("link", name="Go on to the values").click()

    page.get_by_role("link", name="postcode").click()
    settle(page)
    page.get_by_label("Its levels come from").select_option("prefix")
    page.locator("input[name=of-prefix]").fill("2, 1")
    page.wait_for_function("() => document.querySelectorAll('#levels tbody tr').length === 4")
    page.get_by_role("button", name="Save postcode").click()
    for name in ("diagnosis", "length_of_stay"):
        page.get_by_role("link", name=name).click()
        page.locator("input[name=t]").fill("0.45")
        page.get_by_role("button", name=f"Save {name}").click()
    assert "in every group of rows that look alike" in page.goto("/values?column=diagnosis").text()
    page.get_by_role("link", name="Go on to the risk").click()
    settle(page)
    assert page.get_by_text("The promise does NOT hold.").is_visible()
    page.locator("table a").first.click()
    settle(page)
    assert page.get_by_role("heading", name="Why").is_visible()

    for effort, stops in (("0.5", False), ("500", True)):
        page.goto("/search")
        page.locator("input[name=effort]").fill(effort)
        page.get_by_label("Order of the released rows").select_option("keep")
        page.get_by_role("button", name="Search", exact=True).click()
        if stops:
            page.wait_for_selector(".job figure svg", timeout=60_000)
            page.get_by_role("button", name="Stop and keep the best so far").click()
        settle(page)
    assert [run.number for run in studio.bench.project.runs] == [1, 2]

    studio.bench.project.change(
        lambda raw: raw.update(search={"method": "mondrian", "effort": "1"})
    )
    settle(page, "/explore?what=t")
    page.locator("figure svg a").nth(1).click()
    settle(page)
    assert page.get_by_role("button", name="Take this into the policy").is_visible()
    page.get_by_role("button", name="Compare").click()
    settle(page)
    assert page.get_by_text("Loss per column").is_visible()
    settle(page, "/before-after")
    assert page.locator("del").count() > 20

    settle(page, "/release?run=1")
    page.get_by_label("Who gets it").fill("a university")
    page.get_by_role("button", name="Put into the certificate").click()
    settle(page)
    for name in ("release.csv", "certificate.json", "policy.toml", "script.py"):
        with page.expect_download() as download:
            page.get_by_role("link", name=name).click()
        download.value.save_as(tmp_path / name)
    assert tclose.verify(tmp_path / "release.csv", tmp_path / "policy.toml").holds
    assert "a university" in (tmp_path / "certificate.json").read_text(encoding="utf-8")
    assert page.complaints == []


@pytest.fixture(scope="module")
def messy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Semicolons, Latin-1, commas in numbers, gaps, an empty column, one value only, markup."""
    draw = random.Random(5)
    lines = ["Name;Alter;Größe;Land;Notiz<b>;Befund;PLZ;leer;Datum"]
    for at in range(300):
        age = "?" if at % 11 == 0 else "" if at % 13 == 0 else str(draw.randint(1, 95))
        ill = draw.choice(["Grippe", "Asthma", "<i>HIV</i>", '"""Bruch"""', "Angst & Not"])
        day = f"{draw.randint(1, 28):02d}.{draw.randint(1, 12):02d}.19{draw.randint(30, 99)}"
        size, place = f"1,{draw.randint(50, 99)}", f"{draw.randint(0, 99999):05d}"
        lines.append(f"Müller {at};{age};{size};Österreich;<script>;{ill};{place};;{day}")
    path = tmp_path_factory.mktemp("messy") / "messy.csv"
    path.write_bytes("\r\n".join(lines).encode("latin-1"))
    return path


@pytest.mark.slow
def test_a_steward_does_the_whole_work_on_a_messy_file(
    browser: Any, make: Make, messy: Path, tmp_path: Path
) -> None:
    page = come_in(browser, make(table=None), accept_downloads=True)
    page.locator("input[type=file]").set_input_files(messy)
    page.get_by_role("button", name="Open", exact=True).click()
    settle(page)
    assert page.get_by_text("not UTF-8").is_visible() and page.get_by_text("Größe").count()
    assert page.locator("table tbody tr").count() == 20
    page.get_by_role("link", name="Go on to the columns").click()
    settle(page)
    for name in ("Name", "Notiz<b>"):
        page.get_by_role("checkbox", name=name, exact=True).check()
    page.get_by_label("New role").select_option("identifier")
    page.get_by_role("button", name="those ticked").click()
    note = page.get_by_label("Role of Notiz<b>")
    assert note.input_value() == "identifier"
    page.get_by_role("button", name="Undo").click()
    assert note.input_value() == "insensitive"
    settle(page)
    page.get_by_label("Filter").press_sequentially("date")
    page.get_by_role("button", name="all 1 shown").wait_for()
    page.get_by_label("New role").select_option("quasi")
    page.get_by_role("button", name="all 1 shown").click()
    page.get_by_role("button", name="Confirm the 8 suggested roles").click()
    page.get_by_role("link", name="Go on to the values").click()

    page.get_by_role("link", name="Alter").click()
    settle(page)
    page.get_by_label("Its levels come from").select_option("intervals")
    page.locator("input[name=of-intervals]").fill("10, 50")
    page.wait_for_function("() => document.querySelectorAll('#levels tbody tr').length === 4")
    page.get_by_role("button", name="Save Alter").click()
    page.get_by_role("link", name="Befund").click()
    settle(page)
    page.locator("input[name=t]").fill("0.4")
    page.get_by_text("it may be anything from").wait_for()
    page.get_by_label("Its levels come from").select_option("groups")
    groups = page.locator("input[name=group]")
    for at in range(5):
        groups.nth(at).fill("mind" if at == 3 else f"body > {'lung' if at < 2 else 'bone'}")
    page.wait_for_function("() => document.querySelectorAll('#levels tbody tr').length === 4")
    page.get_by_label("Distance").select_option("hierarchical")
    page.get_by_text("share no group 1 apart").wait_for()
    wrong = judge(page, "groups")
    page.get_by_role("button", name="Save Befund").click()
    page.get_by_role("link", name="Go on to the risk").click()
    settle(page)
    assert page.get_by_text("attacks found something").is_visible()
    page.get_by_role("link", name="Go on to the search").click()
    page.locator("input[name=effort]").fill("500")
    page.locator("input[name=seconds]").fill("5")
    page.locator("input[name=seconds]").press("Enter")
    page.get_by_text("give effort or seconds, not both").wait_for()
    wrong |= judge(page, "a complaint")
    page.locator("input[name=seconds]").fill("")
    page.locator("input[name=effort]").press("Enter")
    page.wait_for_selector(".job figure svg", timeout=60_000)
    wrong |= judge(page, "a search that goes on")
    page.goto("/columns")
    assert page.get_by_role("link", name="A search is going on").is_visible()
    page.get_by_role("link", name="A search is going on").click()
    page.get_by_role("button", name="Stop and keep the best so far").click()
    settle(page)
    assert page.get_by_text("by hand").is_visible()
    settle(page, "/before-after")
    assert page.locator("ins").count() > 20
    page.get_by_role("link", name="Go on to the release").click()
    settle(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Everything, as one file").click()
    download.value.save_as(tmp_path / "all.zip")
    zipfile.ZipFile(tmp_path / "all.zip").extractall(tmp_path)
    was = (tmp_path / "release.csv").read_bytes()
    verify = ["-m", "tclose", "verify", "release.csv", "--certificate", "certificate.json"]
    subprocess.run([sys.executable, *verify, "--policy", "policy.toml"], cwd=tmp_path, check=True)
    (tmp_path / "release.csv").unlink()
    (tmp_path / "messy.csv").write_bytes(messy.read_bytes())  # it was uploaded: beside the script
    subprocess.run([sys.executable, "script.py"], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "release.csv").read_bytes() == was
    assert page.complaints == [] and wrong == {}
    page.context.close()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_screen_breaks_a_rule_of_accessibility(page: Any, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    wrong: dict[str, str] = {}
    for path in SCREENS:
        settle(page, path)
        # In the dark only the colours are others.
        wrong |= judge(page, path, **({"runOnly": ["color-contrast"]} if scheme == "dark" else {}))
    assert not wrong, "\n".join(f"{path}: {report}" for path, report in wrong.items())


@pytest.mark.slow
def test_a_telephone_shows_every_screen_without_scrolling_sideways(page: Any) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    try:
        for path in SCREENS:
            settle(page, path)
            wide = page.evaluate("() => document.documentElement.scrollWidth")
            assert wide <= 360, path
    finally:
        page.set_viewport_size({"width": 1280, "height": 800})


@pytest.mark.slow
def test_everything_can_be_reached_by_keyboard(browser: Any, make: Make, hospital: Path) -> None:
    studio = make(policy=hospital / "policy.toml")
    studio.bench.project.change(
        lambda raw: raw.update(search={"method": "mondrian", "effort": "1"})
    )
    page = come_in(browser, studio)
    settle(page, "/columns")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.textContent") == "Skip to the page"
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "main"
    page.get_by_label("Role of sex").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_function("() => document.querySelector('#role-3').value === 'sensitive'")
    page.wait_for_load_state("networkidle")
    assert page.evaluate("() => document.activeElement.id") == "role-3"
    assert studio.bench.project.columns["sex"]["role"] == "sensitive"
    studio.bench.project.undo()
    settle(page, "/explore?what=t")
    page.locator("figure svg a").nth(2).focus()
    page.keyboard.press("Enter")
    settle(page)
    assert page.url.endswith("#chosen") and "point=2" in page.url
    for path in SCREENS:
        settle(page, path)
        unreachable = page.evaluate(
            "() => [...document.querySelectorAll('a[href], button, input, select, summary')]"
            ".filter((e) => e.tabIndex < 0 && e.type !== 'hidden').length"
        )
        assert unreachable == 0, path


@pytest.mark.slow
def test_markup_in_names_and_values_does_nothing(browser: Any, make: Make, tmp_path: Path) -> None:
    table = tmp_path / "hurts.csv"
    rows = "".join(f'{20 + at % 30},"{HURTS}{at % 3}",{at % 2}\n' for at in range(90))
    table.write_text(f'age,"{HURTS}",ill\n{rows}', encoding="utf-8")
    policy = tmp_path / "policy.toml"
    policy.write_text(
        f'k = 3\n[columns]\nage = "quasi"\nill = "insensitive"\n'
        f'"{HURTS}" = {{role = "sensitive", t = 0.3}}\n[search]\nmethod = "mondrian"\neffort = 1\n',
        encoding="utf-8",
    )
    page = come_in(browser, make(table=str(table), policy=policy))
    page.goto("/search")
    page.get_by_role("button", name="Search", exact=True).click()
    for path in ("/open", "/columns", "/values", f"/values?column={HURTS}", "/risk", "/risk/why",
                 "/search", "/explore?what=t", "/before-after", "/release"):  # fmt: skip
        settle(page, path)
        assert page.evaluate("() => window.hurt") is None, path
        assert page.locator("main img, main svg[onload]").count() == 0, path
    assert page.complaints == []
    page.context.close()
