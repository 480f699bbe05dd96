"""The plan behind a release: its classes, and the cuts or levels that lead to them."""

from __future__ import annotations

import numpy as np

from tclose.data.binding import BoundTable
from tclose.recode.plan.cuts import name_borders
from tclose.recode.plan.hierarchies import hash_fixed_hierarchies
from tclose.recode.plan.model import Plan, PlanNode
from tclose.recode.recoding import Recoding
from tclose.recode.values import Released, merge_equal
from tclose.search import Outcome


def build_plan(bound: BoundTable, outcome: Outcome, recoding: Recoding, seed: int) -> Plan:
    """The plan by which a release can be repeated on other rows."""
    used = np.unique(recoding.label[recoding.label >= 0])
    words = [
        Released(released.column, released.kind, tuple(released.values[at] for at in used.tolist()))
        for released in recoding.released
    ]
    columns, renamed = merge_equal(words)
    local = bound.policy.release.recoding == "local"
    cuts: tuple[PlanNode, ...] = ()
    levels: dict[str, int] | None = None
    if local and outcome.levels is not None:
        levels = recoding.quasi.name_levels(outcome.levels)
    elif local and outcome.cuts is not None:
        cuts = name_borders(outcome.cuts, bound, recoding.quasi, recoding.label, renamed)
    return Plan(
        policy=bound.policy.to_json(),
        method=outcome.method,
        seed=seed,
        uses_sensitive=outcome.uses_sensitive,
        columns=columns,
        cuts=cuts,
        levels=levels,
        hierarchies=hash_fixed_hierarchies(bound),
    )
