"""What every test may rely on: hypothesis profiles, counted draws, data that is not here."""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import typer.testing
from hypothesis import HealthCheck, settings
from typer.testing import CliRunner, Result

import tclose
from tclose.cli import app

# A fixture that counts draws is made once for all draws, as it should be.
settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

# typer builds the commands anew for every run of one; they are the same each time.
typer.testing._get_command = functools.cache(typer.testing._get_command)

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


class Judged:
    """Counts what a property looked at: one that passed over all draws has shown nothing."""

    def __init__(self) -> None:
        self.seen: dict[str, Counter[bool]] = {}
        self.least: dict[str, float] = {}

    def __call__(self, suits: bool, what: str = "judged", least: float = 0.9) -> bool:
        """Counts a draw, and whether it suits; at least this share of all draws must."""
        self.seen.setdefault(what, Counter())[suits] += 1
        self.least[what] = least
        return suits

    def list_shares(self) -> list[tuple[str, str]]:
        """What was counted, in words."""
        return [(what, f"{seen[True]} of {seen.total()}") for what, seen in self.seen.items()]

    def list_too_few(self) -> list[str]:
        """What was seen too rarely; no property may look at nothing."""
        if not self.seen:
            return ["nothing was judged"]
        return [
            f"{what}: {seen[True]} of {seen.total()} draws, fewer than {self.least[what]:.0%}"
            for what, seen in self.seen.items()
            if seen[True] < self.least[what] * seen.total()
        ]


@pytest.fixture
def judged(request: pytest.FixtureRequest) -> Iterator[Judged]:
    """Counts the draws that a property judges; the test fails where those are too few."""
    failed, counter = request.session.testsfailed, Judged()
    yield counter
    request.node.user_properties += counter.list_shares()
    if request.session.testsfailed == failed and (few := counter.list_too_few()):
        pytest.fail("; ".join(few))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says with -v how many draws each property judged."""
    if terminalreporter.verbosity > 0:
        for report in terminalreporter.getreports("") + terminalreporter.getreports("error"):
            if report.when == "teardown" and report.user_properties:
                shares = "; ".join(f"{what} {share}" for what, share in report.user_properties)
                terminalreporter.write_line(f"{report.nodeid}: {shares}")


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
        'k = 4\n[columns]\nname = "identifier"\nage = "quasi"\n'
        'note = { role = "insensitive", accept = "made up" }\n'
        'zip = { role = "quasi", hierarchy = { prefix = [4, 3, 0] } }\n'
        'ill = { role = "sensitive", distance = "equal", t = 0.25, l = 2 }\n'
        '[search]\nmethod = "mondrian"\n'
    )
    names = {"release": "release.csv", "certificate": "certificate.json", "plan": "plan.json"}
    names |= {"table": "table.csv", "policy": "policy.toml"}
    return {name: elsewhere / file for name, file in names.items()}
