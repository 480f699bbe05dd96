"""Who gets an answer: this user's own browser, by this machine's name, and nobody else."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path

import httpx
import pytest
from starlette.types import Message

from tclose.errors import UsageError
from tclose.studio.guard import HEADERS
from tclose.studio.server import Studio

Make = Callable[..., Studio]
Come = Callable[[str], httpx.Client]
Enter = Callable[[Studio], httpx.Client]
HTMX = "71ea67185bfa8c98c39d31717c6fce5d852370fcdfd129db4543774d3145c0de"


@pytest.fixture
def stranger_of() -> Iterator[Come]:
    """Somebody on this machine who was not let in."""
    clients: list[httpx.Client] = []

    def come(base: str) -> httpx.Client:
        clients.append(httpx.Client(base_url=base, trust_env=False, timeout=60))
        return clients[-1]

    yield come
    for client in clients:
        client.close()


def test_the_token_works_once_and_becomes_a_strict_cookie(make: Make, stranger_of: Come) -> None:
    studio = make()
    way_in = studio.address.removeprefix(studio.base)
    client = stranger_of(studio.base)
    cookie = client.get(way_in).headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert client.get("/open").status_code == 200
    thief = stranger_of(studio.base)
    assert thief.get(way_in).status_code == 403
    assert thief.get("/open").status_code == 403


@pytest.mark.parametrize("token", ["", "x", "%00", "é"])
def test_a_wrong_token_opens_nothing(make: Make, token: str, stranger_of: Come) -> None:
    studio = make()
    client = stranger_of(studio.base)
    assert client.get(f"/?token={token}").status_code == 403
    assert "set-cookie" not in client.get(f"/?token={token}").headers


@pytest.mark.parametrize(
    "path", ["/", "/open", "/columns", "/studio.css", "/htmx.js", "/jobs/x", "/nothing"]
)
def test_nothing_is_shown_without_the_cookie(make: Make, path: str, stranger_of: Come) -> None:
    studio = make()
    answer = stranger_of(studio.base).get(path)
    assert answer.status_code == 403
    assert "hospital" not in answer.text


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil"])
def test_a_foreign_host_is_refused_even_with_the_cookie(client: httpx.Client, host: str) -> None:
    assert client.get("/open", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", None])
def test_a_post_of_another_page_is_refused(client: httpx.Client, site: str | None) -> None:
    request = client.build_request("POST", "/columns", data={"what": "undo"})
    del request.headers["sec-fetch-site"]
    if site is not None:
        request.headers["sec-fetch-site"] = site
    assert client.send(request).status_code == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(client: httpx.Client, method: str) -> None:
    assert client.request(method, "/open").status_code == 405


@pytest.mark.parametrize("kind", ["websocket", "something"])
def test_a_scope_that_is_not_http_is_closed(make: Make, kind: str) -> None:
    guard = make().guard
    sent: list[Message] = []

    async def ask() -> None:
        async def receive() -> Message:
            return {"type": "websocket.connect"}

        async def send(message: Message) -> None:
            sent.append(message)

        await guard({"type": kind, "path": "/", "headers": []}, receive, send)

    with ThreadPoolExecutor() as other:  # a browser's tests leave a loop running in this thread
        other.submit(lambda: asyncio.run(ask())).result()
    assert [message["type"] for message in sent] == ["websocket.close"]


def test_every_answer_forbids_inline_framing_storing_and_referring(
    client: httpx.Client, stranger_of: Come
) -> None:
    stranger = stranger_of(str(client.base_url))
    for answer in (client.get("/open"), client.get("/studio.css"), stranger.get("/open")):
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'self'" in policy and "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


def test_no_page_has_a_script_or_a_style_of_its_own(client: httpx.Client) -> None:
    page = client.get("/open").text
    assert page.count("<script") == page.count('<script src="/htmx.js" defer></script>') == 1
    assert "<style" not in page and " style=" not in page and " onclick" not in page
    assert "http://" not in page and "https://" not in page


def test_what_is_sent_is_limited_in_size_whatever_it_announces(make: Make, enter: Enter) -> None:
    client = enter(make(most_uploaded=10_000))
    assert client.post("/open", content=b"a" * 20_000).status_code == 413

    def pieces() -> Iterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
        for _ in range(40):
            yield b"a,b\n" * 100

    headers = {"content-type": "multipart/form-data; boundary=x"}
    assert client.post("/open", content=pieces(), headers=headers).status_code == 413


def test_two_servers_do_not_share_a_cookie(make: Make, enter: Enter, stranger_of: Come) -> None:
    first, second = make(), make()
    assert first.base != second.base and first.guard.cookie != second.guard.cookie
    client = enter(first)
    other = stranger_of(second.base)
    for name, value in client.cookies.items():
        other.cookies.set(name, value)
        other.cookies.set(second.guard.cookie, value)
    assert other.get("/open").status_code == 403
    assert client.get("/open").status_code == 200


def test_a_fault_of_ours_shows_no_traceback(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(self: object) -> None:
        raise ValueError("a secret cell")

    monkeypatch.setattr("tclose.studio.workbench.Workbench.view", fail)
    answer = client.get("/columns")
    told = capsys.readouterr()
    assert answer.status_code == 500 and "wrong inside tclose" in answer.text
    assert "secret" not in answer.text + told.err + told.out and "Traceback" not in told.err


def test_a_path_that_fails_moves_no_cursor(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise ValueError

    monkeypatch.setattr("tclose.studio.jobs.Jobs.find", fail)
    assert client.get("/jobs/%1b[2J%0aThe promise holds.").status_code == 500
    told = capsys.readouterr().err
    assert r"ValueError at /jobs/\u001b[2J\nThe promise" in told and "\x1b" not in told


def test_it_listens_to_this_machine_only(make: Make) -> None:
    assert make().socket.getsockname()[0] == "127.0.0.1"


def test_a_taken_port_is_said_plainly(make: Make) -> None:
    port = make().socket.getsockname()[1]
    with pytest.raises(UsageError, match="cannot listen there"):
        make(port=port)


def test_htmx_is_the_one_that_was_pinned_with_its_licence_beside_it() -> None:
    folder = files("tclose.studio") / "static"
    assert sorted(Path(str(file)).name for file in folder.iterdir()) == [
        "htmx-2.0.10.min.js",
        "htmx-LICENSE",
    ]
    assert hashlib.sha256((folder / "htmx-2.0.10.min.js").read_bytes()).hexdigest() == HTMX
    assert "Zero-Clause BSD" in (folder / "htmx-LICENSE").read_text(encoding="utf-8")
