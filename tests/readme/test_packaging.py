"""What is shipped beside the package fits it: metadata, archive, action, hook, recipe, image."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts import ROOT, load_script

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TABLE = "age,zip,disease\n" + "20-29,476**,flu\n20-29,476**,ulcer\n" * 2
POLICY = (
    'k = 2\n[columns]\nage = "quasi"\nzip = "quasi"\ndisease = { role = "sensitive", t = 0.2 }\n'
)


def load_yaml(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def load_tool(name: str = "package") -> Any:
    return load_script(f"tools/{name}.py")


def test_the_metadata_is_complete() -> None:
    assert PROJECT["readme"] == "README.md"
    assert PROJECT["authors"] == [{"name": "tclose contributors"}]
    assert {"description", "license", "license-files", "keywords", "classifiers"} <= set(PROJECT)
    assert "urls" not in PROJECT  # until there are any


@pytest.mark.slow
def test_the_source_archive_is_whole_and_the_same_each_time(tmp_path: Path) -> None:
    tool = load_tool()
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        archive = tool.build_source_archive(folder, 1_700_000_000)
    assert (first / archive.name).read_bytes() == archive.read_bytes()
    with tarfile.open(archive) as packed:
        members = packed.getmembers()
    held = {member.name.partition("/")[2] for member in members}
    tracked = subprocess.run(
        ["git", "ls-files", "src", "tests", "docs", "examples", "tools", "setup.py"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\n")  # fmt: skip
    assert sorted({name for name in tracked if name} - held) == []
    assert not [name for name in held if name.endswith((".so", ".pyc"))]
    assert {(member.mtime, member.uid) for member in members} == {(1_700_000_000, 0)}


@pytest.mark.slow
def test_what_is_installed_has_its_data_and_no_source_of_a_kernel(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "setup.py", "-q", "build_py", "--build-lib", str(tmp_path)],
        cwd=ROOT, capture_output=True, check=True,
    )  # fmt: skip
    made = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert not [name for name in made if name.endswith(".pxd")]  # they mark a checkout
    assert "tclose/kernels/base/memory.py" not in made
    assert {"tclose/py.typed", "tclose/kernels/freshness.py"} <= made
    assert any("/templates/" in name for name in made) and any("/lists/" in name for name in made)


def test_the_sbom_names_what_is_needed_at_run_time() -> None:
    parts = load_tool().list_components(PROJECT["dependencies"])
    stated = {re.split(r"[\[>]", text)[0].lower() for text in PROJECT["dependencies"]}
    assert stated <= set(parts)
    assert {"click", "pydantic-core"} & set(parts) and "sphinx" not in parts
    for name, part in parts.items():
        assert part["purl"] == f"pkg:pypi/{name}@{part['version']}" and part["type"] == "library"


def test_the_recipe_needs_what_the_project_needs() -> None:
    recipe = load_yaml("packaging/conda/recipe.yaml")
    stated = {re.sub(r"\[.*?\]", "", text).replace(">=", " >=") for text in PROJECT["dependencies"]}
    stated = {text.replace("duckdb ", "python-duckdb ") for text in stated}
    assert set(recipe["requirements"]["run"]) == {*stated, "python >=3.11"}
    from tclose.version import VERSION

    assert recipe["context"]["version"] == VERSION
    program = f"tclose = {PROJECT['scripts']['tclose']}"
    assert recipe["build"]["python"]["entry_points"] == [program]


@pytest.fixture
def shell(elsewhere: Path, tmp_path: Path) -> Path:
    """A folder with a table, its policy, and a `tclose` to be found by scripts."""
    (tmp_path / "data.csv").write_text(TABLE)
    (tmp_path / "policy.toml").write_text(POLICY)
    program = tmp_path / "bin" / "tclose"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\nexec {sys.executable} -c "from tclose.cli import main; main()" "$@"\n'
    )
    program.chmod(0o755)
    return tmp_path


def run_script(folder: Path, script: str, **environment: str) -> int:
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder, env={**os.environ, "PATH": path, **environment}, capture_output=True,
    ).returncode  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"policy": "policy.toml"}, 0),
        ({"quasi": "age,zip", "sensitive": "disease", "fail-under": "k=5"}, 1),
        ({}, 2),
    ],
)
def test_the_action_ends_with_the_verdict(shell: Path, given: dict[str, str], code: int) -> None:
    action = load_yaml(".github/actions/audit/action.yml")
    step = action["runs"]["steps"][-1]
    values = {name: known.get("default", "") for name, known in action["inputs"].items()}
    values |= given | {"table": "data.csv"}
    named = {
        k: values[v.removeprefix("${{ inputs.").removesuffix(" }}")] for k, v in step["env"].items()
    }
    assert run_script(shell, step["run"], **named) == code


@pytest.mark.slow
def test_the_hook_ends_with_the_verdict(shell: Path) -> None:
    (hook,) = load_yaml(".pre-commit-hooks.yaml")
    assert hook["language"] == "python" and hook["pass_filenames"] is False
    assert run_script(shell, f"{hook['entry']} data.csv --policy policy.toml") == 0
    (shell / "policy.toml").write_text(POLICY.replace("k = 2", "k = 5"))
    assert run_script(shell, f"{hook['entry']} data.csv --policy policy.toml") == 1


def test_the_page_on_pipelines_names_inputs_that_there_are() -> None:
    page = (ROOT / "docs" / "howto" / "pipeline.md").read_text(encoding="utf-8")
    inputs = set(load_yaml(".github/actions/audit/action.yml")["inputs"])
    steps, hooks = map(yaml.safe_load, re.findall(r"^```yaml\n(.*?)^```", page, re.S | re.M))
    assert all(set(step["with"]) <= inputs for step in steps)
    assert hooks["repos"][0]["hooks"][0]["id"] == load_yaml(".pre-commit-hooks.yaml")[0]["id"]


def test_the_image_runs_as_a_user_without_rights_and_copies_what_the_build_needs() -> None:
    lines = (ROOT / "packaging" / "Dockerfile").read_text(encoding="utf-8").splitlines()
    assert lines.index("USER steward") < lines.index('ENTRYPOINT ["tclose"]')
    sent = (ROOT / "packaging" / "Dockerfile.dockerignore").read_text(encoding="utf-8").split()
    assert sent[0] == "*" and {"!src", "!setup.py", "!pyproject.toml", "!README.md"} <= set(sent)


def test_every_example_is_one_that_is_tried() -> None:
    folder, tool = ROOT / "examples", load_tool("try_examples")
    assert {path.name for path in folder.iterdir() if path.is_dir()} == set(tool.PACKAGES)
    told = (folder / "README.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in told for name in tool.PACKAGES)
    import tclose

    assert tclose.audit(folder / "patients.csv", folder / "policy.toml").holds
    broken = tclose.Policy.load(folder / "policy.toml").model_copy(update={"k": 10})
    assert tclose.audit(folder / "patients.csv", broken).holds is False
