"""Roles and promises by parameters or by a policy; what does not fit is a ValueError."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tclose
from tclose.learn import Anonymizer

X = np.array([[21, 1, 0], [22, 2, 1], [23, 3, 0], [44, 1, 1], [45, 2, 0], [46, 3, 1]])


def roles(model: Anonymizer) -> dict[str, str]:
    return {name: column.role for name, column in model.policy_.columns.items()}


def test_without_a_word_all_columns_are_quasi_identifiers_and_k_is_5() -> None:
    model = Anonymizer().fit(X)
    assert set(roles(model).values()) == {"quasi"} and model.policy_.k == 5


def test_columns_go_by_name_or_by_number() -> None:
    by_number = Anonymizer(quasi=0, sensitive=[-1], insensitive=[1], k=3, t="1/2").fit(X)
    assert roles(by_number) == {"x2": "sensitive", "x1": "insensitive", "x0": "quasi"}
    assert str(by_number.policy_.columns["x2"].t) == "1/2"
    frame = pd.DataFrame(X, columns=list("abc"))
    assert roles(Anonymizer(quasi=["a", "b"], sensitive="c", k=3, t=1).fit(frame)) == {
        "c": "sensitive",
        "a": "quasi",
        "b": "quasi",
    }


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"quasi": "x0"}, "has no role"),
        ({"quasi": "x9"}, "no such column"),
        ({"sensitive": 7}, "no such column"),
        ({"quasi": ["x0", "x1", "x2"], "sensitive": "x2"}, "named both"),
        ({"t": 0.2}, "nothing is sensitive"),
        ({"t": 2, "sensitive": "x2"}, "t must lie in"),
        ({"k": 0}, "greater than or equal to 1"),
        ({"target": "x1"}, "X has a column of this name"),
        ({"outside": "drop"}, "refuse or cover"),
        ({"recoding": "modal"}, "release.recoding"),
        ({"method": "mondriaan"}, "did you mean"),
        ({"effort": -1}, "0 or more"),
    ],
)
def test_what_does_not_fit_is_refused_when_fitting(given: dict[str, Any], told: str) -> None:
    model = Anonymizer(**{"k": 3, **given})
    with pytest.raises(ValueError, match=told) as error:
        model.fit(X, X[:, 0])
    assert isinstance(error.value, tclose.UsageError)


POLICY: dict[str, Any] = {
    "k": 2,
    "columns": {"x0": "quasi", "x1": "quasi", "x2": {"role": "sensitive", "t": 1}},
}


def test_a_policy_may_be_a_file_a_dict_or_an_object(tmp_path: Path) -> None:
    (tmp_path / "policy.json").write_text(json.dumps(POLICY))
    given = [POLICY, tclose.Policy.model_validate(POLICY), tmp_path / "policy.json"]
    results = [Anonymizer(one).fit_transform(X).tolist() for one in given]
    assert results[0] == results[1] == results[2]


def test_k_and_t_take_the_place_of_what_the_policy_says() -> None:
    model = Anonymizer(POLICY, k=np.int64(3), t=np.float64(0.25)).fit(X)
    assert model.policy_.k == 3 and str(model.policy_.columns["x2"].t) == "1/4"
    assert POLICY["k"] == 2 and POLICY["columns"]["x2"]["t"] == 1


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"release": {"rows": "shuffle"}}, "keeps the order"),
        ({"release": {"identifiers": "pseudonym"}}, "no key"),
        ({"release": {"leftover": "hide"}}, "does not change sensitive values"),
        ({"columns": {**POLICY["columns"], "x1": "subject"}}, "no key for the pseudonyms"),
        ({"release": {"recoding": "suppress-cells"}}, "which cells of other rows"),
    ],
)
def test_what_no_transformer_can_do_is_refused(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Anonymizer(POLICY | changed).fit(X)


def test_every_problem_of_a_policy_has_a_line_of_its_own() -> None:
    rules = {"k": 0, "columns": {"x0": "quasi", "x1": "quasi", "x2": {"role": "sensitive", "t": 2}}}
    with pytest.raises(ValueError, match="2 problems") as refused:
        Anonymizer(rules).fit(X)
    with pytest.raises(tclose.errors.PolicyError) as known:
        tclose.audit(pd.DataFrame(X, columns=["x0", "x1", "x2"]), rules)
    lines = str(refused.value).splitlines()
    assert "\\n" not in str(refused.value) and len(lines) > 1
    assert len(lines) == len(str(known.value).splitlines())
    assert (
        pickle.loads(pickle.dumps(refused.value)).what == refused.value.what
    )  # as joblib sends it


def test_rows_may_have_weights() -> None:
    weighted = np.column_stack([X, np.array([1, 1, 1, 1, 1, 9])])
    policy = POLICY | {"columns": {**POLICY["columns"], "x3": "weight"}}
    model = Anonymizer(policy).fit(weighted)
    released = model.transform(weighted)
    assert released[:, 3].tolist() == [1, 1, 1, 1, 1, 9]
    assert model.audit(weighted).holds


def test_a_policy_and_named_columns_are_one_too_many() -> None:
    with pytest.raises(ValueError, match="not both"):
        Anonymizer(POLICY, quasi="x0").fit(X)
    with pytest.raises(ValueError, match="no such sensitive column"):
        Anonymizer(POLICY, target="y").fit(X, X[:, 0])


def test_a_policy_may_promise_closeness_of_the_target() -> None:
    policy = POLICY | {"columns": POLICY["columns"] | {"y": {"role": "sensitive", "t": 0}}}
    y = np.array(list("aababb"))
    model = Anonymizer(policy, target="y").fit(X, y)
    assert model.audit(X, y).holds
    assert model.get_feature_names_out().tolist() == ["x0", "x1", "x2"]


def test_too_few_rows_are_told_as_scikit_learn_tells_them() -> None:
    with pytest.raises(ValueError, match=r"2 sample\(s\).*minimum of 5 is required"):
        Anonymizer().fit(X[:2])
    with pytest.raises(ValueError, match=r"2 sample\(s\).*minimum of 5 is required"):
        Anonymizer().fit(pd.DataFrame(X[:2]))


@pytest.mark.slow
def test_identifiers_are_dropped_or_masked(people: pd.DataFrame, rules: dict[str, Any]) -> None:
    kept = list(people.columns[1:])
    assert Anonymizer(rules).fit(people).get_feature_names_out().tolist() == kept
    assert list(Anonymizer(rules).fit_transform(people).columns) == kept
    masked = Anonymizer({**rules, "release": {"identifiers": "mask"}}).fit_transform(people)
    assert list(masked.columns) == ["name", *kept] and set(masked["name"]) == {"*"}
