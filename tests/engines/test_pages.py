"""The how-tos on servers keep their word, on servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scripts import ROOT, load_script


def run_page(name: str, folder: Path) -> None:
    load_script("docs/pages.py").run_page(ROOT / "docs" / "howto" / name, folder)


@pytest.mark.slow
def test_the_page_on_spark_can_be_followed(has_spark: None, tmp_path: Path) -> None:
    run_page("spark.md", tmp_path)


@pytest.mark.slow
def test_the_page_on_postgresql_can_be_followed(
    postgres: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.run("CREATE TABLE patients AS SELECT 30 + n AS age, chr(65 + n % 2) AS town, "
                 "CASE n % 3 WHEN 0 THEN 'flu' ELSE 'ulcer' END AS ill "
                 "FROM generate_series(1, 60) AS n")  # fmt: skip
    monkeypatch.setenv("CLINIC", postgres.url())
    run_page("postgresql.md", tmp_path)
