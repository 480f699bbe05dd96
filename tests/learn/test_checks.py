"""The transformer keeps scikit-learn's rules, as scikit-learn itself checks them."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from tclose.learn import Anonymizer

pytestmark = pytest.mark.slow

NUMBERS = [
    Anonymizer(recoding="mean"),
    Anonymizer(recoding="median", outside="cover", k=3, target="label", t=0.5),
]
TEXT = Anonymizer()
SUBTRACTS = "the check subtracts two outputs, and text cannot be subtracted"
COMPARES = {
    "check_estimators_pickle": SUBTRACTS,
    "check_fit_idempotent": SUBTRACTS,
    "check_methods_sample_order_invariance": SUBTRACTS,
    "check_methods_subset_invariance": SUBTRACTS,
    "check_pipeline_consistency": SUBTRACTS,
    "check_transformer_data_not_an_array": SUBTRACTS,
    "check_transformer_general": SUBTRACTS,
}
"""What these check holds for text as well: see `test_rows.py`, where it is compared as text."""


def expected(estimator: BaseEstimator) -> dict[str, str]:
    return COMPARES if estimator.recoding is None else {}


@parametrize_with_checks([*NUMBERS, TEXT], expected_failed_checks=expected)
def test_a_check_of_every_estimator_passes(estimator: Any, check: Any) -> None:
    check(estimator)


NAMES = [
    "check_dataframe_column_names_consistency",
    "check_get_feature_names_out_error",
    "check_global_output_transform_pandas",
    "check_global_set_output_transform_polars",
    "check_inplace_ensure_writeable",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("estimator", [NUMBERS[0], TEXT], ids=["numbers", "text"])
def test_a_check_of_names_and_containers_passes(name: str, estimator: Any) -> None:
    with warnings.catch_warnings():
        # These checks fit arrays and transform frames, and the other way round, on purpose.
        warnings.filterwarnings("ignore", message="X (has|does not have valid) feature names")
        getattr(estimator_checks, name)("Anonymizer", clone(estimator))
