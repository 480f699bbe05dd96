"""A hospital's export as stewards get it: record numbers, names, codes, notes, gaps, odd dates."""

from __future__ import annotations

import random
from pathlib import Path

import pandas as pd
import pytest

FIRST = ["Ann", "Bob", "Carl", "Dora", "Emil", "Fay", "Gus", "Hanna", "Ivo", "June", "Karl", "Lea"]
LAST = ["Abel", "Bauer", "Cole", "Dietz", "Ernst", "Fox", "Gold", "Haas", "Iten", "Jung", "Kern"]
CODES = ["J45.901", "J44.1", "I10", "E11.9", "E11.65", "F32.9", "C50.911", "K21.0", "M54.5"]
NOTES = [
    "patient feels better after two weeks of rest",
    "asked for a second opinion, will call again",
    "lives alone, daughter visits on most weekends",
    "reachable under 0171 555 {0:04d} in the evening only",
]


def make_messy(rows: int, seed: int = 7) -> pd.DataFrame:
    """Made-up patients; equal seeds, equal tables."""
    draw = random.Random(seed)
    table = []
    for row in range(rows):
        year, month, day = draw.randint(1930, 2005), draw.randint(1, 12), draw.randint(1, 28)
        table.append(
            {
                "MRN": f"{10_000_000 + 37 * row}",
                "patient_name": f"{draw.choice(FIRST)} {draw.choice(LAST)}",
                "dob": f"{month:02d}/{day:02d}/{year}",
                "zip": f"{draw.choice([1001, 1002, 2139, 2140, 90210, 94103]):05d}",
                "sex": draw.choice(["F", "M", "F", "M", "f", ""]),
                "admitted": f"2023-{draw.randint(1, 12):02d}-{draw.randint(1, 28):02d} 08:30",
                "primary_dx": draw.choice(CODES),
                "cost": f"{draw.lognormvariate(8, 1):.2f}",
                "notes": draw.choice(NOTES).format(draw.randint(0, 9999)),
                "deceased": draw.choice(["N", "N", "N", "Y", "?"]),
            }
        )
    return pd.DataFrame(table)


@pytest.fixture(scope="session")
def messy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two thousand of them as a CSV file."""
    path = tmp_path_factory.mktemp("messy") / "hospital.csv"
    make_messy(2_000).to_csv(path, index=False)
    return path
