"""The JSON Schema agrees with the reader: editors accept what the reader accepts."""

from __future__ import annotations

import tomllib
from typing import Any

import jsonschema
import pytest

from tclose.policy.columns import COUNTING, SYNONYMS
from tclose.policy.load import parse_policy, policy_schema
from tclose.sample.folder import HOSPITAL_POLICY

SCHEMA = policy_schema()


def accepted(raw: dict[str, Any]) -> bool:
    return jsonschema.Draft202012Validator(SCHEMA).is_valid(raw)


def column(**promise: Any) -> dict[str, Any]:
    return {"columns": {"zip": "quasi", "s": {"role": "sensitive", **promise}}}


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_example_policy_passes() -> None:
    jsonschema.validate(tomllib.loads(HOSPITAL_POLICY), SCHEMA)


GOOD = {
    "roles by name": {"columns": {"zip": "quasi"}},
    "synonyms by name": {
        "columns": {
            "zip": "quasi",
            **{word: word for word, role in SYNONYMS.items() if role not in COUNTING},
        }
    },
    **{
        f"{word} by name": {"columns": {"zip": "quasi", "c": word}}
        for word, role in SYNONYMS.items()
        if role in COUNTING
    },
    "synonym in full": {"columns": {"zip": {"role": "quasi-identifier"}}},
    "label": column(label="Diagnosis at discharge"),
    "context": {
        "columns": {"zip": "quasi"},
        "context": {
            "recipient": "a university",
            "purpose": "research",
            "controls": ["contract"],
            "threshold": "0.09",
            "justification": "public data",
            "expert": "A. Example",
            "review_date": "2027-10-01",
        },
    },
    "t as number": column(t=0.2),
    "t as fraction": column(t="1/8"),
    "distinct l for short": column(l=3),
    "all kinds of l": column(l={"distinct": 2, "entropy": 1.5, "recursive": {"c": "3/2", "l": 2}}),
    "alpha for short": column(alpha=0.5),
    "alpha of values": column(alpha={"max": "1/2", "values": ["hiv"]}),
    "beta": column(beta=1),
    "delta": column(delta={"max": 1, "base": "2", "absent": "ignore"}),
    "distance by name": column(distance="ordered"),
    "matrix": column(distance={"matrix": "far.csv"}),
    "smoothed": column(distance={"smoothed-js": {"over": "ordered", "bandwidth": 0.3}}),
    "hierarchy file": column(hierarchy="tree.csv", distance="hierarchical"),
    "dates of one form": column(date_format="%d.%m.%Y"),
    "dates of several forms": column(date_format=["%d.%m.%Y", "%m/%d/%Y"]),
    "marks of missing values": column(nulls=["?", -9]),
    "one mark": column(nulls="?"),
    "hierarchy of the package": column(hierarchy={"builtin": "icd10"}),
    "hierarchy built": {"columns": {"zip": {"role": "quasi", "hierarchy": {"prefix": [3, 0]}}}},
    "joint": {**column(), "joint": [{"columns": ["s", "w"], "t": 0.1}]},
    "population": {**column(), "k_map": 3, "presence": {"min": 0, "max": "1/2"}},
}
GOOD["joint"]["columns"]["w"] = "sensitive"  # type: ignore[index]

BAD = {
    "unknown role": {"columns": {"zip": "kwasi"}},
    "unknown key": column(tt=0.2),
    "unknown distance": column(distance="far"),
    "wrong kind of k": {**column(), "k": "many"},
    "no columns": {"k": 3},
    "no reading": {**column(), "readings": []},
    "smoothing of another distance": column(distance={"smoothed-js": {"name": "kl"}}),
    "t in words": column(t="much"),
}


@pytest.mark.parametrize("name", sorted(GOOD))
def test_what_the_reader_takes_the_schema_takes(name: str) -> None:
    assert parse_policy(GOOD[name])[1] == []
    assert accepted(GOOD[name])


@pytest.mark.parametrize("name", sorted(BAD))
def test_what_the_reader_refuses_the_schema_refuses(name: str) -> None:
    assert parse_policy(BAD[name])[1] != []
    assert not accepted(BAD[name])
