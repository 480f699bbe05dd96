"""The compiled rules twice: as they are, and laxer by what rounding may have cost.

What the rules accept is kept, and what the laxer ones refuse is broken. In between are classes so
near a threshold that logarithms or large numbers, rounded, do not decide; the requirements do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.search.layout import refer_to_counts, rule_arrays
from tclose.search.problem import Problem
from tclose.search.rules import BAND, CLEAR, EMD, ENTROPY, GAIN, JS, KL, LIMIT, MARGIN, SHARE

Ints = NDArray[np.int64]


class Rulebook:
    """`strict` and `lenient` rules with a reference; no lenient ones where all is exact."""

    def __init__(self, problem: Problem, *, laxer: bool) -> None:
        promise = problem.promise
        self.rules = tuple(rule for rule in promise.rules if not rule.need)
        """Closeness to a superset is for the requirements to judge."""
        self.strict = rule_arrays(promise, self.rules, problem.rows)
        twice = self.rules if laxer and self._rounds(problem) else ()
        self.lenient = rule_arrays(promise, twice, problem.rows)

    def _rounds(self, problem: Problem) -> bool:
        """Whether a rule is decided by rounded numbers."""
        head = self.strict.head
        kinds = [rule.kind for rule in self.rules]
        whole = [kind in (EMD, SHARE, GAIN) for kind in kinds]
        beyond = [
            exact and int(line[LIMIT]) < problem.rows
            for exact, line in zip(whole, head, strict=True)
        ]
        return any(kind in (ENTROPY, BAND, KL, JS) for kind in kinds) or any(beyond)

    def refer(self, count: Ints) -> None:
        """Makes released rows (by slot) what classes are compared with."""
        self.strict.count[:-1] = count
        refer_to_counts(self.strict, self.rules)
        if not len(self.lenient.head):
            return
        self.lenient.count[:-1] = count
        refer_to_counts(self.lenient, self.rules)
        self.lenient.bound[:] = self.strict.bound * np.array([[1 - 3 * CLEAR], [1 + 3 * CLEAR]])
        for at, rule in enumerate(self.rules):
            self.lenient.real[at] = _laxer(rule.kind, float(self.strict.real[at]))


def _laxer(kind: int, real: float) -> float:
    if kind == ENTROPY:
        return real - 3 * MARGIN
    if kind in (KL, JS):
        return real + 3 * MARGIN
    return real * (1 + 3 * CLEAR) + 3 * CLEAR
