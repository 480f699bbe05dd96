"""The tables that several of the papers share, and the distance of each class by its label."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import tclose

Rules = Mapping[str, Any]
Distances = dict[tuple[str, ...], Fraction | None]

DISEASES = {
    "respiratory": {
        "respiratory infection": ["flu", "pneumonia", "bronchitis"],
        "vascular lung": ["pulmonary edema", "pulmonary embolism"],
    },
    "digestive": {
        "stomach": ["gastric ulcer", "stomach cancer", "gastritis"],
        "colon": ["colitis", "colon cancer"],
    },
}


@pytest.fixture
def diseases() -> dict[str, Any]:
    """Figure 1 of Li 2007: a tree of height 3 over ten diseases."""
    return DISEASES


@pytest.fixture
def table_4() -> pa.Table:
    """Li 2007, Table 4: diverse by every count, and yet the first class gives itself away."""
    return pa.table(
        {
            "zip": ["476**"] * 3 + ["4790*"] * 3 + ["476**"] * 3,
            "age": ["2*"] * 3 + ["≥ 40"] * 3 + ["3*"] * 3,
            "salary": ["3K", "4K", "5K", "6K", "11K", "8K", "7K", "9K", "10K"],
            "disease": [
                *("gastric ulcer", "gastritis", "stomach cancer"),
                *("gastritis", "flu", "bronchitis"),
                *("bronchitis", "pneumonia", "stomach cancer"),
            ],
        }
    )


@pytest.fixture
def table_5() -> pa.Table:
    """Li 2007, Table 5: the same nine people, grouped so that no class stands out."""
    return pa.table(
        {
            "zip": ["4767*"] * 3 + ["4790*"] * 3 + ["4760*"] * 3,
            "age": ["≤ 40"] * 3 + ["≥ 40"] * 3 + ["≤ 40"] * 3,
            "salary": ["3K", "5K", "9K", "6K", "11K", "8K", "4K", "7K", "10K"],
            "disease": [
                *("gastric ulcer", "stomach cancer", "pneumonia"),
                *("gastritis", "flu", "bronchitis"),
                *("gastritis", "bronchitis", "stomach cancer"),
            ],
        }
    )


@pytest.fixture
def patients() -> dict[str, Any]:
    """What Li 2007 says about the columns of Tables 4 and 5."""
    return {
        "columns": {
            "zip": "quasi",
            "age": "quasi",
            "salary": {"role": "sensitive", "distance": "ordered"},
            "disease": {
                "role": "sensitive",
                "distance": "hierarchical",
                "hierarchy": {"groups": DISEASES},
            },
        }
    }


@pytest.fixture
def merit_points() -> pa.Table:
    """The tutorial's Table 4: ten projects in four classes."""
    return pa.table(
        {
            "project": ["E**"] * 3 + ["U**"] + ["G**"] * 4 + ["R**"] * 2,
            "merit": [1, 4, 2, 3, 3, 4, 3, 1, 4, 3],
        }
    )


@pytest.fixture
def distances() -> Callable[[pa.Table, Rules, str], Distances]:
    """Explains every class of a table and files its distance under its quasi-identifiers."""

    def of(table: pa.Table, rules: Rules, attribute: str) -> Distances:
        told = [
            tclose.explain(table, rules, class_number=number, attribute=attribute)
            for number in range(1, tclose.audit(table, rules).classes + 1)
        ]
        return {tuple(why.label.values()): why.exact for why in told}

    return of
