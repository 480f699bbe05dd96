"""The diseases of the made-up hospital: their tree, and who tends to have them.

The numbers are invented so that the table behaves as hospital tables do: old hearts, young
mothers, industrial lungs, a few diseases so rare that they point at one person. They are no
epidemiology and must not be quoted as such.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

AGE_EDGES = (0, 5, 15, 25, 35, 45, 55, 65, 75, 85, 95, 110)
"""Where the age bands begin, in years, and where the last one ends."""

SEXES = ("female", "male", "unspecified")

REGIONS = ("Coast", "Capital", "Ironvale", "Southmoor", "Lakes", "Highlands")
"""Ironvale is industrial, Southmoor is poor."""

ETHNICITIES = ("Norran", "Ostari", "Velish", "Marun", "Hesk", "Tasqi")
"""Invented peoples: no disease is pinned on a real one. The Tasqi are very few."""

# How the risk runs over the eleven age bands.
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
    """One leaf of the tree: how common it is, in whom, how long it keeps them, what it costs."""

    name: str
    weight: float
    ages: str
    female: float
    male: float
    days: float
    price: int


_TREE: dict[str, dict[str, tuple[Disease, ...]]] = {
    "circulation and breathing": {
        "heart disease": (
            Disease("heart attack", 3.0, "old", 0.6, 1.2, 6, 9_500),
            Disease("heart failure", 4.5, "old", 1.0, 1.0, 8, 6_200),
            Disease("atrial fibrillation", 3.0, "old", 0.9, 1.1, 3, 3_800),
        ),
        "vascular disease": (
            Disease("stroke", 3.0, "old", 1.0, 1.1, 10, 9_800),
            Disease("high blood pressure", 3.5, "middle", 1.0, 1.1, 3, 1_900),
            Disease("deep vein thrombosis", 1.2, "middle", 1.1, 0.9, 4, 2_700),
        ),
        "lung disease": (
            Disease("asthma", 2.5, "child", 1.0, 1.1, 3, 1_700),
            Disease("chronic bronchitis", 3.0, "old", 0.8, 1.2, 6, 3_300),
            Disease("lung cancer", 1.5, "old", 0.7, 1.3, 9, 12_500),
            Disease("silicosis", 0.05, "old", 0.1, 2.0, 8, 5_400),
        ),
    },
    "infection": {
        "respiratory infection": (
            Disease("pneumonia", 4.5, "frail", 0.9, 1.1, 7, 4_100),
            Disease("influenza", 2.5, "frail", 1.0, 1.0, 4, 2_000),
            Disease("tuberculosis", 0.25, "any", 0.7, 1.3, 16, 8_700),
        ),
        "general infection": (
            Disease("gastroenteritis", 3.0, "child", 1.0, 1.0, 3, 1_400),
            Disease("sepsis", 1.8, "frail", 0.9, 1.1, 11, 13_900),
            Disease("hepatitis B", 0.4, "young", 0.8, 1.2, 5, 3_600),
            Disease("HIV infection", 0.3, "young", 0.5, 1.5, 7, 7_200),
        ),
    },
    "digestion and metabolism": {
        "metabolic disease": (
            Disease("type 1 diabetes", 1.0, "young", 1.0, 1.0, 4, 2_400),
            Disease("type 2 diabetes", 4.5, "middle", 0.9, 1.1, 5, 2_900),
            Disease("thyroid disease", 1.3, "middle", 1.8, 0.4, 3, 3_100),
            Disease("Wilson disease", 0.012, "young", 1.0, 1.0, 6, 6_900),
        ),
        "digestive disease": (
            Disease("appendicitis", 2.6, "young", 0.9, 1.1, 3, 3_900),
            Disease("gallstones", 3.0, "middle", 1.4, 0.7, 3, 4_000),
            Disease("stomach ulcer", 1.6, "middle", 0.8, 1.2, 5, 3_400),
            Disease("colon cancer", 1.8, "old", 0.9, 1.1, 10, 13_200),
        ),
    },
    "mind, nerves and movement": {
        "mental illness": (
            Disease("depression", 3.2, "young", 1.3, 0.7, 18, 5_100),
            Disease("schizophrenia", 1.0, "young", 0.8, 1.2, 24, 6_800),
            Disease("alcohol dependence", 1.8, "middle", 0.5, 1.5, 9, 2_600),
        ),
        "nervous disease": (
            Disease("epilepsy", 1.4, "child", 1.0, 1.0, 4, 2_800),
            Disease("migraine", 1.2, "young", 1.5, 0.5, 2, 1_100),
            Disease("Parkinson disease", 0.9, "old", 0.8, 1.2, 9, 5_000),
            Disease("motor neurone disease", 0.03, "old", 0.9, 1.1, 12, 8_200),
            Disease("Creutzfeldt-Jakob disease", 0.008, "old", 1.0, 1.0, 21, 15_800),
        ),
        "bone and joint disease": (
            Disease("hip fracture", 2.6, "old", 1.4, 0.6, 11, 10_400),
            Disease("osteoarthritis", 3.2, "old", 1.2, 0.9, 6, 8_900),
            Disease("rheumatoid arthritis", 0.9, "middle", 1.5, 0.5, 6, 4_400),
        ),
    },
    "birth, kidneys and glands": {
        "pregnancy and birth": (
            Disease("normal delivery", 9.0, "fertile", 1.0, 0.0, 3, 2_500),
            Disease("caesarean delivery", 3.5, "fertile", 1.0, 0.0, 5, 4_800),
            Disease("miscarriage", 1.2, "fertile", 1.0, 0.0, 1, 1_300),
        ),
        "kidney and gland disease": (
            Disease("kidney stones", 2.0, "middle", 0.7, 1.3, 2, 2_300),
            Disease("kidney failure", 1.8, "old", 0.9, 1.1, 9, 8_000),
            Disease("prostate enlargement", 1.7, "old", 0.0, 2.0, 4, 3_700),
            Disease("prostate cancer", 1.2, "old", 0.0, 2.0, 6, 9_100),
            Disease("breast cancer", 2.0, "middle", 2.0, 0.02, 5, 9_900),
        ),
    },
}

# What a region or a people adds to the risk of a disease or of a whole group of diseases.
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

DISEASES: tuple[Disease, ...] = tuple(
    disease for groups in _TREE.values() for leaves in groups.values() for disease in leaves
)


def diagnosis_chains() -> list[tuple[str, ...]]:
    """The tree of diagnoses, one chain per leaf: diagnosis, group, chapter, root.

    >>> diagnosis_chains()[0]
    ('heart attack', 'heart disease', 'circulation and breathing', '*')
    """
    return [
        (disease.name, group, chapter, "*")
        for chapter, groups in _TREE.items()
        for group, leaves in groups.items()
        for disease in leaves
    ]


def risk_table() -> NDArray[np.float64]:
    """The weight of every disease, by age band, sex, region and ethnicity, in that order of axes.

    Someone of unspecified sex gets the smaller of the two sexes' risks, so the diagnosis never
    betrays what the column leaves unsaid.

    >>> risk_table().shape == (11, 3, 6, 6, len(DISEASES))
    True
    """
    weight = np.array([disease.weight for disease in DISEASES])
    age = np.array([_RISK_BY_AGE[disease.ages] for disease in DISEASES]).T
    sex = np.array([(d.female, d.male, min(d.female, d.male)) for d in DISEASES]).T
    region = np.array([_factors(_RISK_BY_REGION.get(name, {})) for name in REGIONS])
    people = np.array([_factors(_RISK_BY_ETHNICITY.get(name, {})) for name in ETHNICITIES])
    risk: NDArray[np.float64] = (
        weight
        * age[:, None, None, None, :]
        * sex[None, :, None, None, :]
        * region[None, None, :, None, :]
        * people[None, None, None, :, :]
    )
    return risk


def _factors(added: dict[str, float]) -> list[float]:
    return [added.get(leaf, 1.0) * added.get(group, 1.0) for leaf, group, *_ in diagnosis_chains()]
