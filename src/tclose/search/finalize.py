"""The last word before an outcome: every class judged by the requirements, and mended."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.errors import UsageError
from tclose.search.budget import Clock
from tclose.search.exact_judge import Judge
from tclose.search.merging import merge_marked
from tclose.search.outcome import Cuts, Outcome, Trial, numbered
from tclose.search.problem import Problem
from tclose.search.space_filling_curve import rank_along_curve

Ints = NDArray[np.int64]


def settled(
    problem: Problem,
    label: Ints,
    clock: Clock,
    *,
    method: str,
    uses_sensitive: bool,
    tried: tuple[Trial, ...] = (),
    cuts: Cuts | None = None,
) -> Outcome:
    """An outcome that keeps the promise exactly, whatever the search believed.

    The compiled rules are sound, so there is nothing to mend unless they only guide (persons whose
    rows are in several cells), one of them is wrong, or rows were left out that the promise cannot
    do without.
    """
    clock.tell("judging every class", now=True)
    found = numbered(label)
    mended = mend(problem, found)
    if not np.array_equal(mended, found):
        cuts = None
    loss = problem.loss(mended).overall
    clock.loss = loss
    clock.tell("done", now=True)
    return Outcome(
        mended, loss, method, clock.stopped, (*tried, Trial("result", loss, clock.used)),
        uses_sensitive, cuts,
    )  # fmt: skip


def mend(problem: Problem, label: Ints) -> Ints:
    """The same partition with failing classes merged; as a last resort one class of all rows.

    Each of them with one that is near, all at once, and again while any fails: every round leaves
    fewer classes, so this ends.
    """
    judge, requirements = Judge(problem), problem.constraints.requirements
    broken = judge.failing(label, requirements)
    if not broken.any():
        return label
    kept = np.flatnonzero(label >= 0)
    part, mended = problem.part(kept), label[kept]
    table, curve = part.coded_table(ordered=False), rank_along_curve(part.codes, part.weight)
    result = label.copy()
    while broken.any():
        if len(broken) == 1:
            return _one_class(problem, judge)
        mended = merge_marked(mended, broken, curve, table)
        result[kept] = mended
        broken = judge.failing(result, requirements)
    return result


def _one_class(problem: Problem, judge: Judge) -> Ints:
    whole = np.zeros(problem.cells, dtype=np.int64)
    if judge.failing(whole, problem.constraints.requirements).any():
        raise UsageError(
            "no release was found that keeps the promise: even the whole table as one class breaks "
            "it",
            where="policy",
            hint="see what the whole table attains, and promise no more than that",
        )
    return whole
