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


VORNAMEN = ["Anna", "Bernd", "Clara", "Dieter", "Gerda", "Jörg", "Käthe", "Lutz", "Olga", "Paul"]
NACHNAMEN = ["Abendroth", "Bäcker", "Dröge", "Eberle", "Gärtner", "Hölzl", "Jäger", "Köhler"]
ICD_GM = ["I10.90", "E11.9", "E11.72", "J44.19", "J45.0", "F32.1", "C50.9", "B24", "M54.5"]
BEFUNDE = [
    "V.a. Pneumonie, Röntgen unauffällig, Kontrolle {2}",
    "Pat. wohnt allein, Tochter erreichbar unter 0171 {0}",
    "bitte Hausarzt Dr. {1} informieren und Labor wiederholen",
    "siehe Arztbrief vom {2}",
]


def make_klinik(rows: int, seed: int = 3) -> pd.DataFrame:
    """Made-up patients of a German export: decimal commas, odd dates, postcodes of any length."""
    draw = random.Random(seed)
    postcodes = [f"{draw.randint(1001, 99998):05d}" for _ in range(90)]
    postcodes += ["8001", "1010", "A-1010", "CH-3011"]
    table = []
    for row in range(rows):
        year, month, day = draw.randint(1925, 2015), draw.randint(1, 12), draw.randint(1, 28)
        odd = [f"{year}-{month:02d}-{day:02d}", f"{day}.{month}.{year % 100:02d}", "00.00.0000", ""]
        born = f"{day:02d}.{month:02d}.{year}" if draw.random() < 0.96 else draw.choice(odd)
        name = f"{draw.choice(NACHNAMEN)}, {draw.choice(VORNAMEN)}"
        phone = draw.randint(1_000_000, 9_999_999)
        cost = f"{draw.lognormvariate(8, 1):,.2f}".translate(str.maketrans(",.", ".,"))
        table.append(
            {
                "Fallnummer": f"F{2_023_000_000 + 7 * row}",
                "Patient": name,
                "geburtsdatum": born,
                "plz": draw.choice(postcodes),
                "Geschlecht": draw.choice(["m", "w", "M", " w", "d", ""]),
                "Größe": str(draw.randint(145, 200)),
                "Aufnahmedatum": f"{day:02d}.{month:02d}.2023 {draw.randint(0, 23):02d}:30",
                "Hauptdiagnose": draw.choice(ICD_GM),
                "Nebendiagnosen": ",".join(draw.choices(ICD_GM, k=draw.randint(0, 3))),
                "befund": draw.choice(BEFUNDE).format(phone, name, f"{day}.{month}.2023"),
                "Kosten (€)": cost,
                "HbA1c": draw.choice(["-9", f"{draw.gauss(6, 1):.1f}".replace(".", ",")]),
                "Verstorben": draw.choice(["nein"] * 9 + ["ja"]),
                "Tel.": f"0{draw.randint(150, 179)}/{phone}" if draw.random() < 0.7 else "",
            }
        )
    return pd.DataFrame(table)


@pytest.fixture(scope="session")
def klinik(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fifteen hundred of them as Windows writes CSV files there."""
    path = tmp_path_factory.mktemp("klinik") / "klinik.csv"
    make_klinik(1_500).to_csv(path, index=False, sep=";", encoding="cp1252")
    return path


@pytest.fixture(scope="session")
def messy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two thousand of them as a CSV file."""
    path = tmp_path_factory.mktemp("messy") / "hospital.csv"
    make_messy(2_000).to_csv(path, index=False)
    return path
