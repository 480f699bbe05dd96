"""Incognito (LeFevre 2005): all minimal full-domain generalizations that keep the promise.

Whatever keeps the promise with all quasi-identifiers keeps it with some of them, the others
generalized to everything, if merging keeps it. So the lattices of small subsets come first. A node
of a larger one is a candidate only if all its parts with one column less survived (*join* and
*prune*), and once a node holds, all that generalize it hold without being judged. Of a promise that
merging can break all nodes are judged one by one, if there are not too many.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from tclose.errors import UsageError
from tclose.search.full_domain.lattice import Levels, is_below
from tclose.search.full_domain.rollup import Domain, nothing_found
from tclose.search.outcome import Budget, Clock, Outcome
from tclose.search.problem import SearchProblem

MOST_JUDGED = 1_000_000
"""Nodes that are judged one by one at most, where nothing can be inferred."""

Columns = tuple[int, ...]


@dataclass(frozen=True)
class Minimal:
    """Minimal nodes: they keep the promise, and nothing finer does. In ascending order."""

    nodes: tuple[Levels, ...]
    finished: bool
    """Whether these are all; where time was up before, none is known."""
    judged: int
    """How many nodes were judged."""


def minimal_nodes(problem: SearchProblem, budget: Budget) -> Minimal:
    """All minimal full-domain generalizations that keep the promise; no row is left out."""
    return _minimal(Domain(problem, Clock(budget), suppression=False))


def incognito(problem: SearchProblem, budget: Budget) -> Outcome:
    """The minimal node with the least loss; the highest node where time was up before."""
    domain = Domain(problem, Clock(budget), suppression=False)
    found = _minimal(domain)
    nodes = found.nodes
    if not found.finished and domain.look(domain.lattice.high).feasible:
        nodes = (domain.lattice.high,)
    if not nodes:
        raise nothing_found(finished=found.finished)
    value, best = min((domain.value(node, domain.look(node)), node) for node in nodes)
    return domain.outcome(best, "incognito", bound=value if found.finished else None, value=value)


def _minimal(domain: Domain) -> Minimal:
    monotone = domain.problem.monotone
    holding = _survivors(domain) if monotone else _one_by_one(domain)
    if holding is None:
        return Minimal((), False, domain.looks)
    least: list[Levels] = []
    for node in sorted(holding, key=lambda node: (sum(node), node)):
        if monotone:
            is_minimal = holding.isdisjoint(domain.lattice.predecessors(node))
        else:
            is_minimal = not any(is_below(finer, node) for finer in least)
        if is_minimal:
            least.append(node)
    return Minimal(tuple(sorted(least)), True, domain.looks)


def _survivors(domain: Domain) -> set[Levels] | None:
    """All nodes that hold, subset by subset; None where time was up."""
    every = tuple(range(len(domain.ladders)))
    survived: dict[Columns, set[Levels]] = {(): {()}}
    known: dict[Levels, bool] = {}
    for size in range(1, len(every) + 1):
        following = {}
        for columns in itertools.combinations(every, size):
            held = _holding(domain, columns, _candidates(domain, columns, survived), known)
            if held is None:
                return None
            following[columns] = held
        survived = following
    return survived[every]


def _candidates(
    domain: Domain, columns: Columns, survived: dict[Columns, set[Levels]]
) -> Iterator[Levels]:
    """Levels of some columns whose parts with one column less all survived."""
    last = columns[-1]
    parts = [columns[:at] + columns[at + 1 :] for at in range(len(columns) - 1)]
    low, high = domain.lattice.low[last], domain.lattice.high[last]
    for start in survived[columns[:-1]]:
        for level in range(low, high + 1):
            node = (*start, level)
            if all(node[:at] + node[at + 1 :] in survived[part] for at, part in enumerate(parts)):
                yield node


def _holding(
    domain: Domain, columns: Columns, candidates: Iterator[Levels], known: dict[Levels, bool]
) -> set[Levels] | None:
    """The candidates that keep the promise, from the lowest up; None if time was up. A subset of
    columns shares nodes with its own subsets where a column is generalized to everything: those are
    `known`.
    """
    held: set[Levels] = set()
    for node in sorted(candidates, key=lambda node: (sum(node), node)):
        finer = ((*node[:at], level - 1, *node[at + 1 :]) for at, level in enumerate(node) if level)
        if not held.isdisjoint(finer):
            held.add(node)
            continue
        if domain.clock.is_over("judging subsets of the columns"):
            return None
        levels = dict(zip(columns, node, strict=True))  # the others generalized to everything
        whole = tuple(levels.get(at, ladder.levels - 1) for at, ladder in enumerate(domain.ladders))
        if whole not in known:
            known[whole] = domain.look(whole).feasible
        if known[whole]:
            held.add(node)
    return held


def _one_by_one(domain: Domain) -> set[Levels] | None:
    if domain.lattice.size > MOST_JUDGED:
        raise UsageError(
            f"merging can break this promise, so all {domain.lattice.size:,} nodes would have to "
            "be judged",
            where="search.method",
            hint='use "optimal", which says how far from optimal it may be',
        )
    held = set()
    for node in domain.lattice.nodes():
        if domain.clock.is_over("judging every node"):
            return None
        if domain.look(node).feasible:
            held.add(node)
    return held
