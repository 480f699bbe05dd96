"""Prints a page as a PDF with a Chromium on this machine, without a network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from tclose.data.io.files import write_atomically
from tclose.data.io.scratch import Scratch
from tclose.errors import UsageError

BROWSERS = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
    "microsoft-edge", "msedge",
)  # fmt: skip
FLAGS = (
    "--headless --disable-gpu --no-first-run --disable-extensions --disable-sync "
    "--disable-background-networking --disable-component-update --disable-dev-shm-usage "
    "--no-pdf-header-footer"
).split()
# No name resolves and nothing is routed, whatever the machine is connected to.
NO_NETWORK = ("--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9")
SECONDS = 300
"""A browser that takes longer than this is taken to hang."""
DATES = re.compile(rb"/(CreationDate|ModDate) \(D:\d{14}[^)]*\)")


def find_browser(where: str = "") -> str:
    """Returns the browser that prints; raises UsageError if there is none."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise UsageError(
            "a PDF needs a Chromium, and there is none on the path",
            where=where,
            hint="install chromium, or write an .html page and print it from any browser",
        )
    return found


def write_pdf(path: str | Path, page: str) -> Path:
    """Prints a page; equal pages give equal files, because the time of printing is removed."""
    browser = find_browser(str(path))

    def write(part: Path) -> None:
        scratch = Scratch()
        source = scratch.place("report.html", named=True)  # the browser is another process
        target = source.with_suffix(".pdf")
        try:
            source.write_text(page, encoding="utf-8")
            _print(browser, source, target, str(path))
            part.write_bytes(_leave_out_time(target.read_bytes()))
        finally:
            scratch.close()

    write_atomically(path, write)
    return Path(path)


def _print(browser: str, source: Path, target: Path, where: str) -> None:
    # The sandbox does not work for root, as in a container; the page contains no script.
    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    profile = f"--user-data-dir={source.parent / 'profile'}"
    command = [browser, *FLAGS, *NO_NETWORK, *root, profile, f"--print-to-pdf={target}",
               source.as_uri()]  # fmt: skip
    try:
        ended = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        ended = None
    if ended is None or not target.is_file():
        hint = "write an .html page and print it from a browser"
        raise UsageError("the browser did not print the report", where=where, hint=hint)


def _leave_out_time(content: bytes) -> bytes:
    """Replaces times in the file by zeros of the same length."""

    def blank(found: re.Match[bytes]) -> bytes:
        return re.sub(rb"\d", b"0", found[0])

    return DATES.sub(blank, content)
