"""Merging classes that fail: all that can be mended is, nothing is split, and hurry is obeyed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tclose.search import infeasible, merging, problem_of


@pytest.mark.parametrize("merge", [merging.merge_failing, merging.merge_farthest])
@settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_merging_mends_every_class_and_splits_none_also_in_a_hurry(
    merge: Any, data: st.DataObject, tables: Any, brute: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "LOOKS_BETWEEN_CLOCK", 1)
    monkeypatch.setattr(merging, "MERGES_BETWEEN_CLOCK", 1)
    case = data.draw(tables.close(data.draw(tables.kinds(2, 2)), (6, 40), more=True))
    bound = case.bound()
    problem = problem_of(bound)
    assert not infeasible(problem)
    cells = problem.n_cells
    label = np.array(data.draw(st.lists(st.integers(0, 6), min_size=cells, max_size=cells)))
    label = np.unique(label, return_inverse=True)[1]
    spent: list[int] = []
    after = data.draw(st.integers(0, 5))

    def is_hurried(looks: int) -> bool:
        spent.append(looks)
        return len(spent) > after

    found = merge(label, np.arange(cells), problem.make_coded_table(), is_hurried)
    assert sum(spent) == found.looks and all(few <= 2 for few in spent[after + 1 :])
    assert brute.broken(case, bound, found.label) == [] and found.all_keep
    pairs = set(zip(label.tolist(), found.label.tolist(), strict=True))
    assert len(pairs) == label.max() + 1, "classes are merged, never split"
    if not brute.broken(case, bound, label):
        assert found.label.max() == label.max(), "what keeps the constraints is left alone"
