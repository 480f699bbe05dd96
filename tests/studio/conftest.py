"""A studio on a small made-up hospital: spoken to directly, or served to a real browser."""

from __future__ import annotations

import html
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tclose.sample import write_hospital
from tclose.studio.server import ServerSettings, Studio

CHROMIUM = shutil.which("chromium")
SAME = {"sec-fetch-site": "same-origin"}
Make = Callable[..., Studio]
Enter = Callable[[Studio], httpx.Client]


@pytest.fixture(scope="session")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a made-up hospital with its policy and hierarchy."""
    folder = tmp_path_factory.mktemp("hospital")
    write_hospital(folder, rows=400)
    return folder


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory, hospital: Path) -> Iterator[Make]:
    """Makes studios that are gone after the test."""
    made: list[tuple[Studio, threading.Thread]] = []

    def build(project: Path | None = None, **settings: Any) -> Studio:
        folder = project or tmp_path_factory.mktemp("work") / "project"
        settings = {"table": str(hospital / "hospital.csv"), **settings}
        studio = Studio(ServerSettings(folder, **settings))
        made.append((studio, serve(studio)))
        return studio

    yield build
    for studio, thread in made:
        studio.server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="module")
def enter() -> Iterator[Enter]:
    """A client that has come in by the token, and sends what a browser sends."""
    clients: list[httpx.Client] = []

    def come_in(studio: Studio) -> httpx.Client:
        client = httpx.Client(
            base_url=studio.base, headers=SAME, follow_redirects=True, timeout=60, trust_env=False
        )
        clients.append(client)
        assert client.get(studio.address).status_code == 200
        return client

    yield come_in
    for client in clients:
        client.close()


@pytest.fixture(scope="module")
def client(make: Make, enter: Enter, hospital: Path) -> httpx.Client:
    """A client of a studio with the hospital and its policy."""
    return enter(make(policy=hospital / "policy.toml"))


def serve(studio: Studio) -> threading.Thread:
    """Runs a studio in a thread until its server is told to exit."""
    thread = threading.Thread(
        target=studio.run, kwargs={"open_page": False, "ready": lambda address: None}, daemon=True
    )
    thread.start()
    while not studio.server.started:
        thread.join(0.02)
    return thread


@pytest.fixture(scope="session")
def settle() -> Callable[..., str]:
    """Asks for a page until no work is shown on it any more, and gives its text."""

    def ask(client: httpx.Client, path: str, **query: str) -> str:
        for _ in range(400):
            text = client.get(path, params=query or None).text
            job = re.search(r'hx-get="(/jobs/\w+)"', text)
            if job is None:
                return html.unescape(text)
            time.sleep(0.1)
        raise AssertionError("the work does not end")

    return ask


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's Chromium; it reaches nothing but this machine."""
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        pytest.skip("there is no Chromium here")
    with sync_playwright() as playwright:
        rules = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        yield playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", rules]
        )
