"""Risk, Search, Explore, Before and after, Release: what pages tell is what the workflows find."""

from __future__ import annotations

import csv
import html
import io
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import tclose
from tclose.studio.server import Studio

Make = Callable[..., Studio]
Enter = Callable[[Studio], httpx.Client]
Settle = Callable[..., str]


def soften(studio: Studio, t: str) -> None:
    """So few rows keep a promise of 0.2 in one class only."""

    def edit(raw: dict[str, Any]) -> None:
        for name in ("diagnosis", "length_of_stay"):
            raw["columns"][name]["t"] = t

    studio.bench.project.change(edit)


@pytest.fixture(scope="module")
def studio(make: Make, hospital: Path) -> Studio:
    return make(policy=hospital / "policy.toml")


@pytest.fixture(scope="module")
def client(studio: Studio, enter: Enter, settle: Settle) -> httpx.Client:
    """A steward who has searched twice, the second time with a milder promise."""
    found = enter(studio)
    for t in ("0.3", "0.4"):
        soften(studio, t)
        settings = {"method": "hybrid", "effort": "0.1", "suppression": "5%", "rows": "keep"}
        assert found.post("/search", data=settings).status_code == 200
        settle(found, "/search")
    assert len(studio.bench.project.runs) == 2
    return found


def test_the_risk_is_what_an_audit_finds(
    studio: Studio, client: httpx.Client, settle: Settle, hospital: Path
) -> None:
    page = settle(client, "/risk")
    audit = tclose.audit(hospital / "hospital.csv", studio.bench.project.policy)
    assert f"400 rows in {audit.classes:,} classes" in page and "The promise does NOT hold" in page
    for verdict in audit.requirements:
        assert verdict.title in page and verdict.achieved_text in page
    found = tclose.attack(hospital / "hospital.csv", studio.bench.project.policy)
    assert found.found[0].sentence in page
    worst = audit.worst[0]
    assert f"class={worst.number}&attribute=diagnosis" in page


def test_what_is_long_and_seldom_needed_is_folded(client: httpx.Client, settle: Settle) -> None:
    page = settle(client, "/risk")
    for title in ("Further measures", "Attacks that found nothing"):
        assert f"<summary>{title}" in page
        assert page.count(f"<caption>{title}</caption>") == 1
    assert page.count("<caption>Worst classes") <= 1


def test_why_shows_the_flow_of_mass_of_any_class(
    studio: Studio, client: httpx.Client, settle: Settle, hospital: Path
) -> None:
    page = settle(client, "/risk/why", **{"class": "3", "attribute": "diagnosis"})
    why = tclose.explain(
        hospital / "hospital.csv", studio.bench.project.policy, class_number=3,
        attribute="diagnosis",
    )  # fmt: skip
    assert f"{why.distance:.4f}" in page and "The flow of mass" in page
    assert "tclose explain" in page and "--class-number 3" in page
    assert "there is no class 99999" in settle(client, "/risk/why", **{"class": "99999"})


def test_runs_stand_side_by_side_with_their_settings(client: httpx.Client, settle: Settle) -> None:
    page = settle(client, "/search")
    runs = re.findall(r'data-label="run">(\d)</th><td[^>]*>([\d.]+)<', page)
    assert [number for number, _ in runs] == ["2", "1"] and float(runs[0][1]) <= float(runs[1][1])
    assert 'suppression = "5/100"' in page and "tclose anonymize" in page


def reproduce(client: httpx.Client, number: int, folder: Path, *table: str) -> None:
    """Downloads a run, and has its script make the same bytes once more."""
    archive = zipfile.ZipFile(io.BytesIO(client.get(f"/runs/{number}/all.zip").content))
    archive.extractall(folder)
    was = (folder / "release.csv").read_bytes()
    (folder / "release.csv").unlink()
    words = [sys.executable, "script.py", *table]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    assert (folder / "release.csv").read_bytes() == was


@pytest.mark.slow
def test_a_search_is_stopped_and_kept_or_dropped(
    make: Make, enter: Enter, settle: Settle, hospital: Path, tmp_path: Path
) -> None:
    studio = make(policy=hospital / "policy.toml")
    soften(studio, "0.4")
    client = enter(studio)
    for what, runs in (("drop", 0), ("keep", 1)):
        client.post("/search", data={"effort": "600"})
        job = studio.bench.search_job
        assert job is not None
        assert "a search is going on" in client.post("/search", data={"effort": "1"}).text
        while not job.curve:
            job.wait(0.05)
        page = client.get(f"/jobs/{job.name}").text
        assert "<progress" in page and "best loss so far" in page
        client.post(f"/jobs/{job.name}/stop", data={"what": what})
        while not job.is_done:
            job.wait(0.05)
        settle(client, "/search")
        assert len(studio.bench.project.runs) == runs
    run = studio.bench.project.runs[0]
    assert run.certificate.stopped == "cancelled" and run.certificate.holds
    assert client.get(f"/jobs/{job.name}").headers["hx-refresh"] == "true"
    assert [at for at, _ in job.curve] == sorted(at for at, _ in job.curve)
    assert job.seconds >= job.curve[-1][0]
    assert "tclose apply plan.json" in settle(client, "/release", run=str(run.number))
    reproduce(client, run.number, tmp_path)


def test_the_frontier_is_clicked_and_taken_into_the_policy(
    make: Make, enter: Enter, settle: Settle, hospital: Path
) -> None:
    studio = make(policy=hospital / "policy.toml")
    studio.bench.project.change(
        lambda raw: raw.update(search={"method": "mondrian", "effort": "0.1"})
    )
    client = enter(studio)
    page = settle(client, "/explore", what="t")
    links = re.findall(r'<a href="(/explore\?what=t&point=\d+#chosen)"', page)
    assert len(links) >= 5
    chosen = settle(client, links[0].partition("#")[0])
    t = re.search(r'name="t" value="([\d/]+)"', chosen)
    assert t is not None and "Take this into the policy" in chosen
    client.post("/explore", data={"t": t[1]})
    policy = studio.bench.project.policy
    assert str(policy.columns["diagnosis"].t) == t[1] == str(policy.columns["length_of_stay"].t)


def test_a_node_of_the_lattice_is_clicked_and_taken_into_the_policy(
    make: Make, enter: Enter, settle: Settle, tmp_path: Path
) -> None:
    table, policy = tmp_path / "small.csv", tmp_path / "policy.toml"
    rows = [(20 + at % 40, "fm"[at % 2], "abc"[at % 3]) for at in range(120)]
    table.write_text("age,sex,ill\n" + "".join(f"{a},{s},{i}\n" for a, s, i in rows), "utf-8")
    policy.write_text(
        'k = 3\n[columns]\nage = {role = "quasi", hierarchy = {intervals = [10, 20]}}\n'
        'sex = "quasi"\nill = {role = "sensitive", t = 0.2}\n', "utf-8",
    )  # fmt: skip
    studio = make(table=str(table), policy=policy)
    client = enter(studio)
    page = settle(client, "/explore", what="lattice")
    nodes = re.findall(r'<a href="/explore\?what=lattice&levels=(\d-\d)#chosen"', page)
    assert len(nodes) == len(set(nodes)) == 4 * 2
    chosen = settle(client, "/explore", what="lattice", levels="2-1")
    assert "keeps the promise" in chosen
    client.post("/explore", data={"levels": "2-1"})
    assert studio.bench.project.raw["search"]["levels"] == {"age": [2, 2], "sex": [1, 1]}
    assert "Only these levels are searched: age 2, sex 1" in settle(client, "/search")
    client.post("/search", data={"method": "mondrian", "effort": "1", "free": "yes"})
    settle(client, "/search")
    assert "levels" not in studio.bench.project.raw["search"] and studio.bench.project.runs


def test_two_runs_are_compared_number_by_number(
    studio: Studio, client: httpx.Client, settle: Settle
) -> None:
    page = settle(client, "/explore", first="1", second="2")
    for run in studio.bench.project.runs:
        certificate = run.certificate
        assert certificate.loss is not None and certificate.sizes is not None
        for loss in (certificate.loss.overall, *certificate.loss.columns.values()):
            assert f">{loss:.4f}<" in page
        assert f">{certificate.sizes.classes}<" in page
    assert "homogeneity of diagnosis" in page and "t-closeness diagnosis hierarchical" in page


def test_rows_stand_beside_what_became_of_them(
    studio: Studio, client: httpx.Client, settle: Settle, hospital: Path
) -> None:
    run = studio.bench.project.runs[-1]
    with (hospital / "hospital.csv").open(encoding="utf-8", newline="") as file:
        before = list(csv.DictReader(file))
    with run.release.open(encoding="utf-8", newline="") as file:
        after = list(csv.DictReader(file))
    gone = np.flatnonzero(np.load(run.folder / "classes.npy") < 0).tolist()
    numbers = [number for number in range(len(before)) if number not in gone]
    assert len(numbers) == len(after) < len(before)
    for number, row in zip(numbers, after, strict=True):
        assert before[number]["diagnosis"] == row["diagnosis"]
        assert before[number]["length_of_stay"] == row["length_of_stay"]
    first = settle(client, "/before-after", run=str(run.number))
    shown = re.compile(r'<tr><th scope="row" class="number">([\d,]+)</th>')
    assert shown.findall(first) == [f"{number + 1:,}" for number in numbers[:20]]
    assert after[0]["birth_date"] in first and before[numbers[0]]["birth_date"] in first
    second = settle(client, "/before-after", run=str(run.number), page="2")
    assert shown.findall(second) == [f"{number + 1:,}" for number in numbers[20:40]]
    assert "birth_date: how its values are spread" in first


def test_what_is_signed_off_is_in_the_certificate_and_the_bytes_stay(
    studio: Studio, client: httpx.Client, settle: Settle
) -> None:
    run = studio.bench.project.runs[0]
    was = run.release.read_bytes()
    words = {"recipient": "a university", "purpose": "teaching", "expert": "A. Steward",
             "review_date": "2027-01-31", "controls": "a contract; a secure room"}  # fmt: skip
    client.post("/release/sign", data={"run": "1", **words})
    context = run.certificate.context
    assert context is not None and context["controls"] == ["a contract", "a secure room"]
    assert {name: context[name] for name in words if name != "controls"} == {
        name: word for name, word in words.items() if name != "controls"
    }
    assert run.release.read_bytes() == was
    page = settle(client, "/release", run="1")
    assert "The promise holds." in page and "a contract; a secure room" in page
    assert "holds hashes of the table: not to be passed on" in page
    assert "it holds the plan, which is not to be passed on" in page
    alone = client.post("/release/sign", data={"run": "1", "threshold": "0.09"}).text
    assert "a threshold needs its justification" in alone


def test_warnings_stand_before_the_verdict_on_the_page_of_the_release(
    studio: Studio, client: httpx.Client, settle: Settle
) -> None:
    warnings = studio.bench.project.runs[0].certificate.warnings
    assert warnings  # the rows were kept in order
    page = html.unescape(settle(client, "/release", run="1"))
    for warning in warnings:
        assert 0 < page.find(f"Warning: {warning}") < page.find("The promise holds.")


def test_the_download_verifies_and_its_script_gives_the_same_bytes(
    client: httpx.Client, settle: Settle, tmp_path: Path
) -> None:
    settle(client, "/release", run="2")
    archive = zipfile.ZipFile(io.BytesIO(client.get("/runs/2/all.zip").content))
    archive.extractall(tmp_path)
    names = set(archive.namelist())
    assert {"release.csv", "certificate.json", "plan.json", "policy.toml", "script.py",
            "command.txt"} <= names  # fmt: skip
    for name in names - {"script.py", "command.txt"}:
        if "/" not in name:
            assert client.get(f"/runs/2/{name}").content == archive.read(name)
    verify = ["verify", "release.csv", "--certificate", "certificate.json", "--policy",
              "policy.toml"]  # fmt: skip
    ran = subprocess.run([sys.executable, "-m", "tclose", *verify], cwd=tmp_path, check=False)
    assert ran.returncode == 0
    was = (tmp_path / "release.csv").read_bytes()
    (tmp_path / "release.csv").unlink()
    subprocess.run([sys.executable, "script.py"], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "release.csv").read_bytes() == was


@pytest.mark.parametrize("edition", ["external", "internal", "users"])
def test_every_edition_of_the_report_is_written(
    client: httpx.Client, settle: Settle, edition: str
) -> None:
    answer = client.post("/release/report", data={"run": "2", "edition": edition})
    settle(client, answer.url.path, **dict(answer.url.params))
    report = client.get(f"/runs/2/report-{edition}.html")
    assert report.headers["content-disposition"].startswith("attachment")
    assert f"{edition.title()} edition" in report.text or "edition" in report.text


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A table whose rows are told apart by a column that is released, and a policy that cleans."""
    folder = tmp_path_factory.mktemp("small")
    table, policy = folder / "small.csv", folder / "policy.toml"
    ages = [f"{at * 7 % 60 + 20},5" if at % 9 else "?" for at in range(240)]
    rows = [f"{at};{age};{'abc'[at % 3]}\n" for at, age in enumerate(ages)]
    table.write_text("ticket;age;ill\n" + "".join(rows), encoding="utf-8")
    policy.write_text(
        'k = 3\n[columns]\nticket = "insensitive"\n'
        'age = {role = "quasi", decimal = ",", nulls = ["?"]}\n'
        'ill = {role = "sensitive", t = 0.3}\n'
        '[search]\nmethod = "mondrian"\neffort = 1\n', "utf-8",
    )  # fmt: skip
    return table, policy


@pytest.mark.slow
def test_shuffled_rows_stand_beside_what_became_of_them_and_a_signed_run_is_reproduced(
    make: Make, enter: Enter, settle: Settle, small: tuple[Path, Path], tmp_path: Path
) -> None:
    table, policy = small
    studio = make(table=str(table), policy=policy)
    client = enter(studio)
    assert "attacks found something" in settle(client, "/risk")
    client.post("/search", data={"method": "hybrid", "effort": "0.1", "suppression": "10%"})
    settle(client, "/search")
    run = studio.bench.project.runs[0]
    assert run.certificate.row_order == "shuffle"
    tickets = [line.split(";")[0] for line in run.release.read_text("utf-8").splitlines()[1:]]
    for page, first in (("1", 0), ("2", 20)):
        shown = settle(client, "/before-after", page=page)
        rows = re.findall(r'<tr><th scope="row" class="number">([\d,]+)</th>', shown)
        assert [str(int(row) - 1) for row in rows] == tickets[first : first + 20] != sorted(tickets)
    assert "The worst classes, and how far each is from breaking a requirement" in shown
    client.post("/release/sign", data={"run": "1", "recipient": "a university"})
    assert "a university" in settle(client, "/release")
    reproduce(client, 1, tmp_path)


@pytest.mark.slow
def test_a_run_stays_with_the_table_that_it_was_made_from(
    make: Make, enter: Enter, settle: Settle, small: tuple[Path, Path], hospital: Path,
    tmp_path: Path,
) -> None:  # fmt: skip
    table, policy = small
    studio = make(table=None)
    client = enter(studio)
    client.post("/open", files={"file": ("people.csv", table.read_bytes())})
    raw = studio.bench.project.adopt_policy(policy)
    studio.bench.project.change(lambda own: own.update(raw))
    for method in ("mondrian", "hybrid"):
        client.post("/search", data={"method": method, "effort": "0.1"})
        settle(client, "/search")
    client.post("/open", data={"path": str(hospital / "hospital.csv")})
    assert "how its values are spread" in settle(client, "/before-after", run="1")
    assert "homogeneity of ill" in settle(client, "/explore", first="1", second="2")
    command = client.get("/runs/1/command.txt").text
    assert "people.csv" in command and "hospital" not in command and "/" not in command
    reproduce(client, 1, tmp_path, str(table))


def test_a_form_that_is_out_of_date_starts_no_search(
    make: Make, enter: Enter, small: tuple[Path, Path]
) -> None:
    table, policy = small
    studio = make(table=str(table), policy=policy)
    client = enter(studio)
    revision = str(studio.bench.project.revision)
    client.post("/values", data={"what": "k", "k": "4", "revision": revision})
    settings = {"method": "mondrian", "effort": "3.25", "revision": revision}
    page = client.post("/search", data=settings).text
    assert "changed meanwhile" in page and 'value="3.25"' in page
    assert studio.bench.search_job is None
    other = client.post("/columns", data={"what": "confirm", "about": "another"}).text
    assert "changed meanwhile" in other


def test_exploring_is_stopped_and_begun_anew(
    make: Make, enter: Enter, settle: Settle, hospital: Path
) -> None:
    studio = make(policy=hospital / "policy.toml")
    soften(studio, "0.4")
    studio.bench.project.change(lambda raw: raw.update(search={"effort": "900"}))
    client = enter(studio)
    name = re.search(r"/jobs/(\w+)", client.get("/explore", params={"what": "t"}).text)
    assert name is not None
    job = studio.bench.jobs.find(name[1])
    assert job is not None and "Stop and show what was found" in client.get(f"/jobs/{name[1]}").text
    while job.at is None:
        job.wait(0.05)
    answer = client.post(f"/jobs/{name[1]}/stop", data={"what": "keep"})
    assert answer.url.path == "/explore" and answer.url.params["what"] == "t"
    while not job.is_done:
        job.wait(0.05)
    assert "Stopped before the last point" in settle(client, "/explore", what="t")
    anew = client.get("/explore", params={"what": "t", "anew": "1"})
    again = re.search(r"/jobs/(\w+)", anew.text)
    assert again is not None and again[1] != name[1]
    client.post(f"/jobs/{again[1]}/stop", data={"what": "keep"})


def test_a_run_that_leads_elsewhere_is_not_shown(
    make: Make, enter: Enter, settle: Settle, small: tuple[Path, Path], tmp_path: Path
) -> None:
    table, policy = small
    studio = make(table=str(table), policy=policy)
    client = enter(studio)
    client.post("/search", data={"method": "mondrian", "effort": "0.1"})
    settle(client, "/search")
    run = studio.bench.project.runs[0]
    (tmp_path / "secret.csv").write_text("secret\n", encoding="utf-8")
    place = run.release
    place.unlink()
    place.symlink_to(tmp_path / "secret.csv")
    assert client.get("/runs/1/release.csv").status_code == 404
    assert "There is no run yet" in settle(client, "/release")


def test_a_release_that_was_tampered_with_is_not_offered(
    make: Make, enter: Enter, settle: Settle, studio: Studio, client: httpx.Client
) -> None:
    run = studio.bench.project.runs[0]
    text = run.release.read_text(encoding="utf-8")
    run.release.write_text(text.replace("male", "female", 1), encoding="utf-8")
    try:
        page = settle(client, "/release", run="1")
        assert "it is not offered" in page and "all.zip" not in page
        signed = client.post("/release/sign", data={"run": "1", "recipient": "everybody"}).text
        assert "can be signed off" in signed
        assert "everybody" not in str(run.certificate.context)
    finally:
        run.release.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "path",
    ["/runs/1/../../policy.toml", "/runs/1/..%2F..%2Fstudio.json", "/runs/1/rows.json",
     "/runs/1/%2Fetc%2Fpasswd", "/runs/../1/policy.toml", "/runs/x/policy.toml", "/runs/1/",
     "/static/../project.py", "/studio.json"],
)  # fmt: skip
def test_no_path_leads_out_of_what_is_offered(client: httpx.Client, path: str) -> None:
    request = client.build_request("GET", "/")
    request = httpx.Request("GET", str(client.base_url).rstrip("/") + path, headers=request.headers)
    assert client.send(request).status_code == 404
