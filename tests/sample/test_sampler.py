"""The sampler draws in proportion to the weights, and never what weighs nothing."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tclose.sample.hospital import Sampler

weight = st.sampled_from([0.0, 0.001, 1.0, 3.0])
weights = st.integers(1, 6).flatmap(
    lambda width: st.lists(
        st.lists(weight, min_size=width, max_size=width).filter(any), min_size=1, max_size=5
    )
)


@given(weights, st.integers(0, 2**32))
def test_what_weighs_nothing_is_never_drawn(table: list[list[float]], seed: int) -> None:
    condition = np.arange(500, dtype=np.int64) % len(table)
    drawn = Sampler.from_weights(table).draw(np.random.default_rng(seed), condition)
    assert np.all(np.asarray(table)[condition, drawn] > 0)


def test_shares_follow_the_weights_of_each_condition() -> None:
    table = np.array([[1, 2, 7], [5, 0, 5]])
    condition = np.repeat(np.array([0, 1]), 100_000)
    drawn = Sampler.from_weights(table).draw(np.random.default_rng(1), condition)
    for row in (0, 1):
        shares = np.bincount(drawn[condition == row], minlength=3) / 100_000
        assert np.allclose(shares, table[row] / 10, atol=0.01)


class _Extremes:
    """A generator that only ever throws the first or the last number."""

    def __init__(self, throw: int) -> None:
        self.throw = throw

    def integers(self, low: int, high: int, size: int, dtype: type) -> np.ndarray:
        return np.full(size, low if self.throw == 0 else high - 1, dtype=dtype)


def test_the_outermost_numbers_stay_within_their_condition() -> None:
    sampler = Sampler.from_weights([[0, 1, 0], [1, 1, 0], [0, 0, 2]])
    condition = np.array([0, 1, 2])
    assert sampler.draw(_Extremes(0), condition).tolist() == [1, 0, 2]  # type: ignore[arg-type]
    assert sampler.draw(_Extremes(1), condition).tolist() == [1, 1, 2]  # type: ignore[arg-type]
