"""The code on the pages of the reference and the explanation runs; every command exists.

The tutorial and the how-tos are followed from top to bottom (test_pages.py), policies in the
reference are read by tests/papers/test_docs.py.
"""

from __future__ import annotations

import re
import shlex
import shutil
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from textwrap import dedent
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from typer.main import get_command

from tclose.cli import app
from tclose.data.binding import bind
from tclose.data.opening import open_source
from tclose.policy.model import Policy
from tclose.report.render.printing import BROWSERS

ROOT = Path(__file__).resolve().parents[2]
FENCED = re.compile(r"^( *)```.*\n(.*?)^\1```$", flags=re.DOTALL | re.MULTILINE)
POLICY = """k = 3
[columns]
age = "quasi"
town = "quasi"
readmitted = "insensitive"
diagnosis = {{ role = "sensitive", distance = "equal", l = 2, t = {t} }}
[search]
effort = 0.1
"""


def load_script() -> Any:
    spec = spec_from_file_location("docs_pages", ROOT / "docs" / "pages.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = load_script()
PAGES = [
    *SCRIPT.pages("reference", "explanation", "tutorial", "howto", "gallery"),
    ROOT / "README.md",
]


def command_lines(page: Path) -> list[str]:
    """Every tclose command in a fenced block of a page."""
    blocks = FENCED.findall(page.read_text(encoding="utf-8"))
    lines = [line for _, text in blocks for line in re.sub(r"\\\n", " ", text).splitlines()]
    return [line.strip() for line in lines if re.match(r" *tclose [a-z]", line)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_exists_with_its_options(page: Path) -> None:
    for line in command_lines(page):
        if "…" in line or "[OPTIONS]" in line:
            continue  # a usage line
        command: Any = get_command(app)
        words = shlex.split(line, comments=True)[1:]
        while hasattr(command, "commands"):
            assert words and words[0] in command.commands, line
            command = command.commands[words.pop(0)]
        known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
        given = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert given <= known | {"--help"}, line


def make_table(rows: int, seed: int = 0) -> pa.Table:
    """Made-up patients."""
    numbers = [7919 * (n + seed) % 1009 for n in range(rows)]
    return pa.table(
        {
            "age": [20 + n % 60 for n in numbers],
            "town": ["ABC"[n % 3] for n in numbers],
            "readmitted": ["no" if n % 5 else "yes" for n in numbers],
            "diagnosis": [("flu", "ulcer", "asthma")[n // 7 % 3] for n in numbers],
        }
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that holds the files which the pages name."""
    monkeypatch.chdir(tmp_path)
    for name, t in {"policy": "0.4", "strict": "0.3", "milder": "0.5"}.items():
        Path(f"{name}.toml").write_text(POLICY.format(t=t))
    tables = {"patients": (120, 0), "next-month": (60, 500), "register": (400, 3)}
    for name, (rows, seed) in tables.items():
        csv.write_csv(make_table(rows, seed), f"{name}.csv")
    visits = make_table(100).rename_columns(["age", "town", "note", "illness"])
    Path("visits").mkdir()
    pq.write_table(visits.drop_columns("town"), "visits/one.parquet")
    return tmp_path


RUN = {
    "attacks": "release.csv last-year.csv",
    "engines": "",
    "forms": "",
    "frontier": "",
    "learn": "",
    "methods": "",
    "policy": "",
    "release": "",
    "report": "",
    "utility": "release.csv",
}
"""Pages whose code is run, and the releases that have to be there before."""
PRINTED = ("report",)
"""Those that print a PDF."""
SERVERS = ("spark", "postgresql:")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.browser] if n in PRINTED else []) for n in RUN]
)
def test_the_code_of_a_page_runs(name: str, folder: Path) -> None:
    if name in PRINTED and not any(map(shutil.which, BROWSERS)):
        pytest.skip("no Chromium here to print a PDF")
    for release in RUN[name].split():
        SCRIPT.run_line(f"tclose anonymize patients.csv --policy policy.toml -o {release}")
    (page,) = (page for page in PAGES if page.stem == name)
    bound = bind(Policy.load("policy.toml"), open_source("patients.csv"))
    names: dict[str, object] = {"__name__": "page", "bound": bound}
    for _, language, _, indented in SCRIPT.BLOCK.findall(page.read_text(encoding="utf-8")):
        text = dedent(indented)
        if any(server in text for server in SERVERS):
            continue  # tests/engines
        if language == "python":
            exec(compile(text, page.name, "exec"), dict(names))
        elif language == "sh":
            for line in text.replace("\\\n", " ").splitlines():
                SCRIPT.run_line(line)


def test_no_page_with_code_is_left_out() -> None:
    elsewhere = {"reliability", "studio"}  # hours of work; a server that does not end
    having = {
        page.stem
        for page in SCRIPT.pages("reference", "explanation")
        if {"python", "sh"} & {block[1] for block in SCRIPT.BLOCK.findall(page.read_text())}
    }
    assert having - elsewhere == set(RUN)
