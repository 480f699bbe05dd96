"""An amount of work in place of the clock: equal input, policy and seed give equal bytes."""

from pathlib import Path

import pytest

import tclose
from tclose.sample import hospital

pytestmark = pytest.mark.slow

RULES = {
    "k": 4,
    "columns": {
        "name": "identifier",
        "national_id": "identifier",
        "cost": "identifier",
        "birth_date": "quasi",
        "sex": "quasi",
        "postcode": {"role": "quasi", "hierarchy": {"prefix": [2, 1, 0]}},
        "admission_date": "insensitive",
        "ethnicity": "quasi",
        "diagnosis": {"role": "sensitive", "t": 0.4, "distance": "equal"},
        "length_of_stay": {"role": "sensitive", "t": 0.25},
    },
    "release": {"rows": "keep"},
}


def bytes_of(folder: Path, name: str, seed: int, **more: object) -> bytes:
    target = folder / f"{name}.csv"
    release = tclose.anonymize(
        hospital(400), RULES, output=target, effort=0.5, seed=seed, method="hybrid", **more
    )
    assert release.holds and release.outcome is not None and release.outcome.stopped == "budget"
    return target.read_bytes()


@pytest.mark.parametrize("suppression", ["0", "1/20"])
def test_equal_seeds_give_equal_bytes(tmp_path: Path, suppression: str) -> None:
    one = bytes_of(tmp_path, "one", 7, suppression=suppression)
    assert one == bytes_of(tmp_path, "two", 7, suppression=suppression)


def test_another_seed_searches_another_way(tmp_path: Path) -> None:
    assert bytes_of(tmp_path, "one", 7) != bytes_of(tmp_path, "two", 8)


def test_a_policy_may_state_the_effort(tmp_path: Path) -> None:
    stated = RULES | {"search": {"effort": "0.5", "seed": 7, "method": "hybrid"}}
    tclose.anonymize(hospital(400), stated, output=tmp_path / "stated.csv")
    assert (tmp_path / "stated.csv").read_bytes() == bytes_of(tmp_path, "given", 7)
