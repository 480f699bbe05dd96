"""The least versions that CI installs are those that the project promises to work with."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

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
