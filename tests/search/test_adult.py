"""The Adult census table: losses that must not get worse, with room for slower machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tclose.data.binding import bind
from tclose.data.opening import open_source
from tclose.policy.model import Policy
from tclose.search import Budget, SearchProblem, method_named, problem_of

TREES = ["workclass", "education", "native-country", "marital-status", "race", "sex"]


@pytest.fixture(scope="module")
def adult(adult_dir: Path) -> Any:
    """Occupation sensitive, seven quasi-identifiers, k = 5."""

    def made(distance: str, t: str) -> SearchProblem:
        def tree(name: str) -> dict[str, str]:
            return {"file": str(adult_dir / f"adult_hierarchy_{name}.csv")}

        columns: dict[str, Any] = {"age": "quasi", "salary-class": "insensitive"}
        columns |= {name: {"role": "quasi", "hierarchy": tree(name)} for name in TREES}
        columns["occupation"] = {
            "role": "sensitive", "t": t, "distance": distance, "hierarchy": tree("occupation"),
        }  # fmt: skip
        policy = Policy.model_validate({"k": 5, "columns": columns})
        return problem_of(bind(policy, open_source(str(adult_dir / "adult.csv"))))

    return made


@pytest.mark.parametrize(
    ("distance", "t", "most"), [("equal", "0.2", 0.56), ("hierarchical", "0.2", 0.43)]
)
def test_strict_cuts_on_adult(adult: Any, distance: str, t: str, most: float) -> None:
    outcome = method_named("mondrian").run(adult(distance, t), Budget())
    assert outcome.loss < most


@pytest.mark.slow
def test_the_hybrid_search_beats_strict_cuts_on_adult(adult: Any) -> None:
    problem = adult("equal", "0.2")
    strict = method_named("mondrian").run(problem, Budget())
    outcome = method_named("hybrid").run(problem, Budget(effort=1.5))
    assert outcome.loss < 0.9 * strict.loss
