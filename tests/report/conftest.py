"""A table whose every value is unmistakable, reports on it, and a browser that has no network."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv

import tclose
from tclose.report.document import Document
from tclose.report.frontier import make_frontier_document
from tclose.report.render.saving import render_page

ROWS = 240
POLICY: dict[str, Any] = {
    "k": 4,
    "columns": {
        "person": "identifier",
        "town": {"role": "quasi", "hierarchy": {"prefix": [7, 4, 0]}},
        "age": "quasi",
        "club": "quasi",
        "illness": {
            "role": "sensitive",
            "t": 0.3,
            "l": 2,
            "alpha": {"max": 0.9, "values": ["Zill-02"]},
        },
        "salary": {"role": "sensitive", "t": 0.35, "distance": "ordered"},
        "remark": "insensitive",
    },
}


def table_rows() -> list[dict[str, Any]]:
    """Values that no report would print by chance."""
    return [
        {
            "person": f"Pxname-{at:04}",
            "town": f"Qtw{at % 3}x{at % 7}w{at % 5}",
            "age": 70_000 + 13 * (at * 7 % 60),
            "club": f"Clb-{at % 4}-xq",
            "illness": f"Zill-{(at * at + at // 7) % 5:02}",
            "salary": 810_000 + 1_009 * (at * 5 % 11),
            "remark": f"Rmk-{at}",
        }
        for at in range(ROWS)
    ]


@dataclass(frozen=True)
class Case:
    """A table, its release, and every word that must not leave the house."""

    table: Path
    release: tclose.Release
    secrets: frozenset[str]

    @property
    def policy(self) -> dict[str, Any]:
        return POLICY

    def audited(self, edition: str) -> Document:
        return tclose.audit_report(tclose.audit(self.table, POLICY), edition=edition)

    def verified(self, edition: str) -> Document:
        found = tclose.verify(self.release.path, POLICY)
        return tclose.audit_report(
            found, edition=edition, kind="verify", certificate=self.release.certificate
        )


@pytest.fixture(scope="session")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder = tmp_path_factory.mktemp("reports")
    table = pa.Table.from_pylist(table_rows())
    csv.write_csv(table, folder / "people.csv")
    release = tclose.anonymize(
        folder / "people.csv", POLICY, output=folder / "release.csv", method="mondrian"
    )
    written = csv.read_csv(folder / "release.csv")
    secrets = {
        str(value)
        for held in (table, written)
        for name in held.column_names
        for value in held.column(name).to_pylist()
        # What says nothing of anybody: a value hidden altogether.
        if str(value) not in ("*", "None", "")
    }
    return Case(folder / "people.csv", release, frozenset(secrets))


@pytest.fixture(scope="session")
def pages(case: Case, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every kind of report in every edition that it has, as HTML files."""
    folder = tmp_path_factory.mktemp("pages")
    found = tclose.frontier(case.table, POLICY, points=3, methods="mondrian,optimal", effort=1)
    documents = {"frontier-external": make_frontier_document(found, case.table.name)}
    for edition in ("external", "internal"):
        documents[f"release-{edition}"] = case.release.report(edition=edition)
        documents[f"audit-{edition}"] = case.audited(edition)
        documents[f"verify-{edition}"] = case.verified(edition)
    documents["release-users"] = case.release.report(edition="users")
    documents["verify-users"] = case.verified("users")
    made = {}
    for name, document in documents.items():
        made[name] = folder / f"{name}.html"
        made[name].write_text(render_page(document), encoding="utf-8")
    return made


CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync "
    "--disable-extensions --disable-dev-shm-usage --hide-scrollbars --remote-debugging-pipe"
).split()
# Nothing resolves and nothing routes, whatever the machine is connected to.
NO_NETWORK = ("--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9")


class Browser:
    """Chromium over its debugging pipe: JSON messages, a zero byte after each."""

    def __init__(self, profile: Path) -> None:
        self.ask_from, self.ask = os.pipe()
        self.answer, self.answer_to = os.pipe()
        command = 'exec "$@" 3<&"$ASK" 4>&"$ANSWER"'
        self.process = subprocess.Popen(
            ["bash", "-c", command, "bash", str(CHROMIUM), *FLAGS, *NO_NETWORK,
             f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(self.ask_from, self.answer_to),
            env={**os.environ, "ASK": str(self.ask_from), "ANSWER": str(self.answer_to)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(self.ask_from)
        os.close(self.answer_to)
        self.waiting = b""
        self.number = 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str = "", **given: Any) -> dict[str, Any]:
        """One command and its answer; what else arrives is kept as an event."""
        self.number += 1
        told = {"id": self.number, "method": method, "params": given}
        told |= {"sessionId": session} if session else {}
        os.write(self.ask, json.dumps(told).encode() + b"\0")
        while True:
            message = self.next()
            if message.get("id") == self.number:
                assert "error" not in message, (method, message)
                result: dict[str, Any] = message["result"]
                return result
            self.events.append(message)

    def next(self) -> dict[str, Any]:
        while b"\0" not in self.waiting:
            read = os.read(self.answer, 1 << 16)
            assert read, "the browser has gone"
            self.waiting += read
        line, self.waiting = self.waiting.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    def wait_for(self, method: str) -> None:
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.next())

    def close(self) -> None:
        os.close(self.ask)
        os.close(self.answer)
        self.process.terminate()
        self.process.wait()


class Page:
    """One opened file, and everything that was requested and complained about on the way."""

    def __init__(self, browser: Browser, path: Path, width: int, height: int = 900) -> None:
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        attached = browser.call("Target.attachToTarget", targetId=target, flatten=True)
        self.target, self.session = target, attached["sessionId"]
        browser.events.clear()
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Network.emulateNetworkConditions", offline=True, latency=0,
                  downloadThroughput=0, uploadThroughput=0)  # fmt: skip
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)  # fmt: skip
        self.call("Page.navigate", url=path.as_uri())
        browser.wait_for("Page.loadEventFired")

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        return self.browser.call(method, self.session, **given)

    def events(self, method: str) -> list[dict[str, Any]]:
        return [event["params"] for event in self.browser.events if event.get("method") == method]

    def evaluate(self, script: str) -> Any:
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def screenshot(self) -> bytes:
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def pdf(self) -> bytes:
        printed = self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        return base64.b64decode(printed["data"])

    def close(self) -> None:
        self.browser.call("Target.closeTarget", targetId=self.target)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium here; install the package chromium to open reports in it")
    started = Browser(tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a file in a window of some width."""
    pages: list[Page] = []

    def open_page(path: Path, width: int = 1280) -> Page:
        pages.append(Page(browser, path, width))
        return pages[-1]

    yield open_page
    for page in pages:
        page.close()
