"""Real kernels run real notebooks, with and without widgets, and show cards without secrets."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

pytestmark = pytest.mark.slow  # every test starts a kernel

DOCS = Path(__file__).resolve().parents[2] / "docs" / "notebooks"
TUTORIALS = sorted(DOCS.glob("*.ipynb"))
SECRET = "Zacharias-7781"
NO_WIDGETS = """
import sys

class Hidden:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "ipywidgets":
            raise ModuleNotFoundError("hidden", name=name)

sys.meta_path.insert(0, Hidden)
"""
TABLE = f"""
import pandas as pd
import tclose
from tclose import Column, Policy

rows = 60
table = pd.DataFrame({{
    "name": [f"{SECRET}-{{row}}" for row in range(rows)],
    "age": [20 + (7 * row) % 40 for row in range(rows)],
    "town": [["{SECRET}-town", "B", "C"][row % 3] for row in range(rows)],
    "ill": [["flu", "cough", "{SECRET}-ill"][(row // 2) % 3] for row in range(rows)],
}})
policy = Policy.build(
    {{"name": Column.identifier(), "age": Column.quasi(), "town": Column.quasi(),
     "ill": Column.sensitive(t=0.4)}}, k=4)
"""
RESULTS = {
    "Audit": "tclose.audit(table.drop(columns='name'), policy)",
    "Release": "release",
    "Explanation": "tclose.explain(release)",
    "Frontier": "tclose.frontier(table, policy, t=[0.2, 0.4], methods='mondrian')",
    "Utility": "tclose.measure(original=table, release=release, queries=10)",
    "AttackReport": "tclose.attack(release)",
    "Policy": "policy",
    "DataDictionary": "release.dictionary()",
    "Survey": "tclose.lattice(table, policy)",
}


def run(*cells: str) -> list[list[dict[str, Any]]]:
    """The outputs of cells that a kernel has run one after the other."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
    return [cell.outputs for cell in book.cells]


def shown(outputs: list[dict[str, Any]]) -> dict[str, str]:
    """The last thing that a cell shows, by its kinds."""
    data: dict[str, str] = outputs[-1]["data"]
    return data


@pytest.fixture(scope="module", params=["with widgets", "without widgets"])
def cards(request: Any) -> dict[str, dict[str, str]]:
    """What a notebook shows of each kind of result."""
    before = NO_WIDGETS if request.param == "without widgets" else "import ipywidgets"
    release = "release = tclose.anonymize(table, policy, method='mondrian')"
    found = run(before, TABLE, release, *RESULTS.values())
    return dict(zip(RESULTS, map(shown, found[3:]), strict=True))


@pytest.mark.parametrize("kind", RESULTS)
def test_a_result_is_a_card_and_a_short_text(cards: Any, kind: str) -> None:
    page, text = cards[kind]["text/html"], cards[kind]["text/plain"]
    assert text.startswith(f"<{kind}: ") and "\n" not in text and len(text) < 200
    assert "tclose-card" in page and "<script" not in page and "http" not in _without_svg(page)
    assert not re.search(r"\son\w+=", page)
    assert SECRET not in text
    if kind == "Explanation":
        assert "Shows values of the table" in page
    else:
        assert SECRET not in page


def _without_svg(page: str) -> str:
    """A page without the name of SVG's namespace, which is an address that nobody opens."""
    return page.replace("http://www.w3.org/2000/svg", "")


def test_progress_is_a_line_that_updates_and_goes() -> None:
    slow = (
        "import tclose.notebook\n"
        "tclose.notebook.DELAY = tclose.notebook.EVERY = 0\n"
        "seen = []\n"
        "from IPython.display import DisplayHandle\n"
        "own = DisplayHandle.update\n"
        "def update(self, data, **more):\n"
        "    seen.append(data['text/plain'])\n"
        "    return own(self, data, **more)\n"
        "DisplayHandle.update = update"
    )
    found = run(NO_WIDGETS, TABLE, slow, "release = tclose.anonymize(table, policy)", "print(seen)")
    line = found[3]
    assert len(line) == 1 and line[0]["data"] == {"text/plain": ""}
    told = found[4][0]["text"]
    assert "tclose anonymize: " in told and "best loss" in told


def test_quick_calls_show_no_progress() -> None:
    assert run(TABLE, "found = tclose.audit(table.drop(columns='name'), policy)")[1] == []


def test_frames_and_pictures() -> None:
    kinds = [kind for kind in RESULTS if kind not in ("Release", "Policy")]
    frames = [f"len(({RESULTS[kind]}).to_frame()) > 0" for kind in kinds]
    pictures = [f"({RESULTS[kind]}).svg()[:4]" for kind in ("Explanation", "Frontier", "Survey")]
    others = "type(policy).__name__, tclose.audit(release).to_frame('polars').shape[0] > 0"
    release = "release = tclose.anonymize(table, policy, method='mondrian')"
    found = run(TABLE, release, *frames, *pictures, others)[2:]
    assert [shown(cell)["text/plain"] for cell in found] == [
        *["True"] * len(frames),
        *["'<svg'"] * 3,
        "('Policy', True)",
    ]


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs_from_its_first_cell_to_its_last(path: Path, tmp_path: Path) -> None:
    book = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(book)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code), "stored outputs"
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3", resources=resources).execute()
    assert any("text/html" in out.get("data", {}) for cell in code for out in cell.outputs)


MARIMO = """
import marimo

app = marimo.App()

@app.cell
def _():
{table}
    import tclose.notebook
    tclose.notebook.DELAY = tclose.notebook.EVERY = 0
    assert tclose.notebook.find_line() is not None
    tclose.anonymize(table, policy, method="mondrian")

if __name__ == "__main__":
    app.run()
"""


def test_marimo_shows_cards_too(tmp_path: Path) -> None:
    table = textwrap.indent(TABLE, "    ")
    (tmp_path / "book.py").write_text(MARIMO.format(table=table))
    words = ["-m", "marimo", "export", "html", "book.py", "-o", "page.html"]
    done = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert "tclose-card" in page and "Traceback" not in page


def test_there_are_three_tutorials() -> None:
    assert len(TUTORIALS) == 3
