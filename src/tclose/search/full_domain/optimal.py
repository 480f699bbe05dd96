"""The full-domain generalization with the least loss, proved; or the best so far and a bound.

The lattice is searched box by box: all nodes between a lowest and a highest. The floor of its
lowest node bounds a box, and boxes are opened in the order of their floors, so the least floor that
is still open is a bound for everything that has not been seen.

1. From the lowest node of a box a path climbs by the cheapest steps as long as the floor stays
   under the best loss known, and the node at its end is judged. Where merging keeps the promise and
   no row may be left out, a node that fails takes all finer nodes with it (*predictive tagging*,
   as in Flash, Kohlmayer 2012). A node that holds is a new best, and bisection finds the lowest.
2. Where rows may be left out, failing is not inherited by finer nodes, but rows lost for certain
   are (`mathematics.md` 2.5). Nodes that lose too many so are tagged like above; the rest is
   judged one by one, cheapest first.
3. Every new best is polished by single steps: a greedy dive, as in Lightning (Prasser 2016).

Memory is bounded: a box that must be given up leaves its floor behind, and the bound counts it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator

import numpy as np

from tclose.search.full_domain.lattice import Levels
from tclose.search.full_domain.measures import NodeVerdict
from tclose.search.full_domain.rollup import Domain, Reference, nothing_found
from tclose.search.outcome import Budget, Clock, Outcome, Trial
from tclose.search.problem import SearchProblem

MOST_BOXES = 100_000
MOST_TAGS = 4_096
MOST_KNOWN = 100_000

Box = tuple[float, int, Levels, Levels, bool]
"""The floor, the height of the lowest node, the lowest and the highest node, and whether no node of
the box can be tagged."""


def optimal(
    problem: SearchProblem, budget: Budget, *, reference: Reference = "released"
) -> Outcome:
    """The full-domain generalization with the least loss; "table" is for comparisons only."""
    search = _Search(Domain(problem, Clock(budget), reference=reference))
    search.run()
    search.prefer_finer()
    if search.best is None:
        raise nothing_found(finished=search.finished)
    return search.domain.outcome(
        search.best, "optimal", bound=search.bound, tried=tuple(search.tried), value=search.least
    )


class _Search:
    """One search: the best node so far, open boxes, and nodes below which nothing holds."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.best: Levels | None = None
        self.least = math.inf
        self.tried: list[Trial] = []
        self.finished = False
        self.inherited = domain.problem.monotone and not domain.room
        """Whether a node that fails says that all finer nodes fail."""
        self._open: list[Box] = []
        self._given_up = math.inf
        self._known: dict[Levels, NodeVerdict] = {}
        self._polishing = False
        self._tags = np.zeros((MOST_TAGS, len(domain.ladders)), dtype=np.int64)
        self._tagged = 0

    @property
    def bound(self) -> float:
        """A lower bound on the loss of any release."""
        following = min((box[0] for box in self._open), default=math.inf)
        return min(self.least, self._given_up, following)

    def run(self) -> None:
        """Searches until nothing is left that could be better, or time is up."""
        lattice = self.domain.lattice
        self._push(lattice.low, lattice.high)
        if self._holds(lattice.high):
            self._raise()
            while self._open and self._open[0][0] < self.least:
                if self.domain.clock.is_over("searching the lattice"):
                    return
                self._visit(heapq.heappop(self._open))
        self._open.clear()
        self.finished = self._given_up >= self.least

    def prefer_finer(self) -> None:
        """Steps down while a finer node loses no more: `672**` tells more than `*` does."""
        node = None
        while node != self.best and self.best is not None:
            node = self.best
            for near in self.domain.lattice.predecessors(node):
                if self.domain.clock.is_over("searching the lattice"):
                    return
                fails = self._tag(near, near) is not None
                if not fails and self.domain.value(near, self._look(near)) == self.least:
                    self.best = near
                if self.best != node:
                    break

    def _raise(self) -> None:
        """The first box begins where columns hold with all others at their highest level."""
        low, high = self.domain.lattice.low, self.domain.lattice.high
        lowest = list(low)
        for at in range(len(low)):
            levels = range(low[at], high[at] + 1)
            column = [(*high[:at], level, *high[at + 1 :]) for level in levels]
            if self.domain.clock.is_over("searching the lattice"):
                return
            lowest[at] += self._find_lowest(column)
        self._open.clear()
        self._push(tuple(lowest), high)

    def _visit(self, box: Box) -> None:
        floor, _, low, high, swept = box
        if swept:
            self._look(low)
            return self._split(low, high, low, swept=True)
        if (tag := self._tag(low, high)) is not None:
            return self._split(low, high, tag)
        path = self._path(low, high)
        if not self._holds(path[-1]):
            return self._split(low, high, path[-1])
        lowest = self._find_lowest(path)
        if lowest > 0 or not self.inherited:
            self._push(low, high, swept=lowest == 0, floor=floor)

    def _holds(self, node: Levels) -> bool:
        """Whether a node, and so every coarser one, keeps the inherited requirements."""
        verdict = self._look(node, bounding=not self.inherited)
        held = verdict.feasible if self.inherited else verdict.lost <= self.domain.room
        if not held:
            self._tags[self._tagged % MOST_TAGS] = node
            self._tagged += 1
        return held

    def _look(self, node: Levels, *, bounding: bool = False) -> NodeVerdict:
        """Judges a node; a new best is polished."""
        if node in self._known:
            return self._known[node]
        domain = self.domain
        verdict = domain.look(node, bounding=bounding)
        if len(self._known) < MOST_KNOWN:
            self._known[node] = verdict
        value = domain.value(node, verdict)
        if value < self.least:
            self.best, self.least = node, value
            self.tried.append(Trial("a better node", value, domain.clock.used))
            domain.clock.loss = value
            self._polish()
        return verdict

    def _polish(self) -> None:
        """Steps to better neighbours for as long as there are any, the cheapest first."""
        if self._polishing:
            return
        lattice, measure = self.domain.lattice, self.domain.measure
        self._polishing, node = True, None
        while node != self.best and self.best is not None:
            node = self.best
            neighbours = list(lattice.predecessors(node))
            if not self.inherited:
                neighbours += lattice.successors(node)
            for near in sorted(neighbours, key=measure.floor):
                if self.best != node or self.domain.clock.is_over("searching the lattice"):
                    break
                if measure.floor(near) < self.least and self._tag(near, near) is None:
                    self._holds(near)
        self._polishing = False

    def _tag(self, low: Levels, high: Levels) -> Levels | None:
        """Of the tags above the lowest node of a box, the one with most of the box below it."""
        tags = self._tags[: min(self._tagged, MOST_TAGS)]
        above = np.flatnonzero((tags >= low).all(axis=1))
        if not len(above):
            return None
        inside = np.minimum(tags[above], high)
        return tuple(inside[int(np.argmax(inside.sum(axis=1)))].tolist())

    def _path(self, low: Levels, high: Levels) -> list[Levels]:
        """From the lowest node up by the cheapest steps, while the floor is under the best."""
        path = self.domain.loss.path(low, high)
        return path[: _bisect(0, len(path), lambda at: self._floor(path[at]) >= self.least)]

    def _find_lowest(self, path: list[Levels]) -> int:
        """The first node of a path that holds; the last is known to."""
        return _bisect(-1, len(path) - 1, lambda at: self._holds(path[at]))

    def _split(self, low: Levels, high: Levels, gone: Levels, *, swept: bool = False) -> None:
        """The rest of a box without the nodes below `gone`, as boxes that do not overlap. Among the
        columns in which the box extends above it, the one with the most expensive step comes first.
        """
        totals = self.domain.loss.totals
        rising = [at for at, level in enumerate(gone) if level < high[at]]
        rising.sort(key=lambda at: totals[at][low[at]] - totals[at][gone[at] + 1])
        for lowest, highest in _rest(low, high, gone, rising):
            self._push(lowest, highest, swept=swept)

    def _push(
        self, low: Levels, high: Levels, *, swept: bool = False, floor: float | None = None
    ) -> None:
        floor = self._floor(low) if floor is None else floor
        if floor >= self.least:
            return
        heapq.heappush(self._open, (floor, sum(low), low, high, swept))
        if len(self._open) > MOST_BOXES:
            self._open.sort()
            half = MOST_BOXES // 2
            self._given_up = min(self._given_up, self._open[half][0])
            del self._open[half:]

    def _floor(self, node: Levels) -> float:
        """A bound for a node and all coarser ones."""
        domain = self.domain
        if domain.measure.by_columns:
            return domain.measure.floor(node)
        sizes = self._known.get(node) or domain.sizes(node)
        return domain.measure.bound(node, sizes, domain.room)


def _bisect(fails: int, holds: int, test: Callable[[int], bool]) -> int:
    """The first number that passes a test, between one that fails and one that holds."""
    while holds - fails > 1:
        middle = (fails + holds) // 2
        fails, holds = (fails, middle) if test(middle) else (middle, holds)
    return holds


def _rest(
    low: Levels, high: Levels, gone: Levels, order: list[int]
) -> Iterator[tuple[Levels, Levels]]:
    """The box without the nodes at or below `gone`, as boxes that do not overlap.

    >>> list(_rest((0, 0), (2, 2), (1, 0), [0, 1]))
    [((2, 0), (2, 2)), ((0, 1), (1, 2))]
    """
    roof = list(high)
    for at in order:
        floor = list(low)
        floor[at] = gone[at] + 1
        yield tuple(floor), tuple(roof)
        roof[at] = gone[at]
