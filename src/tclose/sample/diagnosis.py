"""The diseases of the made-up hospital (`diseases.csv`): their tree, and their risks by group.

The numbers are invented so that the table behaves like hospital tables: heart diseases of the old,
births, lung diseases in industrial regions, a few diseases so rare that they point at one person.
They are not epidemiology and must not be quoted as such.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tclose.arrays import Floats

AGE_EDGES = (0, 5, 15, 25, 35, 45, 55, 65, 75, 85, 95, 110)
"""The beginnings of age bands, in years, and the end of the last one."""

SEXES = ("female", "male", "unspecified")

REGIONS = ("Coast", "Capital", "Ironvale", "Southmoor", "Lakes", "Highlands")
"""Ironvale is industrial, Southmoor is poor."""

ETHNICITIES = ("Norran", "Ostari", "Velish", "Marun", "Hesk", "Tasqi")
"""Invented peoples, so that no disease is attributed to a real one. The Tasqi are very few."""

# Relative risk in the eleven age bands.
_RISK_BY_AGE: dict[str, tuple[float, ...]] = {
    "any": (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
    "child": (4, 3, 1, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.8, 0.8),
    "young": (0.1, 1.2, 2.5, 2, 1.5, 1, 0.6, 0.4, 0.2, 0.1, 0.1),
    "fertile": (0, 0, 1.4, 2.6, 1, 0, 0, 0, 0, 0, 0),
    "middle": (0, 0.02, 0.2, 0.6, 1.2, 1.8, 1.8, 1.4, 0.9, 0.5, 0.3),
    "old": (0, 0, 0.05, 0.1, 0.3, 0.8, 1.5, 2.2, 2.8, 3.2, 3.5),
    "frail": (2.5, 0.8, 0.4, 0.4, 0.5, 0.7, 1, 1.5, 2.2, 3, 3),
}


@dataclass(frozen=True)
class Disease:
    """One leaf of the tree: its frequency, risk factors, length of stay in days, and price."""

    chapter: str
    group: str
    name: str
    weight: float
    ages: str
    female: float
    male: float
    days: float
    price: float


def _read_diseases() -> Iterator[Disease]:
    text = Path(__file__).with_name("diseases.csv").read_text(encoding="utf-8")
    for chapter, group, name, weight, ages, *numbers in list(csv.reader(text.splitlines()))[1:]:
        yield Disease(chapter, group, name, float(weight), ages, *map(float, numbers))


DISEASES = tuple(_read_diseases())

# Factors on the risk of a disease, or of a group of diseases, by region and people.
_RISK_BY_REGION: dict[str, dict[str, float]] = {
    "Capital": {"HIV infection": 1.8, "depression": 1.3},
    "Ironvale": {"lung disease": 2.4, "respiratory infection": 1.6, "silicosis": 6.0},
    "Southmoor": {"type 2 diabetes": 2.6, "alcohol dependence": 1.5, "tuberculosis": 2.0},
    "Highlands": {"bone and joint disease": 1.3},
}
_RISK_BY_ETHNICITY: dict[str, dict[str, float]] = {
    "Ostari": {"type 2 diabetes": 1.3, "high blood pressure": 1.2},
    "Velish": {"gallstones": 1.25},
    "Marun": {"hepatitis B": 1.4, "stomach ulcer": 1.2},
    "Hesk": {"asthma": 1.2},
}


def diagnosis_chains() -> list[tuple[str, ...]]:
    """Returns the tree of diagnoses, one chain per leaf: diagnosis, group, chapter, root.

    >>> diagnosis_chains()[0]
    ('heart attack', 'heart disease', 'circulation and breathing', '*')
    """
    return [(disease.name, disease.group, disease.chapter, "*") for disease in DISEASES]


def risk_table() -> Floats:
    """Returns the weight of every disease: [age band, sex, region, ethnicity, disease].

    Somebody of unspecified sex gets the smaller of the two sexes' risks, so that the diagnosis
    does not reveal the sex.

    >>> risk_table().shape == (11, 3, 6, 6, len(DISEASES))
    True
    """
    weight = np.array([disease.weight for disease in DISEASES])
    age = np.array([_RISK_BY_AGE[disease.ages] for disease in DISEASES]).T
    sex = np.array([(d.female, d.male, min(d.female, d.male)) for d in DISEASES]).T
    region = np.array([_factors(_RISK_BY_REGION.get(name, {})) for name in REGIONS])
    people = np.array([_factors(_RISK_BY_ETHNICITY.get(name, {})) for name in ETHNICITIES])
    risk: Floats = weight * age[:, None, None, None] * sex[:, None, None] * region[:, None] * people
    return risk


def _factors(added: dict[str, float]) -> list[float]:
    return [added.get(leaf, 1.0) * added.get(group, 1.0) for leaf, group, *_ in diagnosis_chains()]
