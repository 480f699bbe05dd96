"""The transformer among others: pipelines, grids, and frames of every kind."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from tclose.learn import Anonymizer

pytestmark = pytest.mark.slow


def test_frames_come_back_as_what_they_were(
    kind: Any, people: pd.DataFrame, rules: dict[str, Any]
) -> None:
    given = kind(people)
    model = Anonymizer(rules).fit(given)
    released = model.transform(given)
    assert type(released) is type(given)
    assert model.feature_names_in_.tolist() == list(people.columns)
    rows = pd.DataFrame(released.to_pandas() if kind(people) is not people else released)
    expected = Anonymizer(rules).fit(people).transform(people)
    assert rows.reset_index(drop=True).equals(expected.reset_index(drop=True))
    if given is people:
        assert released.index.equals(people.index)
        assert released["illness"].equals(people["illness"])


@pytest.mark.parametrize("asked", ["pandas", "polars"])
@pytest.mark.parametrize("recoding", ["local", "mean"])
def test_any_frame_becomes_the_kind_that_is_asked_for(
    kind: Any, asked: str, recoding: str, people: pd.DataFrame, rules: dict[str, Any]
) -> None:
    model = Anonymizer(rules, recoding=recoding).set_output(transform=asked)
    released = model.fit_transform(kind(people))
    assert isinstance(released, pd.DataFrame if asked == "pandas" else pl.DataFrame)
    numbers = [
        name for name in ("age", "height", "town") if str(released[name].dtype).lower() == "float64"
    ]
    assert numbers == ([] if recoding == "local" else ["age", "height"])


@pytest.mark.parametrize("asked", ["pandas", "polars"])
def test_an_array_becomes_the_frame_that_is_asked_for(asked: str) -> None:
    X = np.array([[21, "a"], [22, "a"], [40, "b"], [41, "b"]], dtype=object)
    released = Anonymizer(k=2).set_output(transform=asked).fit_transform(X)
    assert list(released.columns) == ["x0", "x1"]
    assert released["x0"].to_list() == ["[21, 31]", "[21, 31]", "[32, 41]", "[32, 41]"]
    assert str(released["x1"].dtype).lower() in ("str", "string", "object")


def test_columns_without_names_are_numbered() -> None:
    frame = pd.DataFrame([[21, 1], [22, 1], [40, 1], [41, 2]], index=list("wxyz"))
    model = Anonymizer(k=2).fit(frame)
    assert not hasattr(model, "feature_names_in_")
    released = model.transform(frame)
    assert list(released.columns) == ["x0", "x1"] and list(released.index) == list("wxyz")


def test_a_model_learns_from_central_values() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    way = make_pipeline(
        Anonymizer(k=5, recoding="mean", outside="cover"), LogisticRegression(max_iter=2000)
    )
    assert cross_val_score(way, X, y, cv=3).mean() > 0.8
    trusted = pickle.loads(pickle.dumps(way.fit(X, y)))
    assert (trusted.predict(X) == way.predict(X)).all()


def test_a_model_learns_from_words() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    way = make_pipeline(
        Anonymizer(k=5, outside="cover"),
        OneHotEncoder(handle_unknown="ignore"),
        DecisionTreeClassifier(random_state=1),
    )
    assert cross_val_score(way, X, y, cv=3).mean() > 0.8


def test_some_columns_of_a_table_are_recoded(people: pd.DataFrame) -> None:
    some = Anonymizer(k=5, recoding="mean", target="illness", t=0.5)
    chosen = ColumnTransformer(
        [("anonymous", some, ["age", "height"]), ("same", "passthrough", ["town"])],
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    released = chosen.fit_transform(people, people["illness"])
    assert list(released.columns) == ["age", "height", "town"]
    assert released.groupby(["age", "height"]).size().min() >= 5
    assert released["town"].equals(people["town"])


def test_a_grid_of_promises_is_searched() -> None:
    X, y = load_iris(return_X_y=True)
    way = Pipeline(
        [
            ("anonymous", Anonymizer(recoding="mean", outside="cover", target="kind")),
            ("model", DecisionTreeClassifier(random_state=1)),
        ]
    )
    grid = {"anonymous__k": [3, 12], "anonymous__t": [0.3, 1]}
    search = GridSearchCV(way, grid, cv=2, error_score="raise").fit(X, y)
    best = search.best_estimator_.named_steps["anonymous"]
    assert search.best_params_["anonymous__t"] == 1
    assert best.certificate_.holds and best.certificate_.k >= 3


def test_tclose_does_not_need_scikit_learn() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import tclose\n"
        "try:\n    import tclose.learn\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'tclose[learn]'" in done.stdout
