"""What the project says it needs is what it imports, and the least of that is what CI installs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_the_constraints_are_made_from_the_project() -> None:
    script = ROOT / "tools" / "constraints.py"
    made = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    stated = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert stated == made.stdout, "run: python tools/constraints.py > constraints.txt"


def test_ci_runs_every_python_that_the_project_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [text.rpartition(" ")[2] for text in project["classifiers"] if ":: 3." in text]
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    quoted = ", ".join(f'"{version}"' for version in named)
    assert f"python: [{quoted}]" in workflow
    assert project["requires-python"] == f">={named[0]}"


BROUGHT_ALONG = {
    "anjana": "benchmarks/peers installs it where it is run",
    "anonypyx": "likewise",
    "cython": "compiled away",
    "pandas": "whoever hands in a frame has its library",
    "polars": "whoever hands in a frame has its library",
    "py4j": "comes with pyspark",
    "pycanon": "a comparison that is left out where it is not here",
}
"""Modules that need not be declared, and why."""


def find_imports(file: Path) -> Iterator[str]:
    """The top names of all modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield str(node.module).partition(".")[0]


def normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folders", "extras"),
    [
        (["src"], ["excel", "statistics", "spark", "postgres", "learn", "sign", "studio"]),
        (["src", "tests", "benchmarks", "tools"], ["test", "dev"]),
    ],
    ids=["users", "developers"],
)
def test_no_import_is_undeclared(folders: list[str], extras: list[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stated = list(project["dependencies"])
    for extra in extras:
        stated += project["optional-dependencies"].get(extra, [])
    declared = {normalize(re.split(r"[\[<>=~! ]", one)[0]) for one in stated}
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    own = {file.stem for file in files} | {"tclose"}
    of = packages_distributions()
    imported = {name for file in files for name in find_imports(file)}
    imported -= {*sys.stdlib_module_names, *own, *BROUGHT_ALONG}
    # A package that is not installed here is taken to have the name of its module.
    of_module = {name: {normalize(each) for each in of.get(name, [name])} for name in imported}
    unknown = {name for name, packages in of_module.items() if not packages & declared}
    assert unknown == set()
