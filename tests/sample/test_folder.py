"""The hospital as files: what is written is what was drawn, and a failure leaves nothing behind."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path

import pytest

from tclose.errors import DataError, UsageError
from tclose.hierarchy import arx
from tclose.policy.load import load_policy
from tclose.sample import (
    HOSPITAL_POLICY,
    HOSPITAL_SCHEMA,
    diagnosis_chains,
    folder,
    hospital,
    write_hospital,
)


def test_the_csv_file_holds_the_table(tmp_path: Path) -> None:
    path, _, _ = write_hospital(tmp_path / "new" / "folder", rows=500, seed=5)
    with path.open(newline="", encoding="utf-8") as file:
        header, *lines = csv.reader(file)
    rows = zip(*hospital(500, seed=5).to_pydict().values(), strict=True)
    assert header == HOSPITAL_SCHEMA.names
    assert lines == [["" if value is None else str(value) for value in row] for row in rows]


def test_the_tree_is_written_headerless_with_semicolons(tmp_path: Path) -> None:
    _, _, path = write_hospital(tmp_path, rows=1)
    with path.open(newline="", encoding="utf-8") as file:
        assert [tuple(line) for line in csv.reader(file, delimiter=";")] == diagnosis_chains()


def test_the_policy_speaks_about_every_column_and_only_those(tmp_path: Path) -> None:
    _, path, tree = write_hospital(tmp_path, rows=1)
    policy = tomllib.loads(path.read_text(encoding="utf-8"))
    assert policy == tomllib.loads(HOSPITAL_POLICY)
    assert set(policy["columns"]) == set(HOSPITAL_SCHEMA.names)
    assert policy["columns"]["diagnosis"]["hierarchy"] == tree.name


def test_the_policy_and_the_tree_are_accepted_by_the_rooms_that_read_them(tmp_path: Path) -> None:
    _, path, tree = write_hospital(tmp_path, rows=1)
    assert load_policy(path).k == 5
    assert arx.read(tree, column="diagnosis").leaves


def test_equal_requests_give_equal_bytes(tmp_path: Path) -> None:
    first, second = (write_hospital(tmp_path / name, rows=300) for name in ("a", "b"))
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_a_failure_keeps_the_old_file_and_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _, _ = write_hospital(tmp_path, rows=10)
    before, names = path.read_bytes(), sorted(tmp_path.iterdir())

    def failing(rows: int, seed: int) -> object:
        yield from hospital(5).to_batches()
        raise OSError("disk full")

    monkeypatch.setattr(folder, "hospital_blocks", failing)
    with pytest.raises(DataError, match="cannot be written"):
        write_hospital(tmp_path, rows=20)
    assert path.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == names


def test_an_impossible_request_makes_no_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        write_hospital(tmp_path / "never", rows=-1)
    assert not (tmp_path / "never").exists()
