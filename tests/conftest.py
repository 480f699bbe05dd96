"""What every test may rely on: hypothesis profiles, data that is not here, and what tests need."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import settings
from typer.testing import CliRunner, Result

import tclose
from tclose.cli import app

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

ROOT = Path(__file__).resolve().parents[1]
ENGINES = ROOT / "tests" / "engines"
NEEDED = {"has_spark": "spark", "postgres": "postgres", "browser": "browser"}
"""Which fixture stands for which marker."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks tests by what they need; those that share a server run in one process."""
    parallel = config.pluginmanager.hasplugin("xdist")
    for item in items:
        for marker in sorted(set(list_needs(item))):
            item.add_marker(marker)
            if parallel:
                item.add_marker(pytest.mark.xdist_group(marker))


def list_needs(item: pytest.Item) -> Iterator[str]:
    """The markers of what a test starts: by its fixtures, or by the engine in its name.

    A test that every engine runs through starts its engine itself.
    """
    for fixture in getattr(item, "fixturenames", ()):
        if fixture in NEEDED:
            yield NEEDED[fixture]
    if ENGINES in item.path.parents:
        within = item.nodeid.lower().partition("engines/")[2]
        yield from (marker for marker in ("spark", "postgres") if marker in within)


@pytest.fixture(scope="session")
def adult_dir() -> Path:
    """The folder with the Adult census table and its hierarchies."""
    named = os.environ.get("TCLOSE_ADULT")
    if not named or not (ROOT / named / "adult.csv").is_file():
        pytest.skip("the Adult census table is not here; name its folder in TCLOSE_ADULT")
    return (ROOT / named).resolve()


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to run commands in; a process started there finds the same tclose."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TCLOSE_DEBUG", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(Path(tclose.__file__).parents[1]))
    yield tmp_path


@pytest.fixture
def run(elsewhere: Path) -> Callable[..., Result]:
    """Runs a command within this process."""

    def invoke(*arguments: object) -> Result:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return invoke


@pytest.fixture
def clinic(elsewhere: Path) -> Mapping[str, Path]:
    """A small table with its policy on disk: `table`, `policy`; names for all that is written."""
    ills = ["flu", "cough", "ulcer", "gastritis"]
    lines = ["name,age,zip,ill,note"]
    for at in range(120):
        lines.append(f"SECRET{at},{20 + at * 7 % 60},{47600 + at * 13 % 400},{ills[at % 4]},n{at}")
    (elsewhere / "table.csv").write_text("\n".join(lines) + "\n")
    (elsewhere / "policy.toml").write_text(
        'k = 4\n[columns]\nname = "identifier"\nage = "quasi"\nnote = "insensitive"\n'
        'zip = { role = "quasi", hierarchy = { prefix = [4, 3, 0] } }\n'
        'ill = { role = "sensitive", distance = "equal", t = 0.25, l = 2 }\n'
        '[search]\nmethod = "mondrian"\n'
    )
    names = {"release": "release.csv", "certificate": "certificate.json", "plan": "plan.json"}
    names |= {"table": "table.csv", "policy": "policy.toml"}
    return {name: elsewhere / file for name, file in names.items()}
