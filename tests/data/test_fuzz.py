"""A short run of the fuzzer: damaged files are answered or refused, and nothing crashes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scripts import load_script

TARGETS = (
    "readers", "policies", "hierarchies", "plans", "certificates", "projects", "labels", "studio",
)  # fmt: skip


@pytest.fixture(scope="module")
def fuzz() -> Any:
    return load_script("tools/fuzz/run.py")


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_nothing_crashes(fuzz: Any, target: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert set(fuzz.TARGETS) == set(TARGETS)
    for seed in range(25):
        assert fuzz.attempt(target, seed) is None, seed


def test_it_sees_a_crash(fuzz: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)

    def fail(chance: Any, folder: Path) -> None:
        (folder / "input").write_bytes(fuzz.damage(b"abc", chance))
        raise IndexError("planted")

    monkeypatch.setitem(fuzz.TARGETS, "planted", fail)
    assert "planted" in (fuzz.attempt("planted", 3) or "")
    assert sorted(path.name for path in (tmp_path / "fuzz-crashes/planted-3").iterdir()) == [
        "input",
        "traceback.txt",
    ]
