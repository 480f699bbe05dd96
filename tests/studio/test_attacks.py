"""What somebody sends who means ill: bombs, huge fields, names that lead elsewhere, secrets."""

from __future__ import annotations

import gzip
import io
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tclose.studio import table
from tclose.studio.server import Studio

Make = Callable[..., Studio]
Enter = Callable[[Studio], httpx.Client]
Settle = Callable[..., str]


@pytest.fixture(scope="module")
def empty(make: Make) -> Studio:
    return make(table=None)


@pytest.fixture(scope="module")
def client(empty: Studio, enter: Enter) -> httpx.Client:
    return enter(empty)


def pack(content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", content)
    return packed.getvalue()


@pytest.mark.parametrize("name", ["bomb.xlsx", "bomb.csv.gz", "bomb.csv"])
def test_what_would_fill_the_machine_when_unpacked_is_refused(
    empty: Studio, client: httpx.Client, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(table, "MOST_UNPACKED", 1 << 20)
    content = b"a,b\n" + b"0,0\n" * (1 << 19)
    sent = gzip.compress(content) if name.endswith("gz") else pack(content)
    assert len(sent) < 1 << 16
    page = client.post("/open", files={"file": (name, sent)}).text
    assert "unpacked, it would be larger than" in page
    assert not list((empty.private / "uploads").iterdir()) and empty.bench.project.table is None


def test_a_packed_file_that_is_broken_is_refused(empty: Studio, client: httpx.Client) -> None:
    broken = gzip.compress(b"a,b\n1,2\n" * 1000)[:-9]
    assert "cannot be unpacked" in client.post("/open", files={"file": ("a.csv.gz", broken)}).text


def test_a_huge_field_is_complained_about_without_its_value(client: httpx.Client) -> None:
    content = b'a,b\n1,"' + b"secret" * (1 << 20)
    page = client.post("/open", files={"file": ("huge.csv", content)}).text
    assert 'role="alert"' in page and "secret" not in page


def test_very_many_fields_are_refused(client: httpx.Client) -> None:
    content = "&".join(f"column={number}" for number in range(30_000))
    kind = {"content-type": "application/x-www-form-urlencoded"}
    assert client.post("/columns", content=content, headers=kind).status_code == 400


@pytest.mark.parametrize(
    "name", ["../../../etc/cron.d/x.csv", "..\\..\\x.csv", "/etc/x.csv", ".hidden.csv", "é☃.csv"]
)
def test_an_uploads_name_leads_nowhere_else(empty: Studio, client: httpx.Client, name: str) -> None:
    client.post("/open", files={"file": (name, b"a,b\n1,2\n3,4\n")})
    stored = Path(str(empty.bench.project.table))
    assert stored.parent == empty.private / "uploads" and not stored.name.startswith(".")


def test_the_password_of_a_database_is_nowhere(empty: Studio, client: httpx.Client) -> None:
    address = "postgresql://ann:tops3cret@127.0.0.1:1/clinic#people"
    page = client.post("/open", data={"address": address}).text
    assert "tops3cret" not in page and "ann@127.0.0.1" in page
    for path in ("/open", "/columns", "/risk"):
        assert "tops3cret" not in client.get(path).text
    for file in empty.bench.project.folder.rglob("*"):
        assert not file.is_file() or b"tops3cret" not in file.read_bytes()


def test_pages_send_no_more_than_the_first_rows(
    make: Make, enter: Enter, settle: Settle, tmp_path: Path
) -> None:
    path = tmp_path / "many.csv"
    names = [f"person-{number:05d}" for number in range(2_000)]
    lines = (f"{name},{20 + at % 50},{'ab'[at % 2]}\n" for at, name in enumerate(names))
    path.write_text("name,age,ill\n" + "".join(lines), encoding="utf-8")
    client = enter(make(table=str(path)))
    client.post("/columns", data={"what": "confirm"})
    for page in ("/open", "/columns", "/values", "/risk", "/search"):
        sent = settle(client, page)
        assert sum(name in sent for name in names) <= 20


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize(
    "name",
    ["SIGTERM", *(pytest.param(name, marks=pytest.mark.slow) for name in ("SIGHUP", "SIGINT"))],
)
def test_an_upload_goes_with_the_program_however_that_is_ended(tmp_path: Path, name: str) -> None:
    words = [sys.executable, "-m", "tclose", "studio", "--no-browser", "--project", "work"]
    folder = tmp_path / "aside"
    folder.mkdir()
    surroundings = {**os.environ, "TMPDIR": str(folder)}
    with subprocess.Popen(words, cwd=tmp_path, env=surroundings, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        address = server.stdout.readline().decode().split()[-1]
        same = {"sec-fetch-site": "same-origin"}
        with httpx.Client(headers=same, trust_env=False, timeout=60) as client:
            client.get(address)
            base = address.partition("/?")[0]
            client.post(f"{base}/open", files={"file": ("people.csv", b"a,b\n1,2\n3,4\n")})
            assert list(folder.rglob("people.csv"))
        server.send_signal(getattr(signal, name))
        try:
            server.communicate(timeout=120)
        finally:
            server.kill()
    assert not list(folder.rglob("*")) and not list((tmp_path / "work").rglob("people.csv"))


@pytest.mark.parametrize(
    "sent",
    [{"levels": "1"}, {"levels": "0-x"}, {"levels": "²"}, {"t": "1/0"}, {"t": "∞"}, {"k": "²"},
     {"k": "9" * 5000}],
)  # fmt: skip
def test_an_odd_choice_is_refused_and_changes_nothing(
    make: Make, enter: Enter, hospital: Path, sent: dict[str, str]
) -> None:
    studio = make(policy=hospital / "policy.toml")
    before = studio.bench.project.policy.to_json()
    answer = enter(studio).post("/explore", data=sent)
    assert answer.status_code == 200 and studio.bench.project.policy.to_json() == before
