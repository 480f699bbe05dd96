"""How long every screen of the studio takes on a made-up hospital of a million rows.

python -m benchmarks.studio [ROWS]

Each screen is asked for until its first count is done, then five times more; the slowest of those
is told, with the bytes that were sent: no screen may take more than a second, or send the table.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx

from tclose.sample import write_hospital
from tclose.studio.server import ServerSettings, Studio

SCREENS = (
    "/open", "/columns", "/columns?filter=date", "/values?column=postcode",
    "/values?column=diagnosis", "/values/preview", "/values/meaning", "/risk", "/risk/why",
    "/search", "/explore?what=t", "/explore?what=lattice", "/explore?first=1&second=2",
    "/before-after", "/before-after?page=9", "/release",
)  # fmt: skip
TYPED = {
    "/values/preview": {"column": "postcode", "kind": "prefix", "of-prefix": "4, 2"},
    "/values/meaning": {"column": "length_of_stay", "kind": "", "distance": "ordered", "t": "0.1"},
}
"""What somebody types while the page tells at once what it means."""
SAME = {"sec-fetch-site": "same-origin"}
AGAIN = 5


def ask(client: httpx.Client, path: str) -> tuple[float, int, bool]:
    """Seconds, bytes, and whether the page still waits for work."""
    start = time.perf_counter()
    typed = TYPED.get(path)
    answer = client.get(path) if typed is None else client.post(path, data=typed, headers=SAME)
    answer.raise_for_status()
    return time.perf_counter() - start, len(answer.content), 'hx-get="/jobs/' in answer.text


def measure(client: httpx.Client, path: str) -> tuple[float, list[float], int]:
    """Seconds until the first count is done, of every time after, and bytes."""
    start = time.perf_counter()
    while ask(client, path)[2]:
        time.sleep(0.2)
    first = time.perf_counter() - start
    times, sizes = [], []
    for _ in range(AGAIN):
        seconds, size, _ = ask(client, path)
        times.append(seconds)
        sizes.append(size)
    return first, times, max(sizes)


def search(client: httpx.Client) -> None:
    """Makes two runs, so that the later screens have something to show."""
    for seed in ("1", "2"):
        settings = {"method": "mondrian", "effort": "5", "seed": seed}
        client.post("/search", data=settings, headers=SAME)
        while ask(client, "/search")[2]:
            time.sleep(0.2)


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        table, policy, _ = write_hospital(folder, rows)
        size = table.stat().st_size
        studio = Studio(ServerSettings(Path(folder) / "project", str(table), policy))
        ready = {"open_page": False, "ready": lambda address: None}
        threading.Thread(target=studio.run, kwargs=ready, daemon=True).start()
        while not studio.server.started:
            time.sleep(0.05)
        print(f"{rows:,} rows, {size / 1e6:.0f} MB\n")
        print(
            "| screen | first count, s | median, s | slowest, s | kB sent |\n|---|--:|--:|--:|--:|"
        )
        with httpx.Client(base_url=studio.base, follow_redirects=True, timeout=600) as client:
            client.get(studio.address)
            for path in SCREENS:
                if path == "/search":
                    search(client)
                first, times, sent = measure(client, path)
                middle = statistics.median(times)
                told = f"{first:.1f} | {middle:.2f} | {max(times):.2f} | {sent / 1e3:.0f}"
                print(f"| {path} | {told} |", flush=True)
        studio.server.should_exit = True
        while studio.private.exists():
            time.sleep(0.1)


if __name__ == "__main__":
    main()
