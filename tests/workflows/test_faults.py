"""A small share of `tools/faults.py`: kills, a full disk, no handles, races, changing input."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are limited otherwise there"),
]


@pytest.mark.parametrize(
    "faults", ["--kills 10 --only none", "--kills 0 --only full,read-only,race,change --changes 2"]
)
def test_whatever_disturbs_a_run_all_files_are_old_or_all_are_new(
    tmp_path: Path, faults: str
) -> None:
    found = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "faults.py"), *faults.split()],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "TMPDIR": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.endswith("0 wrong\n")
