"""A session of our own: the user's settings hold, and what they leave open is set with care."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

import pytest

from tclose import DataError

pytest.importorskip("pyspark", reason="pyspark is not installed")

from tclose.data.engines.spark.session import _defaults, _is_ours, _read_settings, _start

OURS = (
    "PYSPARK_PYTHON",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_CONF_DIR",
    "SPARK_HOME",
    "MASTER",
    "SPARK_LOCAL_DIRS",
)


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No settings but those of the test."""
    for name in OURS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))


def test_what_is_not_said_is_set() -> None:
    found = _defaults(_read_settings(), None)
    spills = Path(found.pop("spark.local.dir"))  # raw rows: nobody else may look there
    assert spills.is_dir() and stat.S_IMODE(spills.stat().st_mode) == 0o700
    assert found == {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executorEnv.PYTHONSAFEPATH": "1",
    }
    assert Path(os.environ["PYSPARK_PYTHON"]).exists()


def test_what_is_said_holds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.ui.enabled true\n# spark.master nobody\n")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.driver.host=here pyspark-shell")
    assert set(_defaults(_read_settings(), "2GB")) == {
        "spark.driver.bindAddress",
        "spark.driver.memory",
        "spark.executorEnv.PYTHONSAFEPATH",
        "spark.local.dir",
    }
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    assert "spark.local.dir" not in _defaults(_read_settings(), None)
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--master yarn pyspark-shell")
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert _defaults(_read_settings(), None) == {} and "PYSPARK_PYTHON" not in os.environ


@pytest.mark.parametrize(
    ("said", "means"), [("4GB", "4096m"), ("512 MiB", "512m"), ("1.5g", "1536m"), ("9000000", "9m")]
)
def test_amounts_of_memory(said: str, means: str) -> None:
    assert _defaults("", said)["spark.driver.memory"] == means


def test_no_amount_of_memory() -> None:
    with pytest.raises(DataError, match="not an amount"):
        _defaults("", "a lot")


def test_a_machine_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(DataError, match="needs Java"):
        _start(None)


def test_messages_of_the_bridge_are_told_from_others() -> None:
    def is_ours(place: str) -> bool:
        return _is_ours(logging.LogRecord("root", 40, place, 1, "lost", None, None))

    assert not is_ours("/site-packages/py4j/java_gateway.py")
    assert is_ours("/site-packages/tclose/cli/console.py")
