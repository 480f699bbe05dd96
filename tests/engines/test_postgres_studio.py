"""The studio on a table of a real PostgreSQL server, opened by its address."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa

import tclose
from tclose.studio.server import ServerSettings, Studio

ROWS = 120
RULES = {
    "k": 4,
    "columns": {
        "name": {"role": "identifier"},
        "age": {"role": "quasi"},
        "ill": {"role": "sensitive", "distance": "equal", "t": "0.3"},
    },
    "search": {"method": "mondrian", "effort": "1"},
}


def settle(client: httpx.Client, path: str) -> str:
    for _ in range(400):
        text = client.get(path).text
        if 'hx-get="/jobs/' not in text:
            return text
        time.sleep(0.1)
    raise AssertionError("the work does not end")


def test_a_table_of_a_database_goes_from_its_address_to_a_release(
    database: Any, tmp_path: Path
) -> None:
    people = pa.table({
        "name": [f"person {number}" for number in range(ROWS)],
        "age": [20 + number % 40 for number in range(ROWS)],
        "ill": [("flu", "cold", "ulcer")[number % 3] for number in range(ROWS)],
    })  # fmt: skip
    address = database.put("people", people)
    studio = Studio(ServerSettings(tmp_path / "work", table=None))
    thread = threading.Thread(
        target=studio.run, kwargs={"open_page": False, "ready": lambda found: None}, daemon=True
    )
    thread.start()
    while not studio.server.started:
        thread.join(0.02)
    same = {"sec-fetch-site": "same-origin"}
    try:
        with httpx.Client(
            base_url=studio.base, headers=same, follow_redirects=True, timeout=60, trust_env=False
        ) as client:
            client.get(studio.address)
            assert client.post("/open", data={"address": address}).status_code == 200
            first = settle(client, "/open")
            assert "person 0" in first and "person 100" not in first
            assert "person 0" not in settle(client, "/columns")
            studio.bench.project.change(lambda raw: (raw.clear(), raw.update(RULES)))
            assert "The promise does NOT hold." in settle(client, "/risk")
            client.post("/search", data=RULES["search"])
            settle(client, "/search")
        (run,) = studio.bench.project.runs
        assert tclose.verify(run.release, policy=studio.bench.project.policy).holds
        assert "person" not in run.release.read_text(encoding="utf-8")
        kept = [path for path in (tmp_path / "work").rglob("*") if path.is_file()]
        password = address.partition("://")[2].partition("@")[0].partition(":")[2]
        assert kept and password
        assert not any(password.encode() in path.read_bytes() for path in kept)
    finally:
        studio.server.should_exit = True
        thread.join(10)
    assert database.tables() == ["people"]
