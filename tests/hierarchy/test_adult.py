"""The hierarchies of the Adult census table, as the field's tools use them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tclose.hierarchy.arx import read, write

LEVELS = {
    "age": 5,
    "education": 4,
    "marital-status": 3,
    "native-country": 3,
    "occupation": 3,
    "race": 2,
    "salary-class": 2,
    "sex": 2,
    "workclass": 3,
}


@pytest.mark.parametrize("column", LEVELS)
def test_adult_hierarchies_hold_every_value_and_every_cell(
    column: str, adult_dir: Path, tmp_path: Path
) -> None:
    path = adult_dir / f"adult_hierarchy_{column}.csv"
    tree = read(path, column)
    assert tree.levels == LEVELS[column]
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.reader(stream, delimiter=";"):
            assert [tree.generalize(row[0], level) for level in range(tree.levels)] == row
    with (adult_dir / "adult.csv").open(encoding="utf-8", newline="") as stream:
        values = {row[column] for row in csv.DictReader(stream, delimiter=";")}
    assert values <= set(tree.leaves)
    write(tree, tmp_path / "again.csv")
    assert read(tmp_path / "again.csv", column) == tree
