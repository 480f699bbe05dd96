"""What every test may rely on: hypothesis profiles and the data that is not in the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parents[1]

# Kernels are compiled on first use, so the first example of a property may take seconds.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(scope="session")
def adult_dir() -> Path:
    """The folder with the Adult census table and its hierarchies."""
    named = os.environ.get("TCLOSE_ADULT")
    folder = Path(named) if named else REPOSITORY.parent / "shared" / "data" / "adult"
    if not (folder / "adult.csv").is_file():
        pytest.skip("the Adult census table is not here; name its folder in TCLOSE_ADULT")
    return folder
