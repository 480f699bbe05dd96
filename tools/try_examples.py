"""Runs the examples for other tools, each in an environment of its own.

    python tools/try_examples.py [airflow dagster great_expectations dbt] [--folder build/examples]

Each tool is installed from PyPI together with the dependencies of tclose, and its example is run
twice: unchanged, and with a promise that the table breaks, where it must fail.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
PACKAGES = {
    "airflow": ["apache-airflow"],
    "dagster": ["dagster"],
    "great_expectations": ["great_expectations"],
    "dbt": ["dbt-core<1.11", "dbt-duckdb"],
}
COMMANDS = {
    "airflow": [
        ["airflow", "db", "migrate"],
        ["airflow", "dags", "reserialize"],
        ["airflow", "dags", "test", "publish_patients"],
    ],
    "dagster": [["python", "definitions.py"]],
    "great_expectations": [["python", "expectation.py"]],
    "dbt": [["dbt", "build", "--profiles-dir", "."]],
}


def install(tool: str, folder: Path) -> Path:
    """Makes an environment with a tool; where its programs are."""
    place = folder / f"{tool}-environment"
    if not place.exists():
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        command = "-m pip --quiet --disable-pip-version-check install".split()
        needed = [*project["dependencies"], *PACKAGES[tool]]
        subprocess.run([place / "bin" / "python", *command, *needed], check=True)
    return place / "bin"


def list_versions(tool: str, programs: Path) -> str:
    """The packages of a tool with their installed versions."""
    names = [package.partition("<")[0] for package in PACKAGES[tool]]
    code = "import sys, importlib.metadata as m; print(*map(m.version, sys.argv[1:]))"
    done = subprocess.run(
        [programs / "python", "-c", code, *names], capture_output=True, text=True, check=True
    )
    return ", ".join(map(" ".join, zip(names, done.stdout.split(), strict=True)))


def run_example(tool: str, programs: Path, work: Path, k: int) -> bool:
    """Runs a copy of an example with some k; whether it ended well."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(EXAMPLES, work)
    policy = work / "policy.toml"
    policy.write_text(policy.read_text(encoding="utf-8").replace("k = 3", f"k = {k}"))
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "src"),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "TCLOSE_EXAMPLE": str(work),
        "AIRFLOW_HOME": str(work / "home"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(work / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    }
    for command in COMMANDS[tool]:
        done = subprocess.run(
            [programs / command[0], *command[1:]],
            cwd=work / tool, env=environment, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            (work / "output.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
            return False
    return True


def main() -> None:
    """Tries the tools that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tools", nargs="*", help=f"some of {', '.join(PACKAGES)}")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "examples")
    chosen = parser.parse_args()
    folder = chosen.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for tool in chosen.tools or list(PACKAGES):
        programs = install(tool, folder)
        kept = run_example(tool, programs, folder / f"{tool}-kept", 3)
        broken = run_example(tool, programs, folder / f"{tool}-broken", 10)
        ends = {True: "passes", False: "fails"}
        print(f"{list_versions(tool, programs)}: {ends[kept]} unchanged, {ends[broken]} if broken")
        if broken or not kept:
            sys.exit(f"see output.txt in {folder / tool}-kept")


if __name__ == "__main__":
    main()
