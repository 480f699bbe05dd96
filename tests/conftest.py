"""What every test may rely on: hypothesis profiles, data that is not here, and what tests need."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

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
