"""Dealing by frequency (Gowda et al. 2021): the commonest value first, in turn to all classes.

The records of one sensitive attribute are stacked by value, the commonest value first, and dealt to
q classes in turn, so every class gets ⌊N_v/q⌋ or ⌈N_v/q⌉ records of each value v. That counts
values and knows no order among them: it suits the equal distance, with an error of at most m /
(2r). For ordered values it is the dealing lemma (`quotas`) in the wrong order; dealt by value, EMD
< 1/r.

**Reconstructed** from the published abstract; the full text was not at hand. Ours are q, the most
classes that are close when dealt like this (with a value for a fragment the bound of Theorem B is
the distance itself), and which of the equal records a class gets: the next along a space-filling
curve, since the published course does not look at quasi-identifiers. Swaps follow, as with all
methods of this kind."""

from __future__ import annotations

import numpy as np

from tclose.search.budget import Budget
from tclose.search.by_construction.construct import Construction, run
from tclose.search.by_construction.emd_bounds import make_emd_bounds
from tclose.search.by_construction.quotas import count_most_classes, deal_rows
from tclose.search.outcome import Outcome
from tclose.search.problem import Problem


def frequency_deal(problem: Problem, budget: Budget) -> Outcome:
    """Records dealt by the frequency of their values."""
    return run("frequency-deal", _build, problem, budget)


def _build(made: Construction) -> None:
    closeness = made.closeness
    place = np.empty(len(closeness.rows), dtype=np.int64)
    place[np.argsort(-closeness.rows, kind="stable")] = np.arange(len(place))
    rows = np.sort(closeness.rows)[::-1].copy()
    bounds = make_emd_bounds(closeness, place, [[np.arange(len(rows))]])
    classes = count_most_classes(rows, bounds, made.k)
    made.fill_from_fragments(f"{len(rows)} values", place, deal_rows(rows, classes), reach=1)
